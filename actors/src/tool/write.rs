//! The tool `write`: makes a file, or puts another content into one that the model knows.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{
    CHANGED_SINCE, KnownFile, OtherEncoding, carry_out_at_once, planned, with_marks_of,
};
use super::plan::PlanFuture;
use super::{Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, input, path};
use crate::reply::Object;

/// Makes and overwrites files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    path: String,
    content: String,
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> &'static str {
        "Makes a file with its folders, or replaces the content of one. A file that is there has to be \
         read before, all of its lines, or written by you; it keeps its byte order mark and line ends. To change a \
         part of it use edit."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file to write"},
                "content": {"type": "string", "description": "Its whole content"},
            },
            "required": ["path", "content"],
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
            let input: WriteInput = input::parse(input, &self.input_schema())?;
            let place = input.path.clone();
            let within = context.clone();
            let plan = move |place: &Path| {
                planned(place, &within, |known| content(known, &input, &within))
            };
            path::work_at(&place, &context, "writing", plan)
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

fn content(
    known: Option<&KnownFile>,
    input: &WriteInput,
    context: &ToolContext,
) -> Result<(Vec<u8>, Vec<String>), ToolError> {
    let Some(known) = known else {
        return Ok((input.content.clone().into_bytes(), Vec::new()));
    };
    let (content, notes) = with_marks_of(&known.bytes, &input.content);
    if known.bytes == content.as_bytes() {
        return Err(match notes.as_slice() {
            [] => "the file has that content already: nothing would change".into(),
            kept => ToolError(format!(
                "the file has that content already, as {}: nothing would change; other line ends \
                 are made by a command",
                kept.join(" and ")
            )),
        });
    }
    if !known.bytes.is_empty() && !context.seen.knows(&known.path, &known.hash) {
        let reason = match context.seen.is_another(&known.path, &known.hash) {
            true => CHANGED_SINCE,
            false => "the file is there and you have not read all of it",
        };
        return Err(ToolError(format!(
            "{reason}; read it to its end, in parts with start_line where one result does not hold it, \
             or use edit"
        )));
    }
    if let Some(other) = OtherEncoding::find(known, &input.content) {
        other.check(&[], &input.content)?;
    }
    Ok((content.into_owned().into_bytes(), notes))
}
