//! Jobs: that they were started and how they ended is put on record.

use harness_protocol::JobEnd;

use super::Machine;
use super::effect::Effect;
use crate::journal::Record;

impl Machine {
    /// Notes how jobs ended, of those that are open.
    pub(super) fn jobs_ended(&mut self, ended: Vec<(u64, JobEnd)>) -> Vec<Effect> {
        let open: Vec<u64> = self.ledger.open_jobs().collect();
        let ended = ended.into_iter().filter(|(job, _)| open.contains(job));
        ended
            .map(|(job, end)| self.note(Record::JobEnded { job, end }))
            .collect()
    }

    /// Ends the jobs that were found to be gone when the conversation was read back. That is put on record
    /// with the next thing that is, since looking writes nothing.
    pub(super) fn end_lost_jobs(&mut self) -> Vec<Effect> {
        let lost = self.ledger.take_lost_jobs();
        self.jobs_ended(lost)
    }
}
