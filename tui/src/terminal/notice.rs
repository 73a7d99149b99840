//! Asks the terminal to notify an operator who looks elsewhere, in the one form that it knows.

/// Maximum length of a notice that is shown, in characters.
const MAX_CHARACTERS: usize = 200;

/// A form in which a terminal takes a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeForm {
    /// OSC 99, of kitty.
    Kitty,
    /// OSC 9, of iTerm2.
    Iterm,
    /// OSC 777, of urxvt.
    Urxvt,
}

impl NoticeForm {
    /// The form of the terminal that an environment names. `None` if it is not known to have one. tmux names itself,
    /// but leaves most names of the terminal around it.
    pub(super) fn detect(read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is_set = |name: &str| read(name).is_some_and(|value| !value.is_empty());
        let is = |name: &str, expected: &str| read(name).as_deref() == Some(expected);
        let program = read("TERM_PROGRAM").unwrap_or_default();
        let terminal = read("TERM").unwrap_or_default();
        match program.as_str() {
            "vscode" => return Some(Self::Kitty),
            "iTerm.app" | "ghostty" | "WarpTerminal" | "WezTerm" => return Some(Self::Iterm),
            _ => {}
        }
        if is_set("KITTY_WINDOW_ID") || terminal == "xterm-kitty" {
            Some(Self::Kitty)
        } else if is("LC_TERMINAL", "iTerm2")
            || is_set("ITERM_SESSION_ID")
            || is_set("GHOSTTY_RESOURCES_DIR")
            || is_set("WEZTERM_PANE")
            || terminal == "xterm-ghostty"
        {
            Some(Self::Iterm)
        } else if is_set("VTE_VERSION")
            || terminal.starts_with("foot")
            || terminal.starts_with("rxvt-unicode")
        {
            Some(Self::Urxvt)
        } else {
            None
        }
    }

    /// The sequence that asks for a notice. The text is one line without anything that steers a terminal.
    pub(super) fn sequence(self, text: &str, is_tmux: bool) -> String {
        let text: String = text.chars().take(MAX_CHARACTERS).collect();
        let asked = match self {
            Self::Kitty => format!("\x1b]99;;{text}\x1b\\"),
            // A digit and a semicolon would be another order of this number.
            Self::Iterm => format!("\x1b]9;harness: {text}\x1b\\"),
            Self::Urxvt => format!("\x1b]777;notify;harness;{}\x1b\\", text.replace(';', ",")),
        };
        if is_tmux {
            // tmux hands on what is packed so, if it is allowed to.
            format!("\x1bPtmux;{}\x1b\\", asked.replace('\x1b', "\x1b\x1b"))
        } else {
            asked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TERM-308]
    #[test]
    fn a_notice_has_the_form_of_the_terminal() {
        let of = |variables: &[(&str, &str)]| {
            NoticeForm::detect(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        type Variables = &'static [(&'static str, &'static str)];
        let forms: [(Variables, Option<NoticeForm>); 9] = [
            (&[("TERM", "xterm-kitty")], Some(NoticeForm::Kitty)),
            (&[("TERM_PROGRAM", "vscode")], Some(NoticeForm::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(NoticeForm::Iterm)),
            (&[("LC_TERMINAL", "iTerm2")], Some(NoticeForm::Iterm)),
            (
                &[("TERM_PROGRAM", "tmux"), ("GHOSTTY_RESOURCES_DIR", "/x")],
                Some(NoticeForm::Iterm),
            ),
            (&[("VTE_VERSION", "7600")], Some(NoticeForm::Urxvt)),
            (&[("TERM", "foot-extra")], Some(NoticeForm::Urxvt)),
            (&[("TERM", "xterm-256color")], None),
            (&[("TERM_PROGRAM", "tmux"), ("TERM", "tmux-256color")], None),
        ];
        for (variables, form) in forms {
            assert_eq!(of(variables), form, "{variables:?}");
        }
        let text = "4;1 of a; b";
        assert_eq!(
            NoticeForm::Kitty.sequence(text, false),
            "\x1b]99;;4;1 of a; b\x1b\\"
        );
        assert_eq!(
            NoticeForm::Iterm.sequence(text, false),
            "\x1b]9;harness: 4;1 of a; b\x1b\\"
        );
        assert_eq!(
            NoticeForm::Urxvt.sequence(text, false),
            "\x1b]777;notify;harness;4,1 of a, b\x1b\\"
        );
        assert_eq!(
            NoticeForm::Kitty.sequence("x", true),
            "\x1bPtmux;\x1b\x1b]99;;x\x1b\x1b\\\x1b\\"
        );
        let long = NoticeForm::Kitty.sequence(&"x".repeat(999), false);
        assert_eq!(long.matches('x').count(), MAX_CHARACTERS);
    }
}
