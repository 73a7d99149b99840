//! The end of a run of an iteration's conversation, read from that conversation's journal.

use harness_protocol::TokenUsage;

use super::idle::Idle;
use crate::budget::{self, PriceList};
use crate::conversation::Reading;
use crate::ids::RunId;
use crate::journal::{Journal, Outcome, Record, Totals};
use crate::reply::BlockKind;
use crate::storage::StorageError;
use crate::workflow::facts::{Spent, tail};
use crate::workflow::machine::{FoundRun, RunEnd, RunStatus};

/// The fate of the prompt with that key.
///
/// # Errors
/// When the storage cannot be read.
pub(super) async fn find(
    journal: &dyn Journal,
    key: &str,
    prices: &dyn PriceList,
) -> Result<FoundRun, StorageError> {
    let looked = RunSums::all(journal, key, prices).await?;
    Ok(match (looked.run, looked.ended) {
        (None, _) => FoundRun::NotSent,
        (Some(_), None) => FoundRun::Open,
        (Some(_), Some(ended)) => FoundRun::Ended(ended),
    })
}

/// The end of a run that is not continued, although a crash left it open. `now` are the sums of its conversation.
///
/// # Errors
/// When the storage cannot be read.
pub(super) async fn given_up(
    journal: &dyn Journal,
    key: &str,
    now: &Totals,
    prices: &dyn PriceList,
) -> Result<RunEnd, StorageError> {
    let looked = RunSums::all(journal, key, prices).await?;
    Ok(looked.ended.unwrap_or_else(|| RunEnd {
        status: RunStatus::Cancelled,
        spent: spent(&looked.before, now, looked.active_ms, prices),
        last_text: tail(&looked.text).to_owned(),
    }))
}

/// The usage since the prompt with that key, up to the sums of now.
///
/// # Errors
/// When the storage cannot be read.
pub(super) async fn spent_so_far(
    journal: &dyn Journal,
    key: &str,
    now: &Totals,
    prices: &dyn PriceList,
) -> Result<Spent, StorageError> {
    let looked = RunSums::all(journal, key, prices).await?;
    Ok(spent(&looked.before, now, 0, prices))
}

/// The sums of the records up to one.
#[derive(Default)]
struct RunSums {
    run: Option<RunId>,
    /// The time at which the present run began.
    began: u64,
    /// Time that its runs worked, without the waits to ask again, in milliseconds.
    active_ms: u64,
    idle: Idle,
    /// The time of the last record.
    last_at: u64,
    /// The sums before the run.
    before: Totals,
    /// The sums at the last run's end.
    totals: Totals,
    text: String,
    ended: Option<RunEnd>,
}

impl RunSums {
    async fn all(
        journal: &dyn Journal,
        key: &str,
        prices: &dyn PriceList,
    ) -> Result<Self, StorageError> {
        let mut looked = Self::default();
        let mut reading = Reading::new(journal, 0, journal.end().seq);
        while let Some(entries) = reading.next().await? {
            for entry in entries {
                looked.add(entry.at, entry.record, key, prices);
            }
        }
        Ok(looked)
    }

    fn add(&mut self, at: u64, record: Record, wanted: &str, prices: &dyn PriceList) {
        let last_at = std::mem::replace(&mut self.last_at, at);
        self.idle.add(at, &record);
        if let Record::RunStarted { .. } = &record {
            self.began_at(at);
        }
        if let Record::Prompt { run, key, .. } = &record
            && key.as_deref() == Some(wanted)
            && self.run.is_none()
        {
            self.run = Some(*run);
            self.began_at(at);
            self.active_ms = 0;
            self.before = self.totals.clone();
        } else if let Record::Block { block, .. } = &record {
            if let BlockKind::Text(text) = block.kind() {
                text.clone_into(&mut self.text);
            }
        } else if let Record::RunEnded {
            outcome,
            message,
            totals,
            ..
        } = record
        {
            self.totals = totals;
            if self.run.is_none() || self.is_told() {
                return;
            }
            // A service that died worked until its last record.
            let until = match outcome {
                Outcome::Interrupted => last_at,
                Outcome::Completed | Outcome::Cancelled | Outcome::Error => at,
            };
            let took = until.saturating_sub(self.began);
            self.active_ms += took.saturating_sub(self.idle.ms_at(until));
            // A run that the service left is continued: what ended then counts.
            if outcome == Outcome::Interrupted {
                self.ended = None;
                return;
            }
            let (status, text) = match outcome {
                Outcome::Completed => (RunStatus::Completed, std::mem::take(&mut self.text)),
                Outcome::Cancelled => (RunStatus::Cancelled, std::mem::take(&mut self.text)),
                Outcome::Error | Outcome::Interrupted => (RunStatus::Failed, message),
            };
            self.ended = Some(RunEnd {
                status,
                spent: spent(&self.before, &self.totals, self.active_ms, prices),
                last_text: tail(&text).to_owned(),
            });
        }
    }

    fn began_at(&mut self, at: u64) {
        self.began = at;
        self.idle = Idle::default();
    }

    fn is_told(&self) -> bool {
        let status = self.ended.as_ref().map(|ended| ended.status);
        matches!(status, Some(RunStatus::Completed | RunStatus::Cancelled))
    }
}

/// The difference between two sums. Requests whose usage is not known cost as much as they possibly can.
pub(super) fn spent(
    before: &Totals,
    now: &Totals,
    active_ms: u64,
    prices: &dyn PriceList,
) -> Spent {
    let unsettled = now
        .unsettled_micro_usd
        .saturating_sub(before.unsettled_micro_usd);
    let used = used(before, now, active_ms, prices);
    Spent {
        cost_micro_usd: used.cost_micro_usd.saturating_add(unsettled),
        ..used
    }
}

/// The difference between two sums, of the usage that is known.
pub(super) fn used(before: &Totals, now: &Totals, active_ms: u64, prices: &dyn PriceList) -> Spent {
    let mut used = Spent::time(active_ms);
    for (model, counts) in budget::used(&before.models, now) {
        used.tokens += tokens(counts.usage) + tokens(counts.long);
        used.cost_micro_usd += prices.cost(model, &counts).unwrap_or_default();
    }
    used
}

fn tokens(usage: TokenUsage) -> u64 {
    usage.input_tokens
        + usage.output_tokens
        + usage.cache_creation_input_tokens
        + usage.cache_read_input_tokens
}
