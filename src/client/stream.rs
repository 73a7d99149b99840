//! One event stream over one connection.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use awc::ClientResponse;
use awc::error::PayloadError;
use bytes::Bytes;
use derive_more::{Display, Error};
use futures_util::{Stream, StreamExt as _};
use harness_protocol::Event;
use serde_json::{Map, Value};
use sse_core::{SseDecoder, SseEvent};

/// The largest event that is taken, in bytes. A reset holds a whole snapshot.
const MAX_EVENT_BYTES: NonZeroUsize = NonZeroUsize::new(64 * 1024 * 1024).unwrap();

/// One event as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrival {
    /// The event.
    pub(super) event: Event,
    /// All that the service said of it, with what this version does not know.
    pub(super) raw: Map<String, Value>,
    /// Where the stream is behind it, if that is another place than before.
    pub(super) position: Option<Arc<str>>,
}

/// Why a stream gives no more.
#[derive(Debug, Display, Error)]
pub(super) enum Break {
    /// The service ended it.
    #[display("the service ended the event stream")]
    Ended,
    /// Not even a heartbeat came.
    #[display("the event stream fell silent")]
    Silent,
    /// The connection failed.
    #[display("the event stream broke: {reason}")]
    Failed {
        /// What the system said.
        reason: String,
    },
    /// An event cannot be read.
    #[display("the event stream holds what is no event: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}

/// The events of one connection.
pub(super) struct EventStream {
    chunks: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>,
    decoder: SseDecoder,
    chunk: Bytes,
    silence: Duration,
}

impl EventStream {
    /// Reads an answer. `position` is where the stream begins; any byte within `silence` shows
    /// that the connection lives.
    pub(super) fn new(
        answer: ClientResponse,
        position: Option<Arc<str>>,
        silence: Duration,
    ) -> Self {
        let mut decoder = SseDecoder::with_limit(MAX_EVENT_BYTES);
        decoder.reconnect_with_id(position);
        Self {
            chunks: Box::pin(answer),
            decoder,
            chunk: Bytes::new(),
            silence,
        }
    }

    /// Where the stream is.
    pub(super) fn position(&self) -> Option<&Arc<str>> {
        self.decoder.last_event_id()
    }

    /// The next event. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    /// Why there are no more.
    pub(super) async fn next(&mut self) -> Result<Arrival, Break> {
        loop {
            if let Some(arrival) = self.decode()? {
                return Ok(arrival);
            }
            self.chunk = match tokio::time::timeout(self.silence, self.chunks.next()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(error))) => {
                    return Err(Break::Failed {
                        reason: error.to_string(),
                    });
                }
                Ok(None) => return Err(Break::Ended),
                Err(_) => return Err(Break::Silent),
            };
        }
    }

    fn decode(&mut self) -> Result<Option<Arrival>, Break> {
        let malformed = |reason: String| Break::Malformed { reason };
        loop {
            let before = self.decoder.last_event_id().cloned();
            match self.decoder.next(&mut self.chunk) {
                Some(Ok(SseEvent::Message(message))) => {
                    let raw: Map<String, Value> = serde_json::from_str(&message.data)
                        .map_err(|error| malformed(error.to_string()))?;
                    let event = serde_json::from_value(Value::Object(raw.clone()))
                        .map_err(|error| malformed(error.to_string()))?;
                    let position = message
                        .last_event_id
                        .filter(|id| before.as_ref() != Some(id));
                    if let Event::Reset { snapshot, .. } = &event {
                        let position = snapshot.position.as_str().into();
                        self.decoder.reconnect_with_id(Some(position));
                    }
                    return Ok(Some(Arrival {
                        event,
                        raw,
                        position,
                    }));
                }
                Some(Ok(SseEvent::Retry(_))) => {}
                Some(Err(error)) => return Err(malformed(error.to_string())),
                None => return Ok(None),
            }
        }
    }
}
