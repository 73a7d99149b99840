//! The look of text, whatever the theme.

use ratatui::style::Modifier;

use super::Token;

/// The pieces of a row of the screen, from left to right.
pub(crate) type StyledWords = Vec<(String, Look)>;

/// The look of a piece of a row, whatever the theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Its meaning, from which the theme takes its colour.
    pub(crate) token: Token,
    /// Bold, italic and so on.
    pub(crate) modifier: Modifier,
    /// Its ground, if not that of the screen.
    pub(crate) ground: Option<Token>,
}

impl Look {
    /// Plain, on the ground that is there.
    pub(crate) const fn new(token: Token) -> Self {
        Self {
            token,
            modifier: Modifier::empty(),
            ground: None,
        }
    }

    /// The same, with these attributes too.
    pub(crate) const fn with(self, modifier: Modifier) -> Self {
        Self {
            modifier: self.modifier.union(modifier),
            ..self
        }
    }

    /// The same in bold.
    pub(crate) const fn bold(self) -> Self {
        self.with(Modifier::BOLD)
    }

    /// The same in italics.
    pub(crate) const fn italic(self) -> Self {
        self.with(Modifier::ITALIC)
    }

    /// The same, underlined.
    pub(crate) const fn underlined(self) -> Self {
        self.with(Modifier::UNDERLINED)
    }

    /// The same on another ground.
    pub(crate) const fn on(self, ground: Token) -> Self {
        Self {
            ground: Some(ground),
            ..self
        }
    }
}
