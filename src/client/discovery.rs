//! Finds the running service of a state folder, and trusts only that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use derive_more::{Display, Error, From};
use harness_protocol::{Discovery, Health};

use super::connection::{Connection, RequestError};
use super::own_file::{self, FileError};
use crate::config::{ClientConfig, Secret, as_token};
use crate::lock::DISCOVERY_FILE;
use crate::state::TOKEN_FILE;

/// How long the service may take to prove itself. It does so without looking at anything.
const PROOF_TIMEOUT: Duration = Duration::from_secs(3);

/// Why there is no service to talk to.
#[derive(Debug, Display, Error, From)]
pub(super) enum DiscoveryError {
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
        /// What is wrong with it.
        reason: String,
    },
    /// Something listens there and does not say what it is.
    Silent(RequestError),
}

/// The running service. What it is shown later is shown to nothing else: whatever listens must
/// first prove that it wrote the file that names it.
///
/// # Errors
/// If there is none, or none that can be trusted.
pub(super) async fn find(config: &ClientConfig) -> Result<Connection, DiscoveryError> {
    let none = || DiscoveryError::None {
        home: config.home.clone(),
    };
    let path = config.home.join(DISCOVERY_FILE);
    let bytes = own_file::read(&path)?.ok_or_else(none)?;
    let malformed = |reason: String| DiscoveryError::Malformed {
        path: path.clone(),
        reason,
    };
    let named: Discovery =
        serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
    let address = named
        .address
        .parse()
        .map_err(|_| malformed("its address is none".to_owned()))?;
    let address = reachable(address);
    let stranger = Connection::new(address, None);
    let asked = stranger.get::<Health>("/healthz", &[]);
    let answer = tokio::time::timeout(PROOF_TIMEOUT, asked).await;
    match answer.unwrap_or(Err(RequestError::Silent { address })) {
        Ok(health) if health.status == "ok" && health.epoch == named.epoch => {
            Ok(Connection::new(address, token(config)))
        }
        Err(error @ RequestError::Silent { .. }) => Err(error.into()),
        // A service that died leaves the file behind, and then another program, or another
        // service of ours, may have its port.
        Ok(_) | Err(_) => Err(none()),
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
mod tests {
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::testing::{Home, Server, answer};

    async fn refusal(config: &ClientConfig) -> String {
        find(config).await.err().unwrap().to_string()
    }

    /// Spec: [CLI-02] [CLI-04]
    #[actix::test]
    async fn a_service_that_proves_itself_is_shown_the_token() {
        let server = Server::start().await;
        let home = Home::of(&server);
        std::fs::write(home.config.home.join("token"), "0123456789abcdef\n").unwrap();
        server.on("/v1/x", vec![answer(200, &json!({}))]);
        let connection = find(&home.config).await.unwrap();
        connection
            .get::<serde_json::Value>("/v1/x", &[])
            .await
            .unwrap();
        let requests = server.all_requests();
        assert!(requests[0].starts_with("GET /healthz "), "{requests:?}");
        assert!(!requests[0].contains("0123456789abcdef"));
        assert!(requests[1].contains("Bearer 0123456789abcdef"));
    }

    /// Spec: [CLI-02]
    #[actix::test]
    async fn a_file_that_is_missing_or_stale_means_that_no_service_runs() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let folder = home.config.home.display().to_string();
        let none = format!("no service runs for {folder}; start one with `harness serve`");

        home.write_discovery(&server.address.to_string(), "another epoch");
        assert_eq!(refusal(&home.config).await, none);

        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap().to_string();
        drop(closed);
        home.write_discovery(&address, "e1");
        assert_eq!(refusal(&home.config).await, none);

        std::fs::remove_file(home.config.home.join("service.json")).unwrap();
        assert_eq!(refusal(&home.config).await, none);
        assert!(
            server
                .requests()
                .iter()
                .all(|request| !request.contains("earer"))
        );
    }

    /// Spec: [CLI-66]
    #[actix::test]
    async fn what_listens_and_says_nothing_is_not_waited_for_long() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap().to_string();
        home.write_discovery(&address, "e1");
        tokio::time::pause();
        let start = tokio::time::Instant::now();
        let said = format!("the service at {address} does not answer");
        assert_eq!(refusal(&home.config).await, said);
        let waited = start.elapsed();
        assert!(waited < Duration::from_millis(3100), "{waited:?}");
    }

    /// Spec: [CLI-02]
    #[actix::test]
    async fn a_file_of_another_shape_is_named() {
        let server = Server::start().await;
        let home = Home::of(&server);
        home.write_discovery("here", "e1");
        assert!(
            refusal(&home.config)
                .await
                .contains("service.json is not as expected")
        );
    }

    /// Spec: [CLI-02]
    #[test]
    fn a_service_on_all_addresses_is_reached_on_this_machine() {
        for (given, reached) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("192.0.2.7:1", "192.0.2.7:1"),
        ] {
            let reached: SocketAddr = reached.parse().unwrap();
            assert_eq!(reachable(given.parse().unwrap()), reached);
        }
    }
}
