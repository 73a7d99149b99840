//! The commands that talk to the running service.

mod arguments;
mod attach;
mod command;
mod compact;
mod connection;
mod conversations;
mod discovery;
mod event_line;
mod events;
mod export;
mod follower;
mod guidance;
mod interrupts;
mod life;
mod list;
mod opened;
mod order_arguments;
mod output;
mod own_file;
mod prompt;
mod prompt_files;
mod prompt_text;
mod queue;
mod remarks;
mod reply_text;
mod run_view;
mod settings;
mod show;
mod stream;
#[cfg(test)]
mod testing;
mod usage;
mod visible;

pub(crate) use arguments::ClientCommand;
pub(crate) use attach::Attach;
pub(crate) use command::{run, run_alone};
pub(crate) use life::beside;
