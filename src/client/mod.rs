//! The commands that talk to the running service.

mod arguments;
mod attach;
mod command;
mod connection;
mod conversations;
mod discovery;
mod event_line;
mod events;
mod export;
mod follower;
mod interrupts;
mod list;
mod opened;
mod output;
mod own_file;
mod prompt;
mod prompt_text;
mod reply_text;
mod run_view;
mod show;
mod stream;
#[cfg(test)]
mod testing;
mod visible;

pub(crate) use arguments::ClientCommand;
pub(crate) use attach::Attach;
pub(crate) use command::{run, run_alone};
