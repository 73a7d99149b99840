//! A small HTTP client in which every byte of a request can be chosen.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// Time limit for anything that must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Waits for something that must happen.
pub(crate) async fn within<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: nothing within {LIMIT:?}"),
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// One connection.
pub(crate) struct Connection {
    reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (reader, writer) = stream.into_split();
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    /// Reads the head of an answer; its body is left.
    pub(crate) async fn head(&mut self) -> Answer {
        let mut status = String::new();
        within("a status line", self.reader.read_line(&mut status))
            .await
            .unwrap();
        let status = status
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("no status in {status:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            within("a header", self.reader.read_line(&mut line))
                .await
                .unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        // No answer, whatever it is to, lets a web page read it.
        let is_cors = |(name, _): &(String, String)| name.starts_with("access-control");
        assert!(!headers.iter().any(is_cors), "{headers:?}");
        Answer {
            status: status.parse().unwrap(),
            headers,
            body: String::new(),
        }
    }

    /// Reads a whole answer.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.head().await;
        let length = answer
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        within("a body", self.reader.read_exact(&mut body))
            .await
            .unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// The next chunk of a chunked body; `None` after the last one.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        self.reader.read_line(&mut size).await.ok()?;
        let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).await.ok()?;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// Waits until the other side closes the connection. False if it does not within the limit.
    pub(crate) async fn is_closed_within(&mut self, limit: Duration) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(limit, self.reader.read_to_end(&mut rest))
            .await
            .is_ok()
    }
}

/// One attached event stream.
pub(crate) struct Events {
    connection: Connection,
    pub(crate) head: Answer,
    buffer: String,
    /// The last id that came, with an event or without.
    pub(crate) last_id: String,
}

/// One block of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    /// The id, for an event that lasts.
    pub(crate) id: Option<String>,
    pub(crate) event: Value,
}

impl Shown {
    /// The number of the event's record.
    pub(crate) fn seq(&self) -> Option<u64> {
        self.id.as_deref().map(seq_of)
    }
}

/// The number of a record in a position.
pub(crate) fn seq_of(position: &str) -> u64 {
    position.split('-').nth(1).unwrap().parse().unwrap()
}

impl Events {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self::open_at(address, "/events", "").await
    }

    /// Attaches there, with these further headers.
    pub(crate) async fn open_at(address: SocketAddr, path: &str, headers: &str) -> Self {
        let mut connection = Connection::open(address).await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}\r\n");
        connection.send(request.as_bytes()).await;
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{head:?}");
        let mut events = Self {
            connection,
            head,
            buffer: String::new(),
            last_id: String::new(),
        };
        let opening = events.frame().await.unwrap();
        let id = opening.strip_prefix(": connected\nretry: 1000\nid: ");
        id.unwrap().clone_into(&mut events.last_id);
        events
    }

    /// Says that no more will be sent.
    pub(crate) async fn close_half(&mut self) {
        self.connection.writer.shutdown().await.unwrap();
    }

    /// The next block of the stream; `None` at its end.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.buffer.split_once("\n\n") {
                let frame = frame.to_owned();
                self.buffer = rest.to_owned();
                return Some(frame);
            }
            let chunk = within("an event", self.connection.chunk()).await?;
            self.buffer += &String::from_utf8(chunk).unwrap();
        }
    }

    /// The next event with its id; `None` at the end of the stream.
    pub(crate) async fn shown(&mut self) -> Option<Shown> {
        loop {
            let frame = self.frame().await?;
            let (id, data) = match frame.strip_prefix("id: ") {
                Some(rest) => {
                    let (id, data) = rest.split_once('\n').unwrap();
                    id.clone_into(&mut self.last_id);
                    (Some(id.to_owned()), data)
                }
                None => (None, frame.as_str()),
            };
            if let Some(data) = data.strip_prefix("data: ") {
                let event = serde_json::from_str(data).unwrap();
                return Some(Shown { id, event });
            }
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        self.shown().await.expect("the stream has ended").event
    }

    /// The events up to the end of the run, without their times.
    pub(crate) async fn run(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let mut event = self.event().await;
            let timestamp = event.as_object_mut().unwrap().remove("timestamp");
            assert!(timestamp.unwrap().is_u64());
            let is_end = matches!(event["state"].as_str(), Some("idle" | "error"));
            events.push(event);
            if is_end {
                return events;
            }
        }
    }

    /// The end of the run: the state and message of its last status.
    pub(crate) async fn end(&mut self) -> (String, String) {
        let last = self.run().await.pop().unwrap();
        let text = |key: &str| last[key].as_str().unwrap().to_owned();
        (text("state"), text("message"))
    }

    /// Waits for an event of that type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.event().await;
            if event["type"] == kind {
                return event;
            }
        }
    }
}
