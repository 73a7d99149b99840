//! The tool `grep`: lines that match a basic regular expression, by the system's `grep`.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::cap::{self, MAX_TEXT_BYTES};
use super::command::Output;
use super::{Cancellation, Tool, ToolError, ToolFuture, command, input, path};
use crate::reply::Object;

/// Searches files.
#[derive(Debug, Clone)]
pub struct Grep {
    workspace: PathBuf,
}

impl Grep {
    /// A tool for which relative paths start at `workspace`.
    #[must_use]
    pub fn new(workspace: PathBuf) -> Self {
        Self { workspace }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    path: String,
    #[serde(default)]
    recursive: Option<bool>,
}

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn description(&self) -> &'static str {
        "Searches a file, or with recursive a directory and all below it, for lines that match a \
         basic regular expression (case-sensitive). Returns line:content for a file and \
         file:line:content for a directory."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The basic regular expression"},
                "path": {"type": "string", "description": "The file or directory to search"},
                "recursive": {
                    "type": "boolean",
                    "description": "Whether to search a directory and all below it; default false",
                },
            },
            "required": ["pattern", "path"],
        })
    }

    fn has_effects(&self) -> bool {
        false
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        Box::pin(async move {
            let input: Input = input::parse(input, &self.input_schema())?;
            if input.pattern.is_empty() {
                return Err("pattern is required".into());
            }
            input::no_nul("pattern", &input.pattern)?;
            let at = path::resolve(&self.workspace, &input.path)?;
            let metadata = tokio::task::spawn_blocking(move || path::look(&at, "path not found"))
                .await
                .map_err(|error| ToolError(format!("searching failed: {error}")))??;
            let recursive = input.recursive.unwrap_or(false);
            check_searchable(&metadata, recursive)?;
            self.search(&input, recursive, &cancellation).await
        })
    }
}

fn check_searchable(metadata: &Metadata, recursive: bool) -> Result<(), ToolError> {
    if metadata.is_dir() && !recursive {
        return Err("is a directory; set recursive to search it".into());
    }
    if !metadata.is_dir() && !metadata.is_file() {
        return Err("not a regular file".into());
    }
    Ok(())
}

impl Grep {
    async fn search(
        &self,
        input: &Input,
        recursive: bool,
        cancellation: &Cancellation,
    ) -> Result<String, ToolError> {
        // GNU and BSD grep differ in when they show file names, so that is said explicitly; a
        // pattern or path that looks like an option stays a pattern or path; devices and FIFOs
        // are skipped.
        let scope: &[&str] = if recursive { &["-r", "-H"] } else { &["-h"] };
        // And `-` would be the standard input.
        let path = if input.path == "-" {
            "./-"
        } else {
            &input.path
        };
        let pattern_and_path = ["-e", &input.pattern, "--", path];
        let args: Vec<&OsStr> = ["-n", "-D", "skip"]
            .iter()
            .chain(scope)
            .chain(&pattern_and_path)
            .map(OsStr::new)
            .collect();
        let output = command::run("grep", &args, &self.workspace, cancellation).await?;
        answer(&output, path)
    }
}

fn answer(output: &Output, path: &str) -> Result<String, ToolError> {
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let failed = output
        .status
        .is_some_and(|status| !matches!(status.code(), Some(0 | 1)));
    let complaint = output.stderr.trim();
    if failed && text.is_empty() {
        return Err(failure(complaint, path));
    }
    let kept = cap::lines_of(text, MAX_TEXT_BYTES);
    let mut result = json!({ "matches": kept });
    if kept.len() < text.len() {
        let note = format!(
            "cut at the limit of {MAX_TEXT_BYTES} bytes; there are more matches, \
             use a narrower pattern or path"
        );
        result["note"] = note.into();
    }
    // Without an error, it is a binary file that matches or a doubtful pattern.
    if !complaint.is_empty() {
        result["warning"] = complaint.into();
    }
    Ok(result.to_string())
}

/// What grep's complaint means. It names the path when a file was at fault; otherwise the
/// pattern was.
fn failure(complaint: &str, path: &str) -> ToolError {
    let reason = complaint.strip_prefix("grep: ").unwrap_or(complaint);
    if reason.contains("Permission denied") {
        return "permission denied".into();
    }
    let names_path = |rest: &str| path.ends_with('/') || rest.starts_with([':', '/']);
    if reason.strip_prefix(path).is_some_and(names_path) {
        return ToolError(reason.to_owned());
    }
    if reason.is_empty() {
        return "grep ended without saying why".into();
    }
    ToolError(format!("invalid pattern: {reason}"))
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
