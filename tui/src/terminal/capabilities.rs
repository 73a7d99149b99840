//! The environment's facts about the terminal.
//!
//! Invariant: nothing of this is asked of the terminal itself, whose answers may come late or
//! never. So nothing is asked of tmux either: which form of Ctrl+Enter it writes is its owner's
//! setting, every form is understood, and Ctrl+J always works.

use std::time::Duration;

use super::notice::NoticeForm;

/// Minimum time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Minimum time between two frames over a network, where a scrolled screen is 4 kB.
const FRAME_OVER_SSH: Duration = Duration::from_millis(66);

/// The environment's facts about the terminal, and about the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// The terminal is on another machine.
    pub(crate) is_ssh: bool,
    /// tmux is in between.
    pub(crate) is_tmux: bool,
    /// The terminal knows no escape sequences.
    pub(crate) is_dumb: bool,
    /// The operator wants lines that are written once.
    pub(crate) is_accessible: bool,
    /// The kitty keyboard protocol may be asked for.
    pub(crate) is_kitty_allowed: bool,
    /// The terminal may be asked for its background: it answers soon or not at all.
    pub(crate) is_background_asked: bool,
    /// A Wayland display is there.
    pub(crate) is_wayland: bool,
    /// An X display is there.
    pub(crate) is_x11: bool,
    /// This is Linux within Windows.
    pub(crate) is_wsl: bool,
    /// This is macOS.
    pub(crate) is_macos: bool,
    /// This is the console of Linux, which shows titles and links as text.
    pub(crate) is_console: bool,
    /// The form in which the terminal is asked to notify.
    notice: Option<NoticeForm>,
}

impl Capabilities {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Self::new(|name| std::env::var(name).ok(), cfg!(target_os = "macos"))
    }

    /// Those of an environment.
    pub(crate) fn new(read: impl Fn(&str) -> Option<String>, is_macos: bool) -> Self {
        let read = &read;
        let is_set = |name: &str| read(name).is_some_and(|value| !value.is_empty());
        let is_on = |name: &str| read(name).is_some_and(|value| !value.is_empty() && value != "0");
        let is_wsl = is_set("WSL_DISTRO_NAME");
        let is_vs_code = read("TERM_PROGRAM").as_deref() == Some("vscode");
        let is_ssh = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
        let terminal = read("TERM").unwrap_or_default();
        let is_dumb = terminal == "dumb";
        Self {
            is_ssh,
            is_tmux: is_set("TMUX"),
            is_dumb,
            is_accessible: is_on("ACCESSIBLE"),
            // Its keys come twice in that editor.
            is_kitty_allowed: !(is_on("HARNESS_NO_KITTY") || is_vs_code && is_wsl),
            is_background_asked: !(is_ssh
                || is_dumb
                || terminal == "linux"
                || terminal.starts_with("screen")),
            is_wayland: is_set("WAYLAND_DISPLAY"),
            is_x11: is_set("DISPLAY"),
            is_wsl,
            is_macos,
            is_console: terminal == "linux",
            notice: NoticeForm::detect(read),
        }
    }

    /// The sequence that asks the terminal to notify. `None` if the terminal is not known to support one.
    pub(crate) fn notice(&self, text: &str) -> Option<String> {
        self.notice.map(|form| form.sequence(text, self.is_tmux))
    }

    /// Minimum time from one frame to the next.
    pub(crate) fn frame_interval(&self) -> Duration {
        if self.is_ssh { FRAME_OVER_SSH } else { FRAME }
    }

    /// True if the screen cannot or should not be drawn, so that plain lines are written. `is_terminal` tells that both
    /// standard input and standard output are one.
    pub(crate) fn is_plain(&self, is_terminal: bool) -> bool {
        !is_terminal || self.is_dumb || self.is_accessible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables and their values.
    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn of(variables: Variables<'_>) -> Capabilities {
        let read = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Capabilities::new(read, false)
    }

    /// Spec: [TERM-15]
    #[test]
    fn the_kitty_protocol_is_asked_for_unless_it_does_harm() {
        let forms: [(Variables<'_>, bool); 6] = [
            (&[], true),
            (&[("HARNESS_NO_KITTY", "1")], false),
            (&[("HARNESS_NO_KITTY", "0")], true),
            (&[("TERM_PROGRAM", "vscode")], true),
            (&[("WSL_DISTRO_NAME", "Debian")], true),
            (
                &[("TERM_PROGRAM", "vscode"), ("WSL_DISTRO_NAME", "Debian")],
                false,
            ),
        ];
        for (variables, allowed) in forms {
            assert_eq!(of(variables).is_kitty_allowed, allowed, "{variables:?}");
        }
    }

    /// Spec: [TERM-24]
    #[test]
    fn only_terminals_that_answer_soon_are_asked_for_their_background() {
        let forms: [(Variables<'_>, bool); 8] = [
            (&[("TERM", "xterm-256color")], true),
            (&[("TERM", "tmux-256color"), ("TMUX", "/x")], true),
            (&[("TERM", "xterm"), ("SSH_CONNECTION", "a 1 b 22")], false),
            (&[("TERM", "xterm"), ("SSH_TTY", "/dev/pts/1")], false),
            (&[("TERM", "screen")], false),
            (&[("TERM", "screen.xterm-256color")], false),
            (&[("TERM", "linux")], false),
            (&[("TERM", "dumb")], false),
        ];
        for (variables, asked) in forms {
            assert_eq!(of(variables).is_background_asked, asked, "{variables:?}");
        }
    }

    /// Spec: [TERM-16]
    #[test]
    fn frames_are_rarer_over_a_network() {
        assert_eq!(of(&[]).frame_interval(), Duration::from_millis(33));
        let remote = of(&[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")]);
        assert_eq!(remote.frame_interval(), Duration::from_millis(66));
    }

    /// Spec: [PLAIN-01]
    #[test]
    fn plain_lines_are_for_pipes_dumb_terminals_and_who_asks() {
        let forms: [(Variables<'_>, bool, bool); 7] = [
            (&[("TERM", "xterm")], true, false),
            (&[], true, false),
            (&[("TERM", "xterm")], false, true),
            (&[("TERM", "dumb")], true, true),
            (&[("ACCESSIBLE", "1")], true, true),
            (&[("ACCESSIBLE", "0")], true, false),
            (&[("ACCESSIBLE", "")], true, false),
        ];
        for (variables, is_terminal, plain) in forms {
            assert_eq!(of(variables).is_plain(is_terminal), plain, "{variables:?}");
        }
    }
}
