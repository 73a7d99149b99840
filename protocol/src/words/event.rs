//! Each event in words: one row of one table.

use super::counts::dollars;
use super::names::{
    MAX_FILES_NAMED, action, by, changed_besides, delta_kind, job_changes, job_end, more_files,
    outcome, queue, reason, rule, scope, short_command, state, undone, verdict, withdrawal,
};
use super::run::run_facts;
use super::settings::settings;
use super::time::took;
use super::tool::call;
use super::web::{in_line, web_step};
use super::workflow::workflow_record;
use crate::{
    Access, ActivityState, Backend, CommandPlan, EndOutcome, Event, FileChange, HeldRule, JobEnd,
    McpCall, ModelFallback, Subject, WebStep,
};

/// An event in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventWords<'e> {
    /// The kind: the type of the event, with spaces.
    pub kind: String,
    /// The name of the client that did it, if that is known.
    pub by: Option<&'e str>,
    /// The sentence about it; may be empty.
    pub text: String,
    /// The text that it brings, which may be long: a prompt, a reply, a result, a summary.
    pub body: Option<&'e str>,
    /// True if the event reports a failure.
    pub is_error: bool,
}

impl<'e> EventWords<'e> {
    /// The words for an event.
    #[must_use]
    pub fn for_event(event: &'e Event) -> Self {
        let (text, body) = text_and_body(event);
        Self {
            kind: event.type_name().replace('_', " "),
            by: event.by(),
            text,
            body,
            is_error: is_error(event),
        }
    }

    /// One sentence, without the text that the event brings: `renamed by ana: The folder src`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let who = match self.by {
            // It went wrong for the one who asked, and was not done by anyone.
            Some(name) if self.is_error => format!(" for {name}"),
            name => by(name),
        };
        remark(&format!("{}{who}", self.kind), &self.text)
    }

    /// The sentence, followed by the event's own text.
    #[must_use]
    pub fn sentence_with_body(&self) -> String {
        remark(&self.text, self.body.unwrap_or_default())
    }
}

/// A block that is neither text nor thinking nor a call: the step of a tool of the API, the change of the model, or the
/// name of the block.
#[must_use]
pub fn block(
    block_type: &str,
    web: Option<&WebStep>,
    model_fallback: Option<&ModelFallback>,
) -> String {
    match (web, model_fallback) {
        (Some(step), _) => web_step(step),
        (None, Some(change)) => fallback(change),
        (None, None) => block_type.replace('_', " "),
    }
}

/// The change of the model inside a reply, in one line.
#[must_use]
pub fn fallback(change: &ModelFallback) -> String {
    let reason = change
        .category
        .as_deref()
        .map(|category| format!(" ({})", in_line(category)));
    let (from, to) = (in_line(&change.from), in_line(&change.to));
    format!(
        "{from} declined{}; {to} replies",
        reason.unwrap_or_default()
    )
}

/// The sentence about unreadable records between two others.
#[must_use]
pub fn unreadable(after: u64, before: u64) -> String {
    let (first, last) = (after.saturating_add(1), before.saturating_sub(1));
    if first >= last {
        format!("record {first} cannot be read")
    } else {
        format!("records {first} to {last} cannot be read")
    }
}

/// The sizes of the next request before and after a summary, in tokens.
#[must_use]
pub fn saved(before: u64, after: u64) -> String {
    format!("{} to {} tokens", thousands(before), thousands(after))
}

#[expect(
    clippy::too_many_lines,
    reason = "one row an event, and all of them in one place"
)]
fn text_and_body(event: &Event) -> (String, Option<&str>) {
    let empty = String::new();
    match event {
        Event::User { content, .. } | Event::Reasoning { content, .. } => (empty, Some(content)),
        Event::Text {
            content, partial, ..
        } => {
            let cut = if *partial { "cut short" } else { "" };
            (cut.to_owned(), Some(content))
        }
        Event::ToolCall { name, input, .. } => (call(name, input), None),
        Event::ToolResult {
            result,
            is_error,
            duration_ms,
            ..
        } => {
            let failed = is_error.then(|| "failed".to_owned());
            let facts: Vec<String> = failed.into_iter().chain(duration_ms.map(took)).collect();
            (facts.join(" · "), Some(result))
        }
        Event::Status { state, message, .. } => (doing(*state, message), None),
        Event::RunStarted { run_id, .. } => (run_id.to_string(), None),
        Event::RunEnded {
            run_id,
            outcome: how,
            message,
            run_usage,
            duration_ms,
            ..
        } => {
            let facts = run_facts(*duration_ms, run_usage);
            let facts = (!facts.is_empty()).then(|| format!(" ({facts})"));
            let facts = facts.unwrap_or_default();
            let ended = format!("{run_id} {}{facts}", outcome(*how));
            (remark(&ended, message), None)
        }
        Event::TurnStarted { run_id, turn, .. } => (format!("{run_id}.{turn}"), None),
        Event::TurnEnded {
            run_id,
            turn,
            outcome: how,
            ..
        } => (format!("{run_id}.{turn} {}", outcome(*how)), None),
        Event::ReplyEnded {
            model, stop_reason, ..
        } => (remark(stop_reason, model), None),
        Event::ReplyFailed { error, .. } | Event::CompactionFailed { error, .. } => {
            (error.clone(), None)
        }
        Event::Block {
            block_type,
            web,
            fallback,
            ..
        } => (block(block_type, web.as_ref(), fallback.as_ref()), None),
        Event::CallsSkipped { reason, .. } => (reason.clone(), None),
        Event::Renamed { title, .. } => (title.clone(), None),
        Event::ToolsRenewed { tools, .. } => (tools.join(", "), None),
        Event::Queued {
            item,
            queue: place,
            content,
            ..
        } => (format!("{item} {}", queue(*place)), Some(content)),
        Event::Withdrawn { items, .. } => {
            let items: Vec<String> = items.iter().map(u64::to_string).collect();
            (items.join(", "), None)
        }
        Event::SettingsChanged { settings: own, .. } => {
            let own = settings(own).join(" · ");
            let none = own.is_empty().then(|| "as the service has them".to_owned());
            (none.unwrap_or(own), None)
        }
        Event::ReplyLeftOut { .. } => ("the model is not told of it".to_owned(), None),
        Event::CompactionStarted {
            reason: why,
            tokens,
            ..
        } => {
            let tokens = thousands(*tokens);
            (format!("about {tokens} tokens{}", reason(*why)), None)
        }
        Event::Compacted {
            summary,
            tokens_before,
            tokens_after,
            ..
        } => (saved(*tokens_before, *tokens_after), Some(summary)),
        Event::Checkpoint { summary, .. } => {
            let text = "what was before is in the archive";
            (text.to_owned(), Some(summary))
        }
        Event::ApprovalAsked { approval, .. } => {
            let about = subject(&approval.subject);
            let text = format!(
                "{} {}: {about}: {}",
                approval.id, approval.tool, approval.because
            );
            (text, Some(approval.subject.body()))
        }
        Event::ApprovalAnswered {
            id,
            answer,
            scope: reach,
            message,
            ..
        } => {
            let answer = format!("{id} {}{}", verdict(*answer), scope(*reach));
            (
                remark(&answer, message.as_deref().unwrap_or_default()),
                None,
            )
        }
        Event::ApprovalWithdrawn { id, reason, .. } => {
            (format!("{id} {}", withdrawal(*reason)), None)
        }
        Event::EffectBegan { call, .. } | Event::ToolReturned { call, .. } => (call.clone(), None),
        Event::ProposalDecided { decision, .. } => (decision.clone(), None),
        Event::SpendingReserved { micro_usd, .. } | Event::SpendingReleased { micro_usd, .. } => {
            (dollars(*micro_usd), None)
        }
        Event::FilesChanged { changes, note, .. } => {
            let named = changes.iter().take(MAX_FILES_NAMED).map(changed);
            let mut all: Vec<String> = named.chain(more_files(changes.len())).collect();
            all.extend(note.as_deref().map(changed_besides));
            let body = match changes.as_slice() {
                [change] => Some(change.diff.as_str()),
                _ => None,
            };
            (all.join(", "), body)
        }
        Event::Undone { files, .. } if files.is_empty() => ("nothing".to_owned(), None),
        Event::Undone { files, .. } => {
            let named = files.iter().take(MAX_FILES_NAMED).map(undone);
            let each: Vec<String> = named.chain(more_files(files.len())).collect();
            (each.join(", "), None)
        }
        Event::CommandRan {
            command,
            result,
            is_hidden,
            ..
        } => {
            let hidden = match is_hidden {
                true => " (the model is not told)",
                false => "",
            };
            (format!("{}{hidden}", short_command(command)), Some(result))
        }
        Event::Branched {
            conversation, seq, ..
        } => (
            format!("what follows on record {seq} goes on in {conversation}, too"),
            None,
        ),
        Event::JobStarted { job, command, .. } => {
            (format!("{job} {}", short_command(command)), None)
        }
        Event::JobEnded {
            job, end, changes, ..
        } => {
            // Who stopped it is said of the event.
            let how = match end {
                JobEnd::Stopped { .. } => "stopped".to_owned(),
                end => job_end(end),
            };
            let changed = changes.as_ref().and_then(job_changes);
            let facts: Vec<String> = [how].into_iter().chain(changed).collect();
            (format!("{job} {}", facts.join(" · ")), None)
        }
        Event::RulesChanged { added, removed, .. } => {
            let told = |sign: char| move |held: &HeldRule| format!("{sign}{}", rule(held));
            let added = added.iter().map(told('+'));
            let all: Vec<String> = added.chain(removed.iter().map(told('-'))).collect();
            (all.join(", "), None)
        }
        Event::Workflow { record, .. } => (workflow_record(record), None),
        Event::Record { record_type, .. } => (record_type.clone(), None),
        Event::Delta {
            index,
            kind,
            offset,
            text,
        } => {
            let kind = delta_kind(*kind);
            (format!("{kind} {index}+{offset} {text:?}"), None)
        }
        Event::Presence { count, names } => (remark(&count.to_string(), &names.join(", ")), None),
        Event::Attached {
            conversation,
            state,
            message,
            run_id,
            ..
        } => {
            let run = run_id.map_or_else(String::new, |run| format!(", run {run}"));
            let doing = doing(*state, message);
            (format!("{conversation}{run}, {doing}"), None)
        }
        Event::Reset { reason, .. } => (reason.clone(), None),
        Event::Gap { after, before } => (unreadable(*after, *before), None),
        Event::ToolOutput { id, offset, text } => (format!("{id}+{offset}"), Some(text)),
        Event::StepOutput {
            step, offset, text, ..
        } => (format!("{step}+{offset}"), Some(text)),
        Event::Discarded {} | Event::Unknown => (empty, None),
    }
}

/// A change of a file in short, for example `changes src/main.rs +2 -1`.
#[must_use]
pub fn changed(change: &FileChange) -> String {
    let FileChange {
        path,
        added,
        removed,
        ..
    } = change;
    let action = action(change.action);
    // Of what a command changed the lines are not always known.
    if change.by_command && change.diff.is_empty() {
        return format!("{action} {path}");
    }
    format!("{action} {path} +{added} -{removed}")
}

/// A planned action of a tool, in short.
#[must_use]
pub fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Change(change) => changed(change),
        Subject::Command(plan) => command(plan),
        Subject::McpCall(call) => mcp_call(call),
    }
}

/// The effects of a planned action that no undo takes back, for example `undo does not cover: the network`. `None` if
/// it covers all that the action may do.
#[must_use]
pub fn beyond_undo(subject: &Subject) -> Option<String> {
    let effects = match subject {
        Subject::Change(_) => return None,
        Subject::Command(plan) => command_effects(plan),
        Subject::McpCall(call) => {
            let only_reads = call.access == Access::Read && !call.network && call.contained;
            (!only_reads).then(|| format!("what the server {} does", call.server))
        }
    };
    effects.map(|effects| format!("undo does not cover: {effects}"))
}

/// The effects of a command that no undo takes back. `None` if there are none.
fn command_effects(plan: &CommandPlan) -> Option<String> {
    let is_full = plan.access == Access::Full;
    let effects = [
        (
            plan.background && plan.access != Access::Read,
            "files that a job changes",
        ),
        (is_full, "files outside of the conversation's folder"),
        (is_full || plan.network, "the network"),
    ];
    let effects = effects.iter().filter(|(is_possible, _)| *is_possible);
    let effects: Vec<&str> = effects.map(|(_, effect)| *effect).collect();
    (!effects.is_empty()).then(|| effects.join(", "))
}

/// The conditions that a command runs under, without the command itself: `runs in /src, writes, no network, contained
/// by landlock`.
#[must_use]
pub fn command(plan: &CommandPlan) -> String {
    let background = if plan.background {
        ", in the background"
    } else {
        ""
    };
    format!(
        "runs in {}, {}{background}, {}",
        plan.folder,
        reach(plan.access, plan.network),
        containment(plan.backend)
    )
}

/// The tool of an MCP server and the conditions that the server runs under, without the input: `git.git_log, writes, no
/// network, contained by landlock`.
#[must_use]
pub fn mcp_call(call: &McpCall) -> String {
    format!(
        "{}.{}, {}, {}",
        call.server,
        call.tool,
        reach(call.access, call.network),
        containment(call.backend)
    )
}

/// The access to files and the network, for example `writes, no network`. Full access has the network in any case.
fn reach(access: Access, network: bool) -> String {
    let files = match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Full => return "full access".to_owned(),
        Access::Unknown => "unknown access",
    };
    let network = if network { "network" } else { "no network" };
    format!("{files}, {network}")
}

/// The means of containment, for example `contained by landlock`.
fn containment(backend: Backend) -> String {
    match backend {
        Backend::None => "not contained".to_owned(),
        backend => format!("contained by {}", backend.name()),
    }
}

fn is_error(event: &Event) -> bool {
    match event {
        Event::ToolResult { is_error, .. } => *is_error,
        Event::Status { state, .. } => *state == ActivityState::Error,
        Event::RunEnded { outcome, .. } => {
            matches!(outcome, EndOutcome::Error | EndOutcome::Interrupted)
        }
        Event::ReplyFailed { .. } | Event::CompactionFailed { .. } | Event::Gap { .. } => true,
        _ => false,
    }
}

fn doing(doing: ActivityState, message: &str) -> String {
    remark(state(doing), message)
}

fn remark(what: &str, more: &str) -> String {
    match (what, more) {
        (text, "") | ("", text) => text.to_owned(),
        (what, more) => format!("{what}: {more}"),
    }
}

/// A count of tokens in few characters.
fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        _ => format!("{}k", tokens.saturating_add(500) / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planned(json: serde_json::Value) -> Subject {
        serde_json::from_value(json).unwrap()
    }

    fn of_command(access: &str, network: bool, background: bool, backend: &str) -> Subject {
        planned(
            json!({"command": {"command": "make", "folder": "/src", "access": access,
            "network": network, "background": background, "timeout_s": 1, "backend": backend,
            "contained": true}}),
        )
    }

    fn of_server(access: &str, network: bool, contained: bool, backend: &str) -> Subject {
        planned(
            json!({"mcp_call": {"server": "git", "tool": "git_log", "input": "{}",
            "access": access, "network": network, "backend": backend, "contained": contained}}),
        )
    }

    /// Spec: [APPR-816]
    #[test]
    fn commands_and_calls_name_their_conditions_alike() {
        for (access, network, backend, expected) in [
            (
                "read",
                false,
                "namespaces",
                "reads, no network, contained by namespaces",
            ),
            (
                "write",
                true,
                "landlock",
                "writes, network, contained by landlock",
            ),
            ("full", true, "none", "full access, not contained"),
            ("full", false, "none", "full access, not contained"),
            (
                "strange",
                false,
                "strange",
                "unknown access, no network, contained by unknown",
            ),
        ] {
            let command = subject(&of_command(access, network, false, backend));
            assert_eq!(command, format!("runs in /src, {expected}"));
            let call = subject(&of_server(access, network, true, backend));
            assert_eq!(call, format!("git.git_log, {expected}"));
        }
        assert_eq!(
            subject(&of_command("write", false, true, "landlock")),
            "runs in /src, writes, no network, in the background, contained by landlock"
        );
    }

    /// Spec: [APPR-816]
    #[test]
    fn the_body_of_a_call_is_its_input_and_its_record_names_it_only() {
        let call = of_server("write", true, true, "landlock");
        assert_eq!(call.body(), "{}");
        assert_eq!((call.change(), call.command()), (None, None));
        let head = subject(&call);
        let brief = call.brief();
        assert_eq!((brief.body(), subject(&brief)), ("", head));
    }

    /// Spec: [APPR-817]
    #[test]
    fn a_call_says_that_no_undo_covers_its_server_unless_it_is_held_to_reading() {
        let server = Some("undo does not cover: what the server git does".to_owned());
        for (access, network, contained, expected) in [
            ("read", false, true, None),
            ("read", false, false, server.clone()),
            ("read", true, true, server.clone()),
            ("write", false, true, server.clone()),
            ("full", true, false, server.clone()),
            ("strange", false, true, server),
        ] {
            let call = of_server(access, network, contained, "namespaces");
            assert_eq!(beyond_undo(&call), expected, "{access} {network}");
        }
        assert_eq!(
            beyond_undo(&of_command("write", true, false, "landlock")),
            Some("undo does not cover: the network".to_owned())
        );
        assert_eq!(
            beyond_undo(&of_command("write", false, false, "none")),
            None
        );
    }
}
