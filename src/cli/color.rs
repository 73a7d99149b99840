//! Whether what is printed has colours.

use clap::{Args, ValueEnum};

/// The flag that every command takes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ColorFlag {
    /// Whether there are colours: by the terminal, NO_COLOR and CLICOLOR_FORCE, always, or never
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        global = true
    )]
    color: Color,
}

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Color {
    /// At a terminal, unless the environment says something else
    #[default]
    Auto,
    /// Wherever it goes
    Always,
    /// Nowhere
    Never,
}

impl ColorFlag {
    /// Whether there are colours where something goes; variables are asked for by their names.
    pub(crate) fn is_on(self, is_terminal: bool, get: impl Fn(&str) -> Option<String>) -> bool {
        let value = |name: &str| get(name).unwrap_or_default();
        match self.chosen() {
            Some(is_on) => is_on,
            None if !value("NO_COLOR").is_empty() => false,
            None if !matches!(&*value("CLICOLOR_FORCE"), "" | "0") => true,
            None => is_terminal && value("TERM") != "dumb",
        }
    }

    /// The answer of the flag alone; none if it leaves that to the environment.
    pub(crate) fn chosen(self) -> Option<bool> {
        match self.color {
            Color::Auto => None,
            Color::Always => Some(true),
            Color::Never => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CONF-340]
    #[test]
    fn the_flag_goes_before_the_environment_and_that_before_the_terminal() {
        for (color, variables, terminal, is_on) in [
            (Color::Auto, &[][..], true, true),
            (Color::Auto, &[], false, false),
            (Color::Auto, &[("TERM", "dumb")], true, false),
            (Color::Auto, &[("NO_COLOR", "1")], true, false),
            (Color::Auto, &[("NO_COLOR", "")], true, true),
            (Color::Auto, &[("CLICOLOR_FORCE", "1")], false, true),
            (Color::Auto, &[("CLICOLOR_FORCE", "0")], false, false),
            (
                Color::Auto,
                &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")],
                true,
                false,
            ),
            (Color::Always, &[("NO_COLOR", "1")], false, true),
            (Color::Never, &[("CLICOLOR_FORCE", "1")], true, false),
        ] {
            let get = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(
                ColorFlag { color }.is_on(terminal, get),
                is_on,
                "{variables:?}"
            );
        }
    }
}
