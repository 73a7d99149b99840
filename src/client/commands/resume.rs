//! The help of `harness continue` and `harness retry`: a run without a prompt.

pub(super) const FAILED: &str =
    "there was nothing to continue, the run failed or was interrupted, or no service runs";

pub(super) const CONTINUE_HELP: &str = "\
Examples:
  harness continue                             go on after a limit, a cancel or a crash
  harness continue --json -c ID

The run is shown as `harness prompt` shows it. Without anything to answer nothing is started.";

pub(super) const RETRY_HELP: &str = "\
Examples:
  harness retry                                ask again for a reply that failed or was cancelled

The model gets nothing of that reply. The run is shown as `harness prompt` shows it.";
