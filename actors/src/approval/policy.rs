//! The decision about one change.

use harness_protocol::{ApprovalMode, FileChange, Place};

use super::Rule;

/// What is known when a tool is about to change something.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// How much the conversation is trusted.
    pub mode: ApprovalMode,
    /// The rules that allow.
    pub rules: &'a [Rule],
}

/// What is decided.
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

impl Policy<'_> {
    /// Decides about a change by a tool. `path` is where the file is below the folder of the
    /// conversation, if it is there.
    #[must_use]
    pub fn decide(&self, tool: &str, path: Option<&str>, change: &FileChange) -> Decision {
        let refuse = |reason: &str| Decision::Refuse(format!("not done: {reason}"));
        let ask = |because: &str, rule| Decision::Ask {
            because: because.to_owned(),
            rule,
        };
        if self.mode == ApprovalMode::Plan {
            return refuse(
                "the mode is plan, in which nothing is changed; say what you would change",
            );
        }
        let is_locked = self.mode == ApprovalMode::Locked;
        match (change.place, path) {
            (Place::Workspace, Some(path)) => {
                if self.rules.iter().any(|rule| rule.covers(tool, path)) {
                    return Decision::Allow;
                }
                match self.mode {
                    ApprovalMode::Edits | ApprovalMode::Sandbox => Decision::Allow,
                    ApprovalMode::Plan | ApprovalMode::Locked => {
                        refuse("the mode is locked, and no rule allows it")
                    }
                    ApprovalMode::Ask => {
                        let rule = Rule::of_path(tool, path);
                        ask("the mode asks before every change", Some(rule))
                    }
                }
            }
            (Place::Protected, _) if is_locked => {
                refuse("the mode is locked, and the file tells other programs what to do")
            }
            (Place::Protected, _) => ask("the file tells other programs what to do", None),
            (Place::Workspace | Place::Outside | Place::Unknown, _) if is_locked => {
                refuse("the mode is locked, and the file is outside the conversation's folder")
            }
            (Place::Workspace | Place::Outside | Place::Unknown, _) => {
                ask("the file is outside the conversation's folder", None)
            }
        }
    }
}
