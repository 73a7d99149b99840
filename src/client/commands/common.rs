//! The flags that several commands have, and what they have in common besides.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::AttachmentOrder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::error::ApiError;
use crate::client::api::patience::Patience;
use crate::client::api::route::Route;
use crate::client::commands::asks::AsksMode;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::prompt_text::Sought;
use crate::client::{folder, prompt_files, prompt_text};
use crate::config::parse_duration;

/// Which conversation a command is about.
#[derive(Debug, Args)]
pub(crate) struct ConversationArg {
    /// The conversation, by its id or title or the beginning of one; the last one of this folder if
    /// left out, or a new one if it has none
    #[arg(short, long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    conversation: Option<String>,
}

impl ConversationArg {
    /// The named conversation.
    pub(super) fn named(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// The conversation that is meant. It is made if this folder has none.
    ///
    /// # Errors
    /// See [`folder::conversation`].
    pub(super) async fn find(&self, service: &ServiceConnection) -> Result<String, CommandError> {
        folder::conversation(self.named(), service).await
    }
}

/// The name of this client for the other clients.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// Your name, as the other clients are told it
    #[arg(long, value_name = "NAME", env = "HARNESS_NAME")]
    name: Option<String>,
}

impl CallerArgs {
    /// The name that was given.
    pub(super) fn name(&self) -> Option<String> {
        self.name.clone().filter(|name| !name.trim().is_empty())
    }
}

/// The flags of most commands that ask about one conversation.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: ConversationArg,
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl CommonArgs {
    /// Asks the conversation that is meant, and prints the answer.
    ///
    /// # Errors
    /// See [`show`].
    pub(super) async fn show<A: DeserializeOwned>(
        &self,
        route: impl FnOnce(&str) -> Route<A>,
        service: &ServiceConnection,
        output: &mut Output,
        lines: impl FnOnce(A) -> Vec<String>,
    ) -> Result<(), CommandError> {
        let route = route(&self.which.find(service).await?);
        show(route, self.json, service, output, lines).await
    }
}

impl CommonArgs {
    /// Asks the conversation that is meant for a list, and prints it.
    ///
    /// # Errors
    /// See [`list`].
    pub(super) async fn list<A: DeserializeOwned>(
        &self,
        (route, member): (impl FnOnce(&str) -> Route<A>, &str),
        service: &ServiceConnection,
        output: &mut Output,
        lines: impl FnOnce(A) -> Vec<String>,
    ) -> Result<(), CommandError> {
        let route = route(&self.which.find(service).await?);
        list((route, member), self.json, service, output, lines).await
    }
}

/// The flags of most commands that change something in one conversation.
#[derive(Debug, Args)]
pub(crate) struct ChangingArgs {
    /// The name of the client that changes it.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// The flags of a command that starts a run and shows it.
#[derive(Debug, Args)]
pub(crate) struct StartingArgs {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: ConversationArg,
    /// The name of the client that asks.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// Print every event of the run as JSON Lines in place of the reply's text
    #[arg(long)]
    pub(super) json: bool,
    /// The way to go when a tool waits for an operator's answer; wait at a terminal, or while another client
    /// is attached, and else deny
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) asks: Option<AsksMode>,
    /// How the run is waited for and shown.
    #[command(flatten)]
    pub(super) ways: WaysArgs,
}

/// How a run is waited for and shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WaysArgs {
    /// While another run is going, wait for its end and send it then
    #[arg(long)]
    pub(super) wait: bool,
    /// The most time that it may take, such as 90s or 10m; then the run is cancelled, with exit code 124
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Tell nothing on standard error but errors and what waits for an answer
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Write the reply to this file in place of standard output, when all of it is there
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let duration = parse_duration(text).filter(|duration| !duration.is_zero());
    duration.ok_or("a duration is a number and ms, s, m or h, such as 90s or 10m")
}

/// The flags of what is sent and followed like a prompt.
#[derive(Debug, Args)]
pub(crate) struct SendingArgs {
    /// The run.
    #[command(flatten)]
    pub(super) starting: StartingArgs,
    /// Names the order: one that was sent before with this key is not run again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(super) key: Option<String>,
}

/// A text for a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageArgs {
    /// In words.
    pub(super) text: String,
    /// In files.
    pub(super) files: Vec<AttachmentOrder>,
}

impl MessageArgs {
    /// Reads what a command line says. Standard input may block, so that nothing may wait for
    /// events yet.
    ///
    /// # Errors
    /// If there is no text, or something cannot be read.
    pub(super) fn read(
        words: &[String],
        files: &[PathBuf],
        sought: Sought,
    ) -> Result<Self, CommandError> {
        let files = prompt_files::read(files)?;
        let text = prompt_text::read(words, sought)?;
        Ok(Self { text, files })
    }
}

/// A key for an order that was given none.
pub(super) fn new_key() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// Sends an order that has a key, again while it is not known whether it was taken; the answer, and
/// how often it was sent again.
///
/// # Errors
/// If it was refused, or it is still not known.
pub(super) async fn sent<A>(
    patience: Patience,
    output: &mut Output,
    send: impl AsyncFn() -> Result<A, ApiError>,
) -> Result<(A, u32), ApiError> {
    let mut tries = 0;
    loop {
        match send().await {
            Ok(answer) => return Ok((answer, tries)),
            Err(error) if error.may_send_again() && patience.allows(tries + 1) => {
                let wait = patience.wait(tries);
                output.note(&format!("harness: {error}; sending again in {wait:?}"));
                tries += 1;
                tokio::time::sleep(wait).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Asks for something, or gives an order, and prints the answer: as the service sent it, or in
/// lines.
///
/// # Errors
/// If there is no answer of use, or it cannot be printed.
pub(super) async fn show<A: DeserializeOwned>(
    route: Route<A>,
    json: bool,
    service: &ServiceConnection,
    output: &mut Output,
    lines: impl FnOnce(A) -> Vec<String>,
) -> Result<(), CommandError> {
    let raw = service.ask(&route.answered_as()).await?;
    print(raw, json, output, lines)
}

/// The flag of commands that print one answer.
#[derive(Debug, Args)]
pub(crate) struct JsonFlag {
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks for a list, and prints it: as a JSON object with `items`, or in lines.
///
/// # Errors
/// If there is no answer of use, or it cannot be printed.
pub(super) async fn list<A: DeserializeOwned>(
    (route, member): (Route<A>, &str),
    json: bool,
    service: &ServiceConnection,
    output: &mut Output,
    lines: impl FnOnce(A) -> Vec<String>,
) -> Result<(), CommandError> {
    let raw = service.ask(&route.answered_as()).await?;
    if json {
        return Ok(output.json(&items(raw, member))?);
    }
    print(raw, false, output, lines)
}

/// A list as every command prints it in JSON: what the service calls `member` is called `items`.
pub(super) fn items(mut raw: Value, member: &str) -> Value {
    let Some(answer) = raw.as_object_mut() else {
        return raw;
    };
    let items = answer
        .remove(member)
        .unwrap_or_else(|| Value::Array(Vec::new()));
    let rest = std::mem::take(answer);
    answer.insert("items".to_owned(), items);
    answer.extend(rest);
    raw
}

/// Prints an answer: as the service sent it, or in lines.
///
/// # Errors
/// If it is of no use, or cannot be printed.
pub(super) fn print<A: DeserializeOwned>(
    raw: Value,
    json: bool,
    output: &mut Output,
    lines: impl FnOnce(A) -> Vec<String>,
) -> Result<(), CommandError> {
    if json {
        return Ok(output.json(&raw)?);
    }
    for line in lines(parsed(raw)?) {
        output.line(&line)?;
    }
    Ok(())
}

/// An answer of the service, as this version knows it.
///
/// # Errors
/// If it has another shape.
pub(super) fn parsed<A: DeserializeOwned>(raw: Value) -> Result<A, RequestError> {
    serde_json::from_value(raw).map_err(|error| RequestError::Malformed {
        reason: error.to_string(),
    })
}
