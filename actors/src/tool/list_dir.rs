//! The tool `list_dir`: a folder's entries, as `ls -al` shows them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_protocol::Extent;
use serde::Deserialize;
use serde_json::{Value, json};

use super::cap::{MAX_TEXT_BYTES, capped};
use super::command::ProgramOutput;
use super::{
    Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, closed, command, input, path,
};
use crate::reply::Object;
use crate::secret::Redaction;

/// Lists folders.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDir;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListDirInput {
    path: String,
}

impl Tool for ListDir {
    fn name(&self) -> &'static str {
        "list_dir"
    }

    fn description(&self) -> &'static str {
        "Lists a directory with ls -al: permissions, owner, group, size, date and name of each \
         entry, dot files included."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The directory to list"},
            },
            "required": ["path"],
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
            let input: ListDirInput = input::parse(input, &self.input_schema())?;
            let closed = Arc::clone(&context.closed);
            let check = move |at: &Path| check_folder(at, &closed);
            path::work_at(&input.path, &context, "listing", check).await?;
            list(&input.path, &context).await
        })
    }
}

fn check_folder(folder: &Path, closed: &[PathBuf]) -> Result<(), ToolError> {
    if !path::look(folder, "path not found")?.is_dir() {
        return Err("not a directory".into());
    }
    closed::check_path(folder, closed)
}

async fn list(path: &str, context: &ToolContext) -> Result<String, ToolError> {
    let args = ["-al", "--", path].map(OsStr::new);
    let output = command::run(
        "ls",
        &args,
        &context.folder,
        &context.cancellation,
        &context.launcher,
    )
    .await?;
    let answer = answer(&output, &context.redaction)?;
    if let Some(text) = answer["entries"].as_str() {
        context.extent.note(Extent {
            entries: Some(entries(text)),
            more: answer.get("note").is_some(),
            ..Extent::default()
        });
    }
    Ok(answer.to_string())
}

/// How many entries are listed, without the folder itself and the one above.
fn entries(text: &str) -> u64 {
    let is_entry = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("total ")
            && ![" .", " .."].iter().any(|own| line.ends_with(own))
    };
    text.lines().filter(is_entry).count() as u64
}

fn answer(output: &ProgramOutput, redaction: &Redaction) -> Result<Value, ToolError> {
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let succeeded = output.status.is_none_or(|status| status.success());
    let complaint = output.complaint(redaction);
    if !succeeded && text.is_empty() {
        return Err(failure(&complaint));
    }
    let shown = capped(text, MAX_TEXT_BYTES, redaction);
    let mut result = json!({ "entries": shown.text });
    if shown.is_cut {
        let note = format!(
            "cut at the limit of {MAX_TEXT_BYTES} bytes; there are more entries, \
             list a subdirectory or grep for what you need"
        );
        result["note"] = note.into();
    }
    if !succeeded {
        result["warning"] = complaint.into();
    }
    Ok(result)
}

fn failure(complaint: &str) -> ToolError {
    if complaint.contains("Permission denied") {
        return "permission denied".into();
    }
    if complaint.is_empty() {
        return "ls ended without saying why".into();
    }
    ToolError(complaint.to_owned())
}

#[cfg(test)]
#[path = "list_dir_tests.rs"]
mod tests;
