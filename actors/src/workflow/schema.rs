//! The JSON Schema of a workflow's file, from the table of its keys.

use serde_json::{Map, Value, json};

use super::file::keys::{FILE, KeyKind, KeySpec, TableSpec, Without};
use super::file::names::MAX_NAME;

/// A text with something in it.
const NOT_BLANK: &str = r"\S";
/// A name.
const NAME: &str = r"^[A-Za-z0-9._-]+$";
/// A length of time.
const TIME: &str = r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$";

/// The schema, of draft 2020-12. A file that it refuses is refused; faults that it cannot find, for example a circle,
/// are found when the file is read.
#[must_use]
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow of Harness",
    });
    if let (Some(schema), Value::Object(file)) = (schema.as_object_mut(), section(&FILE)) {
        schema.extend(file);
    }
    schema
}

fn section(section: &TableSpec) -> Value {
    let keys: Map<String, Value> = section
        .keys()
        .map(|key| (key.name.to_owned(), described(key)))
        .collect();
    let mut schema = json!({
        "description": section.about,
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
    });
    let needed: Vec<&str> = section
        .keys()
        .filter(|key| is_needed(key))
        .map(|key| key.name)
        .collect();
    if !needed.is_empty() {
        schema["required"] = json!(needed);
    }
    if !section.one_of.is_empty() {
        let way = |name: &&str| json!({"required": [name]});
        schema["oneOf"] = section.one_of.iter().map(way).collect();
    }
    schema
}

/// True if a file must have the key, or a key inside it.
fn is_needed(key: &KeySpec) -> bool {
    let inside = match &key.kind {
        KeyKind::One(section) => section.keys().any(is_needed),
        KeyKind::Text
        | KeyKind::Id
        | KeyKind::Flag
        | KeyKind::Yes
        | KeyKind::Whole { .. }
        | KeyKind::Money
        | KeyKind::Time { .. }
        | KeyKind::OneOf { .. }
        | KeyKind::Texts { .. }
        | KeyKind::TextMap
        | KeyKind::Many(_)
        | KeyKind::Refused(_) => false,
    };
    inside || matches!(key.without, Without::Needed)
}

fn described(key: &KeySpec) -> Value {
    let mut schema = kind(&key.kind);
    let Some(parts) = schema.as_object_mut() else {
        return schema; // What is refused.
    };
    parts.insert("description".to_owned(), key.about.into());
    let default = match key.without {
        Without::Needed | Without::Nothing => return schema,
        Without::Text(text) => text.into(),
        Without::Flag(flag) => flag.into(),
        Without::Whole(number) => number.into(),
        Without::Texts(texts) => json!(texts),
    };
    parts.insert("default".to_owned(), default);
    schema
}

fn kind(kind: &KeyKind) -> Value {
    match kind {
        KeyKind::Text => text(),
        KeyKind::Id => json!({"type": "string", "pattern": NAME, "maxLength": MAX_NAME}),
        KeyKind::Flag => json!({"type": "boolean"}),
        KeyKind::Yes => json!({"const": true}),
        KeyKind::Whole { min, max, or } => {
            let number = json!({"type": "integer", "minimum": min, "maximum": max});
            with_word(number, *or)
        }
        KeyKind::Money => json!({"type": "number", "exclusiveMinimum": 0}),
        KeyKind::Time { max: _, or } => {
            let time = json!({"type": "string", "pattern": TIME, "minLength": 2});
            with_word(time, *or)
        }
        KeyKind::OneOf { words, hint: _ } => json!({"enum": words}),
        // After the program itself an argument may be empty.
        KeyKind::Texts { min: 0 } => json!({"type": "array", "items": text()}),
        KeyKind::Texts { min } => json!({
            "type": "array",
            "minItems": min,
            "prefixItems": [text()],
            "items": {"type": "string"},
        }),
        KeyKind::TextMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        KeyKind::One(one) => section(one),
        KeyKind::Many(each) => json!({"type": "array", "items": section(each)}),
        KeyKind::Refused(_) => Value::Bool(false),
    }
}

fn text() -> Value {
    json!({"type": "string", "pattern": NOT_BLANK})
}

fn with_word(schema: Value, word: Option<&str>) -> Value {
    match word {
        Some(word) => json!({"anyOf": [schema, {"const": word}]}),
        None => schema,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
pub(super) mod tests;
