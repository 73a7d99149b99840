//! Looking at a conversation, at any time.

use harness_protocol::{Queue, QueueItem, SettingsAnswer, Usage};
use serde_json::Value;

use super::{Harness, HarnessError};
use crate::conversation::messages::GetOverview;
use crate::conversation::transcript;
use crate::event::usage;
use crate::ids::RunId;
use crate::journal::{Position, Status, Totals};

/// How a conversation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Where in its journal it was looked at.
    pub position: Position,
    /// What it is doing, as it was last shown.
    pub status: Status,
    /// The run that is going.
    pub run: Option<RunId>,
    /// What waits to be said, in the order in which it is said: steering first.
    pub queue: Vec<QueueItem>,
    /// The settings, and the tools.
    pub settings: SettingsAnswer,
    /// The token counts so far.
    pub usage: Usage,
    /// All sums so far.
    pub totals: Totals,
    /// When its last record was written, in milliseconds since the Unix epoch; 0 if there is none.
    pub active_at: u64,
}

impl Harness {
    /// How the conversation is.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, HarnessError> {
        let overview = self.conversation.send(GetOverview).await??;
        let settings = self.settings().await?;
        Ok(Snapshot {
            position: overview.position,
            status: overview.status,
            run: overview.run.filter(|_| overview.is_running),
            queue: in_order(&overview.totals.queue),
            settings,
            usage: usage(&overview.totals),
            totals: overview.totals,
            active_at: overview.active_at,
        })
    }

    /// What waits to be said, in the order in which it is said: steering first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn queue(&self) -> Result<Vec<QueueItem>, HarnessError> {
        let overview = self.conversation.send(GetOverview).await??;
        Ok(in_order(&overview.totals.queue))
    }

    /// What was said so far, oldest first, as messages in the API's format; what went with prompts
    /// is only described. What was summarized is told in full, unless the journal was replaced by
    /// [`Self::compact`]: then it begins with the summary.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn messages(&self) -> Result<Vec<Value>, HarnessError> {
        Ok(transcript(self.journal.clone()).await?)
    }
}

fn in_order(queue: &[QueueItem]) -> Vec<QueueItem> {
    let mut queue = queue.to_vec();
    queue.sort_by_key(|item| match item.queue {
        Queue::Steer => 0,
        Queue::FollowUp => 1,
    });
    queue
}
