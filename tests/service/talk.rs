//! One conversation of the service, as its clients use it, and what the API was asked for it.

use harness_standin::{Catalogue, Model, Responder, Standin};
use serde_json::{Value, json};

use crate::client::{Answer, Events};
use crate::eventually::eventually;
use crate::program::{MODEL, Service};

/// A service whose API answers as the responder says, with this one model.
pub(crate) async fn serving(
    responder: impl Responder,
    model: Model,
    flags: &[&str],
) -> (Service, Standin, Catalogue) {
    let catalogue = Catalogue::new(vec![model.clone()]);
    let standin = Standin::serving(responder, catalogue.clone()).unwrap();
    let flags: Vec<&str> = ["--model", &model.id]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    let service = Service::start(&standin.base_url(), &flags).await;
    (service, standin, catalogue)
}

/// The model that tests choose, with a window.
pub(crate) fn model(window: u64) -> Model {
    Model::new(MODEL).window(window)
}

/// The requests for messages so far.
pub(crate) fn asked(standin: &Standin) -> Vec<Value> {
    let requests = standin.requests();
    let asked = requests.iter().filter(|request| request.method == "POST");
    asked.map(harness_standin::Received::json).collect()
}

/// The request for a message with that number, counted from 0, when it has come.
pub(crate) async fn asked_for(standin: &Standin, number: usize) -> Value {
    eventually("a request", async || asked(standin).get(number).cloned()).await
}

/// The texts of a request's last message, after its results; the results must come first.
pub(crate) fn last_texts(request: &Value) -> (usize, Vec<String>) {
    let last = request["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "user");
    let blocks = last["content"].as_array().unwrap();
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results = blocks.iter().take_while(is_result).count();
    let texts = blocks[results..].iter().map(|block| {
        assert_eq!(block["type"], "text", "{last}");
        block["text"].as_str().unwrap().to_owned()
    });
    (results, texts.collect())
}

/// The texts that operators said in a request, in order.
pub(crate) fn said(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    let blocks = of_user.flat_map(|message| message["content"].as_array().unwrap());
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.map(str::to_owned).collect()
}

/// An event without its time and its place in the journal.
pub(crate) fn bare(mut event: Value) -> Value {
    event.as_object_mut().unwrap().remove("timestamp");
    event
}

/// One conversation.
pub(crate) struct Talk<'a> {
    pub(crate) service: &'a Service,
    pub(crate) id: String,
}

impl<'a> Talk<'a> {
    /// The default conversation.
    pub(crate) fn with(service: &'a Service) -> Self {
        Self {
            service,
            id: "default".to_owned(),
        }
    }

    pub(crate) fn path(&self, what: &str) -> String {
        format!("/v1/conversations/{}{what}", self.id)
    }

    /// Sends an order and tells the answer, whatever it is.
    pub(crate) async fn send(&self, method: &str, what: &str, body: &Value) -> Answer {
        self.service.as_owner(method, &self.path(what), body).await
    }

    /// Sends an order that must be taken.
    pub(crate) async fn order(&self, method: &str, what: &str, body: &Value) -> Value {
        let answer = self.send(method, what, body).await;
        assert_eq!(answer.status, 200, "{method} {what} {body}: {answer:?}");
        answer.json()
    }

    /// Starts a run.
    pub(crate) async fn prompt(&self, content: &str) -> u64 {
        let answer = self
            .order("POST", "/prompt", &json!({"content": content}))
            .await;
        answer["run_id"].as_u64().unwrap()
    }

    /// Runs a prompt to its end.
    pub(crate) async fn say(&self, content: &str) {
        self.prompt(content).await;
        self.idle().await;
    }

    /// Waits until no run is going.
    pub(crate) async fn idle(&self) {
        self.service.idle(&self.id).await;
    }

    /// Queues a message.
    pub(crate) async fn queue(&self, queue: &str, content: &str) -> u64 {
        let body = json!({"content": content, "by": "bob"});
        let answer = self.order("POST", &format!("/{queue}"), &body).await;
        answer["item"].as_u64().unwrap()
    }

    /// The waiting messages, as in the list; the snapshot must say the same.
    pub(crate) async fn waiting(&self) -> Vec<Value> {
        let listed = self.service.get(&self.path("/queue")).await["items"].clone();
        assert_eq!(self.snapshot().await["queue"], listed);
        listed.as_array().unwrap().clone()
    }

    /// The contents of what waits.
    pub(crate) async fn waiting_texts(&self) -> Vec<String> {
        let waiting = self.waiting().await.into_iter();
        let text = |item: Value| item["content"].as_str().unwrap().to_owned();
        waiting.map(text).collect()
    }

    /// Changes settings; tells the answer.
    pub(crate) async fn set(&self, settings: &Value) -> Value {
        self.order("PATCH", "/settings", &json!({"settings": settings}))
            .await
    }

    pub(crate) async fn snapshot(&self) -> Value {
        self.service.get(&self.path("")).await
    }

    /// Attaches from the first event on.
    pub(crate) async fn follow(&self, name: &str) -> Events {
        let query = format!("?after=0&name={name}");
        self.service.follow(&self.id, &query, "").await
    }

    /// All events so far, the lasting ones, without their times.
    pub(crate) async fn past(&self) -> Vec<Value> {
        let mut all = Vec::new();
        let mut path = self.path("/history?after=0&limit=1000");
        loop {
            let page = self.service.get(&path).await;
            let events = page["events"].as_array().unwrap();
            all.extend(events.iter().map(|event| bare(event["event"].clone())));
            match page["after"].as_u64() {
                Some(after) => path = self.path(&format!("/history?after={after}&limit=1000")),
                None => return all,
            }
        }
    }

    /// All events of a type so far.
    pub(crate) async fn past_of(&self, kind: &str) -> Vec<Value> {
        let mut past = self.past().await;
        past.retain(|event| event["type"] == kind);
        past
    }

    /// The end of the last run: its outcome and its message.
    pub(crate) async fn outcome(&self) -> (String, String) {
        self.idle().await;
        let last = self.past_of("run_ended").await.pop().unwrap();
        let text = |key: &str| last[key].as_str().unwrap().to_owned();
        (text("outcome"), text("message"))
    }
}
