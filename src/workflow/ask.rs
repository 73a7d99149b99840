//! The question whether a person approves a file.

use std::io::{self, IsTerminal as _, Write as _};

/// Asks a person on the terminal. `None` if there is no terminal.
pub(crate) fn ask() -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let mut answer = String::new();
    let asked = io::stderr().write_all(b"approve? [y/N] ");
    let read = asked.and_then(|()| io::stdin().read_line(&mut answer));
    Some(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
