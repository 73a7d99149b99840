use clap::Parser;
use serde_json::{Value, json};

use super::*;
use crate::client::testing::{Server, answer};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    which: Which,
}

fn open(conversation: &str, id: u64, digit: char) -> Value {
    json!({
        "conversation": conversation, "id": id, "run_id": 1, "call": "c", "tool": "bash",
        "command": {"command": format!("echo {digit}"), "folder": "/w", "access": "write", "contained": false, "backend": "none", "timeout_s": 9},
        "kind": "command", "digest": digit.to_string().repeat(DIGITS), "because": "it writes", "scopes": ["once"],
    })
}

/// Spec: [CLI-590]
#[actix::test]
async fn a_number_means_what_waits_here_or_has_the_digest_and_else_nothing() {
    let here = || open("default", 1, 'a');
    let there = || open("other", 1, 'b');
    let more = || open("more", 1, 'b');
    for (waiting, digest, found) in [
        (vec![here()], None, Ok(("default", true))),
        (
            vec![here(), open("other", 2, 'b')],
            None,
            Ok(("default", true)),
        ),
        (vec![there()], None, Err("-c other")),
        (
            vec![here(), there()],
            None,
            Err("-c default (bash echo a), -c other (bash echo b)"),
        ),
        (vec![here(), there()], Some("bbbbbbbb"), Ok(("other", true))),
        (
            vec![there(), more()],
            Some("bbbbbbbb"),
            Err("-c other (bash echo b), -c more"),
        ),
        (
            vec![here()],
            Some("cccccccc"),
            Err("no longer is what cccccccc names"),
        ),
        // The service says what became of it.
        (vec![], None, Ok(("default", false))),
        (vec![], Some("cccccccc"), Ok(("default", false))),
    ] {
        let server = Server::start().await;
        server.on(
            "/v1/approvals",
            vec![answer(200, &json!({"approvals": waiting}))],
        );
        let connection = Connection::new(server.named(), None);
        let digest = digest.map(|digest| digest.parse().unwrap());
        let choice = ApprovalChoice {
            id: 1,
            digest: digest.as_ref(),
            which: &Line::parse_from(["x"]).which,
            verb: "approve",
        };
        match (choice.find(&connection).await, found) {
            (Ok(chosen), Ok((conversation, is_open))) => {
                assert_eq!(chosen.conversation, conversation);
                assert_eq!(chosen.open.is_some(), is_open);
            }
            (Err(error), Err(words)) => {
                assert_eq!(error.exit_code(), 2);
                assert!(error.to_string().contains(words), "{error}");
            }
            (chosen, _) => panic!("{chosen:?} for {waiting:?}"),
        }
    }
}

/// Spec: [CLI-591]
#[test]
fn a_digest_is_given_by_8_to_64_digits() {
    for text in ["0123abcd", "0123ABCD", &"f".repeat(64)] {
        assert_eq!(text.parse(), Ok(DigestStart(text.to_lowercase())));
    }
    for text in ["", "0123abc", "0123abcg", &"f".repeat(65), "0x12345678"] {
        assert!(text.parse::<DigestStart>().is_err(), "{text}");
    }
}
