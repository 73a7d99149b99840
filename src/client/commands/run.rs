//! A run that a command starts and shows to its end.

use std::future::pending;
use std::io::{self, IsTerminal as _};

use futures_util::future::LocalBoxFuture;
use harness_protocol::{CancelOrder, ContinueOrder, Event, Outcome, PromptAnswer};

use crate::client::api::connection::Connection;
use crate::client::api::error::ApiError;
use crate::client::api::follower::{Follower, Start};
use crate::client::api::patience::Patience;
use crate::client::api::route::Route;
use crate::client::api::{discovery, routes};
use crate::client::commands::asks::{self, Asks};
use crate::client::commands::common::{self, Sending, Starting};
use crate::client::commands::follow::next_event;
use crate::client::error::{CommandError, EXIT_CANCELLED, EXIT_DENIED, EXIT_LIMITED};
use crate::client::folder;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::client::run_view::{End, RunView, Shown};
use crate::config::ClientConfig;

/// How the other clients see this command.
const NAME: &str = "harness-prompt";
/// How many events are asked for at once when a run is looked for.
const PAGE: usize = 100;

/// Makes the request to a conversation.
type RouteTo<'c> = Box<dyn FnOnce(&str) -> Route<PromptAnswer> + 'c>;

/// What is to be sent to a conversation that is not found yet.
pub(super) struct Order<'c> {
    named: Option<&'c str>,
    route: RouteTo<'c>,
    by: String,
    key: Key,
    json: bool,
    asks: Option<Asks>,
}

/// What is to be sent, and how its run is to be shown.
pub(super) struct Addressed {
    conversation: String,
    route: Route<PromptAnswer>,
    /// How the other clients see who asks.
    by: String,
    key: Key,
    json: bool,
    asks: Option<Asks>,
}

/// The key by which the service knows an order that it got before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// There is none, so that the order cannot be sent again without doing it twice.
    None,
    /// A new one.
    New,
    /// One that may have been sent before.
    Known,
}

impl<'c> Order<'c> {
    /// An order with a key, so that sending it again after a break cannot run it twice. `route`
    /// makes the request of the conversation, the key and the name of who asks.
    pub(super) fn sending(
        sending: &'c Sending,
        route: impl FnOnce(&str, String, String) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let text = sending.key.clone().unwrap_or_else(common::new_key);
        let key = match sending.key {
            Some(_) => Key::Known,
            None => Key::New,
        };
        Self::new(&sending.starting, key, |to, by| route(to, text, by))
    }

    /// An order that goes on without a prompt.
    pub(super) fn without_prompt(
        starting: &'c Starting,
        route: impl FnOnce(&str, &ContinueOrder) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let route = |to: &str, by| route(to, &ContinueOrder { by: Some(by) });
        Self::new(starting, Key::None, route)
    }

    fn new(
        starting: &'c Starting,
        key: Key,
        route: impl FnOnce(&str, String) -> Route<PromptAnswer> + 'c,
    ) -> Self {
        let by = starting.caller.name().unwrap_or_else(|| NAME.to_owned());
        let who = by.clone();
        Self {
            named: starting.which.named(),
            route: Box::new(|conversation| route(conversation, who)),
            by,
            key,
            json: starting.json,
            asks: starting.asks,
        }
    }

    /// The order to the conversation that is meant. It is made if this folder has none.
    ///
    /// # Errors
    /// See [`folder::conversation`].
    pub(super) async fn find(self, service: &Connection) -> Result<Addressed, CommandError> {
        let conversation = folder::conversation(self.named, service).await?;
        Ok(self.to(conversation))
    }

    fn to(self, conversation: String) -> Addressed {
        Addressed {
            route: (self.route)(&conversation),
            conversation,
            by: self.by,
            key: self.key,
            json: self.json,
            asks: self.asks,
        }
    }
}

/// Runs the prompt; the exit code says how the run ended.
///
/// # Errors
/// If the prompt cannot be sent or its run cannot be followed.
pub(crate) async fn run(
    order: Addressed,
    config: &ClientConfig,
    patience: Patience,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    // Attached first, nothing of the run is missed.
    let attaching = async {
        let mut follower = follower_of(&order, config, patience, Start::Now).await?;
        while !matches!(
            next_event(&mut follower, output).await?.event,
            Event::Attached { .. }
        ) {}
        Ok::<_, CommandError>(follower)
    };
    let mut follower = tokio::select! {
        follower = attaching => follower?,
        () = interrupts.next() => return Err(CommandError::Stopped),
    };
    let mut is_cancelled = false;
    let run_id = {
        let mut sending = std::pin::pin!(send(&order, config, patience, &mut follower, output));
        loop {
            tokio::select! {
                run_id = &mut sending => break run_id?,
                () = interrupts.next() => {
                    if std::mem::replace(&mut is_cancelled, true) {
                        return Err(CommandError::Stopped);
                    }
                }
            }
        }
    };
    let cancel = || -> LocalBoxFuture<'_, _> { Box::pin(cancel(&order, config, run_id)) };
    let mut cancelling = is_cancelled.then(cancel);
    let mut view = RunView::new(run_id);
    let mut answering: Option<LocalBoxFuture<'_, Result<(), ApiError>>> = None;
    loop {
        let arrival = tokio::select! {
            arrival = next_event(&mut follower, output) => arrival?,
            () = interrupts.next() => {
                if std::mem::replace(&mut is_cancelled, true) {
                    return Err(CommandError::Stopped);
                }
                cancelling = Some(cancel());
                continue;
            }
            failed = async {
                match &mut answering {
                    Some(answering) => answering.await,
                    None => pending().await,
                }
            } => {
                answering = None;
                if let Err(error) = failed {
                    // Somebody else may have answered: that is told by its event.
                    output.note(&format!("harness: the approval was not denied: {error}"));
                }
                continue;
            }
            failed = async {
                match &mut cancelling {
                    Some(cancelling) => cancelling.await.err(),
                    None => pending().await,
                }
            } => {
                cancelling = None;
                if let Some(error) = failed {
                    output.note(&format!("harness: cannot cancel: {error}"));
                }
                continue;
            }
        };
        let seen = view.take(&arrival.event);
        if order.json && seen.of_the_run {
            output.json(&arrival.with_position())?;
        }
        for shown in seen.shown {
            match shown {
                Shown::Text(_) if order.json => {}
                Shown::Text(text) => output.text(&text)?,
                Shown::Note(note) => output.note(&note),
            }
        }
        if let Some(approval) = seen.asked {
            for line in asks::told(&order.conversation, &approval) {
                output.note(&line);
            }
            answering = Some(Box::pin(answer_approval(&order, config, approval.id)));
        }
        if let Some(end) = seen.end {
            return Ok(exit_code(end));
        }
    }
}

/// The exit code for the end of a run.
fn exit_code(end: End) -> i32 {
    match end.outcome {
        Outcome::Error | Outcome::Interrupted | Outcome::Unknown => 1,
        Outcome::Completed | Outcome::Cancelled if end.is_denied => EXIT_DENIED,
        Outcome::Completed if end.is_limited => EXIT_LIMITED,
        Outcome::Completed => 0,
        Outcome::Cancelled => EXIT_CANCELLED,
    }
}

/// Answers an approval, unless an operator is to do that.
async fn answer_approval(
    order: &Addressed,
    config: &ClientConfig,
    id: u64,
) -> Result<(), ApiError> {
    let connection = discovery::find(config).await?;
    let asks = match order.asks {
        Some(asks) => asks,
        None if io::stderr().is_terminal() => Asks::Wait,
        None => {
            let snapshot = connection
                .ask(&routes::snapshot(&order.conversation, 1))
                .await?;
            // This command is one of them.
            if snapshot.attached > 1 {
                Asks::Wait
            } else {
                Asks::Deny
            }
        }
    };
    if let Some(answer) = asks.answer(&order.by) {
        let route = routes::answer(&order.conversation, id, &answer);
        connection.ask(&route).await?;
    }
    Ok(())
}

/// Sends the prompt, again after a break; its run. If the run may be an old one, the follower
/// starts anew where it began.
async fn send(
    order: &Addressed,
    config: &ClientConfig,
    patience: Patience,
    follower: &mut Follower,
    output: &mut Output,
) -> Result<u64, CommandError> {
    let once = || send_once(order, config);
    let ((connection, run_id), tries) = match order.key {
        Key::None => (once().await?, 0),
        Key::New | Key::Known => common::sent(patience, output, once).await?,
    };
    if order.key == Key::Known || tries > 0 {
        let start = start_of(&connection, &order.conversation, run_id).await?;
        let behind = Start::After((start - 1).to_string());
        *follower = follower_of(order, config, patience, behind).await?;
    }
    Ok(run_id)
}

async fn follower_of(
    order: &Addressed,
    config: &ClientConfig,
    patience: Patience,
    start: Start,
) -> Result<Follower, ApiError> {
    let follower = Follower::new(config, patience, &order.conversation, &order.by, start);
    follower.open().await
}

async fn send_once(
    order: &Addressed,
    config: &ClientConfig,
) -> Result<(Connection, u64), ApiError> {
    let connection = discovery::find(config).await?;
    let PromptAnswer { run_id } = connection.ask(&order.route).await?;
    Ok((connection, run_id))
}

/// The number of the first record of a run, found from the end of the history.
async fn start_of(
    connection: &Connection,
    conversation: &str,
    run_id: u64,
) -> Result<u64, CommandError> {
    let snapshot = connection
        .ask(&routes::snapshot(conversation, PAGE))
        .await?;
    let mut page = snapshot.history;
    loop {
        for past in &page.events {
            match past.event {
                Event::User {
                    run_id: Some(run), ..
                }
                | Event::RunStarted { run_id: run, .. }
                    if run == run_id =>
                {
                    return Ok(past.seq.max(1));
                }
                _ => {}
            }
        }
        let before = page.before;
        let Some(end) = before else {
            return Err(CommandError::Contradiction {
                reason: "the run of this key is not in the history any more",
            });
        };
        let before = routes::history_before(conversation, end, PAGE);
        page = connection.ask(&before).await?;
        if page.before.is_some_and(|further| further >= end) {
            return Err(CommandError::SAME_PAGE);
        }
    }
}

async fn cancel(order: &Addressed, config: &ClientConfig, run_id: u64) -> Result<(), ApiError> {
    let connection = discovery::find(config).await?;
    let body = CancelOrder {
        run_id: Some(run_id),
        by: Some(order.by.clone()),
        clear_queue: false,
    };
    // Whether it was still going, its end will tell.
    connection
        .ask(&routes::cancel(&order.conversation, &body))
        .await?;
    Ok(())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
