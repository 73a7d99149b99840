//! The tools that there are.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use harness_actors::Tool;
use harness_protocol::{ToolEntry, ToolList};

use super::shared::HttpShared;

/// The tools of the service.
pub(super) async fn list(shared: web::Data<HttpShared>) -> HttpResponse {
    let entry = |tool: &Arc<dyn Tool>| ToolEntry {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
    };
    HttpResponse::Ok().json(ToolList {
        tools: shared.tools.get().iter().map(entry).collect(),
    })
}
