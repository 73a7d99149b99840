//! `harness conversations`: what can be done with conversations as a whole.

mod delete;
mod export;
mod fork;
mod list;
mod new;
mod rename;
mod show;

pub(super) use list::ago;

use clap::{Args, Subcommand};
use harness_actors::Clock;
use harness_protocol::{ConversationSummary, Deleted};

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::commands::common;
use crate::client::commands::conversations::delete::DeleteArgs;
use crate::client::commands::conversations::export::ExportArgs;
use crate::client::commands::conversations::fork::ForkArgs;
use crate::client::commands::conversations::list::ListArgs;
use crate::client::commands::conversations::new::NewArgs;
use crate::client::commands::conversations::rename::RenameArgs;
use crate::client::commands::conversations::show::ShowArgs;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

const CONVERSATIONS_HELP: &str = "\
Examples:
  harness conversations                        list them, the last active first
  id=$(harness conversations new --title Ideas)
  harness conversations show                   the last one of this folder
  harness conversations show \"$id\"
  harness conversations fork \"$id\" --at 12     a copy of its first 12 records
  harness conversations export \"$id\" --format markdown > ideas.md";

/// The flags of `harness conversations`.
#[derive(Debug, Args)]
#[command(after_help = asks(CONVERSATIONS_HELP))]
pub(crate) struct ConversationsArgs {
    /// How to list them.
    #[command(flatten)]
    pub(super) list: WithoutSubcommand<ListArgs>,
    /// The action; lists them if left out.
    #[command(subcommand)]
    pub(super) action: Option<ConversationsAction>,
}

/// The actions on conversations.
#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsAction {
    /// List all conversations, the last active first
    List(ListArgs),
    /// Make a conversation and print its id
    New(NewArgs),
    /// Show a conversation and its last events
    Show(ShowArgs),
    /// Give a conversation another title
    Rename(RenameArgs),
    /// Delete a conversation and print where its journal was moved
    Delete(DeleteArgs),
    /// Copy a conversation and print the id of the copy
    Fork(ForkArgs),
    /// Print the whole history of a conversation
    Export(ExportArgs),
}

/// Carries out what was asked.
///
/// # Errors
/// If it cannot be done.
pub(super) async fn run(
    conversations: &ConversationsArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let clock = Clock::system();
    // What scripts need, alone on a line.
    let id = |it: ConversationSummary| vec![visible::line(&it.id)];
    let title = |it: ConversationSummary| vec![visible::line(&it.title.unwrap_or_default())];
    let trash = |it: Deleted| vec![visible::line(&it.trash)];
    match &conversations.action {
        None => list::run(&conversations.list, service, clock, output).await,
        Some(ConversationsAction::List(list)) => list::run(list, service, clock, output).await,
        Some(ConversationsAction::Show(show)) => show::run(show, service, clock, output).await,
        Some(ConversationsAction::Export(export)) => export::run(export, service, output).await,
        Some(ConversationsAction::New(it)) => {
            let raw = new::run(it, service, output).await?;
            common::print(raw, it.form.json, output, id)
        }
        Some(ConversationsAction::Fork(it)) => {
            common::print(fork::run(it, service).await?, it.form.json, output, id)
        }
        Some(ConversationsAction::Rename(it)) => {
            common::print(rename::run(it, service).await?, it.form.json, output, title)
        }
        Some(ConversationsAction::Delete(it)) => {
            common::print(delete::run(it, service).await?, it.form.json, output, trash)
        }
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

    /// Spec: [CLI-23] [CLI-51] [CLI-79]
    #[actix::test]
    async fn what_scripts_need_is_printed_alone_on_a_line() {
        let server = Server::start().await;
        let home = Home::of(&server);
        server.on("/v1/conversations", vec![answer(201, &summary("c-2"))]);
        server.on(
            "/v1/conversations/c-2/fork",
            vec![answer(201, &summary("c-3"))],
        );
        server.on("/v1/conversations", vec![answer(201, &summary("c-4"))]);
        server.on(
            "/v1/conversations/c-2",
            vec![
                answer(200, &summary("c-2")),
                answer(200, &json!({"trash": "/s/trash/c-2.jsonl"})),
            ],
        );
        for (arguments, printed, sent) in [
            (
                &["new", "--title", "Ideas", "--max-turns", "3"][..],
                "c-2\n",
                r#"{"title":"Ideas","settings":{"max_turns":3}}"#,
            ),
            (&["fork", "c-2", "--at", "12"], "c-3\n", r#"{"seq":12}"#),
            (
                &["rename", "c-2", "Other", "--name", "ana"],
                "Title\n",
                r#"{"title":"Other","by":"ana"}"#,
            ),
            (&["delete", "c-2", "--yes"], "/s/trash/c-2.jsonl\n", ""),
            (
                &[
                    "new",
                    "--thinking",
                    "high",
                    "--tools",
                    "read,grep",
                    "--set",
                    "auto-compact=false",
                ],
                "c-4\n",
                r#"{"settings":{"thinking":"high","active_tools":["read","grep"],"auto_compact":false}}"#,
            ),
        ] {
            let line = ["harness", "conversations"].iter().chain(arguments);
            let Some(ProgramCommand::Client(ClientCommand::Conversations(conversations))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&conversations, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
        }
    }
}
