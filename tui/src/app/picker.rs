//! The list of conversations.

use harness_protocol::ConversationSummary;

use super::preview::ConversationPreview;
use super::{App, Field, Overlay};
use crate::keys::KeyAction;
use crate::link::ClientOrder;
use crate::text::shown_path;

/// The action on the chosen conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PickerMode {
    /// Nothing yet.
    Choosing,
    /// It is given this title.
    Renaming(Field),
    /// It is moved to the trash if the key is pressed again.
    Trashing,
}

/// The conversations that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerScope {
    /// Those of the folder of the conversation that is shown.
    Folder,
    /// Those of all folders.
    All,
}

/// The list of conversations.
#[derive(Debug)]
pub(crate) struct Picker {
    /// Only those whose title, id or folder has this in it.
    pub(crate) filter: Field,
    /// The folder of the conversation that is shown, absolute, if the service tells it.
    folder: Option<String>,
    scope: PickerScope,
    /// The user's home folder, which folders are shown without.
    home: Option<String>,
    /// The action.
    pub(crate) mode: PickerMode,
    /// All of them; none until the service has told.
    summaries: Option<Vec<ConversationSummary>>,
    /// The id of the chosen one.
    chosen: Option<String>,
    /// The end of the chosen one, with its id.
    pub(super) preview: Option<(String, ConversationPreview)>,
    /// The id of the one whose end was asked for since the list came.
    pub(super) previewed: Option<String>,
}

impl Picker {
    /// The list before the service told it.
    pub(super) fn new(filter: &str, folder: Option<String>, home: Option<String>) -> Self {
        let mut field = Field::default();
        field.insert(filter);
        Self {
            filter: field,
            folder,
            scope: PickerScope::Folder,
            home,
            mode: PickerMode::Choosing,
            summaries: None,
            chosen: None,
            preview: None,
            previewed: None,
        }
    }

    /// The end of the chosen conversation. `None` if none is chosen.
    pub(crate) fn preview(&self) -> Option<&ConversationPreview> {
        self.preview.as_ref().map(|(_, preview)| preview)
    }

    /// The service's answer.
    pub(crate) fn listed(&mut self, summaries: Vec<ConversationSummary>) {
        let is_chosen = |summary: &ConversationSummary| Some(&summary.id) == self.chosen.as_ref();
        if !summaries.iter().any(is_chosen) {
            // An action for a removed conversation must not apply to another one.
            self.mode = PickerMode::Choosing;
        }
        self.summaries = Some(summaries);
        self.previewed = None;
    }

    /// Number of all conversations in scope, whatever the filter.
    pub(crate) fn count(&self) -> usize {
        self.in_scope().count()
    }

    /// The one folder whose conversations are listed, absolute. `None` if all are listed.
    fn only_folder(&self) -> Option<&str> {
        let folder = self.folder.as_deref();
        folder.filter(|_| self.scope == PickerScope::Folder)
    }

    /// The listed conversations, and the folder to choose, in the form in which a person writes it. `None` if the
    /// service reports no folders.
    pub(crate) fn scope(&self) -> Option<(PickerScope, String)> {
        let folder = self.folder.as_deref()?;
        Some((self.scope, self.shown_folder(folder)))
    }

    /// The folder of a conversation as a person writes it, where those of several are listed.
    pub(crate) fn folder_of(&self, summary: &ConversationSummary) -> Option<String> {
        let folder = summary.workspace.as_deref();
        let folder = folder.filter(|_| self.only_folder().is_none());
        folder.map(|folder| self.shown_folder(folder))
    }

    fn shown_folder(&self, folder: &str) -> String {
        shown_path(self.home.as_deref(), folder)
    }

    /// Those that are listed. The service may have told of more before.
    fn in_scope(&self) -> impl Iterator<Item = &ConversationSummary> {
        let only = self.only_folder();
        let all = self.summaries.iter().flatten();
        all.filter(move |it| only.is_none() || it.workspace.as_deref() == only)
    }

    /// True while a title is being written.
    fn is_renaming(&self) -> bool {
        matches!(self.mode, PickerMode::Renaming(_))
    }

    /// The chosen one has another title.
    fn retitle(&mut self, conversation: &str, title: &str) {
        let mut all = self.summaries.iter_mut().flatten();
        if let Some(summary) = all.find(|summary| summary.id == conversation) {
            summary.title = Some(title.to_owned());
        }
    }

    /// True until the service has answered.
    pub(crate) fn is_loading(&self) -> bool {
        self.summaries.is_none()
    }

    /// Those that the filter lets through.
    pub(crate) fn matches(&self) -> Vec<&ConversationSummary> {
        let wanted = self.filter.text().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let fits = |summary: &&ConversationSummary| {
            let title = summary.title.as_deref().unwrap_or_default();
            let folder = self.folder_of(summary).unwrap_or_default();
            has(title) || has(&summary.id) || has(&folder)
        };
        self.in_scope().filter(fits).collect()
    }

    /// Index of the chosen conversation among those shown: the first, unless another was chosen.
    pub(crate) fn chosen(&self) -> Option<usize> {
        let shown = self.matches();
        let is_chosen = |summary: &&ConversationSummary| Some(&summary.id) == self.chosen.as_ref();
        let found = shown.iter().position(is_chosen);
        found.or((!shown.is_empty()).then_some(0))
    }

    pub(super) fn chosen_summary(&self) -> Option<ConversationSummary> {
        self.chosen().map(|chosen| self.matches()[chosen].clone())
    }

    pub(super) fn step(&mut self, by: isize) {
        if self.is_renaming() {
            return;
        }
        self.mode = PickerMode::Choosing;
        let Some(chosen) = self.chosen() else { return };
        let shown = self.matches();
        let last = shown.len() - 1;
        let next = chosen.saturating_add_signed(by).min(last);
        self.chosen = Some(shown[next].id.clone());
    }

    pub(super) fn write(&mut self, text: &str) {
        self.field().insert(text);
    }

    /// The draft now. A change of it is a second thought about the trash.
    fn field(&mut self) -> &mut Field {
        if self.mode == PickerMode::Trashing {
            self.mode = PickerMode::Choosing;
        }
        match &mut self.mode {
            PickerMode::Renaming(title) => title,
            PickerMode::Choosing | PickerMode::Trashing => &mut self.filter,
        }
    }
}

/// Maximum length of a title, in characters; the service refuses longer ones.
const MAX_TITLE: usize = 200;
/// Number of rows of a page of the list.
const PAGE: isize = 10;

impl App {
    pub(super) fn act_on_picker(&mut self, action: KeyAction) {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else {
            return;
        };
        let chosen = picker.chosen_summary();
        match action {
            KeyAction::Close if picker.mode != PickerMode::Choosing => {
                picker.mode = PickerMode::Choosing;
            }
            KeyAction::Close => self.overlay = None,
            KeyAction::Previous => picker.step(-1),
            KeyAction::Next => picker.step(1),
            KeyAction::PageUp => picker.step(-PAGE),
            KeyAction::PageDown => picker.step(PAGE),
            KeyAction::Backspace => {
                picker.field().backspace();
            }
            KeyAction::Clear => picker.field().clear(),
            KeyAction::New if !picker.is_renaming() => {
                let title = picker.filter.text().trim().to_owned();
                self.create(Some(title).filter(|title| !title.is_empty()));
            }
            KeyAction::Rename => {
                if let (PickerMode::Choosing, Some(summary)) = (&picker.mode, chosen) {
                    let mut title = Field::default();
                    title.set(summary.title.as_deref().unwrap_or_default());
                    picker.mode = PickerMode::Renaming(title);
                    picker.chosen = Some(summary.id);
                }
            }
            KeyAction::Trash if !picker.is_renaming() => self.trash(chosen),
            KeyAction::Folders if !picker.is_renaming() => {
                picker.mode = PickerMode::Choosing;
                picker.scope = match picker.scope {
                    PickerScope::Folder => PickerScope::All,
                    PickerScope::All => PickerScope::Folder,
                };
                self.list();
            }
            KeyAction::Accept => self.accept(chosen),
            _ => {}
        }
    }

    /// Asks for what the list of conversations shows, if it is open.
    pub(super) fn list(&mut self) {
        if let Some(Overlay::Picker(picker)) = &self.overlay {
            let folder = picker.only_folder().map(str::to_owned);
            self.order(ClientOrder::List { folder });
        }
    }

    fn trash(&mut self, chosen: Option<ConversationSummary>) {
        let (Some(Overlay::Picker(picker)), Some(summary)) = (&mut self.overlay, chosen) else {
            return;
        };
        if picker.mode == PickerMode::Trashing {
            picker.mode = PickerMode::Choosing;
            let conversation = summary.id;
            self.order(ClientOrder::Delete { conversation });
        } else {
            picker.chosen = Some(summary.id);
            picker.mode = PickerMode::Trashing;
        }
    }

    fn accept(&mut self, chosen: Option<ConversationSummary>) {
        let (Some(Overlay::Picker(picker)), Some(summary)) = (&mut self.overlay, chosen) else {
            return;
        };
        if let PickerMode::Renaming(title) = &picker.mode {
            let title = title.text().trim().to_owned();
            if !title.is_empty() {
                picker.mode = PickerMode::Choosing;
                // A list that is asked for now could still have the old title.
                picker.retitle(&summary.id, &title);
            }
            self.rename(summary.id, title);
        } else {
            self.overlay = None;
            self.open(summary.id);
        }
    }

    /// Makes a conversation in the folder of the one that is shown, and opens it.
    pub(super) fn create(&mut self, title: Option<String>) {
        self.overlay = None;
        self.is_making = true;
        let folder = self.conversation.status().folder.clone();
        self.order(ClientOrder::Create { title, folder });
    }

    /// Gives a conversation another title, for all clients; whether it can be one.
    pub(super) fn rename(&mut self, conversation: String, title: String) -> bool {
        if title.is_empty() {
            self.complain("a title must not be empty");
            return false;
        }
        if title.chars().count() > MAX_TITLE {
            self.complain(format!("a title has at most {MAX_TITLE} characters"));
            return false;
        }
        self.order(ClientOrder::Rename {
            conversation,
            title,
        });
        true
    }
}
