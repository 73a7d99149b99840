//! The states of workflows, and their records.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::workflow::messages::{
    FollowWorkflow, Followable, ListWorkflows, LookAtWorkflow,
};
use harness_protocol::{WorkflowList, WorkflowSnapshot};

use super::refuse::refuse;
use crate::http::ask::{Name, ask, query};
use crate::http::history::page_of;
use crate::http::lent;
use crate::http::problem::{HandlerResult, Refusal};
use crate::http::shared::HttpShared;

/// All workflows, the last made first.
pub(in crate::http) async fn list(shared: web::Data<HttpShared>) -> HandlerResult {
    let turn = lent::turn(&shared).await?;
    let workflows = ask(shared.workflows.send(ListWorkflows)).await?;
    let workflows = workflows.map_err(|error| refuse(&error))?;
    Ok(lent::json(&shared.answers, turn, &WorkflowList { workflows }).await)
}

/// The present state of a workflow.
pub(in crate::http) async fn read(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(snapshot(&shared, &id).await?))
}

/// The records of a workflow, in pages.
pub(in crate::http) async fn history(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let wanted = query(&request)?;
    let Followable { journal, .. } = followable(&shared, &id).await?;
    page_of(&*journal, wanted, &shared).await
}

/// The present state of a workflow.
///
/// # Errors
/// The answer, if there is none or it cannot be looked at.
pub(super) async fn snapshot(shared: &HttpShared, id: &str) -> Result<WorkflowSnapshot, Refusal> {
    let id = id.to_owned();
    let found = ask(shared.workflows.send(LookAtWorkflow { id })).await?;
    found.map_err(|error| refuse(&error))
}

/// The stream that a client follows.
///
/// # Errors
/// The answer, if there is none or it cannot be opened.
pub(super) async fn followable(shared: &HttpShared, id: &str) -> Result<Followable, Refusal> {
    let id = id.to_owned();
    let found = ask(shared.workflows.send(FollowWorkflow { id })).await?;
    found.map_err(|error| refuse(&error))
}
