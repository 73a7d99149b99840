//! `harness trash`: deleted conversations, listed, moved back or removed for good. Needs no service.

use std::sync::Arc;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use harness_actors::conversation::glance;
use harness_actors::conversation::messages::Overview;
use harness_actors::journal::{
    JournalStore as _, JournalTrash, JsonLinesStore, PageLimit, Record, SystemDisk, TrashedJournal,
};
use harness_actors::{Clock, ConversationId};
use serde_json::{Value, json};

use crate::cli::exit_codes::exits;
use crate::client::commands::conversations::ago;
use crate::client::commands::table::table;
use crate::client::error::CommandError;
use crate::client::folder::display_path;
use crate::client::output::Output;
use crate::client::question::is_confirmed;
use crate::config::{ClientConfig, parse_duration};
use crate::visible;

const TRASH_HELP: &str = "\
Examples:
  harness trash                                what was deleted, the last one first
  harness trash restore Bedtime                moves it back; by its name, its id, its title or the start of one
  harness trash empty                          removes all of it for good, after a question
  harness trash empty --older-than 720h --yes  what was deleted more than 30 days ago, without a question

A running service sees at once what is moved back. A deleted workflow can only be removed: its worktree
went with it, and its branch is still in its repository.";

/// Maximum number of characters of a title and of a folder.
const MAX_TITLE: usize = 60;
const MAX_FOLDER: usize = 40;
/// Maximum number of deleted conversations that an ambiguous name lists.
const MAX_TOLD: usize = 8;

/// The flags of `harness trash`.
#[derive(Debug, Args)]
#[command(
    after_help = exits(TRASH_HELP, "done", "failed, or not confirmed", None),
    args_conflicts_with_subcommands = true
)]
pub(crate) struct TrashArgs {
    /// Print a JSON object with `items`, a deleted conversation each
    #[arg(long)]
    json: bool,
    /// The action; lists the trash if left out.
    #[command(subcommand)]
    action: Option<TrashAction>,
}

/// The actions on the trash.
#[derive(Debug, Subcommand)]
pub(crate) enum TrashAction {
    /// Move a deleted conversation back and print its id
    Restore(RestoreArgs),
    /// Remove what is in the trash for good
    Empty(EmptyArgs),
}

/// The flags of `harness trash restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The deleted conversation, by its name in the trash, its id or its title, or the beginning of one
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Print a JSON object with `id`
    #[arg(long)]
    json: bool,
}

/// The flags of `harness trash empty`.
#[derive(Debug, Args)]
pub(crate) struct EmptyArgs {
    /// Only what was deleted longer ago than this, such as 12h or 720h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    older_than: Option<Duration>,
    /// Do not ask; needed where there is no terminal
    #[arg(short, long)]
    yes: bool,
    /// Print a JSON object with `removed` and `bytes`
    #[arg(long)]
    json: bool,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("it must be a duration such as 12h or 720h")
}

/// A deleted conversation or workflow.
struct DeletedConversation {
    journal: TrashedJournal,
    title: Option<String>,
    folder: Option<String>,
    is_workflow: bool,
}

impl DeletedConversation {
    fn json(&self) -> Value {
        json!({
            "name": self.journal.name,
            "id": self.journal.id,
            "kind": self.kind(),
            "title": self.title,
            "workspace": self.folder,
            "deleted_at": self.journal.deleted_at / 1000,
            "bytes": self.journal.bytes,
        })
    }

    fn kind(&self) -> &'static str {
        match self.is_workflow {
            true => "workflow",
            false => "conversation",
        }
    }

    /// True if a name on the command line means it.
    fn is_meant(&self, name: &str) -> bool {
        let title = self.title.as_deref().unwrap_or_default();
        self.journal.name.starts_with(name) || title.starts_with(name)
    }
}

/// Shows the trash or changes it; the exit code.
///
/// # Errors
/// If it cannot be read or changed, or is not to be.
pub(crate) async fn run(
    order: &TrashArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let clock = Clock::system();
    let trash = JournalTrash::at(&config.home, clock);
    let listed = trash.list().map_err(|error| failed(&error))?;
    match &order.action {
        None => show(order.json, &all(config, clock, listed).await, clock, output)?,
        Some(TrashAction::Restore(restore)) => {
            let found = all(config, clock, listed).await;
            let chosen = chosen(&restore.name, &found)?;
            let id = trash.restore(&chosen.journal.name);
            let id = id.map_err(|error| failed(&error))?;
            match restore.json {
                true => output.json(&json!({ "id": id }))?,
                false => output.line(&visible::line(&id))?,
            }
        }
        Some(TrashAction::Empty(empty)) => remove(empty, &trash, listed, clock, output)?,
    }
    Ok(0)
}

fn failed(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::System {
        reason: error.to_string(),
    }
}

/// The facts about each deleted journal. One that cannot be read has its name only.
async fn all(
    config: &ClientConfig,
    clock: Clock,
    listed: Vec<TrashedJournal>,
) -> Vec<DeletedConversation> {
    let mut all = Vec::new();
    if listed.is_empty() {
        return all;
    }
    let folder = config.home.join("trash");
    let store = JsonLinesStore::new(folder.clone(), folder, Arc::new(SystemDisk), clock);
    for journal in listed {
        let mut deleted = DeletedConversation {
            journal,
            title: None,
            folder: None,
            is_workflow: false,
        };
        look(&store, &mut deleted).await;
        all.push(deleted);
    }
    all
}

async fn look(store: &JsonLinesStore, deleted: &mut DeletedConversation) {
    let id = ConversationId::new(&deleted.journal.name);
    let Ok(journal) = store.open(&id).await else {
        return;
    };
    let header = journal.header();
    let first = PageLimit {
        records: 1,
        bytes: 1,
    };
    let first = journal.read(0, first).await.ok();
    let first = first.and_then(|page| page.entries.into_iter().next());
    deleted.is_workflow = first.is_some_and(|entry| matches!(entry.record, Record::Workflow(_)));
    let overview = glance(&*journal).await.map(Overview::from);
    deleted.title = match overview {
        Ok(overview) => overview.title(&header),
        Err(_) => header.title.clone(),
    };
    deleted.folder = header
        .workspace
        .map(|own| own.folder.to_string_lossy().into_owned());
}

/// The one that a name means.
fn chosen<'d>(
    name: &str,
    all: &'d [DeletedConversation],
) -> Result<&'d DeletedConversation, CommandError> {
    let exactly = all.iter().find(|one| one.journal.name == name);
    let meant: Vec<&DeletedConversation> = match exactly {
        Some(one) => vec![one],
        None => all.iter().filter(|one| one.is_meant(name)).collect(),
    };
    let shown = visible::short(name, MAX_TITLE);
    let refused = |reason: String| Err(CommandError::Usage { reason });
    match meant[..] {
        [] => refused(format!(
            "there is no {shown} in the trash; `harness trash` lists what is"
        )),
        [one] if one.is_workflow => refused(format!(
            "{shown} is a workflow, which is not moved back: its worktree went with it, and its branch is still there"
        )),
        [one] => Ok(one),
        ref several => {
            let names = several.iter().take(MAX_TOLD).map(|one| &*one.journal.name);
            let names: Vec<&str> = names.collect();
            refused(format!("{shown} is one of several: {}", names.join(", ")))
        }
    }
}

fn show(
    as_json: bool,
    all: &[DeletedConversation],
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    if as_json {
        let items: Vec<Value> = all.iter().map(DeletedConversation::json).collect();
        return Ok(output.json(&json!({ "items": items }))?);
    }
    if all.is_empty() {
        return Ok(output.line("the trash is empty")?);
    }
    let header = ["NAME", "DELETED", "BYTES", "FOLDER", "TITLE"].map(str::to_owned);
    let rows = all.iter().map(|one| {
        let folder = one.folder.as_deref().map(display_path).unwrap_or_default();
        let title = match (&one.title, one.is_workflow) {
            (Some(title), true) => format!("workflow {title}"),
            (Some(title), false) => title.clone(),
            (None, true) => "workflow".to_owned(),
            (None, false) => String::new(),
        };
        [
            visible::line(&one.journal.name),
            ago(clock.unix_seconds(), one.journal.deleted_at / 1000),
            one.journal.bytes.to_string(),
            visible::short(&folder, MAX_FOLDER),
            visible::short(&title, MAX_TITLE),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    for line in table(&rows, &[2]) {
        output.line(&line)?;
    }
    Ok(())
}

/// Removes what is old enough, once that is confirmed.
fn remove(
    empty: &EmptyArgs,
    trash: &JournalTrash,
    mut listed: Vec<TrashedJournal>,
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    if let Some(age) = empty.older_than {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let latest = clock.unix_millis().saturating_sub(age);
        listed.retain(|one| one.deleted_at <= latest);
    }
    let bytes: u64 = listed.iter().map(|one| one.bytes).sum();
    let count = match listed.len() {
        1 => "1 deleted conversation".to_owned(),
        count => format!("{count} deleted conversations"),
    };
    let question = format!("Remove {count}, {bytes} bytes, for good?");
    if !listed.is_empty() && !empty.yes && !is_confirmed(&question) {
        return Err(CommandError::System {
            reason: format!(
                "nothing is removed: confirm it at a terminal, or use --yes for {count}"
            ),
        });
    }
    for one in &listed {
        trash.remove(one).map_err(|error| failed(&error))?;
    }
    match empty.json {
        true => output.json(&json!({"removed": listed.len(), "bytes": bytes}))?,
        false => output.line(&format!("removed {count}, {bytes} bytes"))?,
    }
    Ok(())
}
