//! The terminal client on the running service: sends its orders, and reports events to it.

mod changes;
mod contact;
mod errands;
mod followed;
mod lanes;
mod link;
pub(super) mod name;
mod offers;
mod pace;
mod service_news;
mod submission;
#[cfg(test)]
pub(super) mod testing;
mod workflows;

use std::cell::RefCell;

use harness_tui::ClientOptions;
use tokio::sync::mpsc;

use crate::client::attach::contact::Contact;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::error::CommandError;
use crate::config::ClientConfig;

/// Maximum number of news that wait for the client. When there are more, the stream is not read further, which the
/// service copes with.
const MAX_NEWS: usize = 512;

/// Shows the conversation until the user leaves; the exit code.
///
/// # Errors
/// If no service can be used, or the terminal cannot be used.
pub(super) async fn run(
    options: ClientOptions,
    config: &ClientConfig,
) -> Result<i32, CommandError> {
    let (news, to_show) = mpsc::channel(MAX_NEWS);
    let (orders, to_carry_out) = mpsc::unbounded_channel();
    let contact = Contact {
        config: config.clone(),
        name: options.name.clone(),
        pace: LinkTimeouts::default(),
        news,
        told_epoch: RefCell::default(),
    };
    log::info!("{} attaches to {}", options.name, options.conversation);
    let link = actix::spawn(link::run(contact, to_carry_out));
    let shown = harness_tui::run(options, orders, to_show).await;
    // What was ordered last may be under way.
    if let Err(error) = link.await {
        log::error!("the link failed: {error}");
    }
    Ok(shown?)
}
