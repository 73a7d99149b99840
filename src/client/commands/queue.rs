//! `harness queue`: shows or withdraws the messages that wait.

use clap::{Args, Subcommand};
use harness_protocol::{QueueItem, QueueList, WithdrawAnswer, words};

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{ChangingArgs, CommonArgs};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

/// How many characters of a message are shown.
const MAX_SHOWN: usize = 200;

const QUEUE_HELP: &str = "\
Examples:
  harness queue                                what waits, in the order in which it is said
  harness queue withdraw 3                     message 3 is not said
  harness queue clear                          nothing waits any more";

/// The flags of `harness queue`.
#[derive(Debug, Args)]
#[command(after_help = exits(QUEUE_HELP, "done", "failed, the message does not wait any more, or no service runs", None))]
pub(crate) struct QueueArgs {
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: WithoutSubcommand<CommonArgs>,
    /// The action; shows the waiting messages if left out.
    #[command(subcommand)]
    pub(super) action: Option<QueueAction>,
}

/// The actions on waiting messages.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueAction {
    /// Withdraw one message
    Withdraw(WithdrawArgs),
    /// Withdraw all messages
    Clear(ChangingArgs),
}

/// The flags of `harness queue withdraw`.
#[derive(Debug, Args)]
pub(crate) struct WithdrawArgs {
    /// The number of the message
    #[arg(value_name = "ITEM")]
    pub(super) item: u64,
    /// The name of the client that changes it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Shows what waits, or withdraws it.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    queued: &QueueArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (item, ChangingArgs { caller, common }) = match &queued.action {
        None => {
            let lines = |list: QueueList| table(&list.items);
            return queued
                .common
                .show(routes::queued, service, output, lines)
                .await;
        }
        Some(QueueAction::Withdraw(it)) => (Some(it.item), &it.changing),
        Some(QueueAction::Clear(it)) => (None, it),
    };
    let by = caller.name();
    let route = |conversation: &str| routes::withdraw(conversation, item, by.as_deref());
    let lines = |answer| vec![withdrawn(&answer)];
    common.show(route, service, output, lines).await
}

/// The waiting messages, one a line.
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
    use harness_protocol::Queue;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::commands::common::MessageArgs;
    use crate::client::testing::{Home, Server, answer, impatient, recorded};

    fn client(arguments: &[&str]) -> ClientCommand {
        let line = ["harness"].iter().chain(arguments);
        match Cli::try_parse_from(line).unwrap().command {
            Some(ProgramCommand::Client(command)) => command,
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
                &[
                    "steer", "-c", "c", "--key", "x", "--name", "ana", "Stop", "that",
                ][..],
                Queue::Steer,
                r#"{"content":"Stop that","key":"x","by":"ana"}"#,
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
            let (ClientCommand::Steer(said) | ClientCommand::FollowUp(said)) = &command else {
                panic!("{command:?}");
            };
            let (mut output, record) = recorded();
            let message = MessageArgs {
                text: said.text.join(" "),
                ..MessageArgs::default()
            };
            said.say(
                queue,
                message,
                (&home.config, impatient()),
                &home.service().await,
                &mut output,
            )
            .await
            .unwrap();
            let request = server.requests().pop().unwrap();
            assert!(request.ends_with(sent), "{request}");
            assert_eq!(record.out(), printed);
        }
    }

    /// Spec: [CLI-118]
    #[actix::test]
    async fn a_message_of_which_it_is_not_known_whether_it_was_taken_is_sent_again_with_its_key() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let late = json!({"type": "urn:harness:problem:not-known", "title": "x", "status": 504,
            "detail": "it is not known whether it was taken", "request_id": "r"});
        let lost = b"HTTP/1.1 200 OK\r\ncont".to_vec();
        let taken = answer(200, &json!({"item": 7}));
        server.on(
            "/v1/conversations/c/steer",
            vec![answer(504, &late), lost, taken],
        );
        let command = client(&["steer", "-c", "c", "Stop"]);
        let ClientCommand::Steer(said) = &command else {
            panic!("{command:?}");
        };
        let (mut output, record) = recorded();
        let message = MessageArgs {
            text: "Stop".to_owned(),
            ..MessageArgs::default()
        };
        let (sending, service) = ((&home.config, impatient()), home.service().await);
        let saying = said.say(Queue::Steer, message, sending, &service, &mut output);
        saying.await.unwrap();
        assert_eq!(record.out(), "7\n");
        let told = record.err();
        let first = "harness: it is not known whether it was taken; sending again in 1ms\n";
        assert!(told.starts_with(first), "{told}");
        let mut sent = server.requests();
        sent.retain(|request| request.starts_with("POST"));
        let body = |request: &String| request.split("\r\n\r\n").nth(1).unwrap().to_owned();
        let bodies: Vec<String> = sent.iter().map(body).collect();
        assert_eq!(bodies.len(), 3);
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
        let key = serde_json::from_str::<serde_json::Value>(&bodies[0]).unwrap();
        assert_eq!(key["key"].as_str().unwrap().len(), 32);
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
            run(&queued, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert_eq!(request.lines().next(), Some(first_line));
        }
    }
}
