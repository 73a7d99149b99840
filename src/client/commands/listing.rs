//! The list that `harness skills` and `harness templates` print.

use clap::Args;
use serde_json::Value;

use crate::client::api::connection::{Connection, RequestError};
use crate::client::api::route::Route;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::client::visible;
use crate::config::HomeFlag;

/// How many characters of a description a table shows.
const MAX_DESCRIPTION: usize = 72;

/// The flags of `harness skills` and `harness templates`.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print JSON Lines, one a line
    #[arg(long)]
    pub(super) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(super) home: HomeFlag,
}

/// Prints what there is; `kind` is `skills` or `templates`.
///
/// # Errors
/// If it cannot be had or printed.
pub(super) async fn list(
    kind: &str,
    route: &Route<Value>,
    listing: &Listing,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let malformed = || RequestError::Malformed {
        reason: format!("it has no list of {kind}"),
    };
    let answer = service.ask(route).await?;
    let rows = answer[kind].as_array().ok_or_else(malformed)?;
    if listing.json {
        for row in rows {
            output.json(row)?;
        }
    } else {
        for line in table(rows) {
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

/// Names and descriptions in columns.
fn table(rows: &[Value]) -> Vec<String> {
    let names: Vec<String> = rows
        .iter()
        .map(|row| visible::line(text(&row["name"])))
        .collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let line = |(name, row): (&String, &Value)| {
        let hidden = if row["hidden"] == true {
            "(hidden) "
        } else {
            ""
        };
        let description = visible::short(text(&row["description"]), MAX_DESCRIPTION);
        format!("{name:width$}  {hidden}{description}")
            .trim_end()
            .to_owned()
    };
    names.iter().zip(rows).map(line).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
