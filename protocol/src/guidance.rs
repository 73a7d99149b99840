//! The bodies of the routes for skills and prompt templates.

use serde::{Deserialize, Serialize};

use crate::Queue;

/// The answer to `GET /v1/skills`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SkillList {
    /// By name.
    pub skills: Vec<SkillSummary>,
    /// The files that could not be loaded, one line each with its name and the reason.
    pub problems: Vec<String>,
}

/// One skill in a list; the answer to `GET /v1/skills/{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SkillSummary {
    /// Names it.
    pub name: String,
    /// The situations in which the skill should be used.
    pub description: String,
    /// True if the skill is hidden from the model.
    pub hidden: bool,
    /// The file that it was loaded from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The instructions; only where one skill was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The answer to `GET /v1/templates`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateList {
    /// By name.
    pub templates: Vec<TemplateSummary>,
    /// The files that could not be loaded, one line each with its name and the reason.
    pub problems: Vec<String>,
}

/// One template in a list; the answer to `GET /v1/templates/{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateSummary {
    /// Names it.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The file that it was loaded from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The text with its places; only where one template was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The body of `POST /v1/conversations/{id}/skill`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillOrder {
    /// The skill.
    pub name: String,
    /// Further instructions.
    #[serde(default, skip_serializing_if = "Instructions::is_empty")]
    pub instructions: Instructions,
    /// The queue that it waits in; it is sent at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// As for a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of the client that sends it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Extra instructions: one text or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "instructions are a text or a list of texts")]
pub enum Instructions {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Instructions {
    /// True if there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Several(texts) if texts.is_empty())
    }

    /// The texts.
    #[must_use]
    pub fn texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
        }
    }
}

impl Default for Instructions {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

/// The body of `POST /v1/conversations/{id}/template`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateOrder {
    /// The template.
    pub name: String,
    /// The arguments for its places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// The same as one line, which is taken apart at white space outside of quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The queue that it waits in; it is sent at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// As for a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of the client that sends it, for the other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
