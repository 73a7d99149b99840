//! The bare baseline: an actix-web server that asks the same upstream and hands the end of a
//! block to every client, and does nothing else.

use std::sync::{Arc, Mutex};

use actix_web::{App, HttpResponse, HttpServer, web};
use bytes::Bytes;
use futures_util::StreamExt as _;
use harness_standin::Standin;
use tokio::sync::mpsc;

/// The clients of the baseline.
type Clients = Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>;

/// The baseline's frame for the end of a block.
const FRAME: &[u8] = b"data: {\"type\":\"text\",\"content\":\"x\",\"timestamp\":0}\n\ndata: {\"state\":\"idle\"}\n\n";

/// Serves on a thread of its own and tells its address.
pub(crate) fn start(upstream: &Standin) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("{}/v1/messages", upstream.base_url());
    std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async {
            let clients = Clients::default();
            let server = HttpServer::new(move || {
                App::new()
                    .app_data(web::Data::new(Arc::clone(&clients)))
                    .app_data(web::Data::new(url.clone()))
                    .route("/events", web::get().to(events))
                    .route("/prompt", web::post().to(prompt))
            });
            let server = server
                .workers(2)
                .tcp_nodelay(true)
                .listen(listener)
                .unwrap();
            server.run().await.unwrap();
        });
    });
    address
}

async fn events(clients: web::Data<Clients>) -> HttpResponse {
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(Bytes::from_static(b": connected\n\n")).unwrap();
    clients.lock().unwrap().push(sender);
    let frames = futures_util::stream::unfold(receiver, |mut receiver| async {
        let frame = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(frame), receiver))
    });
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .streaming(frames)
}

async fn prompt(_body: Bytes, clients: web::Data<Clients>, url: web::Data<String>) -> HttpResponse {
    let clients = Arc::clone(&clients);
    actix_web::rt::spawn(async move {
        let body = serde_json::json!({
            "model": "claude-haiku-5-5", "max_tokens": 1, "stream": true,
            "messages": [{"role": "user", "content": "x"}],
        });
        let request = awc::Client::new()
            .post(url.as_str())
            .insert_header(("x-api-key", "x"))
            .insert_header(("anthropic-version", "2023-06-01"));
        let mut answer = request.send_json(&body).await.unwrap();
        while let Some(Ok(chunk)) = answer.next().await {
            if chunk.windows(18).any(|part| part == b"content_block_stop") {
                for client in clients.lock().unwrap().iter() {
                    client.send(Bytes::from_static(FRAME)).unwrap();
                }
            }
        }
    });
    HttpResponse::Ok().finish()
}
