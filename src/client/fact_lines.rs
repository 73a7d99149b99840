//! The jobs and the rules of a conversation as lines, for the commands and for boxes of the terminal client.

use harness_protocol::{HeldRule, Job, JobList, Rules, words};

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::routes;
use crate::visible;

/// Number of characters of a command that are shown.
const MAX_SHOWN: usize = 200;

/// The line in place of jobs where none runs.
pub(super) const NO_JOBS: &str = "nothing runs in the background";

/// The lines of the jobs that run in a conversation, at a time in Unix seconds. Empty if none runs.
///
/// # Errors
/// If the service does not tell.
pub(super) async fn jobs(
    conversation: &str,
    service: &ServiceConnection,
    now: u64,
) -> Result<Vec<String>, RequestError> {
    let JobList { jobs } = service.ask(&routes::jobs(conversation)).await?;
    let mut lines = Vec::new();
    for job in jobs {
        let has_output = has_output(conversation, &job, service).await?;
        let facts = words::job_facts(now.saturating_sub(job.since), has_output);
        let command = visible::short(&job.command, MAX_SHOWN);
        lines.push(format!("{} {command} ({facts})", job.job));
    }
    Ok(lines)
}

/// True if a job has written something that can be shown.
async fn has_output(
    conversation: &str,
    job: &Job,
    service: &ServiceConnection,
) -> Result<bool, RequestError> {
    match service
        .text(&routes::output_start(conversation, &job.call))
        .await
    {
        Ok(start) => Ok(!start.is_empty()),
        // Nothing of the call is kept.
        Err(RequestError::Refused { status: 404, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The lines of the rules that hold in a conversation.
pub(super) fn rules(Rules { rules }: &Rules) -> Vec<String> {
    if rules.is_empty() {
        return vec!["no rules: the mode decides".to_owned()];
    }
    let line = |held: &HeldRule| {
        let folder = held.workspace.as_ref();
        let folder = folder.map_or_else(String::new, |folder| format!(" {folder}"));
        let by = words::by(held.by.as_deref());
        visible::line(&format!("{}{folder}{by}", words::rule(held)))
    };
    rules.iter().map(line).collect()
}
