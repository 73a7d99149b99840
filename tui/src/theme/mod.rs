//! What things mean and the colours that say so.
//!
//! Invariant: no other file names a colour.

mod depth;
mod look;
mod palette;

use ratatui::style::{Color, Modifier, Style};

pub use depth::Depth;
pub(crate) use look::Look;

/// What something on the screen means. Views name these and never a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    /// The agent's text, results of tools.
    Text,
    /// What an operator said.
    User,
    /// The name of a tool.
    ToolName,
    /// What went wrong.
    Error,
    /// A line of a diff that is new.
    Added,
    /// A line of a diff that is gone.
    Removed,
    /// Thinking, and what is of less weight.
    Reasoning,
    /// Lines around things.
    Border,
    /// What the conversation is doing.
    Status,
    /// A link.
    Link,
    /// The ground of the screen.
    Ground,
    /// The ground of a code block.
    Code,
    /// The ground of code within a line.
    InlineCode,
    /// The ground of what is selected.
    Selection,
    /// The ground of what a search found.
    Hit,
    /// The ground of the place that the search stands at.
    CurrentHit,
}

/// Which colours, by name.
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

    /// As it is called in commands and in the configuration.
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
    /// A scheme as far as the terminal can show it.
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
        match self.color(look.token) {
            Some(color) => style = style.fg(color),
            // Less weight has to be seen without a colour too.
            None if look.token == Token::Reasoning => style = style.add_modifier(Modifier::DIM),
            None => {}
        }
        match look
            .ground
            .map(|ground| (ground, self.ground_color(ground)))
        {
            Some((_, Some(color))) => style.bg(color),
            Some((ground, None)) => style.add_modifier(palette::of(ground).instead),
            None => style,
        }
    }

    /// What the whole screen is painted with before anything else.
    pub(crate) fn ground(&self) -> Style {
        let text = self.style(Look::new(Token::Text));
        match self.color(Token::Ground) {
            Some(color) => text.bg(color),
            None => text,
        }
    }

    fn color(&self, token: Token) -> Option<Color> {
        let row = palette::of(token);
        match self.scheme {
            Scheme::Dark => self.depth.color(row.dark),
            Scheme::Light if self.depth == Depth::Sixteen => {
                row.light_of_sixteen.or_else(|| self.depth.color(row.light))
            }
            Scheme::Light => self.depth.color(row.light),
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

#[cfg(test)]
#[path = "theme_tests.rs"]
mod tests;
