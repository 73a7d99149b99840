//! The words in which clients tell what crosses the wire: the same for lines and for the screen.
//!
//! Invariant: plain strings. Foreign text is as it came; the client that shows it makes it fit to be shown.

mod counts;
mod event;
mod limit;
mod names;
mod pause;
mod run;
mod settings;
mod time;
mod title;
mod tool;
mod web;
mod workflow;

pub use counts::{counted, dollars, number, short_count};
pub use event::{
    EventWords, beyond_undo, block, changed, command, fallback, mcp_call, saved, subject,
    unreadable,
};
pub use limit::{is_limit, reached_max_turns, with_way_on};
pub use names::{
    MAX_FILES_NAMED, attachment, by, changed_besides, command_for_model, conversation_state,
    job_changes, job_end, job_facts, more_files, not_undone, outcome, queue, rule, rule_action,
    short_command, state, thinking, undone, undone_for_model, verdict, withdrawal,
};
pub use pause::{PauseWords, workflow_pause};
pub use run::run_facts;
pub use settings::{named_settings, settings};
pub use time::{age, took, took_about};
pub use title::title_of_prompt;
pub use tool::{CallEnd, asked, call, call_end};
pub use web::{web_sources, web_step};
pub use workflow::workflow_record;
