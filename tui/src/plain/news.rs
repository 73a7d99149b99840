//! The output of the client without a screen for the link's news.

use harness_protocol::{
    ActivityState, ConversationSnapshot, ConversationState, ConversationSummary, EndOutcome, Event,
    words,
};

use super::machine::{CANCELLED, PlainMachine};
use crate::board::{BoardNews, in_one_line};
use crate::link::News;
use crate::service::Service;
use crate::text::one_line;

/// Number of failed tries to reach the service after which a client without further input leaves.
const MAX_TRIES: u32 = 10;

impl PlainMachine {
    /// Handles news from the link.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm a piece of news, and all of them in one place"
    )]
    pub(super) fn news(&mut self, news: News) {
        match news {
            News::Service(service) => self.attached_to(*service),
            News::Snapshot { snapshot, reset } => self.snapshot(&snapshot, reset.as_deref()),
            News::Event { event, position } => {
                let seq = position.as_deref().and_then(seq_of);
                self.seq = self.seq.max(seq.unwrap_or_default());
                self.event(&event, true);
            }
            News::Accepted { key, run_id } => {
                // The event may have come first, and even the end of the run.
                if self.sent.as_deref() == Some(&key) {
                    self.sent = None;
                    self.own = Some(run_id);
                }
            }
            News::NotAccepted { key, reason } => {
                if self.sent.as_deref() == Some(&key) {
                    self.sent = None;
                    self.unsent += 1;
                    self.fail(&format!("the prompt was not accepted: {reason}"));
                }
            }
            News::CancelAnswered { cancelled } => {
                self.cancel_answered();
                if !cancelled {
                    self.status("nothing was cancelled: it was over");
                }
            }
            News::Listed(conversations) => {
                self.answered();
                self.listed = conversations.iter().map(|one| one.id.clone()).collect();
                for (index, one) in conversations.iter().enumerate() {
                    self.show(listed(index + 1, one));
                }
            }
            News::NotCancelled { reason } => {
                self.fail(&reason);
                self.cancel_answered();
            }
            News::Failed { reason } => {
                self.fail(&reason);
                self.renames = self.renames.saturating_sub(1);
                if self.unanswered > 0 {
                    self.answered();
                } else {
                    // It was an order to make another, so this one is still open.
                    self.is_opening = false;
                    self.is_attached = self.conversation.is_some() && !self.is_refused;
                }
            }
            News::Refused {
                conversation,
                reason,
            } => {
                self.fail(&format!("{conversation} cannot be opened: {reason}"));
                self.is_refused = true;
                self.is_opening = false;
                self.is_attached = false;
                // No further news come about its run, or about the one before it.
                self.running = None;
                self.own = None;
                if self.conversation.is_none() {
                    self.leave(1);
                }
            }
            News::Down { reason, tries, .. } => {
                if !std::mem::replace(&mut self.is_down, true) {
                    let reason = one_line(&reason);
                    self.status(&format!("the connection is lost and tried again: {reason}"));
                }
                if (self.is_input_over || self.is_leaving()) && tries >= MAX_TRIES {
                    self.fail("the service does not come back");
                    self.leave(1);
                }
            }
            News::Up => {
                if std::mem::take(&mut self.is_down) {
                    self.status("connected again");
                }
            }
            News::Deleted {
                conversation,
                trash,
            } => {
                let line = format!("{conversation} was moved to {trash}");
                self.status(&one_line(&line));
            }
            News::Invalid { reason } => log::warn!("dropped what is no event: {reason}"),
            News::Queued { key, .. } => {
                if self.sent.as_deref() == Some(&key) {
                    self.sent = None;
                }
                if self.running.is_none() && self.transcript.is_waiting(&key) {
                    self.status("the run is over, so it waits; /continue says it now");
                }
            }
            News::GoesOn { run_id } => {
                self.answered();
                self.own = Some(run_id);
            }
            News::Remark { text } => self.status(&text),
            News::SettingsChanged { .. } => {
                self.answered();
                self.status("for all clients, from the next run on");
            }
            News::Compacted { answer, .. } => {
                self.answered();
                if !answer.compacted {
                    self.status("there is nothing to compact");
                }
            }
            News::Answered { .. } => self.answered(),
            News::Undone { files, notes, .. } => {
                self.answered();
                for file in files.iter().take(words::MAX_FILES_NAMED) {
                    self.status(&one_line(&words::undone(file)));
                }
                if let Some(more) = words::more_files(files.len()) {
                    self.status(&more);
                }
                for note in &notes {
                    self.status(&one_line(&words::not_undone(note)));
                }
            }
            News::NotAnswered { reason, .. } => {
                self.fail(&reason);
                self.answered();
            }
            News::Board(BoardNews::Listed(workflows)) => {
                self.answered();
                if workflows.is_empty() {
                    self.status("there is no workflow");
                }
                for (index, it) in workflows.iter().enumerate() {
                    self.show(format!("{}. {}", index + 1, in_one_line(it)));
                }
            }
            News::Board(BoardNews::NotListed { reason }) => {
                self.fail(&reason);
                self.answered();
            }
            // Nothing of this is asked for.
            News::Older { .. }
            | News::Whole { .. }
            | News::Withdrawn { .. }
            | News::NotWithdrawn { .. }
            | News::Settings { .. }
            | News::Usage { .. }
            | News::Facts { .. }
            | News::Offered { .. }
            | News::Files { .. }
            | News::CommandEnded { .. }
            | News::NotOffered { .. }
            | News::Time { .. }
            | News::Previewed { .. }
            | News::Board(_) => {}
        }
    }

    /// Reports the service, and later the differences of the next one.
    fn attached_to(&mut self, service: Service) {
        let before = self.service.take();
        match &before {
            None => {
                self.show(format!("status: {}", service.in_one_line()));
                for difference in &service.differences {
                    self.show(format!("status: {}", one_line(&difference.line)));
                }
            }
            Some(before) => {
                let changes = service.changes(before);
                let differences = service.differences.iter();
                let new = differences.filter(|it| !before.differences.contains(it));
                let new: Vec<String> = new.map(|it| one_line(&it.line)).collect();
                for line in changes.into_iter().chain(new) {
                    self.show(format!("status: {line}"));
                }
            }
        }
        self.service = Some(service);
    }

    fn snapshot(&mut self, snapshot: &ConversationSnapshot, reset: Option<&str>) {
        let id = &snapshot.summary.id;
        let is_new = self.conversation.as_ref() != Some(id) || !self.is_attached;
        self.is_attached = true;
        self.is_opening = false;
        self.is_refused = false;
        self.folder.clone_from(&snapshot.summary.workspace);
        // The titles that were ordered are in the snapshot, or come after it.
        self.unanswered = self.unanswered.saturating_sub(self.renames);
        self.renames = 0;
        if is_new {
            if self.conversation.as_ref() != Some(id) {
                // Runs in the other conversation continue without this client.
                self.sent = None;
                self.own = None;
            }
            self.conversation = Some(id.clone());
            self.seq = 0;
            let title = snapshot.summary.title.as_deref().unwrap_or("untitled");
            self.status(&format!(
                "attached to {} ({})",
                one_line(title),
                one_line(id)
            ));
        } else if let Some(reason) = reset {
            self.status(&format!("loaded again: {}", one_line(reason)));
        }
        let is_going = matches!(
            snapshot.summary.state,
            ConversationState::Running | ConversationState::WaitingApproval
        );
        let shows = !is_new || self.shows_past();
        for past in &snapshot.history.events {
            if past.seq > self.seq {
                self.seq = past.seq;
                self.event(&past.event, shows);
            }
        }
        self.clients = snapshot.attached;
        self.waits_for(snapshot, shows);
        self.running = snapshot.summary.run_id.filter(|_| is_going);
        self.compacts(is_compacting(snapshot.state, &snapshot.message));
        match self.running {
            Some(run_id) if is_new => self.status(&format!("run {run_id} is going")),
            _ => {}
        }
        // The end of ours may be further back than the snapshot reaches.
        if self.own.is_some() && self.own != self.running {
            self.lost();
        }
    }

    fn event(&mut self, event: &Event, shows: bool) {
        let lines = self.transcript.lines(event);
        if let Some(lines) = lines.filter(|_| shows) {
            self.show(lines);
        }
        match event {
            Event::Queued { key, .. } if key.is_some() && self.sent == *key => self.sent = None,
            Event::User { run_id, key, .. } => {
                self.running = run_id.or(self.running);
                if key.is_some() && self.sent == *key && run_id.is_some() {
                    self.sent = None;
                    self.own = *run_id;
                }
            }
            Event::RunStarted { run_id, .. } => self.running = Some(*run_id),
            Event::ApprovalAsked { approval, .. } => self.asked(approval),
            Event::ApprovalAnswered { id, .. } | Event::ApprovalWithdrawn { id, .. } => {
                self.approval.take_if(|open| open.id == *id);
            }
            Event::Presence { count, .. } => self.clients = *count,
            Event::CompactionStarted { .. } => self.compacts(true),
            Event::Compacted { .. } | Event::CompactionFailed { .. } => self.compacts(false),
            Event::Status { state, message, .. } => self.compacts(is_compacting(*state, message)),
            Event::RunEnded {
                run_id, outcome, ..
            } => {
                self.approval = None;
                self.running = self.running.filter(|run| run != run_id);
                if self.own == Some(*run_id) {
                    self.own = None;
                    self.code = exit_code(*outcome);
                }
            }
            Event::Renamed { .. } if self.renames > 0 => {
                self.renames -= 1;
                self.answered();
            }
            // Everything up to here was received, so a run whose beginning was shown has ended.
            Event::Attached {
                state,
                message,
                run_id,
                ..
            } => {
                self.compacts(is_compacting(*state, message));
                let going =
                    run_id.filter(|_| !matches!(state, ActivityState::Idle | ActivityState::Error));
                if self.own.is_some() && self.own == self.running && going != self.own {
                    self.lost();
                }
                self.running = going;
            }
            _ => {}
        }
    }

    /// Notes that the past is being summarized, or is not.
    fn compacts(&mut self, is_compacting: bool) {
        self.is_compacting = is_compacting;
        self.is_uncompacting &= is_compacting;
    }

    /// Reports that the run that was begun here is over, with an unknown outcome.
    fn lost(&mut self) {
        if let Some(run_id) = self.own.take() {
            self.code = exit_code(EndOutcome::Interrupted);
            self.status(&format!("run {run_id} is over; how it ended is not known"));
        }
    }
}

/// The record of a position, `<epoch>-<seq>-<sum>`.
fn seq_of(position: &str) -> Option<u64> {
    position.split('-').nth(1)?.parse().ok()
}

/// True if a status means that the service summarizes the past.
fn is_compacting(state: ActivityState, message: &str) -> bool {
    state == ActivityState::Thinking && message.starts_with("compacting")
}

fn exit_code(outcome: EndOutcome) -> i32 {
    match outcome {
        EndOutcome::Completed => 0,
        EndOutcome::Cancelled => CANCELLED,
        EndOutcome::Error | EndOutcome::Interrupted | EndOutcome::Unknown => 1,
    }
}

/// A conversation in a list.
fn listed(number: usize, summary: &ConversationSummary) -> String {
    let title = summary.title.as_deref().unwrap_or("untitled");
    let state = words::conversation_state(summary);
    format!(
        "{number}. {} ({}) {state}",
        one_line(title),
        one_line(&summary.id)
    )
}
