//! Looking at a conversation, at any time.

use harness_protocol::{Queue, QueueItem, SettingsAnswer, TokenUsage};

use super::{Harness, HarnessError, Message};
use crate::conversation::messages::GetOverview;
use crate::conversation::transcript;
use crate::event::usage;
use crate::ids::RunId;
use crate::journal::{Position, Status, Totals};

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The position in its journal that the snapshot shows.
    pub position: Position,
    /// The status that was published last.
    pub status: Status,
    /// The run that is going.
    pub run: Option<RunId>,
    /// The queued messages, in the order in which they are sent: steering first.
    pub queue: Vec<QueueItem>,
    /// The settings, and the tools.
    pub settings: SettingsAnswer,
    /// The token counts so far.
    pub usage: TokenUsage,
    /// All sums so far.
    pub totals: Totals,
    /// The time when its last record was written, in milliseconds since the Unix epoch; 0 if there is none.
    pub active_at: u64,
}

impl Harness {
    /// The state of the conversation.
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

    /// The queued messages, in the order in which they are said: steering first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn queue(&self) -> Result<Vec<QueueItem>, HarnessError> {
        let overview = self.conversation.send(GetOverview).await??;
        Ok(in_order(&overview.totals.queue))
    }

    /// The past so far, oldest first, as messages in the API's format; files of prompts are only
    /// described. A part that was summarized is there in full, unless the journal was replaced by
    /// [`Self::compact`]: then it begins with the summary.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn messages(&self) -> Result<Vec<Message>, HarnessError> {
        let reading = self
            .thread
            .runtime()
            .spawn(transcript(self.journal.clone()));
        // An error means that the thread has ended, and the conversation with it.
        let values = reading.await.map_err(|_| HarnessError::Gone)??;
        Ok(values.into_iter().map(Message::from_value).collect())
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
