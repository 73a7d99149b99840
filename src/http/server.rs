//! The HTTP server: its routes, limits and socket.

use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, Recipient};
use actix_http::HttpService;
use actix_http::error::DispatchError;
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::dev::{AppConfig, Server};
use actix_web::middleware::from_fn;
use actix_web::{App, web};
use actix_web_lab::middleware::CatchPanic;
use harness_actors::AttachmentStore;
use harness_actors::broadcast::ReadBudget;
use harness_actors::directory::DirectoryActor;
use harness_actors::messages::ListModels;
use harness_protocol::ToolEntry;
use socket2::{Domain, Socket, Type};
use tokio::sync::Semaphore;

use super::attachable::Attachable;
use super::body::Bodies;
use super::connection::{Connection, Door, Reception};
use super::guard::{Access, OPEN_ROUTE, guard};
use super::problem::Kind;
use super::service::About;
use super::{
    attachments, compaction, conversations, events, models, queue, said, service, settings, skills,
    snapshot, usage,
};
use crate::guidance::GuidanceSource;
use crate::prices::KeptFor;

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
    /// What the service is, and how it proves it.
    pub(crate) about: Arc<About>,
    /// Bounds what is held of journals for clients of event streams.
    pub(crate) streams: ReadBudget,
    /// Bounds what is held of answers that may be large.
    pub(crate) answers: ReadBudget,
    /// Skills, templates and context files.
    pub(crate) guidance: GuidanceSource,
    /// Whether a conversation that says nothing else is told the context files.
    pub(crate) tells_context_files: bool,
    /// The time between two heartbeats of an event stream.
    pub(crate) heartbeat: Duration,
    /// Where the files of prompts are kept.
    pub(crate) attachments: Arc<dyn AttachmentStore>,
    /// The files that prompts may name by their path.
    pub(crate) workspace: Attachable,
    /// Lists the models.
    pub(crate) models: Recipient<ListModels>,
    /// The tools, in their order.
    pub(crate) tools: Arc<[ToolEntry]>,
    /// The names of the keys that conversations can choose.
    pub(crate) key_sources: Arc<[String]>,
    /// How long the API is asked to remember requests, which has its price.
    pub(crate) kept_for: KeptFor,
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

/// Starts to serve. The server is put together from its parts, as `HttpServer` does it, so that
/// each connection is looked at before anything is read from it.
///
/// # Errors
/// What the system says when the listener cannot be used.
pub(crate) fn serve(
    listener: TcpListener,
    access: Access,
    door: Door,
    shared: Shared,
) -> std::io::Result<Server> {
    let (address, owner) = (listener.local_addr()?, access.owner);
    let (access, door) = (web::Data::new(access), Arc::new(door));
    let (shared, bodies) = (web::Data::new(shared), web::Data::new(Bodies::default()));
    let server = Server::build();
    let stopping = server.graceful_shutdown_signal();
    let server = server
        .workers(WORKERS)
        .shutdown_timeout(SHUTDOWN_TIMEOUT_S)
        .disable_signals()
        .listen("http", listener, move || {
            let app = App::new()
                .app_data(access.clone())
                .app_data(shared.clone())
                .app_data(bodies.clone())
                .wrap(CatchPanic::default())
                .wrap(from_fn(guard))
                .configure(routes)
                .into_factory()
                .map_err(|error: actix_web::Error| error.error_response());
            // What an application is told here goes into URLs, of which it makes none.
            let app = map_config(app, |()| AppConfig::default());
            let stopping = stopping.clone();
            let http = HttpService::build()
                .keep_alive(KEEP_ALIVE)
                .client_request_timeout(HEAD_TIMEOUT)
                .client_disconnect_timeout(DISCONNECT_TIMEOUT)
                // A client that closed a silent stream is not noticed otherwise.
                .h1_allow_half_closed(false)
                .local_addr(address)
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move { stopping.notified().await }
                })
                .on_connect_ext(Connection::of)
                .h1(app);
            let reception = Rc::new(Reception::new(Arc::clone(&door), owner));
            fn_service(move |stream| ready(reception.take(stream).ok_or_else(gone))).and_then(http)
        })?
        .run();
    Ok(server)
}

/// The error of a connection that ended before it was looked at.
fn gone() -> DispatchError {
    DispatchError::Io(std::io::ErrorKind::NotConnected.into())
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
                .route(web::post().to(said::prompt))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/cancel")
                .route(web::post().to(said::cancel))
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
                .route(web::post().to(said::conversation_prompt))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/cancel")
                .route(web::post().to(said::conversation_cancel))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/fork")
                .route(web::post().to(conversations::fork))
                .default_service(only("POST")),
        )
        .configure(later_routes)
        .configure(guidance_routes)
        .service(
            web::resource("/v1/attachments/{sha256}")
                .route(web::get().to(attachments::read))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/service")
                .route(web::get().to(service::service))
                .default_service(only("GET")),
        )
        .service(
            web::resource(OPEN_ROUTE)
                .route(web::get().to(service::healthz))
                .default_service(only("GET")),
        )
        .default_service(web::to(|| async {
            Kind::NotFound.answer("the routes are /events, /prompt, /cancel, /healthz and those under /v1/conversations, /v1/attachments, /v1/service, /v1/models, /v1/tools, /v1/skills and /v1/templates")
        }));
}

/// What a conversation takes besides prompts, and what there is to choose from.
fn later_routes(config: &mut web::ServiceConfig) {
    let only =
        |allow: &'static str| web::to(move || async move { Kind::method_not_allowed(allow) });
    config
        .service(
            web::resource("/v1/conversations/{id}/steer")
                .route(web::post().to(queue::steer))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/follow-up")
                .route(web::post().to(queue::follow_up))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/queue")
                .route(web::get().to(queue::list))
                .route(web::delete().to(queue::clear))
                .default_service(only("GET, DELETE")),
        )
        .service(
            web::resource("/v1/conversations/{id}/queue/{item}")
                .route(web::delete().to(queue::remove))
                .default_service(only("DELETE")),
        )
        .service(
            web::resource("/v1/conversations/{id}/continue")
                .route(web::post().to(said::go_on))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/retry")
                .route(web::post().to(said::retry))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/settings")
                .route(web::get().to(settings::read))
                .route(web::patch().to(settings::change))
                .default_service(only("GET, PATCH")),
        )
        .service(
            web::resource("/v1/conversations/{id}/compact")
                .route(web::post().to(compaction::compact))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/usage")
                .route(web::get().to(usage::read))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/models")
                .route(web::get().to(models::list))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/tools")
                .route(web::get().to(models::tools))
                .default_service(only("GET")),
        );
}

fn guidance_routes(config: &mut web::ServiceConfig) {
    let only =
        |allow: &'static str| web::to(move || async move { Kind::method_not_allowed(allow) });
    config
        .service(
            web::resource("/v1/skills")
                .route(web::get().to(skills::skills))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/skills/{name}")
                .route(web::get().to(skills::skill))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/templates")
                .route(web::get().to(skills::templates))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/templates/{name}")
                .route(web::get().to(skills::template))
                .default_service(only("GET")),
        )
        .service(
            web::resource("/v1/conversations/{id}/skill")
                .route(web::post().to(skills::say_skill))
                .default_service(only("POST")),
        )
        .service(
            web::resource("/v1/conversations/{id}/template")
                .route(web::post().to(skills::say_template))
                .default_service(only("POST")),
        );
}
