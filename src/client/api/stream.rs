//! One event stream over one connection.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use derive_more::{Display, Error};
use futures_util::StreamExt as _;
use harness_actors::within;
use harness_protocol::Event;
use serde_json::{Map, Value};
use sse_core::{SseDecoder, SseEvent};

use crate::client::api::opened::OpenedAnswer;

/// The largest event that is taken, in bytes. A reset holds a whole snapshot.
const MAX_EVENT_BYTES: NonZeroUsize = NonZeroUsize::new(64 * 1024 * 1024).unwrap();

/// One event as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arrival {
    /// The event.
    pub(crate) event: Event,
    /// All that the service said of it, with what this version does not know.
    pub(crate) raw: Map<String, Value>,
    /// Where the stream is behind it, if that is another place than before.
    pub(crate) position: Option<Arc<str>>,
}

impl Arrival {
    /// The event as the service sent it, with its position.
    pub(crate) fn with_position(self) -> Map<String, Value> {
        let mut line = self.raw;
        if let Some(position) = self.position {
            // Not `id`, which is the field of a call or a result that names the call.
            line.insert("position".to_owned(), position.as_ref().into());
        }
        line
    }
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are events, and there is one at a time"
)]
pub(crate) enum StreamPiece {
    /// An event.
    Event(Arrival),
    /// Bytes that are no event. The stream continues after them.
    Invalid {
        /// The fault in it.
        reason: String,
    },
}

/// Why a stream gives no more.
#[derive(Debug, Display, Error)]
pub(crate) enum Break {
    /// The service ended it.
    #[display("the service ended the event stream")]
    Ended,
    /// Not even a heartbeat came.
    #[display("the event stream fell silent")]
    Silent,
    /// The connection failed.
    #[display("the event stream broke: {reason}")]
    Failed {
        /// The system's error.
        reason: String,
    },
}

/// The events of one connection.
pub(crate) struct ClientEventStream {
    chunks: OpenedAnswer,
    decoder: SseDecoder,
    chunk: Bytes,
    silence: Duration,
}

impl ClientEventStream {
    /// Reads an answer. `position` is where the stream begins; any byte within `silence` shows
    /// that the connection lives.
    pub(crate) fn new(answer: OpenedAnswer, position: Option<Arc<str>>, silence: Duration) -> Self {
        let mut decoder = SseDecoder::with_limit(MAX_EVENT_BYTES);
        decoder.reconnect_with_id(position);
        Self {
            chunks: answer,
            decoder,
            chunk: Bytes::new(),
            silence,
        }
    }

    /// Where the stream is.
    pub(crate) fn position(&self) -> Option<&Arc<str>> {
        self.decoder.last_event_id()
    }

    /// The next event, or what came in its place. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    /// Why there are no more.
    pub(crate) async fn next(&mut self) -> Result<StreamPiece, Break> {
        loop {
            if let Some(piece) = self.decode() {
                return Ok(piece);
            }
            self.chunk = match within(self.silence, self.chunks.next()).await {
                Some(Some(Ok(chunk))) => chunk,
                Some(Some(Err(error))) => {
                    return Err(Break::Failed {
                        reason: error.to_string(),
                    });
                }
                Some(None) => return Err(Break::Ended),
                None => return Err(Break::Silent),
            };
        }
    }

    fn decode(&mut self) -> Option<StreamPiece> {
        loop {
            let before = self.decoder.last_event_id().cloned();
            let message = match self.decoder.next(&mut self.chunk)? {
                Ok(SseEvent::Message(message)) => message,
                Ok(SseEvent::Retry(_)) => continue,
                // The decoder goes on behind what is too large.
                Err(error) => {
                    let reason = error.to_string();
                    return Some(StreamPiece::Invalid { reason });
                }
            };
            let (event, raw) = match parse(&message.data) {
                Ok(parsed) => parsed,
                Err(error) => {
                    let reason = error.to_string();
                    return Some(StreamPiece::Invalid { reason });
                }
            };
            if let Event::Reset { snapshot, .. } = &event {
                let position = snapshot.position.as_str().into();
                self.decoder.reconnect_with_id(Some(position));
            }
            return Some(StreamPiece::Event(Arrival {
                event,
                raw,
                position: message
                    .last_event_id
                    .filter(|id| before.as_ref() != Some(id)),
            }));
        }
    }
}

fn parse(data: &str) -> serde_json::Result<(Event, Map<String, Value>)> {
    let raw: Map<String, Value> = serde_json::from_str(data)?;
    let event = serde_json::from_value(Value::Object(raw.clone()))?;
    Ok((event, raw))
}
