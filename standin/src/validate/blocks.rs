//! The rules for one content block by itself.

use serde_json::{Map, Value};

use super::{Check, is_name, media, only};
use crate::api_error::ApiError;
use crate::messages_request::list;

/// The speaker of a kind of block.
#[derive(PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    System,
    Both,
}

/// One known kind of block, and all its fields if they are few and fixed.
struct Kind {
    name: &'static str,
    speaker: Speaker,
    fields: Option<&'static [&'static str]>,
}

const fn kind(
    name: &'static str,
    speaker: Speaker,
    fields: Option<&'static [&'static str]>,
) -> Kind {
    Kind {
        name,
        speaker,
        fields,
    }
}

/// The fields of a text block.
pub(super) const TEXT_FIELDS: &[&str] = &["type", "text", "cache_control", "citations"];

const KINDS: &[Kind] = &[
    kind("text", Speaker::Both, Some(TEXT_FIELDS)),
    kind(
        "image",
        Speaker::User,
        Some(&["type", "source", "cache_control"]),
    ),
    kind(
        "document",
        Speaker::User,
        Some(&[
            "type",
            "source",
            "cache_control",
            "citations",
            "context",
            "title",
        ]),
    ),
    kind("search_result", Speaker::User, None),
    kind("container_upload", Speaker::Both, None),
    kind(
        "tool_result",
        Speaker::User,
        Some(&[
            "type",
            "tool_use_id",
            "content",
            "is_error",
            "cache_control",
        ]),
    ),
    kind(
        "thinking",
        Speaker::Assistant,
        Some(&["type", "thinking", "signature"]),
    ),
    kind(
        "redacted_thinking",
        Speaker::Assistant,
        Some(&["type", "data"]),
    ),
    kind(
        "tool_use",
        Speaker::Assistant,
        Some(&["type", "id", "name", "input", "caller", "cache_control"]),
    ),
    kind("server_tool_use", Speaker::Assistant, None),
    kind("mcp_tool_use", Speaker::Assistant, None),
    kind("compaction", Speaker::Assistant, None),
    kind("fallback", Speaker::Assistant, None),
    kind("tool_addition", Speaker::System, None),
    kind("tool_removal", Speaker::System, None),
    kind("web_search_tool_result", Speaker::Assistant, None),
    kind("web_fetch_tool_result", Speaker::Assistant, None),
    kind("code_execution_tool_result", Speaker::Assistant, None),
    kind("bash_code_execution_tool_result", Speaker::Assistant, None),
    kind(
        "text_editor_code_execution_tool_result",
        Speaker::Assistant,
        None,
    ),
    kind("tool_search_tool_result", Speaker::Assistant, None),
    kind("mcp_tool_result", Speaker::Assistant, None),
];

/// Checks one block of a message with this role.
pub(super) fn check(path: &str, role: &str, block: &Value) -> Check {
    let Value::Object(fields) = block else {
        return Err(ApiError::at(path, "Input should be a content block"));
    };
    let name = required(path, fields, "type")?;
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let message = format!("Input tag '{name}' does not match any of the expected tags");
        return Err(ApiError::at(path, message));
    };
    let fitting = match kind.speaker {
        Speaker::Both => true,
        Speaker::User => role == "user",
        Speaker::Assistant => role == "assistant",
        Speaker::System => role == "system",
    };
    if !fitting {
        let message = format!("`{name}` blocks can not be in a message of role \"{role}\"");
        return Err(ApiError::at(path, message));
    }
    if let Some(named) = kind.fields {
        only(&format!("{path}.{name}."), fields, &[named])?;
    }
    match name {
        "text" => check_text(path, block),
        "image" => media::check_image(path, block),
        "document" => media::check_document(path, block),
        "thinking" => {
            required(&format!("{path}.thinking"), fields, "thinking")?;
            let signature = required(&format!("{path}.thinking"), fields, "signature")?;
            if signature.is_empty() {
                return Err(ApiError::at(
                    path,
                    "Invalid `signature` in `thinking` block",
                ));
            }
            Ok(())
        }
        "redacted_thinking" => {
            required(&format!("{path}.redacted_thinking"), fields, "data").map(drop)
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => check_tool_use(path, name, fields),
        "tool_result" => check_tool_result(path, fields),
        _ => Ok(()),
    }
}

/// Checks that a text block is not blank.
pub(super) fn check_text(path: &str, block: &Value) -> Check {
    let Some(text) = block["text"].as_str() else {
        return Err(ApiError::at(format!("{path}.text.text"), "Field required"));
    };
    if text.is_empty() {
        return Err(ApiError::at(path, "text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        return Err(ApiError::at(
            path,
            "text content blocks must contain non-whitespace text",
        ));
    }
    Ok(())
}

fn check_tool_use(path: &str, kind: &str, fields: &Map<String, Value>) -> Check {
    let path = format!("{path}.{kind}");
    if !is_name(required(&path, fields, "id")?, usize::MAX) {
        let message = "String should match pattern '^[a-zA-Z0-9_-]+$'";
        return Err(ApiError::at(format!("{path}.id"), message));
    }
    if !is_name(required(&path, fields, "name")?, 64) {
        let message = "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'";
        return Err(ApiError::at(format!("{path}.name"), message));
    }
    match fields.get("input") {
        Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(ApiError::at(
            format!("{path}.input"),
            "Input should be a valid dictionary",
        )),
        None => Err(ApiError::at(format!("{path}.input"), "Field required")),
    }
}

fn check_tool_result(path: &str, fields: &Map<String, Value>) -> Check {
    let path = format!("{path}.tool_result");
    required(&path, fields, "tool_use_id")?;
    let is_error = match fields.get("is_error") {
        None => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(_) => {
            let message = "Input should be a valid boolean";
            return Err(ApiError::at(format!("{path}.is_error"), message));
        }
    };
    let content = fields.get("content").unwrap_or(&Value::Null);
    if !matches!(content, Value::Null | Value::String(_) | Value::Array(_)) {
        let message = "Input should be a string or a list of blocks";
        return Err(ApiError::at(format!("{path}.content"), message));
    }
    let empty = content.as_str().is_some_and(str::is_empty)
        || content.as_array().is_some_and(Vec::is_empty)
        || content.is_null();
    if is_error && empty {
        return Err(ApiError::at(
            path,
            "content cannot be empty if `is_error` is true",
        ));
    }
    for (index, block) in list(content).iter().enumerate() {
        let path = format!("{path}.content.{index}");
        match block["type"].as_str() {
            Some("text") => check_text(&path, block)?,
            Some("image") => media::check_image(&path, block)?,
            Some("document") => media::check_document(&path, block)?,
            Some("search_result" | "tool_reference") => {}
            Some(_) | None => return Err(ApiError::at(path, "unexpected block in a tool result")),
        }
    }
    Ok(())
}

fn required<'a>(
    path: &str,
    fields: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, ApiError> {
    match fields.get(name) {
        Some(Value::String(value)) => Ok(value),
        Some(_) => Err(ApiError::at(
            format!("{path}.{name}"),
            "Input should be a valid string",
        )),
        None => Err(ApiError::at(format!("{path}.{name}"), "Field required")),
    }
}
