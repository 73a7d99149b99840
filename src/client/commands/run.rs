//! `harness prompt`, `harness continue` and `harness retry`: start a run and show it to its end.

use std::future::pending;

use futures_util::future::LocalBoxFuture;
use harness_protocol::{
    CancelAnswer, CancelOrder, ContinueOrder, Event, History, Outcome, PromptAnswer, PromptOrder,
    Snapshot,
};
use hyper::Method;
use serde_json::{Map, Value};

use crate::client::api::connection::Connection;
use crate::client::api::connection::RequestError;
use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::api::follower::Follower;
use crate::client::api::follower::Patience;
use crate::client::api::follower::Start;
use crate::client::commands::CommandError;
use crate::client::commands::EXIT_CANCELLED;
use crate::client::commands::Message;
use crate::client::commands::arguments::Prompt;
use crate::client::commands::events::with_position;
use crate::client::commands::guidance::Sending;
use crate::client::commands::order_arguments::Resumed;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::client::run_view::RunView;
use crate::client::run_view::Shown;
use crate::config::ClientConfig;

/// How the other clients see this command.
const NAME: &str = "harness-prompt";
/// How many events are asked for at once when a run is looked for.
const PAGE: usize = 100;

/// What is to be sent, and how its run is to be shown.
pub(crate) struct Order {
    conversation: String,
    start: Begin,
    by: String,
    /// Whether the key may have been sent before.
    known_key: bool,
    json: bool,
}

/// What starts the run.
enum Begin {
    /// A prompt.
    Prompt(Box<PromptOrder>),
    /// An order without one, by its route.
    Without(&'static str),
    /// An order that says something else, by its route and its body, in which a key is, too.
    Invoked(&'static str, Value),
}

impl Order {
    /// The order of a command line. A prompt always has a key, so that sending it again after a
    /// break cannot run it twice.
    pub(crate) fn new(prompt: &Prompt, message: Message) -> Self {
        let by = prompt.caller.name().unwrap_or_else(|| NAME.to_owned());
        let body = PromptOrder {
            content: message.text,
            key: Some(prompt.key.clone().unwrap_or_else(random_key)),
            by: Some(by.clone()),
            attachments: message.files,
        };
        Self {
            conversation: prompt.which.conversation.clone(),
            start: Begin::Prompt(Box::new(body)),
            by,
            known_key: prompt.key.is_some(),
            json: prompt.json,
        }
    }

    /// The order of a command line that goes on without a prompt.
    pub(crate) fn resume(resumed: &Resumed, route: &'static str) -> Self {
        Self {
            conversation: resumed.which.conversation.clone(),
            start: Begin::Without(route),
            by: resumed.caller.name().unwrap_or_else(|| NAME.to_owned()),
            known_key: false,
            json: resumed.json,
        }
    }

    /// The order of something else than a prompt, by another route whose body has `fields`.
    pub(crate) fn invoking(
        sending: &Sending,
        route: &'static str,
        mut fields: Map<String, Value>,
    ) -> Self {
        let by = sending.caller.name().unwrap_or_else(|| NAME.to_owned());
        let key = sending.key.clone().unwrap_or_else(random_key);
        fields.insert("key".to_owned(), key.into());
        fields.insert("by".to_owned(), by.clone().into());
        Self {
            conversation: sending.which.conversation.clone(),
            start: Begin::Invoked(route, Value::Object(fields)),
            by,
            known_key: sending.key.is_some(),
            json: sending.json,
        }
    }

    /// How the other clients see who asks.
    fn name(&self) -> &str {
        &self.by
    }

    /// Whether it can be sent again without doing it twice.
    fn is_repeatable(&self) -> bool {
        matches!(self.start, Begin::Prompt(_) | Begin::Invoked(..))
    }
}

fn random_key() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// Runs the prompt; the exit code says how the run ended.
///
/// # Errors
/// If the prompt cannot be sent or its run cannot be followed.
pub(crate) async fn run(
    order: Order,
    config: &ClientConfig,
    patience: Patience,
    interrupts: &mut Interrupts,
    output: &mut Output,
) -> Result<i32, CommandError> {
    // Attached first, nothing of the run is missed.
    let attaching = async {
        let conversation = &order.conversation;
        let mut follower =
            Follower::attach(config, patience, conversation, order.name(), Start::Now).await?;
        while !matches!(follower.next(output).await?.event, Event::Attached { .. }) {}
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
    loop {
        let arrival = tokio::select! {
            arrival = follower.next(output) => arrival?,
            () = interrupts.next() => {
                if std::mem::replace(&mut is_cancelled, true) {
                    return Err(CommandError::Stopped);
                }
                cancelling = Some(cancel());
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
            output.json(&with_position(arrival))?;
        }
        for shown in seen.shown {
            match shown {
                Shown::Text(_) if order.json => {}
                Shown::Text(text) => output.text(&text)?,
                Shown::Note(note) => output.note(&note),
            }
        }
        if let Some(outcome) = seen.end {
            return Ok(exit_code(outcome));
        }
    }
}

/// The exit code for the end of a run.
fn exit_code(outcome: Outcome) -> i32 {
    match outcome {
        Outcome::Completed => 0,
        Outcome::Cancelled => EXIT_CANCELLED,
        Outcome::Error | Outcome::Interrupted | Outcome::Unknown => 1,
    }
}

/// Sends the prompt, again after a break; its run. If the run may be an old one, the follower
/// starts anew where it began.
async fn send<'a>(
    order: &Order,
    config: &'a ClientConfig,
    patience: Patience,
    follower: &mut Follower<'a>,
    output: &mut Output,
) -> Result<u64, CommandError> {
    let mut tries = 0;
    let (connection, run_id) = loop {
        match send_once(order, config).await {
            Ok(sent) => break sent,
            Err(error)
                if order.is_repeatable()
                    && may_send_again(&error)
                    && tries + 1 < patience.tries_without_service =>
            {
                let wait = patience.wait(tries);
                output.note(&format!("harness: {error}; sending again in {wait:?}"));
                tries += 1;
                tokio::time::sleep(wait).await;
            }
            Err(error) => return Err(error),
        }
    };
    if order.known_key || tries > 0 {
        let start = start_of(&connection, &order.conversation, run_id).await?;
        let behind = Start::After((start - 1).to_string());
        *follower =
            Follower::attach(config, patience, &order.conversation, order.name(), behind).await?;
    }
    Ok(run_id)
}

async fn send_once(
    order: &Order,
    config: &ClientConfig,
) -> Result<(Connection, u64), CommandError> {
    let connection = discovery::find(config).await?;
    let to = |route: &str| path(&order.conversation, route);
    let answer: PromptAnswer = match &order.start {
        Begin::Prompt(body) => {
            let to = to("/prompt");
            connection.order(Method::POST, &to, body).await?
        }
        Begin::Invoked(route, body) => connection.order(Method::POST, &to(route), body).await?,
        Begin::Without(route) => {
            let by = Some(order.by.clone());
            let body = ContinueOrder { by };
            connection.order(Method::POST, &to(route), &body).await?
        }
    };
    Ok((connection, answer.run_id))
}

/// Whether nobody knows if the prompt arrived. What the service refuses is not sent again.
pub(crate) fn may_send_again(error: &CommandError) -> bool {
    match error {
        // Nothing was sent yet.
        CommandError::Discovery(error) => error.is_passing(),
        CommandError::Request(RequestError::Refused { .. }) => false,
        CommandError::Request(error) => error.is_passing(),
        _ => false,
    }
}

/// The number of the first record of a run, found from the end of the history.
async fn start_of(
    connection: &Connection,
    conversation: &str,
    run_id: u64,
) -> Result<u64, CommandError> {
    let tail = [("tail", PAGE.to_string())];
    let snapshot: Snapshot = connection.get(&path(conversation, ""), &tail).await?;
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
        let query = [("before", end.to_string()), ("limit", PAGE.to_string())];
        page = connection
            .get::<History>(&path(conversation, "/history"), &query)
            .await?;
        if page.before.is_some_and(|further| further >= end) {
            return Err(CommandError::Contradiction {
                reason: "the service answers with the same page again and again",
            });
        }
    }
}

async fn cancel(order: &Order, config: &ClientConfig, run_id: u64) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let body = CancelOrder {
        run_id: Some(run_id),
        by: Some(order.by.clone()),
        clear_queue: false,
    };
    // Whether it was still going, its end will tell.
    let _: CancelAnswer = connection
        .order(Method::POST, &path(&order.conversation, "/cancel"), &body)
        .await?;
    Ok(())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
