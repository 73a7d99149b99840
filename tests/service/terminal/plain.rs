//! The client without a screen: the built program on pipes, and on a terminal.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness_standin::{Gate, Message, Reply};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::ChildStdout;

use super::hostile::HOSTILE;
use crate::client::within;
use crate::program::{Service, command};
use crate::screen::Screen;

fn attach(home: &Path) -> Command {
    let mut attach = command(home);
    attach
        .args(["attach", "--plain"])
        .env("HARNESS_NAME", "ana")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    attach
}

/// Sends these lines; the exit code, and what was written.
async fn piped(home: &Path, lines: &str) -> (i32, String) {
    let mut child = attach(home).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    ended(child).await
}

async fn ended(mut child: Child) -> (i32, String) {
    let mut out = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
    let mut written = String::new();
    within("the end of the output", out.read_to_string(&mut written))
        .await
        .unwrap();
    let status = child.wait().unwrap();
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
    assert_eq!(told, "");
    (status.code().unwrap(), written)
}

/// A running client, read line by line.
struct Plain {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Plain {
    async fn attach(home: &Path, name: &str) -> Self {
        let mut child = attach(home).env("HARNESS_NAME", name).spawn().unwrap();
        let out = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
        let lines = BufReader::new(out).lines();
        let said = Vec::new();
        let mut plain = Self { child, lines, said };
        plain.says("status: attached to").await;
        plain
    }

    fn types(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    /// Waits for a line that begins so.
    async fn says(&mut self, begin: &str) {
        loop {
            let line = within(begin, self.lines.next_line()).await.unwrap();
            let line = line.unwrap_or_else(|| panic!("{begin}: the end after {:#?}", self.said));
            self.said.push(line);
            if self.said.last().unwrap().starts_with(begin) {
                return;
            }
        }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Spec: [PLAIN-02] [PLAIN-05]
#[tokio::test]
async fn a_prompt_from_a_pipe_is_answered_on_a_pipe() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    script.push(Reply::text("Hello, **you**.\nHow are you?"));
    let (code, said) = piped(home, "hello\n").await;
    assert_eq!(code, 0, "{said}");
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("status:"))
        .collect();
    assert_eq!(
        lines,
        ["you: hello", "agent: Hello, **you**.", "  How are you?"]
    );

    // Two prompts, the second without a line end; the first has its answer first.
    script.push(Reply::text("one"));
    script.push(Reply::text("two"));
    let (code, said) = piped(home, "first\nsecond").await;
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("status:"))
        .collect();
    assert_eq!(
        (code, lines),
        (
            0,
            vec!["you: first", "agent: one", "you: second", "agent: two"]
        )
    );

    // Nothing to say is no failure.
    assert_eq!(piped(home, "").await.0, 0);
}

/// Spec: [PLAIN-03]
#[tokio::test]
async fn a_long_result_is_cut_at_a_hundred_lines_and_says_how_many_more_there_are() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    for (count, cut) in [
        (100, None),
        (101, Some("  ... (1 more lines)")),
        (250, Some("  ... (150 more lines)")),
    ] {
        let text: String = (1..=count).map(|line| format!("line {line}\n")).collect();
        std::fs::write(home.join("long"), text).unwrap();
        script.push(Message::new().tool_use("t1", "read", json!({"path": "long"})));
        script.push(Reply::text("read"));
        let (code, said) = piped(home, "read it\n").await;
        assert_eq!(code, 0, "{said}");
        let mut lines = said.lines().skip_while(|line| !line.starts_with("tool "));
        let head = lines.next().unwrap();
        assert!(head.starts_with("tool read long · "), "{head}");
        let shown: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).collect();
        assert!(shown[0].ends_with("line 1"), "{shown:?}");
        assert!(shown[99].ends_with("line 100"), "{shown:?}");
        assert_eq!(shown.get(100).copied(), cut);
        assert_eq!(shown.len(), 100 + usize::from(cut.is_some()));
    }
}

/// Spec: [PLAIN-05]
#[tokio::test]
async fn the_exit_code_says_how_the_last_run_ended() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    let mut child = attach(home).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    within("the request", gate.reached()).await;
    assert!(service.cancel().await);
    let (code, said) = ended(child).await;
    assert_eq!(code, 130, "{said}");
    assert!(
        said.lines()
            .any(|line| line.starts_with("status: run ") && line.contains(" cancelled")),
        "{said}"
    );

    script.push(Reply::error(400, "invalid_request_error", "no such thing"));
    let (code, said) = piped(home, "go\n").await;
    assert_eq!(code, 1, "{said}");
    assert!(
        said.lines()
            .any(|line| line.starts_with("status: run ") && line.contains(" failed")),
        "{said}"
    );
}

/// Spec: [PLAIN-01]
#[tokio::test]
async fn on_a_terminal_lines_are_for_who_asks_in_any_way() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    for (flags, environment) in [
        (&["attach", "--plain"][..], &[][..]),
        (&["attach"], &[("ACCESSIBLE", "1")]),
        (&["attach"], &[("TERM", "dumb")]),
    ] {
        script.push(Reply::text("an answer in lines"));
        let mut screen = Screen::start(home, flags, environment);
        screen.shows("status: attached to").await;
        screen.keys("hello\r");
        screen.shows("you: hello").await;
        screen.shows("agent: an answer in lines").await;
        screen.shows(" completed").await;
        // Nothing was asked of the terminal, and nothing moved on it.
        assert!(!screen.bytes().contains(&0x1b), "{flags:?} {environment:?}");
        // The end of what is typed.
        screen.keys("\x04");
        assert_eq!(screen.ended().await, 0, "{flags:?} {environment:?}");
        service.idle("default").await;
    }
    let mut screen = Screen::start(home, &["attach", "--plain"], &[]);
    screen.shows("status: attached to").await;
    screen.keys("\x03");
    assert_eq!(screen.ended().await, 130);
}

/// Spec: [PLAIN-04]
#[tokio::test]
async fn hostile_text_in_every_field_writes_nothing_but_text() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let evil = format!("eve{HOSTILE}");
    let query: String = evil.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let _eve = service
        .follow("default", &format!("?name={query}"), "")
        .await;
    let mut ana = Plain::attach(home, "ana").await;
    std::fs::write(home.join("trap"), HOSTILE).unwrap();
    script.push(
        Message::new()
            .thinking(HOSTILE, "s1")
            .text(format!("Look: {HOSTILE}"))
            .tool_use("t1", "read", json!({"path": "trap"}))
            .tool_use("t2", "read", json!({"path": HOSTILE})),
    );
    script.push(Reply::text("done here"));
    let by = json!({"content": format!("prompt {HOSTILE}\nagent: not I"), "by": "agent\u{1b}]0;owned\u{7}"});
    let answer = service
        .post("/v1/conversations/default/prompt", &by.to_string())
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    ana.says("agent: done here").await;
    let title = json!({"title": "A \u{202e}title"});
    let headers = "content-type: application/json\r\n";
    service
        .send(
            "PATCH",
            "/v1/conversations/default",
            headers,
            &title.to_string(),
        )
        .await;
    ana.says("status: renamed").await;
    ana.types("/list");
    ana.says("1. ").await;
    let is_text = |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
    for line in &ana.said {
        assert!(line.chars().all(is_text), "{line:?}");
        assert!(!line.starts_with("agent: not I"), "{line:?}");
    }
    assert!(
        ana.said
            .iter()
            .any(|line| line.starts_with("thinking: start")),
        "{:#?}",
        ana.said
    );
}

/// Spec: [PLAIN-02]
#[tokio::test]
async fn two_clients_in_lines_and_one_on_a_screen_see_the_same() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    std::fs::write(home.join("notes"), "one\ntwo\n").unwrap();
    let screen = Screen::attach(home, "eve").await;
    let mut ana = Plain::attach(home, "ana").await;
    let mut ben = Plain::attach(home, "ben").await;
    script.push(Message::new().text("I will look.").tool_use(
        "t1",
        "read",
        json!({"path": "notes"}),
    ));
    script.push(Reply::text("It says two things."));
    ana.types("what is in notes?");
    for plain in [&mut ana, &mut ben] {
        plain.says("status: run 1 completed").await;
    }
    super::ended(&screen, "It says two things.").await;
    // What ana calls herself, the others call by her name.
    let said = ana.said.join("\n").replace("you: ", "ana: ");
    assert_eq!(said, ben.said.join("\n"));
    let lines = [
        "ana: what is in notes?",
        "agent: I will look.",
        "agent: It says two things.",
    ];
    for line in lines {
        assert!(said.contains(line), "{line} is missing in\n{said}");
        let words = line.split_once(": ").unwrap().1;
        screen.shows(words).await;
    }
    assert!(said.contains("tool read notes · "), "{said}");
    screen.shows("read").await;
}
