//! `harness tools`: what a conversation is offered.

use clap::Args;
use harness_protocol::{AnyOrder, RenewTools, SettingsAnswer};

use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::ChangingArgs;
use crate::client::error::CommandError;
use crate::client::output::Output;

const TOOLS_HELP: &str = "\
Examples:
  harness tools                                what the model is offered
  harness tools --renew                        offer the tools that there are now
  harness settings set tools=read,grep         offer only some of them

A conversation keeps the list of its first request, whatever tools come and go, until it is renewed.";

/// The flags of `harness tools`.
#[derive(Debug, Args)]
#[command(after_help = asks(TOOLS_HELP))]
pub(crate) struct ToolsArgs {
    /// Offer the tools that there are now, from the next run on
    #[arg(long)]
    renew: bool,
    /// The name of the client that changes it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Shows the tools that a conversation is offered, after renewing them if that is asked for.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    tools: &ToolsArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let ChangingArgs { caller, common } = &tools.changing;
    let lines = |answer| lines(&answer);
    if !tools.renew {
        return common.show(routes::settings, service, output, lines).await;
    }
    let by = caller.name();
    let order = AnyOrder::from_order(&RenewTools { by }).map_err(|error| CommandError::System {
        reason: error.to_string(),
    })?;
    let route = |conversation: &str| routes::give(conversation, &order).answered_as();
    common.show(route, service, output, lines).await
}

fn lines(answer: &SettingsAnswer) -> Vec<String> {
    let is_active = |name: &String| answer.active_tools.contains(name);
    let line = |name: &String| match is_active(name) {
        true => name.clone(),
        false => format!("{name}  (not active)"),
    };
    answer.tools.iter().map(line).collect()
}
