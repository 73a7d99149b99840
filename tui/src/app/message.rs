//! What happens to the client, and what it wants done.

use crate::link::{News, Order};
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
    /// The terminal has the focus, or has it no more.
    Focused(bool),
    /// The terminal's background is light, or is not.
    Background {
        /// Whether it is.
        is_light: bool,
    },
    /// The link to the service says something.
    News(Box<News>),
    /// Time went by.
    Tick,
    /// The screen was drawn.
    Drawn,
    /// The prompts of the past, with the last one and those of other clients.
    Remembered(PromptHistory),
    /// Something was copied, and how.
    Copied(String),
    /// What was written in another editor, if it ended well.
    Written(Option<String>),
    /// An effect could not be had.
    Failed(String),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The service is to do something.
    Order(Order),
    /// Add a prompt to those of the past.
    Remember(String),
    /// Put a text into the clipboard.
    Copy(String),
    /// Let the operator write this in another editor.
    Write(String),
    /// Take the mouse, or leave it to the terminal.
    TakeMouse(bool),
    /// Draw everything anew.
    Redraw,
    /// Ring, for somebody who looks elsewhere.
    Ring,
    /// Go back to the shell for now.
    Suspend,
    /// End.
    Leave,
    /// End, because of this.
    Fail(String),
}
