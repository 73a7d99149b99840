//! The places for open conversations: each has a file open, and there are not many to be had.

use std::sync::Arc;

use actix::Recipient;
use tokio::sync::{Mutex, Semaphore};

use super::conversation::ConversationPlace;
use super::messages::LetGo;
use crate::journal::OpenError;

/// Maximum number of conversations that are open at the same time, besides the default one, where the system grants the
/// open files. Each takes one file and the memory of its past. More than are in use at once on any desk, and a small
/// part of the files that a service with many clients has.
pub const MAX_OPEN_CONVERSATIONS: usize = 512;

/// The places of a directory.
#[derive(Debug, Clone)]
pub(super) struct Places {
    max: usize,
    free: Arc<Semaphore>,
    /// Held by who has another conversation let go, so that each has one let go.
    turn: Arc<Mutex<()>>,
}

impl Places {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            free: Arc::new(Semaphore::new(max)),
            turn: Arc::default(),
        }
    }

    fn try_take(&self) -> Option<ConversationPlace> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(ConversationPlace::with_permit(permit))
    }

    /// A place; the idle conversation that was used longest ago is let go for it if need be.
    ///
    /// # Errors
    /// When all conversations that are open are in use.
    pub(super) async fn take(
        &self,
        directory: &Recipient<LetGo>,
    ) -> Result<ConversationPlace, OpenError> {
        if let Some(place) = self.try_take() {
            return Ok(place);
        }
        let _turn = self.turn.lock().await;
        loop {
            if let Some(place) = self.try_take() {
                return Ok(place);
            }
            if !directory.send(LetGo).await.unwrap_or(false) {
                return Err(OpenError::TooMany { max: self.max });
            }
        }
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
