//! The tool `job`: looks at what runs in the background, and ends it.

use harness_protocol::{JobChanges, JobEnd, words};
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::{JobLook, Jobs};
use crate::blocking;
use crate::reply::Object;
use crate::tool::{
    Cancellation, JobNote, THE_MODEL, Tool, ToolContext, ToolError, ToolFuture, input,
};

/// How much of an output is shown unless more is asked for, in bytes.
pub(super) const DEFAULT_TAIL: usize = 8 * 1024;
/// How much may be asked for.
const MAX_TAIL: usize = 24 * 1024;

/// Looks at jobs and ends them. It asks no operator: what runs was allowed.
#[derive(Debug, Clone)]
pub struct JobTool {
    jobs: Jobs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobInput {
    id: i64,
    action: Option<String>,
    tail: Option<i64>,
}

enum JobInputAction {
    Output,
    Stop,
}

impl JobTool {
    /// The tool, for these jobs.
    #[must_use]
    pub fn new(jobs: Jobs) -> Self {
        Self { jobs }
    }

    async fn run(&self, input: JobInput, context: ToolContext) -> Result<String, ToolError> {
        let action = match input.action.as_deref() {
            None | Some("output") => JobInputAction::Output,
            Some("stop") => JobInputAction::Stop,
            Some(other) => {
                return Err(ToolError(format!(
                    "action cannot be {other:?}: it is output or stop"
                )));
            }
        };
        let most = tail(input.tail)?;
        let job = u64::try_from(input.id).unwrap_or_default();
        if matches!(action, JobInputAction::Stop) {
            let by = Some(THE_MODEL);
            // One that has ended is looked at.
            self.jobs.stop(&context.conversation, job, by).await;
        }
        let (jobs, within) = (self.jobs.clone(), context.clone());
        let look = move || {
            let look = jobs.look(&within.conversation, job, most);
            look.map(|look| {
                let changes = jobs.changes(&within.conversation, job);
                look_text(&look, changes.as_ref())
            })
            .or_else(|| past(&within, job, most))
        };
        let look = blocking(look).await;
        let look = look.map_err(|error| ToolError(format!("looking failed: {error}")))?;
        look.ok_or_else(|| self.unknown(input.id, &context))
    }

    fn unknown(&self, id: i64, context: &ToolContext) -> ToolError {
        let known = self.jobs.known(&context.conversation);
        let is_known = |job: u64| known.iter().any(|(known, _)| known.job == job);
        let past = context.jobs.iter().filter(|note| !is_known(note.job));
        let past = past.map(|note| named(note.job, &note.command, Some(end_of(note))));
        let known = known
            .iter()
            .map(|(job, end)| named(job.job, &job.command, end.clone()));
        let known: Vec<String> = past.chain(known).collect();
        let known = match known.is_empty() {
            true => "there are none".to_owned(),
            false => format!("there are: {}", known.join(", ")),
        };
        ToolError(format!("there is no job {id}; {known}"))
    }
}

/// A job in the words for the model, with its state: `1 (make): exit 2`.
fn named(job: u64, command: &str, end: Option<JobEnd>) -> String {
    let command = words::short_command(command);
    let state = end.map_or("running".to_owned(), |end| words::job_end(&end));
    format!("{job} ({command}): {state}")
}

/// How a job ended that only the records know.
fn end_of(note: &JobNote) -> JobEnd {
    note.end.clone().unwrap_or(JobEnd::WithService)
}

/// The text about a job that only the records know, with the end of its output, if that is kept. Blocks.
fn past(context: &ToolContext, job: u64, most: usize) -> Option<String> {
    let note = context.jobs.iter().find(|note| note.job == job)?;
    let outputs = context.outputs.as_ref();
    let tail = outputs.map(|outputs| {
        let (conversation, redaction) = (&context.conversation, &context.redaction);
        outputs.tail(conversation, &note.call, most, redaction)
    });
    let tail = match tail {
        Some(Ok(tail)) => tail,
        Some(Err(_)) | None => String::new(),
    };
    let state = words::job_end(&end_of(note));
    let all = match tail.is_empty() {
        true => String::new(),
        false => format!(" · all of it is at the path output:{}", note.call),
    };
    let changes = note.changes.as_deref();
    let changes = changes.map_or(String::new(), |changes| format!(" · {changes}"));
    let line = format!("job {job}: {state}{all}{changes}");
    Some(ended_line(&tail, &line))
}

/// A text with one last line.
pub(super) fn ended_line(text: &str, line: &str) -> String {
    let newline = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    format!("{text}{newline}[{line}]")
}

fn tail(asked: Option<i64>) -> Result<usize, ToolError> {
    let Some(asked) = asked else {
        return Ok(DEFAULT_TAIL);
    };
    let given = usize::try_from(asked).ok();
    given.filter(|given| *given <= MAX_TAIL).ok_or_else(|| {
        ToolError(format!(
            "tail cannot be {asked}: it is 0 to {MAX_TAIL} bytes"
        ))
    })
}

/// The end of what it wrote, and one last line: how it is, how much is new, where all of it is, and which files changed.
fn look_text(look: &JobLook, changes: Option<&JobChanges>) -> String {
    let JobLook {
        job,
        end,
        took,
        total,
        new,
        tail,
    } = look;
    let seconds = took.as_secs();
    let state = match end {
        None => format!("running for {seconds} s"),
        Some(end) => format!("{} after {seconds} s", words::job_end(end)),
    };
    let mut notes = vec![format!("job {}: {state}", job.job)];
    notes.push(match (*total, *new) {
        (0, _) => "nothing written".to_owned(),
        (_, 0) => "nothing new since the last look".to_owned(),
        (total, new) => format!("{new} of {total} bytes are new since the last look"),
    });
    if *total > tail.len() as u64 {
        notes.push(format!("all of it is at the path output:{}", job.call));
    }
    notes.extend(changes.and_then(words::job_changes));
    ended_line(tail, &notes.join(" · "))
}

impl Tool for JobTool {
    fn name(&self) -> &'static str {
        "job"
    }

    fn description(&self) -> &'static str {
        "Looks at a command that bash started in the background, or stops it. output returns the end of \
         what it has written, with one last line: whether it runs, and how much is new since the last \
         look. stop asks it to end, and ends it. All of the output is read with the path output:CALL."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "The number of the job"},
                "action": {"type": "string", "enum": ["output", "stop"], "description": "What to do; output if left out"},
                "tail": {"type": "integer", "description": "How many bytes of the end of its output to show: at most 24576, 8192 if left out"},
            },
            "required": ["id"],
        })
    }

    /// The command that it ends was allowed, and it changes nothing else, so that it is of use in a
    /// mode without changes.
    fn has_effects(&self) -> bool {
        false
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, input: Object, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(async move {
            let input: JobInput = input::parse(input, &self.input_schema())?;
            self.run(input, context).await
        })
    }
}
