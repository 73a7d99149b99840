//! The tool `edit`: replaces a text in a file, byte for byte.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{
    CHANGED_SINCE, KnownFile, LineEnds, Matches, OtherEncoding, carry_out_at_once, check_size,
    find, nearest, planned,
};
use super::look_alikes::look_alikes;
use super::plan::PlanFuture;
use super::{Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, input, path};
use crate::reply::Object;

/// How many lines of places are named.
const MAX_LINES: usize = 20;

/// Replaces texts in files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct EditInput {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replaces a text in a file. old_string has to stand in the file exactly once, with its blanks \
         and line breaks, unless replace_all is true. An empty old_string makes a new file, or fills an \
         empty one. The rest of the file stays as it is."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file to change"},
                "old_string": {"type": "string", "description": "The text to replace"},
                "new_string": {"type": "string", "description": "The text to put in its place"},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence"},
            },
            "required": ["path", "old_string", "new_string"],
        })
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn has_long_inputs(&self) -> bool {
        true
    }

    fn touches(&self, input: &Object) -> Vec<Touched> {
        path::changed_of(input)
    }

    fn plan(&self, input: Object, context: ToolContext) -> PlanFuture<'_> {
        Box::pin(async move {
            let input: EditInput = input::parse(input, &self.input_schema())?;
            let place = input.path.clone();
            let within = context.clone();
            let plan = move |place: &Path| plan(place, &input, &within);
            path::work_at(&place, &context, "editing", plan)
                .await
                .map(Some)
        })
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        carry_out_at_once(self, input, context)
    }
}

/// Plans an edit.
fn plan(
    asked: &Path,
    input: &EditInput,
    context: &ToolContext,
) -> Result<super::PlannedAction, ToolError> {
    if input.old_string == input.new_string {
        return Err("old_string and new_string are the same: nothing would change".into());
    }
    planned(asked, context, |known| match known {
        Some(known) => changed(known, input).map_err(|error| {
            match context.seen.is_another(&known.path, &known.hash) {
                true => ToolError(format!("{}; {CHANGED_SINCE}; read it again", error.0)),
                false => error,
            }
        }),
        None if input.old_string.is_empty() => {
            Ok((input.new_string.clone().into_bytes(), Vec::new()))
        }
        None => Err(ToolError(format!(
            "file not found; an empty old_string makes it{}",
            look_alikes(asked, &context.closed)
        ))),
    })
}

/// The content after an edit, and what there is to say of it.
fn changed(known: &KnownFile, input: &EditInput) -> Result<(Vec<u8>, Vec<String>), ToolError> {
    let file = &known.bytes;
    if input.old_string.is_empty() {
        return match file.is_empty() {
            true => Ok((input.new_string.clone().into_bytes(), Vec::new())),
            false => Err(
                "old_string is empty and the file is not; name the text to replace, or use write"
                    .into(),
            ),
        };
    }
    let Some(Matches { level, places }) = find(file, &input.old_string) else {
        return Err(no_match(file, &input.old_string));
    };
    if places.len() > 1 && !input.replace_all {
        let lines = places.iter().take(MAX_LINES);
        let lines: Vec<String> = lines
            .map(|place| line_of(file, place.start).to_string())
            .collect();
        let more = if places.len() > MAX_LINES {
            ", …"
        } else {
            ""
        };
        return Err(ToolError(format!(
            "found {} matches, in lines {}{more}; give more context, or set replace_all",
            places.len(),
            lines.join(", ")
        )));
    }
    if input.replace_all && level.is_loose() {
        return Err(no_match(file, &input.old_string));
    }
    let other_encoding = OtherEncoding::find(known, &input.new_string);
    let line_ends = LineEnds::find(file);
    let mut after = Vec::with_capacity(file.len());
    let mut at = 0;
    for place in &places {
        after.extend_from_slice(&file[at..place.start]);
        if let Some(other) = &other_encoding {
            other.check(&file[place.clone()], &input.new_string)?;
        }
        let put = line_ends.applied(place, &input.new_string, level);
        // However often it is put there, not more is held than may be.
        check_size(after.len() + put.len())?;
        after.extend_from_slice(put.as_bytes());
        at = place.end;
    }
    after.extend_from_slice(&file[at..]);
    if after == *file {
        return Err("the file has that text already: nothing would change".into());
    }
    let mut notes: Vec<String> = level.note().map(str::to_owned).into_iter().collect();
    if places.len() > 1 {
        notes.insert(0, format!("replaced in {} places", places.len()));
    }
    Ok((after, notes))
}

fn no_match(file: &[u8], text: &str) -> ToolError {
    let nearest = nearest(file, text);
    let near = match nearest.as_slice() {
        [] => String::new(),
        places => format!("; nearest: {}", places.join("; ")),
    };
    ToolError(format!("no match found for old_string{near}"))
}

/// The number of the line that holds a byte.
fn line_of(file: &[u8], at: usize) -> usize {
    file[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "edit_cases_tests.rs"]
mod cases;
