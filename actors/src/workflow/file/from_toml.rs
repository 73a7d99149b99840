//! TOML as nodes, with the line of each.

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::node::{Node, NodeEntry, Value};
use super::problem::FileProblem;

/// The values of a text.
///
/// # Errors
/// The places where it is not TOML, one a line.
pub(super) fn node(text: &str) -> Result<Node, Vec<FileProblem>> {
    let lines = LineOffsets::from_text(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node {
            line: Some(1),
            value: lines.table(table.get_ref()),
        });
    }
    let problem = |error: &toml::de::Error| {
        let start = error.span().map_or(text.len(), |span| span.start);
        let words: Vec<&str> = error.message().split_whitespace().collect();
        FileProblem::of_text(Some(lines.at(start)), words.join(" "))
    };
    let mut problems: Vec<FileProblem> = errors.iter().map(problem).collect();
    problems.sort_by_key(|problem| problem.line);
    problems.dedup_by_key(|problem| problem.line);
    Err(problems)
}

/// Offsets of the lines of a text.
struct LineOffsets(Vec<usize>);

impl LineOffsets {
    fn from_text(text: &str) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(behind).collect())
    }

    /// The line that holds a byte, from 1.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }

    fn table(&self, table: &DeTable<'_>) -> Value {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let entry = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &Spanned<std::borrow::Cow<'_, str>> = name;
            NodeEntry {
                name: name.get_ref().clone().into_owned(),
                node: Node {
                    line: Some(self.at(name.span().start)),
                    value: self.value(value.get_ref()),
                },
            }
        };
        Value::Table(entries.into_iter().map(entry).collect())
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(number) => Value::Whole(integer(number)),
            DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(items) => {
                let item = |item: &Spanned<DeValue<'_>>| Node {
                    line: Some(self.at(item.span().start)),
                    value: self.value(item.get_ref()),
                };
                Value::List(items.iter().map(item).collect())
            }
            DeValue::Table(table) => self.table(table),
        }
    }
}

/// The number; what is too large for any key is the largest.
fn integer(number: &DeInteger<'_>) -> i128 {
    i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX)
}
