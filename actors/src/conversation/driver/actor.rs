//! Carries a conversation's decisions out: messages become inputs of the machine, its effects
//! become records and messages.
//!
//! The actor is cheap until a client prompts: its machine is read back from the journal when it
//! is needed, and dropped when the journal takes no more, since the journal alone is true.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::FutureExt as _;
use harness_protocol::DeltaKind;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::outbox::{AppendId, Outbox, OutboxStep};
use super::timing::Timing;
use crate::approval::Approver;
use crate::blocking;
use crate::broadcast::Attendance;
use crate::broadcast::messages::Publish;
use crate::clock::Clock;
use crate::compaction::Summarizer;
use crate::conversation::machine::{Effect, Input, Machine, Planner};
use crate::conversation::messages::{CompactError, Compacted, RunOutcome};
use crate::conversation::past::{Ledger, revive};
use crate::event::{Passing, event, passing_event};
use crate::ids::{CallId, ConversationId, RunId};
use crate::journal::{AppendError, BlockPiece, Durability, Journal, NewRecord, Position, Record};
use crate::model::messages::{CancelModelCall, DescribeModel, StartModelCall};
use crate::send::tell;
use crate::storage::StorageError;
use crate::tool::messages::{CancelTool, RunTool};
use crate::tool::{FileUndo, Jobs, has_happened};
use crate::tool::{Registry, ToolCall};

/// How many orders may wait for the actor; answers do not count against it.
const MAILBOX: usize = 64;

/// Whom a conversation gives orders to.
#[derive(Clone)]
pub struct Downstream {
    /// Asks the model.
    pub start_model_call: Recipient<StartModelCall>,
    /// Drops a call of the model.
    pub cancel_model_call: Recipient<CancelModelCall>,
    /// Looks up what a model can do.
    pub describe_model: Recipient<DescribeModel>,
    /// Runs tools.
    pub run_tool: Recipient<RunTool>,
    /// Stops a tool.
    pub cancel_tool: Recipient<CancelTool>,
    /// Shows events.
    pub publish: Recipient<Publish>,
    /// Keeps records.
    pub journal: Arc<dyn Journal>,
    /// Writes summaries, if the model does not.
    pub summarizer: Option<Arc<dyn Summarizer>>,
    /// Takes changes back.
    pub undo: FileUndo,
    /// Answers approvals.
    pub approver: Arc<dyn Approver>,
    /// The jobs in the background.
    pub jobs: Jobs,
}

/// Owns the history and the turn counter of one conversation.
pub struct ConversationActor {
    pub(super) id: ConversationId,
    pub(super) planner: Planner,
    pub(super) downstream: Downstream,
    pub(super) clock: Clock,
    pub(super) attendance: Attendance,
    pub(super) state: ResidentState,
    /// The number of the last call of any machine.
    pub(super) calls: u64,
    pub(super) outbox: Outbox<Self>,
    pub(super) appends: AppendId,
    /// How often the journal was asked to keep pieces and has not answered.
    pub(super) keeps: usize,
    /// When pieces were last handed to the journal.
    pub(super) kept_at: Option<Instant>,
    /// Whether pieces wait for the rest of their burst.
    pub(super) is_gathering: bool,
    /// Whether a piece of the block that is under way could not be kept.
    pub(super) is_unkept: bool,
    /// Behind the last record that was shown.
    pub(super) position: Position,
    /// The last record that was handed to the journal.
    pub(super) handed: u64,
    pub(super) active_at: u64,
    pub(super) stopping: bool,
    /// Whether the conversation is being deleted.
    pub(super) ended: bool,
    /// Whether the directory asked before and nothing happened since.
    pub(super) was_idle: bool,
    pub(super) waiting: Vec<(RunId, oneshot::Sender<RunOutcome>)>,
    /// Those who asked to be told when the reply in progress ends.
    pub(super) replying: Vec<oneshot::Sender<bool>>,
    pub(super) last: Option<(RunId, RunOutcome)>,
    timing: Timing,
    /// The receivers that wait for the end of a compaction.
    pub(super) compacting: Vec<oneshot::Sender<Result<Compacted, CompactError>>>,
    /// Work for summaries beside the run: the dropped part is described, or other code than the
    /// model writes them.
    pub(super) summaries: HashMap<CallId, SpawnHandle>,
}

/// How much of the conversation is in memory.
pub(super) enum ResidentState {
    /// Nothing.
    Dormant,
    /// It is being read, or its journal replaced; these orders wait for it.
    Reviving(Vec<HeldOrder>),
    /// All.
    Alive(Box<Machine>),
}

/// An order that needs the machine, or hears why there is none.
pub(super) type HeldOrder = Box<
    dyn FnOnce(&mut ConversationActor, Result<(), StorageError>, &mut Context<ConversationActor>),
>;

impl ConversationActor {
    /// The conversation of the journal. Its calls are numbered from `calls` on: those of an actor
    /// that died may still be under way.
    #[must_use]
    pub fn new(
        planner: Planner,
        downstream: Downstream,
        clock: Clock,
        attendance: Attendance,
        calls: u64,
    ) -> Self {
        Self {
            id: downstream.journal.header().conversation,
            planner,
            position: downstream.journal.end(),
            downstream,
            clock,
            attendance,
            state: ResidentState::Dormant,
            calls,
            outbox: Outbox::default(),
            appends: 0,
            keeps: 0,
            kept_at: None,
            is_gathering: false,
            is_unkept: false,
            handed: 0,
            active_at: 0,
            stopping: false,
            ended: false,
            was_idle: false,
            waiting: Vec::new(),
            replying: Vec::new(),
            timing: Timing::default(),
            last: None,
            compacting: Vec::new(),
            summaries: HashMap::new(),
        }
    }

    pub(super) fn machine(&self) -> Option<&Machine> {
        match &self.state {
            ResidentState::Alive(machine) => Some(machine),
            ResidentState::Dormant | ResidentState::Reviving(_) => None,
        }
    }

    /// The tools of the run that is going.
    pub(super) fn tools(&self) -> Registry {
        self.machine().map(Machine::tools).unwrap_or_default()
    }

    pub(super) fn run(&self) -> Option<RunId> {
        self.machine().and_then(Machine::run)
    }

    /// Carries an order out with the machine, which is read back from the journal if need be.
    pub(super) fn with_machine(&mut self, order: HeldOrder, ctx: &mut Context<Self>) {
        self.was_idle = false;
        match &mut self.state {
            ResidentState::Alive(_) => order(self, Ok(()), ctx),
            ResidentState::Reviving(orders) => orders.push(order),
            ResidentState::Dormant => {
                self.state = ResidentState::Reviving(vec![order]);
                let reviving = revived(Arc::clone(&self.downstream.journal));
                ctx.spawn(
                    reviving
                        .into_actor(self)
                        .map(|revived, actor, ctx| actor.revived(revived, ctx)),
                );
            }
        }
    }

    fn revived(&mut self, revived: Result<(Ledger, u64), StorageError>, ctx: &mut Context<Self>) {
        let mut resumed = Vec::new();
        let (next, result) = match revived {
            Ok((mut ledger, end)) => {
                let open: Vec<u64> = ledger.open_jobs().collect();
                let jobs = &self.downstream.jobs;
                ledger.note_lost_jobs(jobs.gone(&self.id, &open));
                self.sweep_left_over(ledger.seen(), ctx);
                // If an append of an earlier machine came in between, the next one is refused.
                self.handed = end;
                let mut machine =
                    Machine::new(self.id.clone(), self.planner.clone(), ledger, self.calls);
                if self.stopping {
                    machine.handle(Input::StopRequested);
                } else {
                    resumed = machine.resume();
                }
                (ResidentState::Alive(Box::new(machine)), Ok(()))
            }
            Err(error) => (ResidentState::Dormant, Err(error)),
        };
        let ResidentState::Reviving(orders) = std::mem::replace(&mut self.state, next) else {
            return;
        };
        self.carry_out(resumed, ctx);
        self.ask_again(ctx);
        for order in orders {
            order(self, result.clone(), ctx);
        }
    }

    pub(super) fn advance(&mut self, input: Input, ctx: &mut Context<Self>) {
        // A machine that was dropped waits for nothing.
        if let ResidentState::Alive(machine) = &mut self.state {
            let effects = machine.handle(input);
            self.carry_out(effects, ctx);
        }
    }

    pub(super) fn carry_out(&mut self, effects: Vec<Effect>, ctx: &mut Context<Self>) {
        let mut records = Vec::new();
        for effect in effects {
            match effect {
                Effect::Record(mut record) => {
                    let at = self.clock.unix_millis();
                    self.timing.complete(at, &mut record);
                    records.push(NewRecord { at, record });
                }
                Effect::Show(Passing::Delta {
                    index,
                    kind: kind @ (DeltaKind::Text | DeltaKind::Reasoning),
                    offset,
                    text,
                }) => {
                    self.append(&mut records, Durability::Written, ctx);
                    let piece = BlockPiece {
                        index,
                        kind,
                        offset,
                        text,
                    };
                    self.keep(piece, ctx);
                }
                // What is to stop does so at once, however long the journal takes.
                Effect::CancelModel(_) | Effect::CancelTool(_) => self.perform(effect, ctx),
                Effect::Show(_)
                | Effect::CallModel(_)
                | Effect::DescribeModel { .. }
                | Effect::TellDropped(..)
                | Effect::Summarize(..)
                | Effect::Rewrite { .. }
                | Effect::EndCompaction(_)
                | Effect::RunTool(..)
                | Effect::KeepChange(..)
                | Effect::EndRun(..) => {
                    self.append(&mut records, self.durability_before(&effect), ctx);
                    if matches!(effect, Effect::Rewrite { .. }) {
                        self.hold_orders();
                    } else if matches!(effect, Effect::Show(Passing::Discarded)) {
                        self.forget_kept();
                    }
                    self.outbox.push(OutboxStep::Do(effect));
                }
            }
        }
        self.append(&mut records, Durability::Written, ctx);
        self.proceed(ctx);
    }

    /// How durable the records before an effect must be: a tool that may change something runs only behind
    /// records that outlive a power cut.
    fn durability_before(&self, effect: &Effect) -> Durability {
        let may_change_something = |call: &ToolCall| !self.tools().is_harmless(&call.name);
        if matches!(effect, Effect::Rewrite { .. } | Effect::KeepChange(..))
            || matches!(effect, Effect::RunTool(_, call, _) if may_change_something(call))
        {
            Durability::Synced
        } else {
            Durability::Written
        }
    }

    /// Hands records to the journal.
    fn append(
        &mut self,
        records: &mut Vec<NewRecord>,
        before_next: Durability,
        ctx: &mut Context<Self>,
    ) {
        if records.is_empty() {
            return;
        }
        // Pieces that are shown before a record are written before it.
        while self.hand_pieces(ctx) {}
        let records = std::mem::take(records);
        self.note_changes(&records);
        let own = records.iter().map(|new| new.record.durability());
        let durability = own.fold(before_next, Durability::max);
        self.appends += 1;
        let append = self.appends;
        let appending = self
            .downstream
            .journal
            .append(self.handed, records.clone(), durability);
        self.handed += records.len() as u64;
        self.outbox.push(OutboxStep::Written {
            append,
            records,
            positions: None,
        });
        // A task of its own: the actor's context looks at all of its futures each time.
        let to = ctx.address().recipient();
        actix::spawn(async move {
            let result = appending.await;
            tell(&to, Appended { append, result });
        });
    }

    fn appended(&mut self, Appended { append, result }: Appended, ctx: &mut Context<Self>) {
        match result {
            Ok(positions) => {
                self.outbox.written(append, positions);
                self.proceed(ctx);
            }
            // Else it was of a machine that is gone.
            Err(error) if self.outbox.awaits(append) => self.fail(append, &error, ctx),
            Err(_) => {}
        }
    }

    /// Does what can be done.
    pub(super) fn proceed(&mut self, ctx: &mut Context<Self>) {
        while let Some(step) = self.outbox.next() {
            match step {
                OutboxStep::Written {
                    records, positions, ..
                } => {
                    for (new, position) in records.iter().zip(positions.into_iter().flatten()) {
                        self.show(new, position);
                        if let Record::ApprovalAsked(approval) = &new.record {
                            self.ask(approval, ctx);
                        }
                        if let Record::ReplyEnded { .. } = &new.record {
                            self.replied(true);
                        }
                    }
                }
                OutboxStep::Kept { pieces, .. } => {
                    pieces.into_iter().for_each(|piece| self.grow(piece));
                }
                OutboxStep::Do(effect) => self.perform(effect, ctx),
                OutboxStep::Answer(answer) => answer(self, Ok(())),
            }
        }
    }

    /// Tells those who wait for a reply that one was counted, or that no more comes.
    pub(super) fn replied(&mut self, goes_on: bool) {
        for waiter in self.replying.drain(..) {
            // The receiver may be gone; nothing to do then.
            waiter.send(goes_on).unwrap_or_default();
        }
    }

    pub(super) fn perform(&mut self, effect: Effect, ctx: &mut Context<Self>) {
        match effect {
            // It is shown when it is written.
            Effect::Record(_) => {}
            Effect::Show(passing) => self.show_passing(passing),
            Effect::CallModel(call_id) => self.call_model(call_id, ctx),
            Effect::DescribeModel {
                call_id,
                model,
                key_source,
            } => self.describe_model(call_id, model, key_source, ctx),
            Effect::TellDropped(call_id, dropped) => self.tell_dropped(call_id, dropped, ctx),
            Effect::Summarize(call_id, call) => self.summarize(call_id, call, ctx),
            Effect::Rewrite { compacted, by } => self.rewrite(compacted, by, ctx),
            Effect::EndCompaction(result) => self.end_compaction(&result),
            Effect::CancelModel(call_id) => self.cancel_model(call_id, ctx),
            Effect::RunTool(call_id, call, allowed) => {
                self.run_tool(call_id, call, allowed, None, ctx);
            }
            Effect::KeepChange(call_id, call, change) => {
                self.run_tool(call_id, call, None, Some(change), ctx);
            }
            Effect::CancelTool(call_id) => self.cancel_tool(call_id, ctx),
            Effect::EndRun(run, outcome) => {
                self.forget_kept();
                self.end_run(run, &outcome);
            }
        }
    }

    fn show(&mut self, new: &NewRecord, position: Position) {
        self.position = position;
        self.active_at = new.at;
        let event = event(&new.record, new.at / 1000);
        tell(
            &self.downstream.publish,
            Publish::Lasting { position, event },
        );
    }

    /// Shows a piece of a block.
    fn grow(&self, piece: BlockPiece) {
        let BlockPiece {
            index,
            kind,
            offset,
            text,
        } = piece;
        self.show_passing(Passing::Delta {
            index,
            kind,
            offset,
            text,
        });
    }

    pub(super) fn show_passing(&self, passing: Passing) {
        let event = passing_event(passing, self.clock.unix_seconds());
        tell(&self.downstream.publish, Publish::Passing(event));
    }

    fn end_run(&mut self, run: RunId, outcome: &RunOutcome) {
        for (_, waiter) in self
            .waiting
            .extract_if(.., |(waits_for, _)| *waits_for == run)
        {
            drop(waiter.send(outcome.clone()));
        }
        self.replied(false);
        self.last = Some((run, outcome.clone()));
    }

    /// A future of the run's end.
    pub(super) fn wait_for(
        &mut self,
        run: RunId,
    ) -> impl Future<Output = Option<RunOutcome>> + use<> {
        let (sender, receiver) = oneshot::channel();
        match &self.last {
            Some((last, outcome)) if *last == run => drop(sender.send(outcome.clone())),
            // Its end may wait to be written.
            Some(_) | None => self.waiting.push((run, sender)),
        }
        receiver.map(Result::ok)
    }
}

/// Reads a conversation back. Of a change that was begun when the service died, the file says whether it
/// was made.
async fn revived(journal: Arc<dyn Journal>) -> Result<(Ledger, u64), StorageError> {
    let (mut ledger, end) = revive(journal).await?;
    let began = ledger.approvals().began();
    if let Some(change) = began.and_then(|(_, subject)| subject.change()).cloned() {
        let looked = blocking(move || has_happened(&change)).await;
        // Without a look it is not known.
        ledger.note_happened(looked.ok().flatten());
    }
    Ok((ledger, end))
}

impl Actor for ConversationActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

/// An append is done. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
struct Appended {
    append: AppendId,
    result: Result<Vec<Position>, AppendError>,
}

impl Handler<Appended> for ConversationActor {
    type Result = ();

    fn handle(&mut self, appended: Appended, ctx: &mut Context<Self>) {
        self.appended(appended, ctx);
    }
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
