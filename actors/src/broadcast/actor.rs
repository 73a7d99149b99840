//! Fans the events of one conversation out to every attached client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use harness_protocol::{ActivityState, DeltaKind, Event};
use serde_json::Value;

use super::frame::{EventView, Frame};
use super::messages::{CloseSubscribers, Closing, Join, Joined, Publish};
use super::now::Now;
use super::presence::Attendance;
use super::ring::Ring;
use super::subscription::{self, Subscriber};
use super::tails::{StepId, Tails};
use crate::ids::ConversationId;
use crate::journal::{BlockPiece, Position};

/// Maximum number of orders that wait for the actor; publishing does not count against it.
const MAILBOX: usize = 1024;
/// Delay before clients receive the news of others that came or left; many may do so at once.
const PRESENCE_DELAY: Duration = Duration::from_millis(100);
/// The records of a workflow after which no check runs.
const ENDS_OF_STEPS: [&str; 5] = [
    "check_ended",
    "step_ended",
    "iteration_ended",
    "verification_ended",
    "phase_ended",
];
/// Maximum number of names of attached clients in one event.
const MAX_NAMES: usize = 32;

/// Fans events out. A client that lags is detached, and delays no other client.
pub struct BroadcastActor {
    conversation: ConversationId,
    /// The position after the last lasting event.
    position: Position,
    now: Now,
    /// The text so far of the blocks that are not finished.
    open: BTreeMap<u64, (DeltaKind, String)>,
    /// The last output of running calls.
    tails: Tails,
    ring: Ring,
    subscribers: Vec<Subscriber>,
    attendance: Attendance,
    /// True if attached clients receive news of others that come and leave.
    is_watching: bool,
    closed: Option<Closing>,
}

impl BroadcastActor {
    /// A broadcaster for a conversation whose journal ends at that position.
    #[must_use]
    pub fn new(
        conversation: ConversationId,
        position: Position,
        now: Now,
        attendance: Attendance,
    ) -> Self {
        Self {
            conversation,
            position,
            now,
            open: BTreeMap::new(),
            tails: Tails::default(),
            ring: Ring::default(),
            subscribers: Vec::new(),
            attendance,
            is_watching: false,
            closed: None,
        }
    }

    /// The same, which shows blocks that a service left unfinished when it died.
    #[must_use]
    pub fn showing(self, unfinished: &[BlockPiece]) -> Self {
        let shown = |block: &BlockPiece| (block.index, (block.kind, block.text.clone()));
        Self {
            open: unfinished.iter().map(shown).collect(),
            ..self
        }
    }

    fn send(&mut self, frame: &Frame) {
        self.subscribers
            .retain_mut(|subscriber| subscriber.send(frame));
    }

    /// Keeps the state that a client needs when it attaches later.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: most events change nothing here"
    )]
    fn note(&mut self, event: &Event) {
        match event {
            Event::Status {
                state,
                message,
                timestamp,
            } => {
                self.now.state = *state;
                self.now.message.clone_from(message);
                self.now.timestamp = *timestamp;
                if matches!(state, ActivityState::Idle | ActivityState::Error) {
                    self.now.run_id = None;
                    self.tails.clear();
                }
            }
            Event::ApprovalAsked {
                approval,
                timestamp,
            } => {
                self.now.state = ActivityState::WaitingApproval;
                self.now.message.clone_from(&approval.tool);
                self.now.timestamp = *timestamp;
                self.now.run_id = Some(approval.run_id);
                self.now.interrupted = false;
            }
            Event::RunStarted { run_id, .. } => {
                self.now.run_id = Some(*run_id);
                self.now.interrupted = false;
            }
            Event::RunEnded { .. } => {
                self.now.run_id = None;
                self.tails.clear();
            }
            Event::ToolOutput { id, offset, text } => self.tails.grow(id, *offset, text),
            Event::ToolResult { id, .. } => self.tails.end(id),
            Event::StepOutput {
                iteration,
                attempt,
                step,
                offset,
                text,
            } => {
                let id = StepId {
                    iteration: *iteration,
                    attempt: *attempt,
                    step: step.clone(),
                };
                self.tails.grow_step(id, *offset, text);
            }
            Event::Workflow { record, .. } if ends_step(record) => self.tails.end_step(),
            Event::CallsSkipped { .. } | Event::TurnEnded { .. } => self.tails.clear(),
            Event::TurnStarted { .. }
            | Event::ReplyEnded { .. }
            | Event::ReplyFailed { .. }
            | Event::Discarded {} => self.open.clear(),
            Event::Delta {
                index,
                kind,
                offset,
                text,
            } => {
                let (open_kind, open) = self.open.entry(*index).or_insert((*kind, String::new()));
                *open_kind = *kind;
                if *offset == 0 {
                    open.clear();
                }
                open.push_str(text);
            }
            Event::Text { .. } => self.close_block(DeltaKind::Text),
            Event::Reasoning { .. } => self.close_block(DeltaKind::Reasoning),
            Event::ToolCall { .. } => self.close_block(DeltaKind::ToolInput),
            _ => {}
        }
    }

    /// Forgets the first open block of that kind: it is finished.
    fn close_block(&mut self, kind: DeltaKind) {
        let mut open = self.open.iter();
        let first = open.find(|(_, (open_kind, _))| *open_kind == kind);
        if let Some(index) = first.map(|(index, _)| *index) {
            self.open.remove(&index);
        }
    }

    /// The events for a client that becomes live, besides the records that it lacks.
    fn greeting(&self, view: EventView, resumed: bool) -> Vec<Frame> {
        match view {
            EventView::Plain if resumed && self.now.interrupted => {
                let status = Event::Status {
                    state: self.now.state,
                    message: self.now.message.clone(),
                    timestamp: self.now.timestamp,
                };
                vec![Frame::passing(&status)]
            }
            EventView::Plain => Vec::new(),
            EventView::Full => {
                let attached = Event::Attached {
                    conversation: self.conversation.to_string(),
                    position: self.position.to_string(),
                    state: self.now.state,
                    message: self.now.message.clone(),
                    run_id: self.now.run_id,
                };
                // Some clients take a position only from an event; one that began live has none yet.
                let attached = if resumed {
                    Frame::passing(&attached)
                } else {
                    Frame::marking(self.position, &attached)
                };
                let open = self.open.iter().map(|(index, (kind, text))| {
                    Frame::passing(&Event::Delta {
                        index: *index,
                        kind: *kind,
                        offset: 0,
                        text: text.clone(),
                    })
                });
                let tails = self.tails.events();
                let tails = tails.map(|event| Frame::passing(&event));
                std::iter::once(attached).chain(open).chain(tails).collect()
            }
        }
    }

    fn show_presence(&mut self) {
        self.subscribers.retain(Subscriber::is_attached);
        let names = self.subscribers.iter().filter_map(Subscriber::name);
        let presence = Event::Presence {
            count: self.subscribers.len(),
            names: names.take(MAX_NAMES).map(ToString::to_string).collect(),
        };
        self.send(&Frame::passing(&presence));
    }

    /// Tells of clients that come and go, each time after a short wait, until all have gone: what
    /// an actor waits for keeps it alive.
    fn watch_presence(&self, ctx: &mut Context<Self>) {
        let attendance = self.attendance.clone();
        let changed = async move {
            attendance.changed().await;
            tokio::time::sleep(PRESENCE_DELAY).await;
            // Clients that came or left in the meantime are reported with them.
            _ = attendance.changed().now_or_never();
        };
        ctx.spawn(changed.into_actor(self).map(|(), actor, ctx| {
            actor.show_presence();
            actor.is_watching = actor.attendance.count() > 0;
            if actor.is_watching {
                actor.watch_presence(ctx);
            }
        }));
    }
}

/// True if a record of a workflow ends the step that is open.
fn ends_step(record: &Value) -> bool {
    let kind = record.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| ENDS_OF_STEPS.contains(&kind))
}

impl Actor for BroadcastActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Publish> for BroadcastActor {
    type Result = ();

    fn handle(&mut self, shown: Publish, _: &mut Context<Self>) {
        match shown {
            Publish::Lasting { position, event } => {
                self.position = position;
                self.note(&event);
                let frame = Frame::lasting(position, &event);
                self.send(&frame);
                self.ring.push(frame);
            }
            Publish::Passing(event) => {
                self.note(&event);
                // A status without a record: the journal refuses new records.
                self.now.interrupted |= matches!(event, Event::Status { .. });
                self.send(&Frame::passing(&event));
            }
            Publish::Rewritten { position } => {
                self.position = position;
                self.open.clear();
                self.tails.clear();
                self.ring = Ring::default();
                self.subscribers.clear();
            }
        }
    }
}

impl Handler<Join> for BroadcastActor {
    type Result = MessageResult<Join>;

    fn handle(&mut self, join: Join, ctx: &mut Context<Self>) -> Self::Result {
        if let Some(closing) = self.closed {
            return MessageResult(Joined::Closed(closing));
        }
        if join.epoch.is_some_and(|epoch| epoch != self.position.epoch) {
            return MessageResult(Joined::Elsewhere);
        }
        let end = self.position.seq;
        let after = join.after.unwrap_or(end);
        let Some(missed) = self.ring.behind(after, end) else {
            return MessageResult(Joined::Behind { end });
        };
        let name = join.name.map(Arc::from);
        let (mut subscriber, subscription) = subscription::pair(join.view, name, &self.attendance);
        for frame in missed {
            subscriber.greet(frame);
        }
        for frame in self.greeting(join.view, join.after.is_some()) {
            subscriber.greet(&frame);
        }
        self.subscribers.push(subscriber);
        if !std::mem::replace(&mut self.is_watching, true) {
            self.watch_presence(ctx);
        }
        MessageResult(Joined::Live {
            subscription,
            position: self.position,
        })
    }
}

impl Handler<CloseSubscribers> for BroadcastActor {
    type Result = ();

    fn handle(&mut self, CloseSubscribers(closing): CloseSubscribers, _: &mut Context<Self>) {
        self.closed = Some(closing);
        self.subscribers.clear();
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
pub(super) mod tests;
