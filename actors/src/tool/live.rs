//! The output of a call while it runs.
//!
//! Invariant: however much is written, a call keeps less than 128 KiB of it, and each byte is moved a
//! bounded number of times. What is written faster than it is shown is left out, the oldest first.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::{Message, Recipient};

use crate::ids::CallId;
use crate::secret::Redaction;
use crate::send::tell;

/// How much may wait to be shown, in bytes. A string that grows to this takes less than twice as much.
const MAX_WAITING: usize = 64 * 1024;
/// How much of it is kept when there is more: half, so that keeping it costs no more than writing it.
const KEPT: usize = MAX_WAITING / 2;
/// How much is shown at once, in bytes before redaction.
const MAX_PIECE: usize = 8 * 1024;

/// Where a tool writes what operators are to see before its result is there. Clones write to the same
/// place. What is written here is not part of the result, and is kept nowhere.
#[derive(Clone, Default)]
pub struct LiveOutput(Option<Arc<Mutex<Written>>>);

struct Written {
    call_id: CallId,
    /// Text that was written and is not shown yet, without the part that was left out.
    waiting: String,
    /// Where that begins in all that the call has shown and left out, in bytes.
    offset: u64,
    /// Whether what was in front of it was left out: a secret may have begun there.
    is_cut: bool,
    /// Whether the actor knows that there is more.
    is_told: bool,
    actor: Recipient<Wrote>,
}

/// A call has written something. Sent by the call to the actor that it runs for.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct Wrote(pub(crate) CallId);

/// A piece of a call's output, for clients.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPiece {
    /// Where it begins in all that the call has shown and left out, in bytes.
    pub(crate) offset: u64,
    /// The new text, without secrets.
    pub(crate) text: String,
    /// Whether more waits. Then nothing tells of it but this.
    pub(crate) has_more: bool,
}

impl LiveOutput {
    /// The output of a call; the actor gets a message when there is something to show.
    pub(crate) fn for_call(call_id: CallId, actor: Recipient<Wrote>) -> Self {
        Self(Some(Arc::new(Mutex::new(Written {
            call_id,
            waiting: String::new(),
            offset: 0,
            is_cut: false,
            is_told: false,
            actor,
        }))))
    }

    /// Adds to what is shown of the call. It never waits: of what is too much the oldest is left out.
    pub fn write(&self, text: &str) {
        let Some(mut written) = self.lock() else {
            return;
        };
        written.add(text);
        if !text.is_empty() && !std::mem::replace(&mut written.is_told, true) {
            tell(&written.actor, Wrote(written.call_id.clone()));
        }
    }

    /// The next piece of what was not shown yet. What may be the start of a secret is held back until
    /// it is known whether it is one.
    pub(crate) fn next(&self, redaction: &Redaction) -> Option<OutputPiece> {
        let mut written = self.lock()?;
        let piece = written.take(redaction);
        written.is_told = piece.as_ref().is_some_and(|piece| piece.has_more);
        piece
    }

    fn lock(&self) -> Option<MutexGuard<'_, Written>> {
        let written = self.0.as_ref()?;
        Some(written.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Written {
    /// Adds a text behind what waits.
    fn add(&mut self, mut text: &str) {
        let sum = self.waiting.len() + text.len();
        if sum > MAX_WAITING {
            let over = sum - KEPT;
            let left_out = match over.checked_sub(self.waiting.len()) {
                Some(over) => {
                    let over = text.ceil_char_boundary(over);
                    text = &text[over..];
                    let left_out = self.waiting.len() + over;
                    self.waiting.clear();
                    left_out
                }
                None => {
                    let over = self.waiting.ceil_char_boundary(over);
                    self.waiting.drain(..over);
                    over
                }
            };
            self.offset += left_out as u64;
            self.is_cut = true;
        }
        self.waiting.push_str(text);
    }

    fn take(&mut self, redaction: &Redaction) -> Option<OutputPiece> {
        loop {
            // A secret that began in what was left out may reach as far.
            let from = match self.is_cut {
                true => redaction.reach().saturating_sub(1).min(self.waiting.len()),
                false => 0,
            };
            let from = self.waiting.ceil_char_boundary(from);
            let (text, end) = redaction.apply_to_growing(&self.waiting, from, from + MAX_PIECE);
            if end == from {
                return None;
            }
            // It ends where no secret stands, so what follows can be told without it.
            self.waiting.drain(..end);
            self.is_cut = false;
            if text.is_empty() {
                self.offset += end as u64;
                continue;
            }
            let offset = self.offset + from as u64;
            self.offset = offset + text.len() as u64;
            return Some(OutputPiece {
                offset,
                text,
                has_more: !self.waiting.is_empty(),
            });
        }
    }
}

impl fmt::Debug for LiveOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.lock().map(|written| written.waiting.len());
        f.debug_tuple("LiveOutput").field(&bytes).finish()
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
