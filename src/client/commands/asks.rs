//! The behaviour of a command when a tool of its run waits for an operator's answer.

use clap::ValueEnum;
use harness_protocol::{AnswerOrder, Approval, Scope, Verdict, words};

use crate::client::commands::approval_choice::command_line;
use crate::visible;

/// The flag `--asks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AsksMode {
    /// Wait until an operator answers, wherever
    Wait,
    /// Deny it, and go on without
    Deny,
    /// Deny it, and cancel the run
    Stop,
}

impl AsksMode {
    /// The answer; none if the command waits.
    pub(super) fn answer(self, by: &str) -> Option<AnswerOrder> {
        let stop = match self {
            Self::Wait => return None,
            Self::Deny => false,
            Self::Stop => true,
        };
        Some(AnswerOrder {
            answer: Verdict::Deny,
            digest: None,
            scope: Scope::Once,
            message: Some("no operator can be asked".to_owned()),
            stop,
            by: Some(by.to_owned()),
            key: None,
        })
    }
}

/// An approval with its diff, command or input, and how to answer it, for the person who watches the command.
pub(super) fn approval_lines(conversation: &str, approval: &Approval) -> Vec<String> {
    let Approval {
        id, tool, subject, ..
    } = approval;
    let head = format!(
        "? {id} {tool}: {} ({})",
        visible::judged(&words::subject(subject)),
        visible::line(&approval.because)
    );
    let answers = format!(
        "harness: waits for an answer: {}, or harness deny {id} -c {conversation}",
        command_line("approve", conversation, approval)
    );
    let body = judged(approval);
    [head].into_iter().chain(body).chain([answers]).collect()
}

/// The lines that an operator judges: the diff, the command or the input, with its notes and the rule that a longer
/// scope makes.
pub(super) fn judged(approval: &Approval) -> Vec<String> {
    let subject = &approval.subject;
    let body = subject.body().split_terminator('\n');
    let mut lines: Vec<String> = body
        .map(|line| format!("  {}", visible::judged(line)))
        .collect();
    if let Some(change) = subject.change() {
        let notes = change.notes.iter();
        lines.extend(notes.map(|note| format!("  note: {}", visible::line(note))));
    }
    let beyond_undo = words::beyond_undo(subject);
    lines.extend(beyond_undo.map(|text| format!("  note: {}", visible::line(&text))));
    let rule = approval.rule.as_deref();
    lines.extend(rule.map(|rule| format!("  the rule for longer: {}", visible::judged(rule))));
    lines
}
