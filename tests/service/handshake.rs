//! The check of the service's identity, and the requests that a client sends before it.

use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use harness_protocol::challenge;
use nix::sys::signal::Signal;
use ring::hmac;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::ChildStdout;
use tokio::sync::watch;

use crate::client::within;
use crate::program::{Service, command};

const NONCE: &str = "000102030405060708090a0b0c0d0e0f";

fn service_file(service: &Service) -> Value {
    let path = service.home.path().join(".harness/service.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The answer of a service to a nonce, if the service has that key and is found at that address.
pub(crate) fn proof(key: &str, nonce: &str, address: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let tag = hmac::sign(&key, challenge(nonce, address).as_bytes());
    tag.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Spec: [SEC-14] [SEC-16]
#[tokio::test]
async fn health_proves_the_service_and_tells_its_life_only_to_those_who_may_use_it() {
    let (service, _standin, _script) = Service::scripted(&["--require-token"]).await;
    let file = service_file(&service);
    let key = file["proof_key"].as_str().unwrap();
    let address = file["address"].as_str().unwrap();
    let path = format!("/healthz?nonce={NONCE}");
    let health = service.get(&path).await;
    let proof = proof(key, NONCE, address);
    assert_eq!(health["proof"], json!(proof));
    let forwarded = "via: 1.1 somebody\r\n";
    let health = service.send("GET", &path, forwarded, "").await.json();
    assert_eq!(health, json!({"status": "ok", "proof": proof}));
    let health = service.send("GET", "/healthz", forwarded, "").await.json();
    assert_eq!(health, json!({"status": "ok"}));
    for wrong in ["", "ab", "zz", &"g".repeat(32), &"a".repeat(129)] {
        let path = format!("/healthz?nonce={wrong}");
        assert_eq!(service.send("GET", &path, "", "").await.status, 400);
    }
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    let header = format!("authorization: Bearer {}\r\n", token.trim_end());
    let known = service.send("GET", "/healthz", &header, "").await;
    assert_eq!(known.json()["epoch"], file["epoch"]);
    let without = service.send("GET", "/v1/service", "", "").await;
    assert_eq!(without.status, 401);
    let info = service.send("GET", "/v1/service", &header, "").await.json();
    assert_eq!(info["pid"], json!(service.id()));
    assert_eq!(info["upstream"]["kind"], "api");
    assert_eq!(info["protocol"], json!({"min": 1, "max": 1}));
    assert_eq!((&info["clients"], &info["runs"]), (&json!(0), &json!(0)));
    let folder = service.home.path().canonicalize().unwrap();
    assert_eq!(info["workspace"], json!(folder));
    assert!(!info.to_string().contains(crate::program::API_KEY));
}

/// Spec: [SEC-16]
#[tokio::test]
async fn the_owner_s_processes_are_told_which_life_of_the_service_it_is() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let epoch = &service_file(&service)["epoch"];
    assert_eq!(&service.get("/healthz").await["epoch"], epoch);
}

/// A program that took the port of a service that died: it answers each `GET /healthz` with that
/// service's answer, and keeps all that it receives.
struct Impostor {
    told: Arc<Mutex<Vec<u8>>>,
    connections: watch::Receiver<usize>,
}

impl Impostor {
    async fn on(address: SocketAddr, health: Value) -> Self {
        let listener = within("the port", async {
            loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => return listener,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        let listener = listener.await;
        let told = Arc::<Mutex<Vec<u8>>>::default();
        let (connected, connections) = watch::channel(0);
        let kept = Arc::clone(&told);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, health) = (Arc::clone(&kept), health.to_string());
                connected.send_modify(|count| *count += 1);
                tokio::spawn(async move { drop(answer(stream, &health, &kept).await) });
            }
        });
        Self { told, connections }
    }

    async fn asked(&mut self, times: usize) {
        let asked = self.connections.wait_for(|count| *count >= times);
        within("connections", asked).await.unwrap();
    }
}

async fn answer(mut stream: TcpStream, health: &str, kept: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    let mut bytes = vec![0; 4096];
    loop {
        let read = stream.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        kept.lock().unwrap().extend_from_slice(&bytes[..read]);
        let length = health.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{health}"
        );
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// A client that follows the default conversation, and is attached.
async fn follower(service: &Service) -> Child {
    let mut client = command(service.home.path())
        .args(["events", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = ChildStdout::from_std(client.stdout.take().unwrap()).unwrap();
    let first = within("the first event", out.read_u8()).await;
    assert_eq!(first.unwrap(), b'{');
    tokio::spawn(async move { tokio::io::copy(&mut out, &mut tokio::io::sink()).await });
    client
}

/// Spec: [SEC-14] [CLI-02] [CLI-04]
#[tokio::test]
async fn what_takes_the_port_of_a_service_that_died_is_told_nothing() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let health = service.get(&format!("/healthz?nonce={NONCE}")).await;
    assert!(health["proof"].is_string() && health["epoch"].is_string());
    let mut client = follower(&service).await;
    assert_eq!(service.get("/v1/service").await["clients"], json!(1));
    service.kill();
    let mut impostor = Impostor::on(service.address, health).await;
    // The client comes back by itself, and others are started.
    impostor.asked(1).await;
    for arguments in [
        &["prompt", "my private words"][..],
        &["attach", "--plain"],
        &["cancel"],
    ] {
        let mut command = command(service.home.path());
        command.args(arguments);
        let ran = tokio::task::spawn_blocking(move || crate::program::output(&mut command));
        let (code, _, err) = ran.await.unwrap();
        assert_eq!(code, 1, "{arguments:?}: {err}");
        assert!(err.contains("no service runs"), "{arguments:?}: {err}");
    }
    impostor.asked(4).await;
    client.kill().unwrap();
    client.wait().unwrap();
    let told = String::from_utf8(impostor.told.lock().unwrap().clone()).unwrap();
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    for private in [token.trim_end(), "my private words", "uthorization", "POST"] {
        assert!(!told.contains(private), "{private}: {told}");
    }
    assert!(told.contains("GET /healthz?nonce="), "{told}");
}

/// Spec: [CLI-66]
#[tokio::test]
async fn a_service_that_hangs_is_not_taken_for_one_that_is_gone() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    service.signal(Signal::SIGSTOP);
    let mut command = command(service.home.path());
    command.args(["prompt", "x"]);
    let ran = tokio::task::spawn_blocking(move || crate::program::output(&mut command));
    let (code, _, err) = ran.await.unwrap();
    service.signal(Signal::SIGCONT);
    let said = format!(
        "harness: the service at {} does not answer\n",
        service.address
    );
    assert_eq!((code, err), (1, said));
}
