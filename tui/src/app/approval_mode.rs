//! The mode of a conversation: how much of what tools change is asked before.

use harness_protocol::ApprovalMode;

use super::completions::DEFAULT;
use super::{App, Overlay};
use crate::link::SettingChange;

/// The modes in the order in which a key goes through them, each with its name and its meaning.
pub(super) const MODES: [(ApprovalMode, &str, &str); 5] = [
    (ApprovalMode::Plan, "plan", "nothing is changed"),
    (ApprovalMode::Ask, "ask", "every change is asked about"),
    (
        ApprovalMode::Edits,
        "edits",
        "files in the folder are changed without asking",
    ),
    (
        ApprovalMode::Sandbox,
        "sandbox",
        "as edits, and commands that the sandbox holds run without asking",
    ),
    (
        ApprovalMode::Locked,
        "locked",
        "only what rules allow, and nothing is asked",
    ),
];

/// The name of a mode.
pub(crate) fn mode_name(mode: ApprovalMode) -> &'static str {
    let found = MODES.iter().find(|(known, ..)| *known == mode);
    found.map_or("", |(_, name, _)| name)
}

impl App {
    /// The mode of the next run. `None` if the service has not told it.
    pub(crate) fn mode(&self) -> Option<ApprovalMode> {
        let own = self.conversation.status().settings.mode;
        own.or_else(|| self.service.as_ref()?.mode)
    }

    /// Shows the modes, or sets one for all clients. Returns true if that could be tried.
    pub(super) fn mode_command(&mut self, argument: &str) -> bool {
        if argument.is_empty() {
            self.show_modes();
            return true;
        }
        let found = MODES.iter().find(|(_, name, _)| *name == argument);
        match found {
            Some((mode, ..)) => self.set_mode(Some(*mode)),
            None if argument == DEFAULT => self.set_mode(None),
            None => {
                let names: Vec<&str> = MODES.iter().map(|(_, name, _)| *name).collect();
                self.complain(format!("say /mode {} or {DEFAULT}", names.join(", ")));
                false
            }
        }
    }

    /// Sets the mode that follows.
    pub(super) fn next_mode(&mut self) {
        let Some(now) = self.ordered_mode.or(self.mode()) else {
            self.complain("the mode is not known yet");
            return;
        };
        let at = MODES.iter().position(|(mode, ..)| *mode == now);
        let next = at.map_or(0, |at| (at + 1) % MODES.len());
        let (mode, ..) = MODES[next];
        if self.set_mode(Some(mode)) {
            self.ordered_mode = Some(mode);
        }
    }

    fn set_mode(&mut self, mode: Option<ApprovalMode>) -> bool {
        self.change(SettingChange::Mode(mode))
    }

    fn show_modes(&mut self) {
        let now = self.mode();
        let line = |(mode, name, help): &(ApprovalMode, &str, &str)| {
            let mark = if now == Some(*mode) { "*" } else { " " };
            format!("{mark} {name:<8} {help}")
        };
        let mut lines: Vec<String> = MODES.iter().map(line).collect();
        lines.push("/mode NAME sets one for all clients, and Shift+Tab the next one".to_owned());
        self.overlay = Some(Overlay::Facts(lines));
    }
}

#[cfg(test)]
mod tests {
    use harness_protocol::Event;
    use serde_json::json;

    use super::super::testing::*;
    use super::super::{AppEffect, ClientOrder};
    use super::*;
    use crate::conversation::testing::event;
    use crate::link::{FactKind, News};
    use crate::service::testing::service;
    use crate::terminal::{Key, KeyPress};

    fn ordered(effects: &[AppEffect]) -> Vec<Option<ApprovalMode>> {
        let modes = orders(effects).into_iter().filter_map(|order| match order {
            ClientOrder::Change {
                change: SettingChange::Mode(mode),
                ..
            } => Some(*mode),
            _ => None,
        });
        modes.collect()
    }

    fn changed(mode: &str) -> Event {
        event(json!({"type": "settings_changed", "settings": {"mode": mode}}))
    }

    fn command(app: &mut App, line: &str) -> Vec<AppEffect> {
        control(app, 'u');
        app.update(super::super::Msg::Paste(line.to_owned()), app.now);
        key(app, Key::Enter)
    }

    /// Spec: [TUI-633]
    #[test]
    fn a_key_goes_through_the_modes_from_the_one_that_was_ordered_last() {
        let mut app = attached(&[]);
        let next = |app: &mut App| {
            let effects = press(app, KeyPress::plain(Key::Tab).shift());
            ordered(&effects)
        };
        assert_eq!(next(&mut app), []);
        assert_eq!(toast(&app), "the mode is not known yet");
        let mut of_service = service();
        of_service.mode = Some(ApprovalMode::Ask);
        tell(&mut app, News::Service(Box::new(of_service)));
        assert_eq!(next(&mut app), [Some(ApprovalMode::Edits)]);
        assert_eq!(next(&mut app), [Some(ApprovalMode::Sandbox)]);
        tell(&mut app, told(1, changed("sandbox")));
        assert_eq!(app.mode(), Some(ApprovalMode::Sandbox));
        assert_eq!(next(&mut app), [Some(ApprovalMode::Locked)]);
        let reason = "no".to_owned();
        tell(&mut app, News::Failed { reason });
        assert_eq!(next(&mut app), [Some(ApprovalMode::Locked)]);
        assert_eq!(next(&mut app), [Some(ApprovalMode::Plan)]);
        // Another conversation has the mode of the service.
        app.open("d".to_owned());
        app.effects.clear();
        open_in(&mut app, "d", None);
        assert_eq!(next(&mut app), [Some(ApprovalMode::Edits)]);
    }

    /// Spec: [TUI-634]
    #[test]
    fn the_modes_are_shown_and_set_by_name() {
        let mut app = attached(&[]);
        tell(&mut app, told(1, changed("sandbox")));
        assert!(orders(&command(&mut app, "/mode")).is_empty());
        let Some(Overlay::Facts(lines)) = &app.overlay else {
            panic!("{:?}", app.overlay);
        };
        assert!(lines[3].starts_with("* sandbox"), "{lines:?}");
        assert!(lines[1].starts_with("  ask"), "{lines:?}");
        key(&mut app, Key::Escape);
        let set = command(&mut app, "/mode edits");
        assert_eq!(ordered(&set), [Some(ApprovalMode::Edits)]);
        let set = command(&mut app, "/mode default");
        assert_eq!(ordered(&set), [None]);
        assert!(orders(&command(&mut app, "/mode much")).is_empty());
        assert!(toast(&app).contains("sandbox"), "{}", toast(&app));
        // A name that is begun is completed.
        let set = command(&mut app, "/mode sand");
        assert_eq!(ordered(&set), [Some(ApprovalMode::Sandbox)]);
    }

    /// Spec: [TUI-635]
    #[test]
    fn jobs_and_rules_are_asked_for_and_shown() {
        for (line, kind) in [("/jobs", FactKind::Jobs), ("/rules", FactKind::Rules)] {
            let mut app = attached(&[]);
            let effects = command(&mut app, line);
            let conversation = || "c".to_owned();
            let asked = ClientOrder::Facts {
                conversation: conversation(),
                kind,
            };
            assert_eq!(orders(&effects), [&asked]);
            let facts = |conversation: String| News::Facts {
                conversation,
                lines: vec!["1 make (3 s, output)".to_owned()],
            };
            tell(&mut app, facts("other".to_owned()));
            assert!(app.overlay.is_none());
            tell(&mut app, facts(conversation()));
            assert!(matches!(&app.overlay, Some(Overlay::Facts(lines)) if lines.len() == 1));
        }
    }
}
