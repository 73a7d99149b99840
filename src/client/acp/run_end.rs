//! The ends of runs as an editor is answered.

use std::collections::VecDeque;

use harness_protocol::{EndOutcome, words};

/// Number of ended runs that are remembered: an answer to a prompt may come after the end of its run.
const ENDED_RUNS: usize = 16;

/// The end of a prompt: the reason why the turn stopped, or an error.
pub(super) type PromptEnd = Result<&'static str, String>;

/// The end of a run. `stop_reason` is the reason why its last reply ended, in the API's words.
pub(super) fn prompt_end(outcome: EndOutcome, message: &str, stop_reason: &str) -> PromptEnd {
    match outcome {
        EndOutcome::Completed if words::is_limit(message) => Ok("max_turn_requests"),
        EndOutcome::Completed => Ok(match stop_reason {
            "max_tokens" | "model_context_window_exceeded" => "max_tokens",
            "refusal" => "refusal",
            _ => "end_turn",
        }),
        EndOutcome::Cancelled => Ok("cancelled"),
        EndOutcome::Error | EndOutcome::Interrupted | EndOutcome::Unknown => {
            Err(unusual_end(outcome, message))
        }
    }
}

/// The end of a run in which the service died.
pub(super) fn lost_run_end() -> PromptEnd {
    prompt_end(EndOutcome::Interrupted, "the service was stopped in it", "")
}

fn unusual_end(outcome: EndOutcome, message: &str) -> String {
    let name = words::outcome(outcome);
    if message.is_empty() {
        return format!("the run ended: {name}");
    }
    match outcome {
        EndOutcome::Error => words::with_way_on(message),
        _ if message.starts_with(name) => format!("the run ended: {message}"),
        _ => format!("the run ended: {name}: {message}"),
    }
}

/// The last runs that have ended.
#[derive(Debug, Default)]
pub(super) struct EndedRuns(VecDeque<(u64, PromptEnd)>);

impl EndedRuns {
    /// Remembers the end of a run.
    pub(super) fn add(&mut self, run: u64, end: PromptEnd) {
        self.0.push_back((run, end));
        if self.0.len() > ENDED_RUNS {
            self.0.pop_front();
        }
    }

    /// The end of a run, if it is one of the last.
    pub(super) fn end(&self, run: u64) -> Option<PromptEnd> {
        let mut ended = self.0.iter().rev();
        ended
            .find(|(other, _)| *other == run)
            .map(|(_, end)| end.clone())
    }
}
