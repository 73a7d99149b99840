//! Random interleavings of everything that can happen to a conversation, against what must
//! always hold.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use harness_protocol::DeltaKind;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::talk::valid_request;
use super::testing::*;
use super::*;
use crate::conversation::past::INTERRUPTED;

// What happens.

#[derive(Debug, Clone)]
enum Action {
    Prompt(&'static str),
    /// The call that is waited for answers, or, with an index, one that has ended long ago.
    Answer(Box<Answer>, Option<Index>),
    Cancel,
    Stop,
}

#[derive(Debug, Clone)]
enum Answer {
    Retrying,
    Replaced,
    Delta,
    Block(Block),
    Finished(StopReason),
    Failed(ModelError, Vec<Block>),
    Tool(ToolOutcome),
    Lost,
}

impl Answer {
    fn is_of_model(&self) -> bool {
        !matches!(self, Self::Tool(_))
    }

    fn is_terminal(&self) -> bool {
        match self {
            Self::Retrying | Self::Replaced | Self::Delta | Self::Block(_) => false,
            Self::Finished(_) | Self::Failed(..) | Self::Tool(_) | Self::Lost => true,
        }
    }
}

fn json_block() -> impl Strategy<Value = Value> {
    let text = select(vec!["", " \n", "a", "b c", "\u{2028}é\""]);
    let text = text.prop_map(|text| json!({"type": "text", "text": text}));
    let cited = json!({"type": "text", "text": "c", "citations": [{"cited_text": "x"}]});
    let signature = select(vec![Some("s+/="), Some(""), None]);
    let thinking = (select(vec!["", "hm"]), signature).prop_map(|(thinking, signature)| {
        let mut block = json!({"type": "thinking", "thinking": thinking});
        if let Some(signature) = signature {
            block["signature"] = json!(signature);
        }
        block
    });
    let id = select(vec!["t", "t", "u", "t_2", "", "a b", "é/ö"]);
    let name = select(vec!["read", "read", "read file", "", "é", &LONG_NAME]);
    let input = select(vec![
        json!({}),
        json!({"path": "x"}),
        json!({"a": [1, null]}),
    ]);
    let call = (id, name, input).prop_map(
        |(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}),
    );
    let server_id = || select(vec!["s", "r"]);
    let server_call = server_id().prop_map(
        |id| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
    );
    let server_result = server_id()
        .prop_map(|id| json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}));
    let other = select(vec![
        cited,
        json!({"type": "redacted_thinking", "data": "x"}),
        json!({"type": "poem", "text": "x"}),
        json!({"type": "tool_use", "id": "v", "name": "read", "input": "{}"}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "x"}),
        json!({}),
    ]);
    prop_oneof![
        4 => text,
        2 => thinking,
        4 => call,
        2 => server_call,
        2 => server_result,
        2 => other,
    ]
}

static LONG_NAME: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(99));

fn any_block() -> impl Strategy<Value = Block> {
    let with_extra = (json_block(), prop::bool::weighted(0.1));
    with_extra.prop_map(|(mut json, extra)| {
        if extra {
            json["later"] = json!(1);
        }
        block(&json)
    })
}

fn stop_reason() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        3 => Just(StopReason::EndTurn),
        5 => Just(StopReason::ToolUse),
        2 => Just(StopReason::PauseTurn),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::StopSequence),
        1 => Just(StopReason::Refusal),
        1 => Just(StopReason::ContextWindowExceeded),
        1 => Just(StopReason::Other("tired".to_owned())),
    ]
}

fn model_error() -> impl Strategy<Value = ModelError> {
    let api = select(vec![400, 401, 429, 529]).prop_map(|status| ModelError::Api {
        status,
        kind: "k".to_owned(),
        message: "m".to_owned(),
        request_id: None,
    });
    prop_oneof![
        api,
        Just(ModelError::Truncated),
        Just(ModelError::Cancelled),
        Just(ModelError::TooLarge { bytes: 2, limit: 1 }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let partial = select(vec!["cut", " "]).prop_map(Block::text);
    let partial = prop::collection::vec(partial, 0..2);
    let outcome = prop_oneof![
        3 => select(vec!["", "x", "\n"]).prop_map(|result| ToolOutcome {
            result: result.to_owned(),
            is_error: false,
            changes: Vec::new(), seen: Vec::new(),
            changes_note: None,
            proposals: Vec::new(),
            folder: None,
            job: None,
            extent: None,
            took: None,
        }),
        1 => Just(ToolOutcome::failed("no")),
    ];
    prop_oneof![
        10 => any_block().prop_map(Answer::Block),
        6 => stop_reason().prop_map(Answer::Finished),
        8 => outcome.prop_map(Answer::Tool),
        2 => (model_error(), partial).prop_map(|(error, partial)| Answer::Failed(error, partial)),
        1 => Just(Answer::Lost),
        1 => Just(Answer::Retrying),
        1 => Just(Answer::Replaced),
        2 => Just(Answer::Delta),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        30 => answer().prop_map(|answer| Action::Answer(Box::new(answer), None)),
        3 => (answer(), any::<Index>())
            .prop_map(|(answer, late)| Action::Answer(Box::new(answer), Some(late))),
        6 => select(vec!["p", "q", " "]).prop_map(Action::Prompt),
        2 => Just(Action::Cancel),
    ]
}

// What must hold.

/// The answer that the machine waits for.
#[derive(Debug, Clone, PartialEq)]
enum Waiting {
    Model,
    Tool(String),
}

/// The surroundings of a machine. They know only what came out of it.
struct World {
    machine: Machine,
    /// The call that was ordered and has not ended.
    call: Option<(CallId, Waiting)>,
    ended_calls: Vec<CallId>,
    /// Whether the run was told to end.
    ending: bool,
    stopping: bool,
    running: Option<RunId>,
    runs: u64,
    /// Calls of tools that were shown, and the results that were.
    shown: HashSet<String>,
    ran: HashSet<String>,
    results: HashMap<String, (String, bool)>,
    /// The calls of the reply so far: of our tools, and of the API's.
    called: bool,
    server_called: bool,
    blocks: u64,
    /// The part of the last request that must not change any more.
    sealed: Vec<u8>,
    /// All records, and what they add up to.
    records: Vec<Record>,
    ledger: Ledger,
}

impl World {
    fn new(max_turns: u32) -> Self {
        Self {
            machine: machine(max_turns),
            call: None,
            ended_calls: Vec::new(),
            ending: false,
            stopping: false,
            running: None,
            runs: 0,
            shown: HashSet::new(),
            ran: HashSet::new(),
            results: HashMap::new(),
            called: false,
            server_called: false,
            blocks: 0,
            sealed: Vec::new(),
            records: Vec::new(),
            ledger: Ledger::default(),
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Prompt(content) => self.prompt(content),
            Action::Answer(answer, None) => {
                if let Some((call_id, waiting)) = self.call.clone() {
                    self.answer(call_id, &waiting, *answer);
                }
            }
            Action::Answer(answer, Some(late)) => {
                if !self.ended_calls.is_empty() {
                    let call_id = late.get(&self.ended_calls).clone();
                    let before = messages(&self.machine);
                    let effects = self.machine.handle(self.input(call_id, *answer));
                    assert_eq!(effects, [], "a late answer was heard");
                    assert_eq!(messages(&self.machine), before);
                }
            }
            Action::Cancel => self.end_early(cancel()),
            Action::Stop => {
                self.end_early(Input::StopRequested);
                self.stopping = true;
            }
        }
        // A run waits for exactly one call.
        assert_eq!(self.machine.run(), self.running);
        assert_eq!(self.running.is_some(), self.call.is_some());
        self.check_ledger();
    }

    /// The records alone say what the machine knows.
    fn check_ledger(&self) {
        let machine = self.machine.ledger();
        let history = self.machine.history().messages();
        assert_eq!(self.ledger.history().messages(), history);
        assert_eq!(self.ledger.totals(), machine.totals());
        assert_eq!(self.ledger.run(), self.running);
        assert_eq!(self.ledger.turn(), machine.turn());
        assert_eq!(self.ledger.turn().is_some(), self.running.is_some());
        assert_eq!(self.ledger.status(), machine.status());
        check_pairs(&self.records, self.running.is_some());
    }

    fn prompt(&mut self, content: &str) {
        let before = messages(&self.machine);
        let refusal = if self.stopping {
            Some(SubmitError::Stopping)
        } else if self.running.is_some() {
            Some(SubmitError::Busy)
        } else if content.trim().is_empty() {
            Some(SubmitError::Blank)
        } else {
            None
        };
        match self.machine.obey(prompt(content)) {
            Ok((run, effects)) => {
                assert_eq!(refusal, None);
                self.runs += 1;
                assert_eq!(run, RunId(self.runs));
                self.running = Some(run);
                self.ending = false;
                self.server_called = false;
                self.observe(&effects);
            }
            Err(error) => {
                assert_eq!(refusal, Some(error));
                assert_eq!(messages(&self.machine), before);
            }
        }
    }

    fn answer(&mut self, call_id: CallId, waiting: &Waiting, answer: Answer) {
        let fits = matches!(answer, Answer::Lost)
            || answer.is_of_model() == matches!(waiting, Waiting::Model);
        let answer = self.possible(answer);
        if fits && answer.is_terminal() {
            self.call = None;
            self.ended_calls.push(call_id.clone());
        }
        if fits {
            self.note(&answer);
        }
        let effects = self.machine.handle(self.input(call_id, answer));
        if !fits {
            assert_eq!(effects, [], "an answer of the wrong kind was heard");
        }
        self.observe(&effects);
        if let Waiting::Tool(id) = waiting
            && fits
        {
            assert!(self.results.contains_key(id), "{id} has no result");
        }
    }

    /// The API pauses a reply only for its own tools.
    fn possible(&self, answer: Answer) -> Answer {
        if matches!(answer, Answer::Finished(StopReason::PauseTurn)) && !self.server_called {
            return Answer::Finished(StopReason::EndTurn);
        }
        answer
    }

    fn note(&mut self, answer: &Answer) {
        match answer {
            Answer::Block(block) => {
                let kind = block.kind();
                self.called |= matches!(kind, BlockKind::ToolCall { .. });
                self.server_called |= matches!(kind, BlockKind::ServerToolCall { .. });
                self.blocks += 1;
            }
            Answer::Finished(reason) => {
                let goes_on = *reason == StopReason::PauseTurn && !self.called;
                self.server_called &= goes_on;
                self.called = false;
            }
            Answer::Failed(..) | Answer::Lost | Answer::Tool(_) => {
                self.server_called = false;
                self.called = false;
            }
            Answer::Retrying | Answer::Replaced | Answer::Delta => {}
        }
    }

    fn input(&self, call_id: CallId, answer: Answer) -> Input {
        let error = ModelError::Truncated;
        Input::Model(match answer {
            Answer::Lost => return Input::CallLost(call_id),
            Answer::Tool(outcome) => {
                return Input::Tool(ToolEvent::Finished { call_id, outcome });
            }
            Answer::Retrying => ModelEvent::Retrying {
                call_id,
                retry: 1,
                max_retries: 2,
                delay: Duration::from_secs(1),
                error,
            },
            Answer::Replaced => ModelEvent::ModelReplaced {
                call_id,
                from: "old".to_owned(),
                to: "new".to_owned(),
            },
            Answer::Delta => ModelEvent::Delta {
                call_id,
                index: self.blocks,
                kind: DeltaKind::Text,
                offset: 0,
                text: "a".to_owned(),
            },
            Answer::Block(block) => ModelEvent::BlockFinished {
                call_id,
                index: self.blocks,
                block,
            },
            Answer::Finished(stop_reason) => ModelEvent::Finished {
                call_id,
                end: ReplyEnd {
                    stop_reason,
                    stop_details: object(&json!({"category": "c"})),
                    usage: object(&json!({"input_tokens": 5, "output_tokens": self.blocks})).into(),
                    ..ReplyEnd::default()
                },
            },
            Answer::Failed(error, partial) => ModelEvent::Failed {
                call_id,
                failure: ModelFailure {
                    error,
                    interrupted: false,
                },
                partial: (self.blocks + 1..).zip(partial).collect(),
            },
        })
    }

    fn end_early(&mut self, input: Input) {
        let expected = match (&self.call, self.ending) {
            (Some((call_id, Waiting::Model)), false) => vec![Effect::CancelModel(call_id.clone())],
            (Some((call_id, Waiting::Tool(_))), false) => {
                vec![Effect::CancelTool(call_id.clone())]
            }
            (Some(_), true) | (None, _) => vec![],
        };
        assert_eq!(self.machine.handle(input), expected);
        self.ending = true;
    }

    /// Checks what is done, and remembers it.
    fn observe(&mut self, effects: &[Effect]) {
        let last = effects.len().wrapping_sub(1);
        let ends_run = matches!(effects.last(), Some(Effect::EndRun(..)));
        for (place, effect) in effects.iter().enumerate() {
            assert!(self.running.is_some(), "{effect:?} without a run");
            let is_end = matches!(
                effect,
                Effect::Record(Record::Status {
                    activity: Activity::Idle | Activity::Error,
                    ..
                })
            );
            assert_eq!(is_end, ends_run && place + 1 == last, "{effects:?}");
            match effect {
                Effect::Record(record) => self.observe_record(record),
                Effect::Show(_) => assert!(!self.ending && self.call.is_some()),
                Effect::CallModel(call_id) => {
                    self.start(call_id, Waiting::Model);
                    assert_eq!(place, last);
                    self.check_request();
                }
                Effect::RunTool(call_id, call, _) => {
                    self.start(call_id, Waiting::Tool(call.id.clone()));
                    assert_eq!(place, last);
                    assert!(self.shown.contains(&call.id));
                    assert!(self.ran.insert(call.id.clone()), "{} ran twice", call.id);
                }
                Effect::EndRun(run, _) => {
                    assert_eq!(place, last);
                    assert_eq!(self.running.take(), Some(*run));
                    assert_eq!(self.call, None, "the run ended before its call");
                    assert!(self.ran.iter().all(|id| self.results.contains_key(id)));
                }
                Effect::CancelModel(_)
                | Effect::KeepChange(..)
                | Effect::DescribeModel { .. }
                | Effect::CancelTool(_)
                | Effect::TellDropped(..)
                | Effect::Summarize(..)
                | Effect::Rewrite { .. }
                | Effect::EndCompaction(_) => {
                    panic!("{effect:?} unasked");
                }
            }
        }
    }

    fn observe_record(&mut self, record: &Record) {
        // As it comes back from a journal.
        let json = serde_json::to_string(record).unwrap();
        let read: Record = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, record);
        self.ledger.apply(&read);
        self.records.push(read);
        match record {
            Record::Block { block, .. } => {
                if let BlockKind::ToolCall { id, .. } = block.kind() {
                    assert!(self.shown.insert(id.to_owned()), "{id} was shown twice");
                }
            }
            Record::ToolResult {
                id,
                result,
                is_error,
                ..
            } => {
                assert!(self.shown.contains(id));
                let result = (result.clone(), *is_error);
                let before = self.results.insert(id.clone(), result);
                assert_eq!(before, None, "{id} has two results");
            }
            Record::RunStarted { .. }
            | Record::Prompt { .. }
            | Record::Status { .. }
            | Record::TurnStarted { .. }
            | Record::ReplyEnded { .. }
            | Record::ReplyFailed { .. }
            | Record::CallsSkipped { .. }
            | Record::TurnEnded { .. }
            | Record::RunEnded { .. }
            | Record::Renamed { .. }
            | Record::Queued { .. }
            | Record::Withdrawn { .. }
            | Record::SettingsChanged { .. }
            | Record::ToolsRenewed { .. }
            | Record::ReplyLeftOut { .. }
            | Record::CompactionStarted { .. }
            | Record::Compacted { .. }
            | Record::CompactionFailed { .. }
            | Record::Checkpoint { .. }
            | Record::ApprovalAsked(_)
            | Record::ApprovalAnswered { .. }
            | Record::ApprovalWithdrawn { .. }
            | Record::EffectBegan { .. }
            | Record::FilesChanged { .. }
            | Record::ToolReturned { .. }
            | Record::ProposalDecided { .. }
            | Record::SpendingReserved { .. }
            | Record::SpendingReleased { .. }
            | Record::RulesChanged { .. }
            | Record::Undone { .. }
            | Record::CommandRan { .. }
            | Record::Branched { .. }
            | Record::JobStarted { .. }
            | Record::JobEnded { .. }
            | Record::Workflow(_)
            | Record::Unknown { .. } => {}
        }
    }

    fn start(&mut self, call_id: &CallId, waiting: Waiting) {
        assert_eq!(self.call, None, "two calls at a time");
        assert!(!self.ending, "a call after a cancel");
        assert!(!self.ended_calls.contains(call_id), "{call_id} is not new");
        self.call = Some((call_id.clone(), waiting));
    }

    /// Checks the request that is made now.
    fn check_request(&mut self) {
        let pieces = self.machine.history().messages();
        let request = valid_request(&self.machine);
        for message in request.messages() {
            self.check_results(message);
        }

        let is_user = |message: &Value| message["role"] == "user";
        let open = request.messages().iter().rposition(is_user).unwrap();
        assert!(
            pieces.concat().starts_with(&self.sealed),
            "what was said has changed"
        );
        // A reply that awaits the result of a tool of the API's own may lose the call.
        let awaits = self.machine.history().awaits_server_results();
        self.sealed = pieces[..open - usize::from(awaits)].concat();
    }

    /// A call that ran is answered with what came out, and any other with an error.
    fn check_results(&self, message: &Value) {
        for block in message["content"].as_array().unwrap() {
            let Some(id) = block["tool_use_id"].as_str() else {
                continue;
            };
            if block["type"] != "tool_result" {
                continue;
            }
            let sent = (
                block["content"].as_str().unwrap().to_owned(),
                block["is_error"].as_bool().unwrap(),
            );
            let was_refused = sent.0.starts_with("not available: the API refused");
            match self.results.get(id) {
                Some(result) if !was_refused => assert_eq!(&sent, result),
                Some(_) | None => assert!(sent.1),
            }
        }
    }

    /// Lets what is under way come to its end, and asks once more.
    fn settle(&mut self) {
        for _ in 0..2 {
            self.act(Action::Cancel);
            self.act(Action::Answer(Box::new(Answer::Lost), None));
            assert_eq!(self.running, None);
            self.act(Action::Prompt("and now"));
            assert_eq!(self.running.is_none(), self.stopping);
        }
    }
}

/// Every run and every turn ends once, but for the last ones as long as the run goes on.
pub(super) fn check_pairs(records: &[Record], is_running: bool) {
    let mut run = None;
    let mut turn = None;
    for record in records {
        match record {
            Record::RunStarted { run: started, .. } => {
                assert_eq!((run, turn), (None, None), "two runs at a time");
                run = Some(*started);
            }
            Record::TurnStarted {
                run: of,
                turn: started,
                ..
            } => {
                assert_eq!((Some(*of), turn), (run, None), "two turns at a time");
                turn = Some(*started);
            }
            Record::TurnEnded {
                run: of,
                turn: ended,
                ..
            } => {
                assert_eq!((Some(*of), Some(*ended)), (run, turn));
                turn = None;
            }
            Record::RunEnded { run: ended, .. } => {
                assert_eq!((Some(*ended), turn), (run, None));
                run = None;
            }
            Record::Prompt { .. }
            | Record::Status { .. }
            | Record::Block { .. }
            | Record::ReplyEnded { .. }
            | Record::ReplyFailed { .. }
            | Record::ToolResult { .. }
            | Record::CallsSkipped { .. }
            | Record::Renamed { .. }
            | Record::Queued { .. }
            | Record::Withdrawn { .. }
            | Record::SettingsChanged { .. }
            | Record::ToolsRenewed { .. }
            | Record::ReplyLeftOut { .. }
            | Record::CompactionStarted { .. }
            | Record::Compacted { .. }
            | Record::CompactionFailed { .. }
            | Record::Checkpoint { .. }
            | Record::ApprovalAsked(_)
            | Record::ApprovalAnswered { .. }
            | Record::ApprovalWithdrawn { .. }
            | Record::EffectBegan { .. }
            | Record::FilesChanged { .. }
            | Record::ToolReturned { .. }
            | Record::ProposalDecided { .. }
            | Record::SpendingReserved { .. }
            | Record::SpendingReleased { .. }
            | Record::RulesChanged { .. }
            | Record::Undone { .. }
            | Record::CommandRan { .. }
            | Record::Branched { .. }
            | Record::JobStarted { .. }
            | Record::JobEnded { .. }
            | Record::Workflow(_)
            | Record::Unknown { .. } => {}
        }
    }
    assert_eq!(run.is_some(), is_running);
}

// What comes after a crash.

/// The calls that ran or might have, without a result; told by the records of the last turn.
fn dangling(records: &[Record]) -> Vec<String> {
    let mut open: Vec<(u64, String)> = Vec::new();
    for record in records {
        match record {
            Record::TurnStarted { .. } | Record::RunEnded { .. } | Record::CallsSkipped { .. } => {
                open.clear();
            }
            Record::Block { index, block, .. } => {
                if let BlockKind::ToolCall { id, .. } = block.kind() {
                    open.push((*index, id.to_owned()));
                }
            }
            Record::ReplyEnded { unanswered, .. } | Record::ReplyFailed { unanswered, .. } => {
                if *unanswered != Unanswered::Interrupted {
                    open.clear();
                }
            }
            Record::ToolResult { id, .. } => open.retain(|(_, open)| open != id),
            Record::RunStarted { .. }
            | Record::Prompt { .. }
            | Record::Status { .. }
            | Record::TurnEnded { .. }
            | Record::Renamed { .. }
            | Record::Queued { .. }
            | Record::Withdrawn { .. }
            | Record::SettingsChanged { .. }
            | Record::ToolsRenewed { .. }
            | Record::ReplyLeftOut { .. }
            | Record::CompactionStarted { .. }
            | Record::Compacted { .. }
            | Record::CompactionFailed { .. }
            | Record::Checkpoint { .. }
            | Record::ApprovalAsked(_)
            | Record::ApprovalAnswered { .. }
            | Record::ApprovalWithdrawn { .. }
            | Record::EffectBegan { .. }
            | Record::FilesChanged { .. }
            | Record::ToolReturned { .. }
            | Record::ProposalDecided { .. }
            | Record::SpendingReserved { .. }
            | Record::SpendingReleased { .. }
            | Record::RulesChanged { .. }
            | Record::Undone { .. }
            | Record::CommandRan { .. }
            | Record::Branched { .. }
            | Record::JobStarted { .. }
            | Record::JobEnded { .. }
            | Record::Workflow(_)
            | Record::Unknown { .. } => {}
        }
    }
    open.sort();
    open.into_iter().map(|(_, id)| id).collect()
}

fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Ledger {
    let mut ledger = Ledger::default();
    records.into_iter().for_each(|record| ledger.apply(record));
    ledger
}

const UNKNOWN_EFFECT: &str = r#"{"error":"interrupted, effect unknown"}"#;

/// A conversation with these records goes on with the next prompt; what it writes before that.
fn go_on(records: &[Record]) -> Vec<Record> {
    let mut machine = revived(3, fold(records), 1000);
    let last = machine.ledger().totals().runs;
    let (run, effects) = machine.obey(prompt("and now")).unwrap();
    assert_eq!(run, RunId(last + 1));
    let request = valid_request(&machine);
    let content = request.messages().last().unwrap()["content"].clone();
    assert_eq!(
        content.as_array().unwrap().last().unwrap()["text"],
        "and now"
    );
    assert_eq!(
        (machine.ledger().run(), machine.ledger().turn()),
        (Some(run), Some(1))
    );

    let mut written: Vec<Record> = effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Record(record) => Some(record),
            Effect::CallModel(_) => None,
            other => panic!("{other:?} at a prompt"),
        })
        .collect();
    let all: Vec<Record> = records.iter().chain(&written).cloned().collect();
    assert_eq!(
        fold(&all).history().messages(),
        machine.history().messages()
    );
    let is_start = |record: &Record| matches!(record, Record::RunStarted { .. });
    let start = written.iter().position(is_start).unwrap();
    assert_eq!(written.len() - start, 4, "{written:?}");
    written.truncate(start);

    // Whatever the model does now, the conversation goes on.
    let reply = Answer::Block(block(
        &json!({"type": "tool_use", "id": "t", "name": "read", "input": {}}),
    ));
    let mut world = World::new(3);
    world.blocks = 7;
    let calls = machine.calls();
    let call_id = |number| CallId {
        conversation: ConversationId::new("c"),
        number,
    };
    machine.handle(world.input(call_id(calls), reply));
    let effects =
        machine.handle(world.input(call_id(calls), Answer::Finished(StopReason::ToolUse)));
    assert!(
        matches!(effects.last(), Some(Effect::RunTool(..))),
        "{effects:?}"
    );
    let found = ToolOutcome {
        result: "x".to_owned(),
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
    machine.handle(world.input(call_id(calls + 1), Answer::Tool(found)));
    valid_request(&machine);
    written
}

fn check_closing(records: &[Record], closing: &[Record]) {
    let results: Vec<String> = closing
        .iter()
        .filter_map(|record| match record {
            Record::ToolResult {
                duration_ms: None,
                extent: None,
                id,
                result,
                is_error,
                ..
            } => {
                assert_eq!((result.as_str(), *is_error), (UNKNOWN_EFFECT, true));
                Some(id.clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(results, dangling(records));
    let all: Vec<Record> = records.iter().chain(closing).cloned().collect();
    check_pairs(&all, false);
    let was_open = fold(records).run().is_some();
    assert_eq!(!closing.is_empty(), was_open, "{closing:?}");
    if was_open {
        let status = Record::Status {
            activity: Activity::Error,
            message: INTERRUPTED.to_owned(),
        };
        assert_eq!(closing.last(), Some(&status));
    }
}

/// A conversation to which all that happens.
fn lived(max_turns: u32, actions: Vec<Action>) -> World {
    let mut world = World::new(max_turns);
    world.act(Action::Prompt("p"));
    for action in actions {
        world.act(action);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Spec: [CONV-03] [CONV-13] [CONV-22] [CONV-26] [CONV-32] [CONV-34] [CONV-39] [CONV-41] [CONV-42]
    #[test]
    fn whatever_happens_the_rules_hold(
        max_turns in 1..6_u32,
        actions in prop::collection::vec(action(), 1..80),
        stopped in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let mut world = World::new(max_turns);
        let stop_at = stopped.map(|index| index.index(actions.len()));
        world.act(Action::Prompt("p"));
        for (place, action) in actions.into_iter().enumerate() {
            if stop_at == Some(place) {
                world.act(Action::Stop);
            }
            world.act(action);
        }
        world.settle();
    }

    /// Spec: [CONV-41] [CONV-43] [CONV-44]
    #[test]
    fn a_conversation_comes_back_from_any_place_at_which_its_journal_ends(
        max_turns in 1..6_u32,
        actions in prop::collection::vec(action(), 1..60),
        cut in any::<Index>(),
    ) {
        let mut records = lived(max_turns, actions).records;
        records.truncate(cut.index(records.len() + 1));
        let closing = go_on(&records);
        check_closing(&records, &closing);
    }

    /// Spec: [CONV-45]
    #[test]
    fn a_conversation_goes_on_whatever_its_journal_lacks(
        max_turns in 1..6_u32,
        actions in prop::collection::vec(action(), 1..60),
        kept in prop::collection::vec(prop::bool::weighted(0.8), 400),
    ) {
        let records = lived(max_turns, actions).records;
        let kept = records.into_iter().zip(kept.into_iter().cycle());
        let records: Vec<Record> = kept.filter(|(_, kept)| *kept).map(|(record, _)| record).collect();
        go_on(&records);
    }
}
