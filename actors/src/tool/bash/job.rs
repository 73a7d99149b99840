//! The tool `job`: looks at what runs in the background, and ends it.

use harness_protocol::words;
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::{Jobs, Look, named};
use crate::blocking;
use crate::ids::ConversationId;
use crate::reply::Object;
use crate::tool::{Cancellation, Tool, ToolContext, ToolError, ToolFuture, input};

/// How much of an output is shown that nobody asked more of, in bytes.
pub(super) const DEFAULT_TAIL: usize = 8 * 1024;
/// How much may be asked for.
const MAX_TAIL: usize = 24 * 1024;
/// Who stops a job that this tool stops.
const THE_MODEL: &str = "the model";

/// Looks at jobs and ends them. It asks nobody: what runs was allowed.
#[derive(Debug, Clone)]
pub struct JobTool {
    jobs: Jobs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    id: i64,
    action: Option<String>,
    tail: Option<i64>,
}

enum Action {
    Output,
    Stop,
}

impl JobTool {
    /// The tool, for these jobs.
    #[must_use]
    pub fn new(jobs: Jobs) -> Self {
        Self { jobs }
    }

    async fn run(&self, input: Input, context: ToolContext) -> Result<String, ToolError> {
        let action = match input.action.as_deref() {
            None | Some("output") => Action::Output,
            Some("stop") => Action::Stop,
            Some(other) => {
                return Err(ToolError(format!(
                    "action cannot be {other:?}: it is output or stop"
                )));
            }
        };
        let most = tail(input.tail)?;
        let conversation = context.conversation;
        let unknown = || self.unknown(input.id, &conversation);
        let job = u64::try_from(input.id).map_err(|_| unknown())?;
        if matches!(action, Action::Stop) {
            let stopped = self.jobs.stop(&conversation, job, Some(THE_MODEL)).await;
            stopped.ok_or_else(unknown)?;
        }
        let (jobs, own) = (self.jobs.clone(), conversation.clone());
        let look = blocking(move || jobs.look(&own, job, most)).await;
        let look = look.map_err(|error| ToolError(format!("looking failed: {error}")))?;
        look.map(|look| told(&look)).ok_or_else(unknown)
    }

    fn unknown(&self, id: i64, conversation: &ConversationId) -> ToolError {
        let known = self.jobs.known(conversation);
        let known = known.iter().map(|(job, end)| {
            let state = end.as_ref().map_or("running".to_owned(), words::job_end);
            format!("{}: {state}", named(job))
        });
        let known: Vec<String> = known.collect();
        let known = match known.is_empty() {
            true => "there are none".to_owned(),
            false => format!("there are: {}", known.join(", ")),
        };
        ToolError(format!("there is no job {id}; {known}"))
    }
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

/// The end of what it wrote, and one last line: how it is, how much is new, and where all of it is.
fn told(look: &Look) -> String {
    let Look {
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
    let newline = match tail.is_empty() || tail.ends_with('\n') {
        true => "",
        false => "\n",
    };
    format!("{tail}{newline}[{}]", notes.join(" · "))
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

    /// What it ends was allowed, and it changes nothing else: it is of use in a mode without changes.
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
            let input: Input = input::parse(input, &self.input_schema())?;
            self.run(input, context).await
        })
    }
}
