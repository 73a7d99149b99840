//! The terminal client itself, on the link.

use harness_tui::{News, Order};
use tokio::sync::mpsc::{Receiver, UnboundedSender};

use crate::client::attach::Options;
use crate::client::commands::CommandError;

/// Shows the conversation and takes what the user types, until it is left; the exit code.
pub(super) async fn run(
    options: Options,
    orders: UnboundedSender<Order>,
    news: Receiver<News>,
) -> Result<i32, CommandError> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| CommandError::System {
        reason: format!("the system has no randomness: {error}"),
    })?;
    let options = harness_tui::Options {
        name: options.name,
        client_key: format!("tui-{:016x}", u64::from_ne_bytes(random)),
        home: options.home,
        conversation: options.conversation,
        theme: options.theme,
        is_plain: options.is_plain,
    };
    Ok(harness_tui::run(options, orders, news).await?)
}
