//! A scripted service, and a record of what a command prints.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use harness_actors::Clock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery;
use crate::client::api::opened::NamedService;
use crate::client::api::patience::{GivesUp, Patience};
use crate::client::output::Output;
use crate::config::{ClientConfig, Secret};
use crate::proof::ProofKey;

/// When the tests take place, in Unix seconds.
const NOW: u64 = 1_763_761_000;

/// A part of an answer.
#[derive(Clone)]
pub(super) enum Part {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing before a request for this path has come.
    Await(&'static str),
    /// Nothing for that time.
    Pause(Duration),
    /// Nothing more, on an open connection.
    Hang,
}

impl From<Vec<u8>> for Part {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

type Requests = Rc<RefCell<Vec<String>>>;
type Script = Rc<RefCell<HashMap<String, VecDeque<Vec<Part>>>>>;

/// A service that answers as it is told, one answer a request, and proves itself by the key of [`Home`].
pub(super) struct Server {
    pub(super) address: SocketAddr,
    script: Script,
    requests: Requests,
    arrivals: watch::Receiver<()>,
    left: watch::Receiver<Vec<String>>,
}

impl Server {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Script::default();
        let requests = Requests::default();
        let (served, kept) = (script.clone(), requests.clone());
        let (arrived, arrivals) = watch::channel(());
        let all_arrivals = arrivals.clone();
        let arrived = Rc::new(arrived);
        let (leaving, left) = watch::channel(vec![]);
        let leaving = Rc::new(leaving);
        actix::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (served, kept) = (served.clone(), kept.clone());
                let (arrived, arrivals) = (arrived.clone(), arrivals.clone());
                let leaving = leaving.clone();
                actix::spawn(async move {
                    // Clients hang up when they have seen enough.
                    drop(serve(stream, served, kept, &arrived, arrivals, &leaving).await);
                });
            }
        });
        Self {
            address,
            script,
            requests,
            arrivals: all_arrivals,
            left,
        }
    }

    /// Waits for a request for this path.
    pub(super) async fn until_asked(&self, path: &str) {
        until_asked(path, &self.requests, self.arrivals.clone())
            .await
            .unwrap();
    }

    /// Waits until a client has closed the connection of an answer that hangs.
    pub(super) async fn until_left(&self, path: &str) {
        let has_left = |left: &Vec<String>| left.iter().any(|of| of == path);
        self.left.clone().wait_for(has_left).await.unwrap();
    }

    /// Answers requests for this path so, one after the other.
    pub(super) fn on<P: Into<Part>>(&self, path: &str, answers: Vec<P>) {
        self.say(
            path,
            answers.into_iter().map(|part| vec![part.into()]).collect(),
        );
    }

    /// Answers requests for this path with parts, one list after the other.
    pub(super) fn say(&self, path: &str, answers: Vec<Vec<Part>>) {
        let mut script = self.script.borrow_mut();
        script.entry(path.to_owned()).or_default().extend(answers);
    }

    /// The requests, as they came, without the questions whether it is the service and which one, and
    /// whether a conversation has that id.
    pub(super) fn requests(&self) -> Vec<String> {
        let mut requests = self.all_requests();
        let is_about_itself = |path: &str| matches!(path, "/healthz" | "/v1/service");
        let is_about_id = |request: &str, path: &str| {
            request.starts_with("GET ") && path.ends_with("/queue") && !path.contains("/default/")
        };
        requests.retain(|request| {
            let path = path_of(request);
            !is_about_itself(&path) && !is_about_id(request, &path)
        });
        requests
    }

    /// It, as a client that has read its file knows it.
    pub(super) fn named(&self) -> NamedService {
        NamedService {
            address: self.address,
            listens_on: self.address.to_string(),
            key: ProofKey::from(Secret::from(Home::KEY)),
        }
    }

    /// Its description of itself.
    pub(super) fn info(&self) -> Value {
        info(self.address)
    }

    /// All that was asked, as it came.
    pub(super) fn all_requests(&self) -> Vec<String> {
        self.requests.borrow().clone()
    }
}

fn path_of(request: &str) -> String {
    let target = request.split(' ').nth(1).unwrap_or_default();
    target.split('?').next().unwrap_or_default().to_owned()
}

fn info(address: SocketAddr) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"), "protocol": {"min": 1, "max": 1}, "epoch": "e1",
        "pid": 1, "address": address.to_string(), "home": "/home/me/.harness",
        "workspace": "/work", "upstream": {"kind": "demo"}, "model": "m", "sandbox": "none",
        "started_at": NOW - 60, "clients": 0, "runs": 0,
    })
}

/// The proof to a nonce in a request.
fn proof(request: &str, address: SocketAddr) -> Value {
    let nonce = request.split(' ').nth(1).unwrap_or_default();
    let nonce = nonce.split('=').nth(1).unwrap_or_default();
    let key = ProofKey::from(Secret::from(Home::KEY));
    json!({"status": "ok", "proof": key.prove(nonce, &address.to_string())})
}

async fn serve(
    mut stream: TcpStream,
    script: Script,
    requests: Requests,
    arrived: &watch::Sender<()>,
    arrivals: watch::Receiver<()>,
    leaving: &watch::Sender<Vec<String>>,
) -> io::Result<()> {
    let address = stream.local_addr()?;
    let (path, parts) = loop {
        let request = read_request(&mut stream).await?;
        let path = path_of(&request);
        requests.borrow_mut().push(request.clone());
        arrived.send_replace(());
        let answer = script
            .borrow_mut()
            .get_mut(&path)
            .and_then(VecDeque::pop_front);
        match (answer, path.as_str()) {
            (Some(parts), _) => break (path, parts),
            (None, "/healthz") => {
                let proof = answer_with(200, &proof(&request, address));
                stream.write_all(&proof).await?;
            }
            (None, "/v1/service") => {
                break (path, vec![answer_with(200, &info(address)).into()]);
            }
            (None, _) => {
                let unexpected = answer_with(500, &json!({"unexpected": path}));
                break (path, vec![unexpected.into()]);
            }
        }
    };
    for part in parts {
        match part {
            Part::Bytes(bytes) => stream.write_all(&bytes).await?,
            Part::Await(path) => until_asked(path, &requests, arrivals.clone()).await?,
            Part::Pause(time) => tokio::time::sleep(time).await,
            Part::Hang => {
                let closed = stream.read(&mut [0; 64]).await;
                leaving.send_modify(|left| left.push(path.clone()));
                closed?;
            }
        }
    }
    stream.shutdown().await
}

async fn until_asked(
    path: &str,
    requests: &Requests,
    mut arrivals: watch::Receiver<()>,
) -> io::Result<()> {
    while !requests
        .borrow()
        .iter()
        .any(|request| path_of(request) == path)
    {
        arrivals.changed().await.map_err(io::Error::other)?;
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Ok(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn answer_with(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\ncontent-type: application/json\r\n\r\n{body}").into()
}

/// A whole answer.
pub(super) fn answer(status: u16, body: &Value) -> Vec<u8> {
    answer_with(status, body)
}

/// The head of an event stream and its opening, at this record.
pub(super) fn opening(seq: u64) -> Vec<u8> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend(chunk(&format!(
        ": connected\nretry: 1000\nid: e-{seq}-0\n\n"
    )));
    bytes
}

/// Events: lasting ones with the number of their record, passing ones with 0.
pub(super) fn frames(events: &[(u64, Value)]) -> Vec<u8> {
    let frame = |(seq, event): &(u64, Value)| {
        let id = if *seq > 0 {
            format!("id: e-{seq}-0\n")
        } else {
            String::new()
        };
        chunk(&format!("{id}data: {event}\n\n"))
    };
    events.iter().flat_map(frame).collect()
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// A conversation in a list.
pub(super) fn summary(id: &str) -> Value {
    json!({
        "id": id, "title": "Title", "state": "idle", "prompts": 2, "turns": 3, "records": 40,
        "usage": {"input_tokens": 812, "output_tokens": 64, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0},
        "created_at": NOW - 1000, "active_at": NOW - 300,
    })
}

/// A clock that stands still.
pub(super) fn clock() -> Clock {
    Clock::new(|| UNIX_EPOCH + Duration::from_secs(NOW))
}

/// Tries again at once, and not often.
pub(super) fn impatient() -> Patience {
    Patience {
        silence: Duration::from_secs(10),
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(1),
        gives_up: GivesUp::WithoutService(3),
        ..Patience::default()
    }
}

/// A state folder.
pub(super) struct Home {
    pub(super) config: ClientConfig,
    _folder: TempDir,
}

impl Home {
    /// The key by which the server proves itself.
    pub(super) const KEY: &str = "the key of the tests";

    /// The same, ready for use.
    pub(super) fn key(&self) -> ProofKey {
        ProofKey::from(Secret::from(Self::KEY))
    }

    /// The state folder of a server.
    pub(super) fn of(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self {
            config: ClientConfig {
                home: folder.path().to_owned(),
                token: None,
                secrets: Vec::new(),
            },
            _folder: folder,
        };
        home.write_discovery(&server.address.to_string(), Self::KEY);
        home
    }

    /// The service of this folder.
    pub(super) async fn service(&self) -> ServiceConnection {
        discovery::find(&self.config).await.unwrap()
    }

    pub(super) fn write_discovery(&self, address: &str, key: &str) {
        let discovery = json!({"address": address, "pid": 1, "epoch": "e1", "proof_key": key});
        std::fs::write(self.config.home.join("service.json"), discovery.to_string()).unwrap();
    }
}

/// The printed output.
#[derive(Clone, Default)]
pub(super) struct Record {
    out: Pipe,
    err: Pipe,
}

impl Record {
    pub(super) fn out(&self) -> String {
        String::from_utf8(self.out.0.borrow().clone()).unwrap()
    }

    pub(super) fn err(&self) -> String {
        String::from_utf8(self.err.0.borrow().clone()).unwrap()
    }
}

#[derive(Clone, Default)]
struct Pipe(Rc<RefCell<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output, and what it is given.
pub(super) fn recorded() -> (Output, Record) {
    let record = Record::default();
    let Record { out, err } = record.clone();
    (Output::new(Box::new(out), Box::new(err)), record)
}
