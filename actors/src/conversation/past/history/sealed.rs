//! The messages that no longer change.

use bytes::Bytes;

use super::estimate::MessageSize;
use super::message::SerializedMessage;
use crate::model::RequestPiece;

/// How many messages are joined to as few pieces as possible, so that a request of a long
/// conversation has few.
const JOINED: usize = 64;

/// How many messages at the end are not joined, because the last reply may be taken back.
const LOOSE: usize = 2;

/// Messages that no longer change, in their order. Each byte is kept once: a message that was
/// joined is a part of what it was joined to.
#[derive(Debug, Default)]
pub(super) struct SealedMessages {
    messages: Vec<SerializedMessage>,
    /// The first ones, with commas between them.
    joined: Vec<RequestPiece>,
    /// How many they are.
    joined_messages: usize,
    /// The estimate of all of them.
    tokens: u64,
    size: MessageSize,
}

impl SealedMessages {
    pub(super) fn new(messages: Vec<SerializedMessage>) -> Self {
        let mut sealed = Self::default();
        for message in messages {
            sealed.push(message.copied());
        }
        sealed
    }

    pub(super) fn push(&mut self, message: SerializedMessage) {
        self.tokens = self.tokens.saturating_add(message.tokens());
        self.size = self.size.plus(message.size());
        self.messages.push(message);
        if self.messages.len() - self.joined_messages == JOINED + LOOSE {
            self.join();
        }
    }

    /// Takes the last message away.
    pub(super) fn pop(&mut self) -> Option<SerializedMessage> {
        if self.messages.len() == self.joined_messages {
            return None;
        }
        let message = self.messages.pop()?;
        self.tokens = self.tokens.saturating_sub(message.tokens());
        self.size = self.size.minus(message.size());
        Some(message)
    }

    pub(super) fn take(&mut self) -> Vec<SerializedMessage> {
        std::mem::take(self).messages
    }

    pub(super) fn messages(&self) -> &[SerializedMessage] {
        &self.messages
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn size(&self) -> MessageSize {
        self.size
    }

    /// Their bytes on the wire, with commas between them.
    pub(super) fn pieces(&self) -> Vec<RequestPiece> {
        let loose = &self.messages[self.joined_messages..];
        // What may still change follows.
        let mut pieces = Vec::with_capacity(self.joined.len() + 2 * loose.len() + 4);
        pieces.extend_from_slice(&self.joined);
        for message in loose {
            push_comma(&mut pieces);
            pieces.extend_from_slice(message.pieces());
        }
        pieces
    }

    fn join(&mut self) {
        let end = self.joined_messages + JOINED;
        let mut loose = Vec::new();
        for message in &self.messages[self.joined_messages..end] {
            if !(self.joined.is_empty() && loose.is_empty()) {
                loose.push(RequestPiece::Json(Bytes::from_static(b",")));
            }
            loose.extend_from_slice(message.pieces());
        }
        let joined = concat(&loose);
        let mut parts = JoinedParts {
            joined: &joined,
            place: 0,
            offset: 0,
        };
        let is_first = self.joined.is_empty();
        for (place, message) in self.messages[self.joined_messages..end]
            .iter_mut()
            .enumerate()
        {
            if place > 0 || !is_first {
                parts.next(1);
            }
            for piece in message.pieces_mut() {
                match piece {
                    RequestPiece::Json(json) => *json = parts.next(json.len()),
                    RequestPiece::Attachments(_) => parts.skip(),
                }
            }
        }
        self.joined.extend(joined);
        self.joined_messages = end;
    }
}

/// A comma, unless it would be the first.
pub(super) fn push_comma(pieces: &mut Vec<RequestPiece>) {
    if !pieces.is_empty() {
        pieces.push(RequestPiece::Json(Bytes::from_static(b",")));
    }
}

/// The same with as few pieces as possible.
fn concat(pieces: &[RequestPiece]) -> Vec<RequestPiece> {
    let mut joined = Vec::new();
    let mut run = Vec::new();
    for piece in pieces {
        match piece {
            RequestPiece::Json(json) => run.extend_from_slice(json),
            RequestPiece::Attachments(_) => {
                joined.push(RequestPiece::Json(std::mem::take(&mut run).into()));
                joined.push(piece.clone());
            }
        }
    }
    joined.push(RequestPiece::Json(run.into()));
    joined
}

/// The parts of joined pieces, one after the other.
struct JoinedParts<'a> {
    joined: &'a [RequestPiece],
    place: usize,
    offset: usize,
}

impl JoinedParts<'_> {
    fn next(&mut self, len: usize) -> Bytes {
        let part = match self.joined.get(self.place) {
            Some(RequestPiece::Json(json)) => json.slice(self.offset..self.offset + len),
            Some(RequestPiece::Attachments(_)) | None => Bytes::new(),
        };
        self.offset += len;
        part
    }

    /// Continues after attachments.
    fn skip(&mut self) {
        self.place += 2;
        self.offset = 0;
    }
}
