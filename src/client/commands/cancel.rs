//! `harness cancel`: cancels the run that is going.

use clap::Args;
use harness_protocol::{CancelAnswer, CancelOrder, ConversationState, Summary};
use serde_json::Value;

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common::{Caller, Json, Which, parsed};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::exit_codes::exits;

const CANCEL_HELP: &str = "\
Examples:
  harness cancel                               stop what runs in the last conversation of this folder
  harness cancel -c ID --run 3                 stop run 3, if it still runs
  harness cancel --clear-queue                 and say nothing of what waits";

/// The flags of `harness cancel`.
#[derive(Debug, Args)]
#[command(after_help = exits(CANCEL_HELP, "done, whether a run was going or not", "failed, or no service runs", None))]
pub(crate) struct Cancel {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: Which,
    /// Cancel this run only
    #[arg(long, value_name = "N")]
    pub(super) run: Option<u64>,
    /// Withdraw what waits to be said, too
    #[arg(long)]
    pub(super) clear_queue: bool,
    /// The name of the client that cancels it.
    #[command(flatten)]
    pub(super) caller: Caller,
    /// The form of the answer.
    #[command(flatten)]
    pub(super) form: Json,
}

/// Cancels the run and says whether one was going.
///
/// # Errors
/// If it cannot be cancelled.
pub(super) async fn run(
    order: &Cancel,
    service: &Connection,
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
        Some(_) if !answer.cancelled => {
            let snapshot = service.ask(&routes::snapshot(&conversation, 1)).await?;
            going(&snapshot.summary)
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

/// The run that is going.
fn going(summary: &Summary) -> Option<u64> {
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
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded, summary};

    /// Spec: [CLI-343]
    #[actix::test]
    async fn a_cancel_of_another_run_says_which_one_is_going() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let answers = vec![answer(200, &json!({"cancelled": false})); 2];
        server.on("/v1/conversations/c/cancel", answers);
        let mut going = summary("c");
        (going["state"], going["run_id"]) = (json!("running"), json!(7));
        let snapshot = |summary| {
            let snapshot = json!({"summary": summary, "state": "idle", "message": "",
                "settings": {}, "queue": [], "attached": 0, "history": {"events": []},
                "position": "e-3-0"});
            answer(200, &snapshot)
        };
        let snapshots = vec![snapshot(going), snapshot(summary("c"))];
        server.on("/v1/conversations/c", snapshots);
        for printed in [
            "run 999 was not going; run 7 is, and goes on\n",
            "no run was going\n",
        ] {
            let line = ["harness", "cancel", "-c", "c", "--run", "999"];
            let Some(Command::Client(ClientCommand::Cancel(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("no cancel");
            };
            let (mut output, record) = recorded();
            run(&order, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
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
            let Some(Command::Client(ClientCommand::Cancel(order))) =
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
