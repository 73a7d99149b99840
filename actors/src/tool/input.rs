//! Reading a tool's input from the model's JSON object.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ToolError;
use crate::reply::Object;

/// Reads the input, or says which field is wrong. The fields have the types of the tool's schema,
/// and those that are not required may be null.
pub(super) fn parse<T: DeserializeOwned>(input: Object, schema: &Value) -> Result<T, ToolError> {
    for (name, value) in &input {
        check_type(name, value, schema)?;
    }
    serde_json::from_value(Value::Object(input))
        .map_err(|error| ToolError(format!("invalid input: {error}")))
}

/// Serde would say what is wrong with a value, but not in which field.
fn check_type(name: &str, value: &Value, schema: &Value) -> Result<(), ToolError> {
    let is_required = schema["required"]
        .as_array()
        .is_some_and(|required| required.iter().any(|field| field == name));
    let expected = schema["properties"][name]["type"].as_str();
    let fits = match expected {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    if fits || (value.is_null() && !is_required) {
        return Ok(());
    }
    Err(ToolError(format!(
        "invalid input: {name} must be of the type {}",
        expected.unwrap_or_default()
    )))
}

/// Refuses text that no file name or command-line argument can hold.
pub(super) fn no_nul(field: &str, text: &str) -> Result<(), ToolError> {
    if text.contains('\0') {
        return Err(ToolError(format!(
            "invalid input: {field} holds a NUL character"
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
