//! The commands that hooks run.

use crate::workflow::check_run::CheckRun;
use crate::workflow::manifest::ServiceCommand;

/// Runs a command where the check is made, as the workflow's own checks are run: contained, bounded, and ended
/// when the workflow is cancelled.
pub(super) type CommandRunner<'a> = &'a dyn Fn(&ServiceCommand) -> CheckRun;

/// The end of a command, in words.
pub(super) fn run_text(run: &CheckRun) -> String {
    if run.timed_out {
        return "its time was over".to_owned();
    }
    if run.cancelled {
        return "it was stopped".to_owned();
    }
    if let Some(why) = run.not_started.as_ref().or(run.over.as_ref()) {
        return why.clone();
    }
    match (run.exit, run.signal) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "it was ended from outside".to_owned(),
    }
}
