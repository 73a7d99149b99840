//! Runs the client on a terminal: what comes in goes to the state, what it wants is done, and the
//! screen is drawn when something changed.
//!
//! Invariant: nothing wakes this up when nothing happens: a timer runs only while something on the
//! screen moves by itself.

mod aside;
mod editor;
mod ending;
mod lines;
mod options;
mod pace;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use harness_protocol::Event;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::app::{App, AppEffect, AppStart, Msg};
use crate::client_settings::SettingsFile;
use crate::highlight::{ParsedColours, Request};
use crate::link::{ClientOrder, News};
use crate::prompt_history::HistoryFile;
use crate::screen;
use crate::terminal::{
    self, Capabilities, Frames, InputReader, Pictures, Port, ProcessSignals, Signal, TerminalGuard,
    TerminalInput, Tty, WriteRoom,
};
use crate::theme::{Depth, Scheme, Theme};
use lines::run_plain;
use options::scheme;
use pace::FramePace;

pub use options::{ClientOptions, RunError};

/// Maximum number of messages that are handled before keys and screen get a turn.
const MAX_NEWS: usize = 512;
/// Maximum number of keys that are handled in a row before messages get a turn.
const MAX_INPUTS: usize = 64;
/// Delay between two tries to write to a terminal that cannot be watched.
const LOOK: Duration = Duration::from_millis(50);
/// Time that the terminal has to answer before another program reads it.
const LAST_ANSWER: Duration = Duration::from_millis(300);
/// Time that the end waits for unfinished writes.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Runs the client until it is left; the exit code.
///
/// # Errors
/// If the terminal cannot be had or the service refuses.
pub async fn run(
    options: ClientOptions,
    orders: UnboundedSender<ClientOrder>,
    news: Receiver<News>,
) -> Result<i32, RunError> {
    let capabilities = Capabilities::of_process();
    let scheme = scheme(options.theme.as_deref())?;
    match Tty::of_process()? {
        Some(tty) if takes_screen(options.is_plain) => {
            let size = terminal::size()?;
            let client = Client::start(options, scheme, tty, capabilities, orders, size)?;
            client.give_back_on_panic();
            client.run(news).await
        }
        _ => run_plain(options, orders, news).await,
    }
}

/// True if the client takes the whole screen: a terminal can show it, and the operator does not ask for plain lines.
#[must_use]
pub fn takes_screen(is_plain: bool) -> bool {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    !is_plain && !Capabilities::of_process().is_plain(is_terminal)
}

/// The next step of the client.
#[derive(Debug)]
enum ClientNext {
    Go,
    End(Result<i32, RunError>),
}

/// The client on its terminal.
struct Client {
    app: App,
    guard: TerminalGuard,
    frames: Frames<Port>,
    /// `None` if the system cannot watch the terminal.
    room: Option<WriteRoom>,
    /// Panics, anywhere.
    panics: (UnboundedSender<()>, UnboundedReceiver<()>),
    reader: Option<InputReader>,
    /// Until when the terminal may answer what it was asked, if it did not.
    answer_until: Option<Instant>,
    /// Number of inputs that were handled in a row.
    inputs: usize,
    signals: ProcessSignals,
    capabilities: Capabilities,
    orders: UnboundedSender<ClientOrder>,
    home: PathBuf,
    /// The pictures that were taken from the clipboard.
    pictures: Pictures,
    /// The work done in the background.
    done: (UnboundedSender<Msg>, UnboundedReceiver<Msg>),
    /// The thread that reads code, once it was asked.
    colourist: Option<std::sync::mpsc::Sender<Request>>,
    /// The answers that it has read.
    coloured: (
        UnboundedSender<ParsedColours>,
        UnboundedReceiver<ParsedColours>,
    ),
    /// Number of jobs in the background.
    pending: usize,
    begun: Instant,
    pace: FramePace,
}

impl Client {
    fn start(
        options: ClientOptions,
        scheme: Option<Scheme>,
        tty: Tty,
        capabilities: Capabilities,
        orders: UnboundedSender<ClientOrder>,
        size: (u16, u16),
    ) -> Result<Self, RunError> {
        let signals = ProcessSignals::of_process()?;
        let history = HistoryFile::in_folder(&options.home).load();
        let (mut settings, problems) = SettingsFile::in_folder(&options.home).load();
        let scheme = scheme.or(settings.theme);
        let guard = TerminalGuard::take(tty, &capabilities)?;
        let room = WriteRoom::measure(&guard)
            .inspect_err(|error| log::debug!("cannot watch the terminal: {error}"))
            .ok();
        let asks = scheme.is_none() && capabilities.is_background_asked;
        let (reader, answer_until) = if asks {
            let reader = InputReader::start_expecting_answer(guard.device())?;
            guard.port().write_all(terminal::BACKGROUND_QUESTION)?;
            (reader, Some(Instant::now() + LAST_ANSWER))
        } else {
            (InputReader::start(guard.device())?, None)
        };
        let frames = Frames::new(guard.port(), size.0, size.1);
        let depth = Depth::from_environment(|name| options.variable(name));
        let (mut app, mut effects) = App::new(AppStart {
            name: options.name,
            client_key: options.client_key,
            conversation: options.conversation,
            theme: Theme::new(scheme.unwrap_or_default(), depth),
            follows_background: scheme.is_none(),
            size,
            history: history.as_ref().map(Clone::clone).unwrap_or_default(),
            home: std::env::var("HOME").ok(),
            offers_models: options.offers_models,
        });
        if capabilities.is_console {
            settings.links = false;
            settings.terminal_title = false;
        }
        if capabilities.is_ssh {
            app.be_remote();
        }
        if capabilities.is_tmux {
            app.doubt_focus();
        }
        effects.extend(app.take_settings(settings, &problems));
        let mut client = Self {
            app,
            guard,
            frames,
            room,
            panics: unbounded_channel(),
            inputs: 0,
            reader: Some(reader),
            answer_until,
            signals,
            pace: FramePace::new(capabilities.frame_interval()),
            capabilities,
            orders,
            pictures: Pictures::in_folder(&options.home),
            home: options.home,
            done: unbounded_channel(),
            colourist: None,
            coloured: unbounded_channel(),
            pending: 0,
            begun: Instant::now(),
        };
        for effect in effects {
            match effect {
                AppEffect::TakeMouse(is_taken) => client.guard.release_mouse(!is_taken)?,
                effect => client.order(effect),
            }
        }
        if let Err(error) = history {
            let reason = format!("the prompts of the past cannot be read: {error}");
            client.app.update(Msg::Failed(reason), Duration::ZERO);
        }
        Ok(client)
    }

    /// From now on, a panic anywhere gives the terminal back, and ends the client.
    fn give_back_on_panic(&self) {
        let panics = self.panics.0.clone();
        self.guard.give_back_on_panic(move || {
            if panics.send(()).is_err() {
                log::debug!("the client has ended before that");
            }
        });
    }

    async fn run(mut self, mut news: Receiver<News>) -> Result<i32, RunError> {
        let result = loop {
            let next = match self.step(&mut news).await {
                Ok(next) => next,
                Err(error) => ClientNext::End(Err(error.into())),
            };
            if let ClientNext::End(result) = next {
                break result;
            }
        };
        self.end(result).await
    }

    /// Waits for the next thing that happens, takes it in, and draws if it is time to. Who has the
    /// terminal comes before the service, but a key that is held down does not keep it out.
    async fn step(&mut self, news: &mut Receiver<News>) -> io::Result<ClientNext> {
        let is_behind = self.guard.is_behind();
        let now = self.begun.elapsed();
        if !is_behind && self.pace.is_due(now) {
            let app = &mut self.app;
            self.frames.draw(|buffer| screen::paint(app, buffer))?;
            self.guard.set_title(self.app.window_title())?;
            self.guard.set_block_cursor(self.app.has_block_cursor())?;
            self.pace.drawn(self.begun.elapsed());
            // The drawn screen decides what else is needed, for example older parts.
            return self.update(Msg::Drawn).await;
        }
        if self.inputs >= MAX_INPUTS {
            self.inputs = 0;
            if let Ok(first) = news.try_recv() {
                return self.news(first, news).await;
            }
        }
        let wake = [self.pace.due_at(), self.app.wakes_at()];
        // Nothing moves on a screen that the terminal does not take.
        let wake = wake.into_iter().flatten().min().filter(|_| !is_behind);
        let timer = async {
            match wake {
                Some(at) => tokio::time::sleep_until(self.begun + at).await,
                None => std::future::pending().await,
            }
        };
        let input = async {
            match &mut self.reader {
                Some(reader) => reader.next().await,
                None => std::future::pending().await,
            }
        };
        let room = async {
            match &self.room {
                Some(room) => room.write_on(&self.guard).await,
                None => {
                    tokio::time::sleep(LOOK).await;
                    self.guard.write_on()
                }
            }
        };
        tokio::select! {
            biased;
            signal = self.signals.next() => self.signal(signal).await,
            Some(()) = self.panics.1.recv() => Ok(ClientNext::End(Err(RunError::Panicked))),
            Some(done) = self.done.1.recv() => {
                self.pending = self.pending.saturating_sub(1);
                self.pace.touch();
                self.update(done).await
            }
            Some(answer) = self.coloured.1.recv() => {
                self.pace.touch();
                self.update(Msg::Coloured(answer)).await
            }
            input = input => {
                self.inputs += 1;
                self.input(input).await
            }
            written = room, if is_behind => written.map(|()| ClientNext::Go),
            first = news.recv() => match first {
                Some(first) => self.news(first, news).await,
                None => Ok(ClientNext::End(Err(RunError::Refused {
                    reason: "the link to the service has ended".to_owned(),
                }))),
            },
            () = timer => {
                self.pace.touch();
                self.update(Msg::Tick).await
            }
        }
    }

    /// Handles news of the service, together with all others that have arrived by now.
    async fn news(&mut self, first: News, news: &mut Receiver<News>) -> io::Result<ClientNext> {
        self.inputs = 0;
        let mut is_text = is_text(&first);
        let mut next = self.update(Msg::News(Box::new(first))).await?;
        for _ in 1..MAX_NEWS {
            let (ClientNext::Go, Ok(more)) = (&next, news.try_recv()) else {
                break;
            };
            is_text &= self::is_text(&more);
            next = self.update(Msg::News(Box::new(more))).await?;
        }
        if is_text {
            self.pace.touch_by_text();
        } else {
            self.pace.touch();
        }
        Ok(next)
    }

    async fn input(&mut self, input: TerminalInput) -> io::Result<ClientNext> {
        let message = match input {
            TerminalInput::Key(press) => {
                if press.is_burst {
                    self.pace.touch();
                } else {
                    self.pace.touch_now();
                }
                Msg::Key(press)
            }
            TerminalInput::Paste(text) => Msg::Paste(text),
            TerminalInput::Mouse(mouse) => Msg::Mouse(mouse),
            TerminalInput::Resized { width, height } => {
                self.frames.resize(width, height);
                Msg::Resized(width, height)
            }
            TerminalInput::Focused(is_focused) => Msg::Focused(is_focused),
            TerminalInput::Background { is_light } => {
                self.answer_until = None;
                Msg::Background { is_light }
            }
            TerminalInput::Lost(error) => return Err(error),
        };
        self.pace.touch();
        self.update(message).await
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<ClientNext> {
        match signal {
            Signal::End { exit_code, .. } => return Ok(ClientNext::End(Ok(exit_code))),
            Signal::Suspend => self.suspend().await?,
            Signal::Continued => {
                self.guard.enter_again()?;
                // The size may have changed while other processes received the signal.
                self.resize_anew()?;
            }
        }
        Ok(ClientNext::Go)
    }

    async fn suspend(&mut self) -> io::Result<()> {
        self.hear_answer().await;
        if self.signals.suspend(&self.guard).await? {
            self.resize_anew()?;
        }
        Ok(())
    }

    /// Draws everything at the size that the terminal has now.
    fn resize_anew(&mut self) -> io::Result<()> {
        let (width, height) = crate::terminal::size()?;
        self.frames.resize(width, height);
        let now = self.begun.elapsed();
        self.app.update(Msg::Resized(width, height), now);
        self.redraw();
        Ok(())
    }

    fn redraw(&mut self) {
        self.pace.touch_now();
        self.frames.redraw();
    }

    /// Tells the state what happened, and does what it wants done.
    async fn update(&mut self, message: Msg) -> io::Result<ClientNext> {
        let effects = self.app.update(message, self.begun.elapsed());
        for effect in effects {
            match effect {
                AppEffect::Leave => return Ok(ClientNext::End(Ok(0))),
                AppEffect::Fail(reason) => {
                    return Ok(ClientNext::End(Err(RunError::Refused { reason })));
                }
                AppEffect::Suspend => self.suspend().await?,
                AppEffect::Write(text) => {
                    let next = Box::pin(self.write_elsewhere(&text)).await?;
                    if let ClientNext::End(_) = next {
                        return Ok(next);
                    }
                }
                AppEffect::TakeMouse(is_taken) => self.guard.release_mouse(!is_taken)?,
                AppEffect::Redraw => self.redraw(),
                AppEffect::Ring => self.guard.port().write_all(b"\x07")?,
                AppEffect::Notify(text) => {
                    if let Some(notice) = self.capabilities.notice(&text) {
                        self.guard.port().write_all(notice.as_bytes())?;
                    }
                }
                AppEffect::Remember(entry) => self.remember(entry),
                AppEffect::Copy(text) => self.copy(text),
                AppEffect::TakePicture => self.take_picture(),
                AppEffect::Keep { name, value } => self.keep(name, value),
                AppEffect::Look { lists, missing } => self.look(lists, missing),
                AppEffect::Colour(request) => self.colour(request),
                AppEffect::Order(order) => self.order(AppEffect::Order(order)),
            }
        }
        Ok(ClientNext::Go)
    }

    fn order(&mut self, effect: AppEffect) {
        if let AppEffect::Order(order) = effect
            && self.orders.send(order).is_err()
        {
            log::error!("the link to the service has ended");
        }
    }
}

/// True if it is a piece of a reply. Many of them come.
fn is_text(news: &News) -> bool {
    matches!(
        news,
        News::Event {
            event: Event::Delta { .. },
            ..
        }
    )
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
