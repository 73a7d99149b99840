//! Prompt templates: prompts with places for arguments.

/// A named prompt with places for arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptTemplate {
    /// Names it.
    pub name: String,
    /// Its purpose, for lists.
    pub description: String,
    /// The text with its places.
    pub content: String,
    /// The file that it was loaded from.
    pub path: Option<String>,
}

impl PromptTemplate {
    /// The text with the arguments in their places.
    ///
    /// | place | text in its place |
    /// |---|---|
    /// | `$1`, `$2`, … | one argument; nothing if it is missing |
    /// | `$@`, `$ARGUMENTS` | all arguments with spaces between |
    /// | `${2:-x}`, `${@:-x}`, `${ARGUMENTS:-x}` | the same, or `x` if that is nothing |
    /// | `${@:2}` | the arguments from the second on |
    /// | `${@:2:3}` | three arguments from the second on |
    ///
    /// Anything else after a `$` stays unchanged. The text of an argument or a default is never searched for places.
    ///
    /// ```
    /// use harness_actors::guidance::PromptTemplate;
    ///
    /// let template = PromptTemplate {
    ///     content: "Compare $1 with ${2:-main}.".to_owned(),
    ///     ..PromptTemplate::default()
    /// };
    /// assert_eq!(template.expand(&["$2".to_owned()]), "Compare $2 with main.");
    /// ```
    #[must_use]
    pub fn expand(&self, args: &[String]) -> String {
        self.expand_within(args, usize::MAX).unwrap_or_default()
    }

    /// The same, or nothing if that has more than `max` bytes. A short template can ask for its
    /// arguments many times, so the text is not made to its end then.
    #[must_use]
    pub fn expand_within(&self, args: &[String], max: usize) -> Option<String> {
        let mut text = Bounded {
            text: String::new(),
            max,
        };
        let mut rest = &*self.content;
        while let Some((before, behind)) = rest.split_once('$') {
            text.push(before)?;
            rest = match TemplatePlaceholder::at_start(behind) {
                Some((place, behind)) => {
                    place.fill(args, &mut text)?;
                    behind
                }
                None => {
                    text.push("$")?;
                    behind
                }
            };
        }
        text.push(rest)?;
        Some(text.text)
    }
}

/// A text that does not outgrow its bound.
struct Bounded {
    text: String,
    max: usize,
}

impl Bounded {
    fn push(&mut self, piece: &str) -> Option<()> {
        if piece.len() > self.max - self.text.len() {
            return None;
        }
        self.text += piece;
        Some(())
    }

    fn push_joined(&mut self, args: &[String]) -> Option<()> {
        for (place, arg) in args.iter().enumerate() {
            if place > 0 {
                self.push(" ")?;
            }
            self.push(arg)?;
        }
        Some(())
    }
}

/// The arguments that a place asks for. Arguments are counted from one.
#[derive(Debug, Clone, Copy)]
enum PlaceholderArguments {
    All,
    Number(usize),
}

impl PlaceholderArguments {
    /// Reads the whole text.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "@" | "ARGUMENTS" => Some(Self::All),
            _ => number(text).map(Self::Number),
        }
    }

    fn select(self, args: &[String]) -> &[String] {
        match self {
            Self::All => args,
            Self::Number(number) => {
                let first = number.checked_sub(1).and_then(|place| args.get(place));
                first.map_or(&[], std::slice::from_ref)
            }
        }
    }
}

/// A place for arguments in a template.
#[derive(Debug, Clone, Copy)]
enum TemplatePlaceholder<'t> {
    Value(PlaceholderArguments),
    /// With the text to use if the arguments are empty.
    OrElse(PlaceholderArguments, &'t str),
    Slice {
        from: usize,
        count: usize,
    },
}

impl<'t> TemplatePlaceholder<'t> {
    /// Reads the place whose `$` comes right before the text. Returns it with the text after it.
    fn at_start(text: &'t str) -> Option<(Self, &'t str)> {
        if let Some(inside) = text.strip_prefix('{') {
            let (inside, behind) = inside.split_once('}')?;
            return Some((Self::in_braces(inside)?, behind));
        }
        for name in ["@", "ARGUMENTS"] {
            if let Some(behind) = text.strip_prefix(name) {
                return Some((Self::Value(PlaceholderArguments::All), behind));
            }
        }
        let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = number(&text[..text.len() - behind.len()])?;
        Some((Self::Value(PlaceholderArguments::Number(number)), behind))
    }

    fn in_braces(text: &'t str) -> Option<Self> {
        if let Some((which, default)) = text.split_once(":-") {
            return Some(Self::OrElse(PlaceholderArguments::parse(which)?, default));
        }
        let range = text.strip_prefix("@:")?;
        let (from, count) = match range.split_once(':') {
            Some((from, count)) => (from, number(count)?),
            None => (range, usize::MAX),
        };
        let from = number(from)?;
        Some(Self::Slice { from, count })
    }

    fn fill(self, args: &[String], text: &mut Bounded) -> Option<()> {
        match self {
            Self::Value(which) => text.push_joined(which.select(args)),
            Self::OrElse(which, default) => {
                let args = which.select(args);
                // Two empty arguments make a space, which is something.
                if args.len() < 2 && args.iter().all(String::is_empty) {
                    text.push(default)
                } else {
                    text.push_joined(args)
                }
            }
            Self::Slice { from, count } => {
                // Nothing precedes the first argument.
                let skipped = from.saturating_sub(1).min(args.len());
                let args = &args[skipped..];
                text.push_joined(&args[..count.min(args.len())])
            }
        }
    }
}

/// Reads a whole number of any length: one that is too large is beyond all arguments.
fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}

/// Splits a line into arguments at white space, except in single or double quotes. Quotes are removed, a backslash is a
/// character like any other, an argument of nothing but quotes is dropped, and a quote that is not closed reaches to
/// the end.
#[must_use]
pub fn parse_arguments(line: &str) -> Vec<String> {
    let mut args = Vec::new();
    let mut arg = String::new();
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => arg.push(c),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {
                if !arg.is_empty() {
                    args.push(std::mem::take(&mut arg));
                }
            }
            None => arg.push(c),
        }
    }
    if !arg.is_empty() {
        args.push(arg);
    }
    args
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
