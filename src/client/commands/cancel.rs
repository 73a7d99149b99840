//! `harness cancel`: cancels the run that is going.

use clap::Args;
use harness_protocol::{
    CancelAnswer, CancelOrder, ConversationSnapshot, ConversationState, ConversationSummary, Event,
};
use serde_json::Value;

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{CallerArgs, ConversationArg, JsonFlag, parsed};
use crate::client::error::CommandError;
use crate::client::output::Output;

const CANCEL_HELP: &str = "\
Examples:
  harness cancel                               stop what runs in the last conversation of this folder
  harness cancel -c ID --run 3                 stop run 3, if it still runs
  harness cancel --clear-queue                 and say nothing of what waits";

/// Number of the last events that are searched for the last run.
const TAIL: usize = 100;

/// The flags of `harness cancel`.
#[derive(Debug, Args)]
#[command(after_help = exits(CANCEL_HELP, "done, whether a run was going or not", "failed, there is no such run, or no service runs", None))]
pub(crate) struct CancelArgs {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: ConversationArg,
    /// Cancel this run only
    #[arg(long, value_name = "N")]
    pub(super) run: Option<u64>,
    /// Withdraw what waits to be said, too
    #[arg(long)]
    pub(super) clear_queue: bool,
    /// The name of the client that cancels it.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: JsonFlag,
}

/// Cancels the run and says whether one was going.
///
/// # Errors
/// If it cannot be cancelled.
pub(super) async fn run(
    order: &CancelArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let body = CancelOrder {
        run_id: order.run,
        by: order.caller.name(),
        clear_queue: order.clear_queue,
    };
    let conversation = order.which.find(service).await?;
    let route = routes::cancel(&conversation, &body).answered_as::<Value>();
    let mut raw = service.ask(&route).await?;
    let answer: CancelAnswer = parsed(raw.clone())?;
    let going = match order.run {
        Some(run) if !answer.cancelled => {
            let route = routes::snapshot(&conversation, TAIL);
            let snapshot = service.ask(&route).await?;
            let going = going(&snapshot.summary);
            if is_unknown(run, &snapshot) {
                return Err(CommandError::NoRun { run, going });
            }
            going
        }
        _ => None,
    };
    if order.form.json {
        if let Some(going) = going {
            raw["going"] = going.into();
        }
        return Ok(output.json(&raw)?);
    }
    output.line(&match (answer.cancelled, order.run, going) {
        (true, _, _) => "the run was stopped".to_owned(),
        (false, Some(run), Some(going)) => {
            format!("run {run} was not going; run {going} is, and goes on")
        }
        (false, ..) => "no run was going".to_owned(),
    })?;
    Ok(())
}

/// True if a conversation certainly has no run of that number: they count from 1.
fn is_unknown(run: u64, snapshot: &ConversationSnapshot) -> bool {
    let events = snapshot.history.events.iter().rev();
    let last = events
        .filter_map(|past| run_of(&past.event))
        .next()
        .or(snapshot.summary.run_id);
    match last {
        _ if run == 0 => true,
        Some(last) => run > last,
        // A page without a run may follow others.
        None => snapshot.history.before.is_none(),
    }
}

/// The run that a record of it names.
fn run_of(event: &Event) -> Option<u64> {
    match event {
        Event::User { run_id, .. } => *run_id,
        Event::RunStarted { run_id, .. }
        | Event::TurnStarted { run_id, .. }
        | Event::RunEnded { run_id, .. } => Some(*run_id),
        _ => None,
    }
}

/// The run that is going.
fn going(summary: &ConversationSummary) -> Option<u64> {
    match summary.state {
        ConversationState::Running | ConversationState::WaitingApproval => summary.run_id,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded, summary};

    /// Spec: [CLI-343] [CLI-633]
    #[actix::test]
    async fn a_cancel_of_another_run_says_which_one_is_going_and_fails_if_there_never_was_one() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let started = |run: u64| json!({"type": "run_started", "run_id": run, "timestamp": 1});
        let ended = |run: u64| {
            json!({"type": "run_ended", "run_id": run, "outcome": "completed", "message": "",
                "usage": {"input_tokens": 0, "output_tokens": 0,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}, "timestamp": 1})
        };
        let other = || json!({"type": "text", "content": "a", "timestamp": 1});
        let snapshot = |is_going: bool, events: Vec<Value>, before: Option<u64>| {
            let mut going = summary("c");
            if is_going {
                (going["state"], going["run_id"]) = (json!("running"), json!(7));
            }
            let events: Vec<Value> = (1..)
                .zip(events)
                .map(|(seq, event)| json!({"seq": seq, "id": "e", "event": event}))
                .collect();
            let mut history = json!({ "events": events });
            if let Some(before) = before {
                history["before"] = json!(before);
            }
            json!({"summary": going, "state": "idle", "message": "", "settings": {},
                "queue": [], "attached": 0, "history": history, "position": "e-3-0"})
        };
        for (run, snapshot, printed) in [
            (
                "3",
                snapshot(true, vec![started(7)], None),
                Ok("run 3 was not going; run 7 is, and goes on\n"),
            ),
            (
                "999",
                snapshot(true, vec![started(7)], None),
                Err("there is no run 999; run 7 is going, and continues"),
            ),
            (
                "7",
                snapshot(false, vec![ended(7), other()], Some(1)),
                Ok("no run was going\n"),
            ),
            (
                "8",
                snapshot(false, vec![ended(7), other()], Some(1)),
                Err("there is no run 8"),
            ),
            ("1", snapshot(false, vec![], None), Err("there is no run 1")),
            // The runs are in older pages.
            (
                "1",
                snapshot(false, vec![other()], Some(1)),
                Ok("no run was going\n"),
            ),
            (
                "0",
                snapshot(false, vec![other()], Some(1)),
                Err("there is no run 0"),
            ),
        ] {
            server.on(
                "/v1/conversations/c/cancel",
                vec![answer(200, &json!({"cancelled": false}))],
            );
            server.on("/v1/conversations/c", vec![answer(200, &snapshot)]);
            let line = ["harness", "cancel", "-c", "c", "--run", run];
            let Some(ProgramCommand::Client(ClientCommand::Cancel(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("no cancel");
            };
            let (mut output, record) = recorded();
            let ended = super::run(&order, &home.service().await, &mut output).await;
            let ended = ended.map_err(|error| {
                assert_eq!(error.exit_code(), 1);
                error.to_string()
            });
            let printed = printed.map(|line| assert_eq!(record.out(), line));
            assert_eq!(ended, printed.map_err(str::to_owned));
        }
    }

    /// Spec: [CLI-35] [CLI-51] [CLI-78]
    #[actix::test]
    async fn a_cancel_says_whether_a_run_was_stopped() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let answers = [true, false, false].map(|cancelled| json!({"cancelled": cancelled}));
        server.on(
            "/v1/conversations/c/cancel",
            answers.iter().map(|body| answer(200, body)).collect(),
        );
        for (flags, printed, sent) in [
            (
                &["--run", "3", "--name", "ana"][..],
                "the run was stopped\n",
                r#"{"run_id":3,"by":"ana"}"#,
            ),
            (
                &["--clear-queue"],
                "no run was going\n",
                r#"{"clear_queue":true}"#,
            ),
            (&[], "no run was going\n", "{}"),
        ] {
            let line = ["harness", "cancel", "-c", "c"].iter().chain(flags);
            let Some(ProgramCommand::Client(ClientCommand::Cancel(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{flags:?}");
            };
            let (mut output, record) = recorded();
            run(&order, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            assert!(server.requests().pop().unwrap().ends_with(sent));
        }
    }
}
