//! The stand-in itself: a listener on its own thread.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::catalogue::{Catalogue, Serving};
use crate::connection::serve;
use crate::demo::Demo;
use crate::journal::{Keep, Received};
use crate::responder::{Responder, Script};
use crate::routes::Service;

/// Time limit of the drop for the thread's end: a busy responder must not hold it up.
const MAX_STOP: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_REST: Duration = Duration::from_millis(10);

/// A running stand-in for the Messages API on a port of 127.0.0.1.
///
/// It has its own thread and runtime, so that it works from any kind of program or test. Dropping
/// it closes the port and every connection.
#[derive(Debug)]
pub struct Standin {
    address: SocketAddr,
    service: Arc<Service>,
    stop: Option<oneshot::Sender<()>>,
    stopped: mpsc::Receiver<()>,
}

impl Standin {
    /// Starts a server that answers valid requests by the responder.
    ///
    /// # Errors
    ///
    /// When no port, runtime or thread can be had.
    pub fn start(responder: impl Responder) -> io::Result<Self> {
        Self::run(Service::new(Box::new(responder), Keep::Everything))
    }

    /// Starts a server with a separate list of models.
    ///
    /// # Errors
    ///
    /// As [`Standin::start`].
    pub fn serving(responder: impl Responder, catalogue: Catalogue) -> io::Result<Self> {
        Self::start(Serving {
            responder,
            catalogue,
        })
    }

    /// Starts a server that answers from a queue of replies.
    ///
    /// # Errors
    ///
    /// As [`Standin::start`].
    pub fn scripted() -> io::Result<(Self, Script)> {
        let script = Script::new();
        Ok((Self::start(script.clone())?, script))
    }

    /// Starts the demo model. It may run for weeks, so it keeps no journal: `requests` and
    /// `violations` stay empty.
    ///
    /// # Errors
    ///
    /// As [`Standin::start`].
    pub fn demo() -> io::Result<Self> {
        Self::run(Service::new(Box::new(Demo), Keep::Nothing))
    }

    fn run(service: Service) -> io::Result<Self> {
        let service = Arc::new(service);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopping) = oneshot::channel();
        let (done, stopped) = mpsc::channel();
        let shared = Arc::clone(&service);
        thread::Builder::new()
            .name("standin".to_owned())
            .spawn(move || {
                if let Err(error) = runtime.block_on(accept(listener, shared, stopping)) {
                    log::error!("the stand-in stopped listening: {error}");
                }
                drop(runtime);
                drop(done);
            })?;
        Ok(Self {
            address,
            service,
            stop: Some(stop),
            stopped,
        })
    }

    /// The base address, for example `http://127.0.0.1:40123`, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request that arrived so far, in order, also the refused ones.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.service.journal.requests()
    }

    /// The faults of the requests so far: the message of each 400 that the server itself gave, and each pair of
    /// messages with the same role. Replies of the responder do not count.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.service.journal.violations()
    }

    /// The requests so far whose input was over the window of their model. They are refused, and do not count as
    /// violations.
    #[must_use]
    pub fn overflows(&self) -> Vec<Received> {
        let mut requests = self.requests();
        requests.retain(|received| received.outcome.is_overflow());
        requests
    }

    /// Waits until the `n`-th request, counted from 0, has arrived. The caller sets a time limit.
    pub async fn request(&self, n: usize) -> Received {
        self.service.journal.request(n).await
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The thread sends nothing: it drops its sender when the runtime has ended.
        if self.stopped.recv_timeout(MAX_STOP) == Err(mpsc::RecvTimeoutError::Timeout) {
            log::warn!("the stand-in is still busy with a reply");
        }
    }
}

async fn accept(
    listener: std::net::TcpListener,
    service: Arc<Service>,
    mut stopping: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut connections = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopping => return Ok(()),
        };
        match accepted.and_then(|(stream, _)| stream.set_nodelay(true).map(|()| stream)) {
            Ok(stream) => {
                tokio::spawn(serve(stream, connections, Arc::clone(&service)));
                connections += 1;
            }
            Err(error) => {
                log::warn!("a connection could not be accepted: {error}");
                sleep(ACCEPT_REST).await;
            }
        }
    }
}
