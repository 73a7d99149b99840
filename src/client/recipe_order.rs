//! The order to make a prompt of a skill or a template.

use harness_protocol::PromptAnswer;
pub(super) use harness_tui::Recipe;
use serde::Serialize;

use crate::client::api::route::Route;
use crate::client::api::routes;

/// The body of `POST …/skill` and `POST …/template`, and which of them it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RecipeOrder {
    #[serde(skip)]
    recipe: Recipe,
    name: String,
    /// The further instructions of a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<[String; 1]>,
    /// The arguments of a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    key: String,
    by: String,
}

impl RecipeOrder {
    /// The order to send a skill or a template with a text, which may be empty.
    pub(super) fn new(recipe: Recipe, name: String, text: String, (key, by): (&str, &str)) -> Self {
        let text = Some(text).filter(|text| !text.is_empty());
        let (instructions, line) = match recipe {
            Recipe::Skill => (text.map(|text| [text]), None),
            Recipe::Template => (None, text),
        };
        Self {
            recipe,
            name,
            instructions,
            line,
            key: key.to_owned(),
            by: by.to_owned(),
        }
    }

    /// The request.
    pub(super) fn route(&self, conversation: &str) -> Route<PromptAnswer> {
        match self.recipe {
            Recipe::Skill => routes::skill(conversation, self),
            Recipe::Template => routes::template(conversation, self),
        }
    }
}
