//! `harness skills` and `harness templates`: what there is to send as a prompt.

use clap::Args;
use serde_json::Value;

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::route::Route;
use crate::client::commands::common::items;
use crate::client::commands::table::table;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

pub(super) const SKILLS_HELP: &str = "\
Examples:
  harness skills                               what there is, and what could not be loaded
  harness skills --json | jq -r '.items[].path'

A skill is a folder with a SKILL.md, in .agents/skills or .claude/skills of the working folder or
in skills of the state folder. What you change there counts from the next prompt on.";

pub(super) const TEMPLATES_HELP: &str = "\
Examples:
  harness templates                            what there is, and what could not be loaded
  harness templates --json | jq -r '.items[].name'

A template is a Markdown file in .agents/templates, .agents/prompts or .claude/commands of the
working folder or in templates of the state folder. What you change there counts at once.";

/// How many characters of a description a table shows.
const MAX_DESCRIPTION: usize = 72;

/// The flags of `harness skills` and `harness templates`.
#[derive(Debug, Args)]
pub(crate) struct ListingArgs {
    /// Print a JSON object with `items`
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints what there is in this folder; `kind` is `skills` or `templates`.
///
/// # Errors
/// If it cannot be had or printed.
pub(super) async fn run(
    kind: &str,
    route: impl FnOnce(Option<&str>) -> Route<Value>,
    listing: &ListingArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let malformed = || RequestError::Malformed {
        reason: format!("it has no list of {kind}"),
    };
    let folder = folder::here_if_known(service)?;
    let answer = service.ask(&route(folder.as_deref())).await?;
    let rows = answer[kind].as_array().ok_or_else(malformed)?;
    if listing.json {
        output.json(&items(answer.clone(), kind))?;
    } else {
        let rows: Vec<_> = rows.iter().map(row).collect();
        for line in table(&rows, &[]) {
            output.line(&line)?;
        }
    }
    for problem in answer["problems"].as_array().into_iter().flatten() {
        output.note(&format!("harness: {}", text(problem)));
    }
    if rows.is_empty() {
        output.note(&format!(
            "harness: there are no {kind}; `harness {kind} --help` says where they are looked for"
        ));
    }
    Ok(())
}

/// A name and a description.
fn row(row: &Value) -> [String; 2] {
    let hidden = if row["hidden"] == true {
        "(hidden) "
    } else {
        ""
    };
    let description = visible::short(text(&row["description"]), MAX_DESCRIPTION);
    let name = visible::line(text(&row["name"]));
    [name, format!("{hidden}{description}")]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
