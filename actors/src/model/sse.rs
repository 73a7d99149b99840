//! The event stream's bytes, cut into the data of its events.

use std::num::NonZeroUsize;

use bytes::{Buf as _, Bytes};
use sse_core::{MessageEvent, SseDecoder, SseEvent};

use super::ModelError;

/// The largest event that is taken from the API, in bytes.
pub const MAX_EVENT_BYTES: NonZeroUsize = NonZeroUsize::new(8 * 1024 * 1024).unwrap();

/// Cuts a stream's bytes into events, however the network cut them into chunks.
///
/// Source: WHATWG HTML, section "Interpreting an event stream".
#[derive(Debug)]
pub struct SseLines {
    decoder: SseDecoder,
}

impl Default for SseLines {
    fn default() -> Self {
        Self {
            decoder: SseDecoder::with_limit(MAX_EVENT_BYTES),
        }
    }
}

impl SseLines {
    /// The next event of a chunk, which is used up from its start; `None` when the rest of the
    /// chunk holds no whole event.
    ///
    /// # Errors
    /// An event larger than [`MAX_EVENT_BYTES`].
    pub fn next(&mut self, chunk: &mut Bytes) -> Result<Option<MessageEvent>, ModelError> {
        while chunk.has_remaining() {
            match self.decoder.next(chunk) {
                Some(Ok(SseEvent::Message(message))) => return Ok(Some(message)),
                Some(Ok(SseEvent::Retry(_))) => {}
                Some(Err(_)) => {
                    return Err(ModelError::Malformed {
                        reason: format!("an event is larger than {MAX_EVENT_BYTES} bytes"),
                    });
                }
                None => break,
            }
        }
        Ok(None)
    }

    /// The event that was begun when the bytes ended, as if its blank line had come. By the
    /// standard it does not count; some recordings end right after the data of the last event.
    pub fn unfinished(mut self) -> Option<MessageEvent> {
        let mut blank_line = Bytes::from_static(b"\n\n");
        self.next(&mut blank_line).ok().flatten()
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
