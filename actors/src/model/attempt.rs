//! One attempt at a call: send the request, read the stream, assemble the reply.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use harness_protocol::DeltaKind;
use serde_json::Value;
use sse_core::MessageEvent;

use super::answer::{AttemptError, ReplyBytes};
use super::assemble::{AssembledStep, Assembler};
use super::client::ApiClient;
use super::extras::ExtraSet;
use super::sse::SseLines;
use super::version::ApiVersion;
use super::{MAX_REQUEST_BYTES, ModelError, Transport, TransportRequest};
use crate::budget::RequestSize;
use crate::clock::Clock;
use crate::limit::within;
use crate::reply::{Block, Object, ReplyEnd};

/// Time limit for the rest of a finished answer.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A piece of a running attempt.
#[derive(Debug, PartialEq)]
pub(super) enum AttemptPiece {
    /// A piece of an open block, as in [`AssembledStep::Delta`].
    Delta {
        index: u64,
        kind: DeltaKind,
        offset: u64,
        text: String,
    },
    /// A finished block, with its place in the reply.
    Block(u64, Block),
}

/// The assembler of the attempt that is under way, where a cancel can look at it.
pub(super) type SharedAssembler = Rc<RefCell<Assembler>>;

/// A request in the form in which it is sent.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) model: Arc<str>,
    /// The version of the API that it is written for.
    pub(super) version: ApiVersion,
    /// The extras that it uses.
    pub(super) extras: ExtraSet,
    /// In pieces that are sent one after the other.
    pub(super) body: Vec<Bytes>,
    /// The largest possible size of the request and its reply.
    pub(super) size: RequestSize,
}

/// Makes one attempt. What it brings goes to `emit` as it comes.
pub(super) async fn attempt(
    client: &ApiClient,
    clock: Clock,
    Prepared {
        model,
        version,
        extras,
        body,
        ..
    }: Prepared,
    assembler: &SharedAssembler,
    emit: impl FnMut(AttemptPiece),
) -> Result<ReplyEnd, AttemptError> {
    assembler.replace(Assembler::default());
    let size: usize = body.iter().map(Bytes::len).sum();
    if size > MAX_REQUEST_BYTES {
        return Err(AttemptError::before_stream(ModelError::TooLarge {
            bytes: size,
            limit: MAX_REQUEST_BYTES,
        }));
    }
    let answer = if let Some(transport) = client.transport() {
        let request = TransportRequest {
            model,
            credential: client.credential(),
            body: body.concat().into(),
        };
        send_through(transport, request, client.settings().head_timeout).await?
    } else {
        let access = client.access();
        client
            .http()
            .send(&access, clock, (version, &extras), size, body)
            .await?
    };

    read_reply(answer, client.settings().idle_timeout, assembler, emit)
        .await
        .map_err(AttemptError::in_stream)
}

/// Sends a request in another way.
async fn send_through(
    transport: &dyn Transport,
    request: TransportRequest,
    limit: Duration,
) -> Result<ReplyBytes, AttemptError> {
    match within(limit, transport.send(request)).await {
        Some(Ok(answer)) => Ok(answer.boxed_local()),
        Some(Err(error)) => Err(AttemptError::before_stream(error)),
        None => Err(AttemptError::before_stream(ModelError::NoAnswer { limit })),
    }
}

/// Reads the stream of a reply to its end, as long as it does not fall silent.
async fn read_reply(
    mut answer: impl Stream<Item = Result<Bytes, ModelError>> + Unpin + 'static,
    idle_timeout: Duration,
    assembler: &SharedAssembler,
    mut emit: impl FnMut(AttemptPiece),
) -> Result<ReplyEnd, ModelError> {
    let mut lines = SseLines::default();
    let broken = loop {
        let mut chunk = match within(idle_timeout, answer.next()).await {
            Some(Some(Ok(chunk))) => chunk,
            Some(Some(Err(error))) => break error,
            Some(None) => break ModelError::Truncated,
            None => {
                let limit = idle_timeout;
                break ModelError::Stalled { limit };
            }
        };
        while let Some(event) = lines.next(&mut chunk)? {
            if let Some(end) = take(&event, assembler, &mut emit)? {
                drain(answer);
                return Ok(end);
            }
        }
    };
    // The data of the last event may come without its blank line.
    let last = lines.unfinished().filter(is_message_stop);
    let end = last.map(|event| take(&event, assembler, &mut emit));
    end.transpose()?.flatten().ok_or(broken)
}

/// Takes one event of the stream; the reply's end if it is that.
fn take(
    event: &MessageEvent,
    assembler: &SharedAssembler,
    emit: &mut impl FnMut(AttemptPiece),
) -> Result<Option<ReplyEnd>, ModelError> {
    let step = assembler.borrow_mut().take(&event.event, &event.data)?;
    Ok(match step {
        AssembledStep::Nothing => None,
        AssembledStep::Delta {
            index,
            kind,
            offset,
            text,
        } => {
            emit(AttemptPiece::Delta {
                index,
                kind,
                offset,
                text,
            });
            None
        }
        AssembledStep::Block(index, block) => {
            emit(AttemptPiece::Block(index, block));
            None
        }
        AssembledStep::Finished(blocks, end) => {
            for (index, block) in blocks {
                emit(AttemptPiece::Block(index, block));
            }
            Some(end)
        }
    })
}

fn is_message_stop(event: &MessageEvent) -> bool {
    serde_json::from_str::<Object>(&event.data)
        .is_ok_and(|event| event.get("type").and_then(Value::as_str) == Some("message_stop"))
}

/// Reads what is left of a finished answer, so that the server need not see its client leave.
fn drain(mut answer: impl Stream<Item = Result<Bytes, ModelError>> + Unpin + 'static) {
    actix::spawn(async move {
        let rest = async { while let Some(Ok(_)) = answer.next().await {} };
        if within(DRAIN_TIMEOUT, rest).await.is_none() {
            log::debug!("an answer went on after its end; its connection is closed");
        }
    });
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
