//! The settings that an editor can choose: mode, model and thinking.

use harness_protocol::{ApprovalMode, ChangeSettings, ModelEntry, Settings, THINKING_LEVELS};
use serde_json::{Map, Value, json};

use crate::client::acp::message::RpcError;

/// The value by which a setting is as the model has it.
const BY_ITSELF: &str = "default";

/// The modes: the value, the name, and what tools may change in it.
const MODES: [(ApprovalMode, &str, &str, &str); 5] = [
    (ApprovalMode::Plan, "plan", "Plan", "Tools change nothing"),
    (
        ApprovalMode::Ask,
        "ask",
        "Ask",
        "Each change is asked about",
    ),
    (
        ApprovalMode::Edits,
        "edits",
        "Edits",
        "Files in the folder change unasked; commands are asked about",
    ),
    (
        ApprovalMode::Sandbox,
        "sandbox",
        "Sandbox",
        "As Edits, and contained commands run unasked",
    ),
    (
        ApprovalMode::Locked,
        "locked",
        "Locked",
        "Only what rules allow, and no questions",
    ),
];

/// The values that hold now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionOptions {
    mode: ApprovalMode,
    model: String,
    thinking: String,
    models: Vec<(String, String)>,
}

impl SessionOptions {
    /// The options of a conversation with these effective settings.
    pub(super) fn new(settings: &Settings, models: &[ModelEntry]) -> Self {
        let thinking = settings
            .thinking
            .and_then(|level| serde_json::to_value(level).ok());
        let thinking = thinking.and_then(|level| level.as_str().map(str::to_owned));
        let served = models
            .iter()
            .filter(|model| model.lifecycle.as_deref() != Some("retired"));
        let mut models: Vec<(String, String)> = served
            .map(|model| {
                let name = Some(&model.display_name).filter(|name| !name.is_empty());
                (model.id.clone(), name.unwrap_or(&model.id).clone())
            })
            .collect();
        let model = settings
            .model
            .clone()
            .unwrap_or_else(|| BY_ITSELF.to_owned());
        if models.iter().all(|(id, _)| *id != model) {
            models.insert(0, (model.clone(), model.clone()));
        }
        Self {
            mode: settings.mode.unwrap_or_default(),
            model,
            thinking: thinking.unwrap_or_else(|| BY_ITSELF.to_owned()),
            models,
        }
    }

    /// The name of the mode.
    pub(super) fn mode(&self) -> &'static str {
        let mut modes = MODES.iter();
        let mode = modes.find(|(mode, ..)| *mode == self.mode);
        mode.map_or("ask", |(_, id, ..)| id)
    }

    /// The modes in the older form of the protocol.
    pub(super) fn modes(&self) -> Value {
        let modes =
            MODES.map(|(_, id, name, help)| json!({"id": id, "name": name, "description": help}));
        json!({"currentModeId": self.mode(), "availableModes": modes})
    }

    /// All options.
    pub(super) fn config_options(&self) -> Value {
        let modes = MODES
            .map(|(_, id, name, help)| json!({"value": id, "name": name, "description": help}));
        let models = self
            .models
            .iter()
            .map(|(id, name)| json!({"value": id, "name": name}));
        let thinking = [BY_ITSELF].iter().chain(THINKING_LEVELS);
        let thinking = thinking.map(|level| json!({"value": level, "name": level}));
        json!([
            select(("mode", "Mode", "mode"), self.mode(), &modes),
            select(
                ("model", "Model", "model"),
                &self.model,
                &models.collect::<Vec<_>>()
            ),
            select(
                ("thinking", "Thinking", "thought_level"),
                &self.thinking,
                &thinking.collect::<Vec<_>>()
            ),
        ])
    }
}

/// The change that makes an option have a value.
///
/// # Errors
/// If there is no such option, or it takes no such value.
pub(super) fn option_change(
    option: &str,
    value: &Value,
    by: Option<String>,
) -> Result<ChangeSettings, RpcError> {
    let Some(value) = value.as_str() else {
        return Err(RpcError::invalid_params(format!(
            "{option}: {value} is not a text"
        )));
    };
    if !["mode", "model", "thinking"].contains(&option) {
        let reason = format!("there is no option {option}: mode, model and thinking can be set");
        return Err(RpcError::invalid_params(reason));
    }
    let new = if value == BY_ITSELF {
        Value::Null
    } else {
        value.into()
    };
    let settings = Map::from_iter([(option.to_owned(), new)]);
    Ok(ChangeSettings { settings, by })
}

fn select((id, name, category): (&str, &str, &str), value: &str, options: &[Value]) -> Value {
    json!({
        "id": id, "name": name, "category": category, "type": "select",
        "currentValue": value, "options": options,
    })
}
