//! Reading a tool's input from the model's JSON object.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ToolError;
use crate::reply::Object;

/// Reads the input, or says which field is wrong.
pub(super) fn parse<T: DeserializeOwned>(input: Object) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(input))
        .map_err(|error| ToolError(format!("invalid input: {error}")))
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
