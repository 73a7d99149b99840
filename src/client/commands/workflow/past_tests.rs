//! How iterations, attempts, diffs and outputs are shown.

use clap::Parser as _;
use serde_json::{Value, json};

use super::super::tests::snapshot;
use crate::cli::{Cli, ProgramCommand};
use crate::client::testing::{Home, Record, Server, answer, recorded};

const PATH: &str = "/v1/workflows/w1";

fn iteration() -> Value {
    let hash = "ab".repeat(32);
    json!({"iteration": 2, "feature": "add", "why": "it is open", "base": "b0", "started_at": 1,
    "status": "rejected", "note": "done\u{7}",
    "spent": {"tokens": 7, "cost_micro_usd": 0, "active_ms": 2000},
    "attempts": [
        {"attempt": 1, "commit": "c1", "tree": "t1", "files": 1, "lines": 4, "accepted": false,
            "conversation": "wf-w1-2",
            "reasons": [{"reason": "check_failed", "check": "suite", "detail": "ended with 1"}],
            "checks": [{"check": "suite", "tree": "t1", "try": 2, "verdict": "failed",
                "why": "ended with 1", "counts": true, "ms": 1250, "output": hash}]},
        {"attempt": 2, "timed_out": true},
    ]})
}

async fn carried_out(line: &[&str], of: &[(&str, Vec<u8>)]) -> (Result<i32, String>, Record) {
    let server = Server::start().await;
    let home = Home::of(&server);
    for (path, answer) in of {
        server.on(&format!("{PATH}{path}"), vec![answer.clone()]);
    }
    let line = ["harness", "workflow"].iter().chain(line);
    let Some(ProgramCommand::Workflow(workflow)) = Cli::try_parse_from(line).unwrap().command
    else {
        panic!("no workflow");
    };
    let (mut output, record) = recorded();
    let done = super::super::run(&workflow.service().unwrap(), &home.config, &mut output).await;
    (done.map_err(|error| error.to_string()), record)
}

/// Spec: [FLOW-99]
#[actix::test]
async fn an_attempt_is_shown_with_its_checks_and_what_it_changed() {
    let it = answer(200, &iteration());
    let (done, record) =
        carried_out(&["show", "w1", "2.1"], &[("/iterations/2", it.clone())]).await;
    assert_eq!(done, Ok(0));
    let shown = "iteration 2 of add: rejected\n  why          it is open\n  base         b0\n\
                 \x20 used         7 tokens, 0.00 US dollars, 2s of work\n  note         done\\u{7}\n\
                 attempt 2.1: rejected\n  reason       check_failed by suite: ended with 1\n\
                 \x20 conversation  wf-w1-2\n  commit       c1: 1 files, 4 lines changed\n\
                 \x20 check        suite (try 2): failed in 1.2 s: ended with 1\n";
    assert_eq!(record.out(), shown);
    let (_, record) = carried_out(&["show", "w1", "2"], &[("/iterations/2", it)]).await;
    assert!(
        record.out().contains("attempt 2.2: not judged\n"),
        "{}",
        record.out()
    );
    let diff = json!({"iteration": 2, "attempt": 1, "base": "b0", "commit": "c1", "cut": true,
        "diff": "-a\n+\u{1b}[2J\n"});
    let diff = answer(200, &diff);
    let path = "/iterations/2/diff";
    let (done, record) = carried_out(&["show", "w1", "2.1", "--diff"], &[(path, diff)]).await;
    assert_eq!(done, Ok(0));
    assert_eq!(
        record.out(),
        "-a\n+\\u{1b}[2J\n… and more: git diff b0 c1\n"
    );
    let (_, record) = carried_out(&["show", "w1"], &[("", answer(200, &snapshot("ready")))]).await;
    assert!(record.out().starts_with("workflow w1 "), "{}", record.out());
    for wrong in [&["show", "w1", "x"][..], &["show", "w1", "--diff"]] {
        let (done, _) = carried_out(wrong, &[]).await;
        assert!(done.unwrap_err().contains("2.1"), "{wrong:?}");
    }
}

/// Spec: [FLOW-99]
#[actix::test]
async fn an_output_is_found_by_its_place_or_its_name() {
    let hash = "ab".repeat(32);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n\r\n";
    let text = || format!("{head}one\n\u{7}two").into_bytes();
    let path = format!("/outputs/{hash}");
    let of = || {
        [
            ("/iterations/2", answer(200, &iteration())),
            (&*path, text()),
        ]
    };
    for line in [
        &["output", "w1", "2.1", "suite"][..],
        &["output", "w1", &hash],
    ] {
        let (done, record) = carried_out(line, &of()).await;
        assert_eq!(
            (done, &*record.out()),
            (Ok(0), "one\n\\u{7}two\n"),
            "{line:?}"
        );
    }
    let (_, record) = carried_out(&["output", "w1", &hash, "--json"], &of()).await;
    let said: Value = serde_json::from_str(&record.out()).unwrap();
    assert_eq!(said, json!({"sha256": hash, "output": "one\n\u{7}two"}));
    let (done, _) = carried_out(&["output", "w1", "2.1", "other"], &of()).await;
    assert!(done.unwrap_err().ends_with("checks that ran: suite"));
    let (done, _) = carried_out(&["output", "w1"], &of()).await;
    assert!(done.is_err());
}
