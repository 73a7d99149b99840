//! `harness steer`, `harness follow-up` and `harness queue`: messages that wait to be said.

use harness_protocol::{
    PromptOrder, Queue, QueueAnswer, QueueItem, QueueList, WithdrawAnswer, words,
};
use hyper::Method;
use serde_json::Value;

use super::command::{CommandError, Message};
use super::connection::{Query, path};
use super::order_arguments::{Common, QueueAction, Queued, Said};
use super::output::Output;
use super::show::parsed;
use super::{discovery, visible};
use crate::config::ClientConfig;

/// How many characters of a message are shown.
const MAX_SHOWN: usize = 200;

/// Queues a message and prints its number.
///
/// # Errors
/// If it cannot be queued.
pub(super) async fn say(
    said: &Said,
    queue: Queue,
    message: Message,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let route = match queue {
        Queue::Steer => "/steer",
        Queue::FollowUp => "/follow-up",
    };
    let order = PromptOrder {
        content: message.text,
        key: said.key.clone(),
        by: said.caller.name(),
        attachments: message.files,
    };
    let to = path(&said.common.which.conversation, route);
    let raw: Value = connection.order(Method::POST, &to, &order).await?;
    if said.common.json {
        return Ok(output.json(&raw)?);
    }
    let QueueAnswer { item } = parsed(raw)?;
    Ok(output.line(&item.to_string())?)
}

/// Shows what waits, or withdraws it.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    queued: &Queued,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let Common { which, json, .. } = queued.common();
    let of = |of_it: &str| path(&which.conversation, of_it);
    let by = |name: Option<String>| name.map(|name| ("by", name));
    let raw: Value = match &queued.action {
        None => connection.get(&of("/queue"), &[]).await?,
        Some(QueueAction::Withdraw(withdraw)) => {
            let query: Vec<_> = by(withdraw.caller.name()).into_iter().collect();
            let query: &Query<'_> = &query;
            let item = of(&format!("/queue/{}", withdraw.item));
            connection.delete_with(&item, query).await?
        }
        Some(QueueAction::Clear(clear)) => {
            let query: Vec<_> = by(clear.caller.name()).into_iter().collect();
            connection.delete_with(&of("/queue"), &query).await?
        }
    };
    if *json {
        return Ok(output.json(&raw)?);
    }
    let lines = match queued.action {
        None => table(&parsed::<QueueList>(raw)?.items),
        Some(_) => vec![withdrawn(&parsed(raw)?)],
    };
    for line in lines {
        output.line(&line)?;
    }
    Ok(())
}

/// What waits, one message a line.
fn table(items: &[QueueItem]) -> Vec<String> {
    if items.is_empty() {
        return vec!["nothing waits".to_owned()];
    }
    items.iter().map(waiting).collect()
}

/// A message that waits, on one line.
pub(super) fn waiting(item: &QueueItem) -> String {
    let by = item.by.as_ref().map_or_else(String::new, |by| {
        format!("({}) ", visible::short(by, MAX_SHOWN))
    });
    let content = visible::short(&item.content, MAX_SHOWN);
    let files = match item.attachments.len() {
        0 => String::new(),
        1 => " [1 file]".to_owned(),
        count => format!(" [{count} files]"),
    };
    let queue = words::queue(item.queue);
    format!("{} {queue:9} {by}{content}{files}", item.item)
}

fn withdrawn(answer: &WithdrawAnswer) -> String {
    if answer.withdrawn.is_empty() {
        return "nothing waited".to_owned();
    }
    let items: Vec<String> = answer.withdrawn.iter().map(u64::to_string).collect();
    format!("withdrawn: {}", items.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

    fn client(arguments: &[&str]) -> ClientCommand {
        let line = ["harness"].iter().chain(arguments);
        match Cli::try_parse_from(line).unwrap().command {
            Some(Command::Client(command)) => command,
            other => panic!("{other:?}"),
        }
    }

    /// Spec: [CLI-70]
    #[actix::test]
    async fn a_message_is_queued_with_its_key_and_name_and_its_number_is_printed() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let queued = || vec![answer(200, &json!({"item": 7}))];
        server.on("/v1/conversations/c/steer", queued());
        server.on("/v1/conversations/c/follow-up", queued());
        for (command, queue, sent, printed) in [
            (
                &["steer", "-c", "c", "--name", "ana", "Stop", "that"][..],
                Queue::Steer,
                r#"{"content":"Stop that","by":"ana"}"#,
                "7\n",
            ),
            (
                &["follow-up", "-c", "c", "--key", "k", "--json", "Stop that"],
                Queue::FollowUp,
                r#"{"content":"Stop that","key":"k"}"#,
                "{\"item\":7}\n",
            ),
        ] {
            let command = client(command);
            let (ClientCommand::Steer(super::super::order_arguments::Steer { said })
            | ClientCommand::FollowUp(super::super::order_arguments::FollowUp { said })) = &command
            else {
                panic!("{command:?}");
            };
            let (mut output, record) = recorded();
            let message = Message {
                text: said.text.join(" "),
                ..Message::default()
            };
            say(said, queue, message, &home.config, &mut output)
                .await
                .unwrap();
            let request = server.requests().pop().unwrap();
            assert!(request.ends_with(sent), "{request}");
            assert_eq!(record.out(), printed);
        }
    }

    /// Spec: [CLI-71]
    #[actix::test]
    async fn what_waits_is_shown_and_withdrawn() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let items = json!({"items": [
            {"item": 2, "queue": "steer", "content": "Stop\nthat", "by": "ana"},
            {"item": 1, "queue": "follow_up", "content": "Then test", "attachments":
                [{"sha256": "00", "media_type": "image/png", "bytes": 1}]},
        ]});
        server.on(
            "/v1/conversations/default/queue",
            vec![
                answer(200, &items),
                answer(200, &json!({"items": []})),
                answer(200, &json!({"withdrawn": [2, 1]})),
                answer(200, &json!({"withdrawn": []})),
            ],
        );
        server.on(
            "/v1/conversations/default/queue/2",
            vec![answer(200, &json!({"withdrawn": [2]}))],
        );
        for (arguments, first_line, printed) in [
            (
                &["queue"][..],
                "GET /v1/conversations/default/queue HTTP/1.1",
                "2 steering  (ana) Stop\\nthat\n1 follow-up Then test [1 file]\n",
            ),
            (
                &["queue"],
                "GET /v1/conversations/default/queue HTTP/1.1",
                "nothing waits\n",
            ),
            (
                &["queue", "withdraw", "2"],
                "DELETE /v1/conversations/default/queue/2 HTTP/1.1",
                "withdrawn: 2\n",
            ),
            (
                &["queue", "clear", "--name", "ana b"],
                "DELETE /v1/conversations/default/queue?by=ana%20b HTTP/1.1",
                "withdrawn: 2, 1\n",
            ),
            (
                &["queue", "clear"],
                "DELETE /v1/conversations/default/queue HTTP/1.1",
                "nothing waited\n",
            ),
        ] {
            let ClientCommand::Queue(queued) = client(arguments) else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&queued, &home.config, &mut output).await.unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert_eq!(request.lines().next(), Some(first_line));
        }
    }
}
