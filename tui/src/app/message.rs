//! The client's inputs and its effects.

use crate::highlight::{ParsedColours, Request};
use crate::link::{ClientOrder, News};
use crate::prompt_history::PromptHistory;
use crate::terminal::{KeyPress, Mouse};

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyPress),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(Mouse),
    /// The terminal has this many columns and rows now.
    Resized(u16, u16),
    /// The terminal gained or lost the focus.
    Focused(bool),
    /// The terminal's background is light, or is not.
    Background {
        /// True for a light background.
        is_light: bool,
    },
    /// News from the link to the service.
    News(Box<News>),
    /// Time went by.
    Tick,
    /// The screen was drawn.
    Drawn,
    /// The prompts of the past, with the last one and those of other clients.
    Remembered(PromptHistory),
    /// Something was copied, and how.
    Copied(String),
    /// The text of another editor, if it ended well.
    Written(Option<String>),
    /// The files that were looked for, if all of them exist; and the alternative.
    Looked {
        /// Their absolute paths.
        files: Option<Vec<String>>,
        /// The alternative if they do not exist.
        missing: Missing,
    },
    /// Code that was asked about has been read.
    Coloured(ParsedColours),
    /// The file with the picture of the clipboard. `None` if no picture was found.
    Picture(Option<String>),
    /// An effect could not be had.
    Failed(String),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppEffect {
    /// The service is to do something.
    Order(ClientOrder),
    /// Add a prompt to those of the past.
    Remember(String),
    /// Put a text into the clipboard.
    Copy(String),
    /// Let the operator write this in another editor.
    Write(String),
    /// Look whether these are files on this machine: all of one of the lists.
    Look {
        /// Absolute paths, the likeliest list first.
        lists: Vec<Vec<String>>,
        /// The alternative if they do not exist.
        missing: Missing,
    },
    /// Read code for its colours.
    Colour(Request),
    /// Take the picture that is on the clipboard into a file.
    TakePicture,
    /// Keep a setting of the client.
    Keep {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// Take the mouse, or leave it to the terminal.
    TakeMouse(bool),
    /// Draw the whole screen again.
    Redraw,
    /// Ring, for an operator who looks elsewhere.
    Ring,
    /// Let the terminal notify an operator who looks elsewhere of this.
    Notify(String),
    /// Go back to the shell for now.
    Suspend,
    /// End.
    Leave,
    /// End, because of this.
    Fail(String),
}

/// The alternative if there are no files at the paths that were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It was text, and pasted.
    Text(String),
    /// The operator named that path.
    Path(String),
}
