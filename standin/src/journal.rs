//! The requests that arrived, and the times when each client left.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::cache::InputUsage;
use crate::incoming::Incoming;

/// The time when the client closed a connection. `None` while it is open.
pub(crate) type Departure = watch::Receiver<Option<Instant>>;

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The model that it asked for, if it was valid.
    pub model: Option<String>,
    /// The tokens of its input, as `usage` reports them unless the reply overrides it.
    pub input: InputUsage,
    /// The context window of its model, if it asked for a message.
    pub window: Option<u64>,
    /// The status of the answer; 0 if the answer is made of raw steps.
    pub status: u16,
    /// The reason why the server itself refused the request, if it did.
    pub refusal: Option<String>,
}

impl Outcome {
    /// True if its input was over the window.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.window
            .is_some_and(|window| self.input.total() > window)
    }
}

/// One request as it arrived, whether it was answered or refused.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method, for example `POST`.
    pub method: String,
    /// The request target with its query.
    pub path: String,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes, without any transfer coding. Empty when it was too large to be kept.
    pub body: Bytes,
    /// Counts the connections from 0: requests with the same number shared one.
    pub connection: u64,
    /// The time when the request had arrived.
    pub at: Instant,
    /// Its outcome.
    pub outcome: Outcome,
    departure: Departure,
}

impl Received {
    pub(crate) fn new(
        incoming: &Incoming,
        connection: u64,
        departure: Departure,
        outcome: Outcome,
    ) -> Self {
        Self {
            method: incoming.method.clone(),
            path: incoming.path.clone(),
            headers: incoming.headers.clone(),
            body: incoming.body.clone(),
            connection,
            at: Instant::now(),
            outcome,
            departure,
        }
    }

    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// The body as JSON; `Null` when it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// True if the client has closed the connection that this request came on.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed_at().is_some()
    }

    /// The time when the client closed the connection, if it has.
    #[must_use]
    pub fn closed_at(&self) -> Option<Instant> {
        *self.departure.borrow()
    }

    /// Waits up to `limit` until the client closes the connection. Returns the time of that. `None` when the limit has
    /// passed, or when the server itself ended the connection.
    ///
    /// Needs a tokio runtime with its clock running: with paused time the limit is over at once.
    pub async fn closed(&self, limit: Duration) -> Option<Instant> {
        let mut departure = self.departure.clone();
        let left = timeout(limit, departure.wait_for(Option::is_some)).await;
        left.ok()?.ok().and_then(|at| *at)
    }
}

/// The value of a header, by its name in lower case.
pub(crate) fn find_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(given, _)| given == name)
        .map(|(_, value)| value.as_str())
}

/// Everything that was noted so far.
#[derive(Debug, Default)]
struct Notes {
    requests: Vec<Received>,
    violations: Vec<String>,
}

/// Notes requests and violations, and wakes the tasks that wait for them.
#[derive(Debug)]
pub(crate) struct Journal {
    notes: watch::Sender<Notes>,
    keep: Keep,
}

/// The amount that a journal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it, for tests.
    Everything,
    /// Nothing, for a demo that may run for weeks.
    Nothing,
}

impl Journal {
    pub(crate) fn new(keep: Keep) -> Self {
        Self {
            notes: watch::Sender::default(),
            keep,
        }
    }

    pub(crate) fn note_request(&self, received: Received) {
        if self.keep == Keep::Everything {
            self.notes
                .send_modify(|notes| notes.requests.push(received));
        }
    }

    pub(crate) fn note_violation(&self, violation: String) {
        log::debug!(violation = violation.as_str(); "the stand-in saw an invalid request");
        if self.keep == Keep::Everything {
            self.notes
                .send_modify(|notes| notes.violations.push(violation));
        }
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.notes.borrow().requests.clone()
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.notes.borrow().violations.clone()
    }

    /// Waits until the `n`-th request, counted from 0, has arrived.
    pub(crate) async fn request(&self, n: usize) -> Received {
        let mut watcher = self.notes.subscribe();
        loop {
            if let Some(received) = watcher.borrow_and_update().requests.get(n) {
                return received.clone();
            }
            // It fails only when the sender was dropped, and `self` holds the sender.
            if watcher.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
