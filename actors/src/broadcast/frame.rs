//! Events in the form of an event stream, encoded once for all clients.

use std::borrow::Cow;

use bytes::Bytes;
use harness_protocol::Event;

use crate::event::plain;
use crate::journal::Position;

/// The events that a client receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventView {
    /// The six types of `GET /events`.
    Plain,
    /// All.
    Full,
}

/// One encoded event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The record of the event. `None` for passing events.
    pub(super) seq: Option<u64>,
    plain: Option<Bytes>,
    full: Bytes,
}

impl Frame {
    /// The frame of a record's event.
    #[must_use]
    pub fn lasting(position: Position, event: &Event) -> Self {
        let encode = |event: &Event| Bytes::from(format!("id: {position}\n{}", data(event)));
        let full = encode(event);
        // An event without fields that the plain view lacks is the same bytes.
        let plain = plain(event).map(|plain| match plain {
            Cow::Borrowed(_) => full.clone(),
            Cow::Owned(plain) => encode(&plain),
        });
        Self {
            seq: Some(position.seq),
            plain,
            full,
        }
    }

    /// The frame of an event that passes and tells a position: a client that comes back shows that.
    #[must_use]
    pub fn marking(position: Position, event: &Event) -> Self {
        Self {
            seq: None,
            plain: None,
            full: Bytes::from(format!("id: {position}\n{}", data(event))),
        }
    }

    /// The frame of an event that passes. Only a status is passing in the plain view.
    #[must_use]
    pub fn passing(event: &Event) -> Self {
        let full = Bytes::from(data(event));
        Self {
            seq: None,
            plain: matches!(event, Event::Status { .. }).then(|| full.clone()),
            full,
        }
    }

    /// The bytes for a client, if it is shown the event.
    #[must_use]
    pub fn bytes(&self, view: EventView) -> Option<&Bytes> {
        match view {
            EventView::Plain => self.plain.as_ref(),
            EventView::Full => Some(&self.full),
        }
    }

    /// Size in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.full.len()
    }
}

/// The lines of an event. JSON text holds no line break, so its data is one line.
fn data(event: &Event) -> String {
    match serde_json::to_string(event) {
        Ok(json) => format!("data: {json}\n\n"),
        Err(error) => {
            log::error!("an event could not be encoded: {error}");
            ": an event could not be encoded\n\n".to_owned()
        }
    }
}
