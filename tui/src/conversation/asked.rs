//! The approvals that wait for an operator's answer.

use harness_protocol::{Approval, ConversationSnapshot, Event};

/// The approval that is open, if one is: a conversation has no more than one.
#[derive(Debug, Default)]
pub(super) struct AskedApproval(Option<Box<Approval>>);

impl AskedApproval {
    /// The approval.
    pub(super) fn open(&self) -> Option<&Approval> {
        self.0.as_deref()
    }

    /// Begins with what a snapshot says.
    pub(super) fn restore(&mut self, snapshot: &ConversationSnapshot) {
        self.0 = snapshot.approvals.first().cloned().map(Box::new);
    }

    /// Takes what an event says of approvals; whether it said anything.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::ApprovalAsked { approval, .. } => self.0 = Some(approval.clone()),
            Event::ApprovalAnswered { id, .. } | Event::ApprovalWithdrawn { id, .. } => {
                return self.0.take_if(|open| open.id == *id).is_some();
            }
            Event::RunEnded { .. } => return self.0.take().is_some(),
            _ => return false,
        }
        true
    }
}
