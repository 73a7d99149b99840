//! The regular expressions of a workflow.

use regex::{Regex, RegexBuilder};

/// Maximum size of a pattern in memory, in bytes.
const MAX_SIZE: usize = 1024 * 1024;

/// The regular expression that a text is.
///
/// # Errors
/// Why it is none, on one line.
pub fn compile(text: &str) -> Result<Regex, String> {
    let pattern = RegexBuilder::new(text).size_limit(MAX_SIZE).build();
    pattern.map_err(|error| {
        let whole = error.to_string();
        // The last line has the reason; those above point at the place.
        let last = whole.lines().last().unwrap_or_default();
        let reason = last.trim().trim_start_matches("error: ");
        format!("{text:?} is no regular expression: {reason}")
    })
}
