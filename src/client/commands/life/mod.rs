//! The life of the service: whether it runs, its log, its end and its next start.
//!
//! Invariant: nothing here depends on the version of the service that runs.

mod arguments;
mod log_lines;
mod logs;
mod look;
mod restart;
mod status;
mod status_text;
mod stop;

use crate::client::commands::CommandError;
pub(crate) use crate::client::commands::life::arguments::Logs;
pub(crate) use crate::client::commands::life::arguments::Restart;
pub(crate) use crate::client::commands::life::arguments::Status;
pub(crate) use crate::client::commands::life::arguments::Stop;
pub(crate) use crate::client::commands::life::restart::RestartError;
pub(crate) use crate::client::commands::life::stop::StopError;
use crate::client::output::Output;
use crate::config::{Beside, ClientConfig, Config};

/// One of the commands of this part.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order<'a> {
    Status(&'a Status),
    Stop(&'a Stop),
    Restart(&'a Restart),
    Logs(&'a Logs),
}

/// Carries out one of the commands; the exit code.
///
/// # Errors
/// If it did not do what it was asked.
pub(crate) async fn run(
    order: Order<'_>,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    match order {
        Order::Status(order) => status::run(order, config, output).await,
        Order::Stop(order) => stop::run(order, config, output).await,
        Order::Restart(order) => restart::run(order, config, output).await,
        Order::Logs(order) => logs::run(order, config, output).await,
    }
}

/// The settings of the running service beside those of a configuration; none if no service runs.
/// One that does not answer is told on standard error, and not waited for.
pub(crate) fn beside(config: &Config) -> Option<Beside> {
    let client = ClientConfig::of(config);
    actix::System::new().block_on(async {
        match look::Look::quick(&client).await.found {
            look::Found::Answers(connection) => {
                let service = connection.info()?.settings.clone();
                let shell = config.values(|secret| connection.fingerprint(secret));
                Some(Beside::new(service, &shell))
            }
            look::Found::Nothing => None,
            found => {
                let reason = found.reason().unwrap_or_default();
                Output::of_process().note(&format!(
                    "harness: {reason}; only the settings of this shell are shown"
                ));
                None
            }
        }
    })
}
