use super::*;

const DIGEST: &str = "0123456789abcdef";

fn open(conversation: &str, folder: &str) -> Value {
    json!({
        "conversation": conversation, "workspace": folder, "active_at": 100, "id": 1, "run_id": 1,
        "call": "c", "tool": "bash", "digest": DIGEST, "because": "b", "scopes": ["once"],
        "command": {"command": "g\u{200b}it push", "folder": folder, "access": "write",
            "timeout_s": 9, "backend": "none", "contained": false},
    })
}

/// Spec: [CLI-792]
#[test]
fn the_rule_of_a_longer_scope_is_shown_before_and_named_after() {
    let mut asked = open("a", "/w");
    asked["rule"] = json!("bash(git log *; tail *)");
    let asked: OpenApproval = serde_json::from_value(asked).unwrap();
    let shown = "  the rule for longer: bash(git log *; tail *)";
    assert_eq!(approval_lines(&asked)[2], shown);
    let waits = crate::client::commands::asks::approval_lines("a", &asked.approval);
    assert_eq!(waits[2], shown);
    let answered =
        json!({"id": 1, "answer": "allow", "scope": "run", "rule": "bash(ls *)", "by": "ana"});
    let answered: Answered = serde_json::from_value(answered).unwrap();
    assert_eq!(
        answer_line(&answered),
        "1 allowed by ana; the rule: bash(ls *)"
    );
}

/// Spec: [CLI-592] [APPR-590]
#[test]
fn what_waits_is_shown_with_its_digest_and_the_command_line_that_allows_it() {
    let open: OpenApproval = serde_json::from_value(open("a", "/w")).unwrap();
    assert_eq!(
        approval_lines(&open)[1..],
        [
            "  g\\u{200b}it push",
            "  digest 0123456789ab: harness approve 1 -c a --digest 0123456789ab"
        ]
    );
    assert_eq!(
        other_lines(&[open], 400),
        [
            "in other conversations (harness approvals --all shows them whole):",
            "  1 bash in a: g\\u{200b}it push (digest 0123456789ab), folder /w, active 5 min ago",
            "    harness approve 1 -c a --digest 0123456789ab"
        ]
    );
    assert!(other_lines(&[], 400).is_empty());
}

/// Spec: [APPR-816] [APPR-817]
#[test]
fn a_call_of_a_server_is_shown_with_its_whole_input_and_in_one_line() {
    let mut asked = open("a", "/w");
    asked.as_object_mut().unwrap().remove("command");
    asked["tool"] = json!("mcp__git__git_log");
    asked["rule"] = json!("mcp(git.git_log *)");
    asked["mcp_call"] = json!({"server": "git", "tool": "git_log",
        "input": "{\n  \"path\": \"a\u{200b}b\\n\",\n  \"tab\": \"\\t\"\n}", "access": "write",
        "network": true, "backend": "namespaces", "contained": true});
    let asked: OpenApproval = serde_json::from_value(asked).unwrap();
    let body = [
        "  {",
        "    \"path\": \"a\\u{200b}b\\n\",",
        "    \"tab\": \"\\t\"",
        "  }",
        "  note: undo does not cover: what the server git does",
        "  the rule for longer: mcp(git.git_log *)",
    ];
    let shown = approval_lines(&asked);
    assert_eq!(
        shown[0],
        "1 mcp__git__git_log in a: git.git_log, writes, network, contained by namespaces (b)"
    );
    assert_eq!(shown[1..7], body);
    let waits = crate::client::commands::asks::approval_lines("a", &asked.approval);
    assert_eq!(waits[1..7], body);
    let line = summary(&asked);
    let expected =
        r#"1 mcp__git__git_log in a: git.git_log { "path": "a\u{200b}b\n", "tab": "\t" } (digest"#;
    assert!(line.starts_with(expected), "{line}");
}
