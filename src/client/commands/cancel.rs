//! `harness cancel`: cancels the run that is going.

use clap::Args;
use harness_protocol::CancelOrder;

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common::{Caller, Which};
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
    /// Who cancels it.
    #[command(flatten)]
    pub(super) caller: Caller,
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
    let route = routes::cancel(&order.which.find(service).await?, &body);
    output.line(if service.ask(&route).await?.cancelled {
        "the run was stopped"
    } else {
        "no run was going"
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

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
