//! Random talks with all that an operator can do: queues, settings, going on, compaction, crashes.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::BTreeMap;

use harness_protocol::{QueueMode, ToolExecution};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::super::compaction::NextRequest;
use super::super::plan::Defaults;
use super::random::check_pairs;
use super::talk::{Talk, check_fates, long, message};
use super::testing::*;
use super::*;
use crate::conversation::messages::Resumption;
use crate::ids::ItemId;
use crate::tool::tools;

#[derive(Debug, Clone)]
enum Action {
    Prompt(usize),
    Queue(Queue, usize),
    Withdraw(Option<Index>),
    Resume(Resumption),
    Change(Value),
    Compact(bool),
    Cancel(bool),
    /// Whatever is asked of the model is answered.
    Answer(Answer),
    Tool(Index, bool, usize),
    /// The service dies, and only what the journal has of the records comes back.
    Crash(Index),
}

#[derive(Debug, Clone)]
struct Answer {
    blocks: Vec<Value>,
    stop: StopReason,
    fails: Option<ModelError>,
    window: Option<u64>,
    summary: usize,
}

/// Sizes of texts in tokens.
fn size() -> impl Strategy<Value = usize> {
    select(vec![1, 5, 60, 400, 1500, 6000])
}

fn block_of_reply() -> impl Strategy<Value = Value> {
    let call = (
        select(vec!["t", "u"]),
        select(vec!["read", "alone", "gone"]),
    );
    prop_oneof![
        3 => size().prop_map(|size| json!({"type": "text", "text": long("r", size)})),
        1 => Just(json!({"type": "thinking", "thinking": "hm", "signature": "s"})),
        4 => call.prop_map(
            |(id, name)| json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
        ),
        1 => Just(web_search("w")),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let stop = prop_oneof![
        8 => Just(StopReason::ToolUse),
        2 => Just(StopReason::PauseTurn),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::Refusal),
        1 => Just(StopReason::ContextWindowExceeded),
        1 => Just(StopReason::Other("tired".to_owned())),
    ];
    let too_long = ModelError::Api {
        status: 400,
        kind: "invalid_request_error".to_owned(),
        message: "prompt is too long".to_owned(),
        request_id: None,
    };
    let fails = select(vec![too_long, refused(), ModelError::Truncated]);
    let fails = prop::option::weighted(0.15, fails);
    let blocks = prop::collection::vec(block_of_reply(), 0..4);
    let window = select(vec![None, Some(4000), Some(9000), Some(40_000)]);
    (blocks, stop, fails, window, size()).prop_map(|(blocks, stop, fails, window, summary)| {
        Answer {
            blocks,
            stop,
            fails,
            window,
            summary,
        }
    })
}

fn patch() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"model": "big"}),
        json!({"model": null, "max_turns": 2}),
        json!({"active_tools": ["read"]}),
        json!({"active_tools": []}),
        json!({"active_tools": ["rm"]}),
        json!({"steering_mode": "all", "follow_up_mode": "all"}),
        json!({"steering_mode": null}),
        json!({"tool_execution": "parallel"}),
        json!({"tool_execution": "sequential"}),
        json!({"tool_execution": null, "context_window": 5000}),
        json!({"keep_tokens": 300, "reserve_tokens": 900}),
        json!({"auto_compact": false}),
        json!({"auto_compact": null, "max_turns": 0}),
        json!({"auto_compact": null, "system_prompt": "be brief"}),
    ])
}

fn action() -> impl Strategy<Value = Action> {
    let queue = || select(vec![Queue::Steer, Queue::FollowUp]);
    let resumption = select(vec![Resumption::Continue, Resumption::Retry]);
    prop_oneof![
        8 => size().prop_map(Action::Prompt),
        6 => (queue(), size()).prop_map(|(queue, size)| Action::Queue(queue, size)),
        2 => any::<Option<Index>>().prop_map(Action::Withdraw),
        4 => resumption.prop_map(Action::Resume),
        4 => patch().prop_map(Action::Change),
        2 => any::<bool>().prop_map(Action::Compact),
        2 => any::<bool>().prop_map(Action::Cancel),
        24 => answer().prop_map(Action::Answer),
        12 => (any::<Index>(), any::<bool>(), size())
            .prop_map(|(place, is_error, size)| Action::Tool(place, is_error, size)),
        1 => any::<Index>().prop_map(Action::Crash),
    ]
}

fn planner_of(execution: ToolExecution, mode: QueueMode) -> Planner {
    let mut defaults = Defaults::clone(&planner(5).defaults);
    defaults.settings.tool_execution = execution;
    defaults.settings.steering_mode = mode;
    Planner {
        tools: tools(&[("read", false, false), ("alone", true, true)]).into(),
        ..Planner::new(defaults)
    }
}

struct World {
    planner: Planner,
    talk: Talk,
    server_called: bool,
}

impl World {
    fn act(&mut self, action: Action) {
        let before = self.talk.records.len();
        match action {
            Action::Prompt(size) => drop(self.talk.try_prompt(prompt(&long("p", size)))),
            Action::Queue(queue, size) => {
                self.talk.queue(message(queue, &long("q", size))).unwrap();
            }
            Action::Withdraw(which) => {
                let waiting = self.talk.machine.ledger().totals().queue.clone();
                let meant = which.filter(|_| !waiting.is_empty());
                let item = meant.map(|index| ItemId(index.get(&waiting).item));
                let withdrawn = self.talk.withdraw(item);
                let expected = item.map_or(waiting.len(), |_| 1);
                assert_eq!(withdrawn.len(), expected);
            }
            Action::Resume(resumption) => self.resume(resumption),
            Action::Change(patch) => {
                let settings = self.talk.machine.settings().clone();
                if self.talk.change(&patch).is_err() {
                    assert_eq!(*self.talk.machine.settings(), settings);
                }
            }
            Action::Compact(force) => drop(self.talk.compact(force)),
            Action::Cancel(clear_queue) => {
                let order = CancelRun {
                    clear_queue,
                    ..CancelRun::default()
                };
                self.talk.handle(Input::CancelRequested(order));
            }
            Action::Answer(answer) => self.answer(answer),
            Action::Tool(place, is_error, size) => self.tool(&place, is_error, size),
            Action::Crash(cut) => {
                let kept = self.talk.records.len().min(before);
                // A torn end loses a few records at most.
                let lost = cut.index(4).min(kept);
                let records = self.talk.records[..kept - lost].to_vec();
                self.talk = Talk::revived(self.planner.clone(), records);
                self.server_called = false;
            }
        }
        self.check();
    }

    fn resume(&mut self, resumption: Resumption) {
        let before = self.talk.records.len();
        let waits = !self.talk.waiting().is_empty();
        match self.talk.resume(resumption) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(self.talk.records.len(), before);
                if matches!(error, SubmitError::Replied | SubmitError::Empty) {
                    assert!(!waits, "what waits could be said");
                }
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        if self.talk.call.is_none() {
            return;
        }
        let asked = self.talk.asked.clone();
        if matches!(asked, Some(Effect::DescribeModel { .. })) {
            self.talk.described(answer.window);
        } else if let Some(error) = answer.fails {
            self.server_called = false;
            self.talk.fail(error);
        } else if matches!(asked, Some(Effect::Summarize(..))) {
            self.talk.piece(&long("s", answer.summary));
        } else {
            for json in &answer.blocks {
                self.server_called |= json["type"] == "server_tool_use";
                self.talk.block(block(json));
            }
            let may_pause = self.server_called && !has_call(&answer.blocks);
            let stop = match answer.stop {
                StopReason::PauseTurn if !may_pause => StopReason::EndTurn,
                stop => stop,
            };
            self.server_called &= stop == StopReason::PauseTurn;
            self.talk.end(stop, 0);
        }
        if matches!(self.talk.last.last(), Some(Effect::Rewrite { .. })) {
            // The machine is dropped then.
            let records = self.talk.records.clone();
            self.talk = Talk::revived(self.planner.clone(), records);
        }
    }

    fn tool(&mut self, place: &Index, is_error: bool, size: usize) {
        if self.talk.tools.is_empty() {
            return;
        }
        let place = place.index(self.talk.tools.len());
        if is_error {
            self.talk.error(place);
        } else {
            self.talk.ok(place, &long("x", size));
        }
    }

    fn check(&self) {
        let machine = &self.talk.machine;
        let ledger = machine.ledger();
        check_fates(&self.talk.records, &ledger.totals().queue);
        let is_open = ledger.run().is_some();
        check_pairs(&self.talk.records, is_open);
        check_attempts(&self.talk.records);
        let waits = self.talk.call.is_some() || !self.talk.tools.is_empty();
        let goes_on = machine.run().is_some() || machine.is_compacting();
        assert_eq!(goes_on, waits, "what goes on waits for something");
        let Some(run) = &machine.run else { return };
        if !matches!(self.talk.last.last(), Some(Effect::CallModel(_))) {
            return;
        }
        let next = NextRequest::for_run(run, ledger);
        if let Some(window) = machine.compaction.window(&next)
            && run.plan.compaction.auto
        {
            let tokens = next.tokens();
            assert!(tokens <= window, "{tokens} tokens in {window}");
        }
        self.check_end();
    }

    /// No request ends with a reply, unless the API paused it.
    fn check_end(&self) {
        let mut replies = self.talk.records.iter().rev();
        let was_paused = replies.find_map(|record| match record {
            // A reply that is not sent back leaves the pause before it.
            Record::ReplyEnded { overflow: true, .. }
            | Record::ReplyFailed { overflow: true, .. } => None,
            Record::ReplyEnded { paused, .. } => Some(*paused),
            Record::ReplyFailed { .. } => Some(false),
            Record::RunStarted { .. }
            | Record::Prompt { .. }
            | Record::Status { .. }
            | Record::TurnStarted { .. }
            | Record::Block { .. }
            | Record::ToolResult { .. }
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
            | Record::Unknown { .. } => None,
        });
        let messages = messages(&self.talk.machine);
        let last = messages.as_array().unwrap().last().unwrap();
        assert!(was_paused == Some(true) || last["role"] == "user", "{last}");
    }

    /// A cancel ends whatever goes on, and the conversation takes a prompt.
    fn settle(&mut self) {
        self.act(Action::Cancel(true));
        while !self.talk.tools.is_empty() {
            self.talk.error(0);
        }
        if self.talk.call.is_some() {
            self.talk.lose();
        }
        assert_eq!(self.talk.machine.run(), None);
        assert!(!self.talk.machine.is_compacting());
        self.check();
        self.talk.prompt("and now");
    }
}

fn has_call(blocks: &[Value]) -> bool {
    blocks.iter().any(|block| block["type"] == "tool_use")
}

/// There are at most two attempts to summarize between two replies of a run.
fn check_attempts(records: &[Record]) {
    let mut attempts: BTreeMap<bool, u32> = BTreeMap::new();
    for record in records {
        let is_reply = matches!(
            record,
            Record::ReplyEnded {
                overflow: false,
                ..
            }
        );
        if is_reply || matches!(record, Record::RunStarted { .. } | Record::RunEnded { .. }) {
            attempts.clear();
        }
        if let Record::CompactionStarted { reason, .. } = record {
            let is_manual = *reason == harness_protocol::CompactionReason::Manual;
            let count = attempts.entry(is_manual).or_default();
            *count += 1;
            assert!(is_manual || *count <= 2, "{records:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Spec: [CONV-32] [CONV-41] [CONV-42] [CONV-75] [CONV-79] [CONV-85] [CONV-96] [CONV-97]
    #[test]
    fn whatever_operators_do_the_rules_hold(
        execution in select(vec![
            ToolExecution::SequentialFailFast,
            ToolExecution::Sequential,
            ToolExecution::Parallel,
        ]),
        mode in select(vec![QueueMode::OneAtATime, QueueMode::All]),
        actions in prop::collection::vec(action(), 1..60),
    ) {
        let planner = planner_of(execution, mode);
        let talk = Talk::of(planner.clone());
        let mut world = World { planner, talk, server_called: false };
        world.act(Action::Prompt(1));
        for action in actions {
            world.act(action);
        }
        world.settle();
    }
}
