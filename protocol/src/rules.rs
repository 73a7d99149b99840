//! Rules: what tools may change without asking, what they are asked about, and what they may not.

use serde::{Deserialize, Serialize};

use crate::{ApprovalMode, Scope};

/// The answer of a rule to the changes that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// They are made without asking.
    #[default]
    Allow,
    /// An operator is asked, whatever other rules allow.
    Ask,
    /// They are refused, whatever other rules say.
    Deny,
    /// An action that this version does not know, in an answer of a newer service. Never sent or kept.
    #[serde(other)]
    Unknown,
}

/// A rule that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRule {
    /// Its answer.
    pub action: RuleAction,
    /// The tool and the pattern that it covers, like `edit(src/**)`.
    pub rule: String,
    /// The scope of the rule.
    pub scope: Scope,
    /// The folder that it holds in, if it holds in all conversations there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The name of the client that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl HeldRule {
    /// True if both rules give the same answer to the same changes, regardless of the client that made them.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let told = |held: &Self| (held.action, held.scope, held.workspace.clone());
        self.rule == other.rule && told(self) == told(other)
    }
}

/// A rule to add or to take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRule {
    /// Its answer.
    #[serde(default)]
    pub action: RuleAction,
    /// The tool and the pattern that it covers, like `edit(src/**)`.
    pub rule: String,
    /// The absolute path of the folder that it is about; the service's if left out. For
    /// `PATCH /v1/rules` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The body of `PATCH /v1/rules` and of `PATCH /v1/conversations/{id}/rules`: rules of a folder, or of a
/// conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRules {
    /// Rules to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<NewRule>,
    /// Rules to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<NewRule>,
    /// The name of the client that changes them, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `GET` and `PATCH /v1/rules` and `/v1/conversations/{id}/rules`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules that hold.
    pub rules: Vec<HeldRule>,
}

/// The mode and rules that a prompt gives its run, before the conversation's mode and beside its
/// rules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunRules {
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Rules that allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that refuse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl RunRules {
    /// True if there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
