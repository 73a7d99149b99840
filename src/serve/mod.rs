//! `harness serve`: start, run until a signal, stop.

pub(crate) mod demo;
pub(crate) mod error;
pub(crate) mod folder_rules;
pub(crate) mod mcp;
pub(crate) mod pricing;
pub(crate) mod shutdown;
pub(crate) mod wiring;

use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use harness_actors::Clock;
use harness_actors::Redaction;
use harness_actors::directory::messages::StopAll;
use harness_actors::journal::Epoch;
use harness_actors::start_thread;
use harness_actors::workflow::messages::StopWorkflows;
use harness_protocol::{Discovery, PROTOCOL, ServiceInfo, Upstream, UpstreamKind};
use nix::unistd::Uid;

use crate::cli::Serve;
use crate::config::{LoadedConfig, Secret};
use crate::http::{self, AccessRules, AllowedHosts, ConnectionDoor, ServiceAbout, ServiceToken};
use crate::logging::service_log;
use crate::os::fd_limits;
use crate::os::fsize_limit;
use crate::os::user_ns;
use crate::proof::ProofKey;
use crate::serve::error::ServiceError;
use crate::serve::shutdown::StopSignals;
use crate::serve::wiring::ModelPlace;
use crate::state_dir::{StateError, StateFolder};
use crate::visible;

/// How long stopping may take in all.
const STOP_TIMEOUT: Duration = Duration::from_millis(4000);

/// Serves until SIGTERM or Ctrl-C. Secrets that are known only now are added to the redaction.
///
/// # Errors
/// Anything that keeps the service from starting.
pub(crate) async fn run(
    serve: &Serve,
    config: &LoadedConfig,
    redaction: &Redaction,
    signals: &StopSignals,
) -> Result<(), ServiceError> {
    fsize_limit::survive()?;
    let files = fd_limits::raise_limit(config.max_subscribers);
    let door = ConnectionDoor::new(fd_limits::max_connections(config.max_subscribers, files));
    let model = if serve.demo {
        ModelPlace::Demo
    } else {
        let demo = if serve.detached {
            "harness --demo"
        } else {
            "harness serve --demo"
        };
        ModelPlace::Api(config.require_credential(demo)?)
    };
    let state = StateFolder::open(&config.home)?;
    let lock = state.lock()?;
    let log = service_log::keep(&config.home, serve.detached)
        .inspect_err(|error| log::warn!("the log is not kept: {error}"))
        .ok();
    let token = match &config.token {
        Some(token) => token.clone(),
        None => state.token()?,
    };
    // The file's token is good again at a start without the other one.
    redaction.add_all(state.kept_token().into_iter().chain([token.clone()]));
    let listener = listen(serve, config)?;
    let address = listener.local_addr()?;

    let about = about(serve, config, address, log)?;
    // Only the state folder has it, and no tool may show it.
    redaction.add_all([about.proof.text().clone()]);
    let found_by = Discovery {
        address: about.info.address.clone(),
        pid: about.info.pid,
        epoch: about.info.epoch.clone(),
        proof_key: Some(about.proof.text().expose().to_owned()),
        version: Some(about.info.version.clone()),
    };
    let actors = wiring::start(config, &state, model, redaction, about)?;
    let access = AccessRules {
        hosts: AllowedHosts::new(address.port(), config.allowed_hosts.clone()),
        token: match &config.token {
            Some(token) => ServiceToken::fixed(token.clone()),
            None => {
                let redaction = redaction.clone();
                let learn = move |token: &Secret| redaction.add_all([token.clone()]);
                ServiceToken::in_file(state.clone(), token, learn)
            }
        },
        require_token: config.require_token || !user_ns::all_can_be_told(),
        owner: Uid::effective().as_raw(),
    };
    let server = http::serve(listener, access, door, actors.shared.clone())?;
    let handle = server.handle();
    let mut server = std::pin::pin!(server);
    lock.publish(&found_by)?;
    announce(address, serve.demo, config);

    tokio::select! {
        () = signals.next() => log::info!("stopping"),
        ended = &mut server => {
            ended?;
            return Err(ServiceError::ServerEnded);
        }
    }
    let stop = async {
        // What workflows have under way goes on at the next start.
        if let Err(error) = actors.shared.workflows.send(StopWorkflows).await {
            log::error!("the keeper of workflows is gone: {error}");
        }
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

/// The service's description of itself.
fn about(
    serve: &Serve,
    config: &LoadedConfig,
    address: SocketAddr,
    log: Option<PathBuf>,
) -> Result<ServiceAbout, StateError> {
    let proof = ProofKey::random()?;
    let upstream = if serve.demo {
        Upstream {
            kind: UpstreamKind::Demo,
            host: None,
            has_key: false,
        }
    } else {
        Upstream {
            kind: UpstreamKind::Api,
            host: Some(config.api_host().to_owned()),
            has_key: config.credential.is_some(),
        }
    };
    let info = ServiceInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        features: ["workspaces", "approvals", "own_limit"]
            .map(str::to_owned)
            .into(),
        epoch: Epoch::random().to_string(),
        pid: std::process::id(),
        address: address.to_string(),
        home: config.home.display().to_string(),
        workspace: config.workspace.display().to_string(),
        upstream,
        model: config.model().to_owned(),
        sandbox: "none".to_owned(),
        started_at: Clock::system().unix_seconds(),
        log: log.map(|path| path.display().to_string()),
        detached: serve.detached,
        clients: 0,
        runs: 0,
        jobs: 0,
        settings: config.values(|secret| proof.fingerprint(secret)),
        start: Some(config.start.clone()),
    };
    Ok(ServiceAbout { info, proof })
}

/// Takes the address. A service in the background is found by the file that names it, so that any
/// port will do unless the user chose one.
fn listen(serve: &Serve, config: &LoadedConfig) -> Result<TcpListener, ServiceError> {
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

/// Prints where the service listens, and what it works in; scripts read the address from the first
/// line. The reader may have left, which does not matter.
fn announce(address: SocketAddr, demo: bool, config: &LoadedConfig) {
    let (folder, home) = (config.workspace.display(), config.home.display());
    let version = env!("CARGO_PKG_VERSION");
    let pid = std::process::id();
    service_log::note(&format!(
        "harness {version}, process {pid}, listens on http://{address} for {folder}"
    ));
    let folder = visible::line(&folder.to_string());
    let home = visible::line(&home.to_string());
    let mut lines = format!(
        "harness listens on http://{address}\nit works in {folder}\nits state is in {home}\n"
    );
    if demo {
        lines += "this is the demo: a few rules answer, no model\n";
    }
    // A terminal that is stopped, or a reader that does not read, holds up this thread alone.
    let print = move || {
        let mut out = std::io::stdout().lock();
        if let Err(error) = out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
            log::warn!("the address http://{address} could not be printed: {error}");
        }
    };
    if let Err(error) = start_thread("address", print) {
        log::warn!("the address http://{address} could not be printed: {error}");
    }
}
