//! The texts, questions and orders of `harness workflow apply`.

use clap::Parser as _;
use serde_json::{Value, json};

use super::super::WorkflowCommand;
use super::super::tests::snapshot;
use super::*;
use crate::cli::{Cli, ProgramCommand};
use crate::client::testing::{Home, Record, Server, answer, recorded};

const PATH: &str = "/v1/workflows/w1/manifest";

fn compared(removes: bool) -> Value {
    let about = json!({"kind": "feature_removed", "feature": "b"});
    let gone = json!({"about": about, "line": "feature b is removed"});
    let about = json!({"kind": "section_changed", "section": "budget"});
    let budget = json!({"about": about, "line": "budget: tokens 1 -> 2\u{7}"});
    let changes = if removes {
        vec![gone, budget]
    } else {
        vec![budget]
    };
    json!({"hash": "new", "problems": [], "changes": changes, "removes": removes})
}

async fn applied(
    flags: &[&str],
    compared: &Value,
    says: Option<bool>,
) -> (i32, Record, Vec<String>) {
    let server = Server::start().await;
    let home = Home::of(&server);
    let counts = json!({"hash": "old", "file": "p.toml"});
    let answers = vec![
        answer(200, &counts),
        answer(200, compared),
        answer(200, &snapshot("ready")),
    ];
    server.on(PATH, answers);
    let line = ["harness", "workflow", "apply", "w1"].iter().chain(flags);
    let Some(ProgramCommand::Workflow(workflow)) = Cli::try_parse_from(line).unwrap().command
    else {
        panic!("no workflow");
    };
    let Some(WorkflowCommand::Apply(apply)) = workflow.service() else {
        panic!("no apply");
    };
    let (mut output, record) = recorded();
    let done = run(&apply, &home.service().await, &|| says, &mut output).await;
    (done.unwrap(), record, server.requests())
}

fn sent(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Spec: [FLOW-96]
#[actix::test]
async fn the_changes_are_shown_and_what_was_shown_is_approved() {
    let (code, record, requests) = applied(&[], &compared(false), Some(true)).await;
    let shown = "p.toml would change:\n  budget: tokens 1 -> 2\\u{7}\n  hash         new\n\
                 workflow w1 (parser): ready, 1 of 2 pass\n";
    assert_eq!((code, &*record.out()), (0, shown));
    let last = requests.last().unwrap();
    assert!(last.starts_with("PUT "), "{last}");
    assert!(last.contains("if-match: \"old\"\r\n"), "{last}");
    assert_eq!(sent(last), json!({"approve": "new"}));
    assert_eq!(
        sent(&requests[requests.len() - 2]),
        json!({"dry_run": true})
    );
}

/// Spec: [FLOW-96]
#[actix::test]
async fn who_says_no_or_lets_features_go_unasked_changes_nothing() {
    for (flags, removes, says, code, part) in [
        (&[][..], false, Some(false), 1, "was not approved"),
        (&[], true, Some(true), 1, "--allow-remove"),
        (&["--allow-remove"], true, None, 0, "--approve new"),
        (&["--approve", "new"], false, None, 0, ""),
    ] {
        let (found, record, requests) = applied(flags, &compared(removes), says).await;
        assert_eq!(found, code, "{flags:?}");
        assert!(record.err().contains(part), "{}", record.err());
        let is_sent = requests.iter().filter(|it| it.contains("if-match")).count();
        assert_eq!(is_sent, usize::from(code == 0), "{flags:?}");
    }
    let problem = json!({"place": "workflow.objective", "line": 2, "message": "is blank"});
    let bad = json!({"hash": "new", "problems": [problem], "changes": [], "removes": false});
    let (code, record, _) = applied(&[], &bad, Some(true)).await;
    assert_eq!(code, 1);
    assert!(record.out().starts_with("p.toml:2: "), "{}", record.out());
    let same = json!({"hash": "old", "problems": [], "changes": [], "removes": false});
    let (code, record, _) = applied(&[], &same, None).await;
    assert_eq!(code, 0);
    assert!(
        record.out().starts_with("p.toml is the file that counts\n"),
        "{}",
        record.out()
    );
}
