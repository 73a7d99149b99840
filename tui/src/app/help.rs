//! The help, in columns, made from the tables of keys and commands.

use super::COMMANDS;
use crate::keys::{BINDINGS, KeyPlace};
use crate::text::{self, broken};
use crate::theme::{Look, StyledWords, Token};

/// Maximum width of the box with one column, and with two, in columns of the screen.
pub(crate) const WIDTHS: (u16, u16) = (100, 120);
/// The columns between two columns.
pub(crate) const GAP: usize = 2;
/// Minimum width at which keys and their meanings are beside each other.
const BESIDE_FROM: usize = 50;
/// Indentation of the meanings, beside the keys and below them, in columns.
const BESIDE: usize = 24;
const BELOW: usize = 4;

/// A row of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HelpRow {
    Heading(&'static str),
    Entry { keys: String, text: &'static str },
}

/// The keys that one needs first, in twelve lines.
const CARD: [(&str, &str); 12] = [
    ("Enter", "send; during a run, steer it"),
    ("Tab", "during a run, say it at its end"),
    ("Ctrl+J", "new line"),
    (
        "@",
        "a file of the folder goes along; /attach, drop or paste others",
    ),
    ("!", "run a command here; !! keeps it from the model"),
    ("/", "commands, which are listed below"),
    ("Ctrl+C", "cancel the run; else clear; else leave"),
    ("Ctrl+T", "answer what waits for an answer"),
    ("Ctrl+R", "prompts of the past"),
    ("Alt+E", "go on from before a prompt"),
    ("Ctrl+P", "conversations"),
    ("Ctrl+O, Ctrl+F", "fold the tools, search"),
];

/// All rows: every binding of the table is in one of them.
fn rows() -> Vec<HelpRow> {
    let mut rows = vec![HelpRow::Heading("To begin with")];
    rows.extend(CARD.iter().map(|(keys, text)| HelpRow::Entry {
        keys: (*keys).to_owned(),
        text,
    }));
    for (heading, places) in [
        ("Keys", &[KeyPlace::Empty, KeyPlace::Writing][..]),
        ("While something is selected", &[KeyPlace::Selecting]),
        ("While a part is picked", &[KeyPlace::Picked]),
        ("While a command is named", &[KeyPlace::Commands]),
        ("In the list of conversations", &[KeyPlace::Picker]),
        (
            "In a list of models, skills or templates",
            &[KeyPlace::Chooser],
        ),
        ("In a list of prompts of the past", &[KeyPlace::Past]),
        ("In a search", &[KeyPlace::Search]),
        (
            "On the board of workflows",
            &[KeyPlace::Board, KeyPlace::BoardGate],
        ),
        (
            "While what waits for an answer has the keys",
            &[KeyPlace::Band, KeyPlace::BandScope, KeyPlace::BandReason],
        ),
    ] {
        rows.push(HelpRow::Heading(heading));
        for binding in BINDINGS {
            if binding.places.iter().any(|place| places.contains(place)) {
                let keys: Vec<String> = binding.chords.iter().map(ToString::to_string).collect();
                rows.push(HelpRow::Entry {
                    keys: keys.join(", "),
                    text: binding.help,
                });
            }
        }
    }
    rows.push(HelpRow::Heading("Mouse"));
    rows.push(HelpRow::Entry {
        keys: "wheel, drag".to_owned(),
        text: "scroll, select (twice: word, thrice: paragraph)",
    });
    rows.push(HelpRow::Entry {
        keys: "Shift+drag".to_owned(),
        text: "the terminal's own selection, in most terminals",
    });
    rows.push(HelpRow::Entry {
        keys: "click".to_owned(),
        text: "on the heading of a tool: fold or unfold it",
    });
    rows.push(HelpRow::Heading(
        "Commands (// sends a prompt that begins with /)",
    ));
    rows.extend(COMMANDS.iter().map(|command| HelpRow::Entry {
        keys: format!("/{} {}", command.name, command.arguments),
        text: command.help,
    }));
    rows
}

/// Number of rows of the help that do not fit on a screen of that size.
pub(crate) fn overflow(size: (u16, u16)) -> u16 {
    let rows = columns(size.0).iter().map(Vec::len).max().unwrap_or(0);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    rows.saturating_sub(size.1.saturating_sub(2))
}

/// Width of the box on a screen of that width.
pub(crate) fn box_width(screen: u16) -> u16 {
    if screen < WIDTHS.1 {
        screen.min(WIDTHS.0)
    } else {
        WIDTHS.1
    }
}

/// The help for a screen of that width: in one column, or in two.
pub(crate) fn columns(screen: u16) -> Vec<Vec<StyledWords>> {
    let inner = usize::from(box_width(screen).saturating_sub(4));
    if screen < WIDTHS.1 {
        return vec![rows().iter().flat_map(|row| lines(row, inner)).collect()];
    }
    let width = (inner - GAP) / 2;
    let rows: Vec<(bool, Vec<StyledWords>)> = rows()
        .iter()
        .map(|row| (matches!(row, HelpRow::Heading(_)), lines(row, width)))
        .collect();
    let half = rows.iter().map(|(_, lines)| lines.len()).sum::<usize>() / 2;
    let mut columns = vec![Vec::new(), Vec::new()];
    let mut is_second = false;
    for (is_heading, lines) in rows {
        // A heading goes with what is below it.
        let full = columns[0].len() + usize::from(is_heading);
        is_second = is_second || full > half;
        columns[usize::from(is_second)].extend(lines);
    }
    columns
}

/// A row of the help in so many columns.
fn lines(row: &HelpRow, width: usize) -> Vec<StyledWords> {
    let look = Look::new(Token::Text);
    let (keys, text) = match row {
        HelpRow::Heading(heading) => {
            let look = Look::new(Token::Notice).bold();
            let broken = broken(heading, width);
            return broken.map(|line| vec![(line, look)]).collect();
        }
        HelpRow::Entry { keys, text } => (format!("  {keys}"), *text),
    };
    let is_beside = width >= BESIDE_FROM;
    let set_in = if is_beside { BESIDE } else { BELOW };
    let blank = |line: String| vec![(format!("{}{line}", " ".repeat(set_in)), look)];
    let mut said = broken(text, width.saturating_sub(set_in).max(1));
    let mut lines: Vec<StyledWords> = broken_keys(&keys, width)
        .map(|line| vec![(line, Look::new(Token::Accent))])
        .collect();
    if let Some(last) = lines.last_mut() {
        let taken: usize = last.iter().map(|(words, _)| text::width(words)).sum();
        if is_beside && taken + GAP <= BESIDE {
            let gap = " ".repeat(BESIDE - taken);
            last.extend(said.next().map(|line| (format!("{gap}{line}"), look)));
        }
    }
    lines.extend(said.map(blank));
    lines
}

/// The names of keys. Continuation lines are indented like the first.
fn broken_keys(keys: &str, width: usize) -> impl Iterator<Item = String> {
    broken(keys.trim_start(), width.saturating_sub(2).max(1)).map(|line| format!("  {line}"))
}
