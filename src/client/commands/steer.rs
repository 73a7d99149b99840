//! `harness steer`: tells the model something in the run that is going.

use clap::Args;

use crate::client::commands::said::Said;

const STEER_HELP: &str = "\
Examples:
  harness steer Look into tests, too           said behind the tools that run now
  git diff | harness steer -c review -

The model is told it with its next request, behind the results of the tools; without a run it
waits for the next one. Prints the number of the message, for `harness queue withdraw`.

Exit codes:
  0  it waits
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// The flags of `harness steer`.
#[derive(Debug, Args)]
#[command(after_help = STEER_HELP)]
pub(crate) struct Steer {
    /// What to say.
    #[command(flatten)]
    pub(super) said: Said,
}
