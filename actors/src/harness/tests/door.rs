//! The way in: under any runtime, with replies, a stream of events, and an end.

use std::pin::pin;
use std::sync::mpsc;

use futures_util::StreamExt as _;
use harness_protocol::Event;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::extensions::{long, small};
use super::testing::*;
use super::*;
use crate::harness::events::MAX_WAITING;
use crate::model::ScriptedReply;
use crate::reply::Object;
use crate::threads::testing::without_threads;
use crate::tool::{Cancellation, ToolFuture};

/// Spec: [LIB-320]
#[test]
fn a_conversation_needs_no_actix_and_no_runtime_of_a_kind() {
    let (model, options) = scripted();
    let outside = Harness::start(options.clone()).unwrap();
    for runtime in [
        Builder::new_multi_thread().build().unwrap(),
        Builder::new_current_thread().build().unwrap(),
    ] {
        let inside = runtime.block_on(async { Harness::start(options.clone()).unwrap() });
        for harness in [&outside, &inside] {
            model.push(ScriptedReply::text("well"));
            let (harness, asked) = (harness.clone(), harness.clone());
            let prompting = runtime.spawn(async move { harness.prompt("Hi!").await });
            let reply = runtime.block_on(prompting).unwrap().unwrap();
            assert_eq!(reply.text, "well");
            let messages = runtime.block_on(asked.messages()).unwrap();
            assert_eq!(messages.last().unwrap().text(), "well");
        }
    }
}

/// Spec: [LIB-321]
#[test]
fn without_a_thread_nothing_is_started_and_that_is_said() {
    let (_, options) = scripted();
    without_threads(true);
    let refused = Harness::start(options.clone()).err();
    without_threads(false);
    assert!(
        matches!(refused, Some(ConfigError::NoThread { .. })),
        "{refused:?}"
    );
    assert!(Harness::start(options).is_ok());
}

/// Tells when it is let go.
struct Held(Option<oneshot::Sender<()>>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.take().unwrap().send(()).unwrap();
    }
}

impl Tool for Held {
    fn name(&self) -> &'static str {
        "held"
    }

    fn description(&self) -> &'static str {
        "Is held."
    }

    fn input_schema(&self) -> serde_json::Value {
        json!({"type": "object"})
    }

    fn execute(&self, _: Object, _: Cancellation) -> ToolFuture<'_> {
        Box::pin(async {
            std::future::pending::<()>().await;
            Ok(String::new())
        })
    }
}

/// Spec: [LIB-322]
#[tokio::test]
async fn all_is_let_go_with_the_last_clone_also_while_a_run_is_going() {
    let (model, options) = scripted();
    let (dropped, let_go) = oneshot::channel();
    let options = options.with_tools(vec![Arc::new(Held(Some(dropped)))]);
    let harness = Harness::start(options).unwrap();
    let mut events = harness.events();
    model.push(calls(&[("1", "held")]));
    let clone = harness.clone();
    let prompting = tokio::spawn(async move { clone.prompt("Hi!").await });
    while !matches!(events.next().await, Some(Event::ToolCall { .. })) {}
    prompting.abort();
    assert!(prompting.await.unwrap_err().is_cancelled());
    drop(harness);
    let_go.await.unwrap();
    while events.next().await.is_some() {}
}

/// Spec: [LIB-324]
#[tokio::test]
async fn a_prompt_brings_the_reply_with_its_outcome_and_its_tokens() {
    let (model, options) = scripted();
    let mut options = options.with_tools(named(&["a"]));
    options.config.settings.max_turns = 2;
    let harness = Harness::start(options).unwrap();
    let usage = json!({"input_tokens": 7, "output_tokens": 5});
    let first = [
        json!({"type": "text", "text": "I call."}),
        json!({"type": "tool_use", "id": "1", "name": "a", "input": {}}),
    ];
    let last = [
        json!({"type": "text", "text": "It is "}),
        json!({"type": "text", "text": "a."}),
    ];
    model.push(ScriptedReply::with_usage(&first, &usage));
    model.push(ScriptedReply::with_usage(&last, &usage));
    let reply = harness.prompt("Which?").await.unwrap();
    assert_eq!(reply.text, "It is a.");
    assert!(reply.outcome.is_completed() && reply.outcome.remark().is_none());
    assert_eq!(
        (reply.usage.input_tokens, reply.usage.output_tokens),
        (14, 10)
    );
    assert_eq!(reply.run, RunId(1));

    model.push(calls(&[("2", "a")]));
    model.push(ScriptedReply::with_usage(&first, &usage));
    let limited = harness.prompt("Again?").await.unwrap();
    let remark = limited.outcome.remark().unwrap();
    assert!(remark.contains("max_turns"), "{remark}");
    assert_eq!((limited.text.as_str(), limited.run), ("I call.", RunId(2)));
    assert_eq!(limited.usage.output_tokens, 5);

    model.push(ScriptedReply::text("At last."));
    let continued = harness.continue_run().await.unwrap();
    assert_eq!(
        (continued.text.as_str(), continued.run),
        ("At last.", RunId(3))
    );
}

/// The model that a change of settings names.
fn model_of(event: &Event) -> Option<String> {
    let Event::SettingsChanged { settings, .. } = event else {
        return None;
    };
    settings.model.clone()
}

/// Spec: [LIB-326]
#[tokio::test]
async fn a_reader_that_lags_misses_nothing_that_lasts() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    let mut events = harness.events();
    let many = MAX_WAITING + 100;
    for number in 0..many {
        harness.set_model(&format!("m{number}")).await.unwrap();
    }
    for number in 0..many - 50 {
        let event = events.next().await.unwrap();
        assert_eq!(model_of(&event), Some(format!("m{number}")));
    }
    // What happens now is behind what it still has to read back.
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    for number in many - 50..many {
        let event = events.next().await.unwrap();
        assert_eq!(model_of(&event), Some(format!("m{number}")));
    }
    let mut names = Vec::new();
    while names.last() != Some(&"run_ended") {
        names.push(events.next().await.unwrap().type_name());
    }
    let lasting: Vec<&str> = names.into_iter().filter(|name| *name != "delta").collect();
    let run = "run_started user status turn_started text reply_ended turn_ended run_ended";
    assert_eq!(lasting.join(" "), run);
    drop(harness);
    assert_eq!(events.next().await.unwrap().type_name(), "status");
    assert_eq!(events.next().await, None);
}

/// Spec: [LIB-326]
#[tokio::test]
async fn what_cannot_be_read_back_any_more_is_told_as_a_gap() {
    let (model, mut options) = scripted();
    small(&mut options);
    options.config.settings.auto_compact = false;
    let harness = Harness::start(options).unwrap();
    for prompt in ["one ", "two ", "six "].map(long) {
        model.push(ScriptedReply::text("well"));
        harness.prompt(&prompt).await.unwrap();
    }
    let mut events = harness.events();
    for number in 0..=MAX_WAITING {
        harness.set_model(&format!("m{number}")).await.unwrap();
    }
    model.push(ScriptedReply::text("The summary."));
    assert!(harness.compact().await.unwrap().compacted);
    for number in 0..MAX_WAITING {
        let event = events.next().await.unwrap();
        assert_eq!(model_of(&event), Some(format!("m{number}")));
    }
    let gap = events.next().await.unwrap();
    assert!(matches!(gap, Event::Gap { .. }), "{gap:?}");
    harness.set_model("last").await.unwrap();
    loop {
        let event = events.next().await.unwrap();
        if model_of(&event).as_deref() == Some("last") {
            break;
        }
    }
}

/// Spec: [LIB-326]
#[tokio::test]
async fn a_stream_and_a_prompt_go_together() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    let (told, names) = mpsc::channel();
    let gate = Gate::default();
    model.push(gate.before(ScriptedReply::text("well")));
    let mut events = harness.events();
    let mut run = pin!(harness.prompt("Hi!"));
    let reply = loop {
        tokio::select! {
            biased;
            Some(event) = events.next() => {
                told.send(event.type_name()).unwrap();
                if event.type_name() == "turn_started" {
                    gate.open();
                }
            }
            reply = &mut run => break reply.unwrap(),
        }
    };
    assert_eq!(reply.text, "well");
    assert!(names.try_iter().any(|name| name == "run_ended"));
}
