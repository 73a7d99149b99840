//! The state of the client, and what each thing that happens does to it.
//!
//! Invariant: no IO and no clock. The caller passes the time, and carries out the returned effects.

mod actions;
mod approval_mode;
mod band;
mod board;
mod chooser;
mod commands;
mod completions;
mod copying;
mod field;
mod files;
mod folder;
pub(crate) mod help;
mod message;
mod mouse;
mod news;
mod notice;
mod offers;
mod own_settings;
mod past;
mod picked;
mod picker;
mod preview;
mod prompts;
mod queue;
mod regions;
mod search_box;
mod settings;
mod shell;
mod toast;
mod usage;
mod wants;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use harness_protocol::ApprovalMode;

pub use message::{AppEffect, Missing, Msg};

pub(crate) use approval_mode::mode_name;
pub(crate) use band::Band;
pub(crate) use chooser::{Chooser, names as offer_names};
pub(crate) use commands::{COMMANDS, SlashCommand};
pub(crate) use field::Field;
pub(crate) use past::{PastKind, PastPrompts};
pub(crate) use picker::{Picker, PickerMode, PickerScope};
pub(crate) use preview::ConversationPreview;
pub(crate) use queue::{author_name, when};
pub(crate) use regions::{BAND_FRAME, Regions, input_width, shown_in_queue};
pub(crate) use search_box::SearchBox;
pub(crate) use toast::Toast;

use crate::board::Board;
use crate::client_settings::ClientSettings;
use crate::composer::{Composer, ViKeys};
use crate::conversation::{ConversationStore, PartId};
use crate::highlight::CodeColours;
use crate::link::ClientOrder;
use crate::prompt_history::PromptHistory;
use crate::selection::Selection;
use crate::service::Service;
use crate::text::one_line;
use crate::theme::{Scheme, Theme};
use crate::viewport::{TravelStep, Viewport};

/// Time between two frames of parts that move by themselves: the spinner and the seconds beside it.
const TICK: Duration = Duration::from_millis(125);
/// Time between two frames of the wait for the next try to attach.
const SECOND: Duration = Duration::from_secs(1);

/// Delay before a page of the past that failed to load is asked for again.
const OLDER_WAIT: Duration = Duration::from_secs(5);

/// The conversation that the service always has.
const DEFAULT_CONVERSATION: &str = "default";

/// The parameters of the client's start.
#[derive(Debug, Clone)]
pub struct AppStart {
    /// Presence of this client, as the others see it.
    pub name: String,
    /// Makes the keys of this client's prompts like no other's.
    pub client_key: String,
    /// The conversation to open.
    pub conversation: String,
    /// The colours.
    pub theme: Theme,
    /// True if the colours must suit the terminal's background, once it is known.
    pub follows_background: bool,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The prompts of the past.
    pub history: PromptHistory,
    /// The user's home folder, which paths are shown without.
    pub home: Option<String>,
    /// True if the models are shown at once, to choose one.
    pub offers_models: bool,
}

/// State of the link to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Nothing was heard yet.
    Opening,
    /// Events come as they happen.
    Up,
    /// It is lost.
    Down {
        /// The reason.
        reason: String,
        /// Number of tries in a row that have failed.
        tries: u32,
        /// The time of the next try.
        next_at: Duration,
    },
}

/// The overlay of the conversation.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// The keys; any key closes it.
    Help {
        /// Number of its rows that are above its window.
        above: u16,
    },
    /// The list of conversations.
    Picker(Picker),
    /// The service's entries of a kind, to choose from.
    Chooser(Chooser),
    /// Prompts of the past, to choose from.
    Past(PastPrompts),
    /// A search in the conversation.
    Search(SearchBox),
    /// Facts of the client about itself.
    Facts(Vec<String>),
    /// The board of workflows.
    Board(Box<Board>),
}

/// The state of the client.
#[derive(Debug)]
pub struct App {
    /// Presence of this client, as the others see it.
    name: String,
    client_key: String,
    /// Number of prompts that this client has sent.
    prompts: u64,
    pub(crate) conversation: ConversationStore,
    pub(crate) viewport: Viewport,
    /// The colours of the code that is on the screen.
    pub(crate) colours: CodeColours,
    pub(crate) composer: Composer,
    /// The keys of vi for the draft.
    pub(crate) vi: ViKeys,
    pub(crate) history: PromptHistory,
    pub(crate) selection: Option<Selection>,
    /// The part that keys open and fold.
    pub(crate) picked: Option<PartId>,
    pub(crate) overlay: Option<Overlay>,
    /// The approvals that wait for an operator's answer.
    pub(crate) band: Option<Band>,
    /// The time at which a band went that had the keys.
    band_gone_at: Option<Duration>,
    /// The time of the last key that was not for a band.
    typed_at: Option<Duration>,
    pub(crate) toast: Option<Toast>,
    pub(crate) link: LinkState,
    /// The service that it is attached to, once that is known.
    pub(crate) service: Option<Service>,
    /// The user's home folder, which paths are shown without.
    home: Option<String>,
    /// True until the models were shown at the first start.
    offers_models: bool,
    /// The words for the next change of a setting, in place of the usual ones.
    after_change: Option<String>,
    /// The time of day at which this client was started, in Unix seconds, once that is known.
    started_at: Option<u64>,
    pub(crate) theme: Theme,
    /// The settings of this client.
    own: ClientSettings,
    /// The operator has chosen no colours, so they suit the terminal's background.
    follows_background: bool,
    /// Prompts that were sent and not yet accepted, by their keys.
    sent: HashMap<String, prompts::SentPrompt>,
    /// Messages that this client takes off a queue so that the operator can rewrite them.
    taking_back: Vec<queue::TakingBack>,
    /// The service's entries to choose from, where the client has asked for them.
    offers: offers::Offers,
    /// The files that the name fits which is being written.
    files: files::FileOffers,
    /// The run that is being cancelled.
    pub(crate) cancelling: Option<u64>,
    /// The command that was run from here and has not ended.
    pub(crate) command: Option<String>,
    /// The mode that this client ordered last, until the service answers.
    ordered_mode: Option<ApprovalMode>,
    /// The time at which this client cancelled last.
    cancelled_at: Option<Duration>,
    /// Index of the chosen command in the list of those that fit.
    pub(crate) chosen_command: usize,
    /// The text for which the list of commands was closed.
    closed_commands: Option<String>,
    pub(crate) size: (u16, u16),
    pub(crate) is_focused: bool,
    /// True if the terminal is known to report a loss of focus.
    is_focus_known: bool,
    /// True if the operator is connected from another machine.
    is_remote: bool,
    /// The run that is going, and when it was first heard of.
    run_began: Option<(u64, Duration)>,
    pub(crate) has_mouse: bool,
    clicks: mouse::Clicks,
    /// A page of the past is on its way.
    pub(crate) is_loading_older: bool,
    /// The step that continues when older parts are loaded.
    journey: Option<TravelStep>,
    /// The time at which a page of the past may be asked for again, after one failed to load.
    older_again_at: Duration,
    /// The records of results that were asked for in full.
    wanted_results: HashSet<u64>,
    /// The conversation whose snapshot was requested: another one, or this one if an event was missed.
    opening: Option<String>,
    /// The way back to the board of workflows, if a conversation was opened on it.
    way_back: Option<board::WayBack>,
    /// A conversation is being made, to be opened then.
    is_making: bool,
    /// True if this client ordered a summary of the past: the new snapshot needs no remark then.
    awaits_summary: bool,
    /// Another client of this name is attached.
    has_namesake: bool,
    /// The prompt to rewrite in the branch that is being made.
    going_back: Option<String>,
    /// The conversation on the screen was deleted.
    is_gone: bool,
    /// Number of events that were missed.
    missed: u64,
    /// Number of events that came twice and were dropped.
    duplicates: u64,
    /// Number of events that were invalid and were dropped.
    invalid: u64,
    pub(crate) now: Duration,
    /// The work to do.
    effects: Vec<AppEffect>,
}

impl App {
    /// The client before anything happened, and what it wants first.
    #[must_use]
    pub fn new(start: AppStart) -> (Self, Vec<AppEffect>) {
        let app = Self {
            conversation: ConversationStore::new(start.client_key.clone()),
            name: start.name,
            client_key: start.client_key,
            prompts: 0,
            viewport: Viewport::new(),
            colours: CodeColours::default(),
            composer: Composer::default(),
            vi: ViKeys::default(),
            history: start.history,
            selection: None,
            picked: None,
            overlay: None,
            band: None,
            band_gone_at: None,
            typed_at: None,
            toast: None,
            link: LinkState::Opening,
            service: None,
            home: start.home,
            offers_models: start.offers_models,
            after_change: None,
            started_at: None,
            theme: start.theme,
            own: ClientSettings::default(),
            follows_background: start.follows_background,
            sent: HashMap::new(),
            taking_back: Vec::new(),
            offers: offers::Offers::default(),
            files: files::FileOffers::default(),
            cancelling: None,
            command: None,
            ordered_mode: None,
            cancelled_at: None,
            chosen_command: 0,
            closed_commands: None,
            size: start.size,
            is_focused: true,
            is_focus_known: true,
            is_remote: false,
            run_began: None,
            has_mouse: true,
            clicks: mouse::Clicks::default(),
            is_loading_older: false,
            journey: None,
            older_again_at: Duration::ZERO,
            wanted_results: HashSet::new(),
            opening: Some(start.conversation.clone()),
            way_back: None,
            is_making: false,
            awaits_summary: false,
            has_namesake: false,
            going_back: None,
            is_gone: false,
            missed: 0,
            duplicates: 0,
            invalid: 0,
            now: Duration::ZERO,
            effects: Vec::new(),
        };
        let open = ClientOrder::Open {
            conversation: start.conversation,
        };
        (app, vec![AppEffect::Order(open)])
    }

    /// Handles a message, at a time since the start. Returns the effects to carry out.
    pub fn update(&mut self, message: Msg, now: Duration) -> Vec<AppEffect> {
        self.now = now;
        match message {
            Msg::Key(press) => self.key(&press),
            Msg::Paste(text) => self.paste(&text),
            Msg::Mouse(mouse) => self.mouse(mouse),
            Msg::Resized(columns, rows) => self.size = (columns, rows),
            Msg::Focused(is_focused) => self.focused(is_focused),
            Msg::Background { is_light } => self.background(is_light),
            Msg::News(news) => self.news(*news),
            Msg::Tick => {}
            Msg::Drawn => {
                self.want_more();
                self.want_colours();
            }
            Msg::Remembered(history) => self.history = history,
            Msg::Copied(copied) => self.say(copied),
            Msg::Written(text) => self.written(text),
            Msg::Coloured(answer) => self.coloured(answer),
            Msg::Looked { files, missing } => self.looked(files, missing),
            Msg::Picture(path) => self.picture(path),
            Msg::Failed(reason) => self.complain(reason),
        }
        if self.selection.is_none() {
            self.viewport.release();
        }
        if self.toast.as_ref().is_some_and(|toast| toast.until <= now) {
            self.toast = None;
        }
        if self.closed_commands.as_deref() != Some(self.composer.text()) {
            self.closed_commands = None;
        }
        self.note_run();
        self.settle_band();
        self.want_offers();
        self.want_files();
        self.want_preview();
        std::mem::take(&mut self.effects)
    }

    /// The time at which something on the screen changes by itself. `None` if nothing does.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Duration> {
        let tick = match self.is_focused {
            true if self.is_down() => Some(self.now + SECOND),
            true if self.is_busy() || self.is_compacting() => Some(self.now + TICK),
            true if self.board().is_some_and(Board::ticks) => Some(self.now + SECOND),
            _ => None,
        };
        let toast = self.toast.as_ref().map(|toast| toast.until);
        [tick, toast].into_iter().flatten().min()
    }

    /// True if this client knows of an active run.
    pub(crate) fn is_busy(&self) -> bool {
        self.conversation.status().run_id.is_some()
    }

    /// True while the past is being summarized.
    fn is_compacting(&self) -> bool {
        self.conversation.status().is_compacting
    }

    /// True if the service cannot be reached.
    pub(crate) fn is_down(&self) -> bool {
        matches!(self.link, LinkState::Down { .. })
    }

    /// The conversation that is open; empty before the first is.
    pub(crate) fn open_id(&self) -> &str {
        &self.conversation.status().conversation
    }

    /// True if an order for the open conversation would reach another one than the one on the screen.
    fn is_switching(&self) -> bool {
        let opening = self.opening.as_deref();
        opening.is_some_and(|opening| opening != self.open_id())
    }

    /// Presence of this client, as the others see it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The line printed when the terminal was given back: how to come back.
    pub(crate) fn farewell(&self) -> Option<String> {
        let conversation = self.open_id();
        let has_folder = self.own_folder().is_some();
        let which = match conversation {
            "" => return None,
            // Where conversations have folders, the one of the folder is attached to.
            DEFAULT_CONVERSATION if !has_folder => String::new(),
            id => format!(" -c {}", one_line(id)),
        };
        let unsent = match self.sent.len() {
            0 => String::new(),
            1 => "a prompt may not have been sent; it is in the history\n".to_owned(),
            many => format!("{many} prompts may not have been sent; they are in the history\n"),
        };
        Some(format!(
            "{unsent}the conversation goes on; to come back: harness attach{which}"
        ))
    }

    /// The draft that is not sent.
    pub(crate) fn draft(&mut self) -> Option<String> {
        let entry = self.composer.take().entry();
        Some(entry).filter(|entry| !entry.trim().is_empty())
    }

    fn order(&mut self, order: ClientOrder) {
        self.effects.push(AppEffect::Order(order));
    }

    fn focused(&mut self, is_focused: bool) {
        self.is_focused = is_focused;
        self.is_focus_known = true;
        if is_focused && self.is_down() {
            self.order(ClientOrder::TryNow);
        }
    }

    fn background(&mut self, is_light: bool) {
        if self.follows_background {
            let scheme = if is_light {
                Scheme::Light
            } else {
                Scheme::Dark
            };
            self.theme = self.theme.with_scheme(scheme);
        }
    }

    /// The text of another editor.
    fn written(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.composer.write_anew(&text);
        }
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod colour_tests;

#[cfg(test)]
mod board_tests;

#[cfg(test)]
mod files_tests;

#[cfg(test)]
mod news_tests;

#[cfg(test)]
mod notice_tests;

#[cfg(test)]
mod band_tests;

#[cfg(test)]
mod band_command_tests;

#[cfg(test)]
mod queue_tests;

#[cfg(test)]
mod own_settings_tests;

#[cfg(test)]
mod settings_tests;

#[cfg(test)]
mod shell_tests;

#[cfg(test)]
mod folder_tests;

#[cfg(test)]
mod overlay_tests;

#[cfg(test)]
mod reading_tests;
