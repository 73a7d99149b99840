//! The view of a tool's planned effect.

use harness_protocol::{Approval, CommandPlan, FileChange, Subject, words};

use crate::diff::Diff;
use crate::theme::Token;

/// The subject of an approval, without the diff or the command. Paths are those below that folder, if
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

/// A path relative to that folder; unchanged, if it is elsewhere.
fn below<'a>(path: &'a str, folder: Option<&str>) -> &'a str {
    let below = folder.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
    below.unwrap_or(path)
}

/// Something that there is to see of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShownSubject {
    /// A line, as it came.
    Line(String, Token),
    /// A diff.
    Diff(Diff),
}

/// The view of a subject, without its head.
pub(crate) fn subject(subject: &Subject) -> Vec<ShownSubject> {
    let line = |(line, token)| ShownSubject::Line(line, token);
    match subject {
        Subject::Change(change) => {
            let cut = "the diff goes on; harness approvals --json has no more of it either";
            let cut = change.diff_cut.then(|| (cut.to_owned(), Token::Error));
            let diff = ShownSubject::Diff(Diff::read(&change.diff));
            let before = remarks(change).map(line);
            before.chain([diff]).chain(cut.map(line)).collect()
        }
        Subject::Command(plan) => command_lines(plan).into_iter().map(line).collect(),
    }
}

/// The lines of a subject, without its head.
pub(crate) fn subject_lines(subject: &Subject) -> Vec<String> {
    let shown = self::subject(subject).into_iter();
    let lines = shown.flat_map(|shown| match shown {
        ShownSubject::Line(line, _) => vec![line],
        ShownSubject::Diff(diff) => diff
            .text
            .split_terminator('\n')
            .map(str::to_owned)
            .collect(),
    });
    lines.collect()
}

/// The words about a change.
fn remarks(change: &FileChange) -> impl Iterator<Item = (String, Token)> {
    let asked = change.asked.iter();
    let asked = asked.map(|asked| (format!("asked for as {asked}"), Token::Notice));
    let notes = change.notes.iter();
    asked.chain(notes.map(|note| (note.clone(), Token::Notice)))
}

/// The view of a command. The model's words are one line, so that none of them looks like
/// one of the command.
fn command_lines(plan: &CommandPlan) -> Vec<(String, Token)> {
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = plan.why.iter().map(|why| {
        let why = in_one_line(why);
        (format!("the model says: {why}"), Token::Notice)
    });
    let gaps = plan.gaps.iter().map(|gap| {
        let gap = in_one_line(gap);
        (format!("not held: {gap}"), Token::Notice)
    });
    let beyond_undo = words::beyond_undo(plan).map(|text| (text, Token::Notice));
    let itself = "this command could answer approvals itself";
    let itself = plan
        .answers_itself
        .then(|| (itself.to_owned(), Token::Error));
    let command = plan
        .command
        .split('\n')
        .map(|line| (as_the_shell_reads(line), Token::Text));
    why.chain(gaps)
        .chain(beyond_undo)
        .chain(itself)
        .chain(command)
        .collect()
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
