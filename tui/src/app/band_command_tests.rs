//! A command, or a call of an MCP server, that waits for an operator's answer: all of it is seen, and nothing looks
//! like something else.

use serde_json::{Value, json};

use super::band_tests::{focus, later, sent};
use super::testing::*;
use super::*;
use crate::conversation::testing::{event, status};
use crate::terminal::Key;

/// A client whose run asks for a command, with more of its plan.
fn asked(command: &str, more: &Value) -> App {
    let mut plan = json!({"command": command, "folder": "/home/ana/p/src", "access": "write",
        "timeout_s": 120, "backend": "landlock", "contained": true});
    plan.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    waiting(
        json!({"type": "approval_asked", "id": 1, "run_id": 7, "call": "t", "tool": "bash",
        "command": plan, "digest": "digest 1", "because": "the mode asks before every command",
        "scopes": ["once"]}),
    )
}

/// A client whose run asks for a call of an MCP server with this input.
fn asked_about_call(input: &str) -> App {
    waiting(
        json!({"type": "approval_asked", "id": 1, "run_id": 7, "call": "t",
        "tool": "mcp__git__git_log", "mcp_call": {"server": "git", "tool": "git_log",
            "input": input, "access": "write", "backend": "landlock", "contained": true,
            "gaps": ["the home folder can be read"]},
        "digest": "digest 1", "because": "the mode asks before every call of an MCP server",
        "scopes": ["once", "run", "conversation", "workspace"], "rule": "mcp(git.git_log *)"}),
    )
}

/// A client with a run that waits for an answer since half a second.
fn waiting(approval: Value) -> App {
    let mut app = attached_in(Some("/home/ana/p"), &running());
    let message = format!("{}: waits for approval", approval["tool"].as_str().unwrap());
    tell(&mut app, told(4, status("running_tool", &message)));
    tell(&mut app, told(5, event(approval)));
    later(&mut app, 500);
    app
}

fn rows(app: &App) -> Vec<String> {
    app.band.as_ref().unwrap().visible_rows(1000)
}

/// Spec: [TUI-105] [TUI-793]
#[test]
fn a_command_is_shown_first_with_the_reason_and_what_is_not_held_behind_a_key() {
    let more = json!({"why": "to see\n\nls -la\n   what fails", "gaps": ["the home folder can be read"],
        "answers_itself": true});
    let mut app = asked("cd x &&\n\tmake  all \t\n", &more);
    let band = app.band.as_ref().unwrap();
    assert_eq!(
        band.head(),
        "bash: runs in src, writes, no network, contained by landlock"
    );
    assert_eq!(
        rows(&app),
        [
            "cd x &&",
            "→make  all·→",
            "",
            "this command could answer approvals itself",
            "the model says: to see ls -la what fails",
            "the mode asks before every command · c shows what is not held",
        ]
    );
    focus(&mut app);
    let hidden = rows(&app);
    key(&mut app, Key::Char('c'));
    assert_eq!(
        rows(&app)[5..],
        [
            "not held: the home folder can be read",
            "the mode asks before every command",
        ]
    );
    key(&mut app, Key::Char('c'));
    assert_eq!(rows(&app), hidden);
    assert!(app.composer.is_empty());
    for (more, expected) in [
        (
            json!({"folder": "/home/ana/p"}),
            "runs in this folder, writes, no network, contained by landlock",
        ),
        (
            json!({"folder": "/home/ana/pp", "network": true}),
            "runs in /home/ana/pp, writes, network, contained by landlock",
        ),
        (
            json!({"access": "full", "backend": "none"}),
            "runs in src, full access, not contained",
        ),
    ] {
        let app = asked("ls", &more);
        assert_eq!(
            app.band.as_ref().unwrap().head(),
            format!("bash: {expected}")
        );
    }
}

/// Spec: [UNDO-788]
#[test]
fn an_approval_says_what_no_undo_takes_back() {
    let job = "undo does not cover: files that a job changes";
    let network = "undo does not cover: the network";
    let full = "undo does not cover: files outside of the conversation's folder, the network";
    for (more, expected) in [
        (json!({}), None),
        (json!({"background": true}), Some(job)),
        (json!({"background": true, "access": "read"}), None),
        (json!({"network": true}), Some(network)),
        (json!({"access": "full"}), Some(full)),
    ] {
        let rows = rows(&asked("ls", &more));
        let found = rows.iter().find(|row| row.starts_with("undo"));
        assert_eq!(found.map(String::as_str), expected);
    }
}

/// Spec: [TUI-105]
#[test]
fn a_long_name_of_a_folder_hides_nothing_of_what_is_asked() {
    let folder = format!("/home/ana/p/{}", "x".repeat(200));
    let app = asked(
        "ls",
        &json!({"folder": folder, "access": "full", "backend": "none"}),
    );
    let rows = rows(&app);
    let head: String = rows[..4].concat();
    assert!(head.contains("full access, not contained"), "{rows:?}");
}

/// Spec: [TUI-99] [TUI-105]
#[test]
fn a12_a_spoofed_command_is_visible() {
    let cases = [
        ("rm -rf ~\recho harmless", "rm -rf ~␍echo harmless"),
        ("echo a\r\nls", "echo a␍"),
        ("ls \u{202e}txt.exe\u{2066}", "ls <202E>txt.exe<2066>"),
        (
            "l\u{200b}s\u{feff} \u{ad}x\u{e0041}",
            "l<200B>s<FEFF> <AD>x<E0041>",
        ),
        ("a\u{200d}b\u{200c}c", "a<200D>b<200C>c"),
        ("🦀\u{200d}🦀\u{fe0f}x\u{fe0e}", "🦀<200D>🦀<FE0F>x<FE0E>"),
        (
            "rm\u{a0}-rf\u{2003}x\u{3000}y\u{2800}",
            "rm<00A0>-rf<2003>x<3000>y<2800>",
        ),
        ("a\u{2028}b\u{85}c", "a<2028>b<0085>c"),
        (
            "ls\x1b[8m; rm -rf ~\x1b[2K\x07\x00",
            "ls␛[8m; rm -rf ~␛[2K␇␀",
        ),
        ("tab\there\u{7f}", "tab→here␡"),
        ("blanks at the end  ", "blanks at the end··"),
    ];
    for (command, expected) in cases {
        let app = asked(command, &json!({}));
        let shown = rows(&app);
        let expected = expected.replace("<AD>", "<00AD>");
        assert_eq!(shown[0], expected, "{command:?}");
    }
}

/// Spec: [TUI-98] [TUI-105]
#[test]
fn a_command_of_300_lines_is_allowed_only_when_its_end_was_seen() {
    let mut command: String = (0..299).map(|line| format!("echo {line}\n")).collect();
    command += "rm -rf ~";
    let mut app = asked(&command, &json!({"why": "y ".repeat(4000)}));
    assert_eq!(rows(&app)[299], "rm -rf ~");
    focus(&mut app);
    for _ in 0..20 {
        assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
        key(&mut app, Key::PageDown);
    }
    key(&mut app, Key::End);
    assert!(sent(&key(&mut app, Key::Char('a'))).is_some());
    // A line of any length goes on in the next row, and so is seen to its end too.
    let mut app = asked(&format!("{}; rm -rf ~", " ".repeat(9000)), &json!({}));
    let shown = rows(&app);
    assert!(shown[shown.len() - 2].ends_with("rm -rf ~"));
    focus(&mut app);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
}

/// Spec: [TUI-105]
#[test]
fn sentences_are_broken_between_words_and_a_head_that_fits_is_not_repeated() {
    let why = "the tests of the parser failed before the last change and may pass now, which this run of them tells";
    let rows = rows(&asked("ls", &json!({"why": why})));
    let expected = [
        "ls",
        "the model says: the tests of the parser failed before the last change and",
        "may pass now, which this run of them tells",
        "the mode asks before every command",
    ];
    assert_eq!(rows, expected);
}

/// Spec: [APPR-816] [APPR-817]
#[test]
fn a_call_is_shown_with_its_input_and_the_rule_that_a_longer_answer_makes() {
    let mut app = asked_about_call("{\n  \"a\": \"\\u001b[2K\u{202e}\u{200b}\u{a0}\"\n}");
    let band = app.band.as_ref().unwrap();
    assert_eq!(
        band.head(),
        "mcp__git__git_log: git.git_log, writes, no network, contained by landlock"
    );
    assert_eq!(
        rows(&app),
        [
            "{",
            "  \"a\": \"\\u001b[2K<202E><200B><00A0>\"",
            "}",
            "undo does not cover: what the server git does",
            "the mode asks before every call of an MCP server",
            "the rule for longer: mcp(git.git_log *) · c shows what is not held",
        ]
    );
    focus(&mut app);
    key(&mut app, Key::Char('c'));
    assert_eq!(rows(&app)[4], "not held: the home folder can be read");
    key(&mut app, Key::Char('A'));
    let answer = sent(&key(&mut app, Key::Char('c'))).unwrap();
    assert_eq!(answer.scope, harness_protocol::Scope::Conversation);
}

/// Spec: [TUI-98] [APPR-816]
#[test]
fn a_call_is_allowed_only_when_the_end_of_its_input_was_seen() {
    let lines: String = (0..300).map(|line| format!("{line}\n")).collect();
    let mut app = asked_about_call(&lines);
    focus(&mut app);
    assert_eq!(sent(&key(&mut app, Key::Char('a'))), None);
    key(&mut app, Key::End);
    assert!(sent(&key(&mut app, Key::Char('a'))).is_some());
}
