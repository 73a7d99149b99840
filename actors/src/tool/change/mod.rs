//! Changes of files: where a text is, what the change is, and how it gets onto the disk.

mod at_once;
mod attributes;
mod before;
mod diff;
mod encoding;
mod entry;
mod folders;
mod in_place;
mod keep;
mod line_ends;
mod long_lines;
mod matching;
mod near;
mod place;
mod planned;
mod replace;
mod sweep;
mod temporary;
mod threads;
mod undo;
mod undo_folders;

pub(super) use at_once::carry_out_at_once;
pub use before::BeforeStore;
pub(super) use diff::{FileDiff, diff};
pub(super) use encoding::OtherEncoding;
pub(super) use keep::{CommandVersion, keep_change, proposed, proposed_removal};
pub(super) use line_ends::{LineEnds, with_marks_of};
pub(super) use matching::{Matches, find};
pub(super) use near::nearest;
pub(super) use place::place_of;
pub(super) use planned::{CHANGED_SINCE, planned};
pub(super) use replace::{KnownFile, check_size, has_happened, read_bytes, umask};
pub(super) use sweep::sweep_beside;
pub use undo::FileUndo;
