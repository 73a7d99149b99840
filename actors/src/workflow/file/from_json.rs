//! JSON as nodes. A name that a table has twice is refused, as in TOML.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::node::{Node, NodeEntry, Value};
use super::problem::FileProblem;

/// The values of a text.
///
/// # Errors
/// The place where it is not JSON.
pub(super) fn node(text: &str) -> Result<Node, Vec<FileProblem>> {
    serde_json::from_str::<Value>(text)
        .map(node_without_line)
        .map_err(|error| vec![FileProblem::of_text(Some(error.line()), error.to_string())])
}

fn node_without_line(value: Value) -> Node {
    Node { line: None, value }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(node_without_line(item));
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries: Vec<NodeEntry> = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("duplicate key {name:?}")));
            }
            let node = node_without_line(value);
            entries.push(NodeEntry { name, node });
        }
        Ok(Value::Table(entries))
    }
}
