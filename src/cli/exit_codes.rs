//! The exit codes of a command, as its help lists them behind the examples.

/// The help of a command that asks something and prints the answer.
pub(crate) fn asks(examples: &str) -> String {
    exits(examples, "done", "failed, or no service runs", None)
}

/// The help of a command that follows a run; `failed` says what 1 means.
pub(crate) fn runs(examples: &str, failed: &str) -> String {
    let codes = [
        (0, "the run completed"),
        (1, failed),
        (2, "wrong use: a flag or a setting cannot be used"),
        (3, "a tool was denied what it wanted"),
        (4, "a limit ended the run"),
        (
            124,
            "it took longer than --timeout, and the run was cancelled",
        ),
        (130, "the run was cancelled"),
    ];
    listed(examples, &codes)
}

/// The help of a command that follows a workflow until it is at rest.
pub(crate) fn rests(examples: &str) -> String {
    let codes = [
        (0, "completed, or what was ordered is done"),
        (1, "failed, or no service runs"),
        (2, "wrong use: a flag or a setting cannot be used"),
        (3, "a person is needed: a gate, a tool that asks, a pause"),
        (
            4,
            "a limit stopped it: a budget, iterations, no progress, stuck",
        ),
        (130, "cancelled, or stopped with Ctrl-C"),
    ];
    listed(examples, &codes)
}

/// The help of any command: what 0, 1 and, if it has that, 130 mean.
pub(crate) fn exits(examples: &str, done: &str, failed: &str, cancelled: Option<&str>) -> String {
    let wrong = "wrong use: a flag or a setting cannot be used";
    let mut codes = vec![(0, done), (1, failed), (2, wrong)];
    codes.extend(cancelled.map(|meaning| (130, meaning)));
    listed(examples, &codes)
}

fn listed(examples: &str, codes: &[(u8, &str)]) -> String {
    let is_wide = codes.iter().any(|(code, _)| *code > 9);
    let width = if is_wide { 5 } else { 3 };
    let lines = codes
        .iter()
        .map(|(code, meaning)| format!("\n{code:>width$}  {meaning}"));
    format!("{examples}\n\nExit codes:{}", lines.collect::<String>())
}
