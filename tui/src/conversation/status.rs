//! The state of the conversation.

use std::time::Duration;

use harness_protocol::{
    ActivityState, ConversationSnapshot, ConversationState, Event, Family, Job, Settings,
    TokenUsage, words,
};

use super::context::Context;

/// The words for a state while the past is being summarized.
const COMPACTING: &str = "compacting";

/// Facts about the conversation beside its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConversationStatus {
    /// The conversation; empty before the first snapshot.
    pub(crate) conversation: String,
    /// Its title.
    pub(crate) title: Option<String>,
    /// The folder that it works in, absolute; unknown if the service does not tell.
    pub(crate) folder: Option<String>,
    /// Its state.
    pub(crate) state: ActivityState,
    /// The subject of the state; may be empty.
    pub(crate) message: String,
    /// The tool that runs.
    pub(crate) tool: Option<String>,
    /// The time at which the state was entered, on the clock of the caller.
    pub(crate) since: Duration,
    /// The run that is going.
    pub(crate) run_id: Option<u64>,
    /// The time at which that run began, on the same clock. `None` if it began before the client learned of it.
    pub(crate) run_since: Option<Duration>,
    /// The run that a client began without a prompt, and its name.
    pub(crate) starter: Option<(u64, String)>,
    /// The turn of the run, counted from 1; 0 before the first one.
    pub(crate) turn: u32,
    /// The model that replied last, or that will be asked.
    pub(crate) model: Option<String>,
    /// The token counts of all runs that have ended.
    pub(crate) usage: TokenUsage,
    /// The part of the model's window that is used. `None` before the first loaded reply.
    pub(crate) context: Option<Context>,
    /// Number of clients that are attached.
    pub(crate) clients: usize,
    /// The names of those that gave one.
    pub(crate) names: Vec<String>,
    /// Number of events of no known type.
    pub(crate) unknown: u64,
    /// The differences from the service's settings.
    pub(crate) settings: Settings,
    /// The past is being summarized.
    pub(crate) is_compacting: bool,
    /// The jobs in the background.
    pub(crate) jobs: Vec<Job>,
}

impl ConversationStatus {
    pub(super) fn new() -> Self {
        Self {
            conversation: String::new(),
            title: None,
            folder: None,
            state: ActivityState::Idle,
            message: String::new(),
            tool: None,
            since: Duration::ZERO,
            run_id: None,
            run_since: None,
            starter: None,
            turn: 0,
            model: None,
            usage: TokenUsage::default(),
            context: None,
            clients: 0,
            names: Vec::new(),
            unknown: 0,
            settings: Settings::default(),
            is_compacting: false,
            jobs: Vec::new(),
        }
    }

    /// The client that began the run that is going, if no prompt did.
    pub(crate) fn begun_by(&self) -> Option<&str> {
        let (run, by) = self.starter.as_ref()?;
        (Some(*run) == self.run_id).then_some(by)
    }

    /// True if a run is active.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self.state,
            ActivityState::Thinking | ActivityState::RunningTool | ActivityState::WaitingApproval
        )
    }

    /// Begins with the state of a snapshot; events of its history come before.
    pub(super) fn restore(&mut self, snapshot: &ConversationSnapshot, now: Duration) {
        let summary = &snapshot.summary;
        let is_running = matches!(
            summary.state,
            ConversationState::Running | ConversationState::WaitingApproval
        );
        self.run_id = summary.run_id.filter(|_| is_running);
        self.conversation.clone_from(&summary.id);
        self.title.clone_from(&summary.title);
        self.folder.clone_from(&summary.workspace);
        self.usage = summary.usage;
        self.clients = snapshot.attached;
        self.jobs.clone_from(&snapshot.jobs);
        self.settings.clone_from(&snapshot.settings);
        if self.model.is_none() {
            self.model.clone_from(&snapshot.settings.model);
        }
        self.enter(snapshot.state, &snapshot.message, now);
    }

    /// Takes the state from an event. False if the event has none.
    pub(super) fn take(&mut self, event: &Event, now: Duration) -> bool {
        match event {
            Event::Status { state, message, .. } => self.enter(*state, message, now),
            Event::RunStarted { run_id, by, .. } => {
                self.run_id = Some(*run_id);
                self.run_since = Some(now);
                self.starter = by.clone().map(|by| (*run_id, by));
                self.turn = 0;
            }
            Event::User {
                content, run_id, ..
            } => {
                self.run_id = run_id.or(self.run_id);
                if self.title.is_none() {
                    self.title = words::title_of_prompt(content);
                }
            }
            Event::TurnStarted { run_id, turn, .. } => {
                self.run_id = Some(*run_id);
                self.turn = *turn;
            }
            Event::RunEnded { usage, .. } => {
                self.run_id = None;
                self.run_since = None;
                self.usage = *usage;
            }
            Event::ReplyEnded {
                model,
                usage,
                window,
                ..
            } => {
                self.model = Some(model.clone());
                self.context = Some(Context::counted(usage, *window));
            }
            Event::Renamed { title, .. } => self.title = Some(title.clone()),
            Event::Presence { count, names } => {
                self.clients = *count;
                self.names.clone_from(names);
            }
            Event::Attached {
                state,
                message,
                run_id,
                ..
            } => {
                self.run_id = *run_id;
                self.enter(*state, message, now);
            }
            Event::SettingsChanged { settings, .. } => {
                self.settings.clone_from(settings);
                // The model that is asked next is of more interest than the one that replied last.
                let next = settings.model.clone().or(self.model.clone());
                if next != self.model {
                    self.context = self.context.map(Context::for_another_model);
                }
                self.model = next;
            }
            Event::ApprovalAsked { approval, .. } => {
                self.enter(ActivityState::WaitingApproval, &approval.tool, now);
            }
            Event::JobStarted {
                job,
                call,
                command,
                timestamp,
            } => {
                self.jobs.retain(|known| known.job != *job);
                self.jobs.push(Job {
                    job: *job,
                    call: call.clone(),
                    command: command.clone(),
                    since: *timestamp,
                });
            }
            Event::JobEnded { job, .. } => self.jobs.retain(|known| known.job != *job),
            Event::CompactionStarted { .. } => self.is_compacting = true,
            Event::Compacted { tokens_after, .. } => {
                self.is_compacting = false;
                self.context = self.context.map(|now| now.summarized(*tokens_after));
            }
            Event::CompactionFailed { .. } => self.is_compacting = false,
            event if event.family() == Family::Foreign => self.unknown += 1,
            _ => return false,
        }
        true
    }

    /// Enters a state. A state that continues keeps its beginning.
    fn enter(&mut self, state: ActivityState, message: &str, now: Duration) {
        // The service's message during a summary.
        self.is_compacting = state == ActivityState::Thinking && message == COMPACTING;
        let tool = (state == ActivityState::RunningTool).then(|| message.to_owned());
        if (state, &tool) != (self.state, &self.tool) {
            self.since = now;
        }
        self.state = state;
        self.tool = tool;
        message.clone_into(&mut self.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: ActivityState, message: &str) -> Event {
        Event::Status {
            state,
            message: message.to_owned(),
            timestamp: 1,
        }
    }

    /// Spec: [PART-02]
    #[test]
    fn the_state_the_tool_and_the_beginning_are_known() {
        let mut known = ConversationStatus::new();
        let mut rows = Vec::new();
        for (second, state, message) in [
            (1, ActivityState::Thinking, ""),
            (2, ActivityState::Thinking, "retrying in 1.0 s"),
            (3, ActivityState::RunningTool, "grep"),
            (4, ActivityState::RunningTool, "grep"),
            (5, ActivityState::RunningTool, "read"),
            (6, ActivityState::Error, "busy"),
            (7, ActivityState::Idle, ""),
        ] {
            let now = Duration::from_secs(second);
            assert!(known.take(&status(state, message), now));
            let tool = known.tool.clone().unwrap_or_default();
            let since = known.since.as_secs();
            rows.push((
                known.state,
                known.message.clone(),
                tool,
                since,
                known.is_busy(),
            ));
        }
        let row = |state, message: &str, tool: &str, since, is_busy| {
            (state, message.to_owned(), tool.to_owned(), since, is_busy)
        };
        assert_eq!(
            rows,
            [
                row(ActivityState::Thinking, "", "", 1, true),
                row(ActivityState::Thinking, "retrying in 1.0 s", "", 1, true),
                row(ActivityState::RunningTool, "grep", "grep", 3, true),
                row(ActivityState::RunningTool, "grep", "grep", 3, true),
                row(ActivityState::RunningTool, "read", "read", 5, true),
                row(ActivityState::Error, "busy", "", 6, false),
                row(ActivityState::Idle, "", "", 7, false),
            ]
        );
    }
}
