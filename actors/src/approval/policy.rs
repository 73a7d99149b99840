//! The decision about one thing that a tool is about to do.

use std::path::Path;

use harness_protocol::{
    ApprovalMode, ChangeAction, FileChange, FilePlace, HeldRule, RuleAction, Subject,
};

use super::Rule;

/// The reason of an approval of a command or a call of an MCP server that the containment does not hold.
pub(super) const NOT_HELD: &str = "nothing holds it to what it may reach";

/// The facts about a planned action of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalPolicy<'a> {
    /// How much the conversation is trusted.
    pub mode: ApprovalMode,
    /// The rules that hold, in any order.
    pub rules: &'a [HeldRule],
    /// The folder of the conversation; the rules' paths are below it.
    pub folder: &'a Path,
    /// The home folder of the service's user, if it is known: no command removes it unasked.
    pub home: Option<&'a Path>,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The tool may.
    Allow,
    /// It may not; the text is for the model.
    Refuse(String),
    /// An operator decides.
    Ask {
        /// Why.
        because: String,
        /// The rule that an answer may make that reaches further than once.
        rule: Option<Rule>,
    },
}

impl ApprovalPolicy<'_> {
    /// Decides about what a tool is about to do.
    #[must_use]
    pub fn decide(&self, tool: &str, subject: &Subject) -> Decision {
        match subject {
            Subject::Change(change) => self.decide_change(tool, change),
            Subject::Command(plan) => self.decide_command(tool, plan),
            Subject::McpCall(call) => self.decide_mcp_call(call),
        }
    }

    /// Decides about a change by a tool: rules that deny come first, then those that ask, then those
    /// that allow, then the mode.
    ///
    /// A change at a path that is a link has two names. A rule that denies or asks needs to cover one of
    /// them, rules that allow both. No rule allows a change outside of the folder or at a protected place.
    fn decide_change(&self, tool: &str, change: &FileChange) -> Decision {
        if self.mode == ApprovalMode::Plan {
            return refuse(
                "the mode is plan, in which nothing is changed; say what you would change",
            );
        }
        if let Some(rule) = self.covering(RuleAction::Deny, tool, change) {
            return refuse(&format!("the rule {rule} denies it"));
        }
        let is_locked = self.mode == ApprovalMode::Locked;
        let is_removed = change.action == ChangeAction::Removed;
        let because = match change.place {
            FilePlace::Workspace => None,
            FilePlace::Protected if change.by_command => {
                let did = match is_removed {
                    true => "removed",
                    false => "changed",
                };
                Some(format!(
                    "the command {did} a file that tells other programs what to do"
                ))
            }
            FilePlace::Protected => Some("the file tells other programs what to do".to_owned()),
            FilePlace::Outside | FilePlace::Unknown => {
                Some("the file is outside the conversation's folder".to_owned())
            }
        };
        let because = because.or_else(|| {
            let rule = self.covering(RuleAction::Ask, tool, change)?;
            Some(format!("the rule {rule} asks about it"))
        });
        if let Some(because) = because {
            if is_locked {
                return refuse(&format!("the mode is locked, and {because}"));
            }
            let because = match (change.by_command, is_removed) {
                (true, true) => format!("{because}; it is there again, and to allow removes it"),
                (true, false) => {
                    format!("{because}; it was taken back, and to allow keeps its version")
                }
                (false, _) => because,
            };
            return Decision::Ask {
                because,
                rule: None,
            };
        }
        if self.is_allowed(tool, change) {
            return Decision::Allow;
        }
        match self.mode {
            ApprovalMode::Edits | ApprovalMode::Sandbox => Decision::Allow,
            ApprovalMode::Plan | ApprovalMode::Locked => {
                refuse("the mode is locked, and no rule allows it")
            }
            ApprovalMode::Ask => Decision::Ask {
                because: "the mode asks before every change".to_owned(),
                rule: self
                    .below(&change.path)
                    .map(|path| Rule::of_path(tool, path)),
            },
        }
    }

    /// A path below the folder.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        Path::new(path).strip_prefix(self.folder).ok()?.to_str()
    }

    /// The first rule of an action that covers a name of the file.
    fn covering(&self, action: RuleAction, tool: &str, change: &FileChange) -> Option<Rule> {
        let names = [Some(&change.path), change.asked.as_ref()];
        let names = names.into_iter().flatten();
        let names: Vec<&str> = names.filter_map(|name| self.below(name)).collect();
        // What a command did is a change by no tool that rules about files name.
        let tools = if change.by_command {
            &["edit", "write"][..]
        } else {
            &[tool]
        };
        let covers = |rule: &Rule| {
            let covers = |name| tools.iter().any(|tool| rule.covers(tool, name));
            names.iter().copied().any(covers)
        };
        self.parsed(action).find(covers)
    }

    /// Whether rules that allow cover all names of the file.
    fn is_allowed(&self, tool: &str, change: &FileChange) -> bool {
        let is_covered = |name: &str| {
            let below = self.below(name);
            below.is_some_and(|name| {
                self.parsed(RuleAction::Allow)
                    .any(|rule| rule.covers(tool, name))
            })
        };
        is_covered(&change.path) && change.asked.as_deref().is_none_or(is_covered)
    }

    /// The rules of an action; their texts were looked at when they were made.
    pub(super) fn parsed(&self, action: RuleAction) -> impl Iterator<Item = Rule> {
        let held = self.rules.iter().filter(move |held| held.action == action);
        held.filter_map(|held| held.rule.parse().ok())
    }
}

/// A refusal, in the words for the model.
pub(super) fn refuse(reason: &str) -> Decision {
    Decision::Refuse(format!("not done: {reason}"))
}

#[cfg(test)]
mod tests {
    use harness_protocol::{ChangeAction, PathKind, Scope};

    use super::*;

    fn change(path: &str, asked: Option<&str>, place: FilePlace) -> FileChange {
        FileChange {
            path: path.to_owned(),
            asked: asked.map(str::to_owned),
            action: ChangeAction::Changed,
            before: None,
            after: Some(String::new()),
            by_command: false,
            mode: None,
            mode_after: None,
            kind: PathKind::Regular,
            kind_before: None,
            added: 0,
            removed: 0,
            diff: String::new(),
            diff_cut: false,
            place,
            folders: vec![],
            notes: vec![],
        }
    }

    fn decide(
        mode: ApprovalMode,
        rules: &[(RuleAction, &str)],
        tool: &str,
        change: &FileChange,
    ) -> &'static str {
        let rules: Vec<HeldRule> = rules
            .iter()
            .map(|(action, rule)| HeldRule {
                action: *action,
                rule: (*rule).to_owned(),
                scope: Scope::Conversation,
                workspace: None,
                by: None,
            })
            .collect();
        let policy = ApprovalPolicy {
            mode,
            rules: &rules,
            folder: Path::new("/w"),
            home: None,
        };
        match policy.decide_change(tool, change) {
            Decision::Allow => "allow",
            Decision::Refuse(_) => "refuse",
            Decision::Ask { rule: Some(_), .. } => "ask",
            Decision::Ask { rule: None, .. } => "ask once",
        }
    }

    /// Spec: [APPR-07]
    #[test]
    fn a09_the_mode_decides_where_no_rule_does() {
        use ApprovalMode::{Ask, Edits, Locked, Plan, Sandbox};
        for (place, decided) in [
            (
                FilePlace::Workspace,
                ["refuse", "ask", "allow", "allow", "refuse"],
            ),
            (
                FilePlace::Protected,
                ["refuse", "ask once", "ask once", "ask once", "refuse"],
            ),
            (
                FilePlace::Outside,
                ["refuse", "ask once", "ask once", "ask once", "refuse"],
            ),
        ] {
            for (mode, decided) in [Plan, Ask, Edits, Sandbox, Locked].into_iter().zip(decided) {
                let change = change("/w/a", None, place);
                assert_eq!(
                    decide(mode, &[], "edit", &change),
                    decided,
                    "{mode:?} {place:?}"
                );
            }
        }
    }

    /// Spec: [APPR-10]
    #[test]
    fn a09_deny_comes_before_ask_and_ask_before_allow_in_any_order() {
        use ApprovalMode::{Ask, Edits, Locked, Plan};
        use RuleAction::{Allow as Yes, Ask as Maybe, Deny as No};
        let inside = change("/w/src/a", None, FilePlace::Workspace);
        let all = [
            (Yes, "edit(**)"),
            (Maybe, "edit(src/**)"),
            (No, "edit(src/a)"),
        ];
        for turn in 0..all.len() {
            let mut rules = all;
            rules.rotate_left(turn);
            assert_eq!(decide(Edits, &rules, "edit", &inside), "refuse");
        }
        for rules in [[all[0], all[1]], [all[1], all[0]]] {
            assert_eq!(decide(Edits, &rules, "edit", &inside), "ask once");
            assert_eq!(decide(Locked, &rules, "edit", &inside), "refuse");
        }
        for (mode, decided) in [(Ask, "allow"), (Locked, "allow"), (Plan, "refuse")] {
            assert_eq!(decide(mode, &all[..1], "edit", &inside), decided);
            // A rule is about its tool.
            assert_ne!(decide(Ask, &all[..1], "write", &inside), "allow");
        }
        for place in [FilePlace::Protected, FilePlace::Outside] {
            let change = change("/w/x", None, place);
            assert_eq!(decide(Edits, &all[..1], "edit", &change), "ask once");
            assert_eq!(decide(Edits, &[(No, "edit(x)")], "edit", &change), "refuse");
        }
    }

    /// Spec: [APPR-10]
    #[test]
    fn a09_a_link_is_allowed_by_both_names_and_denied_by_either() {
        use ApprovalMode::{Ask, Edits};
        use RuleAction::{Allow as Yes, Deny as No};
        let linked = change("/w/real/a", Some("/w/alias/a"), FilePlace::Workspace);
        let (by_name, by_target) = ((Yes, "edit(alias/**)"), (Yes, "edit(real/a)"));
        assert_eq!(decide(Ask, &[by_name], "edit", &linked), "ask");
        assert_eq!(decide(Ask, &[by_target], "edit", &linked), "ask");
        assert_eq!(decide(Ask, &[by_name, by_target], "edit", &linked), "allow");
        for denied in ["edit(alias/a)", "edit(real/*)"] {
            assert_eq!(decide(Edits, &[(No, denied)], "edit", &linked), "refuse");
        }
        let from_outside = change("/w/a", Some("/tmp/a"), FilePlace::Workspace);
        assert_eq!(
            decide(Ask, &[(Yes, "edit(**)")], "edit", &from_outside),
            "ask"
        );
        // A folder whose name only begins alike is another one.
        let sibling = change("/work/a", None, FilePlace::Workspace);
        assert_eq!(
            decide(Ask, &[(Yes, "edit(**)")], "edit", &sibling),
            "ask once"
        );
    }
}
