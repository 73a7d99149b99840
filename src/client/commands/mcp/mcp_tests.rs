//! The texts, questions and orders of `harness mcp`.

use clap::Parser as _;
use serde_json::{Value, json};

use super::*;
use crate::cli::{Cli, ProgramCommand};
use crate::client::ClientCommand;
use crate::client::testing::{Home, Record, Server, answer, recorded};

fn tool(name: &str, state: &str, description: &str) -> Value {
    json!({"tool": name, "name": format!("mcp__git__{name}"), "state": state, "description": description})
}

fn server(state: &str, tools: &[Value]) -> Value {
    json!({
        "name": "git", "command": ["uvx", "mcp-server-git"], "access": "write", "network": true,
        "state": state, "running": 0, "tools": tools,
    })
}

fn tested(state: &str, tools: &[Value]) -> Value {
    let mut server = server(state, tools);
    server["digest"] = json!("d1");
    server
}

/// Runs a command; its exit code, its output, and whether it asked a question.
async fn ran(server: &Server, line: &[&str], says: Option<bool>) -> (i32, Record, Vec<String>) {
    let home = Home::of(server);
    let line = ["harness", "mcp"].iter().chain(line);
    let Some(ProgramCommand::Client(ClientCommand::Mcp(mcp))) =
        Cli::try_parse_from(line).unwrap().command
    else {
        panic!("no command about MCP servers");
    };
    let asked = std::cell::RefCell::new(Vec::new());
    let ask = |question: &str| {
        asked.borrow_mut().push(question.to_owned());
        says
    };
    let (mut output, record) = recorded();
    let code = carry_out(&mcp, &home.service().await, &ask, &mut output).await;
    (code.unwrap(), record, asked.into_inner())
}

fn sent(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn starts(requests: &[String]) -> Vec<&str> {
    let start = requests.iter().map(|request| request.split_once(" HTTP"));
    start.map(|start| start.unwrap().0).collect()
}

const SHOWN: &str = "git: uvx mcp-server-git
  may read files as commands do, and write in the conversation's folder
  may use the network
  this machine contains no commands, so it can do what your account can: harness doctor --sandbox
  git_status
      Shows the status
      and \\u{1b}[2J more
  git_push (left out)
";

/// Spec: [CLI-811] [CLI-812] [CLI-813]
#[actix::test]
async fn a_server_is_added_tested_shown_and_accepted_as_it_was_shown() {
    for (flags, says, questions) in [
        (&[][..], Some(true), &["accept this tool?"][..]),
        (&["--yes"], None, &[]),
    ] {
        let service = Server::start().await;
        let tools = [
            tool("git_status", "new", "Shows the status\nand \x1b[2J more"),
            tool("git_push", "left_out", "Pushes"),
        ];
        service.on("/v1/mcp/git", vec![answer(200, &server("new", &[]))]);
        let test = answer(200, &tested("new", &tools));
        service.on("/v1/mcp/git/test", vec![test]);
        let accepted = tool("git_status", "accepted", "Shows the status");
        let accepted = answer(200, &server("accepted", &[accepted]));
        service.on("/v1/mcp/git/accept", vec![accepted]);
        let line = ["add", "git"].iter().chain(flags);
        let line: Vec<&str> = line
            .chain(&["--", "uvx", "mcp-server-git"])
            .copied()
            .collect();
        let (code, record, asked) = ran(&service, &line, says).await;
        let end = "git is accepted with 1 tool: conversations that begin now are offered them, \
                   others after `harness tools --renew`\n";
        assert_eq!((code, record.out()), (0, format!("{SHOWN}{end}")));
        assert_eq!(asked, questions);
        let requests = service.requests();
        assert_eq!(
            starts(&requests),
            [
                "PUT /v1/mcp/git",
                "POST /v1/mcp/git/test",
                "POST /v1/mcp/git/accept"
            ]
        );
        assert_eq!(
            sent(&requests[0]),
            json!({"command": "uvx", "args": ["mcp-server-git"]})
        );
        assert_eq!(sent(&requests[2]), json!({"digest": "d1"}));
    }
}

/// Spec: [CLI-812]
#[actix::test]
async fn the_entry_has_what_the_command_line_says() {
    let service = Server::start().await;
    service.on("/v1/mcp/x", vec![answer(200, &server("new", &[]))]);
    let test = answer(200, &tested("new", &[]));
    service.on("/v1/mcp/x/test", vec![test]);
    let line = [
        "add",
        "x",
        "--env",
        "A=${A:-1=2}",
        "--env",
        "B=",
        "--access",
        "read",
        "--no-network",
        "--timeout",
        "90",
        "--",
        "prog",
        "--yes",
        "-y",
    ];
    let (code, record, asked) = ran(&service, &line, Some(false)).await;
    assert_eq!(
        (code, asked),
        (1, vec!["accept x without tools?".to_owned()])
    );
    assert!(
        record.err().contains("git is not accepted"),
        "{}",
        record.err()
    );
    let entry = json!({
        "command": "prog", "args": ["--yes", "-y"], "env": {"A": "${A:-1=2}", "B": ""},
        "access": "read", "network": false, "timeout": 90_000,
    });
    assert_eq!(sent(&service.requests()[0]), entry);
}

/// Spec: [CLI-814]
#[actix::test]
async fn without_a_terminal_and_without_yes_nothing_is_accepted() {
    for (flags, asked) in [(&[][..], 1), (&["--json"], 0)] {
        for command in ["add", "accept"] {
            let service = Server::start().await;
            let test = tested("new", &[tool("git_status", "new", "")]);
            service.on("/v1/mcp/git", vec![answer(200, &server("new", &[]))]);
            service.on("/v1/mcp/git/test", vec![answer(200, &test)]);
            let mut line = vec![command, "git"];
            line.extend(flags);
            if command == "add" {
                line.extend(["--", "uvx"]);
            }
            let (code, record, questions) = ran(&service, &line, None).await;
            assert_eq!((code, questions.len()), (1, asked));
            let way = "`harness mcp accept git --yes` accepts it\n";
            assert!(record.err().ends_with(way), "{}", record.err());
            if asked == 0 {
                assert_eq!(record.out(), format!("{test}\n"));
            }
            let requests = service.requests();
            assert!(starts(&requests).last().unwrap().ends_with("/test"));
        }
    }
}

/// Spec: [CLI-815]
#[actix::test]
async fn a_failed_test_shows_the_end_of_standard_error_and_the_entry_stays() {
    let service = Server::start().await;
    let mut kept = server("new", &[]);
    kept["network"] = json!(false);
    kept["log"] = json!(["npm error \x1b[2J", "ENOTFOUND"]);
    service.on("/v1/mcp/git", vec![answer(200, &kept)]);
    let problem = json!({
        "type": "urn:harness:problem:mcp-not-started", "title": "x", "status": 422,
        "detail": "the MCP server git did not start: code 1; its last lines: ENOTFOUND", "request_id": "r1",
    });
    service.on("/v1/mcp/git/test", vec![answer(422, &problem)]);
    service.on("/v1/mcp", vec![answer(200, &json!({"servers": [kept]}))]);
    let line = ["add", "git", "--no-network", "--", "npx", "x"];
    let (code, record, asked) = ran(&service, &line, Some(true)).await;
    assert_eq!((code, asked.len(), &*record.out()), (1, 0, ""));
    let lines: Vec<String> = record.err().lines().map(str::to_owned).collect();
    assert_eq!(
        lines[..4],
        [
            "harness: the MCP server git did not start: code 1; its last lines: ENOTFOUND",
            "harness: the last lines of its standard error:",
            "  npm error \\u{1b}[2J",
            "  ENOTFOUND",
        ]
    );
    assert!(lines[4].contains("--no-network"), "{lines:?}");
    assert!(lines[5].contains("`harness mcp remove git`"), "{lines:?}");
    assert_eq!(lines.len(), 6);
}

/// Spec: [CLI-816]
#[actix::test]
async fn accept_shows_what_changed_and_asks_about_nothing_else() {
    let old = tool("git_status", "accepted", "Shows the status");
    let changed = tool("git_log", "changed", "Sends the log away");
    let gone = tool("git_add", "gone", "Adds");
    let question = "accept git with 2 tools?";
    for (state, tools, questions, parts) in [
        (
            "accepted",
            vec![old.clone()],
            &[][..],
            "git has not changed since it was accepted\n",
        ),
        (
            "accepted",
            vec![old.clone(), changed.clone(), gone],
            &[question],
            "  git_log (changed)\n      Sends the log away\n  git_add (gone)\n",
        ),
        (
            "changed",
            vec![old.clone(), old.clone()],
            &[question],
            "  its entry in the configuration changed, its tools did not\n",
        ),
    ] {
        let service = Server::start().await;
        let test = answer(200, &tested(state, &tools));
        service.on("/v1/mcp/git/test", vec![test]);
        let accepted = answer(200, &server("accepted", std::slice::from_ref(&old)));
        service.on("/v1/mcp/git/accept", vec![accepted]);
        let (code, record, asked) = ran(&service, &["accept", "git"], Some(true)).await;
        assert_eq!(code, 0);
        assert_eq!(asked, questions);
        assert!(record.out().contains(parts), "{}", record.out());
        assert!(!record.out().contains("git_status"), "{}", record.out());
        assert_eq!(service.requests().len(), 1 + questions.len());
    }
}

/// Spec: [CLI-817]
#[actix::test]
async fn a_test_shows_all_tools_and_accepts_nothing() {
    let service = Server::start().await;
    let tools = [
        tool("git_status", "accepted", "Shows the status"),
        tool("git_log", "new", ""),
    ];
    let test = tested("accepted", &tools);
    let answers = [(); 2].map(|()| answer(200, &test));
    service.on("/v1/mcp/git/test", answers.into());
    let (code, record, _) = ran(&service, &["test", "git"], Some(true)).await;
    let end = "  git_status\n      Shows the status\n  git_log (new)\n      (no description)\n";
    assert_eq!(code, 0);
    assert!(record.out().ends_with(end), "{}", record.out());
    assert_eq!(
        record.err(),
        "harness: `harness mcp accept git` accepts this\n"
    );
    let place = std::env::temp_dir().canonicalize().unwrap();
    let place = place.to_str().unwrap();
    let line = ["test", "git", "--workspace", place, "--json"];
    let (code, record, _) = ran(&service, &line, Some(true)).await;
    assert_eq!((code, record.out()), (0, format!("{test}\n")));
    let requests = service.requests();
    assert_eq!(sent(&requests[0]), json!({}));
    assert_eq!(sent(&requests[1]), json!({ "workspace": place }));
}

/// Spec: [CLI-811]
#[actix::test]
async fn the_list_has_a_line_for_each_server_and_for_each_tool_that_cannot_be_called() {
    let service = Server::start().await;
    let empty = json!({"servers": []});
    let mut left_out = tool("git_push", "left_out", "");
    left_out["reason"] = json!("disabled_tools");
    let git = server(
        "accepted",
        &[
            tool("git_status", "accepted", ""),
            tool("git_log", "changed", ""),
            left_out,
        ],
    );
    let mut other = server("new", &[]);
    (other["name"], other["error"]) = (json!("x"), json!("NO\x07 is not set"));
    let list = json!({"servers": [git, other], "problems": ["web: servers over HTTP are not supported yet"]});
    let answers = [&empty, &list, &list].map(|list| answer(200, list));
    service.on("/v1/mcp", answers.into());
    let (code, record, _) = ran(&service, &[], None).await;
    let none = "no MCP servers; `harness mcp add NAME -- COMMAND` adds one\n";
    assert_eq!((code, &*record.out()), (0, none));
    let (code, record, _) = ran(&service, &["list"], None).await;
    let shown = "NAME  STATE     TOOLS  RUNNING  ERROR\n\
        git   accepted      2        0\n\
        x     new           0        0  NO\\u{7} is not set\n\
        git.git_log was changed by the server, and calls of it fail: harness mcp accept git\n\
        git.git_push is left out: disabled_tools\n\
        x is not accepted, so its tools are not offered: harness mcp accept x\n";
    assert_eq!((code, &*record.out()), (0, shown));
    assert_eq!(
        record.err(),
        "harness: web: servers over HTTP are not supported yet\n"
    );
    let (_, record, _) = ran(&service, &["--json"], None).await;
    let printed: Value = serde_json::from_str(&record.out()).unwrap();
    assert_eq!(printed["items"], list["servers"]);
    assert_eq!(printed["problems"], list["problems"]);
}

/// Spec: [CLI-811]
#[actix::test]
async fn a_server_is_removed_by_its_name() {
    let service = Server::start().await;
    let rest = json!({"servers": []});
    let answers = [(); 2].map(|()| answer(200, &rest));
    service.on("/v1/mcp/a%20b", answers.into());
    let (_, record, _) = ran(&service, &["remove", "a b"], None).await;
    assert_eq!(record.out(), "removed a b\n");
    let (_, record, _) = ran(&service, &["remove", "a b", "--json"], None).await;
    assert_eq!(record.out(), "{\"items\":[]}\n");
    let requests = service.requests();
    assert_eq!(starts(&requests), ["DELETE /v1/mcp/a%20b"; 2]);
}
