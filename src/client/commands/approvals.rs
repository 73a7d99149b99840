//! `harness approvals`, `approve` and `deny`: what tools wait to change, and the answers.

use clap::{Args, ValueEnum};
use harness_protocol::{
    AnswerOrder, Answered, Approvals as Waiting, OpenApproval, Scope, Verdict, words,
};

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common::{self, Changing, Common};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::exit_codes::exits;
use crate::visible;

const APPROVALS_HELP: &str = "\
Examples:
  harness approvals                            what waits in this conversation, with its diff
  harness approvals --all                      what waits in all of them
  harness approve 3                            allow what approval 3 shows
  harness deny 3 --say 'not in the tests'      refuse it, and tell the model why";

/// The name of the list in the answer.
const MEMBER: &str = "approvals";

/// The flags of `harness approvals`.
#[derive(Debug, Args)]
#[command(after_help = exits(APPROVALS_HELP, "done", "failed, or no service runs", None))]
pub(crate) struct Approvals {
    /// Those of all conversations
    #[arg(long)]
    all: bool,
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: Common,
}

/// The flags of `harness approve`.
#[derive(Debug, Args)]
#[command(after_help = exits(APPROVALS_HELP, "allowed", "failed, somebody answered before, or no service runs", None))]
pub(crate) struct Approve {
    /// The number of the approval
    #[arg(value_name = "ID")]
    id: u64,
    /// How far it reaches; further than once makes the rule that the approval shows
    #[arg(long, value_enum, default_value = "once")]
    scope: Reach,
    /// The name of the client that answers, and the conversation.
    #[command(flatten)]
    pub(super) changing: Changing,
}

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reach {
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
#[command(after_help = exits(APPROVALS_HELP, "denied", "failed, somebody answered before, or no service runs", None))]
pub(crate) struct Deny {
    /// The number of the approval
    #[arg(value_name = "ID")]
    id: u64,
    /// The reason, for the model
    #[arg(long, value_name = "TEXT")]
    say: Option<String>,
    /// Cancel the run too
    #[arg(long)]
    stop: bool,
    /// The name of the client that answers, and the conversation.
    #[command(flatten)]
    pub(super) changing: Changing,
}

/// Shows what waits.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    approvals: &Approvals,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let common = &approvals.common;
    if approvals.all {
        let route = (routes::all_approvals(), MEMBER);
        return common::list(route, common.json, service, output, lines).await;
    }
    let route = (routes::approvals, MEMBER);
    common.list(route, service, output, lines).await
}

/// Allows.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn approve(
    approve: &Approve,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Changing { caller, common } = &approve.changing;
    let conversation = common.which.find(service).await?;
    let waiting: Waiting = service.ask(&routes::approvals(&conversation)).await?;
    let open = waiting
        .approvals
        .iter()
        .find(|open| open.approval.id == approve.id);
    let order = AnswerOrder {
        answer: Verdict::Allow,
        // The service says what became of one that does not wait.
        digest: open.map(|open| open.approval.digest.clone()),
        scope: match approve.scope {
            Reach::Once => Scope::Once,
            Reach::Run => Scope::Run,
            Reach::Conversation => Scope::Conversation,
            Reach::Workspace => Scope::Workspace,
        },
        message: None,
        stop: false,
        by: caller.name(),
        key: None,
    };
    let route = |conversation: &str| routes::answer(conversation, approve.id, &order);
    common
        .show(route, service, output, |answer| vec![said(&answer)])
        .await
}

/// Denies.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn deny(
    deny: &Deny,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Changing { caller, common } = &deny.changing;
    let order = AnswerOrder {
        answer: Verdict::Deny,
        digest: None,
        scope: Scope::Once,
        message: deny.say.clone(),
        stop: deny.stop,
        by: caller.name(),
        key: None,
    };
    let route = |conversation: &str| routes::answer(conversation, deny.id, &order);
    common
        .show(route, service, output, |answer| vec![said(&answer)])
        .await
}

fn said(answer: &Answered) -> String {
    let by = words::by(answer.by.as_deref());
    format!("{} {}{by}", answer.id, words::verdict(answer.answer))
}

fn lines(Waiting { approvals }: Waiting) -> Vec<String> {
    if approvals.is_empty() {
        return vec!["nothing waits for an answer".to_owned()];
    }
    approvals.iter().flat_map(told).collect()
}

/// An approval with its diff or command.
fn told(open: &OpenApproval) -> Vec<String> {
    let OpenApproval {
        conversation,
        approval,
    } = open;
    let head = format!(
        "{} {} in {}: {} ({})",
        approval.id,
        approval.tool,
        visible::line(conversation),
        visible::line(&words::subject(&approval.subject)),
        approval.because,
    );
    let body = approval
        .subject
        .body()
        .split_terminator('\n')
        .map(visible::line);
    [head]
        .into_iter()
        .chain(body.map(|line| format!("  {line}")))
        .collect()
}
