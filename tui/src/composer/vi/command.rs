//! The commands of vi, from the keys that were typed for one.

/// Maximum number that a count may be: nothing in a draft is that long.
const MAX_COUNT: usize = 9999;

/// The keys so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParsedKeys {
    /// They begin a command.
    Begun,
    /// They are none.
    Unknown,
    /// A whole command.
    Whole(ViCommand),
}

/// One command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViCommand {
    /// Moves the caret.
    Move(ViMotion, Option<usize>),
    /// Deletes, changes or copies what a motion passes.
    Operate(ViOperator, ViMotion, Option<usize>),
    /// The same with whole lines.
    OperateLines(ViOperator, usize),
    /// Begins to insert.
    Insert(InsertPlace),
    /// Puts this character in the place of some.
    Replace(char, usize),
    /// Puts in what was deleted or copied last.
    Put { is_before: bool, count: usize },
    /// Joins the next lines to this one.
    Join(usize),
    /// Makes capital letters small, and the other way round.
    SwapCase(usize),
    /// Takes the last changes back.
    Undo(usize),
    /// Repeats the last change.
    Repeat(usize),
    /// Begins to select.
    Visual,
}

/// The action on a piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViOperator {
    Delete,
    Change,
    Copy,
}

/// The place at which text is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertPlace {
    Caret,
    AfterCaret,
    FirstOfLine,
    EndOfLine,
    LineBelow,
    LineAbove,
}

/// A motion. A word that is `big` ends at white space only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViMotion {
    Left,
    Right,
    Up,
    Down,
    Word {
        is_big: bool,
    },
    WordBack {
        is_big: bool,
    },
    WordEnd {
        is_big: bool,
    },
    LineStart,
    FirstOfLine,
    LineEnd,
    /// The first line, or the one of the count.
    Top,
    /// The last line, or the one of the count.
    Bottom,
    Find(CharacterSearch),
    /// The last search for a character once more, perhaps in the other direction.
    FindAgain {
        is_reverse: bool,
    },
}

/// A search for a character in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharacterSearch {
    pub(super) character: char,
    pub(super) is_forward: bool,
    /// True if it ends beside the character.
    pub(super) is_beside: bool,
    /// True if it is made once more.
    pub(super) is_again: bool,
}

/// Reads the keys that were typed for a command.
pub(super) fn parse(keys: &str) -> ParsedKeys {
    let (count, keys) = count(keys);
    let times = count.unwrap_or(1);
    let mut rest = keys.chars();
    let Some(key) = rest.next() else {
        return ParsedKeys::Begun;
    };
    let rest = rest.as_str();
    let operate = |operator, motion| ViCommand::Operate(operator, motion, count);
    let command = match key {
        'd' => return operator(ViOperator::Delete, key, count, rest),
        'c' => return operator(ViOperator::Change, key, count, rest),
        'y' => return operator(ViOperator::Copy, key, count, rest),
        'r' => {
            return match rest.chars().next() {
                None => ParsedKeys::Begun,
                Some(character) => ParsedKeys::Whole(ViCommand::Replace(character, times)),
            };
        }
        'x' => operate(ViOperator::Delete, ViMotion::Right),
        'X' => operate(ViOperator::Delete, ViMotion::Left),
        's' => operate(ViOperator::Change, ViMotion::Right),
        'D' => operate(ViOperator::Delete, ViMotion::LineEnd),
        'C' => operate(ViOperator::Change, ViMotion::LineEnd),
        'S' => ViCommand::OperateLines(ViOperator::Change, times),
        'Y' => ViCommand::OperateLines(ViOperator::Copy, times),
        'i' => ViCommand::Insert(InsertPlace::Caret),
        'a' => ViCommand::Insert(InsertPlace::AfterCaret),
        'I' => ViCommand::Insert(InsertPlace::FirstOfLine),
        'A' => ViCommand::Insert(InsertPlace::EndOfLine),
        'o' => ViCommand::Insert(InsertPlace::LineBelow),
        'O' => ViCommand::Insert(InsertPlace::LineAbove),
        'p' | 'P' => ViCommand::Put {
            is_before: key == 'P',
            count: times,
        },
        'J' => ViCommand::Join(times),
        '~' => ViCommand::SwapCase(times),
        'u' => ViCommand::Undo(times),
        '.' => ViCommand::Repeat(times),
        'v' => ViCommand::Visual,
        _ => {
            return match motion(keys) {
                ParsedMotion::Begun => ParsedKeys::Begun,
                ParsedMotion::Unknown => ParsedKeys::Unknown,
                ParsedMotion::Whole(motion) => ParsedKeys::Whole(ViCommand::Move(motion, count)),
            };
        }
    };
    ParsedKeys::Whole(command)
}

/// Reads what an operator is for: a motion, or the same key once more for lines.
fn operator(operator: ViOperator, key: char, before: Option<usize>, rest: &str) -> ParsedKeys {
    let (behind, rest) = count(rest);
    // Counts before and behind an operator are multiplied.
    let count = match (before, behind) {
        (None, None) => None,
        (before, behind) => Some((before.unwrap_or(1) * behind.unwrap_or(1)).min(MAX_COUNT)),
    };
    if rest.starts_with(key) {
        let lines = ViCommand::OperateLines(operator, count.unwrap_or(1));
        return ParsedKeys::Whole(lines);
    }
    match motion(rest) {
        ParsedMotion::Begun => ParsedKeys::Begun,
        ParsedMotion::Unknown => ParsedKeys::Unknown,
        ParsedMotion::Whole(motion) => {
            ParsedKeys::Whole(ViCommand::Operate(operator, motion, count))
        }
    }
}

enum ParsedMotion {
    Begun,
    Unknown,
    Whole(ViMotion),
}

fn motion(keys: &str) -> ParsedMotion {
    let mut rest = keys.chars();
    let Some(key) = rest.next() else {
        return ParsedMotion::Begun;
    };
    let argument = rest.next();
    ParsedMotion::Whole(match key {
        'h' => ViMotion::Left,
        'l' | ' ' => ViMotion::Right,
        'k' => ViMotion::Up,
        'j' => ViMotion::Down,
        'w' | 'W' => ViMotion::Word { is_big: key == 'W' },
        'b' | 'B' => ViMotion::WordBack { is_big: key == 'B' },
        'e' | 'E' => ViMotion::WordEnd { is_big: key == 'E' },
        '0' => ViMotion::LineStart,
        '^' => ViMotion::FirstOfLine,
        '$' => ViMotion::LineEnd,
        'G' => ViMotion::Bottom,
        'g' => match argument {
            None => return ParsedMotion::Begun,
            Some('g') => ViMotion::Top,
            Some(_) => return ParsedMotion::Unknown,
        },
        'f' | 'F' | 't' | 'T' => match argument {
            None => return ParsedMotion::Begun,
            Some(character) => ViMotion::Find(CharacterSearch {
                character,
                is_forward: matches!(key, 'f' | 't'),
                is_beside: matches!(key, 't' | 'T'),
                is_again: false,
            }),
        },
        ';' | ',' => ViMotion::FindAgain {
            is_reverse: key == ',',
        },
        _ => return ParsedMotion::Unknown,
    })
}

/// The count at the beginning of the keys, and the rest of them. A zero begins none.
fn count(keys: &str) -> (Option<usize>, &str) {
    let end = keys
        .find(|key: char| !key.is_ascii_digit())
        .unwrap_or(keys.len());
    match keys[..end].strip_prefix('0') {
        None if end > 0 => {
            let count = keys[..end].parse().unwrap_or(MAX_COUNT).min(MAX_COUNT);
            (Some(count), &keys[end..])
        }
        _ => (None, keys),
    }
}
