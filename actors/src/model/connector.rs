//! How connections to the API are opened, below TLS and HTTP.

use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs as _};

use actix_service::{Service, always_ready};
use actix_tls::connect::{
    ConnectError, ConnectInfo, Connector, ConnectorService, Resolve, Resolver,
};
use awc::http::Uri;
use futures_util::future::LocalBoxFuture;

use crate::blocking;

/// Looks the address up and connects. What is written is sent at once: Nagle's algorithm would
/// hold the end of a large request back until the server has acknowledged what came before, which
/// takes a round trip, or 40 ms if the server delays its acknowledgements.
#[derive(Clone)]
pub(super) struct ApiConnector {
    connector: ConnectorService,
}

impl Default for ApiConnector {
    fn default() -> Self {
        let connector = Connector::new(Resolver::custom(Addresses)).service();
        Self { connector }
    }
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
        Box::pin(async move {
            let connection = connecting.await?;
            connection.set_nodelay(true).map_err(ConnectError::Io)?;
            Ok(connection)
        })
    }
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
            let connection = ApiConnector::default()
                .call(ConnectInfo::new(uri))
                .await
                .unwrap();
            assert!(connection.nodelay().unwrap(), "{host}");
        }
    }
}
