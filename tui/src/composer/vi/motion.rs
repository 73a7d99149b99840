//! The places to which motions of vi lead in a text.

use super::command::{CharacterSearch, ViMotion};
use crate::composer::place;

/// The pieces that an operator takes on the way to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MotionReach {
    /// Up to the place.
    Exclusive,
    /// With the character at the place.
    Inclusive,
    /// All lines from the one to the other.
    Lines,
}

/// The place that a motion leads to. `None` if there is none: the motion fails.
pub(super) fn target(
    text: &str,
    caret: usize,
    motion: ViMotion,
    count: Option<usize>,
) -> Option<(usize, MotionReach)> {
    let times = count.unwrap_or(1);
    let line = place::line_start(text, caret)..place::line_end(text, caret);
    let repeat = |step: &dyn Fn(usize) -> Option<usize>| {
        let mut at = caret;
        for _ in 0..times {
            match step(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        (at != caret).then_some(at)
    };
    let found = match motion {
        ViMotion::Left => {
            let left = |at| place::before(text, at).filter(|before| *before >= line.start);
            (repeat(&left)?, MotionReach::Exclusive)
        }
        ViMotion::Right => {
            let right = |at| place::after(text, at).filter(|after| *after <= line.end);
            (repeat(&right)?, MotionReach::Exclusive)
        }
        ViMotion::Up => (line_away(text, caret, times, false)?, MotionReach::Lines),
        ViMotion::Down => (line_away(text, caret, times, true)?, MotionReach::Lines),
        ViMotion::Word { is_big } => {
            let next = |at| (at < text.len()).then(|| word(text, at, is_big));
            (repeat(&next)?, MotionReach::Exclusive)
        }
        ViMotion::WordBack { is_big } => {
            let back = |at| (at > 0).then(|| word_back(text, at, is_big));
            (repeat(&back)?, MotionReach::Exclusive)
        }
        ViMotion::WordEnd { is_big } => {
            let end = |at| word_end(text, at, is_big);
            (repeat(&end)?, MotionReach::Inclusive)
        }
        ViMotion::LineStart => (line.start, MotionReach::Exclusive),
        ViMotion::FirstOfLine => (first_of_line(text, caret), MotionReach::Exclusive),
        ViMotion::LineEnd => {
            let last = line_away(text, caret, times - 1, true).unwrap_or(caret);
            (place::line_end(text, last), MotionReach::Exclusive)
        }
        ViMotion::Top => (numbered_line(text, times), MotionReach::Lines),
        ViMotion::Bottom => {
            let last = first_of_line(text, text.len());
            let place = count.map_or(last, |number| numbered_line(text, number));
            (place, MotionReach::Lines)
        }
        ViMotion::Find(search) => find(text, caret, search, times)?,
        // The keys know what was searched for.
        ViMotion::FindAgain { .. } => return None,
    };
    Some(found)
}

/// The place of the first character of a line that is no blank, or its end.
pub(super) fn first_of_line(text: &str, caret: usize) -> usize {
    let (start, end) = (place::line_start(text, caret), place::line_end(text, caret));
    let line = &text[start..end];
    start + (line.len() - line.trim_start().len())
}

/// The last place of a line at which the caret may be outside of insert mode.
pub(super) fn last_of_line(text: &str, caret: usize) -> usize {
    let (start, end) = (place::line_start(text, caret), place::line_end(text, caret));
    if start == end {
        return start;
    }
    place::before(text, end).unwrap_or(start).max(start)
}

/// The beginning of a line, by its number from 1; the last one if there are fewer.
fn numbered_line(text: &str, number: usize) -> usize {
    let mut start = 0;
    for _ in 1..number {
        match text[start..].find('\n') {
            Some(found) => start += found + 1,
            None => break,
        }
    }
    first_of_line(text, start)
}

/// The place in the same column so many lines away, or in the last one. `None` if there is no other line.
fn line_away(text: &str, caret: usize, lines: usize, is_down: bool) -> Option<usize> {
    let own = place::line_start(text, caret);
    let column = place::graphemes(&text[own..caret]).count();
    let mut start = own;
    for _ in 0..lines {
        let next = if is_down {
            Some(place::line_end(text, start) + 1).filter(|next| *next <= text.len())
        } else {
            start
                .checked_sub(1)
                .map(|before| place::line_start(text, before))
        };
        match next {
            Some(next) => start = next,
            None if start == own => return None,
            None => break,
        }
    }
    let line = &text[start..place::line_end(text, start)];
    let found = place::graphemes(line).nth(column);
    Some(found.map_or(start + line.len(), |(at, ..)| start + at))
}

/// The class of the character at a place: white space, words, and all else.
fn class(text: &str, at: usize, is_big: bool) -> u8 {
    match text[at..].chars().next() {
        None => 0,
        Some(character) if character.is_whitespace() => 0,
        Some(_) if is_big => 1,
        Some(character) if character.is_alphanumeric() || character == '_' => 1,
        Some(_) => 2,
    }
}

fn is_empty_line(text: &str, at: usize) -> bool {
    let begins = at == 0 || text[..at].ends_with('\n');
    begins && (at == text.len() || text[at..].starts_with('\n'))
}

/// The beginning of the next word. An empty line counts as one.
fn word(text: &str, from: usize, is_big: bool) -> usize {
    let begun = class(text, from, is_big);
    let mut at = from;
    while at < text.len() && begun != 0 && class(text, at, is_big) == begun {
        at = place::after(text, at).unwrap_or(text.len());
    }
    while at < text.len() && class(text, at, is_big) == 0 && !(at > from && is_empty_line(text, at))
    {
        at = place::after(text, at).unwrap_or(text.len());
    }
    at
}

/// The beginning of the word before, or of this one.
fn word_back(text: &str, from: usize, is_big: bool) -> usize {
    let mut at = place::before(text, from).unwrap_or(0);
    while at > 0 && class(text, at, is_big) == 0 && !is_empty_line(text, at) {
        at = place::before(text, at).unwrap_or(0);
    }
    let word = class(text, at, is_big);
    while let Some(before) = place::before(text, at)
        && word != 0
        && class(text, before, is_big) == word
    {
        at = before;
    }
    at
}

/// The last character of this word, or of the next one if the place is there. `None` behind the last word.
fn word_end(text: &str, from: usize, is_big: bool) -> Option<usize> {
    let mut at = place::after(text, from)?;
    while at < text.len() && class(text, at, is_big) == 0 {
        at = place::after(text, at)?;
    }
    if at >= text.len() {
        return None;
    }
    let word = class(text, at, is_big);
    while let Some(after) = place::after(text, at)
        && class(text, after, is_big) == word
        && after < text.len()
    {
        at = after;
    }
    Some(at)
}

/// The place of a character in the line, or the one beside it.
fn find(
    text: &str,
    caret: usize,
    search: CharacterSearch,
    times: usize,
) -> Option<(usize, MotionReach)> {
    let (start, end) = (place::line_start(text, caret), place::line_end(text, caret));
    let is_it = |(at, grapheme, _): &(usize, &str, usize)| {
        grapheme.starts_with(search.character) && start + at != caret
    };
    let hits = place::graphemes(&text[start..end]).filter(is_it);
    let mut hits: Vec<usize> = hits.map(|(at, ..)| start + at).collect();
    let beside = |hit| {
        if search.is_forward {
            place::before(text, hit)
        } else {
            place::after(text, hit)
        }
    };
    if search.is_forward {
        hits.retain(|hit| *hit > caret);
    } else {
        hits.retain(|hit| *hit < caret);
        hits.reverse();
    }
    if search.is_beside && search.is_again {
        // A repeated search goes on from the character that the caret is beside.
        hits.retain(|hit| beside(*hit) != Some(caret));
    }
    let hit = *hits.get(times - 1)?;
    let place = if search.is_beside { beside(hit)? } else { hit };
    let reach = if search.is_forward {
        MotionReach::Inclusive
    } else {
        MotionReach::Exclusive
    };
    Some((place, reach))
}

/// True if two places are in words of the same kind.
pub(super) fn same_word(text: &str, one: usize, other: usize, is_big: bool) -> bool {
    class(text, one, is_big) == class(text, other, is_big)
}
