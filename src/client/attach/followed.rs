//! The conversation that the client follows, across breaks of the connection and restarts of the
//! service.

use std::rc::Rc;

use harness_protocol::Event;
use harness_tui::News;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::api::follower::{EventFollower, FollowFrom, FollowerEvent};
use crate::client::api::stream::Arrival;
use crate::client::attach::contact::Contact;

/// Number of the last events in a snapshot.
const TAIL: usize = 200;

/// The conversation that is followed. Dropping it closes its stream.
pub(super) struct FollowedConversation {
    pub(super) conversation: String,
    try_now: Rc<Notify>,
    _follower: JoinSet<()>,
}

impl FollowedConversation {
    /// Follows a conversation until dropped.
    pub(super) fn new(contact: Rc<Contact>, conversation: String) -> Self {
        let try_now = Rc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn_local(follow(contact, conversation.clone(), Rc::clone(&try_now)));
        Self {
            conversation,
            try_now,
            _follower: tasks,
        }
    }

    /// Ends the wait before the next try, if there is one.
    pub(super) fn try_now(&self) {
        self.try_now.notify_waiters();
    }
}

/// Tells the client what happens in a conversation, until the service refuses.
async fn follow(contact: Rc<Contact>, conversation: String, try_now: Rc<Notify>) {
    let Contact { config, name, .. } = &*contact;
    let (patience, start) = (contact.pace.patience, FollowFrom::Snapshot(TAIL));
    let mut follower = EventFollower::new(config, patience, &conversation, name, start);
    let refused = loop {
        let news = match follower.next().await {
            Err(error) => break error,
            Ok(FollowerEvent::Found(connection)) => {
                contact.tell_service(&connection).await;
                continue;
            }
            Ok(FollowerEvent::Snapshot { snapshot, invalid }) => {
                for reason in invalid {
                    contact.tell(News::Invalid { reason }).await;
                }
                News::Snapshot {
                    snapshot,
                    reset: None,
                }
            }
            // Only a workflow has that.
            Ok(FollowerEvent::Workflow { .. }) => continue,
            Ok(FollowerEvent::Up) => News::Up,
            Ok(FollowerEvent::Event(arrival)) => happened(arrival),
            Ok(FollowerEvent::Invalid { reason }) => News::Invalid { reason },
            Ok(FollowerEvent::Down { error, tries, wait }) => {
                // The client may be in a hurry as soon as it knows that there is something to wait
                // for.
                let hurry = try_now.notified();
                let reason = error.to_string();
                contact
                    .tell(News::Down {
                        reason,
                        tries,
                        wait,
                    })
                    .await;
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = hurry => {}
                }
                continue;
            }
        };
        contact.tell(news).await;
    };
    let reason = refused.to_string();
    contact
        .tell(News::Refused {
            conversation,
            reason,
        })
        .await;
}

fn happened(arrival: Arrival) -> News {
    match arrival.event {
        Event::Reset { reason, snapshot } => News::Snapshot {
            snapshot,
            reset: Some(reason),
        },
        event => News::Event {
            event,
            position: arrival.position.map(|position| position.to_string()),
        },
    }
}

#[cfg(test)]
#[path = "followed_tests.rs"]
mod tests;
