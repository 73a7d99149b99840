//! Turns a reply into exactly the bytes and pauses that go over the wire.

use bytes::{Bytes, BytesMut};

use crate::messages_request::MessagesRequest;
use crate::reply::{Body, Extent, Framing, Reply, Step};

/// A reply as the connection plays it: every `Send` is what is written, head and frames included.
pub(crate) struct Wire {
    /// Framed only when it is its turn, so that a body of the same bytes over and over can be
    /// larger than memory.
    pub(crate) steps: Box<dyn Iterator<Item = Step> + Send>,
    /// True if another request can follow on the connection after the last step.
    pub(crate) reusable: bool,
}

/// A reply before it is framed for a connection.
pub(crate) struct Rendered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) before_head: Vec<Step>,
    pub(crate) body: Vec<Step>,
    framing: Framing,
}

impl Reply {
    /// Renders the reply to a request; there is none when the bytes were no valid request.
    pub(crate) fn render(self, request: Option<&MessagesRequest>, request_id: &str) -> Rendered {
        let (content_type, steps) = content(self.body, request, request_id);
        let mut body = kept(steps, self.keep);
        body.extend(self.tail);
        body.push(self.end);
        if let Some(size) = self.pieces {
            body = recut(body, size);
        }
        let mut headers = self.headers;
        add(&mut headers, "content-type", &content_type);
        add(&mut headers, "request-id", request_id);
        Rendered {
            status: self.status,
            headers,
            before_head: self.before_head,
            body,
            framing: self.framing,
        }
    }
}

impl Rendered {
    /// True if the body is the whole answer, head included.
    pub(crate) fn is_raw(&self) -> bool {
        self.framing == Framing::Raw
    }

    /// The bytes of the reply with its head and its frames.
    pub(crate) fn framed(self) -> Wire {
        let Self {
            status,
            mut headers,
            before_head: mut opening,
            body,
            framing,
        } = self;
        let sent = body.iter().map(sent_bytes).sum();
        let reusable = match framing {
            Framing::Chunked => {
                add(&mut headers, "transfer-encoding", "chunked");
                true
            }
            Framing::ContentLength(announced) => {
                let announced = announced.unwrap_or(sent);
                add(&mut headers, "content-length", &announced.to_string());
                announced == sent
            }
            Framing::CloseDelimited => {
                add(&mut headers, "connection", "close");
                false
            }
            Framing::Raw => {
                let steps = Box::new(opening.into_iter().chain(body));
                return Wire {
                    steps,
                    reusable: false,
                };
            }
        };
        opening.push(Step::Send(head(status, &headers)));
        let opening = opening.into_iter();
        let steps: Box<dyn Iterator<Item = Step> + Send> = if framing == Framing::Chunked {
            Box::new(opening.chain(body.into_iter().flat_map(chunked)))
        } else {
            Box::new(opening.chain(body))
        };
        Wire { steps, reusable }
    }
}

/// Adds a header unless there is one of that name.
fn add(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    let is_given = |(given, _): &(String, String)| given.eq_ignore_ascii_case(name);
    if !headers.iter().any(is_given) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

fn content(body: Body, request: Option<&MessagesRequest>, request_id: &str) -> (String, Vec<Step>) {
    let stream = "text/event-stream; charset=utf-8";
    let json = "application/json";
    match (body, request) {
        (
            Body::Steps {
                content_type,
                steps,
            },
            _,
        ) => (content_type, steps),
        (Body::Message(message), Some(request)) if request.is_stream() => {
            (stream.to_owned(), message.stream(request, request_id))
        }
        (Body::Message(message), Some(request)) => {
            (json.to_owned(), message.document(request, request_id))
        }
        (Body::Message(_), None) => (json.to_owned(), Vec::new()),
        (Body::Error(error), _) => {
            let document = error.to_json(request_id).to_string();
            (json.to_owned(), vec![Step::Send(document.into())])
        }
    }
}

fn head(status: u16, headers: &[(String, String)]) -> Bytes {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    head.into()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Scripted",
    }
}

fn sent_bytes(step: &Step) -> usize {
    if let Step::Send(bytes) = step {
        bytes.len()
    } else {
        0
    }
}

/// The steps up to the limit. A pause right at the limit is still kept.
fn kept(steps: Vec<Step>, keep: Extent) -> Vec<Step> {
    let mut left = match keep {
        Extent::All => return steps,
        Extent::Sends(n) | Extent::Bytes(n) => n,
    };
    let mut kept = Vec::new();
    for step in steps {
        let Step::Send(bytes) = step else {
            kept.push(step);
            continue;
        };
        let allowed = match keep {
            Extent::All | Extent::Sends(_) if left == 0 => 0,
            Extent::All | Extent::Sends(_) => {
                left -= 1;
                bytes.len()
            }
            Extent::Bytes(_) => {
                let allowed = left.min(bytes.len());
                left -= allowed;
                allowed
            }
        };
        if allowed > 0 {
            kept.push(Step::Send(bytes.slice(..allowed)));
        }
        if allowed < bytes.len() {
            break;
        }
    }
    kept
}

/// Joins the sends between two pauses and splits them again.
fn recut(steps: Vec<Step>, size: usize) -> Vec<Step> {
    let mut cut = Vec::new();
    let mut joined = BytesMut::new();
    for step in steps {
        if let Step::Send(bytes) = step {
            joined.extend_from_slice(&bytes);
            continue;
        }
        let mut whole = joined.split().freeze();
        while !whole.is_empty() {
            cut.push(Step::Send(whole.split_to(size.min(whole.len()))));
        }
        cut.push(step);
    }
    cut
}

/// Frames a step; a proper end becomes the last chunk.
fn chunked(step: Step) -> Vec<Step> {
    match step {
        // An empty chunk would be the end of the body.
        Step::Send(bytes) if bytes.is_empty() => Vec::new(),
        Step::Send(bytes) => {
            let mut chunk = BytesMut::from(format!("{:x}\r\n", bytes.len()).as_bytes());
            chunk.extend_from_slice(&bytes);
            chunk.extend_from_slice(b"\r\n");
            vec![Step::Send(chunk.freeze())]
        }
        Step::Finish => vec![Step::Send(Bytes::from_static(b"0\r\n\r\n")), Step::Finish],
        Step::Wait(_) | Step::Sleep(_) | Step::Cut | Step::Reset | Step::Hang => vec![step],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(reply: Reply) -> Vec<u8> {
        let sends = reply.render(None, "req_1").framed().steps;
        sends
            .filter_map(|step| {
                if let Step::Send(bytes) = step {
                    Some(bytes)
                } else {
                    None
                }
            })
            .flatten()
            .collect()
    }

    #[test]
    fn a_body_can_be_kept_up_to_any_byte() {
        let whole = b"abcdef";
        for n in 0..8 {
            let step = |bytes: &'static [u8]| Step::Send(Bytes::from_static(bytes));
            let steps = vec![step(b"ab"), step(b"cde"), step(b"f")];
            let reply = Reply::raw(steps).keep_bytes(n).cut();
            assert_eq!(sent(reply), whole[..n.min(6)], "{n}");
        }
    }

    #[test]
    fn what_follows_comes_after_what_is_kept() {
        let step = |text: &'static str| Step::Send(Bytes::from(text));
        let reply = Reply::raw(vec![step("a"), step("b"), step("c")]);
        assert_eq!(sent(reply.keep_events(2).then(step("z")).pieces(1)), b"abz");
    }

    #[test]
    fn a_given_header_replaces_ours() {
        let reply = Reply::json(&serde_json::json!({}))
            .sized()
            .header("Content-Type", "text/html");
        let answer = String::from_utf8(sent(reply)).unwrap();
        assert_eq!(
            answer,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nrequest-id: req_1\r\n\
             content-length: 2\r\n\r\n{}"
        );
    }
}
