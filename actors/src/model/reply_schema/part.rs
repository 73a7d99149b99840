//! The values that fit a schema.

use std::collections::BTreeMap;

use derive_more::{Display, Error};
use regex::Regex;
use serde_json::Value;

/// Maximum depth of a schema, with the definitions that it refers to.
pub(super) const MAX_DEPTH: usize = 64;
/// Maximum length of a value in an error, in characters.
pub(super) const MAX_SHOWN: usize = 60;

/// The reason why a schema cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{}{reason}", place(path))]
pub struct SchemaError {
    /// The way to the keyword, with dots between the steps; empty for the whole schema.
    pub path: String,
    /// The fault and the way out.
    #[error(not(source))]
    pub reason: String,
}

pub(super) fn place(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

/// The values that fit a schema: those that fit each of these parts.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaPart {
    /// Any of these types; empty for all.
    pub(super) types: Vec<JsonType>,
    /// Any of the values of each list.
    pub(super) values: Vec<Vec<Value>>,
    pub(super) any_of: Vec<Self>,
    pub(super) all_of: Vec<Self>,
    /// The reference to a definition.
    pub(super) reference: Option<String>,
    /// The members of an object, if it has no others.
    pub(super) members: Option<ObjectMembers>,
    pub(super) items: Option<Box<Self>>,
    pub(super) needs_item: bool,
    pub(super) pattern: Option<Regex>,
}

/// The members that an object may have.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectMembers {
    pub(super) parts: BTreeMap<String, SchemaPart>,
    pub(super) required: Vec<String>,
}

/// A type of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
#[display(rename_all = "lowercase")]
pub(super) enum JsonType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
}

impl JsonType {
    pub(super) const ALL: [Self; 7] = [
        Self::Object,
        Self::Array,
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Null,
    ];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.to_string() == name)
    }
}

pub(super) const TOO_DEEP: &str = "it is deeper than 64 levels";

impl SchemaPart {
    /// Number of levels, with those of definitions, whose heights are given. `None` if one of them has none.
    pub(super) fn height(&self, heights: &BTreeMap<&str, usize>) -> Option<usize> {
        let members = self
            .members
            .iter()
            .flat_map(|members| members.parts.values());
        let parts = self
            .any_of
            .iter()
            .chain(&self.all_of)
            .chain(self.items.as_deref())
            .chain(members);
        let mut height = match &self.reference {
            Some(reference) => *heights.get(reference.as_str())?,
            None => 0,
        };
        for part in parts {
            height = height.max(part.height(heights)?);
        }
        Some(height + 1)
    }
}

pub(super) fn error(path: &[&str], reason: impl Into<String>) -> SchemaError {
    SchemaError {
        path: path.join("."),
        reason: reason.into(),
    }
}

/// The beginning of a value, in JSON.
pub(super) fn preview(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
