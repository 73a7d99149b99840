//! A whole conversation with a stand-in for the API, over HTTP.

use std::sync::Mutex;

use harness_standin::{Gate, Message, Model, Reply, Script, Standin};
use serde_json::{Value, json};

use super::*;
use crate::model::{Credential, DEFAULT_MODEL};
use crate::reply::Object;
use crate::secret::Secret;
use crate::tool::{Cancellation, ToolFuture};

/// Writes down what it is told.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl EventHandler for Recorder {
    fn user(&self, content: &str) {
        self.note(format!("user {content}"));
    }

    fn text(&self, text: &str) {
        self.note(format!("text {text}"));
    }

    fn reasoning(&self, text: &str) {
        self.note(format!("reasoning {text}"));
    }

    fn tool_call(&self, id: &str, name: &str, input: &Object) {
        self.note(format!("call {id} {name} {}", Value::Object(input.clone())));
    }

    fn tool_result(&self, id: &str, result: &str, is_error: bool) {
        self.note(format!("result {id} {result} {is_error}"));
    }
}

struct Shout;

impl Tool for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn description(&self) -> &'static str {
        "Returns the text in capitals."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"text": {"type": "string"}}})
    }

    fn execute(&self, input: Object, _: Cancellation) -> ToolFuture<'_> {
        Box::pin(async move {
            let text = input.get("text").and_then(Value::as_str);
            Ok(text.ok_or("text is required")?.to_uppercase())
        })
    }
}

fn api() -> (Standin, Script, Config) {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![Model::new(DEFAULT_MODEL)]);
    let mut config = Config::new("key");
    config.api.base_url = standin.base_url();
    (standin, script, config)
}

/// Spec: [LIB-01]
#[actix::test]
async fn what_cannot_work_is_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = Config::new("key");
        change(&mut config);
        Harness::new(config, vec![], None).err()
    };
    assert_eq!(refused(|_| ()), None);
    let blank = |config: &mut Config| config.api.credential = Credential::ApiKey(Secret::from(" "));
    assert_eq!(refused(blank), Some(ConfigError::NoKey));
    let zero = |name| Some(ConfigError::Zero { name });
    assert_eq!(
        refused(|config| config.settings.max_turns = 0),
        zero("max_turns")
    );
    assert_eq!(
        refused(|config| config.settings.max_tokens = 0),
        zero("max_tokens")
    );
    let twice: Vec<Arc<dyn Tool>> = vec![Arc::new(Shout), Arc::new(Shout)];
    let refused = Harness::new(Config::new("key"), twice, None).err();
    assert!(matches!(refused, Some(ConfigError::Tools(_))));
}

/// Spec: [LIB-02] [LIB-04] [LIB-05]
#[actix::test]
async fn a_prompt_runs_to_its_end_and_the_handler_follows_it() {
    let (standin, script, config) = api();
    script.push(
        Message::new()
            .thinking("hm", "c2ln")
            .text("I will shout.")
            .tool_use("t1", "shout", json!({"text": "hey"}))
            .tool_use("t2", "shout", json!({})),
    );
    script.push(Reply::text("Done."));
    let recorder = Arc::new(Recorder::default());
    let harness = Harness::new(config, vec![Arc::new(Shout)], Some(recorder.clone())).unwrap();
    harness.prompt("shout hey").await.unwrap();
    assert_eq!(
        recorder.taken(),
        [
            "user shout hey",
            "reasoning hm",
            "text I will shout.",
            r#"call t1 shout {"text":"hey"}"#,
            "call t2 shout {}",
            "result t1 HEY false",
            r#"result t2 {"error":"text is required"} true"#,
            "text Done.",
        ]
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [LIB-02]
#[actix::test]
async fn a_limit_ends_a_prompt_well_and_a_failure_does_not() {
    let (_standin, script, mut config) = api();
    config.settings.max_turns = 1;
    let harness = Harness::new(config, vec![Arc::new(Shout)], None).unwrap();
    script.push(Message::new().tool_use("t1", "shout", json!({"text": "hey"})));
    let limited = harness.prompt("go on").await.unwrap();
    assert!(!limited.outcome.is_completed());
    script.push(Reply::error(400, "invalid_request_error", "no"));
    let failed = harness.prompt("again").await;
    assert!(matches!(failed, Err(HarnessError::Failed(_))), "{failed:?}");
    assert_eq!(harness.prompt(" ").await, Err(HarnessError::Blank));
}

/// Spec: [LIB-02] [LIB-03]
#[actix::test]
async fn one_prompt_at_a_time_and_a_cancel_ends_it() {
    let (_standin, script, config) = api();
    let harness = Harness::new(config, vec![], None).unwrap();
    assert!(!harness.cancel().await);
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    let first = harness.clone();
    let first = actix::spawn(async move { first.prompt("one").await });
    gate.reached().await;
    assert_eq!(harness.prompt("two").await, Err(HarnessError::Busy));
    assert!(harness.cancel().await);
    assert_eq!(first.await.unwrap(), Err(HarnessError::Cancelled));
    script.push(Reply::text("well"));
    assert_eq!(harness.prompt("three").await.unwrap().text, "well");
}
