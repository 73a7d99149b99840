//! A question at the terminal that is answered with yes or no.

use std::io::{self, IsTerminal as _, Write as _};

/// Whether a person can be asked.
pub(super) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, if there is a terminal; no answer is a no.
pub(super) fn is_confirmed(question: &str) -> bool {
    if !is_at_terminal() {
        return false;
    }
    let mut answer = String::new();
    let asked = io::stderr().write_all(format!("{question} [y/N] ").as_bytes());
    let read = asked.and_then(|()| io::stdin().read_line(&mut answer));
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
