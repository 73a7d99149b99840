//! The HTTP server: its limits and its socket.

use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive};
use actix_service::{
    IntoServiceFactory as _, ServiceFactory as _, ServiceFactoryExt as _, fn_factory, fn_service,
    map_config,
};
use actix_web::dev::{AppConfig, Server};
use actix_web::middleware::from_fn;
use actix_web::{App, web};
use actix_web_lab::middleware::CatchPanic;
use socket2::{Domain, Socket, Type};

use super::body::Bodies;
use super::connection::{Connection, ConnectionDoor, Reception};
use super::guard::{AccessRules, guard};
use super::routes::routes;
use super::shared::HttpShared;
use super::while_connected::WhileConnected;

/// Time limit for a client to close a connection that the service has ended.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for requests in progress when the service stops, in seconds.
const SHUTDOWN_TIMEOUT_S: u64 = 2;
/// Size of the system's send buffer for a client that does not read, in addition to the client's own. By default it
/// grows to megabytes, and a stalled client goes unnoticed.
const SEND_BUFFER: usize = 64 * 1024;
/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 4096;
const WORKERS: usize = 2;

/// Takes the address, so that its port is known before the first request.
///
/// # Errors
/// The system's error when the address cannot be had.
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
/// The system's error when the listener cannot be used.
pub(crate) fn serve(
    listener: TcpListener,
    access: AccessRules,
    door: ConnectionDoor,
    shared: HttpShared,
) -> std::io::Result<Server> {
    spare_threads(WORKERS + 1)?;
    let (address, owner) = (listener.local_addr()?, access.owner);
    let (access, door) = (web::Data::new(access), Arc::new(door));
    let are_near = Arc::clone(&shared.commands_are_near);
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
            // The application's configuration serves to make URLs, of which it makes none.
            let app = Rc::new(map_config(app, |()| AppConfig::default()));
            let stopping = stopping.clone();
            let http = fn_factory(move || {
                let (app, stopping) = (Rc::clone(&app), stopping.clone());
                async move {
                    let app = Rc::new(app.new_service(()).await?);
                    Ok(WhileConnected::new(move || {
                        let (app, stopping) = (Rc::clone(&app), stopping.clone());
                        HttpService::build()
                            // The socket has the deadlines of heads and of the time between
                            // requests: a limit of the server looks at its clock before it looks
                            // at what came.
                            .keep_alive(KeepAlive::Os)
                            .client_request_timeout(Duration::ZERO)
                            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
                            // A client that closed a silent stream is not noticed otherwise.
                            .h1_allow_half_closed(false)
                            .local_addr(address)
                            .graceful_shutdown_signal(move || {
                                let stopping = stopping.clone();
                                async move { stopping.notified().await }
                            })
                            .on_connect_ext(Connection::insert_into)
                            .h1(fn_factory(move || ready(Ok::<_, ()>(Rc::clone(&app)))))
                    }))
                }
            });
            let reception = Rc::new(Reception::new(
                Arc::clone(&door),
                owner,
                Arc::clone(&are_near),
            ));
            let take = move |stream| {
                let reception = Rc::clone(&reception);
                async move { reception.take(stream).await.ok_or_else(gone) }
            };
            fn_service(take).and_then(http)
        })?
        .run();
    Ok(server)
}

/// Sees whether so many threads can be had at once: the server panics without its workers.
fn spare_threads(count: usize) -> std::io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let closed = gate.lock();
        let wait = || drop(gate.lock());
        let threads = (0..count).map(|_| thread::Builder::new().spawn_scoped(scope, wait));
        let started: Result<Vec<_>, _> = threads.collect();
        drop(closed);
        started.map(drop)
    })
}

/// The error of a connection that ended before it was looked at.
fn gone() -> DispatchError {
    DispatchError::Io(std::io::ErrorKind::NotConnected.into())
}
