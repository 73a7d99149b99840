//! A value with its place: what the parts of the manifest are made from, once the shape is right.

use super::node::{Node, Value};
use super::problem::FileProblem;

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct ValueSpot<'n> {
    place: String,
    node: &'n Node,
}

impl<'n> ValueSpot<'n> {
    /// The file itself.
    pub(super) fn root(node: &'n Node) -> Self {
        Self {
            place: String::new(),
            node,
        }
    }

    /// The value of a key, if the file gives it or it has a default.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let node = self.node.get(key)?;
        let place = joined(&self.place, key);
        Some(Self { place, node })
    }

    /// The table of a key; one without entries if the key has none.
    pub(super) fn section(&self, key: &str) -> Self {
        static NONE: Node = Node {
            line: None,
            value: Value::Wrong,
        };
        self.get(key).unwrap_or(Self {
            place: joined(&self.place, key),
            node: &NONE,
        })
    }

    /// The entries in the list of a key.
    pub(super) fn items(&self, key: &str) -> Vec<Self> {
        self.get(key).map_or_else(Vec::new, |list| list.all())
    }

    fn all(&self) -> Vec<Self> {
        let Value::List(items) = &self.node.value else {
            return Vec::new();
        };
        let item = |(at, node)| Self {
            place: format!("{}[{at}]", self.place),
            node,
        };
        items.iter().enumerate().map(item).collect()
    }

    /// The names in a table and their values.
    pub(super) fn entries(&self) -> Vec<(&'n str, Self)> {
        let Value::Table(entries) = &self.node.value else {
            return Vec::new();
        };
        entries
            .iter()
            .map(|entry| {
                let place = joined(&self.place, &entry.name);
                let node = &entry.node;
                (&*entry.name, Self { place, node })
            })
            .collect()
    }

    /// True if it is an empty list.
    pub(super) fn is_empty_list(&self) -> bool {
        matches!(&self.node.value, Value::List(items) if items.is_empty())
    }

    /// True if it is a table.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    /// The text that it is.
    pub(super) fn as_text(&self) -> Option<&'n str> {
        let Value::Text(text) = &self.node.value else {
            return None;
        };
        Some(text)
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let node = self.get(key)?;
        node.as_text().map(str::to_owned)
    }

    /// The texts in the list of a key.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let items = self.items(key);
        let texts = items.iter().filter_map(Self::as_text);
        texts.map(str::to_owned).collect()
    }

    /// True if the value of the key is true.
    pub(super) fn flag(&self, key: &str) -> bool {
        let node = self.node.get(key);
        node.is_some_and(|node| node.value == Value::Flag(true))
    }

    /// True if the value of the key is false; a wrong value, which has its own problem, is not.
    pub(super) fn is_false(&self, key: &str) -> bool {
        let node = self.node.get(key);
        node.is_some_and(|node| node.value == Value::Flag(false))
    }

    /// The whole number that it is.
    pub(super) fn as_whole(&self) -> Option<i128> {
        let Value::Whole(number) = self.node.value else {
            return None;
        };
        Some(number)
    }

    /// The whole number of a key.
    pub(super) fn integer(&self, key: &str) -> Option<i128> {
        self.get(key)?.as_whole()
    }

    /// The number of a key.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let node = self.node.get(key)?;
        if let Value::Number(number) = node.value {
            return Some(number);
        }
        #[expect(clippy::cast_precision_loss, reason = "no cost has that many digits")]
        self.integer(key).map(|number| number as f64)
    }

    /// The place of the value in the file.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Something that is wrong with it.
    pub(super) fn problem(&self, message: impl Into<String>) -> FileProblem {
        FileProblem {
            place: self.place.clone(),
            line: self.node.line,
            message: message.into(),
        }
    }
}

/// The place of a key in a table.
pub(super) fn joined(place: &str, key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let key = if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if place.is_empty() {
        key
    } else {
        format!("{place}.{key}")
    }
}
