//! The HTTP server: its routes, limits and socket.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use actix_web_lab::middleware::CatchPanic;
use harness_actors::directory::DirectoryActor;
use socket2::{Domain, Socket, Type};
use tokio::sync::Semaphore;

use super::access::Access;
use super::connection::Connection;
use super::guard::{OPEN_ROUTE, guard};
use super::problem::Kind;
use super::{conversations, events, rest, snapshot};

/// How long a handler waits for an actor. Longer than any cancel takes.
pub(super) const HANDLER_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to close a connection that the service has ended.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a connection is kept for the next request.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How long requests that are under way may take when the service stops, in seconds.
const SHUTDOWN_TIMEOUT_S: u64 = 2;
/// How many bytes the system keeps for a client that does not read, on top of what the client's
/// own system does. Left to itself it keeps megabytes, and a stalled client goes unnoticed.
const SEND_BUFFER: usize = 64 * 1024;
/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4096;
const WORKERS: usize = 2;

/// What the routes need.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Finds the conversations.
    pub(crate) directory: Addr<DirectoryActor>,
    /// The places for event streams.
    pub(crate) subscribers: Arc<Semaphore>,
    /// How many there are.
    pub(crate) max_subscribers: usize,
    /// Names this life of the service.
    pub(crate) epoch: String,
    /// The time between two heartbeats of an event stream.
    pub(crate) heartbeat: Duration,
}

/// Takes the address, so that its port is known before the first request.
///
/// # Errors
/// What the system says when the address cannot be had.
pub(crate) fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // Accepted connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Starts to serve.
///
/// # Errors
/// What the system says when the listener cannot be used.
pub(crate) fn serve(
    listener: TcpListener,
    access: Access,
    shared: Shared,
) -> std::io::Result<Server> {
    let access = web::Data::new(access);
    let shared = web::Data::new(shared);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(access.clone())
            .app_data(shared.clone())
            .wrap(from_fn(guard))
            .wrap(CatchPanic::default())
            .configure(routes)
    })
    .workers(WORKERS)
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(HEAD_TIMEOUT)
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .shutdown_timeout(SHUTDOWN_TIMEOUT_S)
    .tcp_nodelay(true)
    // A client that closed a silent stream is not noticed otherwise.
    .h1_allow_half_closed(false)
    .on_connect(Connection::accepted)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(server)
}

fn routes(config: &mut web::ServiceConfig) {
    let only =
        |allow: &'static str| web::to(move || async move { Kind::method_not_allowed(allow) });
    config
        .service(
            web::resource("/events")
                .route(web::get().to(events::events))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/prompt")
                .route(web::post().to(rest::prompt))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/cancel")
                .route(web::post().to(rest::cancel))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations")
                .route(web::get().to(conversations::list))
                .route(web::post().to(conversations::create))
                .default_service(only("GET, POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}")
                .route(web::get().to(snapshot::read))
                .route(web::patch().to(conversations::change))
                .route(web::delete().to(conversations::delete))
                .default_service(only("GET, PATCH, DELETE")),
        )
        .service(
            web::resource("/v1/conversations/{id}/history")
                .route(web::get().to(snapshot::history))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/conversations/{id}/events")
                .route(web::get().to(events::conversation_events))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/conversations/{id}/prompt")
                .route(web::post().to(rest::conversation_prompt))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/cancel")
                .route(web::post().to(rest::conversation_cancel))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/fork")
                .route(web::post().to(conversations::fork))
                .default_service(only("POST")),
        )
        .service(
            web::resource(OPEN_ROUTE)
                .route(web::get().to(rest::healthz))
                .default_service(only("GET")),
        )
        .default_service(web::to(|| async {
            Kind::NotFound.answer("the routes are /events, /prompt, /cancel, /healthz and those under /v1/conversations")
        }));
}
