//! Input schemas of servers in the form that the Messages API takes.
//!
//! The API refuses a request if one schema in it is not of the type `object`, has `allOf`, `anyOf` or `oneOf` at its
//! root, has a property whose name is longer than 64 bytes or has other characters than letters, digits, `_`, `.` and
//! `-`, or refers to a place that it does not have. Servers check the input of a call themselves, so a repaired schema
//! may allow more than theirs.

use serde_json::{Map, Value, json};

/// Maximum length of a schema as JSON, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum number of levels of objects and lists in a schema.
const MAX_LEVELS: usize = 64;
/// Maximum number of levels of groups and references that are merged into the root.
const MAX_NESTING: usize = 32;
/// Maximum number of subschemas that are merged into the root. References can name one many times.
const MAX_PARTS: usize = 256;
/// Maximum length of the description of alternatives, in bytes.
const MAX_NOTE: usize = 1024;
/// Maximum length of the name of a property in the API, in bytes.
const MAX_PROPERTY_NAME: usize = 64;
/// Maximum length of a value in an error, in characters.
const MAX_PREVIEW: usize = 60;
/// Maximum length of the description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 2048;
/// The end of a description that was cut.
const CUT: &str = " … [cut]";

/// The subject of an error about the whole schema.
const ROOT: &str = "the input schema";
/// The subject of an error about a subschema that is merged into the root.
const PART: &str = "a part of the input schema";

/// The keywords that are merged into the root.
const MERGED: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];
/// The keywords whose text is a reference.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The keywords that only objects have a use for.
const FOR_OBJECTS: [&str; 10] = [
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
];
/// The keywords that objects have no use for.
const FOR_OTHERS: [&str; 17] = [
    "items",
    "prefixItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "enum",
    "const",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
/// The keywords of a subschema that have no place in the root: those that are merged, and those that name a place.
const NOT_CARRIED: [&str; 15] = [
    "type",
    "properties",
    "required",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$defs",
    "definitions",
    "$comment",
];

/// The schema with what the API needs: the type `object`, properties, and no groups or reference at the root. A schema
/// that has all that is returned unchanged.
///
/// # Errors
/// The reason why it cannot be brought into that form.
pub(super) fn repaired(schema: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let objects = objects_within(schema)?;
    // It is copied and written only now that its depth is known to be bounded.
    let root = Value::Object(schema.clone());
    check_size(&root)?;
    check_references(&objects, &root)?;
    let mut merger = SchemaMerger {
        root: &root,
        parts_left: MAX_PARTS,
    };
    let parts = match merger.parts(&root, 0) {
        Ok(parts) => parts,
        Err(SchemaFault::NotObject(reason) | SchemaFault::Unusable(reason)) => return Err(reason),
    };
    if is_valid(schema, &parts) {
        return Ok(schema.clone());
    }
    let repaired = with_parts(schema, parts);
    // Merging can remove the place of a reference, and make the schema longer and deeper.
    let objects = objects_within(&repaired)?;
    let root = Value::Object(repaired.clone());
    check_size(&root)?;
    check_references(&objects, &root)?;
    Ok(repaired)
}

/// The description of a tool, cut at its maximum length.
#[must_use]
pub(super) fn cut_description(text: &str) -> String {
    cut_text(text, MAX_DESCRIPTION, CUT)
}

fn cut_text(text: &str, max: usize, end: &str) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let start = &text[..text.floor_char_boundary(max - end.len())];
    format!("{start}{end}")
}

/// The objects in a schema, itself included. Fails if it has too many levels, and is not recursive for that reason.
fn objects_within(schema: &Map<String, Value>) -> Result<Vec<&Map<String, Value>>, String> {
    let mut found = vec![schema];
    let mut open: Vec<(&Value, usize)> = schema.values().map(|value| (value, 2)).collect();
    while let Some((value, level)) = open.pop() {
        let is_list_or_object = value.is_object() || value.is_array();
        if is_list_or_object && level > MAX_LEVELS {
            return Err(format!("{ROOT} is deeper than {MAX_LEVELS} levels"));
        }
        match value {
            Value::Object(members) => {
                found.push(members);
                open.extend(members.values().map(|value| (value, level + 1)));
            }
            Value::Array(items) => open.extend(items.iter().map(|value| (value, level + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(found)
}

fn check_size(schema: &Value) -> Result<(), String> {
    let bytes = schema.to_string().len();
    if bytes > MAX_BYTES {
        return Err(format!(
            "{ROOT} has {bytes} bytes; more than {MAX_BYTES} are not sent"
        ));
    }
    Ok(())
}

/// Checks that every reference leads to a place in the schema itself.
fn check_references(objects: &[&Map<String, Value>], root: &Value) -> Result<(), String> {
    for members in objects {
        for key in REFERENCES {
            let Some(reference) = members.get(key).and_then(Value::as_str) else {
                continue;
            };
            // A name after the sign is that of an anchor.
            let is_anchor = reference.len() > 1 && !reference.starts_with("#/");
            if !reference.starts_with('#') || !(is_anchor || target(root, reference).is_some()) {
                return Err(lost_reference(reference));
            }
        }
    }
    Ok(())
}

fn lost_reference(reference: &str) -> String {
    format!(
        "{ROOT} refers to {}, which is not in it",
        preview(&Value::from(reference))
    )
}

/// The place in a schema that a reference such as `#/$defs/NAME` leads to.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
        .or_else(|| root.pointer(&percent_decoded(pointer)))
}

/// A text without percent-encoding. Bytes that are not UTF-8 are replaced.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = match (first, after) {
            (b'%', [high, low, ..]) => [high, low].map(|digit| char::from(*digit).to_digit(16)),
            _ => [None, None],
        };
        let byte = match digits {
            [Some(high), Some(low)] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The reason why a subschema cannot be merged.
#[derive(Debug)]
enum SchemaFault {
    /// No object fits it. As one of several alternatives it is left out.
    NotObject(String),
    /// It cannot be read.
    Unusable(String),
}

/// The parts of the root that subschemas add to.
#[derive(Debug, Default)]
struct SchemaParts {
    /// A list for each property: its schemas, which differ.
    properties: Map<String, Value>,
    /// The names of properties that are needed, as keys.
    required: Map<String, Value>,
    /// Other keywords.
    others: Map<String, Value>,
    /// The alternatives of each group, in words.
    notes: Vec<String>,
}

impl SchemaParts {
    /// Adds a subschema that an input has to fit, too.
    fn merge(&mut self, other: Self) {
        self.add_properties(other.properties);
        self.required.extend(other.required);
        for (key, value) in other.others {
            self.others.entry(key).or_insert(value);
        }
        self.notes.extend(other.notes);
    }

    fn add_properties(&mut self, properties: Map<String, Value>) {
        for (name, schemas) in properties {
            if let Value::Array(schemas) = schemas {
                for schema in schemas {
                    self.add_property(&name, schema);
                }
            }
        }
    }

    fn add_property(&mut self, name: &str, schema: Value) {
        let schemas = self.properties.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(schemas) = schemas
            && !schemas.contains(&schema)
        {
            schemas.push(schema);
        }
    }

    /// The properties of one of several alternatives, in words.
    fn summary(&self) -> String {
        let is_needed = |name: &&String| self.required.contains_key(*name);
        let needed: Vec<&str> = self.required.keys().map(String::as_str).collect();
        let optional = self.properties.keys().filter(|name| !is_needed(name));
        let optional: Vec<&str> = optional.map(String::as_str).collect();
        match (needed.is_empty(), optional.is_empty()) {
            (true, true) => "none".to_owned(),
            (true, false) => optional.join(", "),
            (false, true) => needed.join(", "),
            (false, false) => format!("{} (optional: {})", needed.join(", "), optional.join(", ")),
        }
    }
}

/// Merges a schema into parts.
#[derive(Debug)]
struct SchemaMerger<'a> {
    /// The schema that references are within.
    root: &'a Value,
    /// Number of subschemas that can be read yet.
    parts_left: usize,
}

impl<'a> SchemaMerger<'a> {
    /// The parts of a schema, with those that it refers to and those of its groups. The level bounds the recursion.
    fn parts(&mut self, schema: &'a Value, level: usize) -> Result<SchemaParts, SchemaFault> {
        let subject = if level == 0 { ROOT } else { PART };
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(true) => return Ok(SchemaParts::default()),
            Value::Bool(false) => {
                return Err(SchemaFault::NotObject(format!("nothing fits {subject}")));
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let reason = format!("{subject} is not a schema: {}", preview(schema));
                return Err(SchemaFault::Unusable(reason));
            }
        };
        if level > MAX_NESTING {
            let reason =
                format!("{ROOT} has groups or references in more than {MAX_NESTING} levels");
            return Err(SchemaFault::Unusable(reason));
        }
        let Some(left) = self.parts_left.checked_sub(1) else {
            let reason = format!("{ROOT} has more than {MAX_PARTS} parts in its groups");
            return Err(SchemaFault::Unusable(reason));
        };
        self.parts_left = left;
        check_type(members, subject)?;
        let mut parts = own_parts(members, subject)?;
        match members.get("$ref") {
            None => {}
            Some(Value::String(reference)) => {
                let found = target(self.root, reference);
                let found =
                    found.ok_or_else(|| SchemaFault::Unusable(lost_reference(reference)))?;
                parts.merge(self.parts(found, level + 1)?);
            }
            Some(other) => {
                let reason = format!(
                    "{subject} has a $ref that is not a text: {}",
                    preview(other)
                );
                return Err(SchemaFault::Unusable(reason));
            }
        }
        for inner in subschemas(members, "allOf", subject)? {
            let mut inner = self.parts(inner, level + 1)?;
            // A constraint of one of them, such as `additionalProperties`, is not one on the members of all.
            let is_text = |key: &str| matches!(key, "title" | "description");
            inner.others.retain(|key, _| is_text(key));
            parts.merge(inner);
        }
        for key in ["anyOf", "oneOf"] {
            let alternatives = subschemas(members, key, subject)?;
            parts.merge(self.alternatives(alternatives, level)?);
        }
        Ok(parts)
    }

    /// The parts of several subschemas of which an input fits one: the properties of all. Those are needed that each
    /// subschema needs.
    fn alternatives(&mut self, all: &'a [Value], level: usize) -> Result<SchemaParts, SchemaFault> {
        let mut merged = SchemaParts::default();
        let mut needed: Option<Map<String, Value>> = None;
        let mut summaries: Vec<String> = Vec::new();
        let mut refused = None;
        for one in all {
            let parts = match self.parts(one, level + 1) {
                Ok(parts) => parts,
                Err(SchemaFault::NotObject(reason)) => {
                    refused = Some(reason);
                    continue;
                }
                Err(unusable @ SchemaFault::Unusable(_)) => return Err(unusable),
            };
            let summary = cut_text(&parts.summary(), MAX_NOTE, "…");
            if !summaries.contains(&summary) {
                summaries.push(summary);
            }
            match &mut needed {
                None => needed = Some(parts.required),
                Some(needed) => needed.retain(|name, _| parts.required.contains_key(name)),
            }
            merged.add_properties(parts.properties);
            merged.notes.extend(parts.notes);
        }
        match (needed, refused) {
            (None, Some(reason)) => return Err(SchemaFault::NotObject(reason)),
            (needed, _) => merged.required = needed.unwrap_or_default(),
        }
        if summaries.len() > 1 {
            let note = format!("One of these sets of properties: {}", summaries.join(" | "));
            merged.notes.push(cut_text(&note, MAX_NOTE, "…"));
        }
        Ok(merged)
    }
}

/// Checks that objects can fit a schema, by its type or its other keywords.
fn check_type(members: &Map<String, Value>, subject: &str) -> Result<(), SchemaFault> {
    let has = |key: &&str| members.contains_key(*key);
    match members.get("type") {
        None if FOR_OBJECTS.iter().chain(&MERGED).any(has) => Ok(()),
        None => match FOR_OTHERS.iter().find(|key| has(key)) {
            None => Ok(()),
            Some(key) => Err(SchemaFault::NotObject(format!(
                "{subject} has no type, and {key} is not for an object"
            ))),
        },
        Some(Value::String(kind)) if kind == "object" => Ok(()),
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => Ok(()),
        Some(kind) => Err(SchemaFault::NotObject(format!(
            "{subject} has the type {}, not \"object\"",
            preview(kind)
        ))),
    }
}

/// The parts of a schema without those that it refers to and those of its groups.
fn own_parts(members: &Map<String, Value>, subject: &str) -> Result<SchemaParts, SchemaFault> {
    let unusable = |reason: String| SchemaFault::Unusable(format!("{subject} has {reason}"));
    let mut parts = SchemaParts::default();
    // Servers in Go write null for an empty list or map.
    match members.get("properties") {
        None | Some(Value::Null) => {}
        Some(Value::Object(properties)) => {
            for (name, schema) in properties {
                if !is_property_name(name) {
                    let name = preview(&Value::from(name.as_str()));
                    return Err(unusable(format!(
                        "a property {name}; the API takes names of 1 to {MAX_PROPERTY_NAME} letters, digits, _, . or -"
                    )));
                }
                if !schema.is_object() && !schema.is_boolean() {
                    let schema = preview(schema);
                    return Err(unusable(format!(
                        "a property {name} without a schema: {schema}"
                    )));
                }
                parts.add_property(name, schema.clone());
            }
        }
        Some(other) => {
            let other = preview(other);
            return Err(unusable(format!(
                "properties that are not an object: {other}"
            )));
        }
    }
    match members.get("required") {
        None | Some(Value::Null) => {}
        Some(Value::Array(names)) => {
            for name in names {
                let Some(name) = name.as_str() else {
                    let name = preview(name);
                    return Err(unusable(format!(
                        "a name in required that is not a text: {name}"
                    )));
                };
                parts.required.insert(name.to_owned(), Value::Null);
            }
        }
        Some(other) => {
            let other = preview(other);
            return Err(unusable(format!("a required that is not a list: {other}")));
        }
    }
    for (key, value) in members {
        if !NOT_CARRIED.contains(&key.as_str()) {
            parts.others.insert(key.clone(), value.clone());
        }
    }
    Ok(parts)
}

/// The subschemas of a group; empty if the schema has no such group.
fn subschemas<'a>(
    members: &'a Map<String, Value>,
    key: &str,
    subject: &str,
) -> Result<&'a [Value], SchemaFault> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(all)) => Ok(all),
        Some(other) => Err(SchemaFault::Unusable(format!(
            "{subject} has {key} that is not a list: {}",
            preview(other)
        ))),
    }
}

/// True if the API takes a property of that name.
fn is_property_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX_PROPERTY_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// True if a schema has all that the API needs.
fn is_valid(schema: &Map<String, Value>, parts: &SchemaParts) -> bool {
    let has_required = |required: &Value| {
        let names = required.as_array();
        names.is_some_and(|names| names.len() == parts.required.len())
    };
    schema.get("type").is_some_and(|kind| kind == "object")
        && schema.get("properties").is_some_and(Value::is_object)
        && schema.get("required").is_none_or(has_required)
        && !MERGED.iter().any(|key| schema.contains_key(*key))
}

/// A schema with the parts that were found in it. Its keys keep their order, and new ones follow.
fn with_parts(schema: &Map<String, Value>, parts: SchemaParts) -> Map<String, Value> {
    let mut repaired = schema.clone();
    for key in MERGED {
        repaired.shift_remove(key);
    }
    let properties: Map<String, Value> = parts
        .properties
        .into_iter()
        .map(|(name, schemas)| (name, any_of(schemas)))
        .collect();
    let required: Vec<String> = parts.required.into_iter().map(|(name, _)| name).collect();
    repaired.insert("type".to_owned(), json!("object"));
    repaired.insert("properties".to_owned(), Value::Object(properties));
    if required.is_empty() {
        repaired.shift_remove("required");
    } else {
        repaired.insert("required".to_owned(), json!(required));
    }
    for (key, value) in parts.others {
        repaired.entry(key).or_insert(value);
    }
    if !parts.notes.is_empty() {
        let own = repaired.get("description").and_then(Value::as_str);
        let lines = own
            .into_iter()
            .chain(parts.notes.iter().map(String::as_str));
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let description = Value::from(lines.join("\n"));
        repaired.insert("description".to_owned(), description);
    }
    repaired
}

/// The schema of values that fit one of a list of schemas.
fn any_of(mut schemas: Value) -> Value {
    let is_one = schemas.as_array().is_some_and(|schemas| schemas.len() == 1);
    if is_one {
        return schemas[0].take();
    }
    json!({"anyOf": schemas})
}

/// The beginning of a value, as JSON.
fn preview(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_PREVIEW) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
