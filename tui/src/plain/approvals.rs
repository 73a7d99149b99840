//! The approvals that wait for an operator's answer, in lines.

use harness_protocol::{AnswerOrder, Approval, ConversationSnapshot, Scope, Verdict};

use super::machine::PlainMachine;
use super::transcript::asked_about;
use crate::link::ClientOrder;

impl PlainMachine {
    /// Takes an open approval. It is denied where no client can answer it: the input is over, the run is this client's,
    /// and no other client is attached.
    pub(super) fn asked(&mut self, approval: &Approval) {
        self.approval = Some(Box::new(approval.clone()));
        let is_own = self.own == Some(approval.run_id);
        if self.is_input_over && self.lines.is_empty() && is_own && self.clients <= 1 {
            let reason = Some("no operator can be asked".to_owned());
            self.answer(Verdict::Deny, Scope::Once, reason);
        }
    }

    /// Takes what a snapshot says of approvals, and shows what its history does not.
    pub(super) fn waits_for(&mut self, snapshot: &ConversationSnapshot, shows: bool) {
        let open = snapshot.approvals.first();
        let is_shown = |open: &Approval| {
            let mut events = snapshot.history.events.iter();
            shows && events.any(|past| asked_about(&past.event) == Some(open.id))
        };
        if let Some(open) = open.filter(|open| !is_shown(open)) {
            let lines = self.transcript.asked(open);
            self.show(lines);
        }
        self.approval = open.cloned().map(Box::new);
    }

    /// Answers what waits.
    pub(super) fn answer(&mut self, answer: Verdict, scope: Scope, message: Option<String>) {
        let (Some(open), Some(conversation)) = (&self.approval, self.conversation.clone()) else {
            self.fail("nothing waits for an answer");
            return;
        };
        let (approval, digest) = (open.id, open.digest.clone());
        let answer = AnswerOrder {
            answer,
            digest: Some(digest),
            scope,
            message,
            stop: false,
            by: None,
            key: Some(self.new_key()),
        };
        self.unanswered += 1;
        self.order(ClientOrder::Answer {
            conversation,
            approval,
            answer,
        });
    }
}
