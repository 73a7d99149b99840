//! Carries out what a workflow decides: records first, then what follows them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use harness_protocol::{Event, WorkflowSnapshot};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::alarm::Alarm;
use super::outbox::{NextEffect, WorkflowOutbox};
use super::parts::WorkflowParts;
use super::showing::Showing;
use super::site::Site;
use super::site_checks::AttemptWork;
use super::site_git::Described;
use super::view::{self, WorkflowFacts};
use super::watched::WatchedConversation;
use crate::blocking;
use crate::broadcast::messages::{CloseSubscribers, Closing, Publish};
use crate::broadcast::{Attendance, Broadcaster};
use crate::journal::{Durability, Journal, NewRecord, Record};
use crate::send::tell;
use crate::workflow::StopHandle;
use crate::workflow::facts::{Head, StepPlace};
use crate::workflow::machine::{
    NoticeText, OperatorOrder, OrderOutcome, Refused, StepRefusal, WorkflowEffect, WorkflowInput,
    WorkflowMachine,
};
use crate::workflow::manifest::{Manifest, VerifyWhere};
use crate::workflow::messages::{CountingManifest, Followable, WorkflowError};
use crate::workflow::record::{Purpose, WorkflowRecord};
use crate::workflow::state::{IterationStep, PauseReason};

/// Time between two looks at a conversation that works.
const TICK: Duration = Duration::from_millis(500);
/// Maximum number of orders that wait for the actor.
const MAILBOX: usize = 256;

/// One workflow.
pub(in crate::workflow) struct WorkflowActor {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) parts: WorkflowParts,
    pub(super) site: Site,
    pub(super) machine: WorkflowMachine,
    journal: Arc<dyn Journal>,
    pub(super) broadcast: Broadcaster,
    attendance: Attendance,
    /// The first things to do, when the actor is there.
    first: Vec<WorkflowEffect>,
    /// The last record that was handed to the journal.
    end: u64,
    outbox: WorkflowOutbox,
    is_writing: bool,
    /// The reason why the journal takes no further record.
    halted: Option<String>,
    askers: HashMap<u64, oneshot::Sender<OrderOutcome>>,
    last_asker: u64,
    /// The askers who see how it is once that is on record.
    lookers: Vec<oneshot::Sender<WorkflowSnapshot>>,
    /// The askers who wait until the workflow can do nothing without an order.
    pub(super) resters: Vec<oneshot::Sender<WorkflowSnapshot>>,
    /// Stops the command that runs.
    stop: StopHandle,
    /// The output that the running check shows.
    pub(super) showing: Showing,
    /// The time at which the open step began in this life.
    pub(super) since: Instant,
    /// The conversation that works, and since when.
    pub(super) conversing: Option<WatchedConversation>,
    /// True while a prompt is under way to the conversation, whose run is watched afterwards.
    pub(super) is_sending: bool,
    /// The timer that sends the machine the time.
    pub(super) alarm: Alarm,
    /// Stops the command that tells people something.
    pub(super) notifying: Option<StopHandle>,
    is_stopping: bool,
}

/// Gives a workflow an order.
#[derive(Debug, Message)]
#[rtype(result = "Result<OrderOutcome, WorkflowError>")]
pub(in crate::workflow) struct OrderWorkflow {
    pub(in crate::workflow) order: OperatorOrder,
    pub(in crate::workflow) by: Option<String>,
}

/// Asks how a workflow is. Answered when all of that is on record: a crash takes nothing back that was seen.
#[derive(Debug, Message)]
#[rtype(result = "Result<WorkflowSnapshot, WorkflowError>")]
pub(in crate::workflow) struct WorkflowStateQuery;

/// Asks for what a client follows.
#[derive(Debug, Message)]
#[rtype(result = "Followable")]
pub(in crate::workflow) struct FollowQuery;

/// Asks which manifest counts; none before the first one is on record.
#[derive(Debug, Message)]
#[rtype(result = "Option<CountingManifest>")]
pub(in crate::workflow) struct Counts;

/// Asks where it works.
#[derive(Debug, Message)]
#[rtype(result = "Site")]
pub(in crate::workflow) struct Where;

/// Ends the actor: running work is stopped, and continues in another life. Answered when nothing runs.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(in crate::workflow) struct EndWorkflow(pub(in crate::workflow) Closing);

impl WorkflowActor {
    pub(in crate::workflow) fn new(
        parts: WorkflowParts,
        journal: Arc<dyn Journal>,
        machine: WorkflowMachine,
        first: Vec<WorkflowEffect>,
    ) -> Self {
        let header = journal.header();
        let id = header.conversation.to_string();
        let conversation = header.conversation.clone();
        let name = header.title.clone().unwrap_or_else(|| id.clone());
        let folder = header.workspace.map(|own| own.folder).unwrap_or_default();
        let site = Site::new(parts.clone(), &id, &name, &folder);
        let attendance = Attendance::default();
        let now = view::now(&machine);
        let broadcast = Broadcaster::start(
            &parts.broadcasting,
            header.conversation,
            journal.end(),
            now,
            attendance.clone(),
        );
        Self {
            id,
            name,
            site,
            machine,
            end: journal.end().seq,
            journal,
            broadcast,
            attendance,
            first,
            outbox: WorkflowOutbox::default(),
            is_writing: false,
            halted: None,
            askers: HashMap::new(),
            last_asker: 0,
            lookers: Vec::new(),
            resters: Vec::new(),
            stop: StopHandle::default(),
            showing: Showing::for_conversation(conversation),
            since: Instant::now(),
            conversing: None,
            is_sending: false,
            notifying: None,
            alarm: Alarm::default(),
            is_stopping: false,
            parts,
        }
    }

    pub(super) fn manifest(&self) -> Option<Arc<Manifest>> {
        self.machine.manifest().cloned()
    }

    fn about(&self) -> WorkflowFacts<'_> {
        let header = self.journal.header();
        WorkflowFacts {
            id: &self.id,
            name: &self.name,
            site: &self.site,
            folder: header.workspace.map(|own| own.folder).unwrap_or_default(),
            created_at: header.created_at,
            position: self.journal.end().to_string(),
            for_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Tells the machine, and does what it decides.
    pub(super) fn advance(&mut self, input: WorkflowInput, ctx: &mut Context<Self>) {
        // What ends because the service stops is found by the next life.
        if self.is_stopping || self.halted.is_some() {
            return;
        }
        self.machine.it_is(self.parts.clock.unix_millis());
        let effects = self.machine.handle(input);
        self.outbox.extend(effects);
        self.proceed(ctx);
    }

    fn proceed(&mut self, ctx: &mut Context<Self>) {
        while !self.is_writing && !self.is_stopping {
            match self.outbox.next() {
                None => break,
                Some(NextEffect::Write(records, needed)) => self.write(&records, needed, ctx),
                Some(NextEffect::Do(effect)) => self.begin(effect, ctx),
            }
        }
        self.show();
        let is_idle = !self.is_writing && self.outbox.is_empty();
        if is_idle && !self.is_stopping && self.halted.is_none() {
            self.notify_next(ctx);
        }
        if self.is_stopping || self.halted.is_some() {
            self.parts.room.note(&self.id, false);
        } else if is_idle {
            self.parts
                .room
                .note(&self.id, self.machine.ledger().is_active());
            let (due, now) = (self.machine.alarm(), self.parts.clock.unix_millis());
            self.alarm.set(due, now, ctx, |actor, ctx| {
                actor.alarm.clear();
                let has_room = actor.parts.room.has_for(&actor.id);
                actor.advance(WorkflowInput::Time { has_room }, ctx);
            });
        }
        if is_idle && !self.machine.ledger().is_active() {
            let (site, uses) = (self.site.clone(), self.site.uses());
            ctx.spawn(blocking(move || site.release(uses)).into_actor(self).map(
                |done, actor, _| {
                    if let Err(error) = done {
                        log::warn!("{}: its repository is not let go: {error}", actor.id);
                    }
                },
            ));
        }
    }

    /// Tells how it is, unless something of that is not on record yet.
    pub(super) fn show(&mut self) {
        let mut waiting = std::mem::take(&mut self.lookers);
        let is_resting = !self.machine.ledger().is_active();
        if is_resting || self.halted.is_some() {
            waiting.append(&mut self.resters);
        }
        if self.is_writing || !self.outbox.is_empty() || waiting.is_empty() {
            self.lookers = waiting;
            return;
        }
        let view = view::view(&self.about(), &self.machine);
        for looker in waiting {
            // The receiver may be gone; nothing to do then.
            drop(looker.send(view.clone()));
        }
    }

    fn write(&mut self, records: &[WorkflowRecord], needed: Durability, ctx: &mut Context<Self>) {
        if records
            .iter()
            .any(|record| matches!(record, WorkflowRecord::StepStarted { .. }))
        {
            self.since = Instant::now();
        }
        let at = self.parts.clock.unix_millis();
        let as_json = records.iter().map(serde_json::to_value);
        let as_json: Result<Vec<_>, _> = as_json.collect();
        let values = match as_json {
            Ok(values) => values,
            Err(error) => return self.halt(&error.to_string()),
        };
        let new = values.iter().map(|value| NewRecord {
            at,
            record: Record::Workflow(value.clone()),
        });
        let append = self.journal.append(self.end, new.collect(), needed);
        self.is_writing = true;
        ctx.spawn(append.into_actor(self).map(move |appended, actor, ctx| {
            actor.is_writing = false;
            match appended {
                Ok(positions) => {
                    for (position, record) in positions.into_iter().zip(values) {
                        actor.end = position.seq;
                        let event = Event::Workflow {
                            record,
                            timestamp: at / 1000,
                        };
                        let lasting = Publish::Lasting { position, event };
                        tell(&actor.broadcast.publish, lasting);
                    }
                    actor.proceed(ctx);
                }
                Err(error) => actor.halt(&error.to_string()),
            }
        }));
    }

    /// The journal takes no further record, so the workflow stops: it never acts without a record. The next start of
    /// the service continues it.
    fn halt(&mut self, reason: &str) {
        log::error!("the workflow {} stops: {reason}", self.id);
        self.halted = Some(reason.to_owned());
        self.outbox.clear();
        self.stop.stop();
        for (_, asker) in self.askers.drain() {
            let message = format!("the journal takes no more: {reason}");
            let kind = Refused::Conflict;
            // The receiver may be gone; nothing to do then.
            drop(asker.send(OrderOutcome::Refused { kind, message }));
        }
        self.show();
    }

    fn begin(&mut self, effect: WorkflowEffect, ctx: &mut Context<Self>) {
        match effect {
            // Records are written before.
            WorkflowEffect::Record(_) => {}
            WorkflowEffect::RunPrepare { at, head } => self.prepare(at, head, ctx),
            WorkflowEffect::RunHealth { at, checks } => {
                let head = self.head();
                let shown = self.show_step(at, IterationStep::Health, ctx);
                let job = move |site: &Site, manifest: &Manifest, stop: &StopHandle| {
                    site.health(manifest, &head?, &checks, (stop, &shown))
                };
                self.work(
                    job,
                    move |runs| WorkflowInput::HealthEnded { at, runs },
                    ctx,
                );
            }
            WorkflowEffect::StartConversation(prompt) => self.converse(prompt, true, ctx),
            WorkflowEffect::SendPrompt(prompt) => self.converse(prompt, false, ctx),
            WorkflowEffect::ContinueRun { at, conversation } => {
                self.continue_run(at, conversation, ctx);
            }
            WorkflowEffect::CancelRun { at, conversation } => {
                self.cancel_run(at, conversation, ctx);
            }
            WorkflowEffect::TakeSnapshot { at, base } => self.snapshot(at, base, ctx),
            WorkflowEffect::RunCheck(call) | WorkflowEffect::RunCheckOnBase(call) => {
                let (at, number) = (call.at, call.number);
                let (check, tree) = (call.check.id.clone(), call.head.tree.clone());
                let iteration = self.machine.ledger().iteration();
                let done = iteration.map(|open| AttemptWork {
                    feature: open.feature.clone(),
                    reply: open.attempt.note.clone(),
                });
                let shown = self.show_step(at, IterationStep::Check(check.clone()), ctx);
                let open = self.machine.ledger().verification();
                let is_final = open.is_some_and(|open| open.purpose == Purpose::Final);
                let job = move |site: &Site, manifest: &Manifest, stop: &StopHandle| {
                    let done = done.unwrap_or_default();
                    // The final verification uses files that the work has never touched.
                    let place = match is_final {
                        true => VerifyWhere::Fresh,
                        false => manifest.verify,
                    };
                    let tree = (&call.head, place);
                    site.check(manifest, tree, &call.check, &done, (stop, &shown))
                };
                let end = move |run| WorkflowInput::CheckEnded {
                    at,
                    check,
                    tree,
                    number,
                    run,
                };
                self.work(job, end, ctx);
            }
            WorkflowEffect::KillStep { .. } => self.stop.stop(),
            WorkflowEffect::Accept {
                at,
                candidate,
                base,
            } => {
                let job = move |site: &Site, manifest: &Manifest, _: &StopHandle| {
                    Ok(site.accept(manifest, &candidate, &base))
                };
                self.work(
                    job,
                    move |ended| WorkflowInput::AcceptEnded { at, ended },
                    ctx,
                );
            }
            WorkflowEffect::Restore { at, base } => {
                let job = move |site: &Site, manifest: &Manifest, _: &StopHandle| {
                    Ok(site.restore(manifest, &base))
                };
                self.work(
                    job,
                    move |ended| WorkflowInput::RestoreEnded { at, ended },
                    ctx,
                );
            }
            WorkflowEffect::Answer { asker, answer } => {
                if let Some(asker) = self.askers.remove(&asker) {
                    // The receiver may be gone; nothing to do then.
                    drop(asker.send(answer));
                }
            }
            WorkflowEffect::Notify(notice) => self.notify(&notice),
        }
    }

    fn notify(&self, notice: &NoticeText) {
        match notice {
            NoticeText::Completed => log::info!("the workflow {} is done", self.id),
            NoticeText::Paused(reason) => {
                log::info!("the workflow {} is paused: {}", self.id, view::word(reason));
            }
            NoticeText::Gate(gate) => {
                log::info!("the workflow {} waits at the gate {gate}", self.id);
            }
        }
    }

    /// The accepted head; a workflow that has none cannot do what it is asked.
    fn head(&self) -> Result<Head, StepRefusal> {
        let head = self.machine.ledger().head();
        head.map(|head| head.head.clone())
            .ok_or_else(|| StepRefusal {
                reason: PauseReason::WorkspaceChanged,
                detail: "the workflow has no commit to work on".to_owned(),
            })
    }

    fn prepare(&mut self, at: StepPlace, head: Head, ctx: &mut Context<Self>) {
        let began = Instant::now();
        let job = move |site: &Site, manifest: &Manifest, _: &StopHandle| {
            Ok(site.prepare(manifest, &head))
        };
        let end = move |ended| WorkflowInput::PrepareEnded {
            at,
            ended,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.work(job, end, ctx);
    }

    fn snapshot(&mut self, at: StepPlace, base: Head, ctx: &mut Context<Self>) {
        let iteration = self.machine.ledger().iteration();
        let feature = iteration.map(|open| open.feature.clone());
        let feature = feature.unwrap_or_default();
        // The same in every life: a repetition is to give the same commit.
        let seconds = i64::try_from(self.journal.header().created_at / 1000).unwrap_or_default();
        let job = move |site: &Site, manifest: &Manifest, _: &StopHandle| {
            let described = Described {
                at,
                feature: &feature,
                seconds,
            };
            Ok(site.snapshot(manifest, &base, &described))
        };
        self.work(
            job,
            move |ended| WorkflowInput::SnapshotEnded { at, ended },
            ctx,
        );
    }

    /// Runs a blocking job, and sends its end to the machine. A failure that makes the step impossible ends it.
    fn work<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&Site, &Manifest, &StopHandle) -> Result<T, StepRefusal> + Send + 'static,
        end: impl FnOnce(T) -> WorkflowInput + 'static,
        ctx: &mut Context<Self>,
    ) {
        let (Some(manifest), Some(open)) = (self.manifest(), self.machine.ledger().step()) else {
            return;
        };
        let (at, step) = (open.at, open.step.clone());
        self.stop = StopHandle::default();
        let (site, stop) = (self.site.clone(), self.stop.clone());
        let working = blocking(move || job(&site, &manifest, &stop));
        ctx.spawn(working.into_actor(self).map(move |done, actor, ctx| {
            actor.show_rest();
            let done = done.unwrap_or_else(|error| {
                let reason = PauseReason::Storage;
                let detail = error.to_string();
                Err(StepRefusal { reason, detail })
            });
            let input = match done {
                Ok(value) => end(value),
                Err(refusal) => WorkflowInput::StepRefused { at, step, refusal },
            };
            actor.advance(input, ctx);
        }));
    }

    /// True if the repository can be used: an order that needs it is refused otherwise.
    fn opens(&self, order: &OperatorOrder) -> bool {
        match order {
            OperatorOrder::Run { .. } | OperatorOrder::Resume { .. } | OperatorOrder::Verify => {
                true
            }
            OperatorOrder::Create { .. }
            | OperatorOrder::Apply { .. }
            | OperatorOrder::Pause(_)
            | OperatorOrder::Cancel
            | OperatorOrder::Gate { .. }
            | OperatorOrder::Retry(_)
            | OperatorOrder::Skip(_)
            | OperatorOrder::Unskip(_) => false,
        }
    }

    fn take(
        &mut self,
        told: OrderWorkflow,
        answer: oneshot::Sender<OrderOutcome>,
        ctx: &mut Context<Self>,
    ) {
        self.last_asker += 1;
        self.askers.insert(self.last_asker, answer);
        let OrderWorkflow { order, by } = told;
        let asker = self.last_asker;
        self.advance(WorkflowInput::Order { asker, by, order }, ctx);
    }
}

impl Actor for WorkflowActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, Self::tick);
        let first = std::mem::take(&mut self.first);
        self.outbox.extend(first);
        self.proceed(ctx);
    }
}

impl Handler<OrderWorkflow> for WorkflowActor {
    type Result = ResponseActFuture<Self, Result<OrderOutcome, WorkflowError>>;

    fn handle(&mut self, told: OrderWorkflow, _: &mut Context<Self>) -> Self::Result {
        if self.is_stopping {
            return Box::pin(async { Err(WorkflowError::Stopping) }.into_actor(self));
        }
        if let Some(reason) = &self.halted {
            let message = format!("the journal takes no more: {reason}");
            let kind = Refused::Conflict;
            return Box::pin(
                async move { Ok(OrderOutcome::Refused { kind, message }) }.into_actor(self),
            );
        }
        let opens = self.opens(&told.order);
        if opens && let Err(message) = self.parts.room.take(&self.id) {
            let kind = Refused::Conflict;
            return Box::pin(
                async move { Ok(OrderOutcome::Refused { kind, message }) }.into_actor(self),
            );
        }
        let needed = opens.then(|| (self.manifest(), self.head()));
        let site = self.site.clone();
        let opening = async move {
            let Some((Some(manifest), Ok(head))) = needed else {
                return Ok(());
            };
            let opened = blocking(move || site.open(&manifest, &head)).await;
            opened.unwrap_or_else(|error| {
                Err(StepRefusal {
                    reason: PauseReason::Storage,
                    detail: error.to_string(),
                })
            })
        };
        Box::pin(opening.into_actor(self).then(|opened, actor, ctx| {
            let (answer, receiver) = oneshot::channel();
            match opened {
                Ok(()) => actor.take(told, answer, ctx),
                Err(StepRefusal { detail, .. }) => {
                    let works = actor.machine.ledger().is_active();
                    actor.parts.room.note(&actor.id, works);
                    let refused = OrderOutcome::Refused {
                        kind: Refused::Conflict,
                        message: detail,
                    };
                    // The receiver is below.
                    drop(answer.send(refused));
                }
            }
            async move { receiver.await.map_err(|_| WorkflowError::Stopping) }.into_actor(actor)
        }))
    }
}

impl Handler<WorkflowStateQuery> for WorkflowActor {
    type Result = ResponseFuture<Result<WorkflowSnapshot, WorkflowError>>;

    fn handle(&mut self, _: WorkflowStateQuery, _: &mut Context<Self>) -> Self::Result {
        let (looker, receiver) = oneshot::channel();
        self.lookers.push(looker);
        self.show();
        Box::pin(async { receiver.await.map_err(|_| WorkflowError::Stopping) })
    }
}

impl Handler<Counts> for WorkflowActor {
    type Result = MessageResult<Counts>;

    fn handle(&mut self, _: Counts, _: &mut Context<Self>) -> Self::Result {
        let ledger = self.machine.ledger();
        let counting = || {
            Some(CountingManifest {
                note: ledger.manifest()?.clone(),
                manifest: self.manifest()?,
                head: ledger.head()?.head.clone(),
                name: self.name.clone(),
                folder: self.journal.header().workspace?.folder,
            })
        };
        MessageResult(counting())
    }
}

impl Handler<Where> for WorkflowActor {
    type Result = MessageResult<Where>;

    fn handle(&mut self, _: Where, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.site.clone())
    }
}

impl Handler<FollowQuery> for WorkflowActor {
    type Result = MessageResult<FollowQuery>;

    fn handle(&mut self, _: FollowQuery, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Followable {
            journal: Arc::clone(&self.journal),
            broadcast: self.broadcast.join.clone(),
            attendance: self.attendance.clone(),
        })
    }
}

impl Handler<EndWorkflow> for WorkflowActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, EndWorkflow(closing): EndWorkflow, _: &mut Context<Self>) -> Self::Result {
        self.is_stopping = true;
        self.parts.room.note(&self.id, false);
        self.stop.stop();
        if let Some(telling) = &self.notifying {
            telling.stop();
        }
        self.askers.clear();
        self.lookers.clear();
        self.resters.clear();
        let site = self.site.clone();
        let broadcast = self.broadcast.clone();
        let ending = async move {
            // The running step receives a stop, and its thread holds the site until it has ended.
            let releasing = move || site.release(site.uses());
            if let Err(error) = blocking(releasing).await {
                log::debug!("a repository is let go with the process: {error}");
            }
            let closed = broadcast.close.send(CloseSubscribers(closing)).await;
            closed.unwrap_or_else(|error| log::debug!("a broadcaster is gone: {error}"));
        };
        Box::pin(ending.into_actor(self).map(|(), _, ctx| ctx.stop()))
    }
}
