//! `harness jobs`: shows what runs in the background of a conversation, and stops it.

use clap::{Args, Subcommand};
use harness_actors::Clock;
use harness_protocol::{JobList, StopJobAnswer, StopJobOrder, words};

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{ChangingArgs, CommonArgs};
use crate::client::error::CommandError;
use crate::client::fact_lines::{self, NO_JOBS};
use crate::client::output::Output;
use crate::visible;

const JOBS_HELP: &str = "\
Examples:
  harness jobs                                 what runs in the background
  harness jobs stop 2                          end job 2";

/// The flags of `harness jobs`.
#[derive(Debug, Args)]
#[command(after_help = exits(JOBS_HELP, "done, also if the job had ended before", "failed, there is no such job, or no service runs", None))]
pub(crate) struct JobsArgs {
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: WithoutSubcommand<CommonArgs>,
    /// The action; shows the jobs that run if left out.
    #[command(subcommand)]
    pub(super) action: Option<JobAction>,
}

/// The actions on jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobAction {
    /// Ask a job to end, and end it
    Stop(StopJobArgs),
}

/// The flags of `harness jobs stop`.
#[derive(Debug, Args)]
pub(crate) struct StopJobArgs {
    /// The number of the job
    #[arg(value_name = "JOB")]
    pub(super) job: u64,
    /// The name of the client that stops it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Shows what runs, or stops it.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    jobs: &JobsArgs,
    service: &ServiceConnection,
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    match &jobs.action {
        None if jobs.common.json => {
            let list = (routes::jobs, "jobs");
            jobs.common
                .list(list, service, output, |_: JobList| vec![])
                .await
        }
        None => {
            let conversation = jobs.common.which.find(service).await?;
            let now = clock.unix_seconds();
            let lines = fact_lines::jobs(&conversation, service, now).await?;
            if lines.is_empty() {
                output.line(NO_JOBS)?;
            }
            for line in lines {
                output.line(&line)?;
            }
            Ok(())
        }
        Some(JobAction::Stop(StopJobArgs { job, changing })) => {
            let ChangingArgs { caller, common } = changing;
            let by = caller.name();
            let order = StopJobOrder { by };
            let route = |conversation: &str| routes::stop_job(conversation, *job, &order);
            common.show(route, service, output, ended).await
        }
    }
}

fn ended(StopJobAnswer { job, end }: StopJobAnswer) -> Vec<String> {
    let how = visible::line(&words::job_end(&end));
    vec![format!("job {job}: {how}")]
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, clock, recorded};

    /// Spec: [CLI-122] [CLI-637]
    #[actix::test]
    async fn what_runs_is_shown_and_stopped() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let since = clock().unix_seconds() - 185;
        let jobs = json!({"jobs": [
            {"job": 2, "call": "a", "command": "cargo watch\n-x test", "since": since},
            {"job": 3, "call": "b", "command": "sleep 60", "since": since + 180},
        ]});
        server.on(
            "/v1/conversations/default/calls/a/output",
            vec![answer(200, &json!(1))],
        );
        let kept_nothing = json!({"type": "about:blank", "title": "t", "status": 404,
            "detail": "no output of this call is kept", "request_id": "r"});
        server.on(
            "/v1/conversations/default/calls/b/output",
            vec![answer(404, &kept_nothing)],
        );
        let listed = answer(200, &jobs);
        let none = answer(200, &json!({"jobs": []}));
        server.on(
            "/v1/conversations/default/jobs",
            vec![listed.clone(), none, listed],
        );
        let stopped = json!({"job": 2, "how": "stopped", "by": "ana"});
        server.on(
            "/v1/conversations/default/jobs/2/stop",
            vec![answer(200, &stopped)],
        );
        for (arguments, first_line, printed) in [
            (
                &["jobs"][..],
                "GET /v1/conversations/default/calls/b/output?bytes=0-0 HTTP/1.1",
                "2 cargo watch\\n-x test (3 min 5 s, output)\n3 sleep 60 (5 s, no output yet)\n"
                    .to_owned(),
            ),
            (
                &["jobs"],
                "GET /v1/conversations/default/jobs HTTP/1.1",
                "nothing runs in the background\n".to_owned(),
            ),
            (
                &["jobs", "--json"],
                "GET /v1/conversations/default/jobs HTTP/1.1",
                format!("{}\n", json!({"items": jobs["jobs"]})),
            ),
            (
                &["jobs", "stop", "2", "--name", "ana"],
                "POST /v1/conversations/default/jobs/2/stop HTTP/1.1",
                "job 2: stopped by ana\n".to_owned(),
            ),
        ] {
            let line = ["harness"].iter().chain(arguments);
            let Some(ProgramCommand::Client(ClientCommand::Jobs(jobs))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&jobs, &home.service().await, clock(), &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert_eq!(request.lines().next(), Some(first_line));
        }
        assert!(
            server
                .requests()
                .pop()
                .unwrap()
                .ends_with(r#"{"by":"ana"}"#)
        );
    }
}
