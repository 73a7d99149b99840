//! An iteration's conversation: made, prompted, watched and ended as any client would.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use harness_protocol::{
    AnswerOrder, ApprovalMode, RefusalFallback, RunRules, Scope, Settings, Verdict, WebSearch,
};
use tokio::time::Instant;

use super::actor::WorkflowActor;
use super::idle::Idle;
use super::parts::Directory;
use super::run_end::{find, given_up, spent_so_far, used};
use super::watched::WatchedConversation;
use crate::budget::PriceList;
use crate::conversation::messages::{
    AnswerApproval, CancelRun, ContinueRun, GetOverview, Resumption, RunOutcome, SubmitError,
    SubmitPrompt, WaitForEnd, WaitForReply,
};
use crate::directory::OpenedConversation;
use crate::directory::messages::{CreateConversation, OpenConversation};
use crate::ids::{ConversationId, RunId};
use crate::journal::{OpenError, Totals};
use crate::model::ModelError;
use crate::workflow::facts::{Spent, StepPlace};
use crate::workflow::machine::{FoundRun, IterationPrompt, RunEnd, RunStatus, WorkflowInput};
use crate::workflow::manifest::{Manifest, QuestionPolicy};
use crate::workflow::state::PauseReason;

/// Maximum number of times that a prompt is sent again to a busy conversation.
const TRIES: u32 = 20;
/// Delay between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// The text of a run that a crash left open.
const LEFT_OPEN: &str = "the run was left open";

/// The end of an iteration's conversation, and its cause if that concerns the workflow.
struct ConversationEnd {
    end: RunEnd,
    trouble: Option<(PauseReason, String)>,
}

impl WorkflowActor {
    /// Sends a prompt, in a conversation that is made first if it is not there, and waits for its end.
    pub(super) fn converse(
        &mut self,
        prompt: IterationPrompt,
        is_new: bool,
        ctx: &mut Context<Self>,
    ) {
        let Some(manifest) = self.manifest() else {
            return;
        };
        let directory = self.parts.directory.clone();
        let workspace = self.site.worktree(&manifest);
        let settings = settings(&manifest, self.parts.falls_back);
        let rules = rules(&manifest);
        let rest = self.machine.rest_micro_usd();
        let title = format!("{} {}", self.name, prompt.at.n);
        let by = format!("workflow {}", self.id);
        let at = prompt.at;
        self.is_sending = true;
        let sending = async move {
            let id = ConversationId::new(&prompt.conversation);
            if is_new {
                let made = directory
                    .create
                    .send(CreateConversation {
                        id: Some(id.clone()),
                        title: Some(title),
                        settings,
                        workspace: Some(workspace),
                    })
                    .await;
                match made.map_err(|error| error.to_string())? {
                    Ok(_) | Err(OpenError::Exists { .. }) => {}
                    Err(error) => return Err(error.to_string()),
                }
            }
            let conversation = open(&directory, &id).await?;
            let before = totals(&conversation).await?;
            let submit = SubmitPrompt {
                content: prompt.text,
                key: Some(prompt.key.clone()),
                by: Some(by),
                attachments: Vec::new(),
                rules,
                spending_limit_micro_usd: rest,
                schema: None,
            };
            let run = submitted(&conversation, &submit).await?;
            Ok((conversation, before, run, prompt.key))
        };
        ctx.spawn(
            sending
                .into_actor(self)
                .map(move |sent, actor, ctx| match sent {
                    Ok((conversation, before, run, key)) => {
                        actor.watch(at, conversation, before, run, key, ctx);
                    }
                    Err(reason) => actor.not_conversing(at, reason, Spent::default(), ctx),
                }),
        );
    }

    /// Continues the run that the service left open.
    pub(super) fn continue_run(&mut self, at: StepPlace, id: String, ctx: &mut Context<Self>) {
        let Some(manifest) = self.manifest() else {
            return;
        };
        let rules = rules(&manifest);
        let directory = self.parts.directory.clone();
        let by = Some(format!("workflow {}", self.id));
        let key = self.key(at);
        let prices = Arc::clone(&self.parts.prices);
        let rest = self.machine.rest_without_attempt_micro_usd();
        self.is_sending = true;
        let continuing = async move {
            let conversation = open(&directory, &ConversationId::new(&id)).await?;
            let before = totals(&conversation).await?;
            let so_far = spent_so_far(&*conversation.journal, &key, &before, &*prices).await;
            let so_far = so_far.map_err(|error| error.to_string())?;
            let limit = rest.map(|rest| rest.saturating_sub(so_far.cost_micro_usd));
            let order = ContinueRun {
                resumption: Resumption::Continue,
                by,
                rules,
                spending_limit_micro_usd: limit,
            };
            let run = conversation.actor.send(order).await;
            let run = run.map_err(|error| error.to_string());
            let run = run.and_then(|run| run.map_err(|error| error.to_string()));
            Ok((
                conversation,
                before,
                run.map_err(|reason| (reason, so_far)),
                key,
            ))
        };
        ctx.spawn(
            continuing
                .into_actor(self)
                .map(move |sent, actor, ctx| match sent {
                    Ok((conversation, before, Ok(run), key)) => {
                        actor.watch(at, conversation, before, run, key, ctx);
                    }
                    Ok((_, _, Err((reason, so_far)), _)) => {
                        actor.not_conversing(at, reason, so_far, ctx);
                    }
                    Err(reason) => actor.not_conversing(at, reason, Spent::default(), ctx),
                }),
        );
    }

    fn watch(
        &mut self,
        at: StepPlace,
        conversation: OpenedConversation,
        before: Totals,
        run: RunId,
        key: String,
        ctx: &mut Context<Self>,
    ) {
        self.is_sending = false;
        self.conversing = Some(WatchedConversation {
            at,
            conversation: conversation.clone(),
            before,
            since: Instant::now(),
            idle: Idle::behind(conversation.journal.end().seq),
            asks: None,
        });
        let linked = WorkflowInput::ConversationLinked {
            at,
            conversation: conversation.journal.header().conversation.to_string(),
            run,
        };
        self.advance(linked, ctx);
        self.count_replies(run, ctx);
        let prices = Arc::clone(&self.parts.prices);
        let waiting = async move {
            let outcome = conversation.actor.send(WaitForEnd { run }).await;
            let found = found_end(&conversation, &key, &*prices).await;
            ended(outcome.ok().flatten().as_ref(), found)
        };
        ctx.spawn(waiting.into_actor(self).map(move |ended, actor, ctx| {
            actor.conversing = None;
            let ConversationEnd {
                end: ended,
                trouble,
            } = ended;
            match trouble {
                Some((PauseReason::ProviderDown, detail)) => {
                    let down = WorkflowInput::ProviderDown { at, ended, detail };
                    return actor.advance(down, ctx);
                }
                Some((reason, detail)) => {
                    actor.advance(WorkflowInput::Trouble { reason, detail }, ctx);
                }
                None => {}
            }
            actor.advance(WorkflowInput::RunEnded { at, ended }, ctx);
        }));
    }

    /// Counts the usage of the run, now and after each of its replies.
    fn count_replies(&mut self, run: RunId, ctx: &mut Context<Self>) {
        let Some(watched) = &self.conversing else {
            return;
        };
        // Before the look, which sees what was counted until then.
        let replied = watched.conversation.actor.send(WaitForReply { run });
        self.tick(ctx);
        ctx.spawn(replied.into_actor(self).map(move |goes_on, actor, ctx| {
            if goes_on.unwrap_or_default() {
                actor.count_replies(run, ctx);
            }
        }));
    }

    /// The key of an attempt's prompt.
    fn key(&self, at: StepPlace) -> String {
        format!("{}/{}/{}", self.id, at.n, at.attempt)
    }

    /// Ends an attempt whose conversation takes no order. `spent` is what it has used up in earlier runs.
    fn not_conversing(
        &mut self,
        at: StepPlace,
        reason: String,
        spent: Spent,
        ctx: &mut Context<Self>,
    ) {
        self.is_sending = false;
        let ended = RunEnd {
            status: RunStatus::Failed,
            spent,
            last_text: reason,
        };
        self.advance(WorkflowInput::RunEnded { at, ended }, ctx);
    }

    /// Cancels the run of a conversation. One that a crash left, and that is not gone on with, ends here, since
    /// nothing waits for its end.
    pub(super) fn cancel_run(&mut self, at: StepPlace, id: String, ctx: &mut Context<Self>) {
        let directory = self.parts.directory.clone();
        let workflow = self.id.clone();
        let is_left = self.conversing.is_none() && !self.is_sending;
        let (key, prices) = (self.key(at), Arc::clone(&self.parts.prices));
        let cancelling = async move {
            let conversation = open(&directory, &ConversationId::new(&id)).await?;
            let order = CancelRun {
                run: None,
                by: Some(format!("workflow {workflow}")),
                clear_queue: true,
            };
            let cancelled = conversation.actor.send(order).await;
            cancelled.map_err(|error| error.to_string())?;
            if !is_left {
                return Ok(None);
            }
            let now = totals(&conversation).await?;
            let ended = given_up(&*conversation.journal, &key, &now, &*prices).await;
            ended.map(Some).map_err(|error| error.to_string())
        };
        ctx.spawn(
            cancelling
                .into_actor(self)
                .map(move |done, actor, ctx| match done {
                    Ok(Some(ended)) => actor.advance(WorkflowInput::RunEnded { at, ended }, ctx),
                    Ok(None) => {}
                    Err(reason) => {
                        log::warn!("{}: a run was not cancelled: {reason}", actor.id);
                        if is_left {
                            actor.not_conversing(at, reason, Spent::default(), ctx);
                        }
                    }
                }),
        );
    }

    /// Looks at the conversation that works: what it has used up, and whether it waits for a person.
    pub(super) fn tick(&mut self, ctx: &mut Context<Self>) {
        let Some(conversing) = &self.conversing else {
            return;
        };
        let asked = conversing.conversation.actor.send(GetOverview);
        let (journal, idle) = (
            Arc::clone(&conversing.conversation.journal),
            conversing.idle,
        );
        let looking = async move { (asked.await, idle.read_on(&*journal).await) };
        ctx.spawn(
            looking
                .into_actor(self)
                .map(|(overview, idle), actor, ctx| {
                    let (Ok(Ok(overview)), Some(conversing)) = (overview, &mut actor.conversing)
                    else {
                        return;
                    };
                    if let Ok(idle) = idle
                        && idle.is_newer_than(&conversing.idle)
                    {
                        conversing.idle = idle;
                    }
                    let at = conversing.at;
                    let attempt_ms = u64::try_from(conversing.since.elapsed().as_millis());
                    let idle_ms = conversing.idle.ms_at(actor.parts.clock.unix_millis());
                    let attempt_ms = attempt_ms.unwrap_or(u64::MAX).saturating_sub(idle_ms);
                    let (before, prices) = (&conversing.before, &*actor.parts.prices);
                    // The conversation itself keeps its requests within the rest of the money.
                    let spent = used(before, &overview.totals, attempt_ms, prices);
                    let asks = overview
                        .approval
                        .as_ref()
                        .map(|approval| approval.tool.clone());
                    let is_news = asks != conversing.asks;
                    conversing.asks.clone_from(&asks);
                    let conversation = conversing.conversation.clone();
                    let tick = WorkflowInput::BudgetTick {
                        at,
                        spent,
                        attempt_ms,
                    };
                    actor.advance(tick, ctx);
                    if !is_news {
                        return;
                    }
                    let manifest = actor.manifest();
                    let denies = manifest
                        .is_some_and(|manifest| manifest.permissions.asks == QuestionPolicy::Deny);
                    match overview.approval.filter(|_| denies) {
                        Some(approval) => deny(&conversation, approval.id, &actor.id),
                        None => actor.advance(WorkflowInput::ConversationAsks { at, asks }, ctx),
                    }
                }),
        );
    }
}

/// Denies an approval in a workflow that asks no person.
fn deny(conversation: &OpenedConversation, id: u64, workflow: &str) {
    let order = AnswerOrder {
        answer: Verdict::Deny,
        digest: None,
        scope: Scope::default(),
        message: Some("this workflow asks no person; do it without".to_owned()),
        stop: false,
        by: Some(format!("workflow {workflow}")),
        key: None,
    };
    if let Err(error) = conversation.actor.try_send(AnswerApproval { id, order }) {
        log::warn!("{workflow}: an approval was not denied: {error}");
    }
}

async fn open(directory: &Directory, id: &ConversationId) -> Result<OpenedConversation, String> {
    let opened = directory
        .open
        .send(OpenConversation { id: id.clone() })
        .await;
    let opened = opened.map_err(|error| error.to_string())?;
    opened.map_err(|error| error.to_string())
}

async fn totals(conversation: &OpenedConversation) -> Result<Totals, String> {
    let overview = conversation.actor.send(GetOverview).await;
    let overview = overview.map_err(|error| error.to_string())?;
    overview
        .map(|overview| overview.totals)
        .map_err(|error| error.to_string())
}

/// The end of the run of that key. One that a crash left open and that nothing continues has failed.
async fn found_end(
    conversation: &OpenedConversation,
    key: &str,
    prices: &dyn PriceList,
) -> Result<FoundRun, String> {
    let journal = &*conversation.journal;
    let found = find(journal, key, prices).await;
    let found = found.map_err(|error| error.to_string())?;
    if found != FoundRun::Open {
        return Ok(found);
    }
    let now = totals(conversation).await?;
    let left = given_up(journal, key, &now, prices).await;
    let left = left.map_err(|error| error.to_string())?;
    Ok(FoundRun::Ended(RunEnd {
        status: RunStatus::Failed,
        last_text: LEFT_OPEN.to_owned(),
        ..left
    }))
}

/// Sends the prompt. A conversation that is busy with a client's prompt is waited for.
async fn submitted(
    conversation: &OpenedConversation,
    submit: &SubmitPrompt,
) -> Result<RunId, String> {
    let mut tries = 0;
    loop {
        let sent = conversation.actor.send(submit.clone()).await;
        match sent.map_err(|error| error.to_string())? {
            Ok(run) => return Ok(run),
            Err(SubmitError::Busy) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn settings(manifest: &Manifest, falls_back: bool) -> Settings {
    Settings {
        model: manifest.permissions.model.clone(),
        // Nobody watches what is searched for.
        web_search: Some(WebSearch::Off),
        web_fetch: Some(false),
        // Nobody is there to ask another model.
        refusal_fallback: falls_back.then_some(RefusalFallback::On),
        ..Settings::default()
    }
}

/// The rights of the model: the mode and rules of the file, and none over what is protected.
fn rules(manifest: &Manifest) -> RunRules {
    let mode: Result<ApprovalMode, _> =
        serde_json::from_value(manifest.permissions.mode.clone().into());
    let protected = manifest.protect.paths.iter();
    let deny = protected.flat_map(|path| [format!("edit({path})"), format!("write({path})")]);
    RunRules {
        mode: mode.ok(),
        allow: manifest.permissions.allow.clone(),
        deny: deny.collect(),
    }
}

fn ended(outcome: Option<&RunOutcome>, found: Result<FoundRun, String>) -> ConversationEnd {
    let trouble = match outcome {
        Some(RunOutcome::Failed(failure)) => trouble(&failure.error),
        Some(RunOutcome::NotKept(reason)) => Some((PauseReason::Storage, reason.clone())),
        Some(RunOutcome::Ended { .. } | RunOutcome::Cancelled) | None => None,
    };
    let failed = |last_text: String| RunEnd {
        status: RunStatus::Failed,
        spent: Spent::default(),
        last_text,
    };
    let end = match found {
        Ok(FoundRun::Ended(end)) => end,
        Ok(FoundRun::NotSent | FoundRun::Open) => failed(LEFT_OPEN.to_owned()),
        Err(error) => failed(error),
    };
    ConversationEnd { end, trouble }
}

/// The provider's trouble that a failure means for the workflow. `None` if it may be the request's fault.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "watches: what else fails is of the request"
)]
fn trouble(error: &ModelError) -> Option<(PauseReason, String)> {
    let is_silent = matches!(
        error,
        ModelError::Connection { .. }
            | ModelError::NoAnswer { .. }
            | ModelError::Stalled { .. }
            | ModelError::Truncated
    );
    let reason = match error {
        ModelError::Api { status, .. } => match status {
            401 | 403 => PauseReason::ProviderAuth,
            402 => PauseReason::ProviderQuota,
            408 | 429 | 500.. => PauseReason::ProviderDown,
            _ => return None,
        },
        ModelError::Key { .. } => PauseReason::ProviderAuth,
        ModelError::SpendingLimit { .. } => {
            let detail = format!("{error}; resume with more");
            return Some((PauseReason::BudgetCost, detail));
        }
        _ if is_silent => PauseReason::ProviderDown,
        _ => return None,
    };
    Some((reason, error.to_string()))
}
