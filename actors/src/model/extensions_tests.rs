//! The actor with other parts on the way to the model.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use harness_protocol::ThinkingLevel;
use harness_standin::{Model, Reply, Script, Standin};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::ids::{CallId, ConversationId};
use crate::model::messages::{
    CancelModelCall, DescribeModel, ListModels, ModelEvent, StartModelCall,
};
use crate::model::{
    ApiVersion, Credential, HeadSettings, KeyResolver, ModelActor, ModelChoice, ModelError,
    ModelExtensions, ModelInfo, ModelSettings, NamedKeys, RequestHead, RequestPiece, RetryPolicy,
    Transport, TransportRequest, TransportStream,
};
use crate::secret::{Redaction, Secret};

/// The limits of a call: only one that hangs takes so long.
const LIMIT: Duration = Duration::from_secs(20);

/// Passes what it is told to a test.
struct Probe(mpsc::UnboundedSender<ModelEvent>);

impl Actor for Probe {
    type Context = Context<Self>;
}

impl Handler<ModelEvent> for Probe {
    type Result = ();

    fn handle(&mut self, event: ModelEvent, _: &mut Context<Self>) {
        self.0.send(event).unwrap();
    }
}

/// An actor and what it says.
struct Subject {
    model: Addr<ModelActor>,
    probe: Addr<Probe>,
    events: mpsc::UnboundedReceiver<ModelEvent>,
    calls: u64,
}

impl Subject {
    fn new(settings: ModelSettings, extensions: ModelExtensions) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        Self {
            model: ModelActor::with_extensions(settings, Clock::system(), extensions).start(),
            probe: Probe(sender).start(),
            events,
            calls: 0,
        }
    }

    fn next_id(&mut self) -> CallId {
        self.calls += 1;
        CallId {
            conversation: ConversationId::new("c"),
            number: self.calls,
        }
    }

    /// Starts a call with these settings.
    async fn start(&mut self, settings: HeadSettings<'_>) -> CallId {
        let message = r#"{"role":"user","content":"hi"}"#;
        self.start_with(settings, message).await
    }

    /// Starts a call with these settings and messages.
    async fn start_with(&mut self, settings: HeadSettings<'_>, message: &'static str) -> CallId {
        let head = RequestHead::new(settings);
        let call_id = self.next_id();
        let order = StartModelCall {
            spending: None,
            call_id: call_id.clone(),
            request: head.request(vec![RequestPiece::Json(message.into())], false),
            reply_to: self.probe.clone().recipient(),
        };
        self.model.send(order).await.unwrap();
        call_id
    }

    /// The end of the call: its text, or the error. Deltas and retries are passed over.
    async fn end(&mut self) -> Result<String, ModelError> {
        let mut text = String::new();
        loop {
            match self.events.recv().await.unwrap() {
                ModelEvent::Delta { .. } | ModelEvent::Retrying { .. } => {}
                ModelEvent::ModelReplaced { .. }
                | ModelEvent::RetryBegan { .. }
                | ModelEvent::Remarked { .. }
                | ModelEvent::Adapted { .. } => {}
                ModelEvent::BlockFinished { block, .. } => {
                    text += block.json()["text"].as_str().unwrap();
                }
                ModelEvent::Finished { .. } => return Ok(text),
                ModelEvent::Failed { failure, .. } => return Err(failure.error),
                other => panic!("{other:?}"),
            }
        }
    }

    async fn call(&mut self, settings: HeadSettings<'_>) -> Result<String, ModelError> {
        self.start(settings).await;
        self.end().await
    }

    async fn describe(&mut self, model: ModelChoice) -> CallId {
        let call_id = self.next_id();
        let order = DescribeModel {
            call_id: call_id.clone(),
            model,
            key_source: None,
            reply_to: self.probe.clone().recipient(),
        };
        self.model.send(order).await.unwrap();
        call_id
    }

    async fn described(&mut self, model: ModelChoice) -> Option<Arc<ModelInfo>> {
        let id = self.describe(model).await;
        match self.events.recv().await.unwrap() {
            ModelEvent::Described { call_id, info } => {
                assert_eq!(call_id, id);
                info
            }
            other => panic!("{other:?}"),
        }
    }
}

fn settings(base_url: &str) -> ModelSettings {
    ModelSettings {
        base_url: base_url.to_owned(),
        credential: Credential::ApiKey("static-key".into()),
        retry: RetryPolicy {
            max_retries: 1,
            max_wait: LIMIT,
        },
        api_version: None,
        connect_timeout: LIMIT,
        head_timeout: LIMIT,
        idle_timeout: LIMIT,
    }
}

fn choice(id: &str) -> ModelChoice {
    ModelChoice {
        id: id.into(),
        chosen: true,
    }
}

fn plain(id: &str) -> HeadSettings<'static> {
    HeadSettings::plain(choice(id), 9)
}

/// The chunks of a reply of one text.
fn chunks(text: &str) -> Vec<Bytes> {
    let events = [
        json!({"type": "message_start", "message": {"model": "m", "usage": {}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}),
        json!({"type": "message_stop"}),
    ];
    events
        .map(|event| format!("data: {event}\n\n").into())
        .into()
}

type Scripted = Result<Vec<Result<Bytes, ModelError>>, ModelError>;

/// Answers with what it is given, and notes what it was asked.
#[derive(Default)]
struct Recorder {
    replies: Mutex<VecDeque<Scripted>>,
    requests: Mutex<Vec<TransportRequest>>,
}

impl Transport for Recorder {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        match reply {
            Some(reply) => future::ready(reply.map(|chunks| stream::iter(chunks).boxed())).boxed(),
            None => future::pending().boxed(),
        }
    }
}

fn through(recorder: &Arc<Recorder>, replies: Vec<Scripted>) -> Subject {
    *recorder.replies.lock().unwrap() = replies.into();
    let extensions = ModelExtensions {
        transport: Some(Arc::clone(recorder) as Arc<dyn Transport>),
        ..ModelExtensions::default()
    };
    // Nothing listens there.
    Subject::new(settings("http://127.0.0.1:9"), extensions)
}

fn whole(text: &str) -> Scripted {
    Ok(chunks(text).into_iter().map(Ok).collect())
}

/// Spec: [MODEL-43]
#[actix::test]
async fn a_transport_replaces_the_http_client() {
    let recorder = Arc::default();
    let mut subject = through(&recorder, vec![whole("one"), whole("two")]);
    assert_eq!(subject.call(plain("m")).await, Ok("one".to_owned()));
    let thinking = HeadSettings {
        thinking: Some(ThinkingLevel::Low),
        ..plain("claude-opus-5-5")
    };
    assert_eq!(subject.call(thinking).await, Ok("two".to_owned()));
    assert_eq!(subject.described(choice("m")).await, None);
    let requests = recorder.requests.lock().unwrap().clone();
    let [first, second] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(&*first.model, "m");
    assert_eq!(first.credential, Credential::ApiKey("static-key".into()));
    let body: Value = serde_json::from_slice(&first.body).unwrap();
    let messages = json!([{"role": "user", "content": "hi"}]);
    assert_eq!(
        body,
        json!({"model": "m", "max_tokens": 9, "stream": true, "messages": messages})
    );
    let body: Value = serde_json::from_slice(&second.body).unwrap();
    assert_eq!(body["output_config"], json!({"effort": "low"}));
}

/// Spec: [MODEL-43]
#[actix::test]
async fn a_transport_fails_and_is_asked_again_like_the_http_client() {
    tokio::time::pause();
    let overloaded = |status| ModelError::Api {
        status,
        kind: "k".to_owned(),
        message: "no static-key".to_owned(),
        request_id: None,
    };
    let cut = Ok(vec![Ok(chunks("x")[0].clone())]);
    let recorder = Arc::default();
    let replies = vec![
        Err(overloaded(529)),
        whole("one"),
        cut.clone(),
        cut,
        Err(overloaded(400)),
    ];
    let mut subject = through(&recorder, replies);
    assert_eq!(subject.call(plain("m")).await, Ok("one".to_owned()));
    assert_eq!(subject.call(plain("m")).await, Err(ModelError::Truncated));
    let refused = subject.call(plain("m")).await.unwrap_err();
    assert!(refused.to_string().contains("no ***"), "{refused}");
    assert_eq!(recorder.requests.lock().unwrap().len(), 5);
    // One that never answers is given up like a silent API, and once more.
    let silent = subject.call(plain("m")).await;
    assert_eq!(silent, Err(ModelError::NoAnswer { limit: LIMIT }));
    assert_eq!(recorder.requests.lock().unwrap().len(), 7);
    let call_id = subject.start(plain("m")).await;
    subject
        .model
        .send(CancelModelCall { call_id })
        .await
        .unwrap();
    assert_eq!(subject.end().await, Err(ModelError::Cancelled));
}

/// Gives one answer after the other, and notes the sources that it was asked for.
#[derive(Default)]
struct Keys {
    answers: Mutex<VecDeque<Result<Option<Secret>, String>>>,
    sources: Mutex<Vec<Option<String>>>,
}

impl KeyResolver for Keys {
    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>> {
        let source = source.map(ToOwned::to_owned);
        self.sources.lock().unwrap().push(source);
        let answer = self.answers.lock().unwrap().pop_front();
        future::ready(answer.unwrap_or(Ok(None))).boxed()
    }
}

fn standin(models: Vec<Model>) -> (Standin, Script) {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(models);
    (standin, script)
}

/// Spec: [MODEL-44] [MODEL-45]
#[actix::test]
async fn the_key_is_resolved_for_every_call() {
    let (standin, script) = standin(vec![Model::new("m")]);
    script.extend(["1", "2", "3", "4"].map(Reply::text));
    script.push(Reply::error(
        400,
        "invalid_request_error",
        "bad key-two-0123456789, not static-key",
    ));
    let keys = Arc::new(Keys::default());
    let redaction = Redaction::default();
    let mut settings = settings(&standin.base_url());
    settings.credential = Credential::Bearer("static-key".into());
    let extensions = ModelExtensions {
        keys: Some(Arc::clone(&keys) as Arc<dyn KeyResolver>),
        redaction: redaction.clone(),
        ..ModelExtensions::default()
    };
    let mut subject = Subject::new(settings, extensions);
    let answers = [
        Ok(Some("key-one-0123456789".into())),
        Ok(Some("key-two-0123456789".into())),
        Ok(Some("".into())),
        Ok(None),
        Ok(Some("key-two-0123456789".into())),
    ];
    *keys.answers.lock().unwrap() = answers.into();
    let from_vault = || HeadSettings {
        key_source: Some("vault:x".into()),
        ..plain("m")
    };
    for number in ["1", "2", "3"] {
        assert_eq!(subject.call(from_vault()).await, Ok(number.to_owned()));
    }
    assert_eq!(subject.call(plain("m")).await, Ok("4".to_owned()));
    let refused = subject.call(from_vault()).await.unwrap_err().to_string();
    assert!(refused.contains("bad ***, not ***"), "{refused}");
    let sent: Vec<_> = standin.requests();
    let sent: Vec<_> = sent
        .iter()
        .map(|sent| (sent.header("x-api-key"), sent.header("authorization")))
        .collect();
    let bearer = (None, Some("Bearer static-key"));
    let one = (Some("key-one-0123456789"), None);
    let two = (Some("key-two-0123456789"), None);
    assert_eq!(sent, [one, two, bearer, bearer, two]);
    let vault = Some("vault:x".to_owned());
    let asked = keys.sources.lock().unwrap().clone();
    assert_eq!(
        asked,
        [&vault, &vault, &vault, &None, &vault].map(Clone::clone)
    );
    // The keys are hidden from the conversation that brought them, the settings' from all.
    let text = || "key-one-0123456789 static-key".to_owned();
    let ours = ConversationId::new("c");
    assert_eq!(redaction.for_conversation(&ours).apply(text()), "*** ***");
    assert_eq!(redaction.apply(text()), "key-one-0123456789 ***");
}

/// Spec: [MODEL-44] [MODEL-45]
#[actix::test]
async fn a_call_without_its_key_fails_and_says_from_where() {
    let (standin, _script) = standin(vec![Model::new("m")]);
    let from_vault = || HeadSettings {
        key_source: Some("vault:x".into()),
        ..plain("m")
    };
    let mut subject = Subject::new(settings(&standin.base_url()), ModelExtensions::default());
    let failed = subject.call(from_vault()).await.unwrap_err().to_string();
    assert_eq!(
        failed,
        "the key source \"vault:x\" gives no key; this service resolves no keys"
    );

    let keys = Arc::new(Keys::default());
    let extensions = ModelExtensions {
        keys: Some(Arc::clone(&keys) as Arc<dyn KeyResolver>),
        redaction: Redaction::new(vec!["the-old-key".into()]),
        ..ModelExtensions::default()
    };
    let mut subject = Subject::new(settings(&standin.base_url()), extensions);
    let answers = [
        Err("sealed, it was the-old-key".to_owned()),
        Ok(Some("two\nlines".into())),
    ];
    *keys.answers.lock().unwrap() = answers.into();
    let failed = subject.call(from_vault()).await.unwrap_err().to_string();
    assert_eq!(
        failed,
        "the key source \"vault:x\" gives no key; sealed, it was ***"
    );
    let failed = subject.call(plain("m")).await.unwrap_err().to_string();
    let said = "the service's own source gives no key; it has characters that no key has";
    assert_eq!(failed, said);
    assert!(standin.requests().is_empty());
}

/// How often each path was asked for.
fn paths(standin: &Standin) -> Vec<String> {
    standin
        .requests()
        .into_iter()
        .map(|sent| sent.path)
        .collect()
}

const LIST: &str = "/v1/models?limit=1000";
const MESSAGES: &str = "/v1/messages";

/// Spec: [MODEL-42]
#[actix::test]
async fn what_a_model_can_do_is_asked_once_and_only_if_it_matters() {
    let (standin, script) = standin(vec![Model::new("claude-opus-5-5")]);
    script.extend(["1", "2", "3"].map(Reply::text));
    let mut subject = Subject::new(settings(&standin.base_url()), ModelExtensions::default());
    let thinking = || HeadSettings {
        thinking: Some(ThinkingLevel::Off),
        ..plain("claude-opus-5-5")
    };
    subject.call(plain("claude-opus-5-5")).await.unwrap();
    assert_eq!(paths(&standin), [MESSAGES]);
    subject.call(thinking()).await.unwrap();
    subject.call(thinking()).await.unwrap();
    assert_eq!(paths(&standin), [MESSAGES, LIST, MESSAGES, MESSAGES]);
    let last = standin.requests()[3].json();
    assert_eq!(last["output_config"], json!({"effort": "low"}));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-50] [MODEL-776]
#[actix::test]
async fn a_limit_that_the_model_does_not_have_is_not_sent() {
    let model = Model::new("claude-opus-5-5").output_limit(5000);
    let (standin, script) = standin(vec![model]);
    script.extend(["1", "2", "3"].map(Reply::text));
    let mut subject = Subject::new(settings(&standin.base_url()), ModelExtensions::default());
    for max_tokens in [9000, 90_000, 9000] {
        let limited = HeadSettings {
            max_tokens,
            ..plain("claude-opus-5-5")
        };
        subject.call(limited).await.unwrap();
    }
    // Nothing is asked for the sake of the first one, so only the later ones are known too large.
    assert_eq!(
        paths(&standin),
        [MESSAGES, MESSAGES, LIST, MESSAGES, MESSAGES]
    );
    let sent =
        [0, 1, 3, 4].map(|place: usize| standin.requests()[place].json()["max_tokens"].clone());
    assert_eq!(sent, [9000, 5000, 5000, 5000]);
}

/// Spec: [MODEL-800]
#[actix::test]
async fn thinking_that_the_api_does_not_take_back_is_left_out() {
    let refused = "messages.1.content.0: Invalid `signature` in `thinking` block: it is bound to a \
                   different conversation";
    let (standin, script) = standin(vec![Model::new("m")]);
    let refused = Reply::error(400, "invalid_request_error", refused);
    script.extend([refused.clone(), Reply::text("1"), Reply::text("2"), refused]);
    let mut subject = Subject::new(settings(&standin.base_url()), ModelExtensions::default());
    let past = r#"{"role":"user","content":"hi"},{"role":"assistant","content":[
        {"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"}]},
        {"role":"user","content":"on"}"#;
    for text in ["1", "2"] {
        subject.start_with(plain("m"), past).await;
        assert_eq!(subject.end().await.unwrap(), text);
    }
    // A request that has none fails with the error.
    assert!(subject.call(plain("m")).await.is_err());
    let thoughts = standin.requests().into_iter().map(|request| {
        let messages = request.json()["messages"].to_string();
        messages.matches("thinking").count()
    });
    assert_eq!(thoughts.collect::<Vec<_>>(), [2, 0, 0, 0]);
}

/// Spec: [MODEL-799]
#[actix::test]
async fn a_version_that_the_server_refuses_is_named_no_more() {
    let refuse = |text: &str| Reply::error(400, "invalid_request_error", text);
    let refused = "anthropic-version: \"2023-06-01\" is not a valid version";
    let versions = |standin: &Standin| {
        let sent = standin.requests().into_iter();
        let sent = sent.map(|request| request.header("anthropic-version").map(str::to_owned));
        sent.map(Option::unwrap).collect::<Vec<_>>()
    };
    let (asked, script) = standin(vec![Model::new("m")]);
    script.extend([refuse(refused), Reply::text("1"), Reply::text("2")]);
    let mut subject = Subject::new(settings(&asked.base_url()), ModelExtensions::default());
    assert_eq!(subject.call(plain("m")).await.unwrap(), "1");
    assert_eq!(subject.call(plain("m")).await.unwrap(), "2");
    assert_eq!(versions(&asked), ["2023-06-01", "2026-10-21", "2026-10-21"]);

    // Each version is tried once, and one that is set is the only one.
    let both = "anthropic-version is not supported";
    for (set, tries) in [(None, 2), (Some(ApiVersion::October2026), 1)] {
        let (asked, script) = standin(vec![Model::new("m")]);
        script.extend([refuse(both), refuse(both), Reply::text("never")]);
        let settings = ModelSettings {
            api_version: set,
            ..settings(&asked.base_url())
        };
        let mut subject = Subject::new(settings, ModelExtensions::default());
        let failed = subject.call(plain("m")).await.unwrap_err();
        assert!(failed.to_string().contains(both), "{failed}");
        assert_eq!(versions(&asked).len(), tries, "{set:?}");
    }
}

/// Spec: [MODEL-37]
#[actix::test]
async fn a_model_is_described() {
    let models = vec![
        Model::new("claude-opus-5-5"),
        Model::new("claude-haiku-5-5"),
    ];
    let (standin, _script) = standin(models);
    let mut subject = Subject::new(settings(&standin.base_url()), ModelExtensions::default());
    let info = subject.described(choice("claude-opus-5-5")).await.unwrap();
    assert_eq!(
        (&*info.id, info.max_input_tokens),
        ("claude-opus-5-5", Some(1_000_000))
    );
    // A retired default is described by what takes its place; one that was chosen is unknown.
    let retired = ModelChoice {
        chosen: false,
        ..choice("claude-3-haiku-20240307")
    };
    let info = subject.described(retired).await.unwrap();
    assert_eq!(info.id, "claude-haiku-5-5");
    let chosen = choice("claude-3-haiku-20240307");
    assert_eq!(subject.described(chosen).await, None);
    let alias = "/v1/models/claude-3-haiku-20240307";
    assert_eq!(paths(&standin), [LIST, alias]);
    let listed = subject.model.send(ListModels).await.unwrap().unwrap();
    let ids: Vec<_> = listed.iter().map(|info| &*info.id).collect();
    assert_eq!(ids, ["claude-opus-5-5", "claude-haiku-5-5"]);
    assert_eq!(paths(&standin).len(), 2);
}

/// Knows of models, but never says so.
struct Silent;

impl Transport for Silent {
    fn send(&self, _: TransportRequest) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        let chunks = chunks("hi").into_iter().map(Ok);
        future::ready(Ok(stream::iter(chunks).boxed())).boxed()
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<ModelInfo>, ModelError>> {
        future::pending().boxed()
    }
}

/// Spec: [MODEL-37] [MODEL-42]
#[actix::test]
async fn a_look_up_without_an_answer_is_bounded_and_can_be_cancelled() {
    tokio::time::pause();
    let extensions = ModelExtensions {
        transport: Some(Arc::new(Silent)),
        ..ModelExtensions::default()
    };
    let mut subject = Subject::new(settings("http://127.0.0.1:9"), extensions.clone());
    let call_id = subject.describe(choice("m")).await;
    subject
        .model
        .send(CancelModelCall { call_id })
        .await
        .unwrap();
    assert_eq!(subject.end().await, Err(ModelError::Cancelled));
    let began = tokio::time::Instant::now();
    assert_eq!(subject.described(choice("m")).await, None);
    assert!(began.elapsed() <= Duration::from_secs(5));

    let mut subject = Subject::new(settings("http://127.0.0.1:9"), extensions);
    let began = tokio::time::Instant::now();
    let thinking = HeadSettings {
        thinking: Some(ThinkingLevel::High),
        ..plain("claude-opus-5-5")
    };
    assert_eq!(subject.call(thinking).await, Ok("hi".to_owned()));
    assert!(began.elapsed() <= Duration::from_secs(5));
    let listed = subject.model.send(ListModels).await.unwrap();
    assert!(
        matches!(listed, Err(ModelError::NoAnswer { .. })),
        "{listed:?}"
    );
}

/// Spec: [MODEL-45]
#[test]
fn a_request_of_a_transport_does_not_show_its_key() {
    let request = TransportRequest {
        model: "m".into(),
        credential: Credential::ApiKey("static-key".into()),
        body: Bytes::new(),
    };
    assert!(!format!("{request:?}").contains("static-key"));
}

/// Spec: [MODEL-340]
#[actix::test]
async fn a_key_that_is_refused_is_named_by_where_it_is_from() {
    let sources = std::collections::BTreeMap::new();
    let keys = NamedKeys::new(sources, Vec::new(), Vec::new());
    let keys = keys.with_own_from(Some("api_key from ANTHROPIC_API_KEY".to_owned()));
    let recorder: Arc<Recorder> = Arc::default();
    let body = br#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let refused = |status| Err(ModelError::of_answer(status, body, None));
    *recorder.replies.lock().unwrap() = [refused(401), refused(403), refused(401)].into();
    let told = async |keys: Option<Arc<dyn KeyResolver>>| {
        let extensions = ModelExtensions {
            transport: Some(Arc::clone(&recorder) as Arc<dyn Transport>),
            keys,
            ..ModelExtensions::default()
        };
        let mut subject = Subject::new(settings("http://127.0.0.1:9"), extensions);
        subject.call(plain("m")).await.unwrap_err().to_string()
    };
    let keys: Arc<dyn KeyResolver> = Arc::new(keys);
    for status in [401, 403] {
        assert_eq!(
            told(Some(Arc::clone(&keys))).await,
            format!(
                "authentication_error: invalid x-api-key; the key that was sent is api_key from \
                 ANTHROPIC_API_KEY: `harness config` shows what is set, and `harness restart` \
                 takes another (HTTP {status})"
            )
        );
    }
    assert_eq!(
        told(None).await,
        "authentication_error: invalid x-api-key (HTTP 401)"
    );
}
