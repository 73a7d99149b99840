//! Following the conversations of a run in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::stream::{LocalBoxStream, SelectAll};
use futures_util::{FutureExt as _, StreamExt as _};
use harness_protocol::Event;

use crate::broadcast::{
    EventView, Followed, Follower, FollowerSource, FollowerStart, ReadBudget, STREAM_BYTES,
    STREAM_GRACE,
};
use crate::directory::OpenedConversation;
use crate::directory::messages::OpenConversation;
use crate::harness::EventHandler;
use crate::harness::follow::tell;
use crate::ids::ConversationId;
use crate::journal::{Journal, Position};
use crate::workflow::keeper::Directory;
use crate::workflow::messages::Followable;

/// The conversation of an event. `None` for the workflow's own events.
type Whose = Option<String>;
type FollowedEvent = (Whose, Option<u64>, Event);

/// Passes the events of a workflow's conversations to a handler, from now on to the end of `work`, and then the rest.
pub(super) async fn following<T>(
    workflow: Followable,
    directory: &Directory,
    handler: &Arc<dyn EventHandler>,
    work: impl Future<Output = T>,
) -> T {
    let mut followed = WorkflowFollowing {
        directory,
        handler,
        conversations: BTreeMap::new(),
        streams: SelectAll::new(),
    };
    let from = workflow.journal.end();
    let source = FollowerSource {
        journal: Arc::clone(&workflow.journal),
        broadcast: workflow.broadcast,
        attendance: workflow.attendance,
        budget: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
    };
    followed.streams.push(events(source, from, None));
    let mut work = Box::pin(work);
    let output = loop {
        match select(&mut work, followed.streams.next()).await {
            Either::Left((output, _)) => break output,
            Either::Right((Some(told), _)) => followed.take(told).await,
            Either::Right((None, _)) => break work.await,
        }
    };
    let end = workflow.journal.end().seq;
    followed.finish(end).await;
    output
}

struct WorkflowFollowing<'a> {
    directory: &'a Directory,
    handler: &'a Arc<dyn EventHandler>,
    /// The conversations that are followed, with the last delivered record of each; and the workflow itself.
    conversations: BTreeMap<Whose, (u64, Option<Arc<dyn Journal>>)>,
    streams: SelectAll<LocalBoxStream<'static, FollowedEvent>>,
}

impl WorkflowFollowing<'_> {
    async fn take(&mut self, (whose, seq, event): FollowedEvent) {
        if let Some(seq) = seq {
            let known = self.conversations.entry(whose.clone()).or_default();
            known.0 = known.0.max(seq);
        }
        if whose.is_some() {
            tell(&**self.handler, &event, seq.is_some());
            return;
        }
        if let Event::Workflow { record, .. } = &event
            && record["type"] == "conversation_linked"
            && let Some(id) = record["data"]["conversation"].as_str()
        {
            self.join(id).await;
        }
    }

    async fn join(&mut self, id: &str) {
        let whose = Some(id.to_owned());
        if self.conversations.contains_key(&whose) {
            return;
        }
        let order = OpenConversation {
            id: ConversationId::new(id),
        };
        let Ok(Ok(conversation)) = self.directory.open.send(order).await else {
            log::warn!("the conversation {id} cannot be followed");
            return;
        };
        let OpenedConversation {
            broadcast,
            journal,
            attendance,
            ..
        } = conversation;
        let from = Position::start(journal.end().epoch);
        let source = FollowerSource {
            journal: Arc::clone(&journal),
            broadcast: broadcast.recipient(),
            attendance,
            budget: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
        };
        self.streams.push(events(source, from, whose.clone()));
        self.conversations.insert(whose, (0, Some(journal)));
    }

    /// Tells what is on record and was not told yet: first of the workflow, which names conversations.
    async fn finish(&mut self, end: u64) {
        loop {
            let own = self.conversations.get(&None).map_or(0, |known| known.0);
            let lacks = |(told, journal): &(u64, Option<Arc<dyn Journal>>)| {
                let end = journal.as_ref().map_or(0, |journal| journal.end().seq);
                *told < end
            };
            if own >= end && !self.conversations.values().any(lacks) {
                break;
            }
            let Some(told) = self.streams.next().await else {
                break;
            };
            self.take(told).await;
        }
        // Passing events have no number; those that are already there are delivered.
        while let Some(Some(told)) = self.streams.next().now_or_never() {
            self.take(told).await;
        }
    }
}

/// The events after a position, with the record of each lasting one.
fn events(
    source: FollowerSource,
    from: Position,
    whose: Whose,
) -> LocalBoxStream<'static, FollowedEvent> {
    let follower = Follower::new(source, EventView::Full, None, FollowerStart::Behind(from));
    let mut text = Vec::new();
    let frames = follower.map(move |followed| {
        match followed {
            Followed::Frame(bytes) => text.extend_from_slice(&bytes),
            Followed::Live(_) | Followed::Ended(_) => {}
        }
        let mut told = Vec::new();
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = text.drain(..end + 2).collect();
            told.extend(decoded(&frame).map(|(seq, event)| (whose.clone(), seq, event)));
        }
        futures_util::stream::iter(told)
    });
    frames.flatten().boxed_local()
}

/// The event of a frame, with its record.
fn decoded(frame: &[u8]) -> Option<(Option<u64>, Event)> {
    let text = std::str::from_utf8(frame).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let position = field("id: ").and_then(|id| id.parse::<Position>().ok());
    let event = serde_json::from_str(field("data: ")?).ok()?;
    Some((position.map(|position| position.seq), event))
}
