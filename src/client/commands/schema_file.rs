//! The file of a schema that a reply has to fit.

use std::fs;
use std::path::Path;

use harness_actors::model::ReplySchema;

use crate::client::error::CommandError;

/// Reads a schema, and refuses what the API does not take.
///
/// # Errors
/// If the file cannot be read, is no JSON, or has a part that the API does not take.
pub(super) fn read(path: &Path) -> Result<ReplySchema, CommandError> {
    let usage = |reason: String| CommandError::Usage {
        reason: format!("{}: {reason}", path.display()),
    };
    let text = fs::read_to_string(path).map_err(|error| CommandError::System {
        reason: format!("cannot read the schema {}: {error}", path.display()),
    })?;
    let json = serde_json::from_str(&text).map_err(|error| usage(format!("no JSON: {error}")))?;
    ReplySchema::new(json).map_err(|error| usage(error.to_string()))
}
