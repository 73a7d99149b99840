//! `harness retry`: asks again for a reply that failed and shows the run.

use clap::Args;

use crate::client::api::routes;
use crate::client::commands::common::Resumed;
use crate::client::commands::run::Order;

const RETRY_HELP: &str = "\
Examples:
  harness retry                                ask again for a reply that failed or was cancelled

What came of that reply is left out of what the model is told. The run is shown as
`harness prompt` shows it.

Exit codes:
    0  the run completed
    1  there was nothing to continue, the run failed or was interrupted, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

/// The flags of `harness retry`.
#[derive(Debug, Args)]
#[command(after_help = RETRY_HELP)]
pub(crate) struct Retry {
    /// The flags.
    #[command(flatten)]
    pub(super) resumed: Resumed,
}

impl Retry {
    /// What is to be sent.
    pub(super) fn order(&self) -> Order<'_> {
        Order::without_prompt(&self.resumed, routes::retry)
    }
}
