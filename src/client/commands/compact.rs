//! `harness compact`: replaces the past of a conversation by a summary.

use std::time::Duration;

use harness_protocol::{CompactAnswer, CompactOrder};
use serde_json::Value;

use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::commands::CommandError;
use crate::client::commands::conversations::show::parsed;
use crate::client::commands::order_arguments::Compact;
use crate::client::output::Output;
use crate::client::visible;
use crate::config::ClientConfig;

/// How long a compaction may take: a summary is one or more replies of the model, with retries.
pub(crate) const COMPACT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Compacts a conversation and says what came of it.
///
/// # Errors
/// If it cannot be compacted.
pub(crate) async fn run(
    compact: &Compact,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let order = CompactOrder {
        force: compact.force,
        instructions: compact.instructions.clone(),
        by: compact.caller.name(),
    };
    let to = path(&compact.common.which.conversation, "/compact");
    let raw: Value = connection.long_order(&to, &order, COMPACT_TIMEOUT).await?;
    if compact.common.json {
        return Ok(output.json(&raw)?);
    }
    Ok(output.line(&line(&parsed(raw)?, compact.force))?)
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
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::Home;
    use crate::client::testing::Server;
    use crate::client::testing::answer;
    use crate::client::testing::recorded;

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
            let Some(Command::Client(ClientCommand::Compact(compact))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{flags:?}");
            };
            let (mut output, record) = recorded();
            let result = run(&compact, &home.config, &mut output).await;
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
