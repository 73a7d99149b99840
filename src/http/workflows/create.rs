//! Makes a workflow of a file, or tells what the file would do.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::workflow::messages::CreateWorkflow;
use harness_protocol::{NewWorkflow, WorkflowMade};
use serde_json::json;

use super::file::{GivenText, judge};
use super::refuse::refuse;
use crate::http::ask::{Late, ask_late};
use crate::http::guard::require_token;
use crate::http::problem::HandlerResult;
use crate::http::said::{key_of, name_of};
use crate::http::shared::HttpShared;
use crate::http::{body, workspace};

/// Makes a workflow, or reports the effect of the file in a dry run. Nothing of it runs.
pub(in crate::http) async fn create(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let order: NewWorkflow = body::json(&request, payload).await?;
    require_token(&request, "to make a workflow")?;
    let given = GivenText::from_body(order.path, order.spec)?;
    let named = match order.folder {
        Some(folder) => folder,
        None => shared.workspace.display().to_string(),
    };
    let folder = workspace::choose(&request, &shared, &named).await?;
    let judged = judge(&shared, given, order.name, folder.clone()).await?;
    if order.dry_run {
        let problems = judged.found.as_ref().err().map_or(&[][..], Vec::as_slice);
        let manifest = judged.found.as_ref().ok();
        let said = json!({"hash": judged.hash, "problems": problems, "manifest": manifest});
        return Ok(HttpResponse::Ok().json(said));
    }
    let name = judged.name.clone();
    let given = judged.given(order.approve.as_deref())?;
    let id = key_of(&request, order.id)?;
    let late = Late::keyed(id.as_deref());
    let create = CreateWorkflow {
        id,
        name,
        given,
        folder,
        by: name_of(order.by),
    };
    let made = ask_late(shared.workflows.send(create), late).await?;
    let (workflow, created) = made.map_err(|error| refuse(&error))?;
    let mut answer = if created {
        let mut answer = HttpResponse::Created();
        answer.insert_header(("location", format!("/v1/workflows/{}", workflow.id)));
        answer
    } else {
        HttpResponse::Ok()
    };
    Ok(answer.json(WorkflowMade { created, workflow }))
}
