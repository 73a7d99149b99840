//! Reads one HTTP/1.1 request from a connection.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::journal::find_header;

/// The API's limit for a request's body.
pub(crate) const MAX_BODY: usize = 32 * 1024 * 1024;
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// One request as it came over the wire.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// The next event on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A whole request.
    Request(Incoming),
    /// A request whose body is over the limit; the rest of the body is still under way.
    TooLarge(Incoming),
    /// Bytes that are no HTTP request.
    Malformed(String),
    /// The client has left, or the connection broke.
    Left,
}

impl Incoming {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// True if the client wants the connection to stay open after the answer.
    pub(crate) fn wants_keep_alive(&self) -> bool {
        !self
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Waits for the next request. `inbox` holds what was read beyond the last one.
pub(crate) async fn next_request(
    reader: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
) -> Arrival {
    match read_request(reader, inbox).await {
        Ok(arrival) => arrival,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Arrival::Malformed(error.to_string())
        }
        Err(_) => Arrival::Left,
    }
}

async fn read_request(
    reader: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
) -> io::Result<Arrival> {
    let mut incoming = loop {
        if let Some(incoming) = take_head(inbox)? {
            break incoming;
        }
        more(reader, inbox).await?;
    };
    let chunked = incoming
        .header("transfer-encoding")
        .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let body = if chunked {
        read_chunked(reader, inbox).await?
    } else {
        let length = match incoming.header("content-length") {
            Some(length) => length
                .parse()
                .map_err(|_| malformed("bad content-length"))?,
            None => 0,
        };
        read_sized(reader, inbox, length).await?
    };
    let Some(body) = body else {
        return Ok(Arrival::TooLarge(incoming));
    };
    incoming.body = body;
    Ok(Arrival::Request(incoming))
}

/// Takes a complete head off the inbox, if there is one.
fn take_head(inbox: &mut BytesMut) -> io::Result<Option<Incoming>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request
        .parse(inbox)
        .map_err(|error| malformed(&error.to_string()))?;
    let httparse::Status::Complete(length) = parsed else {
        return if inbox.len() > MAX_HEAD {
            Err(malformed("head too large"))
        } else {
            Ok(None)
        };
    };
    let incoming = Incoming {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        headers: request
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).into_owned();
                (header.name.to_ascii_lowercase(), value)
            })
            .collect(),
        body: Bytes::new(),
    };
    inbox.advance(length);
    Ok(Some(incoming))
}

/// Reads a body of known length; `None` when it is over the limit.
async fn read_sized(
    reader: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
    length: usize,
) -> io::Result<Option<Bytes>> {
    if length > MAX_BODY {
        return Ok(None);
    }
    while inbox.len() < length {
        more(reader, inbox).await?;
    }
    Ok(Some(inbox.split_to(length).freeze()))
}

/// Reads a chunked body with its trailers; `None` when it is over the limit.
async fn read_chunked(
    reader: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
) -> io::Result<Option<Bytes>> {
    let mut body = BytesMut::new();
    loop {
        let size = match httparse::parse_chunk_size(inbox) {
            Ok(httparse::Status::Complete((line, size))) => {
                inbox.advance(line);
                size
            }
            Ok(httparse::Status::Partial) => {
                more(reader, inbox).await?;
                continue;
            }
            Err(_) => return Err(malformed("bad chunk size")),
        };
        if size == 0 {
            while !take_trailers(inbox) {
                more(reader, inbox).await?;
            }
            return Ok(Some(body.freeze()));
        }
        let fits = usize::try_from(size)
            .ok()
            .filter(|size| body.len() + size <= MAX_BODY);
        let Some(size) = fits else {
            return Ok(None);
        };
        while inbox.len() < size + 2 {
            more(reader, inbox).await?;
        }
        body.extend_from_slice(&inbox.split_to(size));
        if !inbox.split_to(2).eq(&b"\r\n"[..]) {
            return Err(malformed("a chunk does not end with its size"));
        }
    }
}

/// Takes trailer lines up to and with the empty line. Returns true if the empty line was there.
fn take_trailers(inbox: &mut BytesMut) -> bool {
    while let Some(end) = inbox.windows(2).position(|pair| pair == b"\r\n") {
        inbox.advance(end + 2);
        if end == 0 {
            return true;
        }
    }
    false
}

async fn more(reader: &mut (impl AsyncRead + Unpin), inbox: &mut BytesMut) -> io::Result<()> {
    inbox.reserve(16 * 1024);
    match reader.read_buf(inbox).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not an HTTP/1.1 request: {what}"),
    )
}
