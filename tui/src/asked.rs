//! What there is to see of what a tool is about to do.

use harness_protocol::{CommandPlan, FileChange, Subject};

use crate::part_view::diff_token;
use crate::theme::Token;

/// The lines of a subject, without its head, as they came.
pub(crate) fn subject_lines(subject: &Subject) -> Vec<(String, Token)> {
    match subject {
        Subject::Change(change) => change_lines(change),
        Subject::Command(plan) => command_lines(plan),
    }
}

/// What there is to see of a change.
fn change_lines(change: &FileChange) -> Vec<(String, Token)> {
    let asked = change.asked.iter();
    let asked = asked.map(|asked| (format!("asked for as {asked}"), Token::Status));
    let notes = change
        .notes
        .iter()
        .map(|note| (note.clone(), Token::Status));
    let diff = change.diff.split_terminator('\n');
    let diff = diff.map(|line| (with_blanks(line), diff_token(line)));
    let cut = "the diff goes on; harness approvals --json has no more of it either";
    let cut = change.diff_cut.then(|| (cut.to_owned(), Token::Error));
    asked.chain(notes).chain(diff).chain(cut).collect()
}

/// What there is to see of a command.
fn command_lines(plan: &CommandPlan) -> Vec<(String, Token)> {
    let why = plan
        .why
        .iter()
        .map(|why| (format!("the model says: {why}"), Token::Status));
    let gaps = plan
        .gaps
        .iter()
        .map(|gap| (format!("not held: {gap}"), Token::Status));
    let itself = "this command could answer approvals itself";
    let itself = plan
        .answers_itself
        .then(|| (itself.to_owned(), Token::Error));
    let command = plan
        .command
        .split('\n')
        .map(|line| (line.to_owned(), Token::Text));
    why.chain(gaps).chain(itself).chain(command).collect()
}

/// A line of a diff with the blanks at its end to be seen, where they are new or gone.
fn with_blanks(line: &str) -> String {
    if !line.starts_with(['+', '-']) {
        return line.to_owned();
    }
    let kept = line.trim_end_matches([' ', '\t']);
    let blanks = line[kept.len()..].chars();
    let shown = blanks.map(|blank| if blank == '\t' { '→' } else { '·' });
    kept.chars().chain(shown).collect()
}
