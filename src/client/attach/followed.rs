//! The stream of one conversation, across breaks of the connection and restarts of the service.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use harness_protocol::{Event, Snapshot};
use harness_tui::News;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::api::connection::RequestError;
use crate::client::api::connection::path;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::reading::read;
use crate::client::api::stream::Arrival;
use crate::client::api::stream::EventStream;
use crate::client::api::stream::Piece;
use crate::client::attach::contact::Contact;
use crate::client::attach::lanes::Lanes;
use crate::client::commands::CommandError;

/// How many of the last events a snapshot has.
const TAIL: usize = 200;

/// The conversation that is open. Dropping it closes its stream.
pub(crate) struct Attachment {
    pub(crate) conversation: String,
    /// What is asked about its past. An answer that came later would be taken for one about the
    /// conversation that is open then.
    pub(crate) questions: Lanes,
    try_now: Rc<Notify>,
    _follower: JoinSet<()>,
}

impl Attachment {
    /// Attaches to a conversation, and stays so until dropped.
    pub(crate) fn new(contact: Rc<Contact>, conversation: String) -> Self {
        let try_now = Rc::new(Notify::new());
        let follower = Follower {
            contact,
            conversation: conversation.clone(),
            try_now: Rc::clone(&try_now),
            position: None,
            tries: 0,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn_local(follower.run());
        Self {
            conversation,
            questions: Lanes::default(),
            try_now,
            _follower: tasks,
        }
    }

    /// Ends the wait before the next try, if there is one.
    pub(crate) fn try_now(&self) {
        self.try_now.notify_waiters();
    }
}

struct Follower {
    contact: Rc<Contact>,
    conversation: String,
    try_now: Rc<Notify>,
    /// Where the client is; nowhere before the first snapshot.
    position: Option<Arc<str>>,
    /// How many tries in a row have failed: led to no event.
    tries: u32,
}

impl Follower {
    async fn run(mut self) {
        loop {
            let Err(error) = self.follow().await;
            if is_final(&error) {
                let refused = News::Refused {
                    conversation: self.conversation,
                    reason: error.to_string(),
                };
                self.contact.tell(refused).await;
                return;
            }
            self.wait(&error).await;
        }
    }

    /// Attaches, and tells what happens until there is a break.
    async fn follow(&mut self) -> Result<Infallible, CommandError> {
        // Until it is known to lead to something.
        self.tries = self.tries.saturating_add(1);
        let connection = self.contact.find().await?;
        self.contact.tell_service(&connection).await;
        if self.position.is_none() {
            let tail = [("tail", TAIL.to_string())];
            let whole = path(&self.conversation, "");
            let snapshot: Value = connection.get(&whole, &tail).await?;
            let snapshot = read::<Snapshot>(snapshot, "/history/events")?;
            for reason in snapshot.invalid {
                self.contact.tell(News::Invalid { reason }).await;
            }
            self.begin_at(Box::new(snapshot.answer), None).await;
        }
        let name = [("name", self.contact.name.clone())];
        let events = path(&self.conversation, "/events");
        let answer = connection.open(&events, &name, self.position.as_deref());
        let answer = answer.await?;
        let silence = self.contact.pace.silence;
        let mut stream = EventStream::new(answer, self.position.clone(), silence);
        self.contact.tell(News::Up).await;
        loop {
            let piece = stream.next_piece().await;
            self.position = stream.position().cloned();
            let piece = piece.map_err(CommandError::Broken)?;
            self.tries = 0;
            match piece {
                Piece::Event(Arrival {
                    event: Event::Reset { reason, snapshot },
                    ..
                }) => self.begin_at(snapshot, Some(reason)).await,
                Piece::Event(Arrival {
                    event, position, ..
                }) => {
                    let position = position.map(|position| position.to_string());
                    self.contact.tell(News::Event { event, position }).await;
                }
                Piece::Invalid { reason } => self.contact.tell(News::Invalid { reason }).await,
            }
        }
    }

    async fn begin_at(&mut self, snapshot: Box<Snapshot>, reset: Option<String>) {
        self.position = Some(snapshot.position.as_str().into());
        self.contact.tell(News::Snapshot { snapshot, reset }).await;
    }

    async fn wait(&self, error: &CommandError) {
        let wait = self.contact.pace.wait(self.tries);
        // The client may be in a hurry as soon as it knows that there is something to wait for.
        let hurry = self.try_now.notified();
        let down = News::Down {
            reason: error.to_string(),
            tries: self.tries,
            wait,
        };
        self.contact.tell(down).await;
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = hurry => {}
        }
    }
}

/// Whether no later try can lead to another answer.
fn is_final(error: &CommandError) -> bool {
    let (CommandError::Request(error) | CommandError::Discovery(DiscoveryError::Request(error))) =
        error
    else {
        return false;
    };
    match error {
        // What the service cannot do now it may be able to do later.
        RequestError::Refused { status, .. } => !matches!(status, 408 | 429 | 500..),
        RequestError::Malformed { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "followed_tests.rs"]
mod tests;
