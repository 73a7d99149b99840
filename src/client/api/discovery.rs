//! Finds the running service of a state folder, and trusts only that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use derive_more::{Display, Error, From};
use harness_protocol::{Discovery, PROTOCOL, ServiceInfo};

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::opened::NamedService;
use crate::client::api::own_file::{self, FileError};
use crate::client::api::routes;
use crate::config::{ClientConfig, Secret, as_token};
use crate::proof::ProofKey;
use crate::state_dir::TOKEN_FILE;
use crate::state_dir::lock::{self, DISCOVERY_FILE};

/// This program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why there is no service to talk to.
#[derive(Debug, Display, Error, From)]
pub(crate) enum DiscoveryError {
    /// None runs.
    #[display("no service runs for {}; start one with `harness serve`", home.display())]
    #[from(skip)]
    None {
        /// The state folder.
        home: PathBuf,
    },
    /// The file that names it cannot be used.
    File(FileError),
    /// The file that names it is of another shape.
    #[display("{} is not as expected: {reason}; restart the service", path.display())]
    #[from(skip)]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        reason: String,
    },
    /// One runs that is too old to prove itself.
    #[display(
        "the running service (process {pid}) is older than 0.2 and cannot prove what it is; this is {VERSION}: `harness stop` ends it, and the next start is of this version"
    )]
    #[from(skip)]
    Older {
        /// Its process.
        pid: u32,
    },
    /// Something listens there that is not the service, which runs all the same.
    #[display(
        "what listens at {address} is not the service (process {pid}) that uses {}; nothing was sent to it: is that address forwarded, or of another machine?", home.display()
    )]
    #[from(skip)]
    Unproven {
        /// Where it is.
        address: SocketAddr,
        /// The process of the service.
        pid: u32,
        /// The state folder.
        home: PathBuf,
    },
    /// The service speaks another language.
    #[display(
        "the running service is {} and this is {VERSION}, and they do not understand each other: `harness restart` starts this version in its place", info.version
    )]
    #[from(skip)]
    Incompatible {
        /// The service's description of itself.
        info: Box<ServiceInfo>,
    },
    /// The service does not answer, or does not let us in.
    Request(RequestError),
}

impl DiscoveryError {
    /// Whether the service may be there a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::None { .. } | Self::Unproven { .. } => true,
            Self::Request(error) => error.is_passing(),
            Self::File(_) | Self::Malformed { .. } | Self::Older { .. } => false,
            Self::Incompatible { .. } => false,
        }
    }
}

/// The running service: what listens where `service.json` says, once it has proved that it wrote
/// that file. Each connection to it proves that again, so that what is sent over it reaches
/// nothing else, also when the service dies and something else takes its port.
///
/// # Errors
/// If there is none, or none that can be trusted or understood.
pub(crate) async fn find(config: &ClientConfig) -> Result<ServiceConnection, DiscoveryError> {
    let none = || DiscoveryError::None {
        home: config.home.clone(),
    };
    let found = read(config)?.ok_or_else(none)?;
    let pid = found.pid;
    let is_running = || lock::is_held(&config.home).unwrap_or(false);
    let Some(key) = found.proof_key else {
        return Err(if is_running() {
            DiscoveryError::Older { pid }
        } else {
            none()
        });
    };
    let address = found.address.parse().map(reachable);
    let address = address.map_err(|_| malformed(config, "its address is none"))?;
    let named = NamedService {
        address,
        listens_on: found.address,
        key: ProofKey::from(Secret::from(key)),
    };
    let connection = ServiceConnection::new(named, token(config));
    match connection.ask(&routes::service()).await {
        Ok(info) if !info.protocol.overlaps(PROTOCOL) => Err(DiscoveryError::Incompatible {
            info: Box::new(info),
        }),
        Ok(info) => Ok(connection.with_info(info)),
        // A service that died leaves the file behind, and then another program, or another
        // service of ours, may have its port.
        Err(RequestError::Unproven { address }) if is_running() => Err(DiscoveryError::Unproven {
            address,
            pid,
            home: config.home.clone(),
        }),
        Err(RequestError::Unreachable { .. } | RequestError::Unproven { .. }) => Err(none()),
        Err(error) => Err(error.into()),
    }
}

/// The service that uses the state folder, or that used it last, as the folder names it.
///
/// # Errors
/// If the file cannot be read, or is of another shape.
pub(crate) fn read(config: &ClientConfig) -> Result<Option<Discovery>, DiscoveryError> {
    let Some(bytes) = own_file::read(&config.home.join(DISCOVERY_FILE))? else {
        return Ok(None);
    };
    let found = serde_json::from_slice(&bytes);
    found
        .map(Some)
        .map_err(|error| malformed(config, &error.to_string()))
}

fn malformed(config: &ClientConfig, reason: &str) -> DiscoveryError {
    DiscoveryError::Malformed {
        path: config.home.join(DISCOVERY_FILE),
        reason: reason.to_owned(),
    }
}

/// A service that listens on all addresses is reached on this machine's own.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The token that is set, or the one in the file. Without any the service may still take us: it
/// needs none from its owner's own processes.
fn token(config: &ClientConfig) -> Option<Secret> {
    config.token.clone().or_else(|| {
        let bytes = own_file::read(&config.home.join(TOKEN_FILE)).ok()??;
        as_token(str::from_utf8(&bytes).ok()?.trim_end())
    })
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
