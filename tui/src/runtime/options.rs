//! The parameters of the client's start, and the reasons for an early end.

use std::io;
use std::path::PathBuf;

use derive_more::{Display, Error, From};

use crate::theme::Scheme;

/// The client's inputs.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Presence of this client, as the others see it.
    pub name: String,
    /// Makes the keys of this client's prompts like no other's.
    pub client_key: String,
    /// The state folder, which has the prompts of the past.
    pub home: PathBuf,
    /// The conversation to open.
    pub conversation: String,
    /// The colours: `dark`, `light` or `terminal`; if left out, `light` if the terminal says that
    /// its background is, else `dark`.
    pub theme: Option<String>,
    /// Lines in place of a screen, also where there is a terminal.
    pub is_plain: bool,
    /// True for colours, false for none. `None` leaves it to the environment.
    pub has_colors: Option<bool>,
    /// True if the models are shown at once, to choose one: none is set, and nothing was said yet.
    pub offers_models: bool,
}

impl ClientOptions {
    /// A variable of the environment that describes the terminal, unless the choice of colours replaces it.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match (name, self.has_colors) {
            ("NO_COLOR", Some(true)) => None,
            ("NO_COLOR", Some(false)) => Some("1".to_owned()),
            _ => std::env::var(name).ok(),
        }
    }
}

/// The reason why the client ended early.
#[derive(Debug, Display, Error, From)]
pub enum RunError {
    /// The terminal cannot be taken, or closed.
    #[display("the terminal: {_0}")]
    Terminal(io::Error),
    /// Something in it panicked; what, was written to standard error.
    #[display("the client panicked")]
    #[from(skip)]
    Panicked,
    /// No theme has that name.
    #[display("there is no theme {name:?}; say dark, light or terminal")]
    #[from(skip)]
    Theme {
        /// The name.
        name: String,
    },
    /// The service refuses.
    #[display("{reason}")]
    #[from(skip)]
    Refused {
        /// The reason.
        reason: String,
    },
}

/// The colours that were chosen.
pub(super) fn scheme(name: Option<&str>) -> Result<Option<Scheme>, RunError> {
    let parse = |name: &str| {
        Scheme::parse(name).ok_or_else(|| RunError::Theme {
            name: name.to_owned(),
        })
    };
    name.map(parse).transpose()
}
