//! What there is to see of what a tool is about to do.

use harness_protocol::{Approval, CommandPlan, FileChange, Subject, words};

use crate::part_view::diff_token;
use crate::theme::Token;

/// What an approval is about, without the diff or the command. Paths are those below that folder, if
/// they are there.
pub(crate) fn head(approval: &Approval, folder: Option<&str>) -> String {
    let about = match &approval.subject {
        Subject::Change(change) => words::changed(&FileChange {
            path: below(&change.path, folder).to_owned(),
            ..change.clone()
        }),
        Subject::Command(plan) => words::command(&CommandPlan {
            folder: match folder == Some(&plan.folder) {
                true => "this folder".to_owned(),
                false => below(&plan.folder, folder).to_owned(),
            },
            ..plan.clone()
        }),
    };
    format!("{}: {about}", approval.tool)
}

/// A path below that folder; as it is, if it is elsewhere.
fn below<'a>(path: &'a str, folder: Option<&str>) -> &'a str {
    let below = folder.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
    below.unwrap_or(path)
}

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

/// What there is to see of a command. What the model says is one line, so that none of it looks like
/// one of the command.
fn command_lines(plan: &CommandPlan) -> Vec<(String, Token)> {
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = plan.why.iter().map(|why| {
        let why = in_one_line(why);
        (format!("the model says: {why}"), Token::Status)
    });
    let gaps = plan.gaps.iter().map(|gap| {
        let gap = in_one_line(gap);
        (format!("not held: {gap}"), Token::Status)
    });
    let itself = "this command could answer approvals itself";
    let itself = plan
        .answers_itself
        .then(|| (itself.to_owned(), Token::Error));
    let command = plan
        .command
        .split('\n')
        .map(|line| (as_the_shell_reads(line), Token::Text));
    why.chain(gaps).chain(itself).chain(command).collect()
}

/// A line of a command in which nothing looks like something else: tabs and the blanks at its end are to be
/// seen, and so is what looks like a blank or like nothing, and is neither to a shell.
fn as_the_shell_reads(line: &str) -> String {
    let kept = line.trim_end_matches([' ', '\t']);
    let mut shown = String::with_capacity(line.len());
    for (at, character) in line.char_indices() {
        match character {
            '\t' => shown.push('→'),
            ' ' if at >= kept.len() => shown.push('·'),
            '\u{200c}' | '\u{200d}' | '\u{2800}' | '\u{fe0e}' | '\u{fe0f}' => {
                code(character, &mut shown);
            }
            blank if !blank.is_ascii() && blank.is_whitespace() => code(blank, &mut shown),
            character => shown.push(character),
        }
    }
    shown
}

/// A character as its number.
fn code(character: char, shown: &mut String) {
    shown.push_str(&format!("<{:04X}>", u32::from(character)));
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
