//! Codes for tests, and a thread that answers at once.

use super::thread::CodeReader;
use super::{Code, CodeColours, Language, ParsedColours, Request};
use crate::conversation::{Part, PartId, PartKind};
use crate::layout::{Mark, PartLayout};

/// A part of that revision.
pub(crate) fn part(revision: u32) -> Part {
    Part {
        id: PartId(1),
        revision,
        seq: None,
        at: None,
        kind: PartKind::Note {
            text: String::new(),
            is_error: false,
        },
    }
}

/// A layout that is all code.
pub(crate) fn block(language: &str, source: &str) -> PartLayout {
    let mut code = Code::new(Language::of_fence(language));
    let mut start = 0;
    for line in source.split('\n') {
        code.push(&(start..start + line.len()));
        start += line.len() + 1;
    }
    PartLayout {
        source: source.to_owned(),
        code: vec![code],
        ..PartLayout::default()
    }
}

/// Answers a request at once.
pub(crate) fn answer(request: &Request) -> ParsedColours {
    CodeReader::new().answer(request)
}

/// Asks for all that is wanted until nothing is.
pub(super) fn settle(
    colours: &mut CodeColours,
    reader: &mut CodeReader,
    part: &Part,
    block: &PartLayout,
) {
    colours.look();
    loop {
        let wanted = colours.wanted(part, block, usize::MAX);
        if wanted.is_empty() {
            return;
        }
        for request in wanted {
            colours.take(reader.answer(&request));
        }
    }
}

/// The marks in words.
pub(crate) fn words(block: &PartLayout, marks: &[Mark]) -> Vec<String> {
    let word = |mark: &Mark| format!("{:?} {}", mark.token, &block.source[mark.range.clone()]);
    marks.iter().map(word).collect()
}
