//! The rules that depend on what the model can do: limits, sampling, thinking, effort, media.

use serde_json::{Map, Value};

use super::{Check, only};
use crate::api_error::ApiError;
use crate::capabilities::EFFORTS;
use crate::messages_request::list;
use crate::model::Model;

const MIN_BUDGET: u64 = 1024;

/// Checks a body against its model.
pub(super) fn check(body: &Value, model: &Model) -> Check {
    let id = &model.id;
    let abilities = &model.capabilities;
    if let Some(asked) = body["max_tokens"].as_u64()
        && asked > model.max_tokens
    {
        let message = format!(
            "{asked} > {}, the most that {id} can write",
            model.max_tokens
        );
        return Err(ApiError::at("max_tokens", message));
    }
    check_thinking(body, model)?;
    check_effort(&body["output_config"], model)?;
    let is_known = |other: &Value| {
        other["model"]
            .as_str()
            .is_some_and(|id| model.fallbacks.contains(&id))
    };
    if !list(&body["fallbacks"]).iter().all(is_known) {
        let message = format!("{id} may fall back to: {:?}", model.fallbacks);
        return Err(ApiError::at("fallbacks", message));
    }
    check_media(&body["messages"], model)?;
    let choice = &body["tool_choice"]["type"];
    if (choice == "any" || choice == "tool") && !abilities.forced_tools {
        let message = format!("{id} can not be forced to call a tool");
        return Err(ApiError::at("tool_choice", message));
    }
    let sampling = ["temperature", "top_p", "top_k"];
    match sampling.iter().find(|name| !body[**name].is_null()) {
        Some(name) if !abilities.sampling => {
            Err(ApiError::at(name, format!("{id} does not take `{name}`")))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_thinking(body: &Value, model: &Model) -> Check {
    let abilities = &model.capabilities;
    let fields = match &body["thinking"] {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(ApiError::at("thinking", "Input should be an object"));
        }
    };
    let kind = fields.get("type").and_then(Value::as_str);
    let (is_taken, own): (bool, &[&str]) = match kind {
        Some("adaptive") => (abilities.adaptive, &["display", "block_binding"]),
        Some("enabled") => (
            abilities.enabled,
            &["budget_tokens", "display", "block_binding"],
        ),
        Some("disabled") => (abilities.disabled, &[]),
        Some("between_tools") => (abilities.adaptive, &["display", "block_binding"]),
        Some(_) | None => {
            let message = "Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'";
            return Err(ApiError::at("thinking.type", message));
        }
    };
    let kind = kind.unwrap_or_default();
    only(&format!("thinking.{kind}."), fields, &[&["type"], own])?;
    match fields.get("display").unwrap_or(&Value::Null) {
        Value::Null => {}
        display if display == "summarized" || display == "omitted" => {}
        _ => {
            let message = "Input should be 'summarized' or 'omitted'";
            return Err(ApiError::at(format!("thinking.{kind}.display"), message));
        }
    }
    if !is_taken {
        let message = format!("\"thinking.type.{kind}\" is not supported for {}", model.id);
        return Err(ApiError::at("thinking.type", message));
    }
    let effort = &body["output_config"]["effort"];
    let is_high = effort == "xhigh" || effort == "max";
    if kind == "disabled" && is_high && abilities.thinks_at_high_efforts {
        let message = format!("\"thinking.type.disabled\" is not supported with effort {effort}");
        return Err(ApiError::at("thinking.type", message));
    }
    if kind == "enabled" {
        check_budget(fields, &body["max_tokens"])?;
        let choice = &body["tool_choice"]["type"];
        if choice == "any" || choice == "tool" {
            let message = "Thinking may not be enabled when tool_choice forces tool use.";
            return Err(ApiError::invalid(message));
        }
        check_last_turn(list(&body["messages"]))?;
    }
    Ok(())
}

fn check_budget(fields: &Map<String, Value>, max_tokens: &Value) -> Check {
    let budget = fields.get("budget_tokens").and_then(Value::as_u64);
    let budget = budget.unwrap_or_default();
    if budget < MIN_BUDGET {
        let message = format!("Input should be greater than or equal to {MIN_BUDGET}");
        return Err(ApiError::at("thinking.enabled.budget_tokens", message));
    }
    match max_tokens.as_u64() {
        Some(max_tokens) if max_tokens <= budget => Err(ApiError::invalid(
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Checks that a reply whose calls are answered last begins with thinking.
fn check_last_turn(messages: &[Value]) -> Check {
    let [.., reply, results] = messages else {
        return Ok(());
    };
    let answers = list(&results["content"]).first();
    if answers.is_none_or(|block| block["type"] != "tool_result") {
        return Ok(());
    }
    let first = list(&reply["content"]).first();
    let kind = first.and_then(|block| block["type"].as_str());
    match kind {
        Some("thinking" | "redacted_thinking") | None => Ok(()),
        Some(kind) => {
            let path = format!("messages.{}.content.0.type", messages.len() - 2);
            let message = format!(
                "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` \
                 is enabled, the last `assistant` message of a tool round must start with it."
            );
            Err(ApiError::at(path, message))
        }
    }
}

/// The keywords of JSON Schema that the API does not take.
const REFUSED_KEYWORDS: [&str; 10] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "oneOf",
];

/// Checks the format of the reply: a schema whose objects are closed, without keywords that the API does not take.
fn check_format(format: &Value) -> Check {
    let Some(fields) = format.as_object() else {
        return match format {
            Value::Null => Ok(()),
            _ => Err(ApiError::at(
                "output_config.format",
                "Input should be an object",
            )),
        };
    };
    only("output_config.format.", fields, &[&["type", "schema"]])?;
    if format["type"] != "json_schema" {
        let message = "Input should be 'json_schema'";
        return Err(ApiError::at("output_config.format.type", message));
    }
    check_schema(&format["schema"], "output_config.format.schema")
}

fn check_schema(schema: &Value, path: &str) -> Check {
    let Some(fields) = schema.as_object() else {
        return Err(ApiError::at(path, "Input should be an object"));
    };
    if let Some(keyword) = REFUSED_KEYWORDS
        .iter()
        .find(|keyword| fields.contains_key(**keyword))
    {
        let message = format!("For this type, property '{keyword}' is not supported");
        return Err(ApiError::at(path, message));
    }
    if schema["type"] == "object" && schema["additionalProperties"] != false {
        let message = "For 'object' type, 'additionalProperties' must be explicitly set to false";
        return Err(ApiError::at(path, message));
    }
    for table in ["properties", "$defs", "definitions"] {
        for (name, part) in schema[table].as_object().into_iter().flatten() {
            check_schema(part, &format!("{path}.{table}.{name}"))?;
        }
    }
    for list in ["anyOf", "allOf"] {
        for (index, part) in schema[list].as_array().into_iter().flatten().enumerate() {
            check_schema(part, &format!("{path}.{list}.{index}"))?;
        }
    }
    match schema.get("items") {
        Some(items) => check_schema(items, &format!("{path}.items")),
        None => Ok(()),
    }
}

fn check_effort(config: &Value, model: &Model) -> Check {
    let fields = match config {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(ApiError::at("output_config", "Input should be an object"));
        }
    };
    only(
        "output_config.",
        fields,
        &[&["effort", "format", "task_budget"]],
    )?;
    check_format(fields.get("format").unwrap_or(&Value::Null))?;
    let effort = match fields.get("effort") {
        None | Some(Value::Null) => return Ok(()),
        Some(effort) => effort.as_str().unwrap_or_default(),
    };
    let path = "output_config.effort";
    if !EFFORTS.contains(&effort) {
        let message = "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
        return Err(ApiError::at(path, message));
    }
    let taken = model.capabilities.efforts;
    if taken.is_empty() {
        let message = "This model does not support the effort parameter.";
        return Err(ApiError::invalid(message));
    }
    if !taken.contains(&effort) {
        let message = format!(
            "{} does not support effort level '{effort}'. Supported levels: {}.",
            model.id,
            taken.join(", ")
        );
        return Err(ApiError::at(path, message));
    }
    Ok(())
}

/// Checks that the model can take what it is to see.
fn check_media(messages: &Value, model: &Model) -> Check {
    for (index, message) in list(messages).iter().enumerate() {
        let path = format!("messages.{index}.content");
        check_visible(&path, list(&message["content"]), model)?;
    }
    Ok(())
}

fn check_visible(path: &str, blocks: &[Value], model: &Model) -> Check {
    let abilities = &model.capabilities;
    for (place, block) in blocks.iter().enumerate() {
        let path = format!("{path}.{place}");
        let refuse = |what: &str| {
            let message = format!("{} does not support {what} input", model.id);
            Err(ApiError::at(&path, message))
        };
        match block["type"].as_str() {
            Some("image") if !abilities.image_input => return refuse("image"),
            Some("document")
                if !abilities.pdf_input && block["source"]["media_type"] == "application/pdf" =>
            {
                return refuse("PDF");
            }
            Some("tool_result") => {
                check_visible(&format!("{path}.content"), list(&block["content"]), model)?;
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}
