//! How connections to the API are opened, below TLS and HTTP.

use std::io;
use std::time::Duration;

use actix_service::{Service, always_ready};
use actix_tls::connect::{ConnectError, ConnectInfo, ConnectorService};
use awc::http::Uri;
use futures_util::future::LocalBoxFuture;

use crate::limit::within;

/// Looks the address up and connects. What is written is sent at once: Nagle's algorithm would
/// hold the end of a large request back until the server has acknowledged what came before, which
/// takes a round trip, or 40 ms if the server delays its acknowledgements.
#[derive(Clone)]
pub(super) struct ApiConnector {
    connector: ConnectorService,
    limit: Duration,
}

impl ApiConnector {
    /// A connector that gives up after that time.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            connector: ConnectorService::default(),
            limit,
        }
    }
}

/// Says that there was no connection in time.
pub(super) fn no_connection(limit: Duration) -> String {
    format!("no connection within {limit:?}")
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
            let connection = ApiConnector::new(Duration::from_secs(10))
                .call(ConnectInfo::new(uri))
                .await
                .unwrap();
            assert!(connection.nodelay().unwrap(), "{host}");
        }
    }
}
