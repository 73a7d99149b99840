//! `harness approvals`, `approve` and `deny`: what tools wait to change, and the answers.

use clap::{Args, ValueEnum};
use harness_actors::Clock;
use harness_protocol::{
    AnswerOrder, Answered, Approvals as Waiting, McpCall, OpenApproval, Scope, Subject, Verdict,
    words,
};
use serde_json::{Value, json};

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::approval_choice::{
    ChoiceError, WantedApproval, choose, command_line, parse_digest, short_digest,
};
use crate::client::commands::asks::judged;
use crate::client::commands::common::{self, ChangingArgs, CommonArgs};
use crate::client::commands::conversations::ago;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

const APPROVALS_HELP: &str = "\
Examples:
  harness approvals                            what waits here, with its diff, and where else something waits
  harness approvals --all                      what waits in all conversations, with its diff
  harness approve 3                            allow what approval 3 is about now
  harness approve 3 --digest 1f0a9c4be2d7      allow it only if it is still what was shown
  harness deny 3 --say 'not in the tests'      refuse it, and tell the model why";

/// The name of the list in the answer.
const MEMBER: &str = "approvals";
/// Maximum number of characters of a command or a call where an approval is one line.
const MAX_WHAT: usize = 80;

/// The flags of `harness approvals`.
#[derive(Debug, Args)]
#[command(after_help = exits(APPROVALS_HELP, "done", "failed, or no service runs", None))]
pub(crate) struct ApprovalsArgs {
    /// Those of all conversations
    #[arg(long)]
    all: bool,
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// The flags of `harness approve`.
#[derive(Debug, Args)]
#[command(after_help = exits(APPROVALS_HELP, "allowed", "failed, another operator answered before, or no service runs", None))]
pub(crate) struct ApproveArgs {
    /// The number of the approval
    #[arg(value_name = "ID")]
    id: u64,
    /// The beginning of the digest that was shown, 8 to 64 digits; anything else is not answered
    #[arg(long, value_name = "HEX", value_parser = parse_digest)]
    digest: Option<String>,
    /// How far it reaches; further than once makes the rule that the approval shows
    #[arg(long, value_enum, default_value = "once")]
    scope: AnswerReach,
    /// The name of the client that answers, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerReach {
    /// Only the change that is shown
    Once,
    /// To the end of the run
    Run,
    /// In this conversation
    Conversation,
    /// In all conversations of this folder
    Workspace,
}

/// The flags of `harness deny`.
#[derive(Debug, Args)]
#[command(after_help = exits(APPROVALS_HELP, "denied", "failed, another operator answered before, or no service runs", None))]
pub(crate) struct DenyArgs {
    /// The number of the approval
    #[arg(value_name = "ID")]
    id: u64,
    /// The beginning of the digest that was shown, 8 to 64 digits; anything else is not answered
    #[arg(long, value_name = "HEX", value_parser = parse_digest)]
    digest: Option<String>,
    /// The reason, for the model
    #[arg(long, value_name = "TEXT")]
    say: Option<String>,
    /// Cancel the run too
    #[arg(long)]
    stop: bool,
    /// The name of the client that answers, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Shows what waits.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    approvals: &ApprovalsArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let common = &approvals.common;
    if approvals.all {
        let route = (routes::all_approvals(), MEMBER);
        return common::list(route, common.json, service, output, whole_lines).await;
    }
    let conversation = common.which.find(service).await?;
    if common.json {
        let mut all: Value = service.ask(&routes::all_approvals().answered_as()).await?;
        let waiting = all[MEMBER].as_array_mut().map(std::mem::take);
        let waiting = waiting.unwrap_or_default().into_iter();
        let (own, others): (Vec<_>, Vec<_>) =
            waiting.partition(|open| open["conversation"] == conversation);
        return Ok(output.json(&json!({ "items": own, "others": others }))?);
    }
    let all: Waiting = service.ask(&routes::all_approvals()).await?;
    let waiting = all.approvals.into_iter();
    let (own, others): (Vec<_>, Vec<_>) =
        waiting.partition(|open| open.conversation == conversation);
    let own = Waiting { approvals: own };
    let now = Clock::system().unix_seconds();
    for line in whole_lines(own).iter().chain(&other_lines(&others, now)) {
        output.line(line)?;
    }
    Ok(())
}

/// Allows.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn approve(
    approve: &ApproveArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (id, digest) = (approve.id, approve.digest.as_deref());
    let order = AnswerOrder {
        answer: Verdict::Allow,
        digest: None,
        scope: match approve.scope {
            AnswerReach::Once => Scope::Once,
            AnswerReach::Run => Scope::Run,
            AnswerReach::Conversation => Scope::Conversation,
            AnswerReach::Workspace => Scope::Workspace,
        },
        message: None,
        stop: false,
        by: approve.changing.caller.name(),
        key: None,
    };
    let named = NamedApproval {
        id,
        digest,
        verb: "approve",
    };
    give(named, &approve.changing.common, order, service, output).await
}

/// Denies.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn deny(
    deny: &DenyArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (id, digest) = (deny.id, deny.digest.as_deref());
    let order = AnswerOrder {
        answer: Verdict::Deny,
        digest: None,
        scope: Scope::Once,
        message: deny.say.clone(),
        stop: deny.stop,
        by: deny.changing.caller.name(),
        key: None,
    };
    let named = NamedApproval {
        id,
        digest,
        verb: "deny",
    };
    give(named, &deny.changing.common, order, service, output).await
}

/// An approval as the command line names it.
struct NamedApproval<'n> {
    id: u64,
    digest: Option<&'n str>,
    /// The command that answers it.
    verb: &'static str,
}

/// Answers the approval that is meant, and prints which one that was.
async fn give(
    named: NamedApproval<'_>,
    common: &CommonArgs,
    order: AnswerOrder,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let chosen = chosen(&named, common, service).await?;
    let open = chosen.map_err(|error| refused(&error, named.verb, output))?;
    // The service reports how one ended that does not wait.
    let conversation = match &open {
        Some(open) => open.conversation.clone(),
        None => common.which.find(service).await?,
    };
    let order = AnswerOrder {
        digest: open.as_ref().map(|open| open.approval.digest.clone()),
        ..order
    };
    let route = routes::answer(&conversation, named.id, &order);
    let lines = |answer: Answered| {
        let what = open.as_ref().map(|open| format!("  {}", summary(open)));
        [answer_line(&answer)].into_iter().chain(what).collect()
    };
    common::show(route, common.json, service, output, lines).await
}

/// The open approval that is meant: in the named conversation, or by its number in the whole service.
async fn chosen(
    named: &NamedApproval<'_>,
    common: &CommonArgs,
    service: &ServiceConnection,
) -> Result<Result<Option<OpenApproval>, ChoiceError>, CommandError> {
    let &NamedApproval { id, digest, .. } = named;
    let (route, folder) = match common.which.named() {
        Some(_) => (routes::approvals(&common.which.find(service).await?), None),
        None => (routes::all_approvals(), folder::here_if_known(service)?),
    };
    let waiting: Waiting = service.ask(&route).await?;
    let wanted = WantedApproval {
        id,
        digest,
        folder: folder.as_deref(),
    };
    Ok(choose(wanted, waiting.approvals))
}

/// The error of the command. Tells first which approvals may be meant.
fn refused(error: &ChoiceError, verb: &str, output: &mut Output) -> CommandError {
    match error {
        ChoiceError::Changed { id } => CommandError::ChangedApproval { id: *id },
        ChoiceError::Unclear { open, .. } => {
            for open in open {
                output.tell(&format!("  {}", summary(open)));
                let line = command_line(verb, &open.conversation, &open.approval);
                output.tell(&format!("    {line}"));
            }
            CommandError::Usage {
                reason: error.to_string(),
            }
        }
    }
}

fn answer_line(answer: &Answered) -> String {
    let by = words::by(answer.by.as_deref());
    let rule = answer.rule.as_deref();
    let rule = rule.map_or(String::new(), |rule| {
        format!("; the rule: {}", visible::judged(rule))
    });
    format!("{} {}{by}{rule}", answer.id, words::verdict(answer.answer))
}

fn whole_lines(Waiting { approvals }: Waiting) -> Vec<String> {
    if approvals.is_empty() {
        return vec!["nothing waits for an answer".to_owned()];
    }
    approvals.iter().flat_map(approval_lines).collect()
}

/// An approval with its diff, command or input, and the command line that allows it.
fn approval_lines(open: &OpenApproval) -> Vec<String> {
    let OpenApproval {
        conversation,
        approval,
        ..
    } = open;
    let head = format!(
        "{} {} in {}: {} ({})",
        approval.id,
        approval.tool,
        visible::line(conversation),
        visible::judged(&words::subject(&approval.subject)),
        visible::line(&approval.because),
    );
    let answer = format!(
        "  digest {}: {}",
        short_digest(approval),
        command_line("approve", conversation, approval)
    );
    let body = judged(approval);
    [head].into_iter().chain(body).chain([answer]).collect()
}

/// The approvals of other conversations, each with the command line that allows it.
fn other_lines(others: &[OpenApproval], now: u64) -> Vec<String> {
    if others.is_empty() {
        return Vec::new();
    }
    let lines = others.iter().flat_map(|open| {
        let active = open
            .active_at
            .map(|at| format!(", active {}", ago(now, at)));
        let answer = command_line("approve", &open.conversation, &open.approval);
        [
            format!("  {}{}", summary(open), active.unwrap_or_default()),
            format!("    {answer}"),
        ]
    });
    let head = "in other conversations (harness approvals --all shows them whole):".to_owned();
    [head].into_iter().chain(lines).collect()
}

/// An approval in one line, with its conversation and folder.
fn summary(open: &OpenApproval) -> String {
    let OpenApproval {
        conversation,
        approval,
        workspace,
        ..
    } = open;
    let what = match &approval.subject {
        Subject::Change(change) => visible::judged(&words::changed(change)),
        Subject::Command(plan) => visible::judged(&plan.command),
        Subject::McpCall(call) => visible::judged(&call_line(call)),
    };
    let folder = workspace.as_deref().map(visible::line);
    format!(
        "{} {} in {}: {} (digest {}){}",
        approval.id,
        approval.tool,
        visible::line(conversation),
        visible::cut(&what, MAX_WHAT),
        short_digest(approval),
        folder.map_or_else(String::new, |folder| format!(", folder {folder}")),
    )
}

/// A call of a tool of an MCP server in one line: `git.git_log { "max_count": 3 }`.
fn call_line(
    McpCall {
        server,
        tool,
        input,
        ..
    }: &McpCall,
) -> String {
    // Line breaks of indented JSON are between its parts only.
    let parts: Vec<&str> = input.lines().map(str::trim_start).collect();
    format!("{server}.{tool} {}", parts.join(" "))
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
