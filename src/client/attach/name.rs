//! The default name of this client for the other clients.

use std::env;
use std::io;

use nix::unistd::ttyname;

/// Maximum length of a name, in characters; the service takes no longer ones.
const MAX_NAME: usize = 64;

/// The given name, or one made of the user and the terminal, for example `ana@pts/3`.
pub(crate) fn client_name(given: Option<String>) -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME")).ok();
    let terminal = ttyname(io::stdin()).or_else(|_| ttyname(io::stdout())).ok();
    let terminal = terminal.map(|path| path.to_string_lossy().into_owned());
    name_of(given, user, terminal.as_deref())
}

fn name_of(given: Option<String>, user: Option<String>, terminal: Option<&str>) -> String {
    let own = || {
        let user = user.filter(|user| !user.is_empty());
        let user = user.unwrap_or_else(|| "somebody".to_owned());
        match terminal {
            Some(path) => format!("{user}@{}", path.trim_start_matches("/dev/")),
            None => user,
        }
    };
    given
        .unwrap_or_else(own)
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_NAME)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [LINK-15]
    #[test]
    fn a_client_has_the_name_it_was_given_or_that_of_its_user_and_terminal() {
        let long = "ü".repeat(65);
        for (given, user, terminal, name) in [
            (Some("Ana B."), Some("ana"), Some("/dev/pts/3"), "Ana B."),
            (None, Some("ana"), Some("/dev/pts/3"), "ana@pts/3"),
            (None, Some("ana"), Some("/dev/ttys001"), "ana@ttys001"),
            (None, Some("ana"), None, "ana"),
            (None, Some(""), Some("/dev/tty1"), "somebody@tty1"),
            (None, None, None, "somebody"),
            (Some("a\x1b]0;x\x07\n"), None, None, "a]0;x"),
            (Some(&*long), None, None, &*"ü".repeat(64)),
        ] {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            assert_eq!(name_of(owned(given), owned(user), terminal), name);
        }
    }
}
