//! The commands that talk to the running service.

mod acp;
mod api;
mod attach;
mod background;
mod commands;
mod error;
mod event_line;
mod fact_lines;
mod folder;
mod idle_rules;
mod interrupts;
mod known_models;
mod mcp_server;
mod named;
mod output;
mod prompt_files;
mod prompt_text;
mod question;
mod recipe_order;
mod remarks;
mod reply_file;
mod reply_text;
mod run_view;
mod starter;
#[cfg(test)]
mod testing;

pub(crate) use commands::life::beside;
pub(crate) use commands::workflow::WorkflowCommand;
pub(crate) use commands::{AttachArgs, ClientCommand, run, run_alone, run_workflow};
