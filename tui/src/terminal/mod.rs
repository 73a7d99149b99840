//! The terminal: its modes, its keys, its clipboard, and how it is given back.
//!
//! ```text
//! Tty ──> Guard: takes it and gives it back
//!           ├── device() ──> Reader ──> Input
//!           └── port() ────> Frames, copy()
//! Signals ──> end, suspend(guard)
//! ```

mod background;
mod capabilities;
mod clipboard;
mod frames;
mod guard;
mod key;
mod links;
mod modes;
mod notice;
mod parser;
mod picture;
mod reader;
mod reply;
mod room;
mod sequence;
mod shift;
mod signals;
mod tty;

pub(crate) use background::QUESTION as BACKGROUND_QUESTION;
pub(crate) use capabilities::Capabilities;
pub(crate) use clipboard::copy;
pub(crate) use frames::{Frames, Painted};
pub(crate) use guard::{Port, TerminalGuard};
pub(crate) use key::TerminalInput;
pub use key::{Button, Key, KeyPress, Mouse, MouseAction};
pub(crate) use links::{FrameLinks, ScreenLink};
pub(crate) use picture::{Pictures, take_picture};
pub(crate) use reader::{InputReader, size};
pub(crate) use room::WriteRoom;
#[cfg(test)]
pub(crate) use signals::SIGNALS;
pub(crate) use signals::{ProcessSignals, Signal};
pub(crate) use tty::Tty;
