//! `harness compact`: replaces the past of a conversation by a summary.

use std::time::Duration;

use clap::Args;
use harness_protocol::{CompactAnswer, CompactOrder};

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::ChangingArgs;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

const COMPACT_HELP: &str = "\
Examples:
  harness compact                              summarize the past, if it is long
  harness compact --force --instructions 'Keep every file name'

The journal then begins with the summary; the old one is kept, and where is printed. This can
take minutes. Ctrl-C ends the command and not the compaction; `harness cancel` ends that.";

/// How long a compaction may take: a summary is one or more replies of the model, with retries.
const COMPACT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The flags of `harness compact`.
#[derive(Debug, Args)]
#[command(after_help = exits(COMPACT_HELP, "done, or there was no need", "failed, or no service runs", Some("stopped with Ctrl-C")))]
pub(crate) struct CompactArgs {
    /// Summarize even if the conversation is well within the window
    #[arg(long)]
    pub(super) force: bool,
    /// The focus of the summary
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) instructions: Option<String>,
    /// The name of the client that changes it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Compacts a conversation and prints the result.
///
/// # Errors
/// If it cannot be compacted.
pub(super) async fn run(
    compact: &CompactArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let order = CompactOrder {
        force: compact.force,
        instructions: compact.instructions.clone(),
        by: compact.changing.caller.name(),
    };
    let route = |conversation: &str| routes::compact(conversation, &order, COMPACT_TIMEOUT);
    let lines = |answer| vec![line(&answer, compact.force)];
    compact
        .changing
        .common
        .show(route, service, output, lines)
        .await
}

fn line(answer: &CompactAnswer, forced: bool) -> String {
    let CompactAnswer {
        compacted,
        tokens_before,
        tokens_after,
        archive,
    } = answer;
    if !compacted && forced {
        return format!(
            "not compacted: a summary would not make about {tokens_before} tokens much fewer"
        );
    }
    if !compacted {
        return format!(
            "not compacted: about {tokens_before} tokens are well within the window; --force does it all the same"
        );
    }
    let archive = archive.as_ref().map_or_else(String::new, |archive| {
        let archive = visible::line(archive);
        format!("; the journal so far is {archive} in the state folder")
    });
    format!("compacted from about {tokens_before} to about {tokens_after} tokens{archive}")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

    /// Spec: [CLI-75]
    #[actix::test]
    async fn a_compaction_says_what_came_of_it_and_where_the_old_journal_is() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let done = json!({"compacted": true, "tokens_before": 900, "tokens_after": 90,
            "archive": "conversations/c.1.archive"});
        let none = json!({"compacted": false, "tokens_before": 900, "tokens_after": 900});
        let problem = json!({"type": "t", "title": "t", "status": 502,
            "detail": "the summary failed: overloaded", "request_id": "r"});
        server.on(
            "/v1/conversations/c/compact",
            vec![
                answer(200, &done),
                answer(200, &none),
                answer(200, &none),
                answer(502, &problem),
            ],
        );
        let mut printed = Vec::new();
        for flags in [
            &["--force", "--instructions", "-all", "--name", "ana"][..],
            &[],
            &["--force"],
            &[],
        ] {
            let line = ["harness", "compact", "-c", "c"].iter().chain(flags);
            let Some(ProgramCommand::Client(ClientCommand::Compact(compact))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{flags:?}");
            };
            let (mut output, record) = recorded();
            let result = run(&compact, &home.service().await, &mut output).await;
            printed.push(match result {
                Ok(()) => record.out(),
                Err(error) => error.to_string(),
            });
        }
        assert_eq!(
            printed,
            [
                "compacted from about 900 to about 90 tokens; the journal so far is \
                 conversations/c.1.archive in the state folder\n",
                "not compacted: about 900 tokens are well within the window; --force does it all the same\n",
                "not compacted: a summary would not make about 900 tokens much fewer\n",
                "the summary failed: overloaded",
            ]
        );
        let sent = server.requests();
        let order = r#"{"force":true,"instructions":"-all","by":"ana"}"#;
        assert!(sent[0].ends_with(order), "{}", sent[0]);
        assert!(sent[1].ends_with("\r\n\r\n{}"), "{}", sent[1]);
    }
}
