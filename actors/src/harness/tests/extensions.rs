//! Other code in the crate's place.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use harness_protocol::{Approval, ThinkingLevel};
use serde_json::{Value, json};

use super::testing::*;
use super::*;
use crate::ConversationId;
use crate::approval::{Approver, ApproverAnswer, ApproverFuture};
use crate::compaction::{Summarizer, SummaryRequest};
use crate::conversation::TurnInfo;
use crate::guidance::Skill;
use crate::model::{
    Credential, KeyResolver, ModelError, ScriptedReply, ScriptedTransport, Transport,
    TransportRequest, TransportStream,
};
use crate::secret::Secret;

/// Spec: [LIB-25]
#[actix::test]
async fn a_projection_says_what_is_sent() {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    let without_secrets = |mut messages: Vec<Value>| {
        for message in &mut messages {
            let text = message.to_string().replace("secret", "---");
            *message = serde_json::from_str(&text).unwrap();
        }
        messages
    };
    options.extensions.projection = Some(Arc::new(without_secrets));
    let harness = Harness::start(options).unwrap();
    model.push(calls(&[("1", "a")]));
    model.push(ScriptedReply::text("well"));
    harness.prompt("the secret").await.unwrap();
    assert_eq!(
        requests(&model)[1],
        ["user: the ---", "assistant: call a", "user: result a"]
    );
    let messages = harness.messages().await.unwrap();
    assert_eq!(said(&json!(messages))[0], "user: the secret");
}

/// Spec: [LIB-25]
#[actix::test]
async fn what_a_projection_gets_wrong_is_not_sent() {
    let (model, mut options) = scripted();
    let attempt = AtomicUsize::new(0);
    options.extensions.projection = Some(Arc::new(move |mut messages: Vec<Value>| {
        match attempt.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("a projection's own fault"),
            1 => vec![],
            2 => vec![json!({"role": "assistant", "content": "I begin."})],
            _ => {
                messages[0]["content"] = json!("as a string");
                messages
            }
        }
    }));
    let harness = Harness::start(options).unwrap();
    for wrong in ["panicked", "there is none", "message 0 is not of the user"] {
        match harness.prompt("Hi!").await {
            Err(HarnessError::Failed(failure)) => {
                let failure = failure.to_string();
                assert!(failure.contains(wrong), "{failure}");
            }
            other => panic!("{wrong}: {other:?}"),
        }
    }
    assert_eq!(model.requests().len(), 0);
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    assert_eq!(requests(&model)[0], ["user: as a string"]);
}

/// Notes which key each call has.
#[derive(Default)]
struct NotesKeys(ScriptedTransport, Mutex<Vec<String>>);

impl Transport for NotesKeys {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        let (Credential::ApiKey(key) | Credential::Bearer(key)) = &request.credential;
        self.1.lock().unwrap().push(key.expose().to_owned());
        self.0.send(request)
    }
}

/// Gives these keys, one after the other.
struct Keys(Mutex<Vec<Option<Secret>>>);

impl KeyResolver for Keys {
    fn resolve(&self, _: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>> {
        let key = self.0.lock().unwrap().pop();
        Box::pin(async { Ok(key.flatten()) })
    }
}

/// Spec: [LIB-26]
#[actix::test]
async fn a_key_is_found_for_every_turn() {
    let (_, mut options) = scripted();
    options.tools = named(&["a"]);
    options.config = Config::new("static");
    let transport = Arc::new(NotesKeys::default());
    let keys = vec![Some("second".into()), None, Some("first".into())];
    options.extensions.transport = Some(transport.clone());
    options.extensions.keys = Some(Arc::new(Keys(Mutex::new(keys))));
    let harness = Harness::start(options).unwrap();
    transport.0.push(calls(&[("1", "a")]));
    transport.0.push(calls(&[("2", "a")]));
    transport.0.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    assert_eq!(*transport.1.lock().unwrap(), ["first", "static", "second"]);
}

/// The facts that a builder saw: the model, the thinking, the tools, the past, the skills.
type Seen = Arc<Mutex<Vec<Value>>>;

fn builder(seen: &Seen) -> impl Fn(&TurnInfo<'_>) -> String + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |turn: &TurnInfo<'_>| {
        let mut seen = seen.lock().unwrap();
        let skills: Vec<&str> = turn.skills.iter().map(|skill| &*skill.name).collect();
        let tools: Vec<&str> = turn.tools.names().collect();
        seen.push(json!({
            "model": turn.model,
            "thinking": turn.thinking,
            "tools": tools,
            "said": said(&json!(turn.history.values())),
            "skills": skills,
        }));
        format!("prompt {}", seen.len())
    }
}

/// Spec: [LIB-27] [LIB-28] [LIB-29]
#[actix::test]
async fn a_builder_makes_the_system_prompt_of_every_turn() {
    let (model, mut options) = scripted();
    let seen = Seen::default();
    options.tools = named(&["a", "b"]);
    options.config.settings.active_tools = vec!["a".to_owned()];
    options.config.settings.system_prompt = "static".to_owned();
    options.config.settings.thinking = Some(ThinkingLevel::Low);
    options.skills = vec![Skill {
        name: "s".to_owned(),
        ..Skill::default()
    }];
    options.extensions.system_prompt = Some(Arc::new(builder(&seen)));
    let harness = Harness::start(options).unwrap();
    model.push(calls(&[("1", "a")]));
    model.push(ScriptedReply::text("x"));
    harness.prompt("one").await.unwrap();
    harness.set_system_prompt("other").await.unwrap();
    model.push(failure());
    assert!(harness.prompt("two").await.is_err());
    model.push(ScriptedReply::text("y"));
    harness.continue_run().await.unwrap();

    let systems: Vec<String> = model
        .requests()
        .iter()
        .map(|it| system(it).to_owned())
        .collect();
    assert_eq!(systems, ["prompt 1", "prompt 2", "prompt 3", "prompt 4"]);
    let seen = seen.lock().unwrap();
    for turn in &*seen {
        assert_eq!(turn["model"], "first");
        assert_eq!(turn["thinking"], "low");
        assert_eq!(turn["tools"], json!(["a"]));
        assert_eq!(turn["skills"], json!(["s"]));
    }
    let first = ["user: one", "assistant: call a", "user: result a"];
    let all = [&first[..], &["assistant: x", "user: two"]].concat();
    let said: Vec<&Value> = seen.iter().map(|turn| &turn["said"]).collect();
    let expected = [json!([]), json!(first), json!(all[..4]), json!(all)];
    assert_eq!(said, expected.iter().collect::<Vec<_>>());
}

/// Spec: [LIB-30]
#[actix::test]
async fn a_builder_that_panics_fails_the_run() {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    let turn = AtomicUsize::new(0);
    options.extensions.system_prompt = Some(Arc::new(move |_: &TurnInfo<'_>| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        assert!(turn != 0 && turn != 2, "a builder's own fault");
        String::new()
    }));
    let harness = Harness::start(options).unwrap();
    let refused = harness.prompt("no").await;
    assert!(
        matches!(refused, Err(HarnessError::SystemPrompt(_))),
        "{refused:?}"
    );
    assert!(harness.messages().await.unwrap().is_empty());
    model.push(calls(&[("1", "a")]));
    let failed = harness.prompt("one").await;
    assert!(matches!(failed, Err(HarnessError::Failed(_))), "{failed:?}");
    model.push(ScriptedReply::text("x"));
    harness.prompt("two").await.unwrap();
    assert_eq!(
        requests(&model)[1],
        [
            "user: one",
            "assistant: call a",
            "user: result a",
            "user: two"
        ]
    );
}

/// Notes what it is to summarize.
#[derive(Default)]
struct Notes(Mutex<Vec<SummaryRequest>>);

impl Summarizer for Notes {
    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'static, Result<String, String>> {
        let mut noted = self.0.lock().unwrap();
        noted.push(request);
        let number = noted.len();
        Box::pin(async move { Ok(format!("summary {number}")) })
    }
}

/// A small window.
pub(super) fn small(options: &mut Options) {
    options.config.settings.context_window = Some(6_000);
    options.config.settings.reserve_tokens = 1_000;
    options.config.settings.keep_tokens = 2_500;
    options.config.settings.compaction_model = Some("small".to_owned());
}

pub(super) fn long(word: &str) -> String {
    word.repeat(8_000 / word.len())
}

/// Spec: [LIB-31] [LIB-32]
#[actix::test]
async fn summaries_are_written_by_another_and_nothing_is_lost() {
    let (model, mut options) = scripted();
    small(&mut options);
    let notes = Arc::new(Notes::default());
    options.extensions.summarizer = Some(notes.clone());
    let harness = Harness::start(options).unwrap();
    harness.set_model("second").await.unwrap();
    let prompts = ["one ", "two ", "six "].map(long);
    for prompt in &prompts {
        model.push(ScriptedReply::text("well"));
        harness.prompt(prompt).await.unwrap();
    }
    {
        let noted = notes.0.lock().unwrap();
        assert_eq!(noted.len(), 1);
        assert_eq!(noted[0].model, "small", "a compactor keeps its own model");
        assert!(noted[0].prompt.contains("one one"));
    }
    let sent = requests(&model).pop().unwrap();
    assert!(sent[0].contains("summary 1"), "{:.80}", sent[0]);
    assert!(!sent.concat().contains("one one"));
    assert!(sent.concat().contains("six six"));
    // The requests are as the projection has it, and the conversation as it was said.
    let all = said(&json!(harness.messages().await.unwrap()));
    let user = |text: &String| format!("user: {text}");
    let well = "assistant: well".to_owned();
    let [one, two, six] = &prompts.map(|text| user(&text));
    assert_eq!(all, [one, &well, two, &well, six, &well].map(String::clone));
}

/// Spec: [LIB-31]
#[actix::test]
async fn by_default_the_compactions_model_is_asked() {
    let (model, mut options) = scripted();
    small(&mut options);
    let harness = Harness::start(options).unwrap();
    for prompt in ["one ", "two "].map(long) {
        model.push(ScriptedReply::text("well"));
        harness.prompt(&prompt).await.unwrap();
    }
    model.push(ScriptedReply::text("## Goal\nthe summary"));
    model.push(ScriptedReply::text("well"));
    harness.prompt(&long("six ")).await.unwrap();
    let requests = model.requests();
    let models: Vec<&Value> = requests.iter().map(|request| &request["model"]).collect();
    assert_eq!(models, ["first", "first", "small", "first"]);
    assert!(requests[3].to_string().contains("the summary"));
}

/// Spec: [LIB-33] [LIB-34]
#[actix::test]
async fn a_compaction_on_demand_is_for_good() {
    let (model, mut options) = scripted();
    small(&mut options);
    options.config.settings.auto_compact = false;
    options.extensions.summarizer = Some(Arc::new(Notes::default()));
    let harness = Harness::start(options).unwrap();
    let none = harness.compact().await.unwrap();
    assert!(!none.compacted, "{none:?}");
    for prompt in ["one ", "two ", "six "].map(long) {
        assert!(!harness.compact().await.unwrap().compacted, "too early");
        model.push(ScriptedReply::text("well"));
        harness.prompt(&prompt).await.unwrap();
    }
    assert_eq!(harness.messages().await.unwrap().len(), 6);
    let before = harness.snapshot().await.unwrap().position;
    let done = harness.compact().await.unwrap();
    assert!(
        done.compacted && done.tokens_after < done.tokens_before,
        "{done:?}"
    );
    let after = harness.snapshot().await.unwrap();
    assert_ne!(after.position.epoch, before.epoch);
    assert_eq!((after.totals.prompts, after.run), (3, None));
    let messages = said(&json!(harness.messages().await.unwrap()));
    assert!(messages[0].contains("summary 1"), "{:.80}", messages[0]);
    assert!(!messages.concat().contains("one one"));
    assert!(!harness.compact().await.unwrap().compacted);
    model.push(ScriptedReply::text("x"));
    harness.prompt("more").await.unwrap();
    let sent = requests(&model).pop().unwrap();
    assert!(sent[0].contains("summary 1"), "{:.80}", sent[0]);
    assert!(!sent.concat().contains("one one"));
    assert_eq!(sent.last().unwrap(), "user: more");
}

/// Spec: [APPR-17]
#[actix::test]
async fn an_approver_decides_and_without_one_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let results = async |approver: Option<Arc<dyn Approver>>| {
        let (model, mut options) = scripted();
        options.tools = crate::standard_tools();
        options.workspace = folder.path().to_owned();
        if let Some(approver) = approver {
            options.extensions.approver = approver;
        }
        let harness = Harness::start(options).unwrap();
        let input = json!({"path": "new", "content": "x"});
        model.push(ScriptedReply::tool_use(
            "w",
            "write",
            input.as_object().unwrap(),
        ));
        model.push(ScriptedReply::text("done"));
        harness.prompt("write").await.unwrap();
        let sent = model.requests()[1].to_string();
        (folder.path().join("new").exists(), sent)
    };
    let (is_made, sent) = results(None).await;
    assert!(
        !is_made && sent.contains("denied it: no operator can be asked"),
        "{sent}"
    );
    let deny = |_: &ConversationId, _: &Approval| -> ApproverFuture {
        Box::pin(async { Some(ApproverAnswer::deny("not today")) })
    };
    let (is_made, sent) = results(Some(Arc::new(deny))).await;
    assert!(!is_made && sent.contains("not today"), "{sent}");
    let allow = |_: &ConversationId, approval: &Approval| -> ApproverFuture {
        assert_eq!(approval.tool, "write");
        Box::pin(async { Some(ApproverAnswer::allow()) })
    };
    let (is_made, _) = results(Some(Arc::new(allow))).await;
    assert!(is_made);
}
