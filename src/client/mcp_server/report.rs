//! A conversation in the words of a tool's result.

use harness_protocol::words::{self, EventWords};
use harness_protocol::{ConversationSnapshot, ConversationSummary, Event, HistoryPage};
use serde::Serialize;

use crate::visible;

/// Maximum length of an event, in characters.
const MAX_EVENT: usize = 2000;

/// A conversation after a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ConversationReport {
    /// The id.
    conversation: String,
    /// The folder that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// The state, in words.
    state: String,
    /// True while a run is going.
    is_running: bool,
    /// The reason of an unusual end; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// The approvals that wait for an operator, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<String>,
    /// The text of the last reply so far.
    reply: String,
}

impl ConversationReport {
    /// The report of a snapshot with the end of the past.
    pub(super) fn new(snapshot: &ConversationSnapshot) -> Self {
        let (reply, message) = last_reply(&snapshot.history);
        let summary = &snapshot.summary;
        let approvals = snapshot.approvals.iter().map(|approval| {
            let subject = words::subject(&approval.subject);
            visible::line(&format!("{}: {subject}", approval.tool))
        });
        Self {
            conversation: summary.id.clone(),
            folder: summary.workspace.clone(),
            state: words::conversation_state(summary).to_owned(),
            is_running: is_running(summary),
            message,
            approvals: approvals.collect(),
            reply,
        }
    }

    /// The report as text.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!(
            "conversation {}: {}",
            self.conversation, self.state
        )];
        if !self.message.is_empty() {
            lines.push(self.message.clone());
        }
        for approval in &self.approvals {
            lines.push(format!("waits for an operator to answer: {approval}"));
        }
        if self.is_running {
            lines.push("`wait` waits for the end of the run.".to_owned());
        }
        if !self.reply.is_empty() {
            lines.push(format!("\n{}", self.reply));
        }
        lines.join("\n")
    }
}

/// True while a run is going.
pub(super) fn is_running(summary: &ConversationSummary) -> bool {
    use harness_protocol::ConversationState::{Running, WaitingApproval};
    matches!(summary.state, Running | WaitingApproval)
}

/// The text of the last reply, and the reason of an unusual end of its run.
fn last_reply(history: &HistoryPage) -> (String, String) {
    let (mut reply, mut reason) = (String::new(), String::new());
    for past in &history.events {
        match &past.event {
            Event::User { .. } | Event::RunStarted { .. } | Event::TurnStarted { .. } => {
                reply.clear();
                reason.clear();
            }
            Event::Text { content, .. } => reply.push_str(content),
            Event::RunEnded { message, .. } => reason.clone_from(message),
            _ => {}
        }
    }
    (reply, reason)
}

/// The events of a page as text, a paragraph each.
pub(super) fn history_text(history: &HistoryPage) -> String {
    let events = history.events.iter().map(|past| {
        let words = EventWords::for_event(&past.event);
        let by = words::by(words.by);
        let text = words.sentence_with_body();
        visible::cut(&format!("{}{by}: {text}", words.kind), MAX_EVENT)
    });
    events.collect::<Vec<_>>().join("\n")
}
