//! `harness skills`, `harness templates`, `harness skill` and `harness template`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Map, Value, json};

use crate::client::api::connection::Connection;
use crate::client::api::connection::RequestError;
use crate::client::commands::CommandError;
use crate::client::commands::arguments::Caller;
use crate::client::commands::arguments::ClientCommand;
use crate::client::commands::arguments::Which;
use crate::client::commands::run::Order;
use crate::client::output::Output;
use crate::client::visible;
use crate::config::HomeFlag;

/// How many characters of a description a table shows.
const MAX_DESCRIPTION: usize = 72;

pub(crate) const SKILLS_HELP: &str = "\
Examples:
  harness skills                               what there is, and what could not be loaded
  harness skills --json | jq -r .path

A skill is a folder with a SKILL.md, in .agents/skills or .claude/skills of the working folder or
in skills of the state folder. What you change there counts from the next prompt on.

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

pub(crate) const TEMPLATES_HELP: &str = "\
Examples:
  harness templates                            what there is, and what could not be loaded
  harness templates --json | jq -r .name

A template is a Markdown file in .agents/templates, .agents/prompts or .claude/commands of the
working folder or in templates of the state folder. What you change there counts at once.

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

pub(crate) const SKILL_HELP: &str = "\
Examples:
  harness skill release                        run with the instructions of the skill `release`
  harness skill release Only the patch version, please
  git log -5 | harness skill -c ID release -   what is said besides comes from standard input

What is shown, and what Ctrl-C does, is as with `harness prompt`.

Exit codes:
    0  the run completed
    1  the run failed or was interrupted, there is no such skill, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

pub(crate) const TEMPLATE_HELP: &str = "\
Examples:
  harness template review src/main.rs          run with `review`, $1 being src/main.rs
  harness template -c ID review \"two words\" x  $1 is `two words`, $2 is `x`
  harness template review -- -v                an argument that begins with a hyphen

What is shown, and what Ctrl-C does, is as with `harness prompt`.

Exit codes:
    0  the run completed
    1  the run failed or was interrupted, there is no such template, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

/// The flags of `harness skills` and `harness templates`.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print JSON Lines, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of what is sent and followed like a prompt.
#[derive(Debug, Args)]
pub(crate) struct Sending {
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
    /// Names the order: one that was sent before with this key is not run again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
    /// Who asks.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// Print every event of the run as JSON Lines in place of the reply's text
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness skill`.
#[derive(Debug, Args)]
#[command(after_help = SKILL_HELP)]
pub(crate) struct Skill {
    /// The skill
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    skill: String,
    /// What is said besides; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// How it is sent.
    #[command(flatten)]
    pub(crate) sending: Sending,
}

/// The flags of `harness template`.
#[derive(Debug, Args)]
#[command(after_help = TEMPLATE_HELP)]
pub(crate) struct Template {
    /// The template
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    template: String,
    /// What stands in its places
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// How it is sent.
    #[command(flatten)]
    pub(crate) sending: Sending,
}

/// What a command sends and follows, if it is one of these. `text` is what is said besides.
pub(crate) fn order(command: &ClientCommand, text: &str) -> Option<Order> {
    match command {
        ClientCommand::Skill(Skill { skill, sending, .. }) => {
            let mut fields = Map::new();
            fields.insert("name".to_owned(), json!(skill));
            if !text.is_empty() {
                fields.insert("instructions".to_owned(), json!(text));
            }
            Some(Order::invoking(sending, "/skill", fields))
        }
        ClientCommand::Template(Template {
            template,
            arguments,
            sending,
        }) => {
            let mut fields = Map::new();
            fields.insert("name".to_owned(), json!(template));
            fields.insert("arguments".to_owned(), json!(arguments));
            Some(Order::invoking(sending, "/template", fields))
        }
        _ => None,
    }
}

/// Prints what there is; `kind` is `skills` or `templates`.
///
/// # Errors
/// If it cannot be had or printed.
pub(crate) async fn list(
    kind: &str,
    listing: &Listing,
    connection: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let malformed = || RequestError::Malformed {
        reason: format!("it has no list of {kind}"),
    };
    let answer: Value = connection.get(&format!("/v1/{kind}"), &[]).await?;
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
#[path = "guidance_tests.rs"]
mod tests;
