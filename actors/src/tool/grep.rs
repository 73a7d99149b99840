//! The tool `grep`: lines that match a basic regular expression, by the system's `grep`.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_protocol::Extent;
use serde::Deserialize;
use serde_json::{Value, json};

use super::basic_pattern::syntax_note;
use super::cap::{MAX_TEXT_BYTES, capped};
use super::command::ProgramOutput;
use super::{
    Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, closed, command, input, path,
    procfs,
};
use crate::reply::Object;
use crate::secret::Redaction;

/// Searches files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrepInput {
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
         basic regular expression (case-sensitive; a\\|b is either, a\\+ one or more). Returns \
         line:content for a file and file:line:content for a directory."
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

    fn touches(&self, input: &Object) -> Vec<Touched> {
        path::read_of(input)
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(async move {
            let input: GrepInput = input::parse(input, &self.input_schema())?;
            if input.pattern.is_empty() {
                return Err("pattern is required".into());
            }
            input::no_nul("pattern", &input.pattern)?;
            let recursive = input.recursive.unwrap_or(false);
            let closed = Arc::clone(&context.closed);
            let look = move |at: &Path| look(at, recursive, &closed);
            let left_out = path::work_at(&input.path, &context, "searching", look).await?;
            let scope = GrepScope {
                recursive,
                left_out,
            };
            search(&input, &scope, &context).await
        })
    }
}

/// The files below a path that are searched.
struct GrepScope {
    recursive: bool,
    /// Folders and files below that are not, and why.
    left_out: Vec<(PathBuf, &'static str)>,
}

/// Whether a place may be searched; what of it may not.
fn look(
    at: &Path,
    recursive: bool,
    closed: &[PathBuf],
) -> Result<Vec<(PathBuf, &'static str)>, ToolError> {
    let metadata = path::look(at, "path not found")?;
    check_searchable(&metadata, recursive)?;
    closed::check_path(at, closed)?;
    if metadata.is_dir() {
        procfs::check_folder(at)?;
        let mounts = procfs::mounts_below(at).into_iter();
        let mounts = mounts.map(|place| (place, "of the files of processes"));
        let closed = closed::below(at, closed).into_iter();
        let closed = closed.map(|place| (place, "of what is closed to tools"));
        return Ok(mounts.chain(closed).collect());
    }
    procfs::check_path(at)?;
    Ok(Vec::new())
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

async fn search(
    input: &GrepInput,
    scope: &GrepScope,
    context: &ToolContext,
) -> Result<String, ToolError> {
    // GNU and BSD grep differ in when they show file names, so that is said explicitly; a
    // pattern or path that looks like an option stays a pattern or path; devices and FIFOs
    // are skipped.
    let names: &[&str] = if scope.recursive {
        &["-r", "-H"]
    } else {
        &["-h"]
    };
    let left_out: Vec<OsString> = scope.left_out.iter().map(|(at, _)| without(at)).collect();
    // And `-` would be the standard input.
    let path = if input.path == "-" {
        "./-"
    } else {
        &input.path
    };
    let pattern_and_path = ["-e", &input.pattern, "--", path];
    let args: Vec<&OsStr> = ["-n", "-D", "skip"]
        .iter()
        .chain(names)
        .map(OsStr::new)
        .chain(left_out.iter().map(OsString::as_os_str))
        .chain(pattern_and_path.iter().map(OsStr::new))
        .collect();
    let output = command::run(
        "grep",
        &args,
        &context.folder,
        &context.cancellation,
        &context.launcher,
    )
    .await?;
    let mut answer = answer(&output, path, scope, &context.redaction)?;
    if let Some(matches) = answer["matches"].as_str() {
        context.extent.note(Extent {
            hits: Some(matches.lines().count() as u64),
            files: scope.recursive.then(|| files(matches)),
            more: answer.get("note").is_some(),
            ..Extent::default()
        });
    }
    let found_nothing = output.status.is_some_and(|status| status.code() == Some(1));
    if found_nothing && let Some(note) = syntax_note(&input.pattern) {
        answer["note"] = note.into();
    }
    Ok(answer.to_string())
}

/// How many files the lines `file:line:content` are of. Those of one file follow on each other.
fn files(matches: &str) -> u64 {
    let mut files = HashSet::new();
    for line in matches.lines() {
        let is_number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && text[digits..].starts_with(':')
        };
        let mut colons = line.match_indices(':').map(|(at, _)| at);
        // A line of another kind says that a file matches which is no text.
        let end = colons.find(|at| is_number(&line[at + 1..]));
        files.insert(&line[..end.unwrap_or(line.len())]);
    }
    files.len() as u64
}

/// The option by which grep passes over a folder or file. It knows them by their last name only,
/// so that others of that name are passed over as well.
fn without(place: &Path) -> OsString {
    let name = place.file_name().unwrap_or_default();
    let option = if place.is_dir() {
        "--exclude-dir="
    } else {
        "--exclude="
    };
    let mut option = OsString::from(option).into_vec();
    for byte in name.as_bytes() {
        if b"*?[]\\".contains(byte) {
            option.push(b'\\');
        }
        option.push(*byte);
    }
    OsString::from_vec(option)
}

fn answer(
    output: &ProgramOutput,
    path: &str,
    scope: &GrepScope,
    redaction: &Redaction,
) -> Result<Value, ToolError> {
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let failed = output
        .status
        .is_some_and(|status| !matches!(status.code(), Some(0 | 1)));
    let mut complaint = output.complaint(redaction);
    if failed && text.is_empty() {
        return Err(failure(&complaint, path));
    }
    let shown = capped(text, MAX_TEXT_BYTES, redaction);
    let mut result = json!({ "matches": shown.text });
    if shown.is_cut {
        let note = format!(
            "cut at the limit of {MAX_TEXT_BYTES} bytes; there are more matches, \
             use a narrower pattern or path"
        );
        result["note"] = note.into();
    }
    for (place, reason) in &scope.left_out {
        let name = place.file_name().unwrap_or_default().display();
        let place = place.display();
        if !complaint.is_empty() {
            complaint.push('\n');
        }
        complaint += &format!("{name}: not searched, because {reason} at {place}");
    }
    // Without an error, it is a binary file that matches or a doubtful pattern.
    if !complaint.is_empty() {
        result["warning"] = complaint.into();
    }
    Ok(result)
}

/// The error behind grep's complaint. It names the path when a file was at fault; otherwise the
/// pattern was.
fn failure(complaint: &str, path: &str) -> ToolError {
    let reason = complaint.strip_prefix("grep: ").unwrap_or(complaint);
    if reason.contains("Permission denied") {
        return "permission denied".into();
    }
    if reason.eq_ignore_ascii_case("memory exhausted") {
        return "the search needs more memory than it may take; use a simpler pattern, or a path without very long lines".into();
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
