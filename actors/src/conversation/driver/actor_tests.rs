#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use crate::approval::Operators;
use bytes::Bytes;
use harness_protocol::{ActivityState as Shown, Event};
use tokio::sync::mpsc;

use super::super::keep::PAUSE;
use super::*;
use crate::conversation::machine::Defaults;
use crate::conversation::messages::{
    CancelRun, GetOverview, Overview, RenameConversation, RetireIfIdle, StopRuns, SubmitError,
    SubmitPrompt, WaitForEnd,
};
use crate::ids::CallId;
use crate::journal::{
    BlockPiece, Header, JournalDamage, JournalPage, MemoryJournal, PageLimit, Record,
};
use crate::model::messages::ModelEvent;
use crate::model::{ModelError, ModelFailure};
use crate::reply::{Block, Object, ReplyEnd, StopReason};
use crate::storage::{StorageError, StorageFuture};
use crate::tool::{Jobs, ToolOutcome, tools};

/// The actions of the conversation.
#[derive(Debug)]
enum Did {
    Append(usize, Durability),
    Show(u64),
    Pass(Event),
    Ask(StartModelCall),
    CancelModel(CallId),
    Describe(CallId),
    Run,
    CancelTool,
    Rewritten,
}

type Log = mpsc::UnboundedSender<Did>;

/// Notes every order.
struct Probe(Log);

impl Actor for Probe {
    type Context = Context<Self>;
}

macro_rules! notes {
    ($($message:ty => $did:expr;)*) => {$(
        impl Handler<$message> for Probe {
            type Result = ();

            fn handle(&mut self, order: $message, _: &mut Context<Self>) {
                let did: fn($message) -> Did = $did;
                drop(self.0.send(did(order)));
            }
        }
    )*};
}

notes! {
    StartModelCall => Did::Ask;
    DescribeModel => |order| Did::Describe(order.call_id);
    CancelModelCall => |order| Did::CancelModel(order.call_id);
    RunTool => |_| Did::Run;
    CancelTool => |_| Did::CancelTool;
    Publish => |shown| match shown {
        Publish::Rewritten { .. } => Did::Rewritten,
        Publish::Lasting { position, .. } => {
            Did::Show(position.seq)
        }
        Publish::Passing(event) => Did::Pass(event),
    };
}

/// A journal whose appends wait for the test, if it wants.
struct Held {
    memory: MemoryJournal,
    log: Log,
    holds: Mutex<bool>,
    waiting: Mutex<VecDeque<oneshot::Sender<Result<(), AppendError>>>>,
    /// The pieces that wait to be kept, if the test wants that they do.
    keeping: Mutex<Option<Keeping>>,
}

/// The orders to keep pieces: how many pieces each has, and where its answer goes.
type Keeping = VecDeque<(usize, oneshot::Sender<Result<(), StorageError>>)>;

fn refused() -> AppendError {
    AppendError::Storage(StorageError {
        doing: "write".to_owned(),
        path: "x".to_owned(),
        reason: "no space left".to_owned(),
    })
}

impl Held {
    fn hold(&self, holds: bool) {
        *self.holds.lock().unwrap() = holds;
    }

    /// Answers the append that waits at that place.
    fn answer(&self, place: usize, answer: Result<(), AppendError>) {
        let waiting = self.waiting.lock().unwrap().remove(place).unwrap();
        waiting.send(answer).unwrap();
    }

    fn complete(&self) {
        self.answer(0, Ok(()));
    }

    fn refuse(&self) {
        self.answer(0, Err(refused()));
    }
}

impl Journal for Held {
    fn header(&self) -> Header {
        self.memory.header()
    }

    fn end(&self) -> Position {
        self.memory.end()
    }

    fn append(
        &self,
        expected: u64,
        records: Vec<NewRecord>,
        durability: Durability,
    ) -> StorageFuture<Result<Vec<Position>, AppendError>> {
        drop(self.log.send(Did::Append(records.len(), durability)));
        let memory = self.memory.clone();
        let (sender, answer) = oneshot::channel();
        if *self.holds.lock().unwrap() {
            self.waiting.lock().unwrap().push_back(sender);
        } else {
            sender.send(Ok(())).unwrap();
        }
        Box::pin(async move {
            answer.await.unwrap()?;
            memory.append(expected, records, durability).await
        })
    }

    fn read(
        &self,
        after: u64,
        limit: PageLimit,
    ) -> StorageFuture<Result<JournalPage, StorageError>> {
        self.memory.read(after, limit)
    }

    fn keep(&self, _: u64, pieces: Vec<BlockPiece>) -> StorageFuture<Result<(), StorageError>> {
        let (sender, answer) = oneshot::channel();
        match &mut *self.keeping.lock().unwrap() {
            Some(keeping) => keeping.push_back((pieces.len(), sender)),
            None => sender.send(Ok(())).unwrap(),
        }
        Box::pin(async move { answer.await.unwrap() })
    }

    fn check(&self) -> StorageFuture<Result<JournalDamage, StorageError>> {
        self.memory.check()
    }

    fn replace(
        &self,
        expected: u64,
        header: Header,
        entries: Vec<Bytes>,
    ) -> StorageFuture<Result<crate::journal::Replaced, AppendError>> {
        self.memory.replace(expected, header, entries)
    }
}

struct World {
    actor: Addr<ConversationActor>,
    journal: Arc<Held>,
    attendance: Attendance,
    did: mpsc::UnboundedReceiver<Did>,
}

impl World {
    fn new() -> Self {
        Self::with(None)
    }

    /// One whose summaries are written by somebody else than the model, if by anybody.
    fn with(summarizer: Option<Arc<dyn Summarizer>>) -> Self {
        let (log, did) = mpsc::unbounded_channel();
        let header = Header::new(ConversationId::new("c"), 0);
        let journal = Arc::new(Held {
            memory: MemoryJournal::new(header),
            log: log.clone(),
            holds: Mutex::new(false),
            waiting: Mutex::default(),
            keeping: Mutex::default(),
        });
        let probe = Probe(log).start();
        let downstream = Downstream {
            jobs: Jobs::default(),
            start_model_call: probe.clone().recipient(),
            cancel_model_call: probe.clone().recipient(),
            run_tool: probe.clone().recipient(),
            cancel_tool: probe.clone().recipient(),
            publish: probe.clone().recipient(),
            journal: Arc::clone(&journal) as Arc<dyn Journal>,
            describe_model: probe.clone().recipient(),
            summarizer,
            approver: Arc::new(Operators),
            undo: crate::tool::FileUndo {
                before: None,
                closed: Arc::default(),
                redaction: crate::secret::Redaction::default(),
            },
        };
        let attendance = Attendance::default();
        let actor = ConversationActor::new(
            Planner {
                tools: tools(&[("read", false, false), ("write", true, false)]).into(),
                ..Planner::new(Defaults::new("m", 10))
            },
            downstream,
            Clock::new(|| std::time::UNIX_EPOCH + Duration::from_secs(9)),
            attendance.clone(),
            0,
        );
        Self {
            actor: actor.start(),
            journal,
            attendance,
            did,
        }
    }

    /// The next thing that is done.
    async fn next(&mut self) -> Did {
        let next = tokio::time::timeout(Duration::from_secs(10), self.did.recv());
        next.await.unwrap().unwrap()
    }

    /// All that is done when everybody had time.
    async fn rest(&mut self) -> Vec<Did> {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        std::iter::from_fn(|| self.did.try_recv().ok()).collect()
    }

    async fn append(&mut self) -> (usize, Durability) {
        loop {
            if let Did::Append(count, durability) = self.next().await {
                return (count, durability);
            }
        }
    }

    async fn asked(&mut self) -> StartModelCall {
        loop {
            if let Did::Ask(order) = self.next().await {
                return order;
            }
        }
    }

    fn send<M>(&self, message: M) -> actix::dev::Request<ConversationActor, M>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        ConversationActor: Handler<M>,
    {
        self.actor.send(message)
    }

    fn prompt(&self, content: &str) -> tokio::task::JoinHandle<Result<RunId, SubmitError>> {
        let prompt = SubmitPrompt {
            content: content.to_owned(),
            ..SubmitPrompt::default()
        };
        let sent = self.send(prompt);
        actix::spawn(async { sent.await.unwrap() })
    }

    /// A run whose model is asked.
    async fn asking(&mut self) -> StartModelCall {
        let run = self.prompt("hi");
        let order = self.asked().await;
        run.await.unwrap().unwrap();
        self.rest().await;
        order
    }

    fn model(&self, event: ModelEvent) {
        crate::send::tell(&self.actor.clone().recipient(), event);
    }

    fn reply(&self, call_id: &CallId, blocks: Vec<Block>) {
        for (index, block) in (0..).zip(blocks) {
            let call_id = call_id.clone();
            self.model(ModelEvent::BlockFinished {
                call_id,
                index,
                block,
            });
        }
        let end = ReplyEnd {
            stop_reason: StopReason::EndTurn,
            ..ReplyEnd::default()
        };
        let call_id = call_id.clone();
        self.model(ModelEvent::Finished { call_id, end });
    }

    async fn overview(&self) -> Overview {
        self.send(GetOverview).await.unwrap().unwrap()
    }

    /// Whether a run goes on from what the journal has to its end, with these records before it.
    async fn goes_on(&mut self) -> Vec<&'static str> {
        let prompt = self.prompt("and now");
        let order = loop {
            match self.next().await {
                Did::Ask(order) => break order,
                Did::Append(..) | Did::Show(..) => {}
                other => panic!("{other:?}"),
            }
        };
        let run = prompt.await.unwrap().unwrap();
        let end = self.send(WaitForEnd { run });
        let end = actix::spawn(end);
        self.rest().await;
        self.reply(&order.call_id, vec![Block::text("well")]);
        let remark = String::new();
        let ended = RunOutcome::Ended { remark };
        assert_eq!(end.await.unwrap().unwrap(), Some(ended));
        self.rest().await;
        let page = self.journal.memory.read(0, ALL).await.unwrap();
        page.entries
            .iter()
            .map(|entry| name(&entry.record))
            .collect()
    }
}

const ALL: PageLimit = PageLimit {
    records: 1000,
    bytes: 1_000_000,
};

fn name(record: &Record) -> &'static str {
    match record {
        Record::RunStarted { .. } => "run_started",
        Record::Prompt { .. } => "prompt",
        Record::Status { .. } => "status",
        Record::TurnStarted { .. } => "turn_started",
        Record::Block { .. } => "block",
        Record::ReplyEnded { .. } => "reply_ended",
        Record::ReplyFailed { .. } => "reply_failed",
        Record::ToolResult { .. } => "tool_result",
        Record::CallsSkipped { .. } => "calls_skipped",
        Record::TurnEnded { .. } => "turn_ended",
        Record::RunEnded { .. } => "run_ended",
        Record::Renamed { .. } => "renamed",
        Record::Queued { .. } => "queued",
        Record::Withdrawn { .. } => "withdrawn",
        Record::SettingsChanged { .. } => "settings_changed",
        Record::ToolsRenewed { .. } => "tools_renewed",
        Record::ReplyLeftOut { .. } => "reply_left_out",
        Record::CompactionStarted { .. } => "compaction_started",
        Record::Compacted { .. } => "compacted",
        Record::CompactionFailed { .. } => "compaction_failed",
        Record::Checkpoint { .. } => "checkpoint",
        Record::ApprovalAsked(_) => "approval_asked",
        Record::ApprovalAnswered { .. } => "approval_answered",
        Record::ApprovalWithdrawn { .. } => "approval_withdrawn",
        Record::EffectBegan { .. } => "effect_began",
        Record::FilesChanged { .. } => "files_changed",
        Record::ToolReturned { .. } => "tool_returned",
        Record::ProposalDecided { .. } => "proposal_decided",
        Record::SpendingReserved { .. } => "spending_reserved",
        Record::SpendingReleased { .. } => "spending_released",
        Record::RulesChanged { .. } => "rules_changed",
        Record::Undone { .. } => "undone",
        Record::CommandRan { .. } => "command_ran",
        Record::Branched { .. } => "branched",
        Record::JobStarted { .. } => "job_started",
        Record::JobEnded { .. } => "job_ended",
        Record::Workflow(_) => "workflow",
        Record::Unknown { .. } => "unknown",
    }
}

const BEGIN: [&str; 4] = ["run_started", "prompt", "status", "turn_started"];
const END: [&str; 5] = ["block", "reply_ended", "turn_ended", "run_ended", "status"];
const CLOSED: [&str; 4] = ["reply_failed", "turn_ended", "run_ended", "status"];

fn shown(did: &[Did]) -> Vec<u64> {
    let seq = |did: &Did| match did {
        Did::Show(seq) => Some(*seq),
        _ => None,
    };
    did.iter().filter_map(seq).collect()
}

/// Whether clients were told that what was under way is void and why.
fn is_dropped(did: &[Did]) -> bool {
    matches!(did, [Did::Pass(Event::Discarded {}), error] if is_error(error))
}

fn is_error(did: &Did) -> bool {
    matches!(did, Did::Pass(Event::Status { state: Shown::Error, message, .. })
        if message.contains("no space left"))
}

fn delta(call_id: &CallId) -> ModelEvent {
    piece(call_id, 0, 0)
}

fn piece(call_id: &CallId, index: u64, offset: u64) -> ModelEvent {
    ModelEvent::Delta {
        call_id: call_id.clone(),
        index,
        kind: harness_protocol::DeltaKind::Text,
        offset,
        text: "a".to_owned(),
    }
}

/// Spec: [CONV-49] [CONV-50]
#[actix::test]
async fn nothing_is_shown_or_asked_or_answered_before_it_is_written() {
    let mut world = World::new();
    world.journal.hold(true);
    let prompt = world.prompt("hi");
    assert_eq!(world.append().await, (4, Durability::Synced));
    assert!(world.rest().await.is_empty());
    assert!(!prompt.is_finished());
    world.journal.complete();
    let order = world.asked().await;
    assert_eq!(prompt.await.unwrap(), Ok(RunId(1)));

    // A delta waits for the record before it.
    world.rest().await;
    world.model(ModelEvent::BlockFinished {
        call_id: order.call_id.clone(),
        index: 0,
        block: Block::text("a"),
    });
    world.model(delta(&order.call_id));
    assert_eq!(world.append().await, (1, Durability::Written));
    assert!(world.rest().await.is_empty());
    world.journal.complete();
    let did = world.rest().await;
    assert!(matches!(&did[..], [Did::Show(5), Did::Pass(_)]), "{did:?}");

    // The end is told when it is synced.
    let end = actix::spawn(world.send(WaitForEnd { run: RunId(1) }));
    world.reply(&order.call_id, vec![]);
    assert_eq!(world.append().await, (4, Durability::Synced));
    assert!(world.rest().await.is_empty() && !end.is_finished());
    world.journal.complete();
    assert!(matches!(
        end.await.unwrap(),
        Ok(Some(RunOutcome::Ended { .. }))
    ));
    assert_eq!(shown(&world.rest().await), [6, 7, 8, 9]);
}

/// Spec: [CONV-50]
#[actix::test]
async fn a_tool_that_may_change_something_runs_when_its_call_is_on_disk() {
    for (tool, durability) in [("read", Durability::Written), ("write", Durability::Synced)] {
        let mut world = World::new();
        let order = world.asking().await;
        world.journal.hold(true);
        world.reply(
            &order.call_id,
            vec![Block::tool_call("t", tool, Object::new())],
        );
        assert_eq!(world.append().await, (2, Durability::Written));
        assert_eq!(world.append().await, (1, durability));
        world.journal.complete();
        let is_run = |did: &Did| matches!(did, Did::Run);
        assert!(!world.rest().await.iter().any(is_run));
        world.journal.complete();
        assert!(world.rest().await.iter().any(is_run));
    }
}

/// Spec: [CONV-51]
#[actix::test]
async fn a_prompt_that_is_not_kept_is_refused_and_the_next_one_works() {
    let mut world = World::new();
    world.journal.hold(true);
    let prompt = world.prompt("hi");
    world.append().await;
    world.journal.refuse();
    let refusal = SubmitError::NotKept(refused().to_string());
    assert_eq!(prompt.await.unwrap(), Err(refusal));
    let did = world.rest().await;
    assert!(is_dropped(&did), "{did:?}");
    let run = RunId(1);
    let end = world.send(WaitForEnd { run }).await.unwrap();
    assert_eq!(end, Some(RunOutcome::NotKept(refused().to_string())));

    world.journal.hold(false);
    assert_eq!(world.goes_on().await, [&BEGIN[..], &END].concat());
}

/// Spec: [CONV-43] [CONV-52]
#[actix::test]
async fn a_run_that_is_not_kept_is_dropped_and_ended_by_the_next_one() {
    let mut world = World::new();
    let order = world.asking().await;
    let run = RunId(1);
    let end = actix::spawn(world.send(WaitForEnd { run }));
    world.journal.hold(true);
    world.model(ModelEvent::BlockFinished {
        call_id: order.call_id.clone(),
        index: 0,
        block: Block::text("a"),
    });
    world.append().await;
    world.journal.refuse();
    let lost = Some(RunOutcome::NotKept(refused().to_string()));
    assert_eq!(end.await.unwrap().unwrap(), lost);
    let did = world.rest().await;
    assert!(
        matches!(&did[..], [Did::CancelModel(id), rest @ ..] if *id == order.call_id && is_dropped(rest)),
        "{did:?}"
    );
    assert_eq!(world.send(WaitForEnd { run }).await.unwrap(), lost);
    assert!(!world.overview().await.is_running);

    // Its answers come late.
    world.journal.hold(false);
    world.reply(&order.call_id, vec![Block::text("late")]);
    assert!(world.rest().await.is_empty());
    let expected = [&BEGIN[..], &CLOSED, &BEGIN, &END].concat();
    assert_eq!(world.goes_on().await, expected);
}

/// Spec: [CONV-53]
#[actix::test]
async fn what_the_journal_took_is_shown_even_if_it_refuses_what_follows() {
    // A prompt waits for the disk, and what follows it is refused before that.
    let mut world = World::new();
    world.journal.hold(true);
    let prompt = world.prompt("hi");
    world.append().await;
    let title = "t".to_owned();
    let renamed = actix::spawn(world.send(RenameConversation { title, by: None }));
    world.append().await;
    world.journal.answer(1, Err(refused()));
    let refusal = Err(SubmitError::NotKept(refused().to_string()));
    assert_eq!(renamed.await.unwrap().unwrap(), refusal);
    assert!(world.rest().await.is_empty() && !prompt.is_finished());

    world.journal.complete();
    assert_eq!(prompt.await.unwrap(), Ok(RunId(1)));
    let did = world.rest().await;
    assert_eq!(shown(&did), [1, 2, 3, 4]);
    assert!(is_dropped(&did[4..]), "{did:?}");
    let end = world.send(WaitForEnd { run: RunId(1) }).await.unwrap();
    assert_eq!(end, Some(RunOutcome::NotKept(refused().to_string())));
    world.journal.hold(false);
    let expected = [&BEGIN[..], &CLOSED, &BEGIN, &END].concat();
    assert_eq!(world.goes_on().await, expected);
}

/// Spec: [CONV-53]
#[actix::test]
async fn the_end_of_a_run_that_was_kept_is_told_even_if_what_follows_is_refused() {
    let mut world = World::new();
    let order = world.asking().await;
    let end = actix::spawn(world.send(WaitForEnd { run: RunId(1) }));
    world.journal.hold(true);
    world.reply(&order.call_id, vec![]);
    world.append().await;
    let next = world.prompt("next");
    world.append().await;
    world.journal.answer(1, Err(refused()));
    let refusal = SubmitError::NotKept(refused().to_string());
    assert_eq!(next.await.unwrap(), Err(refusal));
    world.rest().await;
    assert!(!end.is_finished());
    world.journal.complete();
    assert!(matches!(
        end.await.unwrap(),
        Ok(Some(RunOutcome::Ended { .. }))
    ));
}

/// Spec: [CONV-54]
#[actix::test]
async fn a_cancel_takes_a_call_back_that_waits_for_the_journal() {
    let mut world = World::new();
    world.journal.hold(true);
    let prompt = world.prompt("hi");
    world.append().await;
    let cancel = actix::spawn(world.send(CancelRun::default()));
    assert_eq!(world.append().await, (4, Durability::Synced));
    world.journal.complete();
    assert_eq!(prompt.await.unwrap(), Ok(RunId(1)));
    world.rest().await;
    assert!(!cancel.is_finished());
    world.journal.complete();
    assert!(cancel.await.unwrap().unwrap());
    let did = world.rest().await;
    assert!(
        !did.iter()
            .any(|did| matches!(did, Did::Ask(_) | Did::CancelModel(_))),
        "{did:?}"
    );

    // The same for a tool.
    world.journal.hold(false);
    let order = world.asking().await;
    world.journal.hold(true);
    world.reply(
        &order.call_id,
        vec![Block::tool_call("t", "read", Object::new())],
    );
    world.append().await;
    world.append().await;
    let cancel = actix::spawn(world.send(CancelRun::default()));
    world.append().await;
    for _ in 0..3 {
        world.journal.complete();
    }
    assert!(cancel.await.unwrap().unwrap());
    let did = world.rest().await;
    assert!(
        !did.iter()
            .any(|did| matches!(did, Did::Run | Did::CancelTool)),
        "{did:?}"
    );
}

/// Spec: [CONV-24]
#[actix::test]
async fn a_cancel_of_another_run_does_nothing() {
    let mut world = World::new();
    world.asking().await;
    let run = Some(RunId(2));
    assert!(
        !world
            .send(CancelRun {
                run,
                by: None,
                clear_queue: false,
            })
            .await
            .unwrap()
    );
    let run = RunId(7);
    assert_eq!(world.send(WaitForEnd { run }).await.unwrap(), None);
    assert!(world.rest().await.is_empty());
}

/// Spec: [CONV-46]
#[actix::test]
async fn a_repeated_prompt_is_answered_when_the_first_one_is_safe() {
    let mut world = World::new();
    world.journal.hold(true);
    let keyed = |content: &str| SubmitPrompt {
        content: content.to_owned(),
        key: Some("k".to_owned()),
        ..SubmitPrompt::default()
    };
    let first = actix::spawn(world.send(keyed("hi")));
    world.append().await;
    let again = actix::spawn(world.send(keyed("hi")));
    world.rest().await;
    assert!(!first.is_finished() && !again.is_finished());
    world.journal.complete();
    assert_eq!(first.await.unwrap().unwrap(), Ok(RunId(1)));
    assert_eq!(again.await.unwrap().unwrap(), Ok(RunId(1)));
    let reused = world.send(keyed("ho")).await.unwrap();
    assert_eq!(reused, Err(SubmitError::KeyReused));
}

/// Spec: [CONV-55]
#[actix::test]
async fn an_overview_is_never_ahead_of_what_was_shown() {
    let mut world = World::new();
    let overview = world.overview().await;
    assert_eq!((overview.position.seq, overview.active_at), (0, 0));
    world.journal.hold(true);
    let prompt = world.prompt("hi");
    world.append().await;
    let overview = actix::spawn(world.send(GetOverview));
    world.rest().await;
    assert!(!overview.is_finished());
    world.journal.complete();
    prompt.await.unwrap().unwrap();
    let overview = overview.await.unwrap().unwrap().unwrap();
    assert_eq!((overview.position.seq, overview.active_at), (4, 9000));
    assert_eq!((overview.run, overview.is_running), (Some(RunId(1)), true));
    assert_eq!(shown(&world.rest().await), [1, 2, 3, 4]);

    let order = world.journal.memory.end();
    assert_eq!(order, world.overview().await.position);
    let call_id = CallId {
        conversation: ConversationId::new("c"),
        number: 1,
    };
    world.reply(&call_id, vec![]);
    world.append().await;
    let overview = actix::spawn(world.send(GetOverview));
    assert!(shown(&world.rest().await).is_empty() && !overview.is_finished());
    world.journal.complete();
    let overview = overview.await.unwrap().unwrap().unwrap();
    assert_eq!((overview.position.seq, overview.is_running), (8, false));
    assert_eq!(overview.status.activity, crate::journal::Activity::Idle);
}

/// Spec: [CONV-56]
#[actix::test]
async fn a_conversation_retires_when_it_is_idle_twice_in_a_row() {
    let mut world = World::new();
    let ask = async |world: &World| world.send(RetireIfIdle).await.unwrap();
    assert!(!ask(&world).await);
    // A client that comes and goes between two looks counts.
    let client = world.attendance.attend();
    assert!(!ask(&world).await);
    drop(client);
    assert!(!ask(&world).await);

    let order = world.asking().await;
    assert!(!ask(&world).await);
    world.journal.hold(true);
    world.reply(&order.call_id, vec![]);
    world.append().await;
    assert!(!ask(&world).await);
    world.journal.complete();
    world.rest().await;
    assert!(!ask(&world).await);
    assert!(ask(&world).await);
    world.rest().await;
    assert!(!world.actor.connected());
}

/// Spec: [CONV-25] [CONV-57]
#[actix::test]
async fn a_stop_waits_for_what_was_handed_to_the_journal() {
    let mut world = World::new();
    let order = world.asking().await;
    world.journal.hold(true);
    let title = "t".to_owned();
    let renamed = actix::spawn(world.send(RenameConversation { title, by: None }));
    world.append().await;
    let stop = actix::spawn(world.send(StopRuns));
    let did = world.rest().await;
    assert!(
        matches!(&did[..], [Did::CancelModel(id)] if *id == order.call_id),
        "{did:?}"
    );
    let failure = ModelFailure {
        error: ModelError::Cancelled,
        interrupted: false,
    };
    world.model(ModelEvent::Failed {
        call_id: order.call_id,
        failure,
        partial: Vec::new(),
    });
    world.append().await;
    world.journal.complete();
    world.rest().await;
    assert!(renamed.is_finished() && !stop.is_finished());
    world.journal.complete();
    stop.await.unwrap().unwrap();
    let refused = world.prompt("hi").await.unwrap();
    assert_eq!(refused, Err(SubmitError::Stopping));

    // One that is not in memory stays stopped, too.
    let world = World::new();
    world.send(StopRuns).await.unwrap();
    let refused = world.prompt("hi").await.unwrap();
    assert_eq!(refused, Err(SubmitError::Stopping));
}

/// Spec: [CONV-41] [CONV-44]
#[actix::test]
async fn a_conversation_goes_on_from_its_journal_after_a_crash() {
    let mut world = World::new();
    let order = world.asking().await;
    world.reply(
        &order.call_id,
        vec![Block::tool_call("t", "write", Object::new())],
    );
    world.rest().await;
    // The actors die with the tool's call, and others take the journal.
    let next = World::new();
    let entries = world.journal.memory.read(0, ALL).await.unwrap().entries;
    let records = entries.into_iter().map(|entry| NewRecord {
        at: entry.at,
        record: entry.record,
    });
    let memory = &next.journal.memory;
    let append = memory.append(0, records.collect(), Durability::Synced);
    append.await.unwrap();
    let mut next = next;
    let overview = next.overview().await;
    assert_eq!((overview.run, overview.is_running), (Some(RunId(1)), false));
    let written = next.goes_on().await;
    let broken = [&BEGIN[..], &["status", "block", "reply_ended"]].concat();
    let closed = ["tool_result", "turn_ended", "run_ended", "status"];
    assert_eq!(written, [&broken[..], &closed, &BEGIN, &END].concat());
    let found = ToolOutcome::failed("interrupted, effect unknown");
    let page = next.journal.memory.read(7, ALL).await.unwrap();
    let Record::ToolResult { result, .. } = &page.entries[0].record else {
        panic!("{page:?}");
    };
    assert_eq!(*result, found.result);
}

#[path = "actor_order_tests.rs"]
mod order_tests;

/// Spec: [JRNL-99] [JRNL-102] [EVENT-31]
#[actix::test]
async fn a_piece_is_shown_when_it_is_kept_and_what_follows_one_that_is_not_comes_with_its_block() {
    tokio::time::pause();
    let mut world = World::new();
    let call_id = world.asking().await.call_id;
    *world.journal.keeping.lock().unwrap() = Some(VecDeque::new());
    let take = |world: &World| {
        world
            .journal
            .keeping
            .lock()
            .unwrap()
            .as_mut()
            .unwrap()
            .pop_front()
    };
    let shown = |did: &[Did]| -> Vec<(u64, String)> {
        let deltas = did.iter().filter_map(|did| match did {
            Did::Pass(Event::Delta { offset, text, .. }) => Some((*offset, text.clone())),
            _ => None,
        });
        deltas.collect()
    };
    for offset in 0..3 {
        world.model(piece(&call_id, 0, offset));
    }
    assert_eq!(shown(&world.rest().await), [], "nothing is kept");
    let (pieces, answer) = take(&world).unwrap();
    assert_eq!(pieces, 1, "a burst is one piece");
    world.model(piece(&call_id, 0, 3));
    assert_eq!(shown(&world.rest().await), []);
    assert!(take(&world).is_none(), "another one is being written");
    world.model(piece(&call_id, 0, 4));
    world.model(piece(&call_id, 1, 0));
    answer.send(Ok(())).unwrap();
    assert_eq!(shown(&world.rest().await), [(0, "aaa".to_owned())]);
    assert!(
        take(&world).is_none(),
        "the next write has a pause before it"
    );
    tokio::time::sleep(PAUSE).await;
    world.rest().await;
    let (pieces, answer) = take(&world).unwrap();
    assert_eq!(pieces, 2, "one of each block");
    let reason = "no space left".to_owned();
    let (doing, path) = ("write".to_owned(), "x".to_owned());
    let full = StorageError {
        doing,
        path,
        reason,
    };
    answer.send(Err(full)).unwrap();
    world.model(piece(&call_id, 0, 5));
    assert_eq!(
        shown(&world.rest().await),
        [],
        "it would stand behind a hole"
    );
    assert!(take(&world).is_none());
    world.model(piece(&call_id, 2, 0));
    tokio::time::sleep(PAUSE).await;
    world.rest().await;
    take(&world).unwrap().1.send(Ok(())).unwrap();
    assert_eq!(
        shown(&world.rest().await),
        [(0, "a".to_owned())],
        "another block is shown again"
    );
}
