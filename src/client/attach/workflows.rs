//! The workflows on the client's board: which there are, the one that is followed, and orders to them.

use std::future::pending;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use harness_protocol::{
    AnswerGate, Event, PauseWorkflow, PlainWorkflowOrder, ResumeWorkflow, RunWorkflow,
    WorkflowSnapshot,
};
use harness_tui::{BoardNews, BoardOrder, News, PauseAt, WorkflowOrder};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom, FollowerEvent, seq};
use crate::client::api::routes;
use crate::client::api::stream::Arrival;
use crate::client::attach::contact::Contact;
use crate::client::attach::lanes::Lanes;

/// Number of the last records that a board begins with.
const RECENT: usize = 200;
/// Number of bytes at the end of an output that are shown.
const MAX_OUTPUT: usize = 64 * 1024;

/// The kinds of errands. A cancel may take minutes, and a pause must not hold it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum WorkflowLane {
    List,
    Order,
    Cancel,
    Output,
}

/// The errands of the board.
pub(super) struct Workflows {
    contact: Rc<Contact>,
    followed: Option<FollowedWorkflow>,
    lanes: Lanes<WorkflowLane>,
}

/// The workflow that is followed. Dropping it closes its stream.
struct FollowedWorkflow {
    try_now: Rc<Notify>,
    _follower: JoinSet<()>,
}

impl Workflows {
    /// Nothing is followed yet.
    pub(super) fn new(contact: Rc<Contact>) -> Self {
        Self {
            contact,
            followed: None,
            lanes: Lanes::default(),
        }
    }

    /// Carries out an order.
    pub(super) fn take(&mut self, order: BoardOrder) {
        let contact = Rc::clone(&self.contact);
        match order {
            BoardOrder::List => self.lanes.add(WorkflowLane::List, list(contact)),
            BoardOrder::Follow { workflow } => self.follow(workflow),
            BoardOrder::Leave => self.followed = None,
            BoardOrder::Give { workflow, order } => {
                let lane = match order {
                    WorkflowOrder::Cancel => WorkflowLane::Cancel,
                    _ => WorkflowLane::Order,
                };
                self.lanes.add(lane, give(contact, workflow, order));
            }
            BoardOrder::Output { workflow, sha256 } => {
                self.lanes
                    .add(WorkflowLane::Output, output(contact, workflow, sha256));
            }
        }
    }

    /// Ends the wait before the next try, if there is one.
    pub(super) fn try_now(&self) {
        if let Some(followed) = &self.followed {
            followed.try_now.notify_waiters();
        }
    }

    /// Stops following, and waits until orders in progress are done, but no longer than the farewell.
    pub(super) async fn finish(self) {
        drop(self.followed);
        self.lanes.finish(self.contact.pace.farewell).await;
    }

    fn follow(&mut self, workflow: String) {
        let try_now = Rc::new(Notify::new());
        let mut tasks = JoinSet::new();
        let contact = Rc::clone(&self.contact);
        tasks.spawn_local(follow(contact, workflow, Rc::clone(&try_now)));
        self.followed = Some(FollowedWorkflow {
            try_now,
            _follower: tasks,
        });
    }
}

async fn tell(contact: &Contact, news: BoardNews) {
    contact.tell(News::Board(news)).await;
}

async fn list(contact: Rc<Contact>) {
    let news = match contact.ask(&routes::workflows()).await {
        Ok(list) => BoardNews::Listed(list.workflows),
        Err(error) => BoardNews::NotListed {
            reason: error.to_string(),
        },
    };
    tell(&contact, news).await;
}

/// Gives an order. It is not sent twice: most orders have no key that would let the service recognize a repetition.
async fn give(contact: Rc<Contact>, workflow: String, order: WorkflowOrder) {
    let news = match given(&contact, &workflow, &order).await {
        Ok(snapshot) => BoardNews::Given {
            snapshot: Box::new(snapshot),
            order,
        },
        Err(error) => BoardNews::NotGiven {
            workflow,
            order,
            reason: error.to_string(),
        },
    };
    tell(&contact, news).await;
}

async fn given(
    contact: &Contact,
    id: &str,
    order: &WorkflowOrder,
) -> Result<WorkflowSnapshot, ApiError> {
    let by = contact.by();
    let route = match order {
        WorkflowOrder::Run => routes::run_workflow(
            id,
            &RunWorkflow {
                by,
                ..RunWorkflow::default()
            },
        ),
        WorkflowOrder::Pause(at) => {
            let when = match at {
                PauseAt::Once => "now",
                PauseAt::IterationEnd => "iteration",
            };
            let when = Some(when.to_owned());
            routes::pause_workflow(id, &PauseWorkflow { when, by })
        }
        WorkflowOrder::Resume { retries_stuck } => routes::resume_workflow(
            id,
            &ResumeWorkflow {
                retry_stuck: *retries_stuck,
                by,
                ..ResumeWorkflow::default()
            },
        ),
        WorkflowOrder::Cancel => routes::cancel_workflow(id, &PlainWorkflowOrder { by }),
        WorkflowOrder::Answer { gate, is_approved } => {
            let answer = if *is_approved { "approve" } else { "reject" };
            let answer = AnswerGate {
                answer: answer.to_owned(),
                comment: None,
                by,
            };
            routes::answer_gate(id, gate, &answer)
        }
    };
    contact.ask(&route).await
}

/// Gets the end of the output of a check.
async fn output(contact: Rc<Contact>, workflow: String, sha256: String) {
    let news = match contact
        .text(&routes::workflow_output(&workflow, &sha256))
        .await
    {
        Ok(text) => {
            let begin = text.ceil_char_boundary(text.len().saturating_sub(MAX_OUTPUT));
            BoardNews::Output {
                workflow,
                sha256,
                offset: begin as u64,
                text: text[begin..].to_owned(),
            }
        }
        Err(error) => BoardNews::NoOutput {
            workflow,
            sha256,
            reason: error.to_string(),
        },
    };
    tell(&contact, news).await;
}

/// A question how the workflow is.
type WorkflowLook = LocalBoxFuture<'static, Result<WorkflowSnapshot, RequestError>>;

/// The known state of the workflow.
#[derive(Default)]
struct KnownWorkflow {
    /// The service that was found last.
    service: Option<ServiceConnection>,
    /// The question that is on its way. There is one at a time, however fast records come.
    look: Option<WorkflowLook>,
    /// True if something happened since the question was sent.
    is_stale: bool,
    /// The number of the last record.
    last: Option<u64>,
}

impl KnownWorkflow {
    /// Asks for the workflow's state if that is stale, and no question is on its way.
    fn ask(&mut self, id: &str) {
        if self.is_stale
            && self.look.is_none()
            && let Some(service) = self.service.clone()
        {
            let route = routes::workflow(id);
            self.look = Some(Box::pin(async move { service.ask(&route).await }));
            self.is_stale = false;
        }
    }

    /// Takes note of an event. Returns true if events before it were missed, because the service could not continue at
    /// the stream's position.
    fn misses(&mut self, arrival: &Arrival) -> bool {
        match &arrival.event {
            Event::Attached { position, .. } if seq(position) != self.last => return true,
            Event::Attached { .. } => self.is_stale = true,
            Event::Workflow { .. } => {
                self.is_stale = true;
                self.last = arrival.position.as_deref().and_then(seq).or(self.last);
            }
            _ => {}
        }
        false
    }

    /// The answer to the question that is on its way. May be dropped and asked again.
    async fn looked(&mut self) -> Result<WorkflowSnapshot, RequestError> {
        let looked = match &mut self.look {
            Some(look) => look.await,
            None => pending().await,
        };
        self.look = None;
        looked
    }
}

/// Tells the client what happens in a workflow, until the service refuses.
async fn follow(contact: Rc<Contact>, workflow: String, try_now: Rc<Notify>) {
    let Contact { config, name, .. } = &*contact;
    let (patience, start) = (contact.pace.patience, FollowFrom::Snapshot(RECENT));
    let mut follower = EventFollower::of_workflow(config, patience, &workflow, name, start);
    let mut known = KnownWorkflow::default();
    let refused = loop {
        known.ask(&workflow);
        let step = tokio::select! {
            step = follower.next() => step,
            looked = known.looked() => {
                match looked {
                    Ok(snapshot) => tell(&contact, BoardNews::Looked(Box::new(snapshot))).await,
                    // The stream breaks, too, or the next record asks again.
                    Err(error) => log::debug!("cannot look at the workflow {workflow}: {error}"),
                }
                continue;
            }
        };
        let id = workflow.clone();
        let news = match step {
            Err(error) => break error,
            Ok(FollowerEvent::Found(connection)) => {
                known.service = Some(connection);
                continue;
            }
            Ok(FollowerEvent::Workflow { snapshot, recent }) => {
                known.last = seq(&snapshot.position);
                BoardNews::Followed { snapshot, recent }
            }
            Ok(FollowerEvent::Up) => BoardNews::Up { workflow: id },
            Ok(FollowerEvent::Event(arrival)) => {
                if known.misses(&arrival) {
                    follower.begin_again();
                    continue;
                }
                BoardNews::Happened {
                    workflow: id,
                    event: Box::new(arrival.event),
                }
            }
            Ok(FollowerEvent::Invalid { reason }) => {
                log::warn!("dropped what is no event of the workflow {workflow}: {reason}");
                continue;
            }
            // Only a conversation has that.
            Ok(FollowerEvent::Snapshot { .. }) => continue,
            Ok(FollowerEvent::Down { error, wait, .. }) => {
                known.look = None;
                let hurry = try_now.notified();
                let reason = error.to_string();
                let down = BoardNews::Down {
                    workflow: id,
                    reason,
                };
                tell(&contact, down).await;
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = hurry => {}
                }
                continue;
            }
        };
        tell(&contact, news).await;
    };
    let reason = refused.to_string();
    tell(&contact, BoardNews::Refused { workflow, reason }).await;
}

#[cfg(test)]
#[path = "workflows_tests.rs"]
mod tests;
