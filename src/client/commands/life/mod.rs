//! The life of the service: whether it runs, its log, its end and its next start.
//!
//! Invariant: nothing here depends on the version of the service that runs.

pub(crate) mod error;
mod log_lines;
pub(super) mod logs;
mod look;
pub(super) mod restart;
pub(super) mod status;
mod status_text;
pub(super) mod stop;
mod work;

use crate::cli::color::ColorFlag;
use crate::client::commands::life::look::{FoundService, ServiceLook};
use crate::client::output::Output;
use crate::config::{ClientConfig, LoadedConfig, RunningSettings};

/// The settings of the running service beside those of a configuration; none if no service runs.
/// One that does not answer is named on standard error, and not waited for.
pub(crate) fn beside(config: &LoadedConfig) -> Option<RunningSettings> {
    let client = ClientConfig::from_config(config);
    actix::System::new().block_on(async {
        match ServiceLook::quick(&client).await.found {
            FoundService::Answers(connection) => {
                let service = connection.info()?.settings.clone();
                let shell = config.values(|secret| connection.fingerprint(secret));
                Some(RunningSettings::new(service, &shell))
            }
            FoundService::Nothing => None,
            found => {
                let reason = found.reason().unwrap_or_default();
                Output::of_process(ColorFlag::default()).note(&format!(
                    "harness: {reason}; only the settings of this shell are shown"
                ));
                None
            }
        }
    })
}
