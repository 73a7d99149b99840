//! `harness follow-up`: lets the run go on with something when it would end.

use clap::Args;

use crate::client::commands::said::Said;

const FOLLOW_UP_HELP: &str = "\
Examples:
  harness follow-up Then write the tests       said when the run would end
  harness follow-up --key tests-1 Write tests  running it again does not queue it again

The run goes on with it in place of its end; without a run it waits for the next one. Prints the
number of the message, for `harness queue withdraw`.

Exit codes:
  0  it waits
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// The flags of `harness follow-up`.
#[derive(Debug, Args)]
#[command(after_help = FOLLOW_UP_HELP)]
pub(crate) struct FollowUp {
    /// What to say.
    #[command(flatten)]
    pub(super) said: Said,
}
