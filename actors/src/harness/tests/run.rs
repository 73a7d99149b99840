//! Runs: their begin, their queues, their end, and who follows them.

use std::sync::Mutex;

use bytes::Bytes;
use harness_protocol::{Event, QueueMode, ToolExecution};
use serde_json::json;
use tokio::task::JoinHandle;

use super::testing::*;
use super::*;
use crate::conversation::messages::{CancelRun, SubmitPrompt};
use crate::model::{ScriptedReply, ScriptedTransport};

/// Starts a prompt whose first reply waits for the gate.
async fn held(
    harness: &Harness,
    model: &ScriptedTransport,
    reply: ScriptedReply,
) -> (Gate, JoinHandle<Result<Reply, HarnessError>>) {
    let gate = Gate::default();
    model.push(gate.before(reply));
    let prompting = harness.clone();
    let prompting = actix::spawn(async move { prompting.prompt("one").await });
    gate.reached().await;
    (gate, prompting)
}

/// Spec: [LIB-07]
#[actix::test]
async fn a_model_and_a_way_to_it_are_enough() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    model.push(ScriptedReply::text("Hello."));
    harness.prompt("Hi!").await.unwrap();
    let requests = model.requests();
    let request = requests[0].as_object().unwrap();
    assert_eq!(request["model"], "first");
    assert_eq!(request["max_tokens"], 4096);
    assert!(!request.contains_key("system") && !request.contains_key("tools"));
    assert!(!request.contains_key("thinking"));
    assert_eq!(said(&request["messages"]), ["user: Hi!"]);

    let (_, mut options) = scripted();
    options.config = Config::for_model(" ");
    assert_eq!(Harness::start(options).err(), Some(ConfigError::NoModel));
    let keyless = Options::new(Config::for_model("first"));
    assert_eq!(Harness::start(keyless).err(), Some(ConfigError::NoKey));
}

/// Spec: [LIB-08]
#[actix::test]
async fn the_conversation_can_be_used_directly() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    let gate = Gate::default();
    model.push(gate.before(ScriptedReply::text("Hello.")));
    let prompt = SubmitPrompt {
        content: "Hi!".to_owned(),
        ..SubmitPrompt::default()
    };
    let run = harness.conversation().send(prompt).await.unwrap().unwrap();
    gate.reached().await;
    assert_eq!(harness.snapshot().await.unwrap().run, Some(run));
    assert_eq!(harness.prompt("no").await, Err(HarnessError::Busy));
    let cancel = CancelRun::default();
    assert!(harness.conversation().send(cancel).await.unwrap());
    assert_eq!(harness.messages().await.unwrap().len(), 1);
}

/// Spec: [LIB-09] [LIB-13]
#[actix::test]
async fn a_look_is_possible_at_any_time() {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    let harness = Harness::start(options).unwrap();
    let before = harness.snapshot().await.unwrap();
    assert_eq!((before.run, before.active_at), (None, 0));
    assert_eq!(before.settings.tools, ["a"]);
    assert!(harness.messages().await.unwrap().is_empty());

    let usage = json!({"input_tokens": 7, "output_tokens": 5});
    let reply = ScriptedReply::with_usage(&[json!({"type": "text", "text": "well"})], &usage);
    let (gate, prompting) = held(&harness, &model, reply).await;
    harness.follow_up("late").await.unwrap();
    harness.steer("soon").await.unwrap();
    let during = harness.snapshot().await.unwrap();
    assert_eq!(during.run, Some(RunId(1)));
    assert_eq!(during.usage, harness_protocol::TokenUsage::default());
    let waiting = |snapshot: &Snapshot| -> Vec<String> {
        let items = snapshot.queue.iter();
        items.map(|item| item.content.clone()).collect()
    };
    assert_eq!(waiting(&during), ["soon", "late"]);
    assert_eq!(during.queue, harness.queue().await.unwrap());
    let messages = harness.messages().await.unwrap();
    assert_eq!(said(&json!(messages)), ["user: one"]);
    assert!(during.position.seq > before.position.seq);
    harness.withdraw(None).await.unwrap();
    gate.open();
    prompting.await.unwrap().unwrap();

    let after = harness.snapshot().await.unwrap();
    assert_eq!((after.run, waiting(&after)), (None, vec![]));
    assert_eq!(
        (after.usage.input_tokens, after.usage.output_tokens),
        (7, 5)
    );
    assert_eq!(after.totals.prompts, 1);
    let messages = harness.messages().await.unwrap();
    assert_eq!(said(&json!(messages)), ["user: one", "assistant: well"]);
}

/// Spec: [LIB-10]
#[actix::test]
async fn files_go_with_whatever_is_said() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    let file = |text: &'static str| NewAttachment {
        content: Bytes::from_static(text.as_bytes()),
        name: Some("notes.txt".to_owned()),
        ..NewAttachment::default()
    };
    for reply in ["1", "2"] {
        model.push(ScriptedReply::text(reply));
    }
    let files = vec![file("the follow-up's")];
    harness.follow_up_with("later", files).await.unwrap();
    harness
        .steer_with("now", vec![file("the steering's")])
        .await
        .unwrap();
    harness
        .prompt_with("look", vec![file("the prompt's")])
        .await
        .unwrap();
    let requests = model.requests();
    let sent = requests[1]["messages"].to_string();
    for text in ["the prompt's", "the steering's", "the follow-up's"] {
        assert!(sent.contains(text), "{text} in {sent}");
    }
    let refused = harness.prompt_with("look", vec![file("")]).await;
    assert!(
        matches!(refused, Err(HarnessError::Attachment(_))),
        "{refused:?}"
    );
    assert_eq!(model.requests().len(), 2);
}

/// Spec: [LIB-11]
#[actix::test]
async fn a_run_can_go_on_without_a_new_message() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    assert_eq!(harness.continue_run().await, Err(HarnessError::Empty));
    model.push(failure());
    let failed = harness.prompt("Hi!").await;
    assert!(matches!(failed, Err(HarnessError::Failed(_))), "{failed:?}");
    let before = model.requests().len();
    model.push(ScriptedReply::text("Hello."));
    harness.continue_run().await.unwrap();
    assert_eq!(requests(&model)[before], ["user: Hi!"]);
    assert_eq!(harness.continue_run().await, Err(HarnessError::Replied));
    assert_eq!(harness.retry().await, Err(HarnessError::Replied));
    harness.follow_up("More?").await.unwrap();
    model.push(ScriptedReply::text("No."));
    harness.continue_run().await.unwrap();
    let messages = harness.messages().await.unwrap();
    assert_eq!(
        said(&json!(messages)),
        [
            "user: Hi!",
            "assistant: Hello.",
            "user: More?",
            "assistant: No."
        ]
    );
}

/// Spec: [LIB-12]
#[actix::test]
async fn one_run_at_a_time() {
    let (model, mut options) = scripted();
    options.skills = vec![crate::guidance::Skill {
        name: "s".to_owned(),
        ..Default::default()
    }];
    options.templates = vec![crate::guidance::PromptTemplate {
        name: "t".to_owned(),
        content: "t".to_owned(),
        ..Default::default()
    }];
    let harness = Harness::start(options).unwrap();
    let (gate, prompting) = held(&harness, &model, ScriptedReply::text("well")).await;
    let position = harness.snapshot().await.unwrap().position;
    let busy = Err(HarnessError::Busy);
    assert_eq!(harness.prompt("two").await, busy);
    assert_eq!(harness.continue_run().await, busy);
    assert_eq!(harness.retry().await, busy);
    assert_eq!(harness.skill("s", &[]).await, busy);
    assert_eq!(harness.prompt_from_template("t", &[]).await, busy);
    assert_eq!(harness.compact().await, Err(HarnessError::Busy));
    assert_eq!(harness.snapshot().await.unwrap().position, position);
    gate.open();
    prompting.await.unwrap().unwrap();
    assert_eq!(model.requests().len(), 1);
}

/// Spec: [LIB-13] [CONV-71] [CONV-72]
#[actix::test]
async fn what_is_queued_during_a_run_is_said_in_its_place() {
    let (model, mut options) = scripted();
    options.tools = named(&["a", "b"]);
    let harness = Harness::start(options).unwrap();
    let (gate, prompting) = held(&harness, &model, calls(&[("1", "a"), ("2", "b")])).await;
    for reply in ["steered", "followed"] {
        model.push(ScriptedReply::text(reply));
    }
    harness.follow_up("follow").await.unwrap();
    harness.steer("steer").await.unwrap();
    assert_eq!(harness.steer(" ").await, Err(HarnessError::Blank));
    gate.open();
    prompting.await.unwrap().unwrap();
    let requests = requests(&model);
    assert_eq!(
        requests[1],
        [
            "user: one",
            "assistant: call a",
            "assistant: call b",
            "user: result a",
            "user: result b",
            "user: steer"
        ]
    );
    assert_eq!(requests[2][6..], ["assistant: steered", "user: follow"]);
    assert_eq!(requests.len(), 3);
}

/// The queued messages, as each request tells them: two steering messages and two follow-ups.
async fn drained(mode: QueueMode) -> Vec<Vec<String>> {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    options.config.settings.steering_mode = mode;
    options.config.settings.follow_up_mode = mode;
    let harness = Harness::start(options).unwrap();
    let (gate, prompting) = held(&harness, &model, calls(&[("1", "a")])).await;
    for id in ["2", "3"] {
        model.push(calls(&[(id, "a")]));
    }
    for reply in ["x", "y", "z"] {
        model.push(ScriptedReply::text(reply));
    }
    for text in ["s1", "s2"] {
        harness.steer(text).await.unwrap();
    }
    for text in ["f1", "f2"] {
        harness.follow_up(text).await.unwrap();
    }
    gate.open();
    prompting.await.unwrap().unwrap();
    let is_queued = |line: &String| line.starts_with("user: s") || line.starts_with("user: f");
    let requests = requests(&model).into_iter();
    requests
        .map(|lines| lines.into_iter().filter(is_queued).collect())
        .collect()
}

/// Spec: [CONV-74]
#[actix::test]
async fn queues_are_said_one_at_a_time_or_all_at_once() {
    assert_eq!(QueueMode::default(), QueueMode::OneAtATime);
    let one = drained(QueueMode::OneAtATime).await;
    let counts: Vec<usize> = one.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 1, 2, 2, 3, 4]);
    assert_eq!(one[5], ["user: s1", "user: s2", "user: f1", "user: f2"]);
    let all = drained(QueueMode::All).await;
    let counts: Vec<usize> = all.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 2, 2, 2, 4]);
}

/// Spec: [LIB-16]
#[actix::test]
async fn a_cancel_ends_the_run_and_leaves_the_queue() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    assert!(!harness.cancel().await);
    let (_gate, prompting) = held(&harness, &model, ScriptedReply::text("never")).await;
    let item = harness.follow_up("later").await.unwrap();
    assert!(harness.cancel().await);
    assert_eq!(prompting.await.unwrap(), Err(HarnessError::Cancelled));
    assert_eq!(harness.queue().await.unwrap().len(), 1);
    assert_eq!(harness.withdraw(Some(item)).await, Ok(vec![item]));
    assert_eq!(harness.withdraw(Some(item)).await, Ok(vec![]));
}

/// Spec: [LIB-17]
#[actix::test]
async fn a_run_goes_on_when_nobody_waits_for_it() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    let (gate, prompting) = held(&harness, &model, ScriptedReply::text("well")).await;
    prompting.abort();
    assert!(prompting.await.unwrap_err().is_cancelled());
    let (followed, ends) = tokio::sync::oneshot::channel();
    let subscription = harness.subscribe(Arc::new(AtEnd(Mutex::new(Some(followed)))));
    gate.open();
    ends.await.unwrap();
    subscription.unsubscribe();
    let messages = harness.messages().await.unwrap();
    assert_eq!(said(&json!(messages)), ["user: one", "assistant: well"]);
}

/// Tells when a run has ended.
struct AtEnd(Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

impl EventHandler for AtEnd {
    fn event(&self, event: &Event) {
        if matches!(event, Event::RunEnded { .. })
            && let Some(followed) = self.0.lock().unwrap().take()
        {
            followed.send(()).unwrap();
        }
    }
}

/// The results in the second request.
async fn results(mode: Option<ToolExecution>, calls_of: &[(&str, &str)]) -> Vec<String> {
    let (model, mut options) = scripted();
    options.tools = named(&["a", "fail", "b"]);
    let [one, two] = [Gate::default(), Gate::default()];
    options
        .tools
        .push(Arc::new(Meeting("meet_1", one.clone(), two.clone())));
    options.tools.push(Arc::new(Meeting("meet_2", two, one)));
    if let Some(mode) = mode {
        options.config.settings.tool_execution = mode;
    }
    let harness = Harness::start(options).unwrap();
    model.push(calls(calls_of));
    model.push(ScriptedReply::text("well"));
    harness.prompt("go").await.unwrap();
    let is_result = |line: &String| line.contains("result ");
    let mut requests = requests(&model);
    requests.remove(1).into_iter().filter(is_result).collect()
}

/// A tool that ends only when another one runs beside it.
struct Meeting(&'static str, Gate, Gate);

impl Tool for Meeting {
    fn name(&self) -> &'static str {
        self.0
    }

    fn description(&self) -> &'static str {
        "Waits for another one."
    }

    fn input_schema(&self) -> serde_json::Value {
        json!({"type": "object"})
    }

    fn execute(
        &self,
        _: crate::reply::Object,
        _: crate::tool::Cancellation,
    ) -> crate::tool::ToolFuture<'_> {
        Box::pin(async {
            self.1.open();
            self.2.clone().pass().await;
            Ok(self.0.to_owned())
        })
    }
}

/// Spec: [LIB-18]
#[actix::test]
async fn tools_run_as_the_mode_has_it() {
    let failing = [("1", "a"), ("2", "fail"), ("3", "b")];
    let skipped = "user: result not executed: an earlier tool failed";
    let failed = r#"user: result {"error":"no"}"#;
    assert_eq!(
        results(None, &failing).await,
        ["user: result a", failed, skipped]
    );
    let all = ["user: result a", failed, "user: result b"];
    let sequential = Some(ToolExecution::Sequential);
    assert_eq!(results(sequential, &failing).await, all);
    let parallel = Some(ToolExecution::Parallel);
    assert_eq!(results(parallel, &failing).await, all);
    let meeting = [("1", "meet_1"), ("2", "meet_2")];
    let met = ["user: result meet_1", "user: result meet_2"];
    assert_eq!(results(parallel, &meeting).await, met);
}

/// Panics at the first event.
struct Panics;

impl EventHandler for Panics {
    fn event(&self, _: &Event) {
        panic!("a handler's own fault");
    }
}

/// Spec: [LIB-19]
#[actix::test]
async fn handlers_are_told_in_order_until_they_unsubscribe() {
    let (model, mut options) = scripted();
    let noted = Arc::default();
    options.handler = Some(Arc::new(Types("0 ", Arc::clone(&noted))));
    let harness = Harness::start(options).unwrap();
    let _panics = harness.subscribe(Arc::new(Panics));
    let first = harness.subscribe(Arc::new(Types("1 ", Arc::clone(&noted))));
    let second = harness.subscribe(Arc::new(Types("2 ", Arc::clone(&noted))));
    let told = |names: [bool; 3]| {
        let events: Vec<String> = std::mem::take(&mut *noted.lock().unwrap());
        for (name, is_told) in names.into_iter().enumerate() {
            let prefix = format!("{name} ");
            let count = events.iter().filter(|it| it.starts_with(&prefix)).count();
            assert_eq!(count > 0, is_told, "{name} in {events:?}");
        }
        events
    };
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    let events = told([true, true, true]);
    assert_eq!(
        events[..3],
        ["0 run_started", "1 run_started", "2 run_started"]
    );
    drop(first);
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    told([true, false, true]);
    second.unsubscribe();
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    told([true, false, false]);
}

/// Spec: [LIB-20]
#[actix::test]
async fn a_handler_is_told_of_everything() {
    let (model, mut options) = scripted();
    let (noted, handler) = types();
    options.handler = Some(handler);
    let harness = Harness::start(options).unwrap();
    let item = harness.steer("no").await.unwrap();
    harness.withdraw(Some(item)).await.unwrap();
    harness.set_model("second").await.unwrap();
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    assert_eq!(
        *noted.lock().unwrap(),
        [
            "queued",
            "withdrawn",
            "settings_changed",
            "run_started",
            "user",
            "status",
            "turn_started",
            "delta",
            "text",
            "reply_ended",
            "turn_ended",
            "run_ended",
            "status",
        ]
    );
}
