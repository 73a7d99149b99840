//! `harness serve`: start, run until a signal, stop.

use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use derive_more::{Display, Error, From};
use harness_actors::ConfigError as HarnessError;
use harness_actors::journal::Epoch;
use harness_actors::messages::StopAll;
use harness_protocol::Discovery;
use harness_standin::Standin;
use nix::unistd::Uid;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Serve;
use crate::config::{Config, ConfigError};
use crate::http::{self, Access, AllowedHosts};
use crate::open_files;
use crate::state::{StateError, StateFolder};
use crate::wiring::{self, Model};

/// How long stopping may take in all.
const STOP_TIMEOUT: Duration = Duration::from_millis(4500);

/// Why the service could not run.
#[derive(Debug, Display, Error, From)]
pub(crate) enum ServiceError {
    /// A setting cannot be used.
    Config(ConfigError),
    /// The state folder cannot be used.
    State(StateError),
    /// The conversations cannot be set up.
    Harness(HarnessError),
    /// The address cannot be had.
    #[display(
        "cannot listen on {address}: {source}; choose another with --bind and --port (port 0 takes a free one)"
    )]
    #[from(skip)]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The HTTP server ended without having been asked to.
    #[display("the service failed: its HTTP server ended; see the log")]
    ServerEnded,
    /// The system refused something else.
    #[display("the service failed: {_0}")]
    Io(std::io::Error),
}

impl ServiceError {
    /// The exit code: 2 for wrong use, 1 for a failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Config(_) | Self::Harness(_) => 2,
            Self::State(_) | Self::Listen { .. } | Self::ServerEnded | Self::Io(_) => 1,
        }
    }
}

/// Serves until SIGTERM or Ctrl-C.
///
/// # Errors
/// Anything that keeps the service from starting.
pub(crate) async fn run(serve: &Serve, config: &Config) -> Result<(), ServiceError> {
    let mut signals = Signals::new()?;
    open_files::raise_limit(config.max_subscribers);
    let model = if serve.demo {
        Model::Demo(Standin::demo()?)
    } else {
        let demo = if serve.detached {
            "harness --demo"
        } else {
            "harness serve --demo"
        };
        Model::Api(config.require_credential(demo)?.clone())
    };
    let state = StateFolder::open(&config.home)?;
    let lock = state.lock()?;
    let token = match &config.token {
        Some(token) => token.clone(),
        None => state.token()?,
    };
    let listener = listen(serve, config)?;
    let address = listener.local_addr()?;

    let epoch = Epoch::random().to_string();
    let actors = wiring::start(config, model, &token, epoch.clone())?;
    let access = Access {
        hosts: AllowedHosts::new(address.port(), config.allowed_hosts.clone()),
        token,
        require_token: config.require_token,
        owner: Uid::effective().as_raw(),
    };
    let server = http::serve(listener, access, actors.shared.clone())?;
    let handle = server.handle();
    let mut server = std::pin::pin!(server);
    let found_by = Discovery {
        address: address.to_string(),
        pid: std::process::id(),
        epoch,
    };
    lock.publish(&found_by)?;
    announce(address, serve.demo);

    tokio::select! {
        () = signals.next() => log::info!("stopping"),
        ended = &mut server => {
            ended?;
            return Err(ServiceError::ServerEnded);
        }
    }
    let stop = async {
        // Runs end first, so that clients see how; then the streams, which would hold the server.
        if let Err(error) = actors.shared.directory.send(StopAll).await {
            log::error!("the directory is gone: {error}");
        }
        handle.stop(true).await;
    };
    tokio::select! {
        (ended, ()) = async { tokio::join!(server, stop) } => {
            ended?;
            log::info!("stopped");
        }
        () = tokio::time::sleep(STOP_TIMEOUT) => log::warn!("stopping took too long; giving up"),
        () = signals.next() => log::warn!("stopped at once, as asked twice"),
    }
    lock.withdraw();
    Ok(())
}

/// Takes the address. A service in the background is found by the file that names it, so that any
/// port will do if nobody chose one.
fn listen(serve: &Serve, config: &Config) -> Result<TcpListener, ServiceError> {
    let address = SocketAddr::new(config.bind, config.port);
    let any_will_do = serve.detached && !config.is_port_chosen();
    let listener = match http::bind(address) {
        Err(error) if any_will_do && error.kind() == ErrorKind::AddrInUse => {
            log::warn!("{address} is taken; a free port is used instead");
            http::bind(SocketAddr::new(config.bind, 0))
        }
        bound => bound,
    };
    listener.map_err(|source| ServiceError::Listen { address, source })
}

/// Prints where the service listens; scripts read the address from this line. Nobody may be
/// there to read it, which does not matter.
fn announce(address: SocketAddr, demo: bool) {
    let mut lines = format!("harness listens on http://{address}\n");
    if demo {
        lines += "this is the demo: a few rules answer, no model\n";
    }
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
        log::warn!("the address http://{address} could not be printed: {error}");
    }
}

/// The signals that stop the service.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
