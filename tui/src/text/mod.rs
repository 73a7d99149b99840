//! Text on a screen: what may be shown, how wide it is, where it may be broken or cut.

mod address;
mod pasted;
mod path;
mod sanitize;
mod width;
mod wrap;

pub use path::below_home;

pub(crate) use address::{address, addresses};
pub(crate) use pasted::pasted_paths;
pub(crate) use path::{end_of, shown_path};
pub(crate) use sanitize::{
    ANOTHER_CLIENT, Hidden, is_special, one_line, sanitize, someone, without_sequences,
};
pub(crate) use width::{graphemes_with_width, take_width, width};
pub(crate) use wrap::{break_anywhere, broken, wrap};
