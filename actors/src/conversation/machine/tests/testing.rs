//! The notation of the machine's tests: inputs, effects and messages in short.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::time::Duration;

pub(super) use harness_protocol::{Attachment, Queue};
use serde_json::{Value, json};

use super::super::plan::Defaults;
use super::*;
pub(super) use crate::conversation::messages::{CancelRun, RunOutcome, SubmitError, SubmitPrompt};
pub(super) use crate::event::Passing;
use crate::event::{event, plain};
pub(super) use crate::journal::{Outcome, Unanswered};
pub(super) use crate::model::ModelFailure;
pub(super) use crate::model::messages::ModelEvent;
use crate::reply::Object;
pub(super) use crate::reply::{Block, BlockKind, ReplyEnd, StopReason};
use crate::tool::ToolCall;

/// The end of the remark of a refusal.
pub(super) const LEFT_OUT: &str = "what was new in the request is left out of later ones; say it \
                                   in other words, or send it again with `/retry` or `harness \
                                   retry`";

// What goes in.

pub(super) fn machine(max_turns: u32) -> Machine {
    revived(max_turns, Ledger::default(), 0)
}

/// The plan of a conversation without tools: the machine runs whatever is asked for.
pub(super) fn planner(max_turns: u32) -> Planner {
    Planner::new(Defaults::new("m", max_turns))
}

/// A machine with that past.
pub(super) fn revived(max_turns: u32, ledger: Ledger, calls: u64) -> Machine {
    Machine::new(ConversationId::new("c"), planner(max_turns), ledger, calls)
}

pub(super) fn prompt(content: &str) -> SubmitPrompt {
    SubmitPrompt {
        content: content.to_owned(),
        ..SubmitPrompt::default()
    }
}

/// Gives orders where there is room for all of them.
pub(super) trait Obeys {
    fn obey<O: ConversationOrder>(&mut self, order: O) -> OrderResult<O>;
}

impl Obeys for Machine {
    fn obey<O: ConversationOrder>(&mut self, order: O) -> OrderResult<O> {
        self.order(order, |_| Ok(()))
    }
}

/// The part of a machine's effects that the operator of a plain client sees, and the calls. The
/// other records are left out, and blocks are at place 0.
pub(super) trait Shown {
    fn shown(&mut self, input: Input) -> Vec<Effect>;

    fn prompt(&mut self, content: &str) -> Result<(RunId, Vec<Effect>), SubmitError>;
}

impl Shown for Machine {
    fn shown(&mut self, input: Input) -> Vec<Effect> {
        shown(self.handle(input))
    }

    fn prompt(&mut self, content: &str) -> Result<(RunId, Vec<Effect>), SubmitError> {
        let (run, effects) = self.obey(prompt(content))?;
        Ok((run, shown(effects)))
    }
}

fn shown(effects: Vec<Effect>) -> Vec<Effect> {
    let shown = |effect| match effect {
        Effect::Record(record) => {
            plain(&event(&record, 0)).map(|_| Effect::Record(at_place_0(record)))
        }
        other => Some(other),
    };
    effects.into_iter().filter_map(shown).collect()
}

fn at_place_0(record: Record) -> Record {
    match record {
        Record::Block { block, partial, .. } => Record::Block {
            duration_ms: None,
            index: 0,
            block,
            partial,
        },
        other => other,
    }
}

/// All that a run does at a prompt and these inputs.
pub(super) fn whole(machine: &mut Machine, inputs: impl IntoIterator<Item = Input>) -> Vec<Effect> {
    let (_, mut effects) = machine.obey(prompt("hi")).unwrap();
    effects.extend(inputs.into_iter().flat_map(|input| machine.handle(input)));
    effects
}

/// A machine whose first run asks the model, as call 1.
pub(super) fn asking() -> Machine {
    asking_within(10)
}

pub(super) fn asking_within(max_turns: u32) -> Machine {
    let mut machine = machine(max_turns);
    machine.prompt("hi").unwrap();
    machine
}

pub(super) fn id(number: u64) -> CallId {
    CallId {
        conversation: ConversationId::new("c"),
        number,
    }
}

pub(super) fn object(json: &Value) -> Object {
    json.as_object().unwrap().clone()
}

pub(super) fn block(json: &Value) -> Block {
    Block::new(object(json))
}

pub(super) fn tool(id: &str) -> Block {
    Block::tool_call(id, "read", Object::new())
}

pub(super) fn cancel() -> Input {
    Input::CancelRequested(CancelRun::default())
}

pub(super) fn got(call: u64, index: u64, block: Block) -> Input {
    Input::Model(ModelEvent::BlockFinished {
        call_id: id(call),
        index,
        block,
    })
}

pub(super) fn finished(call: u64, stop_reason: StopReason) -> Input {
    let end = ReplyEnd {
        stop_reason,
        ..ReplyEnd::default()
    };
    Input::Model(ModelEvent::Finished {
        call_id: id(call),
        end,
    })
}

pub(super) fn failed(call: u64, error: ModelError) -> Input {
    failed_with(call, error, false, Vec::new())
}

pub(super) fn failed_with(
    call: u64,
    error: ModelError,
    interrupted: bool,
    partial: Vec<(u64, Block)>,
) -> Input {
    Input::Model(ModelEvent::Failed {
        call_id: id(call),
        failure: ModelFailure { error, interrupted },
        partial,
    })
}

pub(super) fn refused() -> ModelError {
    ModelError::Api {
        status: 400,
        kind: "invalid_request_error".to_owned(),
        message: "no".to_owned(),
        request_id: None,
    }
}

pub(super) fn ok(call: u64, result: &str) -> Input {
    let outcome = ToolOutcome {
        result: result.to_owned(),
        is_error: false,
        changes: Vec::new(),
        changes_note: None,
        proposals: Vec::new(),
        seen: Vec::new(),
        folder: None,
        job: None,
        extent: None,
        took: None,
    };
    Input::Tool(ToolEvent::Finished {
        call_id: id(call),
        outcome,
    })
}

pub(super) fn error(call: u64, text: &str) -> Input {
    Input::Tool(ToolEvent::Finished {
        call_id: id(call),
        outcome: ToolOutcome::failed(text),
    })
}

pub(super) fn play(machine: &mut Machine, inputs: impl IntoIterator<Item = Input>) -> Vec<Effect> {
    let handle = |input| machine.shown(input);
    inputs.into_iter().flat_map(handle).collect()
}

pub(super) fn retrying(call: u64) -> Input {
    Input::Model(ModelEvent::Retrying {
        call_id: id(call),
        retry: 1,
        max_retries: 4,
        delay: Duration::from_millis(1250),
        error: ModelError::Truncated,
    })
}

pub(super) fn replaced(call: u64) -> Input {
    Input::Model(ModelEvent::ModelReplaced {
        call_id: id(call),
        from: "old".to_owned(),
        to: "new".to_owned(),
    })
}

// What comes out.

pub(super) fn said(content: &str) -> Effect {
    said_in_part(content, false)
}

pub(super) fn said_in_part(content: &str, partial: bool) -> Effect {
    finished_block(Block::text(content), partial)
}

/// A block as clients see it.
pub(super) fn finished_block(block: Block, partial: bool) -> Effect {
    Effect::Record(Record::Block {
        duration_ms: None,
        index: 0,
        block,
        partial,
    })
}

pub(super) fn status(activity: Activity, message: &str) -> Effect {
    Effect::Record(Record::Status {
        activity,
        message: message.to_owned(),
    })
}

pub(super) fn thinking() -> Effect {
    status(Activity::Thinking, "")
}

pub(super) fn discarded() -> Effect {
    Effect::Show(Passing::Discarded)
}

/// A call of `read` as clients see it.
pub(super) fn called(id: &str) -> [Effect; 2] {
    [
        status(Activity::RunningTool, "read"),
        finished_block(tool(id), false),
    ]
}

pub(super) fn run_tool(call: u64, id_of_tool: &str) -> Effect {
    let tool = ToolCall {
        id: id_of_tool.to_owned(),
        name: "read".to_owned(),
        input: Object::new(),
        input_error: None,
    };
    Effect::RunTool(id(call), tool, None)
}

/// A result as clients see it.
pub(super) fn answered(id: &str, result: &str, is_error: bool) -> [Effect; 2] {
    let result = Record::ToolResult {
        duration_ms: None,
        extent: None,
        id: id.to_owned(),
        result: result.to_owned(),
        is_error,
        seen: Vec::new(),
        folder: None,
    };
    [Effect::Record(result), thinking()]
}

pub(super) fn ask(call: u64) -> Effect {
    Effect::CallModel(id(call))
}

pub(super) fn ended(run: u64, remark: &str) -> [Effect; 2] {
    let outcome = RunOutcome::Ended {
        remark: remark.to_owned(),
    };
    [
        status(Activity::Idle, remark),
        Effect::EndRun(RunId(run), outcome),
    ]
}

pub(super) fn cancelled(run: u64) -> [Effect; 2] {
    [
        status(Activity::Idle, "cancelled"),
        Effect::EndRun(RunId(run), RunOutcome::Cancelled),
    ]
}

pub(super) fn failure(
    run: u64,
    message: &str,
    error: ModelError,
    interrupted: bool,
) -> [Effect; 2] {
    let failure = ModelFailure { error, interrupted };
    [
        status(Activity::Error, message),
        Effect::EndRun(RunId(run), RunOutcome::Failed(failure)),
    ]
}

/// Joins effects and groups of them.
macro_rules! effects {
    ($($group:expr),* $(,)?) => {{
        let mut all: Vec<Effect> = Vec::new();
        $(all.extend(Into::<Group>::into($group).0);)*
        all
    }};
}

pub(super) use effects;

pub(super) struct Group(pub(super) Vec<Effect>);

impl From<Effect> for Group {
    fn from(effect: Effect) -> Self {
        Self(vec![effect])
    }
}

impl<const N: usize> From<[Effect; N]> for Group {
    fn from(effects: [Effect; N]) -> Self {
        Self(effects.to_vec())
    }
}

// What the next request holds.

pub(super) fn messages(machine: &Machine) -> Value {
    let messages = machine.history().messages().concat();
    let text = String::from_utf8(messages).unwrap();
    serde_json::from_str(&format!("[{text}]")).unwrap()
}

/// The messages of a request that is made with the next prompt, `next`.
pub(super) fn next_messages(machine: &mut Machine) -> Value {
    machine.prompt("next").unwrap();
    messages(machine)
}

pub(super) fn user(content: &Value) -> Value {
    json!({"role": "user", "content": content})
}

pub(super) fn assistant(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(super) fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

pub(super) fn result(id: &str, content: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error})
}

pub(super) fn web_search(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}})
}

pub(super) fn web_results(id: &str) -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []})
}
