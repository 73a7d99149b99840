//! Matching with wildcards: names of files and words of commands, one item after the other.

/// A character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glob {
    /// Any characters, also none.
    Any,
    /// Any one character.
    One,
    /// This character.
    Just(char),
}

/// A pattern in which `*` is for any characters, and all others are for themselves.
pub(super) fn stars(pattern: &str) -> Vec<Glob> {
    let glob = |character| match character {
        '*' => Glob::Any,
        other => Glob::Just(other),
    };
    pattern.chars().map(glob).collect()
}

/// True if a pattern covers a text, where `*` is for any characters, also none.
#[cfg(feature = "mcp")]
pub(crate) fn covers_with_stars(pattern: &str, text: &str) -> bool {
    covers(&stars(pattern), text)
}

/// Whether a pattern covers a text.
pub(super) fn covers(globs: &[Glob], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    wild(
        globs,
        &text,
        |glob| *glob == Glob::Any,
        |glob, character| *glob == Glob::One || *glob == Glob::Just(*character),
    )
}

/// True if patterns cover items one by one, where some patterns match any number of items. The time
/// is bounded by the product of their numbers.
pub(super) fn wild<P, I>(
    patterns: &[P],
    items: &[I],
    is_any: impl Fn(&P) -> bool,
    covers: impl Fn(&P, &I) -> bool,
) -> bool {
    let (mut pattern, mut item) = (0, 0);
    // Where to go on when it does not match: behind the last `any`, with one item more for it.
    let mut retry = None;
    while item < items.len() {
        match patterns.get(pattern) {
            Some(any) if is_any(any) => {
                retry = Some((pattern, item));
                pattern += 1;
            }
            Some(one) if covers(one, &items[item]) => {
                pattern += 1;
                item += 1;
            }
            _ => {
                let Some((any, taken)) = retry else {
                    return false;
                };
                retry = Some((any, taken + 1));
                pattern = any + 1;
                item = taken + 1;
            }
        }
    }
    patterns[pattern..].iter().all(is_any)
}
