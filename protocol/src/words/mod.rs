//! The words in which clients tell what crosses the wire: the same for lines and for the screen.
//!
//! Invariant: plain strings. Foreign text is as it came; whoever shows it makes it fit to be shown.

mod event;
mod limit;
mod names;
mod settings;

pub use event::{Words, call, changed, command, saved, subject, unreadable, unreadable_block};
pub use limit::{is_limit, reached_max_turns};
pub use names::{
    by, conversation_state, job_end, outcome, queue, rule, rule_action, short_command, state,
    thinking, undone, undone_for_model, verdict, withdrawal,
};
pub use settings::{named_settings, settings};
