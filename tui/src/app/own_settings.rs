//! The settings of this client: taken at its start, shown and changed by `/settings`.

use super::{App, AppEffect};
use crate::client_settings::{ClientSettings, ROWS, fold_name};
use crate::composer::{ViKeys, ViMode};
use crate::part_view::FoldAmount;

impl App {
    /// Takes the settings of the file, and remarks what is wrong with them.
    pub(crate) fn take_settings(
        &mut self,
        settings: ClientSettings,
        problems: &[String],
    ) -> Vec<AppEffect> {
        self.viewport.folds.set_all(settings.tool_results);
        if !settings.mouse {
            self.has_mouse = false;
            self.effects.push(AppEffect::TakeMouse(false));
        }
        self.own = settings;
        match problems {
            [] => {}
            [problem] => self.complain(problem.clone()),
            [problem, rest @ ..] => self.complain(format!("{problem}, and {} more", rest.len())),
        }
        std::mem::take(&mut self.effects)
    }

    /// The mode of the keys of vi. `None` if the draft is edited without them.
    pub(crate) fn vi_mode(&self) -> Option<ViMode> {
        self.own.has_vi_keys.then(|| self.vi.mode())
    }

    /// True if the caret is on a character, and keys are commands.
    pub(crate) fn has_block_cursor(&self) -> bool {
        self.overlay.is_none() && self.vi_mode().is_some_and(|mode| mode != ViMode::Insert)
    }

    /// True if addresses are links that the terminal opens.
    pub(crate) fn shows_links(&self) -> bool {
        self.own.links
    }

    /// Sets one, at once and for later starts; whether it was said rightly.
    pub(super) fn set_own(&mut self, written: &str) -> bool {
        let (name, value) = written.split_once(' ').unwrap_or((written, ""));
        if let Err(problem) = self.own.set(name, value.trim()) {
            self.complain(problem);
            return false;
        }
        match name {
            "theme" => match self.own.theme {
                Some(scheme) => {
                    self.theme = self.theme.with_scheme(scheme);
                    self.follows_background = false;
                }
                None => self.say("from the next start on"),
            },
            "tool_results" | "head_lines" => {
                self.viewport.folds.set_all(self.own.tool_results);
            }
            "highlight" => self.colours.clear(),
            "editing_mode" => self.vi = ViKeys::default(),
            "mouse" if self.has_mouse != self.own.mouse => self.toggle_mouse(),
            _ => {}
        }
        self.keep_own(name);
        true
    }

    /// Keeps how all results are shown.
    pub(super) fn keep_fold(&mut self, fold: FoldAmount) {
        if self.own.set("tool_results", fold_name(fold)).is_ok() {
            self.keep_own("tool_results");
        }
    }

    /// Stores the present value of a setting.
    pub(super) fn keep_own(&mut self, name: &str) {
        if let Some(row) = ROWS.iter().find(|row| row.name == name) {
            let (name, value) = (row.name, self.own.value(name));
            self.effects.push(AppEffect::Keep { name, value });
        }
    }

    /// A line for each.
    pub(super) fn own_lines(&self) -> Vec<String> {
        let mut lines = vec!["this client, by /settings NAME VALUE or in client.toml:".to_owned()];
        lines.extend(ROWS.iter().map(|row| {
            let value = self.own.value(row.name);
            format!("  {} {value}: {}", row.name, row.help)
        }));
        lines
    }
}
