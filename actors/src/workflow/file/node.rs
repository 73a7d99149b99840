//! The values of a file, with their lines, whatever the format.

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Its line, from 1, if the format tells.
    pub(super) line: Option<usize>,
    /// The value itself.
    pub(super) value: Value,
}

/// The kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The `null` of JSON.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(String),
    /// A date or a time of TOML.
    Date,
    /// Several values.
    List(Vec<Node>),
    /// Values with names, in the order of the file.
    Table(Vec<NodeEntry>),
    /// A value of the wrong kind, which was reported already.
    Wrong,
}

/// A value with its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeEntry {
    /// The name.
    pub(super) name: String,
    /// The value. Its line is that of the name.
    pub(super) node: Node,
}

impl Value {
    /// The name that a person gives it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "null",
            Self::Flag(_) => "true or false",
            Self::Whole(_) | Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Wrong => "wrong",
        }
    }
}

impl Node {
    /// The value of that name, if this is a table that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries
                .iter()
                .find(|entry| entry.name == name)
                .map(|entry| &entry.node),
            Value::Nothing
            | Value::Flag(_)
            | Value::Whole(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date
            | Value::List(_)
            | Value::Wrong => None,
        }
    }
}
