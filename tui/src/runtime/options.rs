//! What the client is told when it starts, and why it may end before it is left.

use std::io;
use std::path::PathBuf;

use derive_more::{Display, Error, From};

use crate::theme::Scheme;

/// What the client is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the other clients are told of this one.
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
}

/// Why the client ended before it was told to.
#[derive(Debug, Display, Error, From)]
pub enum RunError {
    /// The terminal cannot be had, or is gone.
    #[display("the terminal: {_0}")]
    Terminal(io::Error),
    /// Something in it panicked; what, was written to standard error.
    #[display("the client panicked")]
    #[from(skip)]
    Panicked,
    /// There is no theme of that name.
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
        /// Why.
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
