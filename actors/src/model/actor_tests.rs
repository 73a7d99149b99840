#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use crate::model::{Credential, HeadSettings, ModelChoice, RequestHead, RequestPiece, RetryPolicy};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc;

use super::super::messages::ReserveSpending;
use super::*;
use crate::ids::ConversationId;
use crate::secret::Secret;

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

fn settings(base_url: &str) -> ModelSettings {
    let second = Duration::from_secs(1);
    ModelSettings {
        base_url: base_url.to_owned(),
        credential: Credential::ApiKey(Secret::from("key")),
        retry: RetryPolicy {
            max_retries: 0,
            max_wait: second,
        },
        api_version: None,
        connect_timeout: second,
        head_timeout: second,
        idle_timeout: second,
    }
}

fn order(reply_to: Recipient<ModelEvent>, number: u64) -> StartModelCall {
    let model = ModelChoice {
        id: "m".into(),
        chosen: true,
    };
    let message = r#"{"role":"user","content":"hi"}"#;
    StartModelCall {
        spending: None,
        call_id: CallId {
            conversation: ConversationId::new("c"),
            number,
        },
        request: RequestHead::new(HeadSettings::plain(model, 1))
            .request(vec![RequestPiece::Json(message.into())], false),
        reply_to,
    }
}

/// Spec: [CONV-27] [MODEL-22]
#[actix::test]
async fn a_call_that_panics_ends_and_the_actor_takes_the_next() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let probe = Probe(sender).start();
    // The time is asked for when an error answer is looked at.
    let clock = Clock::new(|| panic!("a bug"));
    let standin = harness_standin::Standin::start(|_: &harness_standin::MessagesRequest| {
        harness_standin::Reply::error(500, "api_error", "no")
    })
    .unwrap();
    let model = ModelActor::new(settings(&standin.base_url()), clock).start();
    for number in 1..=2 {
        model
            .send(order(probe.clone().recipient(), number))
            .await
            .unwrap();
        let event = events.recv().await.unwrap();
        let ModelEvent::Failed {
            call_id, failure, ..
        } = event
        else {
            panic!("{event:?}");
        };
        assert_eq!(call_id.number, number);
        assert_eq!(failure.error, ModelError::Panicked);
    }
    let nothing_else = poll_fn(|cx| Poll::Ready(events.poll_recv(cx).is_pending()));
    assert!(nothing_else.await);
}

/// Spec: [MODEL-16] [MODEL-28]
#[actix::test]
async fn another_attempt_begins_its_blocks_anew() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let probe = Probe(sender).start();
    let (standin, script) = harness_standin::Standin::scripted().unwrap();
    script.set_models(vec![harness_standin::Model::new("m")]);
    // Cut in the middle of its first block.
    script.push(
        harness_standin::Reply::text("so far and no further")
            .keep_events(4)
            .cut(),
    );
    script.push(harness_standin::Reply::text("whole"));
    let mut settings = settings(&standin.base_url());
    settings.retry.max_retries = 1;
    let model = ModelActor::new(settings, Clock::system()).start();
    model.send(order(probe.recipient(), 1)).await.unwrap();
    let mut pieces = String::new();
    let mut retried = false;
    loop {
        match events.recv().await.unwrap() {
            ModelEvent::Retrying { .. } => {
                assert!("so far and no further".starts_with(&pieces) && !pieces.is_empty());
                assert!(!std::mem::replace(&mut retried, true));
                pieces.clear();
            }
            ModelEvent::RetryBegan { .. } => assert!(retried && pieces.is_empty()),
            ModelEvent::Delta {
                index,
                offset,
                text,
                ..
            } => {
                assert_eq!((index, offset), (0, pieces.len() as u64));
                pieces.push_str(&text);
            }
            ModelEvent::BlockFinished { block, .. } => {
                assert_eq!(block, crate::reply::Block::text(&pieces));
            }
            ModelEvent::Finished { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((retried, pieces.as_str()), (true, "whole"));
}

/// Answers reservations in turn, and keeps them.
struct Keeper {
    answers: Vec<Result<u32, ModelError>>,
    asked: Vec<crate::budget::RequestSize>,
}

impl Actor for Keeper {
    type Context = Context<Self>;
}

impl Handler<ReserveSpending> for Keeper {
    type Result = Result<u32, ModelError>;

    fn handle(&mut self, order: ReserveSpending, _: &mut Context<Self>) -> Self::Result {
        self.asked.push(order.size);
        self.answers.remove(0)
    }
}

/// The sizes that a keeper was asked for.
#[derive(Message)]
#[rtype(result = "Vec<crate::budget::RequestSize>")]
struct Asked;

impl Handler<Asked> for Keeper {
    type Result = Vec<crate::budget::RequestSize>;

    fn handle(&mut self, _: Asked, _: &mut Context<Self>) -> Self::Result {
        self.asked.clone()
    }
}

/// Spec: [MODEL-776]
#[actix::test]
async fn a_reply_maximum_that_a_refusal_names_is_asked_for_from_then_on() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let probe = Probe(sender).start();
    let (standin, script) = harness_standin::Standin::scripted().unwrap();
    script.set_models(vec![harness_standin::Model::new("m")]);
    let refused =
        "max_tokens: 3000 > 1200, which is the maximum allowed number of output tokens for m";
    script.push(harness_standin::Reply::error(
        400,
        "invalid_request_error",
        refused,
    ));
    script.push(harness_standin::Reply::text("first"));
    script.push(harness_standin::Reply::text("second"));
    // A refusal that names no lower one ends the call.
    script.push(harness_standin::Reply::error(
        400,
        "invalid_request_error",
        refused,
    ));
    let model = ModelActor::new(settings(&standin.base_url()), Clock::system()).start();
    let mut told = Vec::new();
    for number in 1..=3 {
        let mut order = order(probe.clone().recipient(), number);
        let choice = order.request.model().clone();
        let message = r#"{"role":"user","content":"hi"}"#;
        order.request = RequestHead::new(HeadSettings::plain(choice, 3_000))
            .request(vec![RequestPiece::Json(message.into())], false);
        model.send(order).await.unwrap();
        loop {
            match events.recv().await.unwrap() {
                ModelEvent::Adapted { remark, .. } => told.push(remark),
                ModelEvent::Finished { .. } => break,
                ModelEvent::Failed { failure, .. } => {
                    told.push(failure.error.to_string());
                    break;
                }
                _ => {}
            }
        }
    }
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("asking again with max_tokens 1200: "),
        "{told:?}"
    );
    assert!(told[1].contains("3000 > 1200"), "{told:?}");
    let limits = standin.requests().into_iter().map(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        body["max_tokens"].as_u64().unwrap()
    });
    assert_eq!(limits.collect::<Vec<_>>(), [3_000, 1_200, 1_200, 1_200]);
}

/// Spec: [BUDGET-01] [BUDGET-02] [BUDGET-05]
#[actix::test]
async fn each_attempt_is_reserved_and_has_the_reply_limit_that_is_granted() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let probe = Probe(sender).start();
    let (standin, script) = harness_standin::Standin::scripted().unwrap();
    script.set_models(vec![harness_standin::Model::new("m")]);
    let reset = harness_standin::Reply::text("x").keep_events(0).reset();
    script.push(harness_standin::Reply::error(529, "overloaded_error", "no"));
    script.push(reset);
    script.push(harness_standin::Reply::text("whole"));
    let mut settings = settings(&standin.base_url());
    settings.retry.max_retries = 3;
    settings.retry.max_wait = Duration::from_secs(60);
    let model = ModelActor::new(settings, Clock::system()).start();
    let refused = || ModelError::SpendingLimit {
        reason: "nothing is left".to_owned(),
    };
    let keeper = Keeper {
        answers: vec![Ok(1_500), Ok(1_500), Ok(1_200), Err(refused())],
        asked: Vec::new(),
    }
    .start();
    let asking = |number| {
        let mut order = order(probe.clone().recipient(), number);
        let model = order.request.model().clone();
        let message = r#"{"role":"user","content":"hi"}"#;
        order.request = RequestHead::new(HeadSettings::plain(model, 2_000))
            .request(vec![RequestPiece::Json(message.into())], false);
        order.spending = Some(keeper.clone().recipient());
        order
    };
    model.send(asking(1)).await.unwrap();
    let mut told = Vec::new();
    loop {
        match events.recv().await.unwrap() {
            ModelEvent::NotCharged { .. } => told.push("not charged"),
            ModelEvent::RetryBegan { .. } => told.push("again"),
            ModelEvent::Finished { .. } => break,
            ModelEvent::Failed { failure, .. } => panic!("{failure}"),
            _ => {}
        }
    }
    // The connection that was cut may have brought the request to a model.
    assert_eq!(told, ["not charged", "again", "again"]);
    let sent = standin.requests();
    let limits = sent.iter().map(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        body["max_tokens"].as_u64().unwrap()
    });
    assert_eq!(limits.collect::<Vec<_>>(), [1_500, 1_500, 1_200]);

    model.send(asking(2)).await.unwrap();
    loop {
        if let ModelEvent::Failed { failure, .. } = events.recv().await.unwrap() {
            assert_eq!(failure.error, refused());
            break;
        }
    }
    assert_eq!(standin.requests().len(), 3);
    let asked = keeper.send(Asked).await.unwrap();
    let outputs: Vec<u32> = asked.iter().map(|size| size.output).collect();
    assert_eq!(outputs, [2_000, 1_500, 1_500, 2_000]);
    // A token for each byte of the message, and those that the API adds.
    assert!((1_024..2_000).contains(&asked[0].input), "{asked:?}");
}
