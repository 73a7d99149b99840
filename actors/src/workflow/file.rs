//! The file of a workflow: what people write, read into a manifest, or all that is wrong with it.

mod build;
mod checks;
mod circles;
pub mod duration;
mod from_json;
mod from_toml;
pub(super) mod keys;
pub(super) mod names;
mod node;
mod paths;
mod problem;
mod schedule;
mod shape;
mod spot;

use crate::attachment;

use super::manifest::Manifest;
pub use build::FeatureList;
use node::Node;
pub use problem::FileProblem;
use spot::ValueSpot;

/// Maximum size of a file, in bytes.
pub const MAX_FILE: usize = 1024 * 1024;

/// The format of a file. Both have the same keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl FileFormat {
    /// The format of a file of that name: JSON if it ends in `.json`, else TOML.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let (_, ending) = name.rsplit_once('.').unwrap_or_default();
        if ending.eq_ignore_ascii_case("json") {
            Self::Json
        } else {
            Self::Toml
        }
    }
}

/// Reads a file.
///
/// # Errors
/// Every problem of the file, in the order of its lines. Text that is not TOML or JSON gives that problem alone.
pub fn read(
    bytes: &[u8],
    format: FileFormat,
    list: FeatureList,
) -> Result<Manifest, Vec<FileProblem>> {
    let given = parse(bytes, format)?;
    let mut problems = Vec::new();
    let shaped = shape::shaped(&given, &mut problems);
    let manifest = build::manifest(&ValueSpot::root(&shaped), list, &mut problems);
    if problems.is_empty() {
        return Ok(manifest);
    }
    problems.sort_by_key(|problem| problem.line);
    Err(problems)
}

/// The name of a file's bytes: their SHA-256 in hexadecimal digits.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    attachment::sha256(bytes)
}

fn parse(bytes: &[u8], format: FileFormat) -> Result<Node, Vec<FileProblem>> {
    if bytes.len() > MAX_FILE {
        let length = bytes.len();
        let message = format!("{length} bytes are more than {MAX_FILE}; make it shorter");
        return Err(vec![FileProblem::of_text(None, message)]);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        let message = "a byte is no UTF-8; save the file as UTF-8".to_owned();
        vec![FileProblem::of_text(Some(line), message)]
    })?;
    match format {
        FileFormat::Toml => from_toml::node(text),
        FileFormat::Json => from_json::node(text),
    }
}

#[cfg(test)]
#[path = "file/bad_tests.rs"]
mod bad_tests;
#[cfg(test)]
#[path = "file/file_tests.rs"]
mod file_tests;
