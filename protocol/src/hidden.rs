//! Hidden characters: the one list, for the service and for every client.

use std::fmt;

/// The way in which a character is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenClass {
    /// A control character other than the line feed and the tab: it steers a terminal.
    Control,
    /// Changes the order in which others are shown, or breaks a line where a file has no line end.
    Direction,
    /// Has no width and no use in names, commands and source: text can be hidden with it.
    Invisible,
    /// Has no width; some scripts and emoji need it.
    Joiner,
    /// Chooses a form of the character before it, as emoji have it.
    Selector,
    /// Looks like a blank and is another character.
    Blank,
    /// A mark of a script that is shown with its neighbours only.
    Format,
    /// Has no meaning that is known everywhere: private use, or not a character.
    Private,
}

impl HiddenClass {
    /// The class in words.
    const fn words(self) -> &'static str {
        match self {
            Self::Control => "a control character",
            Self::Direction => "a mark of direction",
            Self::Invisible => "a character without width",
            Self::Joiner => "a joiner",
            Self::Selector => "a variation selector",
            Self::Blank => "looks like a blank",
            Self::Format => "a mark of a script",
            Self::Private => "a character of private use",
        }
    }

    /// True for a character that misleads wherever it is. Joiners, selectors, blanks and marks have uses in texts.
    #[must_use]
    pub const fn misleads(self) -> bool {
        matches!(self, Self::Control | Self::Direction | Self::Invisible)
    }
}

/// The class of a hidden character. `None` for all others, the line feed and the tab.
#[must_use]
pub fn class(c: char) -> Option<HiddenClass> {
    use HiddenClass as Class;
    Some(match c {
        '\n' | '\t' | ' '..='~' => return None,
        _ if c.is_control() => Class::Control,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Class::Direction
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Class::Invisible,
        '\u{200c}'..='\u{200d}' => Class::Joiner,
        '\u{fe0e}'..='\u{fe0f}' => Class::Selector,
        '\u{600}'..='\u{605}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' => Class::Format,
        '\u{e000}'..='\u{f8ff}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fffc}'..='\u{ffff}'
        | '\u{e1000}'..='\u{10ffff}' => Class::Private,
        '\u{2800}' => Class::Blank,
        _ if c.is_whitespace() => Class::Blank,
        _ => return None,
    })
}

/// True for a character that a reader does not recognize by sight.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    class(c).is_some()
}

/// True for a hidden character that misleads wherever it is.
#[must_use]
pub fn misleads(c: char) -> bool {
    class(c).is_some_and(HiddenClass::misleads)
}

/// A hidden character and its place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenCharacter {
    /// The character.
    pub character: char,
    /// Its class.
    pub class: HiddenClass,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl fmt::Display for HiddenCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            character,
            class,
            line,
            column,
        } = self;
        write!(f, "U+{:04X} ", u32::from(*character))?;
        match name(*character) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "({})", class.words())?,
        }
        write!(f, " in line {line}, column {column}")
    }
}

/// The first hidden character of a text.
#[must_use]
pub fn first(text: &str) -> Option<HiddenCharacter> {
    let lines = text.split('\n').zip(1..);
    let mut found = lines.filter_map(|(text, line)| first_in_line(text, line, is_hidden));
    found.next()
}

/// The first hidden character of a line, which has this number, among those that are wanted.
#[must_use]
pub fn first_in_line(
    text: &str,
    line: usize,
    is_wanted: impl Fn(char) -> bool,
) -> Option<HiddenCharacter> {
    text.chars().zip(1..).find_map(|(character, column)| {
        let class = class(character).filter(|_| is_wanted(character))?;
        Some(HiddenCharacter {
            character,
            class,
            line,
            column,
        })
    })
}

/// The name that Unicode gives a character that is often used to mislead.
const fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '\0' => "NULL",
        '\u{8}' => "BACKSPACE",
        '\r' => "CARRIAGE RETURN",
        '\u{1b}' => "ESCAPE",
        '\u{7f}' => "DELETE",
        '\u{85}' => "NEXT LINE",
        '\u{9b}' => "CONTROL SEQUENCE INTRODUCER",
        '\u{a0}' => "NO-BREAK SPACE",
        '\u{ad}' => "SOFT HYPHEN",
        '\u{34f}' => "COMBINING GRAPHEME JOINER",
        '\u{61c}' => "ARABIC LETTER MARK",
        '\u{200b}' => "ZERO WIDTH SPACE",
        '\u{200c}' => "ZERO WIDTH NON-JOINER",
        '\u{200d}' => "ZERO WIDTH JOINER",
        '\u{200e}' => "LEFT-TO-RIGHT MARK",
        '\u{200f}' => "RIGHT-TO-LEFT MARK",
        '\u{2028}' => "LINE SEPARATOR",
        '\u{2029}' => "PARAGRAPH SEPARATOR",
        '\u{202a}' => "LEFT-TO-RIGHT EMBEDDING",
        '\u{202b}' => "RIGHT-TO-LEFT EMBEDDING",
        '\u{202c}' => "POP DIRECTIONAL FORMATTING",
        '\u{202d}' => "LEFT-TO-RIGHT OVERRIDE",
        '\u{202e}' => "RIGHT-TO-LEFT OVERRIDE",
        '\u{202f}' => "NARROW NO-BREAK SPACE",
        '\u{2060}' => "WORD JOINER",
        '\u{2066}' => "LEFT-TO-RIGHT ISOLATE",
        '\u{2067}' => "RIGHT-TO-LEFT ISOLATE",
        '\u{2068}' => "FIRST STRONG ISOLATE",
        '\u{2069}' => "POP DIRECTIONAL ISOLATE",
        '\u{3000}' => "IDEOGRAPHIC SPACE",
        '\u{3164}' => "HANGUL FILLER",
        '\u{feff}' => "ZERO WIDTH NO-BREAK SPACE",
        '\u{e0000}'..='\u{e007f}' => "(a tag character)",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "(a variation selector)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [APPR-590]
    #[test]
    fn every_kind_of_hidden_character_has_its_class() {
        for (c, expected) in [
            ('\u{1b}', HiddenClass::Control),
            ('\r', HiddenClass::Control),
            ('\u{9b}', HiddenClass::Control),
            ('\u{202e}', HiddenClass::Direction),
            ('\u{2067}', HiddenClass::Direction),
            ('\u{2028}', HiddenClass::Direction),
            ('\u{200b}', HiddenClass::Invisible),
            ('\u{ad}', HiddenClass::Invisible),
            ('\u{2060}', HiddenClass::Invisible),
            ('\u{feff}', HiddenClass::Invisible),
            ('\u{e0041}', HiddenClass::Invisible),
            ('\u{e0100}', HiddenClass::Invisible),
            ('\u{200d}', HiddenClass::Joiner),
            ('\u{fe0f}', HiddenClass::Selector),
            ('\u{a0}', HiddenClass::Blank),
            ('\u{3000}', HiddenClass::Blank),
            ('\u{2800}', HiddenClass::Blank),
            ('\u{600}', HiddenClass::Format),
            ('\u{e000}', HiddenClass::Private),
            ('\u{10ffff}', HiddenClass::Private),
        ] {
            assert_eq!(class(c), Some(expected), "{c:?}");
        }
        for c in ['\n', '\t', ' ', '~', 'é', '漢', '👩', '…', '\u{301}'] {
            assert_eq!(class(c), None, "{c:?}");
        }
    }

    /// Spec: [APPR-590]
    #[test]
    fn a_hidden_character_is_named_with_line_and_column() {
        for (text, expected) in [
            (
                "ls\né \u{202e}x",
                "U+202E RIGHT-TO-LEFT OVERRIDE in line 2, column 3",
            ),
            (
                "g\u{200b}it\u{202e}",
                "U+200B ZERO WIDTH SPACE in line 1, column 2",
            ),
            ("\u{e0041}", "U+E0041 (a tag character) in line 1, column 1"),
            ("\u{7}", "U+0007 (a control character) in line 1, column 1"),
        ] {
            let found = first(text).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{text:?}");
        }
        assert_eq!(first("plain\n\ttext"), None);
    }
}
