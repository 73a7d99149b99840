//! Every rule of a conversation, as plain calls of its machine.

use super::*;

mod approvals;
mod compaction;
mod ends;
mod jobs;
mod orders;
mod proposals;
mod queues;
mod random;
mod random_talk;
mod records;
mod resume;
mod runs;
mod settings;
mod spending;
mod talk;
mod testing;
mod tool_calls;
mod values;
mod web;
