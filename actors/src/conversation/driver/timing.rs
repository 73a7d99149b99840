//! The durations of runs and thinking: from the time of one record to that of another.

use crate::journal::Record;
use crate::reply::BlockKind;

/// The times of the records that others are measured from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timing {
    /// Of the last record since the conversation was read back.
    last: Option<u64>,
    /// Of the beginning of the run.
    began: Option<u64>,
}

impl Timing {
    /// Completes a record that is written at a time, in milliseconds.
    pub(super) fn complete(&mut self, at: u64, record: &mut Record) {
        let since = |from: Option<u64>| from.map(|from| at.saturating_sub(from));
        if let Record::RunStarted { .. } = record {
            self.began = Some(at);
        } else if let Record::RunEnded { duration_ms, .. } = record {
            *duration_ms = since(self.began.take());
        } else if let Record::Block {
            block, duration_ms, ..
        } = record
            && let BlockKind::Thinking { .. } = block.kind()
        {
            *duration_ms = since(self.last);
        }
        self.last = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use harness_protocol::TokenUsage;
    use serde_json::json;

    use super::*;
    use crate::conversation::Ledger;
    use crate::ids::RunId;
    use crate::journal::Outcome;
    use crate::reply::Block;

    fn block(json: serde_json::Value) -> Record {
        Record::Block {
            index: 0,
            block: serde_json::from_value::<Block>(json).unwrap(),
            partial: false,
            duration_ms: None,
        }
    }

    fn ended() -> Record {
        Record::RunEnded {
            run: RunId(1),
            outcome: Outcome::Completed,
            message: String::new(),
            totals: Ledger::default().totals().clone(),
            run_usage: TokenUsage::default(),
            duration_ms: None,
            by: None,
        }
    }

    fn told(record: &Record) -> Option<u64> {
        let (Record::Block { duration_ms, .. } | Record::RunEnded { duration_ms, .. }) = record
        else {
            panic!("{record:?}");
        };
        *duration_ms
    }

    /// Spec: [CONV-260]
    #[test]
    fn a_run_and_its_thinking_are_measured_from_record_to_record() {
        let mut timing = Timing::default();
        let mut complete = |at, mut record: Record| {
            timing.complete(at, &mut record);
            told(&record)
        };
        // Of a run that was begun in another life it is not known.
        assert_eq!(complete(900, ended()), None);
        let started = serde_json::from_value(json!({"type": "run_started", "data": {"run": 1}}));
        let mut started: Record = started.unwrap();
        timing.complete(1_000, &mut started);
        let mut complete = |at, mut record: Record| {
            timing.complete(at, &mut record);
            told(&record)
        };
        let thinking = json!({"type": "thinking", "thinking": "so", "signature": "s"});
        assert_eq!(complete(15_000, block(thinking.clone())), Some(14_000));
        let text = json!({"type": "text", "text": "done"});
        assert_eq!(complete(16_000, block(text)), None);
        // The clock may have been set back.
        assert_eq!(complete(15_500, block(thinking)), Some(0));
        assert_eq!(complete(17_000, ended()), Some(16_000));
        assert_eq!(complete(18_000, ended()), None);
    }
}
