//! The strict validator: refuses what the real API refuses, in its manner.
//!
//! Invariant: pure. It knows neither connections nor responders.

mod betas;
mod blocks;
mod cache;
mod generation;
mod headers;
mod media;
#[cfg(test)]
mod media_tests;
mod messages;
mod pairing;
mod strict;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod thinking_tests;
mod tools;

use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::cache::InputUsage;
use crate::messages_request::MessagesRequest;
use crate::model::Model;
use crate::prefix::Weight;
use crate::signature;

pub(crate) use headers::check_headers;
pub use messages::strict_roles;

/// The endpoint of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/messages/count_tokens`, which takes fewer fields.
    CountTokens,
}

/// The outcome of one rule.
type Check = Result<(), ApiError>;

/// The fields of both endpoints.
const FIELDS: &[&str] = &[
    "cache_control",
    "context_management",
    "mcp_servers",
    "messages",
    "model",
    "output_config",
    "output_format",
    "speed",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// The fields of messages only.
const MESSAGE_FIELDS: &[&str] = &[
    "billing_policy",
    "compaction",
    "container",
    "diagnostics",
    "fallback_credit_token",
    "fallbacks",
    "inference_geo",
    "max_tokens",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
    "temperature",
    "thread",
    "top_k",
    "top_p",
];

/// Checks a request as the real API would, except that it knows no list of models: a model's id determines its
/// abilities.
///
/// # Errors
///
/// With the first rule that is broken.
pub fn validate(
    endpoint: Endpoint,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<MessagesRequest, ApiError> {
    let checked = validate_for(endpoint, headers, body, |id| Ok(Model::new(id)))?;
    Ok(checked.request)
}

/// A valid request, and what was found out on the way.
pub(crate) struct Checked {
    pub(crate) request: MessagesRequest,
    pub(crate) model: Model,
    pub(crate) weight: Weight,
}

/// Checks a request for the model that `model_of` finds by its id.
pub(crate) fn validate_for(
    endpoint: Endpoint,
    headers: &[(String, String)],
    body: &[u8],
    model_of: impl FnOnce(&str) -> Result<Model, ApiError>,
) -> Result<Checked, ApiError> {
    check_headers(headers)?;
    headers::check_content_type(headers)?;
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        ApiError::invalid(format!("The request body is not valid JSON: {error}"))
    })?;
    let Value::Object(fields) = &body else {
        return Err(ApiError::invalid("The request body must be a JSON object"));
    };
    check_fields(endpoint, fields)?;
    betas::check(headers, &body)?;
    if headers::is_strict(headers) {
        strict::check(&body)?;
    }
    check_scalars(endpoint, &body)?;
    check_system(&body["system"])?;
    messages::check(&body["messages"])?;
    pairing::check(&body["messages"])?;
    tools::check(&body)?;
    cache::check(&body)?;
    let model = model_of(body["model"].as_str().unwrap_or_default())?;
    generation::check(&body, &model)?;
    let weight = Weight::from_body(&body, model.token_percent);
    signature::check(&body, &model, &weight)?;
    let input = InputUsage {
        plain: weight.tokens(),
        ..InputUsage::default()
    };
    let request = MessagesRequest {
        headers: headers.to_vec(),
        body,
        input,
    };
    Ok(Checked {
        request,
        model,
        weight,
    })
}

fn check_fields(endpoint: Endpoint, fields: &Map<String, Value>) -> Check {
    let own = match endpoint {
        Endpoint::Messages => MESSAGE_FIELDS,
        Endpoint::CountTokens => &[],
    };
    only("", fields, &[FIELDS, own])?;
    let required: &[&str] = match endpoint {
        Endpoint::Messages => &["model", "max_tokens", "messages"],
        Endpoint::CountTokens => &["model", "messages"],
    };
    match required.iter().find(|name| !fields.contains_key(**name)) {
        Some(missing) => Err(ApiError::at(missing, "Field required")),
        None => Ok(()),
    }
}

/// Refuses fields beyond the named ones. `path` is empty or ends with a dot.
fn only(path: &str, fields: &Map<String, Value>, named: &[&[&str]]) -> Check {
    match fields
        .keys()
        .find(|name| !named.concat().contains(&name.as_str()))
    {
        Some(extra) => Err(ApiError::at(
            format!("{path}{extra}"),
            "Extra inputs are not permitted",
        )),
        None => Ok(()),
    }
}

fn check_scalars(endpoint: Endpoint, body: &Value) -> Check {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(ApiError::at("model", "Input should be a model's name"));
    }
    // None at all only fills the cache.
    if endpoint == Endpoint::Messages && body["max_tokens"].as_u64().is_none() {
        return Err(ApiError::at("max_tokens", "Input should be a whole number"));
    }
    if !matches!(body["stream"], Value::Null | Value::Bool(_)) {
        return Err(ApiError::at("stream", "Input should be a valid boolean"));
    }
    for name in ["temperature", "top_p"] {
        let value = &body[name];
        if !value.is_null() && !value.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n)) {
            return Err(ApiError::at(name, "Input should be a number from 0 to 1"));
        }
    }
    Ok(())
}

fn check_system(system: &Value) -> Check {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                let path = format!("system.{index}");
                if block["type"] != "text" {
                    return Err(ApiError::at(path, "Input should be a text block"));
                }
                blocks::check_text(&path, block)?;
                if let Some(fields) = block.as_object() {
                    only(&format!("{path}."), fields, &[blocks::TEXT_FIELDS])?;
                }
            }
            Ok(())
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(ApiError::at(
            "system",
            "Input should be a string or a list of text blocks",
        )),
    }
}

/// True if a name is made of letters, digits, `_` and `-`, at least one and at most `max` of them.
fn is_name(name: &str, max: usize) -> bool {
    (1..=max).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
