//! `harness attach`, and `harness` alone: the terminal client on the running service.

mod arguments;
mod changes;
mod contact;
mod errands;
mod followed;
mod lanes;
mod link;
mod name;
mod offers;
mod pace;
mod screen;
mod service_news;
mod submission;
#[cfg(test)]
pub(super) mod testing;

use std::cell::RefCell;
use std::env;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use env_logger::Target;
use harness_actors::Redaction;
use harness_protocol::{ServiceInfo, UpstreamKind};
use tokio::sync::mpsc;

use crate::client::api::connection::Connection;
use crate::client::api::discovery;
use crate::client::attach::contact::Contact;
use crate::client::attach::pace::Pace;
use crate::client::background::{self, StartError, Waits};
use crate::client::commands::CommandError;
use crate::client::output::Output;
use crate::config::ClientConfig;
use crate::{log_file, log_setup};

pub(crate) use crate::client::attach::arguments::Attach;
pub(super) use crate::client::attach::arguments::HELP;

/// How many news may wait for the client. When there are more, the stream is not read on, which
/// the service copes with.
const MAX_NEWS: usize = 512;

/// What the client says beside its screen,
const LOG_FILE: &str = "tui.log";
/// and what of it, if `RUST_LOG` does not say.
const LOG_FILTER: &str = "warn";

/// How long looking for the service may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to do when no service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutService {
    /// Say so.
    Fail,
    /// Start one.
    Start {
        /// Whether it is to be the demo.
        is_demo: bool,
    },
}

/// What the terminal client has to know.
pub(super) struct Options {
    /// How the other clients see this one.
    pub(super) name: String,
    /// The state folder.
    pub(super) home: PathBuf,
    /// The conversation to open.
    pub(super) conversation: String,
    /// The colours; found out from the terminal if none.
    pub(super) theme: Option<String>,
    /// Whether to write lines only.
    pub(super) is_plain: bool,
}

/// Attaches until the user leaves; the exit code.
///
/// # Errors
/// If there is no service, or the terminal cannot be used.
pub(super) async fn run(
    attach: &Attach,
    config: &ClientConfig,
    without_service: WithoutService,
    output: &mut Output,
) -> Result<i32, CommandError> {
    match without_service {
        WithoutService::Fail => {
            let looking = discovery::find(config);
            drop(patiently(looking, output).await?);
        }
        WithoutService::Start { is_demo } => start(config, is_demo, output).await?,
    }
    start_log(attach, config, output);
    let (news, to_show) = mpsc::channel(MAX_NEWS);
    let (orders, to_carry_out) = mpsc::unbounded_channel();
    let contact = Contact {
        config: config.clone(),
        name: name::client_name(attach.caller.name()),
        pace: Pace::default(),
        news,
        told_epoch: RefCell::default(),
    };
    let conversation = match &attach.new {
        Some(title) => errands::create(&contact, title.clone()).await?,
        None => attach.which.conversation.clone(),
    };
    let options = Options {
        name: contact.name.clone(),
        home: config.home.clone(),
        conversation,
        theme: attach.theme.chosen().map(str::to_owned),
        is_plain: attach.plain,
    };
    log::info!("{} attaches to {}", options.name, options.conversation);
    let link = actix::spawn(link::run(contact, to_carry_out));
    let shown = screen::run(options, orders, to_show).await;
    // What was ordered last may be under way.
    if let Err(error) = link.await {
        log::error!("the link failed: {error}");
    }
    shown
}

/// Starts logging: to a file if the client has the screen, on which a line would be over what it
/// shows; else to standard error.
fn start_log(attach: &Attach, config: &ClientConfig, output: &mut Output) {
    let filter = env::var("RUST_LOG").unwrap_or_else(|_| LOG_FILTER.to_owned());
    let redaction = Redaction::new(config.secrets.clone());
    if !harness_tui::takes_screen(attach.plain) {
        return log_setup::start(&filter, Target::Stderr, redaction);
    }
    match log_file::open_bounded(&config.home, LOG_FILE) {
        Ok((file, _)) => log_setup::start(&filter, Target::Pipe(Box::new(file)), redaction),
        Err(error) => output.note(&format!("harness: there is no log: {error}")),
    }
}

/// Says what is waited for, if that takes long and somebody looks on.
async fn patiently<F: Future>(looking: F, output: &mut Output) -> F::Output {
    let mut looking = pin!(looking);
    if let Ok(found) = tokio::time::timeout(PATIENCE, &mut looking).await {
        return found;
    }
    if io::stderr().is_terminal() {
        output.note("harness: looking for the service…");
    }
    looking.await
}

/// Starts a service if none runs, and tells of it.
async fn start(
    config: &ClientConfig,
    is_demo: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let serve = background::serve(&config.home, is_demo)?;
    let looking = background::find_or_start(config, serve, Waits::default());
    let found = patiently(looking, output).await;
    tell_end(&found, output);
    let (connection, remark) = found?;
    match connection.info() {
        Some(info) if is_demo && info.upstream.kind != UpstreamKind::Demo => {
            return Err(no_demo(info));
        }
        _ => {}
    }
    if let Some(remark) = remark {
        output.note(&format!("harness: {remark}"));
    }
    Ok(())
}

/// Starts a service in the background by this command, and waits until it answers.
///
/// # Errors
/// If there is none in the end.
pub(super) async fn start_service(
    config: &ClientConfig,
    serve: Command,
    output: &mut Output,
) -> Result<Connection, CommandError> {
    let started = background::start(config, serve, Waits::default()).await;
    tell_end(&started, output);
    Ok(started?.0)
}

/// Tells what a service said last that has ended at once.
fn tell_end<T>(started: &Result<T, StartError>, output: &mut Output) {
    if let Err(StartError::Ended { last_lines, .. }) = started {
        for line in last_lines {
            output.note(line);
        }
    }
}

/// Nobody who asks for the demo is to pay for an answer.
fn no_demo(info: &ServiceInfo) -> CommandError {
    let ServiceInfo {
        model,
        workspace,
        pid,
        ..
    } = info;
    let host = info.upstream.host.as_deref().unwrap_or("an API");
    let reason = format!(
        "a service that is not the demo runs already ({model} at {host}, folder {workspace}, process {pid}): `harness` attaches to it, `harness stop` ends it, and with another HARNESS_HOME the demo runs beside it"
    );
    CommandError::NoDemo { reason }
}
