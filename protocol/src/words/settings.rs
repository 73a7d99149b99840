//! Settings in words.

use serde_json::Value;

use crate::Settings;

/// Maximum number of characters of a setting's text that are shown.
const MAX_VALUE: usize = 60;

/// The settings that are set, in full: the name of each on the wire, and its value.
#[must_use]
pub fn named_settings(settings: &Settings) -> Vec<(String, String)> {
    // Settings are an object.
    let Ok(Value::Object(fields)) = serde_json::to_value(settings) else {
        return Vec::new();
    };
    let named = fields.into_iter().map(|(name, value)| (name, text(value)));
    named.collect()
}

/// The settings that are set, one each, with the beginning of a long value.
#[must_use]
pub fn settings(settings: &Settings) -> Vec<String> {
    let named = named_settings(settings).into_iter();
    named
        .map(|(name, value)| format!("{}: {}", name.replace('_', " "), short(&value)))
        .collect()
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(items) => {
            let items: Vec<String> = items.into_iter().map(text).collect();
            items.join(", ")
        }
        other => other.to_string(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
