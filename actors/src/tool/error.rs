//! Why a tool failed.

use derive_more::{Display, Error, From};

/// Why a tool failed, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error, From)]
#[from(String, &str)]
pub struct ToolError(#[error(not(source))] pub String);
