//! A schema, from its text to the check of a reply.

use std::collections::BTreeMap;

use serde_json::Value;

use super::part::{MAX_DEPTH, SchemaError, SchemaPart, TOO_DEEP, error};
use super::reader::SchemaReader;

/// A schema that the API takes.
#[derive(Debug, Clone)]
pub struct ReplySchema {
    json: Value,
    pub(super) root: SchemaPart,
    /// The definitions, by the references to them.
    pub(super) definitions: BTreeMap<String, SchemaPart>,
}

impl ReplySchema {
    /// The schema, if the API takes it.
    ///
    /// # Errors
    /// The first part that the API does not take, and its place.
    pub fn new(json: Value) -> Result<Self, SchemaError> {
        let mut reader = SchemaReader::default();
        let root = reader.root(&json)?;
        let schema = Self {
            json,
            root,
            definitions: reader.definitions,
        };
        for (path, reference) in &reader.references {
            if !schema.definitions.contains_key(reference) {
                return Err(SchemaError {
                    path: path.clone(),
                    reason: format!(
                        "{reference:?} is no definition of this schema; refer to \"#/$defs/NAME\""
                    ),
                });
            }
        }
        schema.check_depth()?;
        Ok(schema)
    }

    /// The JSON of the schema, which is sent.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The JSON document of a reply that fits the schema. A fence of Markdown around it is no part of it.
    ///
    /// # Errors
    /// The first place that does not fit, and why.
    pub fn read<'r>(&self, reply: &'r str) -> Result<&'r str, String> {
        let document = without_fence(reply).trim();
        let value: Value = serde_json::from_str(document)
            .map_err(|error| format!("the reply is no JSON document: {error}"))?;
        self.check_document(&value)?;
        Ok(document)
    }

    /// Refuses definitions that refer to themselves, also by others, and those that nest too deep.
    fn check_depth(&self) -> Result<(), SchemaError> {
        let mut heights = BTreeMap::new();
        // In each round those get a height whose references have one.
        loop {
            let before = heights.len();
            for (name, part) in &self.definitions {
                if !heights.contains_key(name.as_str())
                    && let Some(height) = part.height(&heights)
                {
                    heights.insert(name.as_str(), height);
                }
            }
            if heights.len() == before {
                break;
            }
        }
        let recursive = self.definitions.keys();
        if let Some(name) = recursive
            .into_iter()
            .find(|name| !heights.contains_key(name.as_str()))
        {
            return Err(SchemaError {
                path: name.trim_start_matches("#/").replace('/', "."),
                reason: "it refers to itself, which the API does not take".to_owned(),
            });
        }
        match self.root.height(&heights) {
            Some(height) if height <= MAX_DEPTH => Ok(()),
            Some(_) | None => Err(error(&[], TOO_DEEP)),
        }
    }
}

/// A text without the fence of Markdown around all of it.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    match inner {
        Some((language, inner)) if language.trim().chars().all(char::is_alphanumeric) => inner,
        Some(_) | None => text,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
