//! The view of a tool's planned effect.

use harness_protocol::{Approval, CommandPlan, FileChange, Subject, words};

use crate::diff::Diff;
use crate::theme::Token;

/// The subject of an approval, without the diff, the command or the input. Paths are those below that folder, if
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
        Subject::McpCall(call) => words::mcp_call(call),
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
    /// A line of which every character counts.
    Line(String, Token),
    /// A sentence, which may be broken between words.
    Sentence(String),
    /// A diff.
    Diff(Diff),
}

/// The view of a subject, without its head: the diff, the command or the input, and what belongs to it.
pub(crate) fn subject(subject: &Subject) -> Vec<ShownSubject> {
    let line = |(line, token)| ShownSubject::Line(line, token);
    let mut shown: Vec<ShownSubject> = match subject {
        Subject::Change(change) => {
            let cut = "the diff goes on; harness approvals --json has no more of it either";
            let cut = change.diff_cut.then(|| (cut.to_owned(), Token::Error));
            let diff = ShownSubject::Diff(Diff::read(&change.diff));
            let before = remarks(change).map(line);
            before.chain([diff]).chain(cut.map(line)).collect()
        }
        Subject::Command(plan) => command_lines(plan),
        Subject::McpCall(call) => exact_lines(&call.input).collect(),
    };
    shown.extend(words::beyond_undo(subject).map(ShownSubject::Sentence));
    shown
}

/// The sentences about what does not hold a command or an MCP server on this machine.
pub(crate) fn caveats(subject: &Subject) -> Vec<String> {
    let gaps = match subject {
        Subject::Change(_) => return Vec::new(),
        Subject::Command(plan) => &plan.gaps,
        Subject::McpCall(call) => &call.gaps,
    };
    let gaps = gaps.iter();
    gaps.map(|gap| format!("not held: {}", in_one_line(gap)))
        .collect()
}

/// The lines of a subject, without its head.
pub(crate) fn subject_lines(subject: &Subject) -> Vec<String> {
    let shown = self::subject(subject).into_iter();
    let lines = shown.flat_map(|shown| match shown {
        ShownSubject::Line(line, _) | ShownSubject::Sentence(line) => vec![line],
        ShownSubject::Diff(diff) => diff
            .text
            .split_terminator('\n')
            .map(str::to_owned)
            .collect(),
    });
    lines.chain(caveats(subject)).collect()
}

/// The words about a change.
fn remarks(change: &FileChange) -> impl Iterator<Item = (String, Token)> {
    let asked = change.asked.iter();
    let asked = asked.map(|asked| (format!("asked for as {asked}"), Token::Notice));
    let notes = change.notes.iter();
    asked.chain(notes.map(|note| (note.clone(), Token::Notice)))
}

/// The view of a command: the command first. The model's words are one line, so that none of them looks like one of the
/// command.
fn command_lines(plan: &CommandPlan) -> Vec<ShownSubject> {
    let itself = "this command could answer approvals itself".to_owned();
    let itself = plan
        .answers_itself
        .then_some(ShownSubject::Line(itself, Token::Error));
    let why = plan.why.iter();
    let why = why.map(|why| format!("the model says: {}", in_one_line(why)));
    exact_lines(&plan.command)
        .chain(itself)
        .chain(why.map(ShownSubject::Sentence))
        .collect()
}

/// The lines of a command or an input, of which every character counts.
fn exact_lines(text: &str) -> impl Iterator<Item = ShownSubject> {
    let lines = text.split('\n');
    lines.map(|line| ShownSubject::Line(exact_line(line), Token::Text))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of a command or an input in which nothing looks like something else: tabs and the blanks at its end are to
/// be seen, and so is what looks like a blank or like nothing, and is neither to a shell.
fn exact_line(line: &str) -> String {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [APPR-816] [APPR-817]
    #[test]
    fn a_call_is_shown_with_its_whole_input() {
        let input = "{\n  \"text\": \"a\u{a0}b\u{200d}\",\n  \"tab\": \"\\t\"\n} ";
        let approval = json!({"id": 1, "run_id": 7, "call": "t", "tool": "mcp__git__git_log",
            "mcp_call": {"server": "git", "tool": "git_log", "input": input, "access": "write",
                "network": true, "backend": "namespaces", "contained": true, "gaps": ["one  gap"]},
            "digest": "d", "because": "b", "scopes": ["once"]});
        let approval: Approval = serde_json::from_value(approval).unwrap();
        assert_eq!(
            head(&approval, Some("/home/ana")),
            "mcp__git__git_log: git.git_log, writes, network, contained by namespaces"
        );
        assert_eq!(
            subject_lines(&approval.subject),
            [
                "{",
                "  \"text\": \"a<00A0>b<200D>\",",
                "  \"tab\": \"\\t\"",
                "}·",
                "undo does not cover: what the server git does",
                "not held: one gap",
            ]
        );
    }
}
