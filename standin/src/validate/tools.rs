//! The rules for the tools that a request offers, and for its choice among them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Check, is_name, only};
use crate::api_error::ApiError;
use crate::messages_request::list;

const FIELDS: &[&str] = &[
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
];

/// The fields of tools that reach the web.
const WEB_FIELDS: &[&str] = &[
    "allowed_callers",
    "allowed_domains",
    "blocked_domains",
    "cache_control",
    "defer_loading",
    "max_uses",
    "name",
    "strict",
    "type",
];

/// Checks `tools` and `tool_choice`.
pub(super) fn check(body: &Value) -> Check {
    let tools = match &body["tools"] {
        Value::Null => &Vec::new(),
        Value::Array(tools) => tools,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(ApiError::at("tools", "Input should be a valid list"));
        }
    };
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        check_tool(index, tool)?;
        if tool["defer_loading"] == true && !tool["cache_control"].is_null() {
            let message = "a tool with `defer_loading` may not have `cache_control`";
            return Err(ApiError::at(format!("tools.{index}"), message));
        }
        if !names.insert(tool["name"].as_str().unwrap_or_default()) {
            return Err(ApiError::at("tools", "Tool names must be unique."));
        }
    }
    if !tools.is_empty() && tools.iter().all(|tool| tool["defer_loading"] == true) {
        return Err(ApiError::at(
            "tools",
            "At least one tool must not have `defer_loading`.",
        ));
    }
    check_choice(&body["tool_choice"], &names)
}

fn check_tool(index: usize, tool: &Value) -> Check {
    let path = format!("tools.{index}");
    let Value::Object(fields) = tool else {
        return Err(ApiError::at(path, "Input should be a tool"));
    };
    let Some(name) = tool["name"].as_str() else {
        return Err(ApiError::at(format!("{path}.name"), "Field required"));
    };
    if !is_name(name, 64) {
        let message = "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'";
        return Err(ApiError::at(format!("{path}.name"), message));
    }
    if let Some(kind) = tool["type"].as_str().filter(|kind| *kind != "custom") {
        return check_server_tool(&path, kind, tool, fields);
    }
    only(&format!("{path}.custom."), fields, &[FIELDS])?;
    let path = format!("{path}.custom.input_schema");
    match &tool["input_schema"] {
        Value::Object(schema) if schema.get("type").is_some_and(|kind| kind == "object") => Ok(()),
        Value::Object(_) => Err(ApiError::at(
            format!("{path}.type"),
            "Input should be 'object'",
        )),
        Value::Null => Err(ApiError::at(path, "Field required")),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(ApiError::at(path, "Input should be a valid dictionary"))
        }
    }
}

/// Checks a tool that the server runs. Those for the web have fields that are known here.
fn check_server_tool(path: &str, kind: &str, tool: &Value, fields: &Map<String, Value>) -> Check {
    let own: &[&str] = match kind.rsplit_once('_').map(|(kind, _)| kind) {
        Some("web_search") => &["user_location"],
        Some("web_fetch") => &[
            "citations",
            "max_content_tokens",
            "url_sources",
            "use_cache",
        ],
        Some(_) | None => return Ok(()),
    };
    let path = format!("{path}.{kind}");
    only(&format!("{path}."), fields, &[WEB_FIELDS, own])?;
    if tool["allowed_domains"].is_array() && tool["blocked_domains"].is_array() {
        let message = "only one of `allowed_domains` and `blocked_domains` may be set";
        return Err(ApiError::at(path, message));
    }
    for kind_of_list in ["allowed_domains", "blocked_domains"] {
        for (place, domain) in list(&tool[kind_of_list]).iter().enumerate() {
            let domain = domain.as_str().unwrap_or_default();
            if domain.is_empty() || domain.contains("://") || !domain.is_ascii() {
                let path = format!("{path}.{kind_of_list}.{place}");
                return Err(ApiError::at(
                    path,
                    "Input should be a domain without a scheme",
                ));
            }
        }
    }
    Ok(())
}

fn check_choice(choice: &Value, names: &HashSet<&str>) -> Check {
    if choice.is_null() {
        return Ok(());
    }
    let kind = choice["type"].as_str().unwrap_or_default();
    if !["auto", "any", "none", "tool"].contains(&kind) {
        let message = "Input should be 'auto', 'any', 'none' or 'tool'";
        return Err(ApiError::at("tool_choice.type", message));
    }
    if names.is_empty() {
        return Err(ApiError::at(
            "tool_choice",
            "may only be specified while providing `tools`",
        ));
    }
    if kind == "tool" {
        let Some(name) = choice["name"].as_str() else {
            return Err(ApiError::at("tool_choice.tool.name", "Field required"));
        };
        if !names.contains(name) {
            let message = format!("Tool '{name}' not found in provided tools");
            return Err(ApiError::at("tool_choice", message));
        }
    }
    Ok(())
}
