//! The names of states, outcomes and queues.

use super::time::took_about;
use crate::{
    ActivityState, Attachment, ChangeAction, CompactionReason, ConversationState,
    ConversationSummary, DeltaKind, EndOutcome, HeldRule, JobChange, JobChanges, JobEnd, Queue,
    RuleAction, Scope, ThinkingLevel, UndoOutcome, UndoneFile, Verdict, Withdrawal,
};

/// Maximum number of characters of a command that are shown where space is short.
const SHORT: usize = 60;

/// The name of a conversation's state.
#[must_use]
pub fn state(state: ActivityState) -> &'static str {
    match state {
        ActivityState::Idle => "idle",
        ActivityState::Thinking => "thinking",
        ActivityState::RunningTool => "running tool",
        ActivityState::Error => "error",
        ActivityState::WaitingApproval => "waits for approval",
        ActivityState::Unknown => "unknown",
    }
}

/// The state of a conversation in a list. An idle one whose last run failed has failed.
#[must_use]
pub fn conversation_state(summary: &ConversationSummary) -> &'static str {
    match summary.state {
        ConversationState::Idle if summary.failure.is_some() => "failed",
        ConversationState::Idle => "idle",
        ConversationState::Running => "running",
        ConversationState::WaitingApproval => "waits for approval",
        ConversationState::Interrupted => "interrupted",
        ConversationState::Unreadable => "unreadable",
        ConversationState::Unknown => "unknown",
    }
}

/// The name of the outcome of a run or a turn.
#[must_use]
pub fn outcome(outcome: EndOutcome) -> &'static str {
    match outcome {
        EndOutcome::Completed => "completed",
        EndOutcome::Cancelled => "cancelled",
        EndOutcome::Error => "failed",
        EndOutcome::Interrupted => "interrupted",
        EndOutcome::Unknown => "ended",
    }
}

/// The name of a queue.
#[must_use]
pub fn queue(queue: Queue) -> &'static str {
    match queue {
        Queue::Steer => "steering",
        Queue::FollowUp => "follow-up",
    }
}

/// The name of a level of thinking.
#[must_use]
pub fn thinking(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "off",
        ThinkingLevel::Minimal => "minimal",
        ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::XHigh => "xhigh",
        ThinkingLevel::Max => "max",
    }
}

/// The name of a client, to be appended to its action; empty if it is not known.
#[must_use]
pub fn by(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" by {name}"))
}

/// The reason of a summary, to be appended to the size of the past.
pub(super) fn reason(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Threshold => ", grown long",
        CompactionReason::Overflow => ", too long for the model",
        CompactionReason::Manual => ", as asked",
        CompactionReason::Unknown => "",
    }
}

/// The name of the kind of block that a piece belongs to.
pub(super) fn delta_kind(kind: DeltaKind) -> &'static str {
    match kind {
        DeltaKind::Text => "text",
        DeltaKind::Reasoning => "reasoning",
        DeltaKind::ToolInput => "tool input",
        DeltaKind::Unknown => "unknown",
    }
}

/// The name of an answer to an approval.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Deny => "denied",
        Verdict::Unknown => "answered",
    }
}

/// The age of a job and a word about its output.
#[must_use]
pub fn job_facts(seconds: u64, has_output: bool) -> String {
    let age = took_about(seconds.saturating_mul(1_000));
    let output = if has_output {
        "output"
    } else {
        "no output yet"
    };
    format!("{age}, {output}")
}

/// Maximum number of files that a text about a job names; the others are counted.
const MAX_FILES_OF_JOB: usize = 10;

/// The changes while a job ran, for example `2 files changed while it ran: made /w/a, removed /w/b`. `None` if there are
/// none.
#[must_use]
pub fn job_changes(changes: &JobChanges) -> Option<String> {
    let head = changes.head.as_ref();
    let head = head.map(|moved| format!("HEAD moved while it ran {moved}"));
    let parts: Vec<String> = files_of_job(changes).into_iter().chain(head).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn files_of_job(changes: &JobChanges) -> Option<String> {
    let JobChanges { files, more, .. } = changes;
    let count = files.len() as u64 + more;
    let counted = match count {
        0 => return None,
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let named = files.iter().take(MAX_FILES_OF_JOB);
    let mut named: Vec<String> = named.map(job_change).collect();
    match count - named.len() as u64 {
        0 => {}
        1 => named.push("and 1 more file".to_owned()),
        more => named.push(format!("and {more} more files")),
    }
    Some(format!(
        "{counted} changed while it ran: {}",
        named.join(", ")
    ))
}

fn job_change(file: &JobChange) -> String {
    let action = match file.action {
        ChangeAction::Made => "made",
        ChangeAction::Removed => "removed",
        ChangeAction::Changed | ChangeAction::Unknown => "changed",
    };
    format!("{action} {}", file.path)
}

/// Maximum number of changed files that a text names; the others are counted.
pub const MAX_FILES_NAMED: usize = 50;

/// The files that a text about so many does not name, for example `and 3 more files`. `None` if it names all.
#[must_use]
pub fn more_files(count: usize) -> Option<String> {
    match count.saturating_sub(MAX_FILES_NAMED) {
        0 => None,
        1 => Some("and 1 more file".to_owned()),
        more => Some(format!("and {more} more files")),
    }
}

/// The outcome of an undo for a file.
#[must_use]
pub fn undone(file: &UndoneFile) -> String {
    let UndoneFile {
        path,
        outcome,
        reason,
        ..
    } = file;
    match (outcome, reason) {
        (UndoOutcome::Restored, _) => format!("restored {path}"),
        (UndoOutcome::Removed, _) => format!("removed {path}"),
        (UndoOutcome::Conflict | UndoOutcome::Unknown, Some(reason)) => {
            format!("left {path}: {reason}")
        }
        (UndoOutcome::Conflict | UndoOutcome::Unknown, None) => format!("left {path}"),
    }
}

/// The changes besides the named files, for example `besides: the command changed 3 more files`.
#[must_use]
pub fn changed_besides(note: &str) -> String {
    format!("besides: {note}")
}

/// The changes that an undo left, for example `not taken back: the command changed 3 more files`.
#[must_use]
pub fn not_undone(note: &str) -> String {
    format!("not taken back: {note}")
}

/// The text about an undo for the model. `None` if nothing was taken back.
#[must_use]
pub fn undone_for_model(files: &[UndoneFile]) -> Option<String> {
    let is_back =
        |file: &&UndoneFile| matches!(file.outcome, UndoOutcome::Restored | UndoOutcome::Removed);
    let back: Vec<&UndoneFile> = files.iter().filter(is_back).collect();
    (!back.is_empty()).then(|| {
        let named = back.iter().take(MAX_FILES_NAMED).copied().map(undone);
        let each: Vec<String> = named.chain(more_files(back.len())).collect();
        let each = each.join("\n- ");
        format!("[An operator took back changes that you made:\n- {each}]")
    })
}

/// The end of a job, for example `exit 1` or `stopped by ana`.
#[must_use]
pub fn job_end(end: &JobEnd) -> String {
    match end {
        JobEnd::Exited { code } => format!("exit {code}"),
        JobEnd::Killed { signal } => format!("ended by signal {signal}"),
        JobEnd::Stopped { by: name } => format!("stopped{}", by(name.as_deref())),
        JobEnd::OverLimit { what } => format!("ended: it took too much: {what}"),
        JobEnd::WithService => "ended with the service".to_owned(),
        JobEnd::Forked => "left to the conversation that this is a fork of".to_owned(),
        JobEnd::Failed { reason } => format!("ended: {reason}"),
        JobEnd::Unknown => "ended".to_owned(),
    }
}

/// A file that goes with a prompt: its name, what it is, and its size.
#[must_use]
pub fn attachment(file: &Attachment) -> String {
    let name = file.name.as_deref().unwrap_or("unnamed");
    let size = match file.bytes {
        bytes @ 0..1_000 => format!("{bytes} B"),
        bytes @ 1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        bytes => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    };
    format!("{name} · {} · {size}", file.media_type)
}

/// A command that an operator ran, in the words that the model receives.
#[must_use]
pub fn command_for_model(command: &str, result: &str) -> String {
    format!("The operator ran this command in the conversation's folder:\n\n$ {command}\n{result}")
}

/// A command on one line of at most 60 characters.
#[must_use]
pub fn short_command(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The name of a rule's answer.
#[must_use]
pub fn rule_action(action: RuleAction) -> &'static str {
    match action {
        RuleAction::Allow => "allow",
        RuleAction::Ask => "ask",
        RuleAction::Deny => "deny",
        RuleAction::Unknown => "unknown",
    }
}

/// A rule on one line: its answer, its pattern and its scope.
#[must_use]
pub fn rule(held: &HeldRule) -> String {
    let reach = scope(held.scope);
    format!("{} {}{reach}", rule_action(held.action), held.rule)
}

/// The scope of an answer, to be appended to it; empty for once.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Run => " for this run",
        Scope::Conversation => " for this conversation",
        Scope::Workspace => " for this folder",
        Scope::Once | Scope::Unknown => "",
    }
}

/// The reason why an approval was closed without an answer.
#[must_use]
pub fn withdrawal(reason: Withdrawal) -> &'static str {
    match reason {
        Withdrawal::Cancelled => "the run was cancelled",
        Withdrawal::Changed => "the file is another now",
        Withdrawal::Decided => "a rule decides it",
        Withdrawal::RunEnded => "the run ended",
        Withdrawal::Expired => "no operator answered in time",
        Withdrawal::Forked => "the conversation is a fork",
        Withdrawal::Unknown => "withdrawn",
    }
}

/// The name of the kind of change of a file.
pub(super) fn action(action: ChangeAction) -> &'static str {
    match action {
        ChangeAction::Made => "makes",
        ChangeAction::Removed => "removes",
        ChangeAction::Changed | ChangeAction::Unknown => "changes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [UNDO-786]
    #[test]
    fn fifty_files_are_named_and_the_others_counted() {
        let file = |number: usize| UndoneFile {
            path: format!("/f{number:02}"),
            outcome: UndoOutcome::Restored,
            reason: None,
            replaced: None,
            diff: None,
        };
        let text = |count: usize| {
            let files: Vec<UndoneFile> = (0..count).map(file).collect();
            undone_for_model(&files)
        };
        assert_eq!(text(0), None);
        let all = text(50).unwrap();
        assert!(all.ends_with("- restored /f49]"), "{all}");
        let one_more = text(51).unwrap();
        assert!(
            one_more.ends_with("- restored /f49\n- and 1 more file]"),
            "{one_more}"
        );
        assert!(text(99).unwrap().ends_with("- and 49 more files]"));
    }

    /// Spec: [BASH-790]
    #[test]
    fn ten_files_of_a_job_are_named_and_the_others_counted() {
        let file = |number: u64| JobChange {
            path: format!("/f{number}"),
            action: ChangeAction::Made,
        };
        let text = |named: u64, more: u64| {
            let files = (0..named).map(file).collect();
            let head = None;
            job_changes(&JobChanges { files, more, head })
        };
        assert_eq!(text(0, 0), None);
        let one = "1 file changed while it ran: made /f0";
        assert_eq!(text(1, 0).as_deref(), Some(one));
        let ten = text(10, 0).unwrap();
        assert!(
            ten.starts_with("10 files changed") && ten.ends_with("made /f9"),
            "{ten}"
        );
        assert!(text(11, 0).unwrap().ends_with("made /f9, and 1 more file"));
        let all = text(256, 3).unwrap();
        assert!(
            all.starts_with("259 files ") && all.ends_with(", and 249 more files"),
            "{all}"
        );
    }
}
