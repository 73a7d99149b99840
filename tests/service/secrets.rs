//! Secrets that the service could see, and that no client sees through it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use harness_standin::{Message, Reply};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;

use crate::cancel::children;
use crate::client::{LIMIT, within};
use crate::program::{API_KEY, MODEL, Service};

/// A user who owns nothing.
const NOBODY: u32 = 47_110;

/// Spec: [SEC-20] [SEC-21] [SEC-23] [SEC-12]
#[tokio::test]
async fn secrets_that_are_not_in_use_are_not_shown_either() {
    let secrets = [
        r#"sk-"of\the/file"#,
        "bearer-of-the-file",
        "token-of-the-file-0",
        "token-of-the-variable",
        "aws/SECRET+0123456789",
        "s3cret-of-proxy",
    ];
    let config = format!(
        "api_key = '{}'\nauth_token = '{}'\ntoken = '{}'\n",
        secrets[0], secrets[1], secrets[2]
    );
    let environment = [
        ("HARNESS_TOKEN", secrets[3]),
        ("AWS_SECRET_ACCESS_KEY", secrets[4]),
        ("HTTPS_PROXY", "http://me:s3cret-of-proxy@127.0.0.1:9/"),
    ];
    let (service, standin, script) = Service::configured(&config, &environment).await;
    let home = service.home.path();
    // The token of an earlier start; the file is read at the start.
    let kept = "token-of-an-earlier-start";
    fs::write(home.join(".harness/token"), format!("{kept}\n")).unwrap();
    let service = service.restart().await;
    let mut text = String::new();
    for secret in secrets {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let encoded = BASE64_STANDARD.encode(format!("user:{secret}"));
        text += &format!("{secret} {} {hex} {encoded}\n", json!(secret));
    }
    fs::write(service.home.path().join("all"), &text).unwrap();
    let tool = |id: &str, name: &str, input| Message::new().tool_use(id, name, input);
    // What is in the state folder is closed to tools; copies are not.
    for name in ["config.toml", "token"] {
        let copy = service.home.path().join(name);
        fs::copy(service.home.path().join(".harness").join(name), copy).unwrap();
    }
    script.push(tool("a", "read", json!({"path": "config.toml"})));
    script.push(tool("b", "read", json!({"path": "token"})));
    script.push(tool("c", "read", json!({"path": "all"})));
    script.push(tool("d", "grep", json!({"pattern": ".", "path": "all"})));
    script.push(Reply::text("done"));
    let mut events = service.events().await;
    service.submit("what is there?").await;
    let shown = serde_json::to_string(&events.run().await).unwrap();
    assert!(shown.matches("***").count() > 50, "{shown}");
    let journal = fs::read_to_string(service.journal("default")).unwrap();
    let sent: String = standin
        .requests()
        .iter()
        .map(|sent| sent.json().to_string())
        .collect();
    let seen = [shown, journal, sent, service.whole_log().await].concat();
    for secret in secrets.into_iter().chain([kept, API_KEY]) {
        let json = json!(secret).to_string();
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let encoded = BASE64_STANDARD.encode(format!("user:{secret}"));
        let twice = json!(json).to_string();
        for form in [
            secret,
            json.trim_matches('"'),
            &twice[3..twice.len() - 3],
            &hex,
            &encoded[7..encoded.len() - 4],
        ] {
            assert!(!seen.contains(form), "{secret}: {form}");
        }
    }
}

/// Spec: [SEC-22]
#[tokio::test]
async fn a_cut_leaves_nothing_of_the_key() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let line = "x".repeat(131_072 - 20);
    fs::write(
        service.home.path().join("long"),
        format!("{line}{API_KEY}\n"),
    )
    .unwrap();
    for (id, tool, input) in [
        ("a", "read", json!({"path": "long"})),
        ("b", "read", json!({"path": "long", "start_line": 1})),
        ("c", "grep", json!({"pattern": "x", "path": "long"})),
    ] {
        script.push(Message::new().tool_use(id, tool, input));
    }
    let quoting = format!("{}{API_KEY}", "y".repeat(2040));
    script.push(Reply::error(400, "invalid_request_error", quoting.as_str()));
    let mut events = service.events().await;
    service.submit("read it").await;
    let shown = serde_json::to_string(&events.run().await).unwrap();
    assert!(shown.contains("xxx") && shown.contains("yyy"));
    assert!(!shown.contains("sk-"), "{}", &shown[shown.len() - 3000..]);
    assert!(!service.whole_log().await.contains("sk-"));
}

/// Spec: [SEC-10] [SEC-12]
#[tokio::test]
async fn whatever_part_of_an_answer_quotes_the_key_it_is_not_shown() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut events = service.events().await;
    let quoting = format!("no {API_KEY}");
    let refused = Reply::error(400, quoting.as_str(), quoting.as_str());
    script.push(refused.header("request-id", API_KEY));
    script.push(
        Message::new()
            .text("hello")
            .id(API_KEY)
            .stop_reason(API_KEY),
    );
    for _ in 0..2 {
        service.submit("hello").await;
        let run = serde_json::to_string(&events.run().await).unwrap();
        assert!(!run.contains(API_KEY), "{run}");
    }
    let journal = fs::read_to_string(service.journal("default")).unwrap();
    assert!(
        journal.contains("***") && !journal.contains(API_KEY),
        "{journal}"
    );
    let log = service.whole_log().await;
    assert!(
        log.contains("request ***") && log.contains("reply ***"),
        "{log}"
    );
    assert!(!log.contains(API_KEY));
}

/// A service that runs as a user who is not root.
struct Ordinary(Child);

impl Ordinary {
    async fn start() -> (Self, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("harness");
        fs::copy(env!("CARGO_BIN_EXE_harness"), &program).unwrap();
        let mut command = Command::new(&program);
        command
            .args(["serve", "--demo", "--port", "0", "--workspace"])
            .arg(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("SOME_TOKEN", "canary-0123456789")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        as_ordinary(&mut command);
        if Uid::effective().is_root() {
            let nobody = Some(Uid::from_raw(NOBODY));
            nix::unistd::chown(home.path(), nobody, None).unwrap();
        }
        let mut child = command.spawn().unwrap();
        let out = tokio::process::ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
        let mut lines = tokio::io::BufReader::new(out).lines();
        within("the address", lines.next_line())
            .await
            .unwrap()
            .unwrap();
        (Self(child), home)
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Runs it as an ordinary user: the present one, or `NOBODY` in place of root.
fn as_ordinary(command: &mut Command) {
    if Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// Spec: [SEC-27]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_other_process_looks_into_the_service_and_no_core_is_left() {
    let (mut service, home) = Ordinary::start().await;
    let id = service.0.id();
    for file in ["environ", "mem", "auxv", "maps"] {
        let mut command = Command::new("head");
        command.args(["-c", "1"]).arg(format!("/proc/{id}/{file}"));
        as_ordinary(&mut command);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("Permission denied"), "{file}: {said}");
        assert!(output.stdout.is_empty(), "{file}");
    }
    // What everybody may know of a process is still there.
    let mut command = Command::new("cat");
    command.arg(format!("/proc/{id}/limits"));
    as_ordinary(&mut command);
    let limits = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<&str> = core.unwrap().split_whitespace().skip(4).take(2).collect();
    assert_eq!(core, ["0", "0"]);
    kill(Pid::from_raw(i32::try_from(id).unwrap()), Signal::SIGABRT).unwrap();
    let ended = service.0.wait().unwrap();
    assert!(
        !std::os::unix::process::ExitStatusExt::core_dumped(&ended),
        "{ended}"
    );
    let left = fs::read_dir(home.path()).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.starts_with("core")));
}

/// Spec: [TOOL-45]
#[tokio::test]
async fn a_reply_of_many_searches_runs_a_few_at_once_and_answers_all() {
    let (service, standin, script) = Service::scripted(&["--tool-execution", "parallel"]).await;
    // Large enough that searches overlap, by patterns without a fixed text, which would be sought faster.
    let line = format!("{}\n", "word ".repeat(20));
    fs::write(service.home.path().join("text"), line.repeat(20_000)).unwrap();
    let mut reply = Message::new();
    for number in 0..400 {
        let digits = 1 + number % 9;
        let pattern = format!("\\(w.*d\\)*[0-9]\\{{{digits}\\}}$");
        let input = json!({"pattern": pattern, "path": "text"});
        reply = reply.tool_use(format!("t{number}"), "grep", input);
    }
    script.push(reply);
    script.push(Reply::text("done"));
    service.submit("search").await;
    let mut most = 0;
    let results = async {
        while standin
            .requests()
            .iter()
            .filter(|sent| sent.method == "POST")
            .count()
            < 2
        {
            most = most.max(children(&service).len());
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    let came = tokio::time::timeout(4 * LIMIT, results).await;
    came.expect("the results");
    assert!((2..=8).contains(&most), "{most}");
    let sent = standin.requests().pop().unwrap().json();
    let results = sent["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 400);
    for result in results {
        assert_eq!(result["content"], r#"{"matches":""}"#);
    }
    assert_eq!(standin.violations(), [""; 0]);
    assert_eq!(sent["model"], MODEL);
}

/// Spec: [TOOL-45] [TOOL-624]
#[tokio::test]
async fn a_reply_of_1500_calls_gets_all_their_results() {
    let (service, standin, script) = Service::scripted(&["--tool-execution", "parallel"]).await;
    fs::write(service.home.path().join("text"), "words\n").unwrap();
    let mut reply = Message::new();
    for number in 0..1500 {
        reply = reply.tool_use(format!("t{number}"), "read", json!({"path": "text"}));
    }
    script.push(reply);
    script.push(Reply::text("done"));
    service.submit("read").await;
    service.idle("default").await;
    let sent = standin.requests().pop().unwrap().json();
    let results = sent["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 1500);
    for result in results {
        assert_eq!(result["content"], r#"{"content":"words\n"}"#);
    }
    assert_eq!(standin.violations(), [""; 0]);
}
