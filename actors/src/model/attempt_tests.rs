use std::io;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::UnboundedReceiverStream;

use awc::error::PayloadError;

use super::super::error::{MAX_QUOTED_BYTES, quote};
use super::super::http::broken;
use super::*;
use crate::secret::Redaction;

const LIMIT: Duration = Duration::from_secs(300);

type Chunk = Result<Bytes, ModelError>;

fn event(json: &str) -> Chunk {
    Ok(Bytes::from(format!("data: {json}\n\n")))
}

/// Reads a reply whose chunks come at these times after the start, in seconds; what comes of it,
/// and when.
async fn read(chunks: Vec<(u64, Chunk)>, ends: bool) -> (Result<ReplyEnd, ModelError>, Duration) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let began = Instant::now();
    actix::spawn(async move {
        for (at, chunk) in chunks {
            tokio::time::sleep_until(began + Duration::from_secs(at)).await;
            if sender.send(chunk).is_err() {
                return;
            }
        }
        if !ends {
            sender.closed().await;
        }
    });
    let answer = UnboundedReceiverStream::new(receiver);
    let read = read_reply(answer, LIMIT, &SharedAssembler::default(), |_| ()).await;
    (read, began.elapsed())
}

/// Spec: [MODEL-23]
#[actix::test]
async fn the_watchdog_ends_a_silent_reply_at_its_limit() {
    tokio::time::pause();
    let start = event(r#"{"type":"message_start","message":{}}"#);
    let (read, after) = read(vec![(100, start)], false).await;
    assert_eq!(read, Err(ModelError::Stalled { limit: LIMIT }));
    assert_eq!(after.as_secs(), 400);
}

/// Spec: [MODEL-23]
#[actix::test]
async fn any_byte_keeps_the_watchdog_away() {
    tokio::time::pause();
    let mut chunks = vec![(0, event(r#"{"type":"message_start","message":{}}"#))];
    for number in 1..=20 {
        let byte = Bytes::from_static(if number == 1 { b":" } else { b"x" });
        chunks.push((number * 299, Ok(byte)));
    }
    chunks.push((6000, event("")));
    chunks.push((6001, event(r#"{"type":"message_stop"}"#)));
    let (read, after) = read(chunks, false).await;
    assert_eq!(read, Ok(ReplyEnd::default()));
    assert_eq!(after.as_secs(), 6001);
}

/// Spec: [MODEL-06]
#[actix::test]
async fn an_end_or_a_break_before_message_stop_is_told_apart() {
    tokio::time::pause();
    let start = || (0, event(r#"{"type":"message_start","message":{}}"#));
    let (ended, _) = read(vec![start()], true).await;
    assert_eq!(ended, Err(ModelError::Truncated));
    let reset = PayloadError::Io(io::Error::from(io::ErrorKind::ConnectionReset));
    let (broken, _) = read(vec![start(), (1, Err(broken(&reset, "http://h")))], true).await;
    assert!(matches!(broken, Err(ModelError::Connection { .. })));
    let last = Ok(Bytes::from_static(b"data: {\"type\":\"message_stop\"}"));
    let (whole, _) = read(vec![start(), (1, last)], true).await;
    assert_eq!(whole, Ok(ReplyEnd::default()));
}

/// Spec: [MODEL-21] [SEC-22]
#[test]
fn a_body_is_quoted_without_secrets_and_without_their_starts() {
    let secret = "sk-ant-0123456789";
    let redaction = Redaction::new(vec![secret.into()]);
    assert_eq!(quote(b"", &redaction), "(no body)");
    assert_eq!(quote(b"no \"credits", &redaction), "no \\\"credits");
    for before in MAX_QUOTED_BYTES - secret.len()..=MAX_QUOTED_BYTES {
        let body = format!("{}{secret}{}", "x".repeat(before), "y".repeat(600));
        let quoted = quote(body.as_bytes(), &redaction);
        assert!(!quoted.contains("sk-") && quoted.ends_with('…'), "{quoted}");
    }
}
