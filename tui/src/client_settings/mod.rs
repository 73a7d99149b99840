//! The settings of the client itself, apart from those of conversations and of the service.

mod file;

use toml::{Table, Value};

use crate::part_view::{FoldAmount, MAX_TAIL};
use crate::theme::Scheme;

pub(crate) use file::SettingsFile;

/// The settings of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSettings {
    /// The colours, if they do not follow the terminal's background.
    pub(crate) theme: Option<Scheme>,
    /// The part of tool results that is shown.
    pub(crate) tool_results: FoldAmount,
    /// Number of lines that are shown where only the head is.
    pub(crate) head_lines: u16,
    /// True if the client rings for an operator who looks elsewhere.
    pub(crate) bell: bool,
    /// True if the mouse scrolls and selects in the client.
    pub(crate) mouse: bool,
    /// True if code has colours.
    pub(crate) highlight: bool,
    /// True if addresses are links that the terminal opens.
    pub(crate) links: bool,
    /// True if the title of the terminal shows the state of the conversation.
    pub(crate) terminal_title: bool,
    /// The times at which the terminal is asked to notify.
    pub(crate) notify: Notify,
    /// True if the draft is edited with the keys of vi.
    pub(crate) has_vi_keys: bool,
}

/// The times at which the terminal is asked to notify the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Notify {
    /// While the terminal does not have the focus.
    #[default]
    Unfocused,
    /// Always.
    Always,
    /// Never.
    Off,
}

/// A setting: its name, the values that it takes, its default, and its meaning.
pub(crate) struct ClientSetting {
    /// The name.
    pub(crate) name: &'static str,
    /// The values.
    pub(crate) values: &'static [&'static str],
    /// The meaning.
    pub(crate) help: &'static str,
}

/// The lengths of a head.
const HEAD_LINES: &[&str] = &["2", "4", "8", "16", "32", "64"];

/// The colours follow the terminal's background.
pub(crate) const AUTO: &str = "auto";

/// All settings.
pub(crate) const ROWS: &[ClientSetting] = &[
    ClientSetting {
        name: "theme",
        values: &[AUTO, "dark", "light", "terminal"],
        help: "the colours",
    },
    ClientSetting {
        name: "tool_results",
        values: &["folded", "head", "open"],
        help: "how much of results and of thinking is shown",
    },
    ClientSetting {
        name: "head_lines",
        values: HEAD_LINES,
        help: "how many lines of a result are its head",
    },
    ClientSetting {
        name: "bell",
        values: &["true", "false"],
        help: "ring when a run ends or a question waits and the terminal is in the background",
    },
    ClientSetting {
        name: "mouse",
        values: &["true", "false"],
        help: "scroll and select with the mouse",
    },
    ClientSetting {
        name: "highlight",
        values: &["true", "false"],
        help: "colour code by its language",
    },
    ClientSetting {
        name: "links",
        values: &["true", "false"],
        help: "addresses are links of the terminal, opened by a click with Ctrl or Shift",
    },
    ClientSetting {
        name: "terminal_title",
        values: &["true", "false"],
        help: "the title of the terminal says how the conversation is",
    },
    ClientSetting {
        name: "notify",
        values: &["unfocused", "always", "off"],
        help: "the terminal notifies when a long run ends or a question waits",
    },
    ClientSetting {
        name: "editing_mode",
        values: &["emacs", "vi"],
        help: "the keys that edit the draft; those of vi begin in insert mode",
    },
];

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            theme: None,
            tool_results: FoldAmount::Folded,
            head_lines: MAX_TAIL,
            bell: true,
            mouse: true,
            highlight: true,
            links: true,
            terminal_title: true,
            notify: Notify::default(),
            has_vi_keys: false,
        }
    }
}

impl ClientSettings {
    /// The settings of a file, and all its faults. A faulty setting counts as missing; the others apply.
    pub(crate) fn parse(text: &str) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let table = match text.parse::<Table>() {
            Ok(table) => table,
            Err(error) => return (settings, vec![error.message().to_owned()]),
        };
        let mut problems = Vec::new();
        for (name, value) in table {
            let value = match value {
                Value::String(text) => text,
                Value::Boolean(is_set) => is_set.to_string(),
                Value::Integer(number) => number.to_string(),
                other => other.type_str().to_owned(),
            };
            problems.extend(settings.set(&name, &value).err());
        }
        (settings, problems)
    }

    /// Sets one.
    ///
    /// # Errors
    /// The names, or the values, that there are.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(row) = ROWS.iter().find(|row| row.name == name) else {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            let names = names.join(", ");
            return Err(format!("there is no setting {name:?}; there are: {names}"));
        };
        if !row.values.contains(&value) {
            let values = row.values.join(", ");
            return Err(format!(
                "{name} cannot be {value:?}; it is one of: {values}"
            ));
        }
        match name {
            "theme" => self.theme = Scheme::parse(value),
            "tool_results" => self.tool_results = fold(value, self.head_lines),
            "head_lines" => {
                self.head_lines = value.parse().unwrap_or(MAX_TAIL);
                if let FoldAmount::Head(lines) = &mut self.tool_results {
                    *lines = self.head_lines;
                }
            }
            "bell" => self.bell = value == "true",
            "highlight" => self.highlight = value == "true",
            "links" => self.links = value == "true",
            "terminal_title" => self.terminal_title = value == "true",
            "notify" => self.notify = Notify::parse(value),
            "editing_mode" => self.has_vi_keys = value == "vi",
            _ => self.mouse = value == "true",
        }
        Ok(())
    }

    /// The value of a setting, in its written form.
    pub(crate) fn value(&self, name: &str) -> &'static str {
        let switch = |is_set| if is_set { "true" } else { "false" };
        match name {
            "theme" => self.theme.map_or(AUTO, Scheme::name),
            "tool_results" => fold_name(self.tool_results),
            "head_lines" => {
                let own = self.head_lines.to_string();
                let known = HEAD_LINES.iter().find(|value| **value == own);
                known.copied().unwrap_or_default()
            }
            "bell" => switch(self.bell),
            "highlight" => switch(self.highlight),
            "links" => switch(self.links),
            "terminal_title" => switch(self.terminal_title),
            "notify" => self.notify.name(),
            "editing_mode" if self.has_vi_keys => "vi",
            "editing_mode" => "emacs",
            _ => switch(self.mouse),
        }
    }
}

impl Notify {
    fn parse(name: &str) -> Self {
        match name {
            "always" => Self::Always,
            "off" => Self::Off,
            _ => Self::Unfocused,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unfocused => "unfocused",
            Self::Always => "always",
            Self::Off => "off",
        }
    }
}

fn fold(name: &str, head_lines: u16) -> FoldAmount {
    match name {
        "head" => FoldAmount::Head(head_lines),
        "open" => FoldAmount::Cut,
        _ => FoldAmount::Folded,
    }
}

/// The name of a way to show results.
pub(crate) fn fold_name(fold: FoldAmount) -> &'static str {
    match fold {
        FoldAmount::Folded => "folded",
        FoldAmount::Head(_) => "head",
        FoldAmount::Cut | FoldAmount::Open => "open",
    }
}

/// The text of a file with one setting changed; comments and all else stay unchanged.
pub(crate) fn edited(text: &str, name: &str, value: &str) -> String {
    let value = match value {
        "true" | "false" => value.to_owned(),
        number if number.parse::<u16>().is_ok() => number.to_owned(),
        text => format!("{text:?}"),
    };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_table = |line: &String| line.trim_start().starts_with('[');
    let end = lines.iter().position(is_table).unwrap_or(lines.len());
    let is_it = |line: &String| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    match lines[..end].iter().position(is_it) {
        Some(at) => {
            let comment = lines[at]
                .find('#')
                .map(|at_comment| &lines[at][at_comment..]);
            let comment = comment.map_or_else(String::new, |comment| format!(" {comment}"));
            lines[at] = format!("{name} = {value}{comment}");
        }
        None => lines.insert(end, format!("{name} = {value}")),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
