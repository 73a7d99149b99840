//! Follows a conversation across breaks of the connection and restarts of the service.

use std::sync::Arc;
use std::time::Duration;

use harness_protocol::{ConversationSnapshot, Event, HistoryPage, WorkflowSnapshot};
use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery::{self, DiscoveryError};
use crate::client::api::error::ApiError;
use crate::client::api::patience::{GivesUp, Patience};
use crate::client::api::reading::{ReadEvents, read};
use crate::client::api::route::Route;
use crate::client::api::routes;
use crate::client::api::stream::{Arrival, ClientEventStream, StreamPiece};
use crate::config::ClientConfig;

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowFrom {
    /// With what happens from now on.
    Now,
    /// With what comes behind this record or position.
    After(String),
    /// With the last events.
    Tail(u64),
    /// With a snapshot that has so many of the last events, and what comes behind it.
    Snapshot(usize),
}

/// An event of a follower.
pub(crate) enum FollowerEvent {
    /// A service is found and is about to be asked.
    Found(ServiceConnection),
    /// The state of the conversation.
    Snapshot {
        /// The conversation, without the events that cannot be read.
        snapshot: Box<ConversationSnapshot>,
        /// The fault in each of those.
        invalid: Vec<String>,
    },
    /// The state of the workflow, with its last records.
    Workflow {
        /// How it is. Later records are on the stream.
        snapshot: Box<WorkflowSnapshot>,
        /// The last records before that, the oldest first.
        recent: Vec<Event>,
    },
    /// The stream is open.
    Up,
    /// An event arrived.
    Event(Arrival),
    /// Something arrived that is not an event. The stream continues after it.
    Invalid {
        /// The fault in it.
        reason: String,
    },
    /// There is a break. The next step is another try, before which the caller waits.
    Down {
        /// Why.
        error: ApiError,
        /// How many tries in a row led to no event.
        tries: u32,
        /// How long to wait.
        wait: Duration,
    },
}

/// The events of a conversation, over as many connections as it takes.
pub(crate) struct EventFollower {
    config: ClientConfig,
    patience: Patience,
    /// The id of what is followed.
    id: String,
    of: FollowedStream,
    name: String,
    start: FollowFrom,
    link: FollowerLink,
    /// Where the last stream was.
    position: Option<Arc<str>>,
    /// How many tries in a row, with the present one, led to no event.
    tries: u32,
    /// How many of them found no service.
    without_service: u32,
}

/// The stream to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowedStream {
    Conversation,
    Workflow,
}

/// The state of the present attempt.
enum FollowerLink {
    Away,
    Found(ServiceConnection),
    Open(ClientEventStream),
}

impl EventFollower {
    /// A follower that has not asked anything yet. `name` tells the other clients who follows.
    pub(crate) fn new(
        config: &ClientConfig,
        patience: Patience,
        conversation: &str,
        name: &str,
        start: FollowFrom,
    ) -> Self {
        Self {
            config: config.clone(),
            patience,
            id: conversation.to_owned(),
            of: FollowedStream::Conversation,
            name: name.to_owned(),
            start,
            link: FollowerLink::Away,
            position: None,
            tries: 1,
            without_service: 0,
        }
    }

    /// A follower of a workflow.
    pub(crate) fn of_workflow(
        config: &ClientConfig,
        patience: Patience,
        workflow: &str,
        name: &str,
        start: FollowFrom,
    ) -> Self {
        Self {
            of: FollowedStream::Workflow,
            ..Self::new(config, patience, workflow, name, start)
        }
    }

    /// The stream from now on.
    fn events(&self) -> Route<ClientEventStream> {
        match self.of {
            FollowedStream::Conversation => routes::events(&self.id, &self.name),
            FollowedStream::Workflow => routes::workflow_events(&self.id, &self.name),
        }
    }

    /// Opens the stream now, in one try.
    ///
    /// # Errors
    /// If there is no service, or it refuses.
    pub(crate) async fn open(mut self) -> Result<Self, ApiError> {
        while !matches!(self.link, FollowerLink::Open(_)) {
            self.step().await?;
        }
        self.tries = 0;
        Ok(self)
    }

    /// The next step. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    /// Why there is no further try.
    pub(crate) async fn next(&mut self) -> Result<FollowerEvent, ApiError> {
        let error = match self.step().await {
            Ok(step) => return Ok(step),
            Err(error) => error,
        };
        self.link = FollowerLink::Away;
        if self.is_final(&error) {
            return Err(error);
        }
        let tries = self.tries;
        self.tries = tries.saturating_add(1);
        Ok(FollowerEvent::Down {
            error,
            tries,
            wait: self.patience.wait(tries),
        })
    }

    async fn step(&mut self) -> Result<FollowerEvent, ApiError> {
        match &mut self.link {
            FollowerLink::Away => {
                // Each time anew: a service that was restarted may have another port.
                let connection = discovery::find(&self.config).await?;
                self.link = FollowerLink::Found(connection.clone());
                Ok(FollowerEvent::Found(connection))
            }
            FollowerLink::Found(connection) => {
                let connection = connection.clone();
                let route = match (&self.start, &self.position) {
                    (FollowFrom::Snapshot(tail), None) if self.of == FollowedStream::Workflow => {
                        let tail = *tail;
                        return self.workflow(&connection, tail).await;
                    }
                    (FollowFrom::Snapshot(tail), None) => {
                        let whole = routes::snapshot(&self.id, *tail).answered_as::<Value>();
                        let whole = connection.ask(&whole).await?;
                        let ReadEvents { answer, invalid } =
                            read::<ConversationSnapshot>(whole, "/history/events")?;
                        self.position = Some(answer.position.as_str().into());
                        let snapshot = Box::new(answer);
                        return Ok(FollowerEvent::Snapshot { snapshot, invalid });
                    }
                    (FollowFrom::After(place), None) => routes::behind(self.events(), place),
                    (FollowFrom::Tail(count), None) => routes::last(self.events(), *count),
                    (FollowFrom::Now, None) | (_, Some(_)) => self.events(),
                };
                let answer = connection.open(&route, self.position.as_deref()).await?;
                let (position, silence) = (self.position.clone(), self.patience.silence);
                self.link = FollowerLink::Open(ClientEventStream::new(answer, position, silence));
                Ok(FollowerEvent::Up)
            }
            FollowerLink::Open(stream) => {
                let piece = stream.next().await;
                if let Some(position) = stream.position() {
                    self.position = Some(Arc::clone(position));
                }
                let piece = piece?;
                self.tries = 0;
                self.without_service = 0;
                Ok(match piece {
                    StreamPiece::Event(arrival) => FollowerEvent::Event(arrival),
                    StreamPiece::Invalid { reason } => FollowerEvent::Invalid { reason },
                })
            }
        }
    }

    /// Begins again where it began: what is known may miss something.
    pub(crate) fn begin_again(&mut self) {
        self.link = FollowerLink::Away;
        self.position = None;
    }

    /// The state of the workflow, with its last records.
    async fn workflow(
        &mut self,
        connection: &ServiceConnection,
        tail: usize,
    ) -> Result<FollowerEvent, ApiError> {
        let snapshot = connection.ask(&routes::workflow(&self.id)).await?;
        let last = routes::last_of_workflow(&self.id, tail).answered_as::<Value>();
        let last = connection.ask(&last).await?;
        let ReadEvents { answer, .. } = read::<HistoryPage>(last, "/events")?;
        // What was written between both is on the stream, too.
        let end = seq(&snapshot.position);
        let before = |seq: u64| end.is_none_or(|end| seq <= end);
        let past = answer.events.into_iter();
        let recent = past.filter(|past| before(past.seq)).map(|past| past.event);
        self.position = Some(snapshot.position.as_str().into());
        Ok(FollowerEvent::Workflow {
            recent: recent.collect(),
            snapshot: Box::new(snapshot),
        })
    }

    /// Whether no later try can lead to another answer, or there were enough of them.
    fn is_final(&mut self, error: &ApiError) -> bool {
        match (self.patience.gives_up, error) {
            (GivesUp::AtOnce, _) => true,
            (_, ApiError::Request(error) | ApiError::Discovery(DiscoveryError::Request(error))) => {
                !error.is_passing()
            }
            (_, ApiError::Broken(_)) | (GivesUp::Never, _) => false,
            (_, ApiError::Discovery(DiscoveryError::None { .. })) => {
                self.without_service += 1;
                !self.patience.allows(self.without_service)
            }
            (_, ApiError::Discovery(error)) => !error.is_passing(),
        }
    }
}

/// The number of the record that a position, `<epoch>-<seq>-<sum>`, is behind.
pub(crate) fn seq(position: &str) -> Option<u64> {
    position.rsplit('-').nth(1)?.parse().ok()
}

#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
