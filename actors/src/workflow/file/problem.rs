//! A problem in the file of a workflow, with its place.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Display, Serialize, Deserialize)]
#[display("{place}: {message}")]
pub struct FileProblem {
    /// The key, for example `feature[1].check[0].must_match`; lists count from 0.
    pub place: String,
    /// The line, from 1, if the text is TOML or cannot be read at all.
    pub line: Option<usize>,
    /// The mistake, and the right form.
    pub message: String,
}

impl FileProblem {
    /// A problem of the text as a whole.
    pub(super) fn of_text(line: Option<usize>, message: String) -> Self {
        Self {
            place: "the file".to_owned(),
            line,
            message,
        }
    }
}
