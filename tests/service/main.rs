//! Black-box tests: the built program, over real HTTP, with a scripted Messages API behind it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed, in its helpers too"
)]

mod acp;
mod alone;
mod approvals;
mod approvals_shown;
mod attach;
mod attachments;
mod bash;
mod betas;
mod bounds;
mod caching;
mod cancel;
mod change_records;
mod changing;
mod checker;
mod client;
mod command_line;
mod compacting;
mod contained;
mod continuing;
mod conversation;
mod conversations;
mod corpus;
mod crash;
mod cut_short;
mod demo;
mod door;
mod eventually;
mod every_record;
mod fan_out;
mod faults;
mod file_search;
mod files;
mod folders;
mod guard;
mod guidance;
mod handshake;
mod idle;
mod imports;
mod input;
mod jobs;
mod kept_changes;
mod keys;
mod life;
mod limits;
mod logs;
mod mcp;
mod orders;
mod other_shell;
mod others;
mod program;
mod queues;
mod recordings;
mod restart;
mod rules;
mod scarce;
mod schedules;
mod screen;
mod scripting;
mod secrets;
mod server_tools;
mod settings;
mod shapes;
mod shell;
mod stop;
mod stopped;
mod survivors;
mod talk;
mod terminal;
mod tidy;
mod together;
mod typed_replies;
mod undo;
mod workflow_file;
mod workflow_ground;
mod workflow_life;
mod workflow_orders;
mod workflow_routes;
mod workflow_verdicts;
mod writes;
