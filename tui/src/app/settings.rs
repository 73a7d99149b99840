//! The settings of the conversation, and orders for it as a whole.

use harness_protocol::{
    AnyOrder, CompactAnswer, NO_TOOLS, RenewTools, SettingsAnswer, THINKING_LEVELS, ThinkingLevel,
    words,
};

use super::completions::DEFAULT;
use super::{App, Overlay};
use crate::link::{ClientOrder, ConversationView, OfferKind, SettingChange};

impl App {
    /// The open conversation, if orders reach it. Otherwise complains about the reason.
    pub(super) fn there(&mut self) -> Option<String> {
        if self.opening.is_some() || self.is_making || self.open_id().is_empty() {
            self.complain("the conversation is not there yet");
            return None;
        }
        if self.is_down() {
            self.complain("the service is not connected");
            return None;
        }
        Some(self.open_id().to_owned())
    }

    /// Sets something, for all clients; whether that could be tried.
    pub(super) fn change(&mut self, change: SettingChange) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(ClientOrder::Change {
            conversation,
            change,
        });
        true
    }

    pub(super) fn model(&mut self, argument: &str) -> bool {
        match argument {
            "" => {
                self.open_chooser(OfferKind::Models);
                true
            }
            DEFAULT => self.change(SettingChange::Model(None)),
            name => self.change(SettingChange::Model(Some(name.to_owned()))),
        }
    }

    pub(super) fn thinking(&mut self, argument: &str) -> bool {
        let level = if argument == DEFAULT {
            None
        } else {
            let Some(level) = level(argument) else {
                self.complain(format!(
                    "say /thinking {} or {DEFAULT}",
                    THINKING_LEVELS.join(", ")
                ));
                return false;
            };
            Some(level)
        };
        self.change(SettingChange::Thinking(level))
    }

    /// Shows the tools that are offered, or offers those that there are now.
    pub(super) fn tools(&mut self, argument: &str) -> bool {
        match argument {
            "" => self.ask_for_settings(ConversationView::Tools),
            "renew" => self.give(&RenewTools::default()),
            _ => {
                self.complain("say /tools or /tools renew");
                false
            }
        }
    }

    /// Gives an order to the conversation, and returns true if it could be tried. All clients receive the change as an
    /// event.
    pub(super) fn give<O: harness_protocol::Order>(&mut self, order: &O) -> bool {
        match AnyOrder::from_order(order) {
            Ok(order) => self.change(SettingChange::Order(order)),
            Err(error) => {
                self.complain(error.to_string());
                false
            }
        }
    }

    /// Asks what is set, to show that of it; whether that could be tried.
    pub(super) fn ask_for_settings(&mut self, view: ConversationView) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(ClientOrder::Settings { conversation, view });
        true
    }

    /// The service told what is set.
    pub(super) fn settings(
        &mut self,
        conversation: &str,
        view: ConversationView,
        answer: &SettingsAnswer,
    ) {
        if conversation != self.open_id() || self.overlay.is_some() {
            return;
        }
        self.overlay = Some(Overlay::Facts(match view {
            ConversationView::Settings => {
                let mut lines = all_settings(answer);
                lines.extend(self.own_lines());
                lines
            }
            ConversationView::Tools => all_tools(answer),
        }));
    }

    /// Continues without a prompt, or asks for the last reply again; returns true if that could be tried.
    pub(super) fn go_on(&mut self, is_retry: bool) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        if self.is_busy() {
            self.complain("a run is going");
            return false;
        }
        self.order(ClientOrder::GoOn {
            conversation,
            is_retry,
        });
        true
    }

    /// Replaces the past by a summary; whether that could be tried.
    pub(super) fn compact(&mut self, argument: &str) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
        self.awaits_summary = true;
        self.say("the past is being summarized, which may take minutes");
        self.order(ClientOrder::Compact {
            conversation,
            instructions,
        });
        true
    }

    /// The past was replaced by a summary, or needed none.
    pub(super) fn compacted(&mut self, conversation: &str, answer: &CompactAnswer) {
        let CompactAnswer {
            compacted,
            tokens_before,
            tokens_after,
            ..
        } = answer;
        let of_it = if conversation == self.open_id() {
            String::new()
        } else {
            format!("{conversation}: ")
        };
        self.awaits_summary &= *compacted;
        self.say(if *compacted {
            let saved = words::saved(*tokens_before, *tokens_after);
            format!("{of_it}compacted: {saved}")
        } else {
            format!("{of_it}there is nothing to compact")
        });
    }
}

/// The settings of the next run, a line each.
fn all_settings(answer: &SettingsAnswer) -> Vec<String> {
    let own = words::settings(&answer.settings);
    let mark = |line: &String| if own.contains(line) { "*" } else { " " };
    let effective = words::settings(&answer.effective);
    let lines = effective.iter();
    let mut lines: Vec<String> = lines.map(|line| format!("{} {line}", mark(line))).collect();
    let (offered, all) = (offered(answer), answer.tools.len());
    lines.push(format!("  tools offered, of {all}: {offered}"));
    lines.push("* differs from what the service has".to_owned());
    lines
}

/// The names of the tools that the next run offers.
fn offered(answer: &SettingsAnswer) -> String {
    match answer.active_tools.join(", ") {
        names if names.is_empty() => NO_TOOLS.to_owned(),
        names => names,
    }
}

/// The tools that the next run offers, and those that it does not.
fn all_tools(answer: &SettingsAnswer) -> Vec<String> {
    let SettingsAnswer {
        tools,
        active_tools,
        ..
    } = answer;
    let others = tools.iter().filter(|tool| !active_tools.contains(tool));
    let others: Vec<&str> = others.map(String::as_str).collect();
    let mut lines = vec![format!("offered      {}", offered(answer))];
    if !others.is_empty() {
        lines.push(format!("not offered  {}", others.join(", ")));
    }
    lines.push("/tools renew offers those that there are now, for all clients".to_owned());
    lines
}

/// The level of that name.
fn level(name: &str) -> Option<ThinkingLevel> {
    serde_json::from_value(name.into()).ok()
}
