use std::time::Duration;

use harness_protocol::{
    ActivityState, ConversationSnapshot, ConversationState, ConversationSummary, EndOutcome, Event,
    HistoryPage, PastEvent, Settings, TokenUsage,
};
use serde_json::json;

use super::*;
use crate::plain::command::HELP;
use crate::service::testing::{difference, service};

pub(super) fn machine(shows_past: bool) -> PlainMachine {
    let mut keys = 0;
    PlainMachine::new(PlainOptions {
        shows_past,
        new_key: Box::new(move || {
            keys += 1;
            format!("k{keys}")
        }),
    })
}

fn past(seq: u64, event: Event) -> PastEvent {
    PastEvent {
        seq,
        id: format!("e-{seq}-0"),
        event,
    }
}

fn summary(id: &str, run_id: Option<u64>) -> ConversationSummary {
    ConversationSummary {
        workspace: None,
        id: id.to_owned(),
        title: None,
        state: match run_id {
            Some(_) => ConversationState::Running,
            None => ConversationState::Idle,
        },
        run_id,
        prompts: 0,
        turns: 0,
        records: 0,
        usage: TokenUsage::default(),
        created_at: 0,
        active_at: 0,
        jobs: 0,
        error: None,
        failure: None,
    }
}

pub(in crate::plain) fn snapshot(run_id: Option<u64>, events: Vec<PastEvent>) -> PlainInput {
    snapshot_with(summary("c1", run_id), events)
}

fn snapshot_of(id: &str, run_id: Option<u64>) -> PlainInput {
    snapshot_with(summary(id, run_id), Vec::new())
}

fn renamed(title: &str) -> PlainInput {
    event(Event::Renamed {
        by: None,
        title: title.to_owned(),
        timestamp: 0,
    })
}

fn snapshot_with(summary: ConversationSummary, events: Vec<PastEvent>) -> PlainInput {
    news(News::Snapshot {
        snapshot: Box::new(ConversationSnapshot {
            approvals: Vec::new(),
            summary,
            state: ActivityState::Idle,
            message: String::new(),
            settings: Settings::default(),
            queue: Vec::new(),
            forked_from: None,
            attached: 1,
            history: HistoryPage {
                events,
                ..HistoryPage::default()
            },
            jobs: vec![],
            position: String::new(),
            damage: None,
            unfinished: Vec::new(),
            context_files: Vec::new(),
        }),
        reset: None,
    })
}

fn news(news: News) -> PlainInput {
    PlainInput::News(Box::new(news))
}

pub(super) fn event(event: Event) -> PlainInput {
    news(News::Event {
        event,
        position: None,
    })
}

fn line(text: &str) -> PlainInput {
    PlainInput::Line(text.to_owned())
}

fn user(run_id: u64, key: Option<&str>, content: &str) -> Event {
    Event::User {
        content: content.to_owned(),
        run_id: Some(run_id),
        key: key.map(str::to_owned),
        by: Some("ana".to_owned()),
        timestamp: 0,
        attachments: Vec::new(),
        item: None,
        queue: None,
    }
}

fn text(content: &str) -> Event {
    Event::Text {
        content: content.to_owned(),
        sources: Vec::new(),
        partial: false,
        timestamp: 0,
    }
}

fn ended(run_id: u64, outcome: EndOutcome) -> Event {
    Event::RunEnded {
        by: None,
        run_id,
        outcome,
        message: String::new(),
        usage: TokenUsage::default(),
        timestamp: 0,
        run_usage: Default::default(),
        duration_ms: None,
    }
}

fn accepted(key: &str, run_id: u64) -> PlainInput {
    news(News::Accepted {
        key: key.to_owned(),
        run_id,
    })
}

/// The effects of the inputs, a line each.
fn play(machine: &mut PlainMachine, inputs: impl IntoIterator<Item = PlainInput>) -> Vec<String> {
    let effects = inputs.into_iter().flat_map(|input| machine.handle(input));
    effects
        .map(|effect| match effect {
            PlainEffect::Show(lines) => lines,
            PlainEffect::Order(order) => format!("-> {order:?}"),
            PlainEffect::Exit(code) => format!("exit {code}"),
        })
        .collect()
}

const ATTACHED: &str = "status: attached to untitled (c1)";

fn submit(key: &str, content: &str) -> String {
    format!("-> Submit {{ conversation: \"c1\", key: {key:?}, content: {content:?}, files: [] }}")
}

/// Spec: [PLAIN-02] [PLAIN-05]
#[test]
fn a_piped_prompt_waits_for_its_reply_and_leaves() {
    let outcomes = [
        (EndOutcome::Completed, "status: run 7 completed", "exit 0"),
        (EndOutcome::Cancelled, "status: run 7 cancelled", "exit 130"),
        (EndOutcome::Error, "status: run 7 failed", "exit 1"),
        (
            EndOutcome::Interrupted,
            "status: run 7 interrupted",
            "exit 1",
        ),
    ];
    for (outcome, status, exit) in outcomes {
        let begins = [
            line("hi"),
            PlainInput::Over,
            snapshot(None, vec![past(1, text("of old"))]),
        ];
        let mut machine = machine(false);
        let shown = play(&mut machine, begins);
        assert_eq!(shown, [ATTACHED.to_owned(), submit("k1", "hi")]);
        let goes_on = [
            accepted("k1", 7),
            event(user(7, Some("k1"), "hi")),
            event(text("hello\nthere")),
            event(ended(7, outcome)),
        ];
        let expected = ["you: hi", "agent: hello\n  there", status, exit];
        assert_eq!(play(&mut machine, goes_on), expected);
    }
}

/// Spec: [PLAIN-05]
#[test]
fn a_run_may_be_over_before_its_prompt_is_known_to_be_accepted() {
    let mut machine = machine(false);
    play(
        &mut machine,
        [snapshot(None, vec![]), line("hi"), PlainInput::Over],
    );
    let events = [
        event(user(7, Some("k1"), "hi")),
        event(ended(7, EndOutcome::Completed)),
    ];
    let expected = ["you: hi", "status: run 7 completed", "exit 0"];
    assert_eq!(play(&mut machine, events), expected);
}

/// Spec: [PLAIN-05]
#[test]
fn prompts_are_sent_one_after_the_other() {
    let mut machine = machine(false);
    let begins = [snapshot(Some(3), vec![]), line("a"), line("b")];
    let waits = "status: this waits for the end of the run";
    let expected = [ATTACHED, "status: run 3 is going", waits, waits];
    assert_eq!(play(&mut machine, begins), expected);
    let goes_on = [
        event(ended(3, EndOutcome::Completed)),
        PlainInput::Over,
        accepted("k1", 4),
        event(user(4, Some("k1"), "a")),
        event(ended(4, EndOutcome::Error)),
        accepted("k2", 5),
        event(ended(5, EndOutcome::Completed)),
    ];
    let expected = [
        "status: run 3 completed",
        &submit("k1", "a"),
        "you: a",
        "status: run 4 failed",
        &submit("k2", "b"),
        "status: run 5 completed",
        "exit 0",
    ];
    assert_eq!(play(&mut machine, goes_on), expected);
}

/// Spec: [PLAIN-05]
#[test]
fn who_has_nothing_more_to_say_does_not_wait_for_what_never_comes() {
    let refused = || {
        news(News::Refused {
            conversation: "c2".to_owned(),
            reason: "it does not exist".to_owned(),
        })
    };
    let error = "error: c2 cannot be opened: it does not exist";
    assert_eq!(play(&mut machine(false), [refused()]), [error, "exit 1"]);
    let mut opened = machine(false);
    play(&mut opened, [snapshot(None, vec![]), line("/open c2")]);
    let not_sent = "error: not sent: no conversation is open";
    let inputs = [refused(), line("hi"), line("/cancel"), line("/rename x")];
    let expected = [
        error,
        not_sent,
        "status: no run is going",
        "error: no conversation is open",
    ];
    assert_eq!(play(&mut opened, inputs), expected);
    assert_eq!(play(&mut opened, [PlainInput::Over]), ["exit 1"]);

    let not_accepted = News::NotAccepted {
        key: "k1".to_owned(),
        reason: "too long".to_owned(),
    };
    let inputs = [
        snapshot(None, vec![]),
        line("hi"),
        PlainInput::Over,
        news(not_accepted),
    ];
    let error = "error: the prompt was not accepted: too long";
    let shown = play(&mut machine(false), inputs);
    assert_eq!(shown[2..], [error, "exit 1"]);

    let down = |tries| {
        news(News::Down {
            reason: "refused".to_owned(),
            tries,
            wait: Duration::from_secs(1),
        })
    };
    let inputs = [PlainInput::Over, down(1), down(2), down(10)];
    let expected = [
        "status: the connection is lost and tried again: refused",
        "error: the service does not come back",
        "exit 1",
    ];
    assert_eq!(play(&mut machine(false), inputs), expected);
    let expected = ["error: the link to the service is over", "exit 1"];
    assert_eq!(
        play(&mut machine(false), [PlainInput::LinkClosed]),
        expected
    );
}

/// Spec: [PLAIN-05]
#[test]
fn a_run_that_ended_in_a_break_is_over() {
    let begins = || {
        let mut machine = machine(false);
        let inputs = [
            snapshot(None, vec![]),
            line("hi"),
            PlainInput::Over,
            accepted("k1", 7),
            event(user(7, Some("k1"), "hi")),
        ];
        play(&mut machine, inputs);
        machine
    };
    let lost = ["status: run 7 is over; how it ended is not known", "exit 1"];
    assert_eq!(play(&mut begins(), [snapshot(None, vec![])]), lost);
    let attached = |run_id| {
        event(Event::Attached {
            conversation: "c1".to_owned(),
            position: String::new(),
            state: ActivityState::Thinking,
            message: String::new(),
            run_id,
        })
    };
    assert_eq!(play(&mut begins(), [attached(None)]), lost);
    let none: [&str; 0] = [];
    assert_eq!(play(&mut begins(), [attached(Some(7))]), none);
    let told = [past(9, ended(7, EndOutcome::Completed))];
    let shown = play(&mut begins(), [snapshot(None, told.to_vec())]);
    assert_eq!(shown, ["status: run 7 completed", "exit 0"]);
}

/// Spec: [PLAIN-02]
#[test]
fn the_past_is_shown_to_who_wants_it_and_nothing_twice() {
    let history = || vec![past(1, user(1, None, "old")), past(2, text("reply"))];
    let shown = play(&mut machine(true), [snapshot(None, history())]);
    assert_eq!(shown, [ATTACHED, "ana: old", "agent: reply"]);
    let mut machine = machine(false);
    let mut more = history();
    more.push(past(3, text("missed")));
    let inputs = [snapshot(None, history()), snapshot(None, more)];
    let expected = [ATTACHED, "agent: missed"];
    assert_eq!(play(&mut machine, inputs), expected);
}

/// Spec: [TUI-91]
#[test]
fn one_is_made_in_the_folder_of_the_one_that_is_open() {
    let mut machine = machine(false);
    let mut open = summary("c1", None);
    open.workspace = Some("/src/a".to_owned());
    let inputs = [snapshot_with(open, Vec::new()), line("/new")];
    let expected = [
        ATTACHED,
        "-> Create { title: None, folder: Some(\"/src/a\") }",
    ];
    assert_eq!(play(&mut machine, inputs), expected);
}

/// Spec: [PLAIN-06]
#[test]
fn commands_become_orders() {
    let mut machine = machine(false);
    let list = news(News::Listed(vec![
        summary("c1", None),
        summary("c9", Some(4)),
    ]));
    let inputs = [
        snapshot(None, vec![]),
        line("/cancel"),
        line("/list"),
        list,
        line("/rename A b"),
        renamed("A b"),
        line("/open 2"),
        snapshot_of("c9", Some(4)),
        line("/new X"),
        snapshot_of("c3", None),
        line("/open 3"),
        snapshot(None, vec![]),
        line("/nonsense"),
        line("/help"),
        line("/quit"),
    ];
    let wrong =
        "error: there is no command /nonsense; /help lists them, and //nonsense is a prompt";
    let expected = [
        ATTACHED,
        "status: no run is going",
        "-> List { folder: None }",
        "1. untitled (c1) idle",
        "2. untitled (c9) running",
        "-> Rename { conversation: \"c1\", title: \"A b\" }",
        "status: renamed: A b",
        "-> Open { conversation: \"c9\" }",
        "status: attached to untitled (c9)",
        "status: run 4 is going",
        "-> Create { title: Some(\"X\"), folder: None }",
        "status: attached to untitled (c3)",
        "-> Open { conversation: \"3\" }",
        ATTACHED,
        wrong,
        HELP,
        "exit 0",
    ];
    assert_eq!(play(&mut machine, inputs), expected);
}

/// Spec: [PLAIN-08]
#[test]
fn leaving_waits_until_the_prompts_are_accepted_and_not_for_their_runs() {
    let mut machine = machine(false);
    let begins = [line("a"), line("b"), line("/quit"), PlainInput::Over];
    let none: [&str; 0] = [];
    assert_eq!(play(&mut machine, begins), none);
    let begins = [snapshot(None, vec![]), accepted("k1", 4)];
    assert_eq!(play(&mut machine, begins), [ATTACHED, &submit("k1", "a")]);
    let goes_on = [event(ended(4, EndOutcome::Error)), accepted("k2", 5)];
    let expected = ["status: run 4 failed", &submit("k2", "b"), "exit 0"];
    assert_eq!(play(&mut machine, goes_on), expected);
    // What stands behind it is nothing any more.
    let mut early = super::tests::machine(false);
    let begins = [
        line("/list"),
        line("/quit"),
        line("a"),
        snapshot(None, vec![]),
    ];
    assert_eq!(
        play(&mut early, begins),
        [ATTACHED, "-> List { folder: None }"]
    );
    let listed = news(News::Listed(vec![]));
    assert_eq!(play(&mut early, [listed]), ["exit 0"]);
    // Before anything was typed there is nothing to wait for.
    let mut fresh = super::tests::machine(false);
    assert_eq!(play(&mut fresh, [line("/quit")]), ["exit 0"]);
}

/// Spec: [PLAIN-08]
#[test]
fn who_leaves_hears_that_a_prompt_was_not_sent() {
    let refusal = || {
        news(News::NotAccepted {
            key: "k1".to_owned(),
            reason: "too long".to_owned(),
        })
    };
    let inputs = [snapshot(None, vec![]), line("a"), line("/quit"), refusal()];
    let expected = [
        "error: the prompt was not accepted: too long",
        "error: a prompt was not sent",
        "exit 1",
    ];
    assert_eq!(play(&mut machine(false), inputs)[2..], expected);
    let down = news(News::Down {
        reason: "refused".to_owned(),
        tries: 10,
        wait: Duration::from_secs(1),
    });
    let inputs = [line("a"), line("b"), line("/quit"), down];
    let expected = [
        "status: the connection is lost and tried again: refused",
        "error: the service does not come back",
        "error: 2 prompts were not sent",
        "exit 1",
    ];
    assert_eq!(play(&mut machine(false), inputs), expected);
    let expected = [
        "error: the link to the service is over",
        "error: a prompt was not sent",
        "exit 1",
    ];
    let inputs = [line("a"), PlainInput::LinkClosed];
    assert_eq!(play(&mut machine(false), inputs), expected);
}

/// Spec: [PLAIN-08]
#[test]
fn a_cancel_is_for_the_run_of_the_prompt_before_it() {
    let mut machine = machine(false);
    let begins = [
        line("a"),
        line("/cancel"),
        line("b"),
        PlainInput::Over,
        snapshot(None, vec![]),
    ];
    assert_eq!(play(&mut machine, begins), [ATTACHED, &submit("k1", "a")]);
    let answer = news(News::CancelAnswered { cancelled: true });
    let goes_on = [
        event(user(7, Some("k1"), "a")),
        event(ended(7, EndOutcome::Cancelled)),
        answer,
        accepted("k2", 8),
        event(ended(8, EndOutcome::Completed)),
    ];
    let expected = [
        "you: a",
        "status: cancelling run 7",
        "-> Cancel { conversation: \"c1\", run_id: Some(7), clear_queue: false }",
        "status: run 7 cancelled",
        &submit("k2", "b"),
        "status: run 8 completed",
        "exit 0",
    ];
    assert_eq!(play(&mut machine, goes_on), expected);
}

/// Spec: [PLAIN-08]
#[test]
fn each_line_waits_for_those_before_it_and_help_for_nobody() {
    let mut machine = machine(false);
    let typed = [
        "/list",
        "/open 1",
        "p",
        "/rename T",
        "/new N",
        "/help",
        "/quit",
    ];
    assert_eq!(play(&mut machine, typed.map(line)), [HELP]);
    let steps: [(PlainInput, &[&str]); 7] = [
        (
            snapshot(None, vec![]),
            &[ATTACHED, "-> List { folder: None }"],
        ),
        (
            news(News::Listed(vec![summary("c9", None)])),
            &["1. untitled (c9) idle", "-> Open { conversation: \"c9\" }"],
        ),
        (
            snapshot_of("c9", None),
            &[
                "status: attached to untitled (c9)",
                "-> Submit { conversation: \"c9\", key: \"k1\", content: \"p\", files: [] }",
            ],
        ),
        (
            accepted("k1", 7),
            &["-> Rename { conversation: \"c9\", title: \"T\" }"],
        ),
        (
            renamed("T"),
            &[
                "status: renamed: T",
                "-> Create { title: Some(\"N\"), folder: None }",
            ],
        ),
        (event(text("late")), &["agent: late"]),
        (
            snapshot_of("c3", None),
            &["status: attached to untitled (c3)", "exit 0"],
        ),
    ];
    for (input, expected) in steps {
        assert_eq!(play(&mut machine, [input]), expected);
    }
}

/// Spec: [PLAIN-08]
#[test]
fn an_order_that_fails_keeps_nothing_back() {
    let failed = || {
        news(News::Failed {
            reason: "no".to_owned(),
        })
    };
    let inputs = [
        snapshot(None, vec![]),
        line("/new"),
        line("/list"),
        line("/rename T"),
        line("a"),
        failed(),
        failed(),
        failed(),
        line("/quit"),
        accepted("k1", 3),
    ];
    let expected = [
        ATTACHED,
        "-> Create { title: None, folder: None }",
        "error: no",
        "-> List { folder: None }",
        "error: no",
        "-> Rename { conversation: \"c1\", title: \"T\" }",
        "error: no",
        &submit("k1", "a"),
        "exit 0",
    ];
    assert_eq!(play(&mut machine(false), inputs), expected);
}

/// Spec: [PLAIN-06]
#[test]
fn a_piped_command_is_carried_out_before_the_end() {
    let inputs = [
        snapshot(None, vec![]),
        line("/list"),
        PlainInput::Over,
        news(News::Listed(vec![])),
    ];
    let expected = [ATTACHED, "-> List { folder: None }", "exit 0"];
    assert_eq!(play(&mut machine(false), inputs), expected);
}

/// Spec: [PLAIN-07]
#[test]
fn ctrl_c_cancels_the_run_and_then_leaves() {
    let mut running = machine(false);
    let inputs = [
        snapshot(Some(3), vec![]),
        PlainInput::Interrupt,
        PlainInput::Interrupt,
    ];
    let expected = [
        ATTACHED,
        "status: run 3 is going",
        "status: cancelling run 3",
        "-> Cancel { conversation: \"c1\", run_id: Some(3), clear_queue: false }",
        "exit 130",
    ];
    assert_eq!(play(&mut running, inputs), expected);
    let inputs = [snapshot(None, vec![]), PlainInput::Interrupt];
    assert_eq!(play(&mut machine(false), inputs), [ATTACHED, "exit 130"]);
}

/// Spec: [PLAIN-03]
#[test]
fn a_tool_is_one_line_and_what_it_answered() {
    let call = |id: &str| Event::ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: json!({"path": "a.rs"}).as_object().unwrap().clone(),
        timestamp: 0,
    };
    let result = |id: &str, result: &str, is_error| Event::ToolResult {
        id: id.to_owned(),
        result: result.to_owned(),
        is_error,
        duration_ms: None,
        extent: None,
        timestamp: 0,
    };
    let status = |state, message: &str| Event::Status {
        state,
        message: message.to_owned(),
        timestamp: 0,
    };
    let lines = |count: usize| "x\n".repeat(count);
    let events = [
        status(ActivityState::Thinking, ""),
        status(ActivityState::Thinking, ""),
        call("t1"),
        status(ActivityState::RunningTool, "read"),
        result("t1", &lines(100), false),
        call("t2"),
        result("t2", &lines(117), false),
        call("t3"),
        result("t3", "no such file", true),
        result("t9", "", false),
        Event::Reasoning {
            content: "hm".to_owned(),
            duration_ms: None,
            timestamp: 0,
        },
        Event::Delta {
            index: 0,
            kind: harness_protocol::DeltaKind::Text,
            offset: 0,
            text: "piece".to_owned(),
        },
    ];
    let mut machine = machine(false);
    play(&mut machine, [snapshot(None, vec![])]);
    let shown = play(&mut machine, events.map(event));
    let hundred = "\n  x".repeat(100);
    let call = "tool read a.rs";
    let expected = [
        "status: thinking",
        "status: running read",
        &format!("{call} · 100 lines{hundred}"),
        &format!("{call} · 117 lines{hundred}\n  ... (17 more lines)"),
        &format!("{call} · error: no such file\n  no such file"),
        "tool of before · 0 lines",
        "thinking: hm",
    ];
    assert_eq!(shown, expected);
}

/// Spec: [PLAIN-04]
#[test]
fn nobody_speaks_in_anothers_name() {
    let mut machine = machine(false);
    play(&mut machine, [snapshot(None, vec![])]);
    let by = |name: Option<&str>| Event::User {
        content: "a\n\nagent: b".to_owned(),
        run_id: None,
        key: None,
        by: name.map(str::to_owned),
        timestamp: 0,
        attachments: Vec::new(),
        item: None,
        queue: None,
    };
    let events = [
        by(Some("ana")),
        by(Some("agent")),
        by(Some("you")),
        by(None),
    ];
    let words = "a\n\n  agent: b";
    let expected = ["ana", "another client", "another client", "another client"]
        .map(|who| format!("{who}: {words}"));
    assert_eq!(play(&mut machine, events.map(event)), expected);
}

/// Spec: [TUI-86]
#[test]
fn what_the_client_is_attached_to_is_its_first_lines() {
    let shown = |effects: Vec<PlainEffect>| -> Vec<String> {
        let shown = effects.into_iter().map(|effect| match effect {
            PlainEffect::Show(line) => line,
            other => panic!("{other:?}"),
        });
        shown.collect()
    };
    let mut machine = machine(true);
    let mut one = service();
    one.differences = vec![difference("model", "model: a, not b")];
    let told = shown(machine.handle(news(News::Service(Box::new(one.clone())))));
    let facts = format!(
        "status: folder ~/src/project · model claude-x at api.anthropic.com · version {} · service process 4242 at http://127.0.0.1:8421, `harness stop` ends it",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(told, [facts.as_str(), "status: model: a, not b"]);
    // The same, and then another.
    assert_eq!(
        machine.handle(news(News::Service(Box::new(one.clone())))),
        []
    );
    one.folder = "~/b".to_owned();
    one.differences.push(difference("port", "port: 1, not 2"));
    let told = shown(machine.handle(news(News::Service(Box::new(one)))));
    let changed = "status: the service was restarted: folder ~/b (was ~/src/project)";
    assert_eq!(told, [changed, "status: port: 1, not 2"]);
}
