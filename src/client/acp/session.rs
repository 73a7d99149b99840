//! A session: a conversation that an editor follows.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use harness_protocol::{AnswerOrder, Approval, ChangeSettings, Verdict};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep_until};

use crate::client::acp::content::EditorPrompt;
use crate::client::acp::errands::{ErrandEnd, SessionErrands};
use crate::client::acp::lines::EditorOutbox;
use crate::client::acp::message::RpcError;
use crate::client::acp::options::SessionOptions;
use crate::client::acp::pending::PendingPrompt;
use crate::client::acp::permission::{permission_answer, permission_options};
use crate::client::acp::run_end::{PromptEnd, lost_run_end};
use crate::client::acp::service::{AcpService, OfferedCommand, PromptReceipt};
use crate::client::acp::tool_call::asked_call;
use crate::client::acp::view::{SessionOutput, SessionView};
use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom, FollowerEvent};

/// Time between two updates with the output of running calls.
const OUTPUT_PAUSE: Duration = Duration::from_millis(200);
/// Time after the beginning of a break at which prompts are answered with an error.
const MAX_BREAK: Duration = Duration::from_secs(10);
/// Number of events of the past that open calls are looked for in, if the past is not sent.
const TAIL: usize = 200;
/// Time until a prompt is sent again that was refused for a run which this session does not see.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// An order of the editor for a session.
#[derive(Debug)]
pub(super) enum SessionOrder {
    /// Send a prompt; the request is answered at the end of its run.
    Prompt {
        /// The request of the editor.
        request: Value,
        /// The prompt.
        prompt: EditorPrompt,
    },
    /// Cancel what runs.
    Cancel,
    /// Cancel the prompt of that request, if it is one of this session.
    CancelRequest(Value),
    /// Take an answer about an approval; none if the editor refused.
    Permission {
        /// The approval.
        approval: u64,
        /// The answer of the editor.
        result: Option<Value>,
    },
    /// Change settings.
    Change {
        /// The request of the editor.
        request: Value,
        /// The change.
        change: ChangeSettings,
        /// True if the answer has the options.
        wants_options: bool,
    },
    /// End the session, and cancel what this editor has prompted.
    Close {
        /// The request of the editor.
        request: Value,
    },
    /// End the session, for this reason.
    End(&'static str),
    /// Carry out what was ordered, and end: the editor has left.
    Leave,
}

/// The beginning of a session.
pub(super) struct SessionStart {
    /// The conversation.
    pub(super) conversation: String,
    /// Its folder.
    pub(super) folder: String,
    /// True if the past is sent; that of a new conversation is what happens while it is opened.
    pub(super) has_past: bool,
    /// The request that is answered once everything up to now was received.
    pub(super) opening: Option<Value>,
    /// The settings to choose.
    pub(super) options: SessionOptions,
    /// True if the editor shows notices.
    pub(super) has_notices: bool,
}

/// A session that runs.
pub(super) struct AcpSession {
    service: Rc<AcpService>,
    outbox: Rc<EditorOutbox>,
    start: SessionStart,
    view: SessionView,
    link: SessionLink,
    /// Hands answers of the editor back to this session.
    orders: UnboundedSender<SessionOrder>,
    prompts: Vec<PendingPrompt>,
    /// The approvals that the editor is asked about, with the requests.
    permissions: BTreeMap<u64, (Approval, u64)>,
    /// The approvals that the editor has answered, until the service says so.
    answered: BTreeSet<u64>,
    commands: Vec<OfferedCommand>,
    errands: SessionErrands,
    /// The time of the next update with output.
    output_due: Option<Instant>,
}

/// The stream of the conversation.
#[derive(Default)]
struct SessionLink {
    /// None once it was given up.
    follower: Option<EventFollower>,
    /// The end of the wait before the next try.
    resume_at: Option<Instant>,
    /// The position of the stream.
    position: Option<String>,
    /// True once everything of the past was received.
    is_attached: bool,
    /// The beginning of the present break.
    down_since: Option<Instant>,
}

impl SessionLink {
    /// The next step. May be dropped and asked again: nothing is lost.
    async fn next(&mut self) -> Result<FollowerEvent, ApiError> {
        let Some(follower) = &mut self.follower else {
            return pending().await;
        };
        if let Some(resume_at) = self.resume_at {
            sleep_until(resume_at).await;
            self.resume_at = None;
        }
        follower.next().await
    }
}

impl AcpSession {
    /// A session that has not begun.
    pub(super) fn new(
        start: SessionStart,
        service: Rc<AcpService>,
        outbox: Rc<EditorOutbox>,
        orders: UnboundedSender<SessionOrder>,
    ) -> Self {
        let from = match start.has_past {
            true => FollowFrom::After("0".to_owned()),
            false => FollowFrom::Snapshot(TAIL),
        };
        // An editor may have messages of an earlier process.
        let prefix = format!("{:08x}", fastrand::u32(..));
        let mut session = Self {
            view: SessionView::new(&prefix, start.folder.clone(), start.has_notices),
            errands: SessionErrands::new(Rc::clone(&service), start.conversation.clone()),
            service,
            outbox,
            start,
            link: SessionLink::default(),
            orders,
            prompts: Vec::new(),
            permissions: BTreeMap::new(),
            answered: BTreeSet::new(),
            commands: Vec::new(),
            output_due: None,
        };
        session.follow(from);
        session
    }

    /// Follows the conversation until the editor closes the session or leaves.
    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<SessionOrder>) {
        loop {
            let output_due = self.output_due;
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(SessionOrder::Close { request }) => return self.close(&request).await,
                    Some(SessionOrder::End(reason)) => return self.give_up(reason).await,
                    Some(SessionOrder::Leave) | None => return self.leave().await,
                    Some(order) => self.obey(order).await,
                },
                Some(end) = self.errands.next() => self.errand_ended(end).await,
                step = self.link.next() => self.step(step).await,
                () = sleep_until(output_due.unwrap_or_else(Instant::now)), if output_due.is_some() => {
                    self.output_due = None;
                    let outputs = self.view.new_output();
                    self.send_all(outputs).await;
                }
            }
        }
    }

    /// Opens the stream of the conversation.
    fn follow(&mut self, from: FollowFrom) {
        let (config, name) = (self.service.config(), self.service.name.borrow());
        let (patience, conversation) = (AcpService::patience(), &self.start.conversation);
        let follower = EventFollower::new(config, patience, conversation, &name, from);
        self.link.follower = Some(follower);
        self.link.is_attached = false;
    }

    async fn step(&mut self, step: Result<FollowerEvent, ApiError>) {
        match step {
            Ok(FollowerEvent::Snapshot { snapshot, .. }) => {
                self.link.position = Some(snapshot.position.clone());
                let outputs = self.view.begin(*snapshot);
                self.send_all(outputs).await;
            }
            Ok(FollowerEvent::Event(arrival)) => {
                if let Some(position) = arrival.position {
                    self.link.position = Some(position.to_string());
                }
                let outputs = self.view.outputs(arrival.event);
                self.send_all(outputs).await;
                if self.view.has_new_output() && self.output_due.is_none() {
                    self.output_due = Some(Instant::now() + OUTPUT_PAUSE);
                }
            }
            Ok(FollowerEvent::Invalid { reason }) => {
                log::warn!("the event stream contains something that is not an event: {reason}");
            }
            Ok(FollowerEvent::Down { error, wait, .. }) => {
                log::info!("{error}; attaching again in {wait:?}");
                let now = Instant::now();
                self.link.resume_at = Some(now + wait);
                let is_long = now - *self.link.down_since.get_or_insert(now) >= MAX_BREAK;
                if is_long && self.has_waiting_requests() {
                    self.fail(&error).await;
                }
            }
            Ok(FollowerEvent::Found(_) | FollowerEvent::Workflow { .. } | FollowerEvent::Up) => {}
            Err(error) => {
                self.link.follower = None;
                self.fail(&error).await;
            }
        }
    }

    /// True if requests of the editor or questions to it have no answer.
    fn has_waiting_requests(&self) -> bool {
        !self.prompts.is_empty() || !self.permissions.is_empty() || self.start.opening.is_some()
    }

    /// Answers everything with an error.
    async fn fail(&mut self, error: &ApiError) {
        let reason = format!("{error}; the conversation is kept");
        log::warn!("{reason}");
        self.give_up(&reason).await;
    }

    async fn send_all(&mut self, outputs: Vec<SessionOutput>) {
        for output in outputs {
            match output {
                SessionOutput::Update(update) => self.send_update(&update).await,
                SessionOutput::Asked(approval) => self.ask_permission(*approval).await,
                SessionOutput::Closed(id) => {
                    self.answered.remove(&id);
                    if let Some((_, request)) = self.permissions.remove(&id) {
                        self.outbox.withdraw(request).await;
                    }
                }
                SessionOutput::Taken { key, run } => self.accept(&key, run),
                SessionOutput::Ended { run, end } => {
                    let is_its = |prompt: &PendingPrompt| prompt.run == Some(run);
                    self.end_prompts(is_its, &end).await;
                    self.send_waiting(Duration::ZERO);
                }
                SessionOutput::NewSettings if self.link.is_attached => self.errands.find_options(),
                SessionOutput::NewSettings => {}
                SessionOutput::Attached => self.attached().await,
            }
        }
    }

    /// Everything of the past was sent.
    async fn attached(&mut self) {
        self.link.is_attached = true;
        self.link.down_since = None;
        if let Some(request) = self.start.opening.take() {
            let options = &self.start.options;
            let result =
                json!({"modes": options.modes(), "configOptions": options.config_options()});
            self.outbox.answer(&request, &result).await;
        }
        for approval in self.view.open_approvals() {
            self.ask_permission(approval).await;
        }
        let runs: Vec<u64> = self
            .prompts
            .iter()
            .filter_map(|prompt| prompt.run)
            .collect();
        // Of later runs the stream knows nothing yet.
        let (now, last) = (self.view.run(), self.view.last_run());
        let is_over = |run: &u64| now != Some(*run) && *run <= last;
        for run in runs.into_iter().filter(is_over) {
            let end = self.view.end_of_run(run).unwrap_or_else(lost_run_end);
            self.end_prompts(|prompt| prompt.run == Some(run), &end)
                .await;
        }
        self.errands.find_options();
        self.errands.find_commands(self.start.folder.clone());
        if self.view.run().is_none() {
            self.send_waiting(Duration::ZERO);
        }
    }

    async fn send_update(&self, update: &Value) {
        let params = json!({"sessionId": self.start.conversation, "update": update});
        self.outbox.notify("session/update", &params).await;
    }

    async fn obey(&mut self, order: SessionOrder) {
        match order {
            SessionOrder::Prompt { request, prompt } => self.prompt(request, prompt),
            SessionOrder::Cancel => self.cancel().await,
            SessionOrder::CancelRequest(request) => {
                self.cancel_prompts(|prompt| prompt.request == request)
                    .await;
            }
            SessionOrder::Permission { approval, result } => self.permit(approval, result.as_ref()),
            SessionOrder::Change {
                request,
                change,
                wants_options,
            } => self.errands.change(request, change, wants_options),
            // These end the session before.
            SessionOrder::Close { .. } | SessionOrder::End(_) | SessionOrder::Leave => {}
        }
    }

    fn prompt(&mut self, request: Value, prompt: EditorPrompt) {
        let key = format!("acp-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        self.view.expect(&key);
        // It starts the service where none runs.
        self.link.down_since = None;
        // After the stream was given up, the prompt starts the service.
        if self.link.follower.is_none() {
            let from = match self.link.position.clone() {
                Some(position) => FollowFrom::After(position),
                None => FollowFrom::Snapshot(TAIL),
            };
            self.follow(from);
        }
        let prompt = PendingPrompt::new(request, key, prompt);
        self.errands
            .send(&prompt, &self.start.folder, Duration::ZERO);
        self.prompts.push(prompt);
    }

    /// Sends the first prompt that waits for the end of a run, after a while.
    fn send_waiting(&mut self, after: Duration) {
        if let Some(prompt) = self.prompts.iter_mut().find(|prompt| prompt.is_waiting) {
            prompt.is_waiting = false;
            self.errands.send(prompt, &self.start.folder, after);
        }
    }

    async fn errand_ended(&mut self, end: ErrandEnd) {
        match end {
            ErrandEnd::Sent { key, sent } => self.prompt_sent(&key, sent).await,
            ErrandEnd::Changed {
                request,
                wants_options,
                options: Ok(options),
            } => {
                let result = match wants_options {
                    true => json!({"configOptions": options.config_options()}),
                    false => json!({}),
                };
                self.outbox.answer(&request, &result).await;
                self.show_options(options).await;
            }
            ErrandEnd::Changed {
                request,
                options: Err(error),
                ..
            } => self.outbox.send(error.answer(&request)).await,
            ErrandEnd::Options(options) => self.show_options(options).await,
            ErrandEnd::Commands(commands) => self.show_commands(commands).await,
            // The operator is asked again.
            ErrandEnd::NotAnswered(id) => {
                self.answered.remove(&id);
                let mut open = self.view.open_approvals().into_iter();
                if let Some(approval) = open.find(|open| open.id == id)
                    && self.link.is_attached
                {
                    self.ask_permission(approval).await;
                }
            }
            ErrandEnd::Done => {}
        }
    }

    async fn prompt_sent(&mut self, key: &str, sent: PromptReceipt) {
        match sent {
            PromptReceipt::Accepted(run) => {
                self.link.resume_at = None;
                self.accept(key, run);
                // Its run may have ended before the answer came.
                if let Some(end) = self.view.end_of_run(run) {
                    let is_its = |prompt: &PendingPrompt| prompt.run == Some(run);
                    self.end_prompts(is_its, &end).await;
                }
            }
            PromptReceipt::Busy => {
                let is_cancelled =
                    |prompt: &PendingPrompt| prompt.key == key && prompt.is_cancelled;
                self.end_prompts(is_cancelled, &Ok("cancelled")).await;
                if let Some(prompt) = self.prompts.iter_mut().find(|prompt| prompt.key == key) {
                    prompt.is_waiting = true;
                }
                // Its end may have come before, or its beginning comes after.
                if self.view.run().is_none() {
                    self.send_waiting(BUSY_PAUSE);
                }
            }
            PromptReceipt::Refused(reason) => {
                // One that is in a run was accepted, though its answer was lost.
                let is_it = |prompt: &PendingPrompt| prompt.key == key && prompt.run.is_none();
                self.end_prompts(is_it, &Err(reason)).await;
                if self.view.run().is_none() {
                    self.send_waiting(Duration::ZERO);
                }
            }
        }
    }

    /// Notes the run of a prompt, and cancels it if the prompt was cancelled meanwhile.
    fn accept(&mut self, key: &str, run: u64) {
        let mut prompts = self.prompts.iter_mut();
        if let Some(prompt) = prompts.find(|prompt| prompt.key == key) {
            let is_known = prompt.run.replace(run) == Some(run);
            if prompt.is_cancelled && !is_known {
                self.errands.cancel(run);
            }
        }
    }

    /// Cancels the prompts of the editor, or the run of another client if there are none.
    async fn cancel(&mut self) {
        if self.prompts.is_empty()
            && let Some(run) = self.view.run()
        {
            self.errands.cancel(run);
        }
        self.cancel_prompts(|_| true).await;
    }

    async fn cancel_prompts(&mut self, is_meant: impl Fn(&PendingPrompt) -> bool) {
        for prompt in &mut self.prompts {
            if is_meant(prompt) {
                prompt.is_cancelled = true;
                if let Some(run) = prompt.run {
                    self.errands.cancel(run);
                }
            }
        }
        let is_held = |prompt: &PendingPrompt| prompt.is_cancelled && prompt.is_waiting;
        self.end_prompts(is_held, &Ok("cancelled")).await;
    }

    /// Answers the requests of prompts.
    async fn end_prompts(&mut self, is_meant: impl Fn(&PendingPrompt) -> bool, end: &PromptEnd) {
        for prompt in self.prompts.extract_if(.., |prompt| is_meant(prompt)) {
            self.outbox.send(prompt.answer(end)).await;
        }
    }

    /// Answers all requests, and takes all questions back.
    async fn give_up(&mut self, reason: &str) {
        if let Some(request) = self.start.opening.take() {
            let error = RpcError::failed(reason);
            self.outbox.send(error.answer(&request)).await;
        }
        self.end_prompts(|_| true, &Err(reason.to_owned())).await;
        for (_, request) in std::mem::take(&mut self.permissions).into_values() {
            self.outbox.withdraw(request).await;
        }
    }

    async fn ask_permission(&mut self, approval: Approval) {
        let id = approval.id;
        if self.permissions.contains_key(&id) || self.answered.contains(&id) {
            return;
        }
        let params = json!({
            "sessionId": self.start.conversation,
            "toolCall": asked_call(&approval),
            "options": permission_options(&approval),
        });
        let orders = self.orders.clone();
        let on_answer = move |result| {
            // The session may have ended.
            drop(orders.send(SessionOrder::Permission {
                approval: id,
                result,
            }));
        };
        let asking = self
            .outbox
            .ask("session/request_permission", &params, Box::new(on_answer));
        let request = asking.await;
        self.permissions.insert(id, (approval, request));
    }

    fn permit(&mut self, id: u64, result: Option<&Value>) {
        let Some((approval, _)) = self.permissions.remove(&id) else {
            return;
        };
        let Some((answer, scope)) = result.and_then(permission_answer) else {
            log::info!("approval {id} was not answered by the editor and waits for other clients");
            return;
        };
        let order = AnswerOrder {
            answer,
            digest: (answer == Verdict::Allow).then_some(approval.digest),
            scope,
            message: None,
            stop: false,
            by: None,
            key: None,
        };
        self.answered.insert(id);
        self.errands.answer(id, order);
    }

    async fn show_options(&mut self, options: SessionOptions) {
        let before = std::mem::replace(&mut self.start.options, options);
        let options = &self.start.options;
        if *options == before {
            return;
        }
        if options.mode() != before.mode() {
            let update =
                json!({"sessionUpdate": "current_mode_update", "currentModeId": options.mode()});
            self.send_update(&update).await;
        }
        let update = json!({
            "sessionUpdate": "config_option_update", "configOptions": options.config_options(),
        });
        self.send_update(&update).await;
    }

    async fn show_commands(&mut self, commands: Vec<OfferedCommand>) {
        if self.commands == commands {
            return;
        }
        self.commands = commands;
        let offered = self.commands.iter().map(|command| {
            json!({
                "name": command.name, "description": command.description,
                "input": {"hint": "further instructions"},
            })
        });
        let update = json!({
            "sessionUpdate": "available_commands_update",
            "availableCommands": offered.collect::<Vec<_>>(),
        });
        self.send_update(&update).await;
    }

    /// Waits for what was ordered last.
    async fn leave(mut self) {
        while self.errands.next().await.is_some() {}
    }

    /// Ends the session, and cancels the prompts of this editor.
    async fn close(mut self, request: &Value) {
        self.cancel_prompts(|_| true).await;
        while let Some(end) = self.errands.next().await {
            self.errand_ended(end).await;
        }
        self.give_up("the session was closed").await;
        self.outbox.answer(request, &json!({})).await;
    }
}
