//! The life of a call, with tools made for the purpose.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use harness_protocol::Extent;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Barrier, oneshot};
use tokio::time::{Instant, timeout};

use super::super::testing::{At, Folder, LIMIT, object};
use super::super::{Read, SeenFile, Tool, ToolError, ToolFuture};
use super::*;
use crate::attachment::sha256;
use crate::ids::ConversationId;
use crate::reply::Object;

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A tool that does what the test says.
struct Fake<F> {
    name: &'static str,
    work: F,
}

impl<F> Tool for Fake<F>
where
    F: Fn(Object, Cancellation) -> ToolFuture<'static> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "For tests."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        (self.work)(input, cancellation)
    }
}

fn tool<F, W>(name: &'static str, work: F) -> Arc<dyn Tool>
where
    F: Fn(Object, Cancellation) -> W + Send + Sync + 'static,
    W: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let work =
        move |input, cancellation| -> ToolFuture<'static> { Box::pin(work(input, cancellation)) };
    Arc::new(Fake { name, work })
}

/// A tool that returns its input.
fn echo() -> Arc<dyn Tool> {
    tool("echo", |input, _| async move {
        Ok(Value::Object(input).to_string())
    })
}

/// A tool that goes on whatever it is told, and hands out what it was told with.
fn stubborn(told: UnboundedSender<Cancellation>) -> Arc<dyn Tool> {
    tool("stubborn", move |_, cancellation| {
        told.send(cancellation).unwrap();
        std::future::pending()
    })
}

/// Passes on what it is told.
struct Probe(UnboundedSender<ToolEvent>);

impl Actor for Probe {
    type Context = Context<Self>;
}

impl Handler<ToolEvent> for Probe {
    type Result = ();

    fn handle(&mut self, event: ToolEvent, _: &mut Context<Self>) {
        self.0.send(event).unwrap();
    }
}

/// The actor with its tools, and one who asks.
struct Bench {
    registry: Registry,
    folder: Arc<Path>,
    tools: Addr<ToolActor>,
    asker: Recipient<ToolEvent>,
    answers: UnboundedReceiver<ToolEvent>,
    redaction: Redaction,
}

impl Bench {
    fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let (sender, answers) = mpsc::unbounded_channel();
        let registry = Registry::new(tools).unwrap();
        let redaction = Redaction::default();
        Self {
            registry,
            folder: Path::new("/").into(),
            tools: ToolActor::new(TIME_LIMIT, redaction.clone()).start(),
            redaction,
            asker: Probe(sender).start().recipient(),
            answers,
        }
    }

    /// Has a tool run for a conversation.
    fn run(&self, conversation: &str, name: &str, input: Value) -> CallId {
        self.run_numbered(conversation, 1, name, input)
    }

    /// Has one of several tools of a conversation run.
    fn run_numbered(&self, conversation: &str, number: u64, name: &str, input: Value) -> CallId {
        let call_id = CallId {
            number,
            ..call_id(conversation)
        };
        let order = RunTool {
            seen: crate::tool::SeenBefore::default(),
            call_id: call_id.clone(),
            call: ToolCall {
                id: "toolu_1".to_owned(),
                name: name.to_owned(),
                input: object(input),
                input_error: None,
            },
            allowed: None,
            keep: None,
            tools: self.registry.clone(),
            folder: self.folder.clone(),
            command_folder: None,
            jobs: Arc::default(),
            reply_to: self.asker.clone(),
        };
        self.tools.try_send(order).unwrap();
        call_id
    }

    /// Waits until the actor has taken all orders so far.
    async fn is_taken(&self) {
        let unknown = call_id("unknown");
        let order = CancelTool { call_id: unknown };
        self.tools.send(order).await.unwrap();
    }

    fn cancel(&self, call_id: &CallId) {
        let call_id = call_id.clone();
        self.tools.try_send(CancelTool { call_id }).unwrap();
    }

    /// The next answer. The limit is over any that the actor has, as time may be paused.
    async fn answer(&mut self) -> (CallId, ToolOutcome) {
        match self.event().await {
            // How long it took is another matter.
            ToolEvent::Finished { call_id, outcome } => (
                call_id,
                ToolOutcome {
                    took: None,
                    ..outcome
                },
            ),
            shown @ (ToolEvent::Output { .. } | ToolEvent::Planned { .. }) => panic!("{shown:?}"),
        }
    }

    async fn event(&mut self) -> ToolEvent {
        let event = timeout(TIME_LIMIT * 2, self.answers.recv()).await;
        event.unwrap().unwrap()
    }

    /// The actor takes a call, and no other answer came before that one.
    async fn is_alive_and_done(&mut self) {
        let call_id = self.run("alive", "echo", json!({"a": 1}));
        assert_eq!(self.answer().await, (call_id, done(r#"{"a":1}"#)));
    }
}

fn call_id(conversation: &str) -> CallId {
    CallId {
        conversation: ConversationId::new(conversation),
        number: 1,
    }
}

fn done(result: &str) -> ToolOutcome {
    ToolOutcome {
        result: result.to_owned(),
        is_error: false,
        changes: Vec::new(),
        changes_note: None,
        proposals: Vec::new(),
        seen: Vec::new(),
        folder: None,
        job: None,
        extent: None,
        took: None,
    }
}

fn failed(error: &str) -> ToolOutcome {
    ToolOutcome {
        result: format!(r#"{{"error":"{error}"}}"#),
        is_error: true,
        changes: Vec::new(),
        changes_note: None,
        proposals: Vec::new(),
        seen: Vec::new(),
        folder: None,
        job: None,
        extent: None,
        took: None,
    }
}

/// Spec: [TOOL-09] [TOOL-37]
#[actix::test]
async fn a_call_ends_with_what_the_tool_returned() {
    let fail = tool("fail", |_, _| async { Err("it is broken".into()) });
    let mut bench = Bench::new(vec![echo(), fail]);
    let call_id = bench.run("c", "echo", json!({"x": "é"}));
    assert_eq!(bench.answer().await, (call_id, done(r#"{"x":"é"}"#)));
    let call_id = bench.run("c", "fail", json!({}));
    assert_eq!(bench.answer().await, (call_id, failed("it is broken")));
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-09]
#[actix::test]
async fn a_built_in_tool_that_fails_is_an_error() {
    let folder = Folder::new();
    let mut bench = Bench::new(vec![Arc::new(At(Read, folder.path().into()))]);
    let call_id = bench.run("c", "read", json!({"path": "missing"}));
    assert_eq!(bench.answer().await, (call_id, failed("file not found")));
}

/// Spec: [TOOL-38]
#[actix::test]
async fn an_unknown_tool_is_an_error() {
    let mut bench = Bench::new(vec![echo()]);
    for name in ["bash", "Echo", ""] {
        let call_id = bench.run("c", name, json!({}));
        let outcome = failed(&format!("unknown tool: {name}"));
        assert_eq!(bench.answer().await, (call_id, outcome));
    }
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-39]
#[actix::test]
async fn a_panic_is_an_error_and_the_actor_lives_on() {
    let early = tool("early", |_, _| -> std::future::Ready<_> {
        panic!("too early")
    });
    let late = tool("late", |_, _| async {
        tokio::task::yield_now().await;
        panic!("too {}", "late")
    });
    let odd = tool("odd", |_, _| async { panic::panic_any(5) });
    let mut bench = Bench::new(vec![echo(), early, late, odd]);
    for (name, reason) in [
        ("early", "too early"),
        ("late", "too late"),
        ("odd", "without a message"),
    ] {
        let call_id = bench.run("c", name, json!({}));
        let outcome = failed(&format!("the tool {name} panicked: {reason}"));
        assert_eq!(bench.answer().await, (call_id, outcome));
    }
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-37] [TOOL-40]
#[actix::test]
async fn a_tool_that_takes_too_long_is_told_to_stop() {
    tokio::time::pause();
    let (sender, mut told) = mpsc::unbounded_channel();
    let mut bench = Bench::new(vec![echo(), stubborn(sender)]);
    let start = Instant::now();
    let call_id = bench.run("c", "stubborn", json!({}));
    let outcome = failed("the tool stubborn took longer than 60s");
    assert_eq!(bench.answer().await, (call_id.clone(), outcome));
    assert_eq!(start.elapsed().as_secs(), TIME_LIMIT.as_secs());
    assert!(told.recv().await.unwrap().is_cancelled());
    bench.cancel(&call_id);
    tokio::time::sleep(GRACE * 2).await;
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-37] [TOOL-41]
#[actix::test]
async fn a_cancelled_call_ends_once_whatever_its_tool_returns() {
    tokio::time::pause();
    for result in [Ok("too late".to_owned()), Err("stopped".into())] {
        let work = move |_, cancellation: Cancellation| {
            let result = result.clone();
            async move {
                cancellation.cancelled().await;
                tokio::time::sleep(GRACE / 2).await;
                result
            }
        };
        let mut bench = Bench::new(vec![echo(), tool("slow", work)]);
        let call_id = bench.run("c", "slow", json!({}));
        bench.is_alive_and_done().await;
        let start = Instant::now();
        bench.cancel(&call_id);
        bench.cancel(&call_id);
        let answer = bench.answer().await;
        assert_eq!(answer, (call_id.clone(), failed("cancelled by user")));
        assert_eq!(start.elapsed().as_secs(), (GRACE / 2).as_secs());
        bench.cancel(&call_id);
        tokio::time::sleep(GRACE * 2).await;
        bench.is_alive_and_done().await;
    }
}

/// Spec: [TOOL-37] [TOOL-41] [TOOL-42]
#[actix::test]
async fn a_tool_that_does_not_stop_is_given_up() {
    tokio::time::pause();
    let (sender, mut told) = mpsc::unbounded_channel();
    let mut bench = Bench::new(vec![echo(), stubborn(sender)]);
    let cancelled = bench.run("a", "stubborn", json!({}));
    let other = bench.run("b", "stubborn", json!({}));
    let (first, second) = (told.recv().await.unwrap(), told.recv().await.unwrap());
    let start = Instant::now();
    bench.cancel(&cancelled);
    let answer = bench.answer().await;
    assert_eq!(answer, (cancelled, failed("cancelled by user")));
    assert_eq!(start.elapsed().as_secs(), GRACE.as_secs());
    assert!(first.is_cancelled() && !second.is_cancelled());
    let outcome = failed("the tool stubborn took longer than 60s");
    assert_eq!(bench.answer().await, (other, outcome));
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-37] [TOOL-42]
#[actix::test]
async fn a_result_that_comes_after_the_end_is_discarded() {
    tokio::time::pause();
    let (finish, finished) = oneshot::channel::<String>();
    let finished = std::sync::Mutex::new(Some(finished));
    let deaf = tool("deaf", move |_, _| {
        let finished = finished.lock().unwrap().take().unwrap();
        async move { Ok(finished.await.unwrap()) }
    });
    let mut bench = Bench::new(vec![echo(), deaf]);
    let deaf_call = bench.run("c", "deaf", json!({}));
    bench.cancel(&deaf_call);
    let answer = bench.answer().await;
    assert_eq!(answer, (deaf_call, failed("cancelled by user")));
    // What the tool had was dropped with it.
    assert_eq!(finish.send("late".to_owned()), Err("late".to_owned()));
    bench.is_alive_and_done().await;

    let mut actor = ToolActor::new(TIME_LIMIT, Redaction::default());
    actor.finish(call_id("ended"), done("late"));
    assert!(actor.calls.is_empty());
}

/// Spec: [TOOL-37]
#[actix::test]
async fn cancelling_what_does_not_run_changes_nothing() {
    let mut bench = Bench::new(vec![echo()]);
    bench.cancel(&call_id("never"));
    let call_id = bench.run("c", "echo", json!({}));
    assert_eq!(bench.answer().await, (call_id.clone(), done("{}")));
    bench.cancel(&call_id);
    bench.is_alive_and_done().await;
}

/// Spec: [TOOL-44]
#[actix::test]
async fn a_cancelled_built_in_tool_ends_by_itself() {
    let folder = Folder::new();
    folder.huge("huge", 1 << 40);
    let mut bench = Bench::new(vec![Arc::new(At(Read, folder.path().into()))]);
    let call_id = bench.run("c", "read", json!({"path": "huge", "start_line": 2}));
    bench.cancel(&call_id);
    let answer = timeout(LIMIT, bench.answer()).await.unwrap();
    assert_eq!(answer, (call_id, failed("cancelled by user")));
}

/// A tool that writes these texts, each when the gate before it is open, and returns `done`.
struct Talking(Mutex<Vec<(oneshot::Receiver<()>, String)>>);

impl Tool for Talking {
    fn name(&self) -> &'static str {
        "talking"
    }

    fn description(&self) -> &'static str {
        "d"
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, _: Object, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(async move {
            assert_eq!(context.call_id, "toolu_1");
            let texts = std::mem::take(&mut *self.0.lock().unwrap());
            for (gate, text) in texts {
                gate.await.unwrap();
                context.output.write(&text);
            }
            context.cancellation.cancelled().await;
            Ok("done".to_owned())
        })
    }
}

/// Spec: [TOOL-52]
#[actix::test]
async fn what_a_call_writes_is_shown_before_its_result_and_without_secrets() {
    let (first, one) = oneshot::channel();
    let (second, two) = oneshot::channel();
    // As much at the end as may be the start of a secret is held back.
    let rest = "é".repeat(2000);
    let texts = vec![
        (one, format!("{rest}the key is sk-of-the-")),
        (two, format!("service, and {rest}")),
    ];
    let mut bench = Bench::new(vec![Arc::new(Talking(Mutex::new(texts)))]);
    bench.redaction.add("sk-of-the-service".into());
    let call_id = bench.run("c", "talking", json!({}));
    let mut seen = String::new();
    for gate in [first, second] {
        gate.send(()).unwrap();
        let ToolEvent::Output {
            call_id: id,
            offset,
            text,
        } = bench.event().await
        else {
            panic!("it has ended");
        };
        assert_eq!((id, offset), (call_id.clone(), seen.len() as u64));
        seen += &text;
    }
    assert!(
        seen.starts_with(&format!("{rest}the key is ***, and é")),
        "{seen}"
    );
    assert!(
        format!("{rest}the key is ***, and {rest}").starts_with(&seen),
        "{seen}"
    );
    bench.cancel(&call_id);
    assert_eq!(bench.answer().await, (call_id, failed("cancelled by user")));
}

/// Spec: [TOOL-52]
#[actix::test]
async fn pieces_are_small_and_come_apart_and_all_that_waits_is_shown() {
    tokio::time::pause();
    let (gate, opened) = oneshot::channel();
    let text = "a line of output\n".repeat(1500);
    let texts = vec![(opened, text.clone())];
    let mut bench = Bench::new(vec![Arc::new(Talking(Mutex::new(texts)))]);
    let call_id = bench.run("c", "talking", json!({}));
    gate.send(()).unwrap();
    let (mut seen, mut last) = (String::new(), Instant::now());
    while seen.len() < text.len() {
        let ToolEvent::Output {
            offset, text: more, ..
        } = bench.event().await
        else {
            panic!("it has ended");
        };
        assert_eq!(offset, seen.len() as u64);
        assert!(more.len() <= 8 * 1024 && last.elapsed() >= SHOWN_EVERY);
        seen += &more;
        last = Instant::now();
    }
    assert_eq!(seen, text);
    bench.cancel(&call_id);
    assert_eq!(bench.answer().await, (call_id, failed("cancelled by user")));
}

/// Spec: [TOOL-50]
#[actix::test]
async fn a_call_runs_in_the_folder_of_its_conversation() {
    let (one, other) = (Folder::new(), Folder::new());
    one.file("a", "1");
    other.file("a", "2");
    let mut bench = Bench::new(vec![Arc::new(Read)]);
    for (folder, content) in [(&one, "1"), (&other, "2")] {
        bench.folder = folder.path().into();
        let call_id = bench.run("c", "read", json!({"path": "a"}));
        let expected = json!({ "content": content }).to_string();
        let seen = SeenFile {
            path: folder.at("a").display().to_string(),
            hash: sha256(content.as_bytes()),
            lines: Vec::new(),
        };
        let outcome = ToolOutcome {
            seen: vec![seen],
            extent: Some(Box::new(Extent {
                lines: Some(1),
                of_lines: Some(1),
                ..Extent::default()
            })),
            ..done(&expected)
        };
        assert_eq!(bench.answer().await, (call_id, outcome));
    }
    let gone = other.path().to_owned();
    drop(other);
    let call_id = bench.run("c", "read", json!({"path": "a"}));
    let error = format!(
        "the folder of this conversation is gone: {}",
        gone.display()
    );
    assert_eq!(bench.answer().await, (call_id, failed(&error)));
}

/// Spec: [TOOL-43]
#[actix::test]
async fn tools_of_several_conversations_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = tool("meet", move |_, _| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok("met".to_owned())
        }
    });
    let mut bench = Bench::new(vec![meet]);
    let ids = [
        bench.run("a", "meet", json!({})),
        bench.run("b", "meet", json!({})),
    ];
    let answers = [bench.answer().await, bench.answer().await];
    for id in ids {
        assert!(answers.contains(&(id, done("met"))), "{answers:?}");
    }
}

/// Spec: [TOOL-45]
#[actix::test]
async fn a_few_calls_run_at_once_and_all_get_their_results() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let busy = tool("busy", move |input, _| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            most.fetch_max(1 + running.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(Value::Object(input).to_string())
        }
    });
    let mut bench = Bench::new(vec![echo(), busy]);
    bench.is_alive_and_done().await;
    for number in 0..400 {
        bench.run_numbered("c", number, "busy", json!({"n": number}));
    }
    let mut ended = Vec::new();
    for _ in 0..400 {
        let (call_id, outcome) = bench.answer().await;
        assert_eq!(outcome, done(&format!(r#"{{"n":{}}}"#, call_id.number)));
        ended.push(call_id.number);
    }
    ended.sort_unstable();
    assert!(ended.into_iter().eq(0..400));
    assert_eq!(seen.load(Ordering::SeqCst), MAX_AT_ONCE);
}

/// Spec: [TOOL-45] [TOOL-624]
#[actix::test]
async fn calls_that_come_at_once_all_wait_and_beyond_the_bound_they_are_told() {
    let (sender, _told) = mpsc::unbounded_channel();
    let mut bench = Bench::new(vec![echo(), stubborn(sender)]);
    bench.is_alive_and_done().await;
    // Nothing is taken in between: all of them are in the mailbox.
    for number in 0..1500 {
        bench.run_numbered("c", number, "echo", json!({}));
    }
    let mut ended = Vec::new();
    for _ in 0..1500 {
        let (call_id, outcome) = bench.answer().await;
        assert_eq!(outcome, done("{}"));
        ended.push(call_id.number);
    }
    ended.sort_unstable();
    assert!(ended.into_iter().eq(0..1500));
    let mut number = 0;
    for room in [MAX_AT_ONCE, MAX_WAITING / 2, MAX_WAITING / 2] {
        for _ in 0..room {
            bench.run_numbered("c", number, "stubborn", json!({}));
            number += 1;
        }
        bench.is_taken().await;
    }
    let refused = bench.run("other", "echo", json!({}));
    let (call_id, outcome) = bench.answer().await;
    assert_eq!(call_id, refused);
    let error = "65536 tool calls wait already, so this one was not run; call it again when others have ended";
    assert_eq!(outcome, failed(error));
    let first = CallId {
        conversation: ConversationId::new("c"),
        number: MAX_AT_ONCE as u64,
    };
    bench.cancel(&first);
    assert_eq!(bench.answer().await, (first, failed("cancelled by user")));
    bench.run("other", "echo", json!({}));
    bench.is_taken().await;
}

/// Spec: [TOOL-46]
#[actix::test]
async fn a_call_that_waits_has_its_time_before_it_and_can_be_cancelled() {
    tokio::time::pause();
    let (sender, _told) = mpsc::unbounded_channel();
    let mut bench = Bench::new(vec![stubborn(sender)]);
    let start = Instant::now();
    let calls = MAX_AT_ONCE as u64 + 2;
    let ids: Vec<_> = (0..calls)
        .map(|number| bench.run_numbered("c", number, "stubborn", json!({})))
        .collect();
    let (waits, last) = (&ids[MAX_AT_ONCE], &ids[MAX_AT_ONCE + 1]);
    bench.cancel(waits);
    let answer = bench.answer().await;
    assert_eq!(answer, (waits.clone(), failed("cancelled by user")));
    assert_eq!(start.elapsed(), Duration::ZERO);
    let outcome = failed("the tool stubborn took longer than 60s");
    for _ in 0..MAX_AT_ONCE {
        assert_eq!(bench.answer().await.1, outcome);
    }
    assert_eq!(start.elapsed().as_secs(), TIME_LIMIT.as_secs());
    assert_eq!(bench.answer().await, (last.clone(), outcome));
    assert_eq!(start.elapsed().as_secs(), 2 * TIME_LIMIT.as_secs());
}

/// Spec: [TOOL-47]
#[actix::test]
async fn many_calls_of_one_conversation_hold_up_no_other() {
    tokio::time::pause();
    let (sender, _told) = mpsc::unbounded_channel();
    let mut bench = Bench::new(vec![echo(), stubborn(sender)]);
    bench.is_alive_and_done().await;
    let ids: Vec<_> = (0..40)
        .map(|number| bench.run_numbered("many", number, "stubborn", json!({})))
        .collect();
    let other = bench.run("other", "echo", json!({}));
    bench.cancel(&ids[0]);
    assert_eq!(bench.answer().await.0, ids[0]);
    assert_eq!(bench.answer().await, (other, done("{}")));
}

/// Spec: [SEC-12] [SEC-22] [SEC-24]
#[actix::test]
async fn a_result_has_no_secrets_of_the_service_or_its_conversation() {
    let mut bench = Bench::new(vec![echo()]);
    bench.redaction.add("sk-of-the-service".into());
    let ours = ConversationId::new("ours");
    bench.redaction.learn(&ours, "sk-of-ours-0123456789".into());
    let input = || json!({"a": "sk-of-the-service", "b": "sk-of-ours-0123456789"});
    bench.run("ours", "echo", input());
    assert_eq!(bench.answer().await.1, done(r#"{"a":"***","b":"***"}"#));
    bench.run("theirs", "echo", input());
    let left = r#"{"a":"***","b":"sk-of-ours-0123456789"}"#;
    assert_eq!(bench.answer().await.1, done(left));
    // Over the limit of a result.
    for before in MAX_RESULT_BYTES - 30..MAX_RESULT_BYTES {
        let text = "x".repeat(before) + "sk-of-the-service" + &"y".repeat(100);
        bench.run("ours", "echo", json!({"a": text}));
        let (_, outcome) = bench.answer().await;
        assert!(!outcome.result.contains("sk-") && outcome.result.contains("[cut: "));
    }
}

/// Spec: [TOOL-06] [TOOL-11]
#[actix::test]
async fn a_result_over_a_mebibyte_is_cut_with_a_marker() {
    let large = tool("large", |input, _| async move {
        let (start, count) = (input["start"].as_str().unwrap(), input["count"].as_u64());
        let text = "é".repeat(usize::try_from(count.unwrap()).unwrap());
        Ok(format!("{start}{text}"))
    });
    let fail = tool("fail", |_, _| async {
        Err("e".repeat(2 * MAX_RESULT_BYTES).into())
    });
    let mut bench = Bench::new(vec![large, fail]);
    let half = MAX_RESULT_BYTES / 2;
    for (start, count, kept) in [
        ("", half, None),
        ("", half + 1, Some(MAX_RESULT_BYTES)),
        ("x", half, Some(MAX_RESULT_BYTES - 1)),
        ("x", half - 1, None),
    ] {
        bench.run("c", "large", json!({"start": start, "count": count}));
        let text = format!("{start}{}", "é".repeat(count));
        let expected = kept.map_or(text.clone(), |kept| {
            let size = text.len();
            format!("{}… [cut: 1048576 of {size} bytes]", &text[..kept])
        });
        assert!(bench.answer().await.1 == done(&expected), "{start} {count}");
    }
    bench.run("c", "fail", json!({}));
    let outcome = bench.answer().await.1;
    assert!(outcome.is_error && outcome.result.len() < MAX_RESULT_BYTES + 100);
    bench.run("c", &"n".repeat(2 * MAX_RESULT_BYTES), json!({}));
    let outcome = bench.answer().await.1;
    assert!(outcome.is_error && outcome.result.len() < MAX_RESULT_BYTES + 100);
}

/// Spec: [MODEL-430]
#[actix::test]
async fn a_call_whose_input_is_not_an_object_reaches_no_tool() {
    let touched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&touched);
    let touch = tool("touch", move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(String::new()) }
    });
    let mut bench = Bench::new(vec![touch, echo()]);
    let order = RunTool {
        seen: crate::tool::SeenBefore::default(),
        call_id: call_id("bad"),
        call: ToolCall {
            id: "toolu_1".to_owned(),
            name: "touch".to_owned(),
            input: Object::new(),
            input_error: Some("its input is bad".to_owned()),
        },
        allowed: None,
        keep: None,
        tools: bench.registry.clone(),
        folder: bench.folder.clone(),
        command_folder: None,
        jobs: Arc::default(),
        reply_to: bench.asker.clone(),
    };
    bench.tools.try_send(order).unwrap();
    let answer = (call_id("bad"), failed("its input is bad"));
    assert_eq!(bench.answer().await, answer);
    bench.is_alive_and_done().await;
    assert_eq!(touched.load(Ordering::Relaxed), 0);
}

/// Spec: [TOOL-37]
#[actix::test]
async fn an_asker_that_is_gone_harms_nobody() {
    let mut bench = Bench::new(vec![echo()]);
    let (sender, gone) = mpsc::unbounded_channel();
    let asker = Probe(sender).start();
    let order = RunTool {
        seen: crate::tool::SeenBefore::default(),
        call_id: call_id("gone"),
        call: ToolCall {
            id: "toolu_1".to_owned(),
            name: "echo".to_owned(),
            input: Object::new(),
            input_error: None,
        },
        allowed: None,
        keep: None,
        tools: bench.registry.clone(),
        folder: bench.folder.clone(),
        command_folder: None,
        jobs: Arc::default(),
        reply_to: asker.clone().recipient(),
    };
    // The probe panics when it is answered, and is dead before the second answer.
    drop((asker, gone));
    bench.tools.try_send(order.clone()).unwrap();
    bench.tools.try_send(order).unwrap();
    bench.is_alive_and_done().await;
}
