//! The rules that depend on a model's generation, and those for thinking.

use serde_json::Value;

use super::Check;
use crate::api_error::ApiError;

const MIN_BUDGET: u64 = 1024;

/// Checks sampling, thinking and the forced choice of a tool.
pub(super) fn check(body: &Value) -> Check {
    let model = body["model"].as_str().unwrap_or_default();
    let thinking = &body["thinking"];
    check_thinking(thinking, &body["max_tokens"])?;
    if version(model).is_none_or(|version| version < (4, 7)) {
        return Ok(());
    }
    for name in ["temperature", "top_p", "top_k"] {
        if !body[name].is_null() {
            return Err(ApiError::at(
                name,
                format!("{model} does not take `{name}`"),
            ));
        }
    }
    if thinking["type"] == "enabled" {
        let message = format!("{model} takes 'adaptive' thinking, not 'enabled'");
        return Err(ApiError::at("thinking.type", message));
    }
    if model == "claude-opus-5-5" {
        if thinking["type"] == "disabled" {
            let message = format!("thinking can not be disabled for {model}");
            return Err(ApiError::at("thinking.type", message));
        }
        let choice = &body["tool_choice"]["type"];
        if choice == "any" || choice == "tool" {
            let message = format!("{model} can not be forced to call a tool");
            return Err(ApiError::at("tool_choice", message));
        }
    }
    Ok(())
}

fn check_thinking(thinking: &Value, max_tokens: &Value) -> Check {
    match thinking["type"].as_str() {
        None if thinking.is_null() => Ok(()),
        Some("adaptive" | "disabled") => Ok(()),
        Some("enabled") => {
            let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
            if budget < MIN_BUDGET {
                let message = format!("Input should be a whole number from {MIN_BUDGET}");
                return Err(ApiError::at("thinking.enabled.budget_tokens", message));
            }
            if max_tokens
                .as_u64()
                .is_some_and(|max_tokens| max_tokens <= budget)
            {
                return Err(ApiError::at(
                    "max_tokens",
                    "must be greater than the thinking budget",
                ));
            }
            Ok(())
        }
        Some(_) | None => {
            let message = "Input should be 'adaptive', 'enabled' or 'disabled'";
            Err(ApiError::at("thinking.type", message))
        }
    }
}

/// The version in a model's id, such as (4, 7) of `claude-opus-4-7`; none for other ids.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_family, version) = model.strip_prefix("claude-")?.split_once('-')?;
    let mut numbers = version.split('-');
    let major = numbers.next()?.parse().ok()?;
    // A date is not a minor version.
    let minor = numbers.next().filter(|minor| minor.len() <= 2);
    Some((
        major,
        minor.and_then(|minor| minor.parse().ok()).unwrap_or(0),
    ))
}
