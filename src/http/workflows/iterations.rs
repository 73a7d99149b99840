//! The past of a workflow: its iterations, what the attempts left, and the outputs of checks.

use std::io::ErrorKind;

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::blocking;
use harness_actors::journal::{Journal, Record};
use harness_actors::workflow::keeper::WorkflowFiles;
use harness_actors::workflow::messages::DiffCandidate;
use harness_actors::workflow::past::{PastIterations, Wanted};
use harness_actors::workflow::record::WorkflowRecord;
use harness_protocol::{WorkflowDiff, WorkflowIteration};
use serde::Deserialize;

use super::read::followable;
use super::refuse::refuse;
use crate::http::ask::{Name, ask, query};
use crate::http::guard::require_token;
use crate::http::history::read_page;
use crate::http::lent;
use crate::http::problem::{HandlerResult, Kind, Refusal};
use crate::http::shared::HttpShared;

/// Number of records that are read at once.
const PAGE: usize = 1000;
/// Default and maximum number of iterations on a page.
const ITERATIONS: usize = 100;

/// The requested iterations.
#[derive(Debug, Default, Deserialize)]
struct PageQuery {
    /// Only those after this one.
    #[serde(default)]
    after: u32,
    /// Maximum number of iterations.
    limit: Option<usize>,
}

/// The requested attempt.
#[derive(Debug, Default, Deserialize)]
struct AttemptQuery {
    /// The attempt; the last one that left something if left out.
    attempt: Option<u32>,
}

/// The iterations, in pages.
pub(in crate::http) async fn iterations(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let PageQuery { after, limit } = query(&request)?;
    let limit = limit.unwrap_or(ITERATIONS).clamp(1, ITERATIONS);
    let turn = lent::turn(&shared).await?;
    let journal = followable(&shared, &id).await?.journal;
    let page = read_iterations(&*journal, Wanted::Page { after, limit })
        .await?
        .page();
    Ok(lent::json(&shared.answers, turn, &page).await)
}

/// An iteration with its attempts and their checks; number 0 has the verifications of the head.
pub(in crate::http) async fn iteration(
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, n) = path.into_inner();
    let n = number(&n)?;
    let turn = lent::turn(&shared).await?;
    let it = find(&shared, &id, n).await?;
    Ok(lent::json(&shared.answers, turn, &it).await)
}

/// The changes of an attempt. Git is asked, so that it needs the token.
pub(in crate::http) async fn diff(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, n) = path.into_inner();
    require_token(&request, "to read what an attempt changed")?;
    let n = number(&n)?;
    let AttemptQuery { attempt } = query(&request)?;
    let turn = lent::turn(&shared).await?;
    let it = find(&shared, &id, n).await?;
    let (attempt, base, commit) = candidate(&it, attempt).ok_or_else(|| {
        Kind::NoIteration.refuse(format!(
            "iteration {n} has no such attempt that left anything"
        ))
    })?;
    let asked = DiffCandidate {
        id,
        base: base.clone(),
        commit: commit.clone(),
    };
    let told = ask(shared.workflows.send(asked)).await?;
    let told = told.map_err(|error| refuse(&error))?;
    let (diff, cut) = told.ok_or_else(|| {
        Kind::NoOutput.refuse(format!(
            "what attempt {n}.{attempt} left is not kept any more"
        ))
    })?;
    let said = WorkflowDiff {
        iteration: n,
        attempt,
        base,
        commit,
        diff,
        cut,
    };
    Ok(lent::json(&shared.answers, turn, &said).await)
}

/// The stored output of a check. That of a hidden check must not reach the model, so that the route requires the token.
pub(in crate::http) async fn output(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (id, sha256) = path.into_inner();
    require_token(&request, "to read the output of a check")?;
    followable(&shared, &id).await?;
    let turn = lent::turn(&shared).await?;
    let files = WorkflowFiles::at(&shared.home);
    let read = blocking(move || files.output(&sha256)).await;
    let read = read.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    let bytes = read.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Kind::NoOutput
            .refuse("no output of that SHA-256 is kept; `check_ended` names those that are"),
        _ => Kind::Unreadable.refuse(format!("the output cannot be read: {error}")),
    })?;
    let mut answer = HttpResponse::Ok();
    answer
        .content_type("text/plain; charset=utf-8")
        .insert_header(("x-content-type-options", "nosniff"));
    Ok(lent::finish(answer, &shared.answers, turn, bytes.into()).await)
}

fn number(n: &str) -> Result<u32, Refusal> {
    n.parse().map_err(|_| {
        Kind::NoIteration
            .refuse("an iteration has a number, from 1 on; 0 has the verifications of the head")
    })
}

async fn find(shared: &HttpShared, id: &str, n: u32) -> Result<WorkflowIteration, Refusal> {
    let journal = followable(shared, id).await?.journal;
    let found = read_iterations(&*journal, Wanted::One(n)).await?.one();
    found.ok_or_else(|| Kind::NoIteration.refuse(format!("the workflow {id} has no iteration {n}")))
}

/// The attempt with what it began with and what it left.
fn candidate(it: &WorkflowIteration, wanted: Option<u32>) -> Option<(u32, String, String)> {
    let is_wanted = |attempt: u32| wanted.is_none_or(|wanted| wanted == attempt);
    let mut attempts = it.attempts.iter().rev();
    let found = attempts.find(|it| it.commit.is_some() && is_wanted(it.attempt))?;
    Some((found.attempt, it.base.clone()?, found.commit.clone()?))
}

/// The iterations that are wanted, from all records.
async fn read_iterations(journal: &dyn Journal, wanted: Wanted) -> Result<PastIterations, Refusal> {
    let mut past = PastIterations::new(wanted);
    let (mut after, end) = (0, journal.end().seq);
    while after < end {
        let entries = read_page(journal, after, PAGE).await?;
        after = entries.last().map_or(end, |entry| entry.position.seq);
        for entry in entries {
            let Record::Workflow(record) = entry.record else {
                continue;
            };
            // A record of a newer version is unknown to this one.
            if let Ok(record) = serde_json::from_value::<WorkflowRecord>(record) {
                past.add(&record, entry.at / 1000);
            }
        }
    }
    Ok(past)
}
