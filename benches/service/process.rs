//! The built service, in a process of its own, and a plain client.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use tokio::io::AsyncBufReadExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// The built service.
pub(crate) struct Service {
    child: Child,
    home: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

impl Service {
    pub(crate) fn start(base_url: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), base_url)
    }

    pub(crate) fn start_in(home: tempfile::TempDir, base_url: &str) -> Self {
        let (child, address) = spawn(home.path(), base_url);
        Self {
            child,
            home,
            address,
        }
    }

    /// Ends the process and starts another one on the same state.
    pub(crate) fn start_again(&mut self, base_url: &str) {
        self.end();
        (self.child, self.address) = spawn(self.home.path(), base_url);
    }

    fn end(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        state(self.home.path())
    }

    pub(crate) fn journal(&self) -> PathBuf {
        state(self.home.path()).join("conversations/default.jsonl")
    }

    /// A folder beside the state folder; made if there is none.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    /// The JSON answer to an order with the token, which is taken.
    pub(crate) async fn order(&self, method: &str, path: &str, body: &Value) -> Value {
        let token = std::fs::read_to_string(state(self.home.path()).join("token")).unwrap();
        let shown = format!("authorization: Bearer {}\r\n", token.trim());
        call_with(self.address, &shown, method, path, body).await
    }

    /// Processor time that the process has used.
    pub(crate) fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        // A hundred ticks a second, on every Linux.
        Duration::from_millis(
            10 * ticks
                .map(|ticks| ticks.parse::<u64>().unwrap())
                .sum::<u64>(),
        )
    }

    /// A figure of the process, in kilobytes, such as `VmRSS` or `VmHWM`.
    pub(crate) fn kilobytes(&self, figure: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with(figure))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// The measured program: `HARNESS_BIN`, or the one that was built beside this one.
pub(crate) fn program() -> PathBuf {
    let beside = || std::env::current_exe().unwrap().with_file_name("harness");
    let program = std::env::var_os("HARNESS_BIN").map_or_else(beside, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is missing: cargo build --release, or HARNESS_BIN",
        program.display()
    );
    program
}

fn spawn(home: &Path, base_url: &str) -> (Child, SocketAddr) {
    let mut child = Command::new(program())
        .args(["serve", "--port", "0", "--model", "claude-haiku-5-5"])
        .args(["--log", "error", "--max-subscribers", "5000"])
        .env("HARNESS_HOME", state(home))
        .env("HARNESS_WORKTREES", home.join("worktrees"))
        .env("ANTHROPIC_BASE_URL", base_url)
        .env("ANTHROPIC_API_KEY", "x")
        // Its requests show no token, also in a container.
        .env("HARNESS_REQUIRE_TOKEN", "false")
        .env_remove("ANTHROPIC_AUTH_TOKEN")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let address = line.trim().strip_prefix("harness listens on http://");
    let address = address.expect("the service starts").parse().unwrap();
    (child, address)
}

/// The state folder of a service.
pub(crate) fn state(home: &Path) -> PathBuf {
    home.join("state")
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prompts the default conversation.
pub(crate) async fn prompt(address: SocketAddr, content: &str) {
    let body = format!(r#"{{"content":"{content}"}}"#);
    let request = format!(
        "POST /prompt HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A client of the default conversation's events, of which it keeps the positions.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
    /// The position where it began.
    pub(crate) start: String,
}

impl Client {
    /// Attaches, with this query and these further headers.
    pub(crate) async fn attach(address: SocketAddr, query: &str, headers: &str) -> Self {
        let path = format!("/v1/conversations/default/events{query}");
        Self::attach_to(address, &path, headers).await
    }

    /// The same with any stream.
    pub(crate) async fn attach_to(address: SocketAddr, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut client = Self {
            stream: BufReader::with_capacity(4096, stream),
            line: Vec::new(),
            start: String::new(),
        };
        client.start = client.next_id().await.expect("the stream opens");
        client
    }

    /// The next position that the stream tells; `None` at its end.
    pub(crate) async fn next_id(&mut self) -> Option<String> {
        loop {
            self.line.clear();
            if self.stream.read_until(b'\n', &mut self.line).await.ok()? == 0 {
                return None;
            }
            assert!(!self.line.starts_with(b"data: {\"type\":\"reset\""));
            assert!(!self.line.starts_with(b"data: {\"type\":\"gap\""));
            // A chunk may begin right before the line.
            if let Some(id) = self.line.strip_prefix(b"id: ") {
                let id = String::from_utf8_lossy(id.trim_ascii());
                // The event that tells that the client is live repeats it.
                if id != self.start {
                    return Some(id.into_owned());
                }
            }
        }
    }
}

/// The number of a record in a position.
pub(crate) fn seq_of(position: &str) -> u64 {
    position.split('-').nth(1).unwrap().parse().unwrap()
}

/// The positions of a journal's records.
pub(crate) fn positions(journal: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(journal).unwrap();
    let mut lines = text.lines();
    let header: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let epoch = header["epoch"].as_str().unwrap().to_owned();
    let position = |(seq, line): (u64, &str)| {
        let (_, sum) = line.rsplit_once("\"crc\":\"").unwrap();
        format!("{epoch}-{seq}-{}", sum.trim_end_matches("\"}"))
    };
    (1..).zip(lines).map(position).collect()
}

/// The JSON answer to a request, which is taken.
pub(crate) async fn call(address: SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    call_with(address, "", method, path, body).await
}

/// The same, with further headers.
async fn call_with(
    address: SocketAddr,
    headers: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Value {
    let body = body.to_string();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// The events of a stream up to the first one of that type.
pub(crate) async fn follow_to(address: SocketAddr, path: String, last: &str) -> Vec<Value> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut events: Vec<Value> = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        events.push(serde_json::from_str(data).unwrap());
        if events.last().is_some_and(|event| event["type"] == last) {
            return events;
        }
    }
    panic!("the stream ended before {last}");
}
