//! The file of a workflow: the one that counts, the one in the folder, and what the difference is.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::workflow::manifest::Manifest;
use harness_actors::workflow::messages::{ApplyFile, CountingManifest, FindManifest};
use harness_actors::workflow::proposal::{ProposedChange, manifest_diff};
use harness_protocol::ApplyWorkflowFile;
use serde_json::{Value, json};

use super::file::{GivenText, JudgedFile, judge};
use super::read::snapshot;
use super::refuse::{refuse, taken};
use crate::http::ask::{Late, Name, ask, ask_late};
use crate::http::body;
use crate::http::guard::require_token;
use crate::http::lent;
use crate::http::problem::{HandlerResult, Kind, Refusal};
use crate::http::received::Received;
use crate::http::said::name_of;
use crate::http::shared::HttpShared;

/// The file that counts, and what the one in the folder would change. It has the commands that the model is not
/// told, so that it needs the token.
pub(in crate::http) async fn manifest(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    require_token(&request, "to read the file of a workflow")?;
    let turn = lent::turn(&shared).await?;
    let (counting, text) = counting(&shared, &id).await?;
    let proposal = proposal(&shared, &counting).await;
    let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = json!({
        "hash": counting.note.hash,
        "version": counting.note.version,
        "approved": counting.note.is_approved,
        "file": counting.note.file,
        "text": text,
        "manifest": *counting.manifest,
        "proposal": proposal,
    });
    let mut answer = lent::json(&shared.answers, turn, &said).await;
    let tag = header::EntityTag::new_strong(counting.note.hash);
    if let Ok(tag) = header::HeaderValue::from_str(&tag.to_string()) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    Ok(answer)
}

/// Puts another file into force, or reports its changes in a dry run.
pub(in crate::http) async fn apply(it: Received) -> HandlerResult {
    let Received {
        request,
        payload,
        id,
        shared,
    } = it;
    let order: ApplyWorkflowFile = body::json(&request, payload).await?;
    require_token(&request, "to change the file of a workflow")?;
    let (counting, _) = counting(&shared, &id).await?;
    let given = given(order.path, order.spec, &counting)?;
    let folder = counting.folder.clone();
    let judged = judge(&shared, given, Some(counting.name.clone()), folder).await?;
    if order.dry_run {
        return Ok(HttpResponse::Ok().json(difference(&counting.manifest, &judged)));
    }
    let over = over(&request)?;
    let apply = ApplyFile {
        id: id.clone(),
        given: judged.given(order.approve.as_deref())?,
        over,
        allow_remove: order.allow_remove,
        by: name_of(order.by),
    };
    // A repetition changes nothing: the file counts by then.
    let applied = ask_late(shared.workflows.send(apply), Late::OrderWithKey).await?;
    taken(applied.map_err(|error| refuse(&error))?)?;
    let snapshot = snapshot(&shared, &id).await?;
    let tag = header::ETag(header::EntityTag::new_strong(snapshot.manifest.clone()));
    Ok(HttpResponse::Ok().insert_header(tag).json(snapshot))
}

async fn counting(
    shared: &HttpShared,
    id: &str,
) -> Result<(CountingManifest, Option<Vec<u8>>), Refusal> {
    let id = id.to_owned();
    let found = ask(shared.workflows.send(FindManifest { id })).await?;
    found.map_err(|error| refuse(&error))
}

/// The text that is meant: the one that is given, or that of the file that was applied last.
fn given(
    path: Option<String>,
    spec: Option<Value>,
    counting: &CountingManifest,
) -> Result<GivenText, Refusal> {
    if path.is_some() || spec.is_some() {
        return GivenText::from_body(path, spec);
    }
    let known = counting.note.file.clone();
    known.map(GivenText::Path).ok_or_else(|| {
        Kind::BadRequest
            .refuse("the workflow was made of no file in its folder: give the `path` of one")
    })
}

/// The hash that `If-Match` names; none for `*`.
fn over(request: &HttpRequest) -> Result<Option<String>, Refusal> {
    let needed = || {
        let detail =
            "say with `If-Match` which file is to be replaced: its hash, as the ETag has it";
        Kind::ManifestChanged.refuse(detail)
    };
    let named = request.headers().get(header::IF_MATCH).ok_or_else(needed)?;
    let named = named.to_str().map_err(|_| needed())?.trim();
    Ok((named != "*").then(|| named.trim_matches('"').to_owned()))
}

/// The changes that the file in the folder would make. `None` if it is the one in force, or there is no file.
async fn proposal(shared: &HttpShared, counting: &CountingManifest) -> Option<Value> {
    let given = GivenText::Path(counting.note.file.clone()?);
    let folder = counting.folder.clone();
    match judge(shared, given, Some(counting.name.clone()), folder).await {
        Ok(judged) if judged.hash == counting.note.hash => None,
        Ok(judged) => Some(difference(&counting.manifest, &judged)),
        Err(refusal) => Some(json!({"missing": refusal.to_string()})),
    }
}

/// The changes that a text would make.
fn difference(old: &Manifest, judged: &JudgedFile) -> Value {
    let changes = judged.found.as_ref().map(|new| manifest_diff(old, new));
    let problems = judged.found.as_ref().err().map_or(&[][..], Vec::as_slice);
    json!({
        "hash": judged.hash,
        "problems": problems,
        "changes": changes.as_deref().unwrap_or_default(),
        "removes": changes.as_deref().unwrap_or_default().iter().any(ProposedChange::removes),
    })
}
