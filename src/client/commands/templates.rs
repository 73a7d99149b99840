//! `harness templates`: what there is to send as a prompt.

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::listing::{self, Listing};
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;

pub(super) const TEMPLATES_HELP: &str = "\
Examples:
  harness templates                            what there is, and what could not be loaded
  harness templates --json | jq -r .name

A template is a Markdown file in .agents/templates, .agents/prompts or .claude/commands of the
working folder or in templates of the state folder. What you change there counts at once.

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// Prints the templates.
///
/// # Errors
/// If they cannot be had or printed.
pub(super) async fn run(
    order: &Listing,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let folder = folder::here_if_known(service)?;
    listing::list(
        "templates",
        &routes::templates(folder.as_deref()),
        order,
        service,
        output,
    )
    .await
}
