//! Signals to a person who looks elsewhere: the title of the terminal, its bell, and notices.

use std::time::Duration;

use harness_protocol::{ActivityState, EndOutcome, Event};

use super::{App, AppEffect};
use crate::client_settings::Notify;
use crate::text::{one_line, take_width};

/// Minimum duration of a run whose end is notified.
const LONG: Duration = Duration::from_secs(5);
/// The longest title, in columns.
const MAX_TITLE: usize = 80;

impl App {
    /// The title of the terminal: how the conversation is, which it is, and in which folder; none
    /// if the terminal keeps its own.
    pub(crate) fn window_title(&self) -> Option<String> {
        if !self.own.terminal_title {
            return None;
        }
        let waits = self.band.is_some() || self.conversation.status().state == ActivityState::Error;
        let mark = if waits || self.is_down() {
            '!'
        } else if self.is_busy() || self.is_compacting() {
            '…'
        } else {
            '●'
        };
        let name = self.shown_name();
        let folder = self.folder().unwrap_or_default();
        let folder = folder.rsplit('/').find(|name| !name.is_empty());
        let folder = folder.map_or_else(String::new, |folder| format!(" · {folder}"));
        let title = format!("{mark} {name}{folder}");
        Some(take_width(&title, MAX_TITLE).to_owned())
    }

    /// The title of the conversation, or its id.
    fn shown_name(&self) -> String {
        let status = self.conversation.status();
        let title = status.title.as_deref();
        one_line(title.unwrap_or(&status.conversation))
    }

    /// Assumes no longer that an operator looks, until the terminal reports a loss of focus: tmux may report nothing at
    /// all.
    pub(crate) fn doubt_focus(&mut self) {
        self.is_focus_known = false;
    }

    /// Notes when a run began that is going.
    pub(super) fn note_run(&mut self) {
        let run = self.conversation.status().run_id;
        if self.run_began.map(|(run, _)| run) != run {
            self.run_began = run.map(|run| (run, self.now));
        }
    }

    /// A run has ended.
    pub(super) fn tell_end(&mut self, event: &Event) {
        let Event::RunEnded {
            run_id,
            outcome,
            by,
            ..
        } = event
        else {
            return;
        };
        self.ring();
        let began = self.run_began.filter(|(run, _)| run == run_id);
        let took = began.map_or(Duration::ZERO, |(_, began)| self.now.saturating_sub(began));
        let is_own = *outcome == EndOutcome::Cancelled && by.as_deref() == Some(self.name());
        let is_error = *outcome == EndOutcome::Error;
        if !is_own && (is_error || took >= LONG) {
            let seconds = took.as_secs();
            let ended = match outcome {
                EndOutcome::Completed | EndOutcome::Unknown => "finished",
                EndOutcome::Cancelled => "cancelled",
                EndOutcome::Error => "failed",
                EndOutcome::Interrupted => "interrupted",
            };
            self.notify(&format!("{ended} after {seconds} s"));
        }
    }

    /// A tool asks.
    pub(super) fn tell_question(&mut self, tool: &str) {
        self.ring();
        self.notify(&format!("{} waits for your approval", one_line(tool)));
    }

    fn ring(&mut self) {
        if !self.is_focused && self.own.bell {
            self.effects.push(AppEffect::Ring);
        }
    }

    fn notify(&mut self, what: &str) {
        let is_seen = self.is_focused && self.is_focus_known;
        let is_wanted = match self.own.notify {
            Notify::Unfocused => !is_seen,
            Notify::Always => true,
            Notify::Off => false,
        };
        if is_wanted {
            let text = format!("{}: {what}", self.shown_name());
            self.effects.push(AppEffect::Notify(text));
        }
    }
}
