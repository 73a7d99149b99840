//! Streams that are cut again and again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::{Message, Reply};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::digest;
use crate::client::within;
use crate::eventually::eventually;
use crate::handshake::proof;
use crate::program::Service;
use crate::screen::Screen;

/// By what the cutter proves itself; the clients find it in the file that names it.
const KEY: &str = "the key of the cutter";

/// Number of cuts of each event stream.
fn drops() -> usize {
    let set = std::env::var("HARNESS_DROPS").ok();
    set.map_or(25, |number| number.parse().unwrap())
}

/// A proxy between clients and the service that cuts event streams at random places, up to a number of cuts in all;
/// later streams pass whole.
pub(super) struct Cutter {
    address: SocketAddr,
    cut: Arc<AtomicUsize>,
}

impl Cutter {
    pub(super) async fn start(service: SocketAddr, seed: u64, most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&cut);
        tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed);
            while let Ok((client, _)) = listener.accept().await {
                let limit = match random.u8(0..4) {
                    0 => random.usize(0..400),
                    _ => random.usize(0..20_000),
                };
                let cuts = Cuts {
                    most,
                    done: Arc::clone(&counter),
                };
                tokio::spawn(pass(client, service, address, limit, cuts));
            }
        });
        Self { address, cut }
    }

    /// A state folder of its own, in which the service is where the cutter is.
    pub(super) fn home(&self, service: &Service) -> TempDir {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join(".harness");
        std::fs::create_dir(&state).unwrap();
        let named = std::fs::read(service.home.path().join(".harness/service.json")).unwrap();
        let mut named: serde_json::Value = serde_json::from_slice(&named).unwrap();
        named["address"] = json!(self.address.to_string());
        named["proof_key"] = json!(KEY);
        std::fs::write(state.join("service.json"), named.to_string()).unwrap();
        home
    }
}

/// Maximum number of streams that are cut, and number of cuts so far.
struct Cuts {
    most: usize,
    done: Arc<AtomicUsize>,
}

/// Passes one connection on; cuts an event stream after a number of bytes.
async fn pass(
    mut client: TcpStream,
    service: SocketAddr,
    own: SocketAddr,
    limit: usize,
    cuts: Cuts,
) -> Option<()> {
    let mut upstream = TcpStream::connect(service).await.ok()?;
    let mut head = vec![0; 16 * 1024];
    let count = client.read(&mut head).await.ok()?;
    let question = String::from_utf8_lossy(&head[..count]).into_owned();
    let nonce = question.strip_prefix("GET /healthz?nonce=")?;
    let nonce = nonce.split(' ').next()?;
    let health = json!({"status": "ok", "proof": proof(KEY, nonce, &own.to_string())}).to_string();
    let length = health.len();
    let proved = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{health}");
    client.write_all(proved.as_bytes()).await.ok()?;
    let count = client.read(&mut head).await.ok()?;
    let request = String::from_utf8_lossy(&head[..count]).into_owned();
    let is_stream = request.lines().next()?.contains("/events");
    let request = request.replace(&own.to_string(), &service.to_string());
    upstream.write_all(request.as_bytes()).await.ok()?;
    if !is_stream {
        tokio::io::copy_bidirectional(&mut client, &mut upstream)
            .await
            .ok()?;
        return None;
    }
    let mut passed = 0;
    let mut buffer = [0; 4096];
    loop {
        let left = match limit.saturating_sub(passed) {
            0 if cuts.done.load(Ordering::SeqCst) < cuts.most => break,
            0 => buffer.len(),
            left => left.min(buffer.len()),
        };
        let read = upstream.read(&mut buffer[..left]).await.ok()?;
        if read == 0 {
            return None;
        }
        client.write_all(&buffer[..read]).await.ok()?;
        passed += read;
    }
    cuts.done.fetch_add(1, Ordering::SeqCst);
    None
}

/// Spec: [TUI-56] [LINK-04]
#[tokio::test]
async fn streams_that_are_cut_again_and_again_lose_nothing_and_show_nothing_twice() {
    let wanted = 2 * drops();
    let seed = fastrand::u64(..);
    println!("seed {seed}, {wanted} drops");
    let (service, _standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes"), "a line\n".repeat(50)).unwrap();
    let cutter = Cutter::start(service.address, seed, wanted).await;
    let home = cutter.home(&service);
    let mut ana = Screen::attach(home.path(), "ana").await;
    let mut ben = Screen::attach(home.path(), "ben").await;
    let mut rounds = 0;
    while cutter.cut.load(Ordering::SeqCst) < wanted {
        rounds += 1;
        script.push(
            Message::new()
                .text(format!(
                    "Round {rounds}: {}",
                    "some words of text ".repeat(60)
                ))
                .tool_use(format!("t{rounds}"), "read", json!({"path": "notes"})),
        );
        script.push(Reply::text(format!("Round {rounds} is done.")));
        service.submit(&format!("round {rounds}")).await;
        service.idle("default").await;
        // Neither waits longer than it must. The key that tries again opens the past while there is a service.
        for screen in [&mut ana, &mut ben] {
            if screen.text().contains("Ctrl+R now") {
                screen.keys("\x12");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    script.push(Reply::text("The very end."));
    service.submit("end").await;
    for screen in [&mut ana, &mut ben] {
        // A connection may come back just before the key is read.
        screen.keys("\x1b");
        within("the very end", async {
            while !screen.text().contains("The very end.") {
                // What was cut last waits for up to ten seconds otherwise.
                if screen.text().contains("Ctrl+R now") {
                    screen.keys("\x12\x1b");
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        })
        .await;
        screen.hides("reconnecting").await;
    }
    service.idle("default").await;
    // Both have all of it, also what came behind the last words.
    let last = service.get("/v1/conversations/default?tail=0").await["summary"]["records"].clone();
    let mut known = Vec::new();
    for screen in [&mut ana, &mut ben] {
        let told = eventually("all records", async || {
            let told = digest(screen).await;
            (told.split(' ').nth(1) == Some(last.to_string().as_str())).then_some(told)
        });
        known.push(told.await);
    }
    assert_eq!(known[0], known[1]);
    let known = &known[0];
    let fresh = Screen::attach(service.home.path(), "eve").await;
    fresh.shows("The very end.").await;
    println!(
        "{rounds} rounds, {} drops: {known}",
        cutter.cut.load(Ordering::SeqCst)
    );
    for screen in [&mut ana, &mut ben] {
        screen.keys("/debug\r");
        screen.shows("missed        0 times").await;
        screen.shows("duplicates    0 dropped").await;
    }
}
