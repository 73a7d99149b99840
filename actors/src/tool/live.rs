//! What a call shows while it runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::{Message, Recipient};

use crate::ids::CallId;
use crate::secret::Redaction;
use crate::send::tell;

/// How much of one call's output is shown meanwhile, in bytes. Its result may be longer.
const MAX_SHOWN: usize = 256 * 1024;

/// Where a tool writes what operators are to see before its result is there. Clones write to the same
/// place. What is written here is not part of the result, and is kept nowhere.
#[derive(Clone, Default)]
pub struct LiveOutput(Option<Arc<Mutex<Written>>>);

struct Written {
    call_id: CallId,
    /// All that was written.
    text: String,
    /// How many bytes of it were shown, without what is secret.
    shown: usize,
    /// Whether the actor knows that there is more.
    is_told: bool,
    actor: Recipient<Wrote>,
}

/// A call has written something. Sent to the tools' actor by the call.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(super) struct Wrote(pub(super) CallId);

impl LiveOutput {
    /// The output of a call; the actor is told when there is something to show.
    pub(super) fn of(call_id: CallId, actor: Recipient<Wrote>) -> Self {
        Self(Some(Arc::new(Mutex::new(Written {
            call_id,
            text: String::new(),
            shown: 0,
            is_told: false,
            actor,
        }))))
    }

    /// Adds to what is shown of the call. It never waits; what is too much is left out.
    pub fn write(&self, text: &str) {
        let Some(mut written) = self.lock() else {
            return;
        };
        let room = MAX_SHOWN.saturating_sub(written.text.len());
        let fits = text.floor_char_boundary(room);
        written.text.push_str(&text[..fits]);
        if fits > 0 && !std::mem::replace(&mut written.is_told, true) {
            tell(&written.actor, Wrote(written.call_id.clone()));
        }
    }

    /// What was not shown yet, and where it begins. So much is held back at the end as a secret may
    /// need that is not written whole.
    pub(super) fn next(&self, redaction: &Redaction) -> Option<(u64, String)> {
        let mut written = self.lock()?;
        written.is_told = false;
        let end = written.text.len().saturating_sub(redaction.reach());
        let shown = redaction.apply_to_start(&written.text, end);
        let offset = written.shown;
        let more = shown
            .get(offset..)
            .filter(|more| !more.is_empty())?
            .to_owned();
        written.shown = shown.len();
        Some((offset as u64, more))
    }

    fn lock(&self) -> Option<MutexGuard<'_, Written>> {
        let written = self.0.as_ref()?;
        Some(written.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for LiveOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.lock().map(|written| written.text.len());
        f.debug_tuple("LiveOutput").field(&bytes).finish()
    }
}
