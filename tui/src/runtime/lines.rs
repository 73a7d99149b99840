//! Runs the client without a screen, on the streams of the process.

use std::io::{self, IsTerminal as _};

use tokio::sync::mpsc::{Receiver, UnboundedSender};

use super::{ClientOptions, RunError};
use crate::link::{ClientOrder, News};
use crate::plain;

/// Runs the client without a screen.
pub(super) async fn run_plain(
    options: ClientOptions,
    orders: UnboundedSender<ClientOrder>,
    news: Receiver<News>,
) -> Result<i32, RunError> {
    let conversation = options.conversation;
    if orders.send(ClientOrder::Open { conversation }).is_err() {
        log::error!("the link to the service has ended");
    }
    let mut prompts = 0_u64;
    let client_key = options.client_key;
    let new_key = move || {
        prompts += 1;
        format!("{client_key}-{prompts}")
    };
    let lines = plain::PlainOptions {
        shows_past: io::stdin().is_terminal(),
        new_key: Box::new(new_key),
    };
    let typed = plain::typed()?;
    Ok(plain::run(news, orders, typed, io::stdout(), lines).await?)
}
