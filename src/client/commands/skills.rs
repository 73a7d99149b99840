//! `harness skills`: what there is to send as a prompt.

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::listing::{self, Listing};
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;

pub(super) const SKILLS_HELP: &str = "\
Examples:
  harness skills                               what there is, and what could not be loaded
  harness skills --json | jq -r .path

A skill is a folder with a SKILL.md, in .agents/skills or .claude/skills of the working folder or
in skills of the state folder. What you change there counts from the next prompt on.

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// Prints the skills.
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
        "skills",
        &routes::skills(folder.as_deref()),
        order,
        service,
        output,
    )
    .await
}
