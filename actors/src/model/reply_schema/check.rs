//! The check of a reply against its schema.

use serde_json::{Map, Value};

use super::part::{JsonType, SchemaPart, place, preview};
use super::schema::ReplySchema;

/// Maximum number of comparisons for one reply: alternatives of alternatives can be many.
const MAX_STEPS: u32 = 1_000_000;

impl JsonType {
    fn has(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Object, Value::Object(_))
            | (Self::Array, Value::Array(_))
            | (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Null, Value::Null) => true,
            (Self::Integer, Value::Number(number)) => {
                number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            _ => false,
        }
    }
}

impl ReplySchema {
    /// Checks a document; the first fault with its place.
    pub(super) fn check_document(&self, document: &Value) -> Result<(), String> {
        let mut steps = MAX_STEPS;
        let checked = self.check(&self.root, document, &mut Vec::new(), &mut steps);
        if steps == 0 {
            return Err("the schema has too many alternatives to check".to_owned());
        }
        checked
    }

    /// Checks a value against a part; the fault with its place.
    fn check(
        &self,
        part: &SchemaPart,
        value: &Value,
        path: &mut Vec<String>,
        steps: &mut u32,
    ) -> Result<(), String> {
        let fault =
            |path: &[String], reason: String| Err(format!("{}{reason}", place(&path.join("."))));
        // The caller sees that there are none left.
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            return Err(String::new());
        }
        if !part.types.is_empty() && !part.types.iter().any(|kind| kind.has(value)) {
            let types: Vec<String> = part.types.iter().map(ToString::to_string).collect();
            return fault(
                path,
                format!("{} is no {}", preview(value), types.join(" or ")),
            );
        }
        let is_none_of = |values: &&Vec<Value>| !values.iter().any(|other| is_same(other, value));
        if let Some(values) = part.values.iter().find(is_none_of) {
            let allowed: Vec<String> = values.iter().map(preview).collect();
            let reason = format!("{} is none of {}", preview(value), allowed.join(", "));
            return fault(path, reason);
        }
        if let (Some(pattern), Some(text)) = (&part.pattern, value.as_str())
            && !pattern.is_match(text)
        {
            return fault(path, format!("{} does not match {pattern}", preview(value)));
        }
        if let Some(reference) = &part.reference
            && let Some(definition) = self.definitions.get(reference)
        {
            self.check(definition, value, path, steps)?;
        }
        for part in &part.all_of {
            self.check(part, value, path, steps)?;
        }
        let mut faults = Vec::new();
        let depth = path.len();
        for part in &part.any_of {
            match self.check(part, value, path, steps) {
                Ok(()) => {
                    faults.clear();
                    break;
                }
                Err(fault) => faults.push(fault),
            }
            // A fault leaves the way to it.
            path.truncate(depth);
        }
        if let Some(first) = faults.into_iter().next() {
            return fault(
                path,
                format!("none of the alternatives fits; the first: {first}"),
            );
        }
        match value {
            Value::Object(fields) => self.check_members(part, fields, path, steps),
            Value::Array(items) => {
                if part.needs_item && items.is_empty() {
                    return fault(path, "the array has no item".to_owned());
                }
                let Some(of_item) = &part.items else {
                    return Ok(());
                };
                for (index, item) in items.iter().enumerate() {
                    path.push(index.to_string());
                    self.check(of_item, item, path, steps)?;
                    path.pop();
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn check_members(
        &self,
        part: &SchemaPart,
        fields: &Map<String, Value>,
        path: &mut Vec<String>,
        steps: &mut u32,
    ) -> Result<(), String> {
        let Some(members) = &part.members else {
            return Ok(());
        };
        let is_missing = |name: &&String| !fields.contains_key(*name);
        if let Some(missing) = members.required.iter().find(is_missing) {
            return Err(format!("{}{missing:?} is missing", place(&path.join("."))));
        }
        for (name, value) in fields {
            let Some(part) = members.parts.get(name) else {
                return Err(format!("{}{name:?} is no property", place(&path.join("."))));
            };
            path.push(name.clone());
            self.check(part, value, path, steps)?;
            path.pop();
        }
        Ok(())
    }
}

/// True if two values are the same, with numbers by their size.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    }
}
