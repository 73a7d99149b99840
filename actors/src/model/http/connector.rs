//! Opens connections to the API, below TLS and HTTP.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use actix_service::{Service, always_ready};
use actix_tls::connect::{
    ConnectError, ConnectInfo, Connector, ConnectorService, Resolve, Resolver,
};
use awc::http::Uri;
use futures_util::future::LocalBoxFuture;

use crate::blocking;
use crate::limit::within;
use crate::model::is_private;

/// Looks the address up and connects. What is written is sent at once: Nagle's algorithm would
/// hold the end of a large request back until the server has acknowledged what came before, which
/// takes a round trip, or 40 ms if the server delays its acknowledgements. Without TLS the address
/// that a name led to is checked before anything is sent.
#[derive(Clone)]
pub(super) struct ApiConnector {
    connector: ConnectorService,
    limit: Duration,
}

impl ApiConnector {
    /// A connector that gives up after that time.
    pub(super) fn new(limit: Duration) -> Self {
        let connector = Connector::new(Resolver::custom(Addresses)).service();
        Self { connector, limit }
    }
}

/// The error for a connection that was not made in time.
pub(super) fn no_connection(limit: Duration) -> String {
    format!("no connection within {limit:?}")
}

/// Looks addresses up as the system does, which may take long.
struct Addresses;

impl Resolve for Addresses {
    fn lookup<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> LocalBoxFuture<'a, Result<Vec<SocketAddr>, Box<dyn Error>>> {
        let host = host.to_owned();
        let looked = blocking(move || (host.as_str(), port).to_socket_addrs());
        Box::pin(async move { Ok(looked.await??.collect()) })
    }
}

impl Service<ConnectInfo<Uri>> for ApiConnector {
    type Response = <ConnectorService as Service<ConnectInfo<Uri>>>::Response;
    type Error = ConnectError;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    always_ready!();

    fn call(&self, info: ConnectInfo<Uri>) -> Self::Future {
        let connecting = self.connector.call(info);
        let limit = self.limit;
        Box::pin(async move {
            let connection = within(limit, connecting).await;
            let late = || io::Error::new(io::ErrorKind::TimedOut, no_connection(limit));
            let connection = connection.ok_or_else(|| ConnectError::Io(late()))??;
            let address = connection.peer_addr().map_err(ConnectError::Io)?.ip();
            if connection.request().scheme_str() == Some("http") && !may_read(address) {
                let reason = format!("{address} is on no private network, and there is no TLS");
                return Err(ConnectError::Io(io::Error::other(reason)));
            }
            connection.set_nodelay(true).map_err(ConnectError::Io)?;
            Ok(connection)
        })
    }
}

/// True if only this machine or a private network reads what is sent to the address in clear.
fn may_read(address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || is_private(address)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Spec: [MODEL-76]
    #[actix::test]
    async fn what_is_written_to_the_api_does_not_wait_for_acknowledgements() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for host in ["127.0.0.1", "localhost"] {
            let port = listener.local_addr().unwrap().port();
            let uri: Uri = format!("http://{host}:{port}/v1/messages").parse().unwrap();
            let connection = ApiConnector::new(Duration::from_secs(10))
                .call(ConnectInfo::new(uri))
                .await
                .unwrap();
            assert!(connection.nodelay().unwrap(), "{host}");
        }
    }

    /// Spec: [MODEL-64]
    #[test]
    fn what_is_not_encrypted_is_sent_to_this_machine_and_to_private_networks_only() {
        for near in [
            "127.8.0.1",
            "::1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.9",
            "169.254.7.7",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(may_read(near.parse().unwrap()), "{near}");
        }
        for far in [
            "8.8.8.8",
            "172.32.0.1",
            "100.64.0.1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "0.0.0.0",
        ] {
            assert!(!may_read(far.parse().unwrap()), "{far}");
        }
    }
}
