//! Jobs: that they were started and how they ended is put on record, and an end may begin a run.

use harness_protocol::{Queue, RunRules};

use super::Machine;
use super::effect::Effect;
use crate::journal::{Activity, Record};
use crate::tool::EndedJob;

impl Machine {
    /// Notes how jobs ended, of those that are open. An idle conversation begins a run for that
    /// where its setting `wake` says so.
    pub(super) fn jobs_ended(&mut self, ended: Vec<EndedJob>) -> Vec<Effect> {
        let mut effects = self.note_job_ends(ended);
        if !effects.is_empty() {
            effects.extend(self.wake());
        }
        effects
    }

    fn note_job_ends(&mut self, ended: Vec<EndedJob>) -> Vec<Effect> {
        let open: Vec<u64> = self.ledger.open_jobs().collect();
        let ended = ended.into_iter().filter(|ended| open.contains(&ended.job));
        let record = |EndedJob { job, end, changes }| Record::JobEnded { job, end, changes };
        ended.map(|ended| self.note(record(ended))).collect()
    }

    /// Ends the jobs that were found to be gone when the conversation was read back. That is put on record
    /// with the next thing that is, since looking writes nothing.
    pub(super) fn end_lost_jobs(&mut self) -> Vec<Effect> {
        let lost = self.ledger.take_lost_jobs();
        self.note_job_ends(lost)
    }

    /// Begins a run whose first request has the ends of jobs in place of a prompt. The requests of
    /// such runs and those since the last prompt are together at most as many as those of one run.
    fn wake(&mut self) -> Vec<Effect> {
        let settings = self.settings().over(&self.planner.defaults.settings);
        let asked = self.ledger.asked_since_prompt();
        let is_idle = self.check_idle().is_ok() && self.ledger.run().is_none();
        // A job must not begin a run that may do more than the run that started it.
        let is_free = is_idle && !self.ledger.has_run_rules();
        let may_begin = settings.wake && is_free && asked < settings.max_turns;
        let first = self.ledger.due_job_ends().into_iter().next();
        let Some(job) = first.filter(|_| may_begin) else {
            return vec![];
        };
        // Without a system prompt there are no requests; the next prompt says why.
        let Ok((run, mut effects)) = self.begin(None) else {
            return vec![];
        };
        if let Some(run) = &mut self.run {
            run.asked = asked;
        }
        effects.push(self.note(Record::RunStarted {
            run,
            by: Some(format!("job {job}")),
            rules: RunRules::default(),
            spending_limit_micro_usd: None,
            schema: None,
        }));
        effects.extend(self.drain(Queue::Steer));
        effects.push(self.status(Activity::Thinking, ""));
        effects.extend(self.ask());
        effects
    }
}
