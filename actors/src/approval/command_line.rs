//! Reads a command as the shell would, if it is plain: what rules are compared with.
//!
//! Invariant: for a line that is taken, bash runs these words and no others. Whatever may mean more is
//! not taken, and only costs an approval.

use derive_more::Display;
use harness_protocol::hidden;

use super::programs;

/// How long a line may be, in bytes.
const MAX_BYTES: usize = 10_000;
/// How many commands it may have.
const MAX_PARTS: usize = 50;
/// Where output may go.
const NOWHERE: &str = "/dev/null";

/// Why a line is not taken, as something that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub(super) struct Complex(&'static str);

/// The commands of a line, each with its words.
pub(super) type LineCommands = Vec<Vec<String>>;

/// The programs of a line that is taken whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlainLine {
    /// The path of the `cd` in front, if there is one.
    pub(crate) start: Option<String>,
    /// The words that name programs, in their order.
    pub(crate) programs: Vec<String>,
}

/// The programs of a line; `None` if it is not taken whole.
pub(crate) fn plain_line(line: &str) -> Option<PlainLine> {
    let mut parts = parse(line).ok()?;
    let is_cd = |words: &Vec<String>| words.first().is_some_and(|word| word == "cd");
    let start = match parts.first().is_some_and(is_cd) {
        true => parts.remove(0).pop(),
        false => None,
    };
    let words = parts.into_iter();
    let programs = words.filter_map(|words| words.into_iter().next());
    Some(PlainLine {
        start,
        programs: programs.collect(),
    })
}

/// Takes a line whole, or not at all.
///
/// A line is commands of bare words and plain quotes, joined by `&&`, `||`, `;`, `|` and newlines; output
/// may go to `/dev/null`, and errors with it. `cd` is only at the beginning, with one path: the rest of the
/// line runs there, as with another working folder. It takes time in the order of the line's length.
///
/// # Errors
/// Names the first thing in the line to which the shell may give another meaning.
pub(super) fn parse(line: &str) -> Result<LineCommands, Complex> {
    if line.len() > MAX_BYTES {
        return Err(Complex("more than 10000 bytes"));
    }
    let parts = Lexer::new(line, false).run()?;
    for (index, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.iter().map(|word| word.text.as_str()).collect();
        check_words(&words, index == 0)?;
    }
    let texts = |part: Vec<ShellWord>| part.into_iter().map(|word| word.text).collect();
    Ok(parts.into_iter().map(texts).collect())
}

/// Reads the words of a rule for each of its commands, which `;` separates. Unlike in a line, `*` is a wildcard.
pub(super) fn parse_pattern(pattern: &str) -> Result<Vec<Vec<ShellWord>>, Complex> {
    if pattern.contains('\n') {
        return Err(Complex("a line break"));
    }
    Lexer::new(pattern, true).run()
}

/// Whether the words of a command mean what they say, for the shell.
pub(super) fn check_words(words: &[&str], is_first: bool) -> Result<(), Complex> {
    let (program, arguments) = match words {
        [program, arguments @ ..] => (*program, arguments),
        [] => return Err(Complex("no command")),
    };
    let complex = match program {
        _ if program.contains('=') => Some("an assignment in front"),
        _ if programs::is_reserved(program) => Some("a word of the shell's grammar"),
        _ if programs::is_changing(program) => {
            Some("a command of the shell that runs or changes something")
        }
        _ if program.is_empty() || program.starts_with(['%', '-', '+']) => {
            Some("no name of a program")
        }
        "cd" => match arguments {
            [path] if is_first && !path.is_empty() && !path.starts_with('-') => None,
            _ => Some("a cd that is not in front, or not with one path"),
        },
        // `printf -v` and `test -v` expand the subscript of a name, and run what is in it.
        "printf" if arguments.first().is_some_and(|a| a.starts_with('-')) => {
            Some("an option of printf")
        }
        "test" if arguments.iter().any(|a| matches!(*a, "-v" | "-R")) => Some("test -v"),
        _ => None,
    };
    complex.map_or(Ok(()), |reason| Err(Complex(reason)))
}

/// A word, without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Where in the text a wildcard of a rule is, in bytes.
    pub(super) stars: Vec<usize>,
}

/// The word that is being read.
#[derive(Default)]
struct OpenWord {
    word: ShellWord,
    /// Whether a part of it was in quotes.
    is_quoted: bool,
    /// The character before, if it was not in quotes.
    last: Option<char>,
}

struct Lexer<'l> {
    rest: std::str::Chars<'l>,
    has_wildcards: bool,
    parts: Vec<Vec<ShellWord>>,
    words: Vec<ShellWord>,
    open: Option<OpenWord>,
    /// Whether the command that is being read is redirected.
    is_redirected: bool,
    /// Whether what was read last wants a command behind it.
    wants_more: bool,
}

impl<'l> Lexer<'l> {
    fn new(line: &'l str, has_wildcards: bool) -> Self {
        Self {
            rest: line.chars(),
            has_wildcards,
            parts: Vec::new(),
            words: Vec::new(),
            open: None,
            is_redirected: false,
            wants_more: false,
        }
    }

    fn run(mut self) -> Result<Vec<Vec<ShellWord>>, Complex> {
        if self.rest.as_str().chars().any(hidden::is_hidden) {
            return Err(Complex("a hidden character"));
        }
        while let Some(c) = self.rest.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => {
                    self.end_word();
                    if self.has_command() {
                        self.end_part()?;
                    }
                }
                ';' => self.end_part()?,
                '|' | '&' if self.has_wildcards => {
                    return Err(Complex("an operator that is not ;"));
                }
                '|' | '&' => self.join(c)?,
                '>' | '<' => self.redirect(c)?,
                '\'' | '"' => self.quote(c)?,
                _ => self.bare(c)?,
            }
        }
        self.end_word();
        if self.has_command() {
            self.end_part()?;
        }
        if self.wants_more {
            return Err(Complex("an operator without a command"));
        }
        if self.parts.is_empty() {
            return Err(Complex("no command"));
        }
        Ok(self.parts)
    }

    /// Whether the next character is that one; it is taken then.
    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.rest.as_str().starts_with(wanted);
        if is_next {
            self.rest.next();
        }
        is_next
    }

    fn has_command(&self) -> bool {
        !self.words.is_empty() || self.is_redirected
    }

    fn end_word(&mut self) {
        self.words.extend(self.open.take().map(|open| open.word));
    }

    fn end_part(&mut self) -> Result<(), Complex> {
        self.end_word();
        if self.words.is_empty() {
            return Err(Complex("an operator without a command"));
        }
        if self.parts.len() == MAX_PARTS {
            return Err(Complex("more than 50 commands"));
        }
        self.parts.push(std::mem::take(&mut self.words));
        self.is_redirected = false;
        self.wants_more = false;
        Ok(())
    }

    /// `&&`, `||`, `|` and `&>`.
    fn join(&mut self, c: char) -> Result<(), Complex> {
        if c == '&' && self.takes('>') {
            self.end_word();
            self.takes('>');
            return self.nowhere();
        }
        if !self.takes(c) && c == '&' {
            return Err(Complex("a command in the background"));
        }
        self.end_part()?;
        self.wants_more = true;
        Ok(())
    }

    /// `>` and `<`, with the words before and after.
    fn redirect(&mut self, c: char) -> Result<(), Complex> {
        let is_number = |open: &OpenWord| {
            let text = &open.word.text;
            !open.is_quoted && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        match self.open.take_if(|open| is_number(open)) {
            Some(open) if c == '>' && matches!(&*open.word.text, "1" | "2") => {}
            Some(_) => return Err(Complex("a redirection")),
            None => self.end_word(),
        }
        if c == '<' || self.takes('>') || !self.takes('&') {
            return self.nowhere();
        }
        if !self.takes('1') && !self.takes('2') {
            return Err(Complex("a redirection"));
        }
        self.redirected()
    }

    /// The only file that may be behind a redirection.
    fn nowhere(&mut self) -> Result<(), Complex> {
        let target = self.rest.as_str().trim_start_matches([' ', '\t']);
        let behind = target
            .strip_prefix(NOWHERE)
            .ok_or(Complex("a redirection"))?;
        self.rest = behind.chars();
        self.redirected()
    }

    fn redirected(&mut self) -> Result<(), Complex> {
        let rest = self.rest.as_str();
        if !rest.is_empty() && !rest.starts_with([' ', '\t', '\n', ';', '|', '&']) {
            return Err(Complex("a redirection"));
        }
        self.is_redirected = true;
        Ok(())
    }

    fn quote(&mut self, quote: char) -> Result<(), Complex> {
        let open = self.open.get_or_insert_default();
        open.is_quoted = true;
        open.last = None;
        for c in self.rest.by_ref() {
            match c {
                _ if c == quote => return Ok(()),
                '$' | '`' | '\\' if quote == '"' => {
                    return Err(Complex("a variable or a backslash in quotes"));
                }
                _ => open.word.text.push(c),
            }
        }
        Err(Complex("an open quote"))
    }

    fn bare(&mut self, c: char) -> Result<(), Complex> {
        let last = self.open.as_ref().and_then(|open| open.last);
        let follows_letter = last.is_some_and(|last| last.is_ascii_alphanumeric());
        let complex = match c {
            '*' if self.has_wildcards => None,
            '*' | '?' | '[' | ']' => Some("a wildcard"),
            '$' => Some("a variable"),
            '`' => Some("a command in a command"),
            '\\' => Some("a backslash"),
            '(' | ')' => Some("a parenthesis"),
            '{' | '}' => Some("a brace"),
            '!' => Some("an exclamation mark"),
            // The shell puts the home folder in its place where a word begins, and behind = and :.
            '~' if !follows_letter && !matches!(last, Some('^' | '~')) => Some("a home folder"),
            '#' if !follows_letter => Some("a comment"),
            _ => None,
        };
        if let Some(reason) = complex {
            return Err(Complex(reason));
        }
        let open = self.open.get_or_insert_default();
        if c == '*' {
            open.word.stars.push(open.word.text.len());
        }
        open.word.text.push(c);
        open.last = Some(c);
        Ok(())
    }
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
