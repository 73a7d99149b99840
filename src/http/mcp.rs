//! The MCP servers of the service: listed, put into the configuration, tested, accepted and removed.

use std::path::PathBuf;

use actix_web::{HttpRequest, HttpResponse, web};
use harness_protocol::AcceptMcpServer;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ask::{Name, query};
use super::body;
use super::guard::require_token;
use super::problem::{HandlerResult, Kind, Refusal};
use super::shared::HttpShared;
use super::workspace;
use crate::serve::mcp::McpError;

/// The purpose that needs the token.
const CHANGES_SERVERS: &str = "to change MCP servers";

/// The folder that a request is about: the body of a test, or a part of the query.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerPlace {
    /// Its absolute path. `None` means the service's own.
    #[serde(default)]
    workspace: Option<String>,
}

/// Lists the servers of the state folder and of a folder. Starts none of them.
pub(super) async fn list(request: HttpRequest, shared: web::Data<HttpShared>) -> HandlerResult {
    let folder = folder(&request, &shared, query::<ServerPlace>(&request)?.workspace).await?;
    Ok(HttpResponse::Ok().json(shared.mcp.list(&folder).await))
}

/// Puts a server into the configuration, or another entry in the place of its entry.
pub(super) async fn put(
    request: HttpRequest,
    payload: web::Payload,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let entry: Map<String, Value> = body::json(&request, payload).await?;
    require_token(&request, CHANGES_SERVERS)?;
    let put = shared.mcp.put(&name, Value::Object(entry)).await;
    let server = put.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(server))
}

/// Starts a server and finds its tools. Accepts nothing.
pub(super) async fn test(
    request: HttpRequest,
    payload: web::Payload,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let place: ServerPlace = body::json_or_default(&request, payload).await?;
    require_token(&request, CHANGES_SERVERS)?;
    let folder = folder(&request, &shared, place.workspace).await?;
    let tested = shared.mcp.test(&name, &folder).await;
    let server = tested.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(server))
}

/// Accepts a server and its tools, as the last test has found them.
pub(super) async fn accept(
    request: HttpRequest,
    payload: web::Payload,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let AcceptMcpServer { digest, workspace } = body::json(&request, payload).await?;
    require_token(&request, CHANGES_SERVERS)?;
    let folder = folder(&request, &shared, workspace).await?;
    let accepted = shared.mcp.accept(&name, &folder, &digest).await;
    let server = accepted.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(server))
}

/// Removes a server from the configuration of the state folder, or forgets that one of a folder was accepted. Answers with
/// the servers that remain.
pub(super) async fn remove(
    request: HttpRequest,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    require_token(&request, CHANGES_SERVERS)?;
    let folder = folder(&request, &shared, query::<ServerPlace>(&request)?.workspace).await?;
    let removed = shared.mcp.remove(&name, &folder).await;
    removed.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(shared.mcp.list(&folder).await))
}

/// The folder that a request names, or the service's own.
///
/// # Errors
/// The answer, if it cannot be worked in.
async fn folder(
    request: &HttpRequest,
    shared: &HttpShared,
    named: Option<String>,
) -> Result<PathBuf, Refusal> {
    match named {
        None => Ok(shared.workspace.to_path_buf()),
        Some(path) => workspace::choose(request, shared, &path).await,
    }
}

fn refuse(error: &McpError) -> Refusal {
    let kind = match error {
        McpError::NoServer { .. } => Kind::NoMcpServer,
        McpError::BadName { .. } | McpError::BadEntry { .. } => Kind::BadRequest,
        McpError::NotStarted { .. } => Kind::McpNotStarted,
        McpError::OtherDigest { .. } => Kind::McpNotTested,
        McpError::NotKept { .. } => Kind::NotKept,
        McpError::NoThread(_) => Kind::Overloaded,
    };
    kind.refuse(error.to_string())
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError as _;

    use super::*;

    /// Spec: [HTTP-811]
    #[actix::test]
    async fn each_error_has_its_status_and_its_kind() {
        let (name, reason) = ("git".to_owned(), "no command".to_owned());
        let not_started = McpError::NotStarted {
            reason: "it ended with code 1".to_owned(),
        };
        for (error, status, kind) in [
            (
                McpError::NoServer { name: name.clone() },
                404,
                "no-mcp-server",
            ),
            (McpError::BadName { name: name.clone() }, 400, "bad-request"),
            (
                McpError::BadEntry {
                    name: name.clone(),
                    reason,
                },
                400,
                "bad-request",
            ),
            (not_started, 422, "mcp-not-started"),
            (McpError::OtherDigest { name }, 409, "mcp-not-tested"),
        ] {
            let answer = refuse(&error).error_response();
            assert_eq!(answer.status().as_u16(), status, "{error}");
            let body = actix_web::body::to_bytes(answer.into_body()).await;
            let problem: Value = serde_json::from_slice(&body.unwrap()).unwrap();
            assert_eq!(problem["type"], format!("urn:harness:problem:{kind}"));
            assert_eq!(problem["detail"], error.to_string());
        }
    }
}
