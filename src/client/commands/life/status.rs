//! `harness status`: what runs for a state folder, and where it is not what this shell says.

use std::time::Duration;

use harness_actors::Clock;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::api::discovery::VERSION;
use crate::client::api::routes;
use crate::client::commands::life::look::{FoundService, ServiceLook};
use crate::client::commands::life::status_text::{StatusFacts, text};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::remarks;
use crate::config::ClientConfig;
use crate::difference::{SettingDifference, differences};
use crate::visible;
use clap::Args;

/// Time that the service may take to list what waits for an answer.
const APPROVALS_PATIENCE: Duration = Duration::from_secs(2);

const STATUS_HELP: &str = "\
Examples:
  harness status                               what runs here, and where it differs from this shell
  harness status --json | jq .service.pid
  harness status > /dev/null || harness serve

Exit codes:
  0  a service runs and answers
  1  failed
  2  wrong use: a flag or a setting cannot be used
  3  no service runs
  4  one runs that does not answer, or that this version cannot talk to";

/// The flags of `harness status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub(crate) struct StatusArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Tells what runs; the exit code says it too.
///
/// # Errors
/// If it cannot be written.
pub(crate) async fn run(
    order: &StatusArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let look = ServiceLook::at(config).await;
    let (differing, problem) = compare(&look.found, config);
    let approvals = approvals(&look.found).await;
    if order.json {
        output.json(&as_json(&look, config, &differing, approvals))?;
    } else {
        let facts = StatusFacts {
            look: &look,
            home: &config.home,
            differing: &differing,
            approvals,
            now: Clock::system().unix_seconds(),
        };
        for line in text(&facts) {
            output.line(&visible::line(&line))?;
        }
    }
    if let Some(problem) = problem {
        output.note(&format!(
            "harness: this shell's settings are not compared: {problem}"
        ));
    }
    Ok(look.found.exit_code())
}

/// Where the service and this shell differ, or why that is not known.
fn compare(
    found: &FoundService,
    config: &ClientConfig,
) -> (Vec<SettingDifference>, Option<String>) {
    let (FoundService::Answers(connection), Some(info)) = (found, found.info()) else {
        return (Vec::new(), None);
    };
    match remarks::of_shell(&config.home, connection) {
        Ok(shell) => (differences(&info.settings, &shell), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

/// The number of approvals that wait in the service. `None` if it does not tell in time.
async fn approvals(found: &FoundService) -> Option<usize> {
    let FoundService::Answers(connection) = found else {
        return None;
    };
    let route = routes::all_approvals();
    let waiting = timeout(APPROVALS_PATIENCE, connection.ask(&route));
    let waiting = waiting.await.ok()?;
    Some(waiting.ok()?.approvals.len())
}

fn as_json(
    look: &ServiceLook,
    config: &ClientConfig,
    differing: &[SettingDifference],
    approvals: Option<usize>,
) -> Value {
    let ServiceLook { file, found } = look;
    json!({
        "state": found.word(),
        "reason": found.reason(),
        "version": VERSION,
        "home": config.home,
        "service": found.info(),
        "file": file.as_ref().map(|file| json!({
            "address": file.address, "pid": file.pid, "version": file.version,
        })),
        "differences": differing,
        "approvals": approvals,
    })
}
