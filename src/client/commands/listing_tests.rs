//! Tests of the commands for skills and templates.

use clap::Parser as _;
use clap::error::ErrorKind;

use serde_json::json;

use super::*;
use crate::cli::{Cli, ProgramCommand};
use crate::client::ClientCommand;
use crate::client::api::patience::Patience;
use crate::client::api::routes;
use crate::client::commands::run;
use crate::client::interrupts::Interrupts;
use crate::client::testing::{Home, Record, Server, answer, frames, impatient, opening, recorded};

fn parse(arguments: &[&str]) -> ClientCommand {
    let line = ["harness"].iter().chain(arguments);
    match Cli::try_parse_from(line).unwrap().command {
        Some(ProgramCommand::Client(command)) => command,
        other => panic!("{other:?}"),
    }
}

async fn listed(kind: &str, json: bool, body: &Value) -> (Result<(), CommandError>, Record) {
    let server = Server::start().await;
    server.on(&format!("/v1/{kind}"), vec![answer(200, body)]);
    let connection = ServiceConnection::new(server.named(), None);
    let (mut output, record) = recorded();
    let listing = ListingArgs { json };
    let route = match kind {
        "skills" => routes::skills,
        _ => routes::templates,
    };
    let result = super::run(kind, route, &listing, &connection, &mut output).await;
    (result, record)
}

/// Spec: [GUIDE-60]
#[actix::test]
async fn a_list_has_names_and_descriptions_and_problems_beside_it() {
    let body = json!({
        "skills": [
            {"name": "a", "description": "d\u{1b}[2J", "hidden": false, "path": "/p"},
            {"name": "long", "description": "x".repeat(80), "hidden": true},
            {"name": "none", "hidden": false},
        ],
        "problems": ["/q/SKILL.md: it has no front matter"],
    });
    let (result, record) = listed("skills", false, &body).await;
    result.unwrap();
    let cut = format!("{}…", "x".repeat(71));
    assert_eq!(
        record.out(),
        format!("a     d\\u{{1b}}[2J\nlong  (hidden) {cut}\nnone\n")
    );
    assert_eq!(
        record.err(),
        "harness: /q/SKILL.md: it has no front matter\n"
    );

    let (result, record) = listed("skills", true, &body).await;
    result.unwrap();
    let printed = serde_json::from_str::<Value>(&record.out()).unwrap();
    assert_eq!(
        printed,
        json!({"items": body["skills"], "problems": body["problems"]})
    );
}

/// Spec: [GUIDE-60]
#[actix::test]
async fn an_empty_list_says_so_and_no_list_is_a_failure() {
    let body = json!({"templates": [], "problems": []});
    let (result, record) = listed("templates", false, &body).await;
    result.unwrap();
    assert_eq!(record.out(), "");
    assert!(
        record
            .err()
            .starts_with("harness: there are no templates; ")
    );
    let (result, _) = listed("templates", false, &json!({})).await;
    assert_eq!(result.unwrap_err().exit_code(), 1);
}

/// The request of a command, and its output.
async fn sent(arguments: &[&str], text: &str, route: &str) -> (i32, String, Value) {
    let server = Server::start().await;
    let home = Home::of(&server);
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let attached = json!({"type": "attached", "conversation": "c", "position": "e-4-0",
        "state": "idle", "message": ""});
    let user = json!({"type": "user", "content": "Hi", "run_id": 7, "timestamp": 1});
    let reply = json!({"type": "text", "content": "Done.", "timestamp": 1});
    let end = json!({"type": "run_ended", "run_id": 7, "outcome": "completed", "message": "",
        "usage": usage, "timestamp": 1});
    server.on(route, vec![answer(200, &json!({"run_id": 7}))]);
    let first: Vec<(u64, Value)> = vec![(0, attached)];
    let rest = vec![(5, user), (6, reply), (7, end)];
    let stream = vec![
        opening(4).into(),
        frames(&first).into(),
        frames(&rest).into(),
    ];
    server.say("/v1/conversations/c/events", vec![stream]);
    let command = parse(arguments);
    let order = match &command {
        ClientCommand::Skill(skill) => skill.saying(Some(text.to_owned())),
        ClientCommand::Template(template) => template.order(),
        other => panic!("{other:?}"),
    };
    let (_press, presses) = tokio::sync::mpsc::unbounded_channel();
    let mut interrupts = Interrupts::new(presses);
    let (mut output, record) = recorded();
    let patience: Patience = impatient();
    let order = order
        .find(&home.service().await, &mut recorded().0)
        .await
        .unwrap();
    let run = run::run(order, &home.config, patience, &mut interrupts, &mut output).await;
    let requests = server.requests();
    let posted = requests.iter().find(|request| request.starts_with("POST"));
    let (head, body) = posted.unwrap().split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(&format!("POST {route} ")), "{head}");
    let body = serde_json::from_str(body).unwrap();
    (run.unwrap().code, record.out(), body)
}

/// Spec: [GUIDE-61]
#[actix::test]
async fn a_skill_is_sent_with_what_is_said_besides_and_its_run_is_shown() {
    let route = "/v1/conversations/c/skill";
    let flags = ["skill", "-c", "c", "--name", "ana", "release", "Only", "it"];
    let (code, out, mut body) = sent(&flags, "Only it", route).await;
    assert_eq!((code, &*out), (0, "Done.\n"));
    let key = body.as_object_mut().unwrap().remove("key").unwrap();
    assert_eq!(key.as_str().unwrap().len(), 32);
    assert_eq!(
        body,
        json!({"name": "release", "instructions": "Only it", "by": "ana"})
    );
    let (_, _, body) = sent(&["skill", "-c", "c", "release"], "", route).await;
    assert_eq!(body.get("instructions"), None);
    assert_eq!(body["by"], "harness-prompt");
}

/// Spec: [GUIDE-61]
#[actix::test]
async fn a_template_is_sent_with_its_arguments() {
    let flags = [
        "template",
        "-c",
        "c",
        "review",
        "two words",
        "$1",
        "--",
        "-v",
    ];
    let (code, out, body) = sent(&flags, "", "/v1/conversations/c/template").await;
    assert_eq!((code, &*out), (0, "Done.\n"));
    assert_eq!(body["name"], "review");
    assert_eq!(body["arguments"], json!(["two words", "$1", "-v"]));
}

/// Spec: [GUIDE-62]
#[test]
fn help_shows_examples_and_exit_codes_and_a_name_is_needed() {
    for command in ["skills", "templates", "skill", "template"] {
        let error = Cli::try_parse_from(["harness", command, "--help"]).unwrap_err();
        let help = error.to_string();
        for part in ["Examples:", "Exit codes:", "[env: HARNESS_HOME]", "--json"] {
            assert!(help.contains(part), "{part} is missing in:\n{help}");
        }
    }
    for command in ["skill", "template"] {
        let error = Cli::try_parse_from(["harness", command]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
        let error = Cli::try_parse_from(["harness", command, ""]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    }
}
