//! The pipes to a server, with bounds on what it can make the service hold.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientResult, ErrorCode, ErrorData, JsonRpcMessage, JsonRpcRequest, ServerRequest,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout, timeout_at};

use super::process::ServerPipes;

/// Maximum length of a line of a server, in bytes. A longer one is dropped.
const MAX_LINE: usize = 8 * 1024 * 1024;
/// Time in which a server that asks something has to read the answer. Then the connection ends.
const READ_TIME: Duration = Duration::from_secs(5);
/// Time for the last message to be written when the connection ends.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// The pipes to a server.
///
/// Requests of the server are answered here, one after the other: what it asks and does not read is not held.
pub(super) struct BoundedTransport {
    inner: AsyncRwTransport<RoleClient, pipe::Receiver, pipe::Sender>,
    answer: Option<WrittenAnswer>,
}

/// An answer that is being written.
struct WrittenAnswer {
    since: Instant,
    writing: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
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
            answer: None,
        })
    }
}

impl Transport<RoleClient> for BoundedTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // This may be dropped and asked again at each wait.
            if let Some(WrittenAnswer { since, writing }) = &mut self.answer {
                let written = timeout_at(*since + READ_TIME, writing).await;
                self.answer = None;
                written.ok()?.ok()?;
            }
            match self.inner.receive().await? {
                JsonRpcMessage::Request(request) => {
                    let writing = Box::pin(self.inner.send(answer(request)));
                    let since = Instant::now();
                    self.answer = Some(WrittenAnswer { since, writing });
                }
                message @ (JsonRpcMessage::Response(_)
                | JsonRpcMessage::Notification(_)
                | JsonRpcMessage::Error(_)) => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A message that the server does not read holds its input.
        self.answer = None;
        let closing = timeout(CLOSE_TIME, self.inner.close()).await;
        closing.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The answer to a request of a server. It was offered nothing that it could ask for.
fn answer(request: JsonRpcRequest<ServerRequest>) -> TxJsonRpcMessage<RoleClient> {
    if matches!(request.request, ServerRequest::PingRequest(_)) {
        return JsonRpcMessage::response(ClientResult::empty(()), request.id);
    }
    let reason = "the client has no such method";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None);
    JsonRpcMessage::error(error, Some(request.id))
}
