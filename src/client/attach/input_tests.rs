//! Files that go with prompts, files that are looked for, and commands.

use harness_tui::PromptFile;
use serde_json::json;

use super::*;
use crate::client::attach::testing::*;
use crate::client::testing::{Home, Part, Server, answer};

const PROMPT: &str = "/v1/conversations/c/prompt";
const SHELL: &str = "/v1/conversations/c/shell";

/// A client that is attached to `c`, whose stream stays open.
async fn attached() -> (Server, Home, Client) {
    let server = service(vec![open(4, &[])]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    assert_eq!(client.tell(2).await, ["snapshot c e-4-0", "up"]);
    (server, home, client)
}

fn submit(files: Vec<PromptFile>) -> ClientOrder {
    ClientOrder::Submit {
        conversation: "c".to_owned(),
        key: "k".to_owned(),
        content: "look".to_owned(),
        files,
    }
}

/// Spec: [TUI-165]
#[actix::test]
async fn files_of_the_folder_are_sent_by_their_path_and_others_as_they_are() {
    let (server, home, mut client) = attached().await;
    let here = home.config.home.join("here.txt");
    std::fs::write(&here, "abcd").unwrap();
    let file = PromptFile::Here(here.to_string_lossy().into_owned());
    server.on(PROMPT, vec![answer(200, &json!({"run_id": 1}))]);
    client.order(submit(vec![
        file,
        PromptFile::Below("src/a b.rs".to_owned()),
    ]));
    assert!(matches!(
        client.next().await,
        News::Accepted { run_id: 1, .. }
    ));
    let requests = server.requests();
    let request = requests.iter().find(|request| request.contains(PROMPT));
    let (_, body) = request.unwrap().split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let expected = json!([{"data": "YWJjZA==", "name": "here.txt"}, {"path": "src/a b.rs"}]);
    assert_eq!(body["attachments"], expected);
    // One that cannot be read is told before anything is sent.
    let gone = home.config.home.join("none");
    client.order(submit(vec![PromptFile::Here(
        gone.to_string_lossy().into_owned(),
    )]));
    let News::NotAccepted { reason, .. } = client.next().await else {
        panic!("it was sent");
    };
    assert!(reason.starts_with("cannot attach "), "{reason}");
}

/// Spec: [TUI-168]
#[actix::test]
async fn a_command_that_is_ended_is_given_up() {
    let (server, _home, mut client) = attached().await;
    let command = || ClientOrder::Command {
        conversation: "c".to_owned(),
        command: "ls".to_owned(),
        is_hidden: true,
    };
    server.say(SHELL, vec![vec![Part::Hang]]);
    client.order(command());
    server.until_asked(SHELL).await;
    client.order(ClientOrder::EndCommand);
    assert_eq!(client.next().await, News::CommandEnded { reason: None });
    server.until_left(SHELL).await;
    let ran = json!({"result": "[exit 0]", "is_error": false});
    server.on(SHELL, vec![answer(200, &ran)]);
    client.order(command());
    assert_eq!(client.next().await, News::CommandEnded { reason: None });
    server.on(SHELL, vec![problem(401, "it needs the token")]);
    client.order(command());
    let reason = Some("it needs the token".to_owned());
    assert_eq!(client.next().await, News::CommandEnded { reason });
}
