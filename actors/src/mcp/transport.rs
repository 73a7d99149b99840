//! The pipes to a server, with bounds on what it can make the service hold.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;

use super::process::ServerPipes;

/// Maximum length of a line of a server, in bytes. A longer one is dropped.
const MAX_LINE: usize = 8 * 1024 * 1024;
/// Maximum number of messages that wait to be written: a server that asks and does not read is ended.
const MAX_UNREAD: usize = 64;

/// The pipes to a server.
pub(super) struct BoundedTransport {
    inner: AsyncRwTransport<RoleClient, pipe::Receiver, pipe::Sender>,
    unread: Arc<Semaphore>,
}

impl BoundedTransport {
    /// Takes the pipes. Called on the thread of servers.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn new(pipes: ServerPipes) -> io::Result<Self> {
        let output = pipe::Receiver::from_owned_fd(pipes.output.into())?;
        let input = pipe::Sender::from_owned_fd(pipes.input.into())?;
        let inner = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_LINE);
        Ok(Self {
            inner,
            unread: Arc::new(Semaphore::new(MAX_UNREAD)),
        })
    }
}

impl Transport<RoleClient> for BoundedTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let place = Arc::clone(&self.unread).try_acquire_owned();
        let sending = self.inner.send(item);
        async move {
            let _place = place.map_err(|_| io::Error::other("it does not read its input"))?;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self.unread.available_permits() {
            0 => None,
            _ => self.inner.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}
