//! `harness continue`: goes on without a prompt and shows the run.

use clap::Args;

use crate::client::api::routes;
use crate::client::commands::common::Resumed;
use crate::client::commands::run::Order;

const CONTINUE_HELP: &str = "\
Examples:
  harness continue                             go on after a limit, a cancel or a crash
  harness continue --json -c ID

The run is shown as `harness prompt` shows it. Without anything to answer nothing is started.

Exit codes:
    0  the run completed
    1  there was nothing to continue, the run failed or was interrupted, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

/// The flags of `harness continue`.
#[derive(Debug, Args)]
#[command(after_help = CONTINUE_HELP)]
pub(crate) struct Continue {
    /// The flags.
    #[command(flatten)]
    pub(super) resumed: Resumed,
}

impl Continue {
    /// What is to be sent.
    pub(super) fn order(&self) -> Order<'_> {
        Order::without_prompt(&self.resumed, routes::resume)
    }
}
