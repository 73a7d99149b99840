//! The jobs of a conversation, and the whole outputs of its calls.

use std::io::ErrorKind;

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::ConversationId;
use harness_actors::blocking;
use harness_actors::tool::OutputRange;
use harness_protocol::{JobList, StopJobAnswer, StopJobOrder};
use serde::Deserialize;

use super::ask::{Name, open, query};
use super::body;
use super::lent;
use super::problem::{HandlerResult, Kind, Refusal};
use super::said::name_of;
use super::shared::HttpShared;

/// The part of an output that is wanted.
#[derive(Debug, Default, Deserialize)]
struct OutputQuery {
    /// Lines, as in `10-20`, which count from 1.
    lines: Option<String>,
    /// Bytes, as in `0-99`, which count from 0.
    bytes: Option<String>,
}

/// The jobs that run.
pub(super) async fn list(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    open(&shared, &id).await?;
    let jobs = shared.jobs.running(&ConversationId::new(&id));
    Ok(HttpResponse::Ok().json(JobList { jobs }))
}

/// Stops a job. It needs no token: what it ends was allowed.
pub(super) async fn stop(
    request: HttpRequest,
    payload: web::Payload,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, job) = path.into_inner();
    let order: StopJobOrder = body::json_or_default(&request, payload).await?;
    open(&shared, &id).await?;
    let none = || Kind::NoJob.refuse(format!("there is no job {job:?} in this conversation"));
    let number = job.parse().map_err(|_| none())?;
    let by = name_of(order.by);
    let conversation = ConversationId::new(&id);
    let end = shared.jobs.stop(&conversation, number, by.as_deref()).await;
    let end = end.ok_or_else(none)?;
    Ok(HttpResponse::Ok().json(StopJobAnswer { job: number, end }))
}

/// The stored output of a call.
pub(super) async fn output(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, call) = path.into_inner();
    let range = range(&query(&request)?)?;
    open(&shared, &id).await?;
    let turn = lent::turn(&shared).await?;
    let conversation = ConversationId::new(&id);
    let redaction = shared.redaction.for_conversation(&conversation);
    let outputs = shared.outputs.clone();
    let read = blocking(move || outputs.read(&conversation, &call, range, &redaction)).await;
    let read = read.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    let bytes = read.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Kind::NoOutput
            .refuse("no output of this call is kept: its result has all of it, or it made room"),
        _ => Kind::Unreadable.refuse(format!("the output cannot be read: {error}")),
    })?;
    let mut answer = HttpResponse::Ok();
    answer
        .content_type("text/plain; charset=utf-8")
        .insert_header(("x-content-type-options", "nosniff"));
    Ok(lent::finish(answer, &shared.answers, turn, bytes.into()).await)
}

fn range(OutputQuery { lines, bytes }: &OutputQuery) -> Result<OutputRange, Refusal> {
    match (lines, bytes) {
        (None, None) => Ok(OutputRange::All),
        (Some(lines), None) => {
            let (first, last) = numbers(lines, 1)?;
            Ok(OutputRange::Lines(first, last))
        }
        (None, Some(bytes)) => {
            let (first, last) = numbers(bytes, 0)?;
            Ok(OutputRange::Bytes(first, last.saturating_add(1)))
        }
        (Some(_), Some(_)) => Err(Kind::BadRequest.refuse("a range is of lines or of bytes")),
    }
}

/// The numbers of a range such as `10-20`, the smallest of which may be `least`.
fn numbers(text: &str, least: u64) -> Result<(u64, u64), Refusal> {
    let numbers = text.split_once('-').and_then(|(first, last)| {
        let first: u64 = first.parse().ok()?;
        let last: u64 = match last {
            "" => u64::MAX,
            last => last.parse().ok()?,
        };
        (least <= first && first <= last).then_some((first, last))
    });
    numbers.ok_or_else(|| {
        let detail = format!("a range is like {least}-20 or {least}-, and not {text:?}");
        Kind::BadRequest.refuse(detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [HTTP-111]
    #[test]
    fn ranges_are_of_lines_or_of_bytes() {
        let of = |lines: Option<&str>, bytes: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            range(&OutputQuery {
                lines: own(lines),
                bytes: own(bytes),
            })
            .ok()
        };
        assert_eq!(of(None, None), Some(OutputRange::All));
        assert_eq!(of(Some("2-3"), None), Some(OutputRange::Lines(2, 3)));
        assert_eq!(of(Some("2-"), None), Some(OutputRange::Lines(2, u64::MAX)));
        assert_eq!(of(None, Some("0-0")), Some(OutputRange::Bytes(0, 1)));
        let open = OutputRange::Bytes(7, u64::MAX);
        assert_eq!(of(None, Some("7-")), Some(open));
        for wrong in [
            "",
            "-",
            "3",
            "0-3",
            "3-2",
            "a-b",
            "-3",
            "1-99999999999999999999",
        ] {
            assert_eq!(of(Some(wrong), None), None, "{wrong}");
        }
        assert_eq!(of(Some("1-2"), Some("1-2")), None);
    }
}
