//! Meanings, and the colours that show them.
//!
//! Invariant: no other file names a colour.

mod depth;
mod look;
mod palette;

use ratatui::style::{Color, Modifier, Style};

pub use depth::Depth;
pub(crate) use look::{Look, StyledWords};

/// The meaning of something on the screen. Views name these and never a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    /// The agent's text, results of tools.
    Text,
    /// An operator's words.
    User,
    /// The name of a tool.
    ToolName,
    /// The error.
    Error,
    /// A line of a diff that is new.
    Added,
    /// A line of a diff that was removed.
    Removed,
    /// Thinking.
    Reasoning,
    /// Hints, remarks, counts, and what tools were asked and returned: of less weight than a reply, and to be
    /// read.
    Quiet,
    /// Marks, labels and headings around the conversation, to be noticed.
    Notice,
    /// Names of keys and the like.
    Accent,
    /// Lines around things.
    Border,
    /// The state of the conversation.
    Status,
    /// A link.
    Link,
    /// A comment in code.
    Comment,
    /// A string in code.
    Literal,
    /// A number or another constant in code.
    Constant,
    /// A keyword of a language.
    Keyword,
    /// The name of a function in code.
    Function,
    /// The name of a type in code.
    Type,
    /// A tag or an attribute in code.
    Tag,
    /// A heading in code, for example a section of a configuration.
    Heading,
    /// The ground of the screen.
    Ground,
    /// The ground of a code block.
    Code,
    /// The ground of code within a line.
    InlineCode,
    /// The ground of errors.
    Alarm,
    /// The ground of a line that is new.
    AddedLine,
    /// The ground of a removed line.
    RemovedLine,
    /// The ground of words that are new.
    AddedWord,
    /// The ground of removed words.
    RemovedWord,
    /// The ground of what is selected.
    Selection,
    /// The ground of what a search found.
    Hit,
    /// The ground of the current hit of the search.
    CurrentHit,
}

impl Token {
    /// True if the token is the ground of text.
    pub(crate) fn is_ground(self) -> bool {
        matches!(
            self,
            Self::Ground
                | Self::Code
                | Self::InlineCode
                | Self::Alarm
                | Self::AddedLine
                | Self::RemovedLine
                | Self::AddedWord
                | Self::RemovedWord
                | Self::Selection
                | Self::Hit
                | Self::CurrentHit
        )
    }
}

/// Names of the colour schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// For a dark screen.
    #[default]
    Dark,
    /// For a light screen.
    Light,
    /// The sixteen colours of the terminal on its own ground.
    Terminal,
}

impl Scheme {
    /// All of them, in the order in which they are listed.
    pub(crate) const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::Terminal];

    /// The scheme of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The name in commands and in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Terminal => "terminal",
        }
    }
}

/// The colours of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    scheme: Scheme,
    depth: Depth,
}

impl Theme {
    /// A scheme in the colours that the terminal can show.
    #[must_use]
    pub fn new(scheme: Scheme, depth: Depth) -> Self {
        Self { scheme, depth }
    }

    /// The same depth with other colours.
    pub(crate) fn with_scheme(&self, scheme: Scheme) -> Self {
        Self::new(scheme, self.depth)
    }

    /// The style of a look. Without a ground it leaves the ground that is there.
    pub(crate) fn style(&self, look: Look) -> Style {
        let mut style = Style::new().add_modifier(look.modifier);
        let own = (look.token == Token::Error).then_some(Token::Alarm);
        let ground = look.ground.or(own);
        let behind = ground.and_then(|ground| self.ground_color(ground));
        let token = match ground {
            Some(ground) if behind.is_some() => self.readable(look.token, ground),
            Some(ground) => without_ground(look.token, ground),
            None => look.token,
        };
        match self.color(token) {
            Some(color) => style = style.fg(color),
            // Less weight has to be seen without a colour too.
            None if is_light(token) => style = style.add_modifier(Modifier::DIM),
            None => {}
        }
        // Where a ground cannot be told from the one beside it, words are still to be found.
        if matches!(ground, Some(Token::AddedWord | Token::RemovedWord)) {
            style = style.add_modifier(Modifier::BOLD);
        }
        match (ground, behind) {
            (_, Some(color)) => style.bg(color),
            (Some(ground), None) => style.add_modifier(palette::colours(ground).instead),
            (None, None) => style,
        }
    }

    /// The ground of the whole screen, painted before anything else.
    pub(crate) fn ground(&self) -> Style {
        let text = self.style(Look::new(Token::Text));
        match self.color(Token::Ground) {
            Some(color) => text.bg(color),
            None => text,
        }
    }

    /// True if a ground differs from that of the screen.
    pub(crate) fn shows(&self, ground: Token) -> bool {
        self.ground_color(ground).is_some()
    }

    /// True if there are colours at all.
    pub(crate) fn has_colors(&self) -> bool {
        self.depth != Depth::None
    }

    /// The substitute for a token on a ground on which its colour could not be read.
    fn readable(&self, token: Token, ground: Token) -> Token {
        match ground {
            Token::Alarm | Token::Ground => token,
            Token::Selection | Token::Hit | Token::CurrentHit => Token::Text,
            Token::AddedWord | Token::RemovedWord => Token::Text,
            // The palette's green is too light for colours, and its words are bold.
            Token::AddedLine | Token::RemovedLine if self.depth == Depth::Palette => Token::Text,
            _ => match token {
                Token::Quiet | Token::Reasoning => Token::Comment,
                Token::Error => Token::Removed,
                token => token,
            },
        }
    }

    fn color(&self, token: Token) -> Option<Color> {
        let row = palette::colours(token);
        let of_palette = |index: Option<u8>, rgb| match (self.depth, index) {
            (Depth::Palette, Some(index)) => Some(Color::Indexed(index)),
            // A colour with an entry in the palette is a ground that sixteen colours lack.
            (Depth::Sixteen, Some(_)) => None,
            _ => self.depth.color(rgb),
        };
        match self.scheme {
            Scheme::Dark => of_palette(row.dark_of_palette, row.dark),
            Scheme::Light if self.depth == Depth::Sixteen && row.light_of_sixteen.is_some() => {
                row.light_of_sixteen
            }
            Scheme::Light => of_palette(row.light_of_palette, row.light),
            Scheme::Terminal if self.depth == Depth::None => None,
            Scheme::Terminal => row.terminal,
        }
    }

    /// The colour of a ground, if it can be told from that of the screen.
    fn ground_color(&self, token: Token) -> Option<Color> {
        let color = self.color(token);
        if token != Token::Ground && color == self.color(Token::Ground) {
            return None;
        }
        color
    }
}

/// The token whose colour carries the meaning of a ground that cannot be shown.
fn without_ground(token: Token, ground: Token) -> Token {
    match ground {
        Token::AddedLine | Token::AddedWord => Token::Added,
        Token::RemovedLine | Token::RemovedWord => Token::Removed,
        _ => token,
    }
}

/// True if a token has less weight.
fn is_light(token: Token) -> bool {
    matches!(token, Token::Reasoning | Token::Quiet | Token::Comment)
}

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
