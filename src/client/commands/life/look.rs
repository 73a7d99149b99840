//! The known state of the service of a state folder, whatever its version and
//! its health.

use std::time::Duration;

use harness_protocol::{Discovery, ServiceInfo};
use tokio::time::timeout;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery::{self, DiscoveryError};
use crate::config::ClientConfig;
use crate::state_dir::lock;

/// How long the service may take to say what it is.
const PATIENCE: Duration = Duration::from_millis(3500);
/// How long it may, for a command that is about something else.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// The result of a look.
pub(crate) struct ServiceLook {
    /// The folder's entry about the service, which may be stale.
    pub(crate) file: Option<Discovery>,
    /// The service itself.
    pub(crate) found: FoundService,
}

/// The service, by what it shows of itself.
pub(crate) enum FoundService {
    /// It has proved itself and is understood.
    Answers(Box<ServiceConnection>),
    /// It has proved itself, and speaks another language.
    Other(Box<ServiceInfo>),
    /// It is too old to prove itself.
    Older(String),
    /// It uses the folder and does not show itself; why.
    Unhealthy(String),
    /// None runs.
    Nothing,
}

impl ServiceLook {
    /// Looks for the service, with the patience of a person who asks for it.
    pub(crate) async fn at(config: &ClientConfig) -> Self {
        Self::within(config, PATIENCE).await
    }

    /// Looks for the service, with little patience.
    pub(crate) async fn quick(config: &ClientConfig) -> Self {
        Self::within(config, IMPATIENCE).await
    }

    async fn within(config: &ClientConfig, limit: Duration) -> Self {
        let file = discovery::read(config).ok().flatten();
        let found = timeout(limit, discovery::find(config)).await;
        // Asked behind it: a service that has just ended is not one that does not answer.
        let is_held = lock::is_held(&config.home).unwrap_or(false);
        let address = file.as_ref().map(|file| file.address.clone());
        let found = FoundService::from_answer(found.ok(), is_held, address.as_deref());
        Self { file, found }
    }
}

impl FoundService {
    /// Puts together what was answered, if there was an answer in time, and whether a process uses
    /// the folder.
    fn from_answer(
        found: Option<Result<ServiceConnection, DiscoveryError>>,
        is_held: bool,
        address: Option<&str>,
    ) -> Self {
        match found {
            Some(Ok(connection)) => Self::Answers(Box::new(connection)),
            Some(Err(DiscoveryError::Incompatible { info })) => Self::Other(info),
            Some(Err(error @ DiscoveryError::Older { .. })) => Self::Older(error.to_string()),
            Some(_) | None if !is_held => Self::Nothing,
            Some(Err(DiscoveryError::None { .. })) => Self::Unhealthy(match address {
                Some(address) => format!("the service uses the folder, and nothing answers at {address}"),
                None => "a process uses the folder and does not say where it listens: it is starting, stopping, or `harness doctor --repair`".to_owned(),
            }),
            Some(Err(error)) => Self::Unhealthy(error.to_string()),
            None => Self::Unhealthy(format!(
                "the service at {} does not answer",
                address.unwrap_or("an unknown address")
            )),
        }
    }

    /// The service's description of itself.
    pub(crate) fn info(&self) -> Option<&ServiceInfo> {
        match self {
            Self::Answers(connection) => connection.info(),
            Self::Other(info) => Some(info),
            Self::Older(_) | Self::Unhealthy(_) | Self::Nothing => None,
        }
    }

    /// The exit code of `harness status`.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Answers(_) => 0,
            Self::Nothing => 3,
            Self::Other(_) | Self::Older(_) | Self::Unhealthy(_) => 4,
        }
    }

    /// The state in a word, for scripts.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Answers(_) => "running",
            Self::Nothing => "none",
            Self::Other(_) | Self::Older(_) => "other_version",
            Self::Unhealthy(_) => "unhealthy",
        }
    }

    /// Why it cannot be used, in one line.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Answers(_) | Self::Nothing => None,
            Self::Other(info) => {
                let info = info.clone();
                Some(DiscoveryError::Incompatible { info }.to_string())
            }
            Self::Older(reason) | Self::Unhealthy(reason) => Some(reason.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::client::api::connection::RequestError;
    use crate::client::testing::{Home, Server};

    fn none() -> DiscoveryError {
        DiscoveryError::None {
            home: PathBuf::from("/h"),
        }
    }

    fn decided(
        found: Option<Result<ServiceConnection, DiscoveryError>>,
        is_held: bool,
    ) -> (i32, String) {
        let found = FoundService::from_answer(found, is_held, Some("127.0.0.1:1"));
        let reason = found.reason().unwrap_or_default();
        (found.exit_code(), format!("{}: {reason}", found.word()))
    }

    /// Spec: [CLI-92]
    #[actix::test]
    async fn the_exit_code_tells_what_runs_from_what_does_not_and_from_what_is_ill() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let connection = discovery::find(&home.config).await.unwrap();
        let info = Box::new(connection.info().unwrap().clone());
        assert_eq!(
            decided(Some(Ok(connection)), true),
            (0, "running: ".to_owned())
        );
        let silent = || RequestError::Silent {
            address: "127.0.0.1:1".parse().unwrap(),
        };
        for is_gone in [Some(Err(none())), Some(Err(silent().into())), None] {
            assert_eq!(decided(is_gone, false), (3, "none: ".to_owned()));
        }
        for (found, said) in [
            (
                Some(Err(none())),
                "unhealthy: the service uses the folder, and nothing answers at",
            ),
            (
                Some(Err(silent().into())),
                "unhealthy: the service at 127.0.0.1:1 does not answer",
            ),
            (
                None,
                "unhealthy: the service at 127.0.0.1:1 does not answer",
            ),
            (
                Some(Err(DiscoveryError::Older { pid: 7 })),
                "other_version: the running service (process 7) is older",
            ),
            (
                Some(Err(DiscoveryError::Incompatible { info })),
                "other_version: the running service is ",
            ),
        ] {
            let (code, text) = decided(found, true);
            assert_eq!(code, 4, "{text}");
            assert!(text.starts_with(said), "{text}");
        }
    }
}
