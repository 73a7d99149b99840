//! Reading a schema.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::part::{
    JsonType, MAX_DEPTH, ObjectMembers, SchemaError, SchemaPart, TOO_DEEP, error, preview,
};

/// Maximum number of definitions.
const MAX_DEFINITIONS: usize = 256;

/// Maximum number of patterns.
const MAX_PATTERNS: usize = 64;
/// Maximum size of a pattern in memory, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The keywords that say something about a schema and nothing about what fits it.
const ANNOTATIONS: [&str; 11] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// The formats of strings that the API takes. A reply is not checked for them.
const FORMATS: [&str; 10] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uuid",
];

/// Reads schemas, and collects what they refer to.
#[derive(Default)]
pub(super) struct SchemaReader {
    /// The definitions, by the references to them.
    pub(super) definitions: BTreeMap<String, SchemaPart>,
    /// The place of each reference, and the reference.
    pub(super) references: Vec<(String, String)>,
    /// Number of patterns.
    patterns: usize,
}

impl SchemaReader {
    /// Reads a whole schema, with its definitions.
    pub(super) fn root(&mut self, json: &Value) -> Result<SchemaPart, SchemaError> {
        let root = self.part(json, &[], MAX_DEPTH)?;
        for table in ["$defs", "definitions"] {
            let Some(definitions) = json.get(table) else {
                continue;
            };
            let definitions = definitions
                .as_object()
                .ok_or_else(|| error(&[table], "the definitions are an object of schemas"))?;
            if definitions.len() > MAX_DEFINITIONS {
                let reason = format!("it has more than {MAX_DEFINITIONS} definitions");
                return Err(error(&[table], reason));
            }
            for (name, definition) in definitions {
                let part = self.part(definition, &[table, name], MAX_DEPTH)?;
                // Source: RFC 6901, section 3.
                let name = name.replace('~', "~0").replace('/', "~1");
                self.definitions.insert(format!("#/{table}/{name}"), part);
            }
        }
        Ok(root)
    }

    fn part(
        &mut self,
        json: &Value,
        path: &[&str],
        depth: usize,
    ) -> Result<SchemaPart, SchemaError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(error(path, TOO_DEEP));
        };
        let fields = json
            .as_object()
            .ok_or_else(|| error(path, "a schema is a JSON object"))?;
        let mut part = SchemaPart::default();
        for (keyword, value) in fields {
            let at = [path, &[keyword.as_str()]].concat();
            match keyword.as_str() {
                "type" => part.types = types(value, &at)?,
                "enum" => part.values.push(values(value, &at)?),
                "const" => part.values.push(vec![value.clone()]),
                "anyOf" => part.any_of = self.parts(value, &at, depth)?,
                "allOf" => {
                    part.all_of = self.parts(value, &at, depth)?;
                    let has_reference = |part: &SchemaPart| part.reference.is_some();
                    if let Some(index) = part.all_of.iter().position(has_reference) {
                        let index = index.to_string();
                        let at = [&at[..], &[&index, "$ref"]].concat();
                        return Err(error(&at, "the API takes no `$ref` in `allOf`"));
                    }
                }
                "$ref" => part.reference = Some(self.reference(value, &at)?),
                "items" => part.items = Some(Box::new(self.part(value, &at, depth)?)),
                "minItems" => match value.as_u64() {
                    Some(0) => {}
                    Some(1) => part.needs_item = true,
                    _ => return Err(error(&at, "the API takes 0 and 1 only")),
                },
                "pattern" => part.pattern = Some(self.pattern(value, &at)?),
                "format" => check_format(value, &at)?,
                "properties" | "required" | "additionalProperties" => {}
                "$defs" | "definitions" if path.is_empty() => {}
                other if ANNOTATIONS.contains(&other) => {}
                other => {
                    let reason = format!(
                        "the API takes no `{other}`; leave it out, or say it in a `description`"
                    );
                    return Err(error(&at, reason));
                }
            }
        }
        let is_object = part.types.contains(&JsonType::Object);
        let names_members = ["properties", "required", "additionalProperties"]
            .iter()
            .any(|keyword| fields.contains_key(*keyword));
        if is_object || names_members {
            part.members = Some(self.members(fields, path, depth)?);
        }
        Ok(part)
    }

    fn parts(
        &mut self,
        json: &Value,
        path: &[&str],
        depth: usize,
    ) -> Result<Vec<SchemaPart>, SchemaError> {
        let parts = json.as_array().filter(|parts| !parts.is_empty());
        let parts = parts.ok_or_else(|| error(path, "it is a list of one schema or more"))?;
        let part = |(index, part): (usize, &Value)| {
            let index = index.to_string();
            self.part(part, &[path, &[&index]].concat(), depth)
        };
        parts.iter().enumerate().map(part).collect()
    }

    fn members(
        &mut self,
        fields: &Map<String, Value>,
        path: &[&str],
        depth: usize,
    ) -> Result<ObjectMembers, SchemaError> {
        match fields.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(_) => {
                let at = [path, &["additionalProperties"]].concat();
                return Err(error(&at, "the API takes `false` only"));
            }
            None => {
                let reason = "the API takes objects with `\"additionalProperties\": false` only";
                return Err(error(path, reason));
            }
        }
        let mut members = ObjectMembers::default();
        if let Some(properties) = fields.get("properties") {
            let at = [path, &["properties"]].concat();
            let properties = properties
                .as_object()
                .ok_or_else(|| error(&at, "the properties are an object of schemas"))?;
            for (name, json) in properties {
                let part = self.part(json, &[&at[..], &[name]].concat(), depth)?;
                members.parts.insert(name.clone(), part);
            }
        }
        if let Some(required) = fields.get("required") {
            let at = [path, &["required"]].concat();
            let names = required
                .as_array()
                .and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
                .ok_or_else(|| error(&at, "it is a list of names"))?;
            if let Some(name) = names
                .iter()
                .find(|name| !members.parts.contains_key(**name))
            {
                return Err(error(&at, format!("{name:?} is none of the properties")));
            }
            members.required = names.into_iter().map(str::to_owned).collect();
        }
        Ok(members)
    }

    fn reference(&mut self, value: &Value, path: &[&str]) -> Result<String, SchemaError> {
        let reference = value.as_str().ok_or_else(|| error(path, "it is a text"))?;
        if reference == "#" {
            return Err(error(
                path,
                "it refers to itself, which the API does not take",
            ));
        }
        self.references.push((path.join("."), reference.to_owned()));
        Ok(reference.to_owned())
    }

    fn pattern(&mut self, value: &Value, path: &[&str]) -> Result<Regex, SchemaError> {
        let text = value.as_str().ok_or_else(|| error(path, "it is a text"))?;
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            let reason = format!("the schema has more than {MAX_PATTERNS} patterns");
            return Err(error(path, reason));
        }
        // Rust's expressions have word boundaries and flags, which the API's do not.
        let plain = text.replace("\\\\", "").replace("(?:", "");
        if ["\\b", "\\B", "(?"].iter().any(|part| plain.contains(part)) {
            let reason = "the API takes no word boundaries, look-arounds and flags";
            return Err(error(path, reason));
        }
        let compiled = RegexBuilder::new(text)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        compiled.map_err(|fault| {
            let reason = fault.to_string();
            let reason = reason.lines().last().unwrap_or_default().to_owned();
            error(path, format!("the pattern cannot be used: {reason}"))
        })
    }
}

fn types(value: &Value, path: &[&str]) -> Result<Vec<JsonType>, SchemaError> {
    let several = value.as_array().filter(|names| !names.is_empty());
    let names = several.map_or(std::slice::from_ref(value), Vec::as_slice);
    let of_name = |name: &Value| {
        let known = name.as_str().and_then(JsonType::from_name);
        let names = JsonType::ALL.map(|kind| kind.to_string()).join(", ");
        known.ok_or_else(|| error(path, format!("{} is none of {names}", preview(name))))
    };
    names.iter().map(of_name).collect()
}

fn values(value: &Value, path: &[&str]) -> Result<Vec<Value>, SchemaError> {
    let values = value.as_array().filter(|values| !values.is_empty());
    let values = values.ok_or_else(|| error(path, "it is a list of one value or more"))?;
    let is_complex = |value: &&Value| value.is_object() || value.is_array();
    match values.iter().find(is_complex) {
        Some(_) => Err(error(
            path,
            "the API takes strings, numbers, booleans and null only",
        )),
        None => Ok(values.clone()),
    }
}

fn check_format(value: &Value, path: &[&str]) -> Result<(), SchemaError> {
    if value.as_str().is_some_and(|name| FORMATS.contains(&name)) {
        return Ok(());
    }
    let reason = format!("the API takes {} only", FORMATS.join(", "));
    Err(error(path, reason))
}
