//! A client of the link in tests.

use std::cell::RefCell;
use std::time::Duration;

use harness_tui::{ClientOrder, News};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, UnboundedSender, channel, unbounded_channel};
use tokio::task::JoinHandle;

use crate::client::api::patience::Patience;
use crate::client::attach::contact::Contact;
use crate::client::attach::link;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::testing::{Part, Server, answer, frames, opening, summary};
use crate::config::ClientConfig;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);

pub(super) const SNAPSHOT: &str = "/v1/conversations/c";
pub(super) const EVENTS: &str = "/v1/conversations/c/events";

/// Tries again at once, and leaves time enough for what is ordered last.
pub(super) fn hasty() -> LinkTimeouts {
    LinkTimeouts {
        patience: Patience {
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_millis(1),
            ..LinkTimeouts::default().patience
        },
        resending: Duration::from_millis(200),
        farewell: LIMIT,
        ..LinkTimeouts::default()
    }
}

/// The client: it orders, and gets the news.
pub(super) struct Client {
    pub(super) orders: UnboundedSender<ClientOrder>,
    pub(super) news: Receiver<News>,
    pub(super) link: JoinHandle<()>,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, pace: LinkTimeouts) -> Self {
        Self::with_room(config, pace, 512)
    }

    pub(super) fn with_room(config: &ClientConfig, pace: LinkTimeouts, room: usize) -> Self {
        let (news, to_show) = channel(room);
        let (orders, to_carry_out) = unbounded_channel();
        let contact = Contact {
            config: config.clone(),
            name: "ana@pts/3".to_owned(),
            pace,
            news,
            told_epoch: RefCell::default(),
        };
        Self {
            orders,
            news: to_show,
            link: actix::spawn(link::run(contact, to_carry_out)),
        }
    }

    /// A client that has opened the conversation `c`.
    pub(super) fn attached(config: &ClientConfig, pace: LinkTimeouts) -> Self {
        let client = Self::new(config, pace);
        client.open("c");
        client
    }

    pub(super) fn order(&self, order: ClientOrder) {
        self.orders.send(order).unwrap();
    }

    pub(super) fn open(&self, conversation: &str) {
        self.order(ClientOrder::Open {
            conversation: conversation.to_owned(),
        });
    }

    pub(super) fn submit(&self, key: &str) {
        self.order(ClientOrder::Submit {
            conversation: "c".to_owned(),
            key: key.to_owned(),
            content: "hi".to_owned(),
            files: Vec::new(),
        });
    }

    /// The next news that is not about the service itself.
    pub(super) async fn next(&mut self) -> News {
        loop {
            match self.next_of_all().await {
                News::Service(_) | News::Time { .. } => {}
                news => return news,
            }
        }
    }

    pub(super) async fn next_of_all(&mut self) -> News {
        let next = tokio::time::timeout(LIMIT, self.news.recv()).await;
        next.unwrap().expect("the link has ended")
    }

    /// The next news, in short.
    pub(super) async fn told(&mut self) -> String {
        short(self.next().await)
    }

    /// So many news, in short.
    pub(super) async fn tell(&mut self, count: usize) -> Vec<String> {
        let mut told = vec![];
        for _ in 0..count {
            told.push(self.told().await);
        }
        told
    }
}

/// News in short; what is not the same each time is left out.
pub(super) fn short(news: News) -> String {
    match news {
        News::Snapshot { snapshot, reset } => {
            let reset = reset.map_or_else(String::new, |reason| format!(" reset: {reason}"));
            format!(
                "snapshot {} {}{reset}",
                snapshot.summary.id, snapshot.position
            )
        }
        News::Event { event, position } => {
            let event = serde_json::to_value(event).unwrap();
            let said = event["message"].as_str().unwrap_or_default();
            let position = position.unwrap_or_default();
            format!("{} {said} {position}", event["type"].as_str().unwrap())
        }
        News::Invalid { .. } => "invalid".to_owned(),
        News::Down { tries, .. } => format!("down {tries}"),
        News::Up => "up".to_owned(),
        News::Refused {
            conversation,
            reason,
        } => format!("refused {conversation}: {reason}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn snapshot(id: &str, position: &str) -> Value {
    json!({"summary": summary(id), "state": "idle", "message": "", "settings": {}, "queue": [],
        "attached": 1, "history": {"events": []}, "position": position})
}

pub(crate) fn status(message: &str) -> Value {
    json!({"type": "status", "state": "idle", "message": message, "timestamp": 1})
}

pub(super) fn problem(status: u16, detail: &str) -> Vec<u8> {
    let problem = json!({"type": "x", "title": "x", "status": status, "detail": detail,
        "request_id": "r"});
    answer(status, &problem)
}

/// A stream with these events that then ends.
pub(super) fn broken(seq: u64, events: &[(u64, Value)]) -> Vec<Part> {
    vec![opening(seq).into(), frames(events).into()]
}

/// A stream with these events that stays open.
pub(super) fn open(seq: u64, events: &[(u64, Value)]) -> Vec<Part> {
    [broken(seq, events), vec![Part::Hang]].concat()
}

/// A service whose conversation `c` is at record 4.
pub(super) async fn service(streams: Vec<Vec<Part>>) -> Server {
    let server = Server::start().await;
    server.on(SNAPSHOT, vec![answer(200, &snapshot("c", "e-4-0"))]);
    server.say(EVENTS, streams);
    server
}

/// The requests: method, target, and the position that was shown.
pub(super) fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let asked = requests.iter().map(|request| {
        let line = request.lines().next().unwrap_or_default();
        let id = request
            .lines()
            .find_map(|line| line.strip_prefix("last-event-id: "));
        let line = line.trim_end_matches(" HTTP/1.1");
        format!("{line} {}", id.unwrap_or_default())
            .trim_end()
            .to_owned()
    });
    asked.collect()
}
