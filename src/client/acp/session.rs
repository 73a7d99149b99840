//! A session: a conversation that an editor follows.

use std::collections::BTreeMap;
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
use crate::client::acp::run_end::PromptEnd;
use crate::client::acp::service::{AcpService, OfferedCommand, PromptPlace};
use crate::client::acp::tool_call::asked_call;
use crate::client::acp::view::{SessionOutput, SessionView};
use crate::client::api::error::ApiError;
use crate::client::api::follower::{EventFollower, FollowFrom, FollowerEvent};

/// Time between two updates with the output of running calls.
const OUTPUT_PAUSE: Duration = Duration::from_millis(200);

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
    /// End the session: another one takes its place.
    Replace,
}

/// The beginning of a session.
pub(super) struct SessionStart {
    /// The conversation.
    pub(super) conversation: String,
    /// Its folder.
    pub(super) folder: String,
    /// True if the past is sent; that of a new conversation is what happens while it is opened.
    pub(super) has_past: bool,
    /// The request that is answered once the past was sent.
    pub(super) loading: Option<Value>,
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
    permissions: BTreeMap<u64, (Box<Approval>, u64)>,
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

    /// True if orders can be carried out: the past was sent, or cannot be.
    fn takes_orders(&self) -> bool {
        self.is_attached || self.follower.is_none()
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
            false => FollowFrom::Snapshot(1),
        };
        let mut session = Self {
            view: SessionView::new(start.folder.clone(), start.has_notices),
            errands: SessionErrands::new(Rc::clone(&service), start.conversation.clone()),
            service,
            outbox,
            start,
            link: SessionLink::default(),
            orders,
            prompts: Vec::new(),
            permissions: BTreeMap::new(),
            commands: Vec::new(),
            output_due: None,
        };
        session.follow(from);
        session
    }

    /// Follows the conversation until the editor closes the session, or all senders of orders were dropped.
    pub(super) async fn run(mut self, mut orders: UnboundedReceiver<SessionOrder>) {
        loop {
            let output_due = self.output_due;
            tokio::select! {
                biased;
                order = orders.recv(), if self.link.takes_orders() => match order {
                    Some(SessionOrder::Close { request }) => return self.close(&request).await,
                    Some(SessionOrder::Replace) => {
                        return self.give_up("the session was loaded again").await;
                    }
                    Some(order) => self.obey(order),
                    None => return,
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
        let (config, name) = (&self.service.config, self.service.name.borrow());
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
                self.link.resume_at = Some(Instant::now() + wait);
            }
            Ok(FollowerEvent::Found(_) | FollowerEvent::Workflow { .. } | FollowerEvent::Up) => {}
            Err(error) => {
                self.link.follower = None;
                let reason = format!("{error}; the conversation is kept");
                log::warn!("{reason}");
                if let Some(request) = self.start.loading.take() {
                    let error = RpcError::failed(reason.clone());
                    self.outbox.send(error.answer(&request)).await;
                }
                self.give_up(&reason).await;
            }
        }
    }

    async fn send_all(&mut self, outputs: Vec<SessionOutput>) {
        for output in outputs {
            match output {
                SessionOutput::Update(update) => self.send_update(&update).await,
                SessionOutput::Asked(approval) => self.ask_permission(approval).await,
                SessionOutput::Closed(id) => {
                    if let Some((_, request)) = self.permissions.remove(&id) {
                        self.outbox.withdraw(request).await;
                    }
                }
                SessionOutput::Taken { key, run } => self.place(&key, PromptPlace::Run(run)),
                SessionOutput::Withdrawn(items) => {
                    let is_one = |prompt: &PendingPrompt| {
                        prompt.item.is_some_and(|item| items.contains(&item))
                    };
                    self.end_prompts(is_one, &Ok("cancelled")).await;
                }
                SessionOutput::Ended { run, end } => {
                    let is_its = |prompt: &PendingPrompt| prompt.run == Some(run);
                    self.end_prompts(is_its, &end).await;
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
        if let Some(request) = self.start.loading.take() {
            let options = &self.start.options;
            let result =
                json!({"modes": options.modes(), "configOptions": options.config_options()});
            self.outbox.answer(&request, &result).await;
        }
        self.errands.find_commands(self.start.folder.clone());
    }

    async fn send_update(&self, update: &Value) {
        let params = json!({"sessionId": self.start.conversation, "update": update});
        self.outbox.notify("session/update", &params).await;
    }

    fn obey(&mut self, order: SessionOrder) {
        match order {
            SessionOrder::Prompt { request, prompt } => self.prompt(request, prompt),
            SessionOrder::Cancel => self.cancel(),
            SessionOrder::CancelRequest(request) => {
                self.cancel_prompts(|prompt| prompt.request == request);
            }
            SessionOrder::Permission { approval, result } => self.permit(approval, result.as_ref()),
            SessionOrder::Change {
                request,
                change,
                wants_options,
            } => self.errands.change(request, change, wants_options),
            // These end the session before.
            SessionOrder::Close { .. } | SessionOrder::Replace => {}
        }
    }

    fn prompt(&mut self, request: Value, prompt: EditorPrompt) {
        let key = format!("acp-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        self.view.expect(&key);
        self.prompts.push(PendingPrompt::new(request, key.clone()));
        // After the stream was given up, the prompt starts the service.
        if self.link.follower.is_none() {
            let from = match self.link.position.clone() {
                Some(position) => FollowFrom::After(position),
                None => FollowFrom::Snapshot(1),
            };
            self.follow(from);
        }
        self.errands.send(key, prompt, self.start.folder.clone());
    }

    async fn errand_ended(&mut self, end: ErrandEnd) {
        match end {
            ErrandEnd::Sent {
                key,
                sent: Ok(place),
            } => {
                self.place(&key, place);
                // Its run may have ended before the answer came.
                if let PromptPlace::Run(run) = place
                    && let Some(end) = self.view.end_of_run(run)
                {
                    let is_its = |prompt: &PendingPrompt| prompt.run == Some(run);
                    self.end_prompts(is_its, &end).await;
                }
            }
            ErrandEnd::Sent {
                key,
                sent: Err(reason),
            } => {
                self.end_prompts(|prompt| prompt.key == key, &Err(reason))
                    .await;
            }
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
            ErrandEnd::Done => {}
        }
    }

    /// Notes the place of a prompt, and takes it from there if it was cancelled meanwhile.
    fn place(&mut self, key: &str, place: PromptPlace) {
        let mut prompts = self.prompts.iter_mut();
        let Some(prompt) = prompts.find(|prompt| prompt.key == key) else {
            return;
        };
        match place {
            PromptPlace::Run(run) => {
                let is_known = prompt.run.replace(run) == Some(run);
                prompt.item = None;
                if prompt.is_cancelled && !is_known {
                    self.errands.cancel(run);
                }
            }
            // It may have been taken out of the queue by now.
            PromptPlace::Queue(item) if prompt.run.is_none() => {
                prompt.item = Some(item);
                if prompt.is_cancelled {
                    self.errands.withdraw(item);
                }
            }
            PromptPlace::Queue(_) => {}
        }
    }

    /// Cancels the prompts of the editor, or the run of another client if there are none.
    fn cancel(&mut self) {
        if self.prompts.is_empty()
            && let Some(run) = self.view.run()
        {
            self.errands.cancel(run);
        }
        self.cancel_prompts(|_| true);
    }

    fn cancel_prompts(&mut self, is_meant: impl Fn(&PendingPrompt) -> bool) {
        for prompt in &mut self.prompts {
            if is_meant(prompt) && !prompt.is_cancelled {
                prompt.is_cancelled = true;
                match (prompt.run, prompt.item) {
                    (Some(run), _) => self.errands.cancel(run),
                    (None, Some(item)) => self.errands.withdraw(item),
                    // It is on its way.
                    (None, None) => {}
                }
            }
        }
    }

    /// Answers the requests of prompts.
    async fn end_prompts(&mut self, is_meant: impl Fn(&PendingPrompt) -> bool, end: &PromptEnd) {
        for prompt in self.prompts.extract_if(.., |prompt| is_meant(prompt)) {
            self.outbox.send(prompt.answer(end)).await;
        }
    }

    /// Answers all prompts, and takes all questions back.
    async fn give_up(&mut self, reason: &str) {
        self.end_prompts(|_| true, &Err(reason.to_owned())).await;
        for (_, request) in std::mem::take(&mut self.permissions).into_values() {
            self.outbox.withdraw(request).await;
        }
    }

    async fn ask_permission(&mut self, approval: Box<Approval>) {
        let id = approval.id;
        if self.permissions.contains_key(&id) {
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

    /// Ends the session, and cancels the prompts of this editor.
    async fn close(mut self, request: &Value) {
        self.cancel_prompts(|_| true);
        while let Some(end) = self.errands.next().await {
            self.errand_ended(end).await;
        }
        self.give_up("the session was closed").await;
        self.outbox.answer(request, &json!({})).await;
    }
}
