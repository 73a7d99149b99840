//! The results of runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_protocol::{Event, TokenUsage};

use super::HarnessError;
use super::follow::{ConversationFollower, FollowerPlace, Followers};
use crate::broadcast::messages::Publish;
use crate::conversation::messages::RunOutcome;
use crate::ids::RunId;

/// The result of a run that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The text of the model's last reply in the run; empty if that has none.
    pub text: String,
    /// The outcome of the run.
    pub outcome: ReplyOutcome,
    /// The tokens of the whole run.
    pub usage: TokenUsage,
    /// The run.
    pub run: RunId,
}

/// The outcome of a run that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyOutcome {
    /// The model was done.
    Completed,
    /// The run ended before the model was done: a limit was reached, or the model refused.
    EndedEarly {
        /// The limit, and the way to continue.
        remark: String,
    },
}

impl ReplyOutcome {
    /// True if the model was done.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }

    /// The reason why the run ended before the model was done. `None` if it was done.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::EndedEarly { remark } => Some(remark),
        }
    }
}

/// Gathers the results of runs, for a caller that waits for the reply of one of them.
pub(super) struct Gathering {
    seen: Arc<SeenRuns>,
    _place: FollowerPlace,
}

#[derive(Default)]
struct SeenRuns(Mutex<RunReplies>);

#[derive(Default)]
struct RunReplies {
    /// The text of the last reply so far.
    text: String,
    /// The runs that have ended, with their last text.
    ended: Vec<(RunId, String, TokenUsage)>,
}

impl SeenRuns {
    fn lock(&self) -> MutexGuard<'_, RunReplies> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConversationFollower for SeenRuns {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "watches: what a reply is made of"
    )]
    fn take(&self, shown: &Publish) {
        let Publish::Lasting { event, .. } = shown else {
            return;
        };
        let mut runs = self.lock();
        match event {
            Event::RunStarted { .. } | Event::TurnStarted { .. } => runs.text.clear(),
            Event::Text { content, .. } => runs.text.push_str(content),
            Event::RunEnded {
                run_id, run_usage, ..
            } => {
                let text = std::mem::take(&mut runs.text);
                runs.ended.push((RunId(*run_id), text, *run_usage));
            }
            _ => {}
        }
    }
}

impl Gathering {
    /// Begins; to be done before the run is asked for.
    pub(super) fn begin(followers: &Followers) -> Self {
        let seen = Arc::<SeenRuns>::default();
        let place = followers.add(seen.clone());
        Self {
            seen,
            _place: place,
        }
    }

    /// The reply of a run that has ended and whose events were delivered.
    pub(super) fn reply(
        &self,
        run: RunId,
        outcome: Option<RunOutcome>,
    ) -> Result<Reply, HarnessError> {
        let outcome = match outcome {
            Some(RunOutcome::Ended { remark }) if remark.is_empty() => ReplyOutcome::Completed,
            Some(RunOutcome::Ended { remark }) => ReplyOutcome::EndedEarly { remark },
            Some(RunOutcome::Cancelled) => return Err(HarnessError::Cancelled),
            Some(RunOutcome::Failed(failure)) => return Err(HarnessError::Failed(failure)),
            Some(RunOutcome::NotKept(reason)) => return Err(HarnessError::NotKept(reason.into())),
            None => return Err(HarnessError::Gone),
        };
        let runs = self.seen.lock();
        let mut ended = runs.ended.iter();
        let found = ended.find(|(ended, ..)| *ended == run);
        let (_, text, usage) = found.ok_or(HarnessError::Gone)?;
        Ok(Reply {
            text: text.clone(),
            outcome,
            usage: *usage,
            run,
        })
    }
}
