//! The messages of JSON-RPC 2.0 between an editor and this program, one on each line.

use serde_json::{Map, Value, json};

use crate::client::api::connection::RequestError;
use crate::client::api::error::ApiError;
use crate::client::error::CommandError;

/// The code for text that is not JSON (JSON-RPC 2.0 §5.1).
const PARSE_ERROR: i64 = -32700;
/// The code for JSON that is no message.
const INVALID_REQUEST: i64 = -32600;
/// The code for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;
/// The code for parameters that cannot be used.
const INVALID_PARAMS: i64 = -32602;
/// The code for a failure on this side.
const INTERNAL_ERROR: i64 = -32603;
/// The code of the Agent Client Protocol for a session that is not there.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// A message of the editor.
#[derive(Debug, PartialEq)]
pub(super) enum EditorMessage {
    /// It wants an answer.
    Request {
        /// The name of the request in its answer.
        id: Value,
        /// The method.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// It wants none.
    Notification {
        /// The method.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// The answer to a request of this program.
    Answer {
        /// The name of the request.
        id: Value,
        /// The result; none if the editor refused.
        result: Option<Value>,
    },
}

/// An error in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RpcError {
    code: i64,
    message: String,
}

impl RpcError {
    /// Parameters that cannot be used.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// A method that is not there.
    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("there is no method {method}"))
    }

    /// A session that is not there.
    pub(super) fn no_session(message: impl Into<String>) -> Self {
        Self::new(RESOURCE_NOT_FOUND, message)
    }

    /// A failure on this side.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    /// The answer that has this error.
    pub(super) fn answer(&self, id: &Value) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl From<ApiError> for RpcError {
    fn from(error: ApiError) -> Self {
        let code = match &error {
            ApiError::Request(RequestError::Refused { status: 404, .. }) => RESOURCE_NOT_FOUND,
            ApiError::Request(RequestError::Refused { status: 400, .. }) => INVALID_PARAMS,
            ApiError::Request(_) | ApiError::Discovery(_) | ApiError::Broken(_) => INTERNAL_ERROR,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RequestError> for RpcError {
    fn from(error: RequestError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<CommandError> for RpcError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Api(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}

/// The answer that has a result.
pub(super) fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A request of this program.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A message of this program that wants no answer.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

impl EditorMessage {
    /// Reads a line.
    ///
    /// # Errors
    /// The answer to a line that is no message.
    pub(super) fn read(line: &[u8]) -> Result<Self, Value> {
        let read: serde_json::Result<Value> = serde_json::from_slice(line);
        let value = read.map_err(|error| {
            let error = RpcError::new(PARSE_ERROR, format!("the line is not JSON: {error}"));
            error.answer(&Value::Null)
        })?;
        let Value::Object(mut fields) = value else {
            let error = RpcError::new(INVALID_REQUEST, "the message is not an object");
            return Err(error.answer(&Value::Null));
        };
        let id = fields.remove("id").filter(is_id);
        let method = match fields.remove("method") {
            Some(Value::String(method)) => Some(method),
            _ => None,
        };
        let params = |fields: &mut Map<String, Value>| fields.remove("params").unwrap_or_default();
        match (id, method) {
            (Some(id), Some(method)) => Ok(Self::Request {
                id,
                method,
                params: params(&mut fields),
            }),
            (None, Some(method)) => Ok(Self::Notification {
                method,
                params: params(&mut fields),
            }),
            (Some(id), None) if fields.contains_key("result") || fields.contains_key("error") => {
                let result = fields.remove("result");
                Ok(Self::Answer { id, result })
            }
            (id, None) => {
                let error = RpcError::new(INVALID_REQUEST, "the message names no method");
                Err(error.answer(&id.unwrap_or_default()))
            }
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ACP-02]
    #[test]
    fn a_line_is_a_request_a_notification_an_answer_or_refused() {
        let read = |line: Value| EditorMessage::read(line.to_string().as_bytes());
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"a": 1}})),
            Ok(EditorMessage::Request {
                id: json!(0),
                method: "initialize".to_owned(),
                params: json!({"a": 1}),
            })
        );
        assert_eq!(
            read(json!({"method": "session/cancel"})),
            Ok(EditorMessage::Notification {
                method: "session/cancel".to_owned(),
                params: Value::Null,
            })
        );
        for (answer, result) in [
            (json!({"id": "7", "result": {}}), Some(json!({}))),
            (json!({"id": "7", "result": null}), Some(Value::Null)),
            (json!({"id": "7", "error": {"code": 1}}), None),
        ] {
            let id = json!("7");
            assert_eq!(read(answer), Ok(EditorMessage::Answer { id, result }));
        }
        for (line, id, code) in [
            ("{", Value::Null, PARSE_ERROR),
            ("[]", Value::Null, INVALID_REQUEST),
            ("{}", Value::Null, INVALID_REQUEST),
            (r#"{"id": 3}"#, json!(3), INVALID_REQUEST),
            (r#"{"id": 3, "method": 5}"#, json!(3), INVALID_REQUEST),
        ] {
            let refusal = EditorMessage::read(line.as_bytes()).unwrap_err();
            assert_eq!(
                (&refusal["id"], &refusal["error"]["code"]),
                (&id, &json!(code))
            );
        }
    }
}
