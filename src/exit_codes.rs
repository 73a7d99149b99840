//! The exit codes of a command, as its help lists them behind the examples.

/// The help of a command that asks something and prints the answer.
pub(crate) fn asks(examples: &str) -> String {
    exits(examples, "done", "failed, or no service runs", None)
}

/// The help of a command that follows a run; `failed` says what 1 means.
pub(crate) fn runs(examples: &str, failed: &str) -> String {
    let cancelled = Some("the run was cancelled");
    exits(examples, "the run completed", failed, cancelled)
}

/// The help of any command: what 0, 1 and, if it has that, 130 mean.
pub(crate) fn exits(examples: &str, done: &str, failed: &str, cancelled: Option<&str>) -> String {
    let wrong = "wrong use: a flag or a setting cannot be used";
    let codes = [(0, done), (1, failed), (2, wrong)].into_iter();
    let codes = codes.chain(cancelled.map(|meaning| (130, meaning)));
    let width = if cancelled.is_some() { 5 } else { 3 };
    let lines = codes.map(|(code, meaning)| format!("\n{code:>width$}  {meaning}"));
    format!("{examples}\n\nExit codes:{}", lines.collect::<String>())
}
