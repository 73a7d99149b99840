//! `harness undo`: takes back what tools changed.

use clap::Args;
use harness_protocol::{UndoAnswer, UndoOrder, UndoTo, words};

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::ChangingArgs;
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

const UNDO_HELP: &str = "\
Examples:
  harness undo --dry-run          what would be taken back of the last run that changed something, as diffs
  harness undo                    takes it back
  harness undo --to-run 3         takes back what run 3 and later ones changed

A file is restored only if it is as the tools left it; the others stay, and are named. Git's index, branches and
commits stay unchanged.";

/// The flags of `harness undo`.
#[derive(Debug, Args)]
#[command(after_help = exits(UNDO_HELP, "done, also where files were left", "failed, nothing to take back, or no service runs", None))]
pub(crate) struct UndoArgs {
    /// Take back what this run and later ones changed
    #[arg(long, value_name = "RUN", conflicts_with = "to_seq")]
    to_run: Option<u64>,
    /// Take back what was changed behind this record
    #[arg(long, value_name = "SEQ")]
    to_seq: Option<u64>,
    /// Change nothing, and show what would be done
    #[arg(long)]
    dry_run: bool,
    /// The name of the client that takes it back, and the conversation.
    #[command(flatten)]
    changing: ChangingArgs,
}

/// Takes changes back.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    undo: &UndoArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let ChangingArgs { caller, common } = &undo.changing;
    let run = undo.to_run.map(UndoTo::Run);
    let order = UndoOrder {
        to: run.or(undo.to_seq.map(UndoTo::Seq)),
        dry_run: undo.dry_run,
        by: caller.name(),
    };
    let route = |conversation: &str| routes::undo(conversation, &order);
    common.show(route, service, output, lines).await
}

fn lines(UndoAnswer { files, notes }: UndoAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &files {
        lines.push(visible::line(&words::undone(file)));
        let diff = file
            .diff
            .iter()
            .flat_map(|diff| diff.split_terminator('\n'));
        lines.extend(diff.map(|line| format!("  {}", visible::line(line))));
    }
    let notes = notes
        .iter()
        .map(|note| visible::line(&words::not_undone(note)));
    lines.extend(notes);
    lines
}
