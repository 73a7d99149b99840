//! `harness conversations`: what can be done with conversations as a whole.

mod export;
pub(super) mod list;
pub(in crate::client) mod show;

use harness_actors::Clock;
use harness_protocol::{ChangeConversation, Deleted, ForkOrder, Summary};
use hyper::Method;
use serde_json::Value;

use crate::client::api::connection::Connection;
use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::commands::CommandError;
use crate::client::commands::arguments::Action;
use crate::client::commands::arguments::Conversations;
use crate::client::commands::arguments::Fork;
use crate::client::commands::arguments::New;
use crate::client::commands::settings::values;
use crate::client::output::Output;
use crate::client::visible;
use crate::config::ClientConfig;

/// Carries out what was asked.
///
/// # Errors
/// If it cannot be done.
pub(crate) async fn run(
    conversations: &Conversations,
    config: &ClientConfig,
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let said = match &conversations.action {
        None => return list::run(&conversations.list, &connection, clock, output).await,
        Some(Action::List(list)) => return list::run(list, &connection, clock, output).await,
        Some(Action::Show(show)) => return show::run(show, &connection, clock, output).await,
        Some(Action::Export(export)) => return export::run(export, &connection, output).await,
        Some(Action::New(new)) => make(new, &connection).await?,
        Some(Action::Fork(fork)) => copy(fork, &connection).await?,
        Some(Action::Rename(rename)) => {
            let change = ChangeConversation {
                title: rename.title.clone(),
                by: rename.caller.name(),
            };
            let summary: Summary = connection
                .order(Method::PATCH, &path(&rename.id, ""), &change)
                .await?;
            summary.title.unwrap_or_default()
        }
        Some(Action::Delete(delete)) => {
            let deleted: Deleted = connection.delete(&path(&delete.id, "")).await?;
            deleted.trash
        }
    };
    output.line(&visible::line(&said))?;
    Ok(())
}

async fn make(new: &New, connection: &Connection) -> Result<String, CommandError> {
    let mut order = serde_json::Map::new();
    let mut settings = serde_json::Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        settings.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("model", new.model.clone().map(Value::from));
    set("max_tokens", new.max_tokens.map(Value::from));
    set("max_turns", new.max_turns.map(Value::from));
    set("system_prompt", new.system_prompt.clone().map(Value::from));
    set("thinking", new.thinking.clone().map(Value::from));
    set("active_tools", new.tools.clone().map(Value::from));
    // What they cannot be, the service says in its words.
    settings.extend(values(&new.set)?);
    order.extend(
        new.title
            .clone()
            .map(|title| ("title".to_owned(), title.into())),
    );
    order.insert("settings".to_owned(), settings.into());
    let made: Summary = connection
        .order(Method::POST, "/v1/conversations", &order)
        .await?;
    Ok(made.id)
}

async fn copy(fork: &Fork, connection: &Connection) -> Result<String, CommandError> {
    let order = ForkOrder {
        seq: fork.at,
        title: fork.title.clone(),
    };
    let made: Summary = connection
        .order(Method::POST, &path(&fork.id, "/fork"), &order)
        .await?;
    Ok(made.id)
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
    use crate::client::testing::clock;
    use crate::client::testing::recorded;
    use crate::client::testing::summary;

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
            (&["delete", "c-2"], "/s/trash/c-2.jsonl\n", ""),
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
            let Some(Command::Client(ClientCommand::Conversations(conversations))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&conversations, &home.config, clock(), &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
        }
    }
}
