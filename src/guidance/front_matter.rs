//! The YAML at the beginning of a file that says what the file is.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// How long it may be, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The values that are texts, by name. Lists and the like are left out, so that a bomb cannot
/// expand; nothing here needs them.
pub(super) type Fields = BTreeMap<String, String>;

/// Divides a text into its front matter and what follows; nothing if it has none.
pub(super) fn divide(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut place = 0;
    for line in rest.split_inclusive('\n') {
        let end = place + line.len();
        if line.trim_end() == "---" {
            return Some((&rest[..place], &rest[end..]));
        }
        place = end;
    }
    None
}

/// Reads front matter. Values that YAML takes for something else because of a colon in them are
/// taken as they are meant: many files have them, and other programs read those.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn parse(yaml: &str) -> Result<Fields, String> {
    if yaml.len() > MAX_BYTES {
        return Err(format!("its front matter has more than {MAX_BYTES} bytes"));
    }
    fields(yaml).or_else(|reason| {
        fields(&quoted(yaml)).map_err(|_| format!("its front matter is not YAML: {reason}"))
    })
}

/// Where the reader is among names and values.
enum NextPart {
    Name,
    /// The value of this name; of none if the name is no text.
    Value(Option<String>),
}

fn fields(yaml: &str) -> Result<Fields, String> {
    let mut fields = Fields::new();
    let mut depth = 0_usize;
    let mut next = NextPart::Name;
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        let node = match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => continue,
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if depth == 0 && matches!(event, Event::SequenceStart(..)) {
                    return Err("it is a list".to_owned());
                }
                depth += 1;
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth != 1 {
                    continue;
                }
                None
            }
            Event::Scalar(text, style, ..) if depth == 0 => {
                // Nothing at all is read as an empty text.
                if text.is_empty() && style == ScalarStyle::Plain {
                    continue;
                }
                return Err("it has no names".to_owned());
            }
            Event::Scalar(text, style, ..) if depth == 1 => Some(match (style, &*text) {
                (ScalarStyle::Plain, "~" | "null" | "Null" | "NULL") => String::new(),
                _ => text.into_owned(),
            }),
            Event::Alias(_) if depth == 1 => None,
            Event::Scalar(..) | Event::Alias(_) => continue,
        };
        next = match next {
            NextPart::Name => NextPart::Value(node),
            NextPart::Value(name) => {
                if let (Some(name), Some(value)) = (name, node)
                    && let Some(_) = fields.insert(name.clone(), value)
                {
                    return Err(format!("it has {name:?} twice"));
                }
                NextPart::Name
            }
        };
    }
    Ok(fields)
}

/// The same with quotes around the plain values of its outermost names.
fn quoted(yaml: &str) -> String {
    let line = |line: &str| {
        let is_plain = |value: &str| !value.starts_with(['"', '\'', '|', '>', '[', '{', '#']);
        match line.split_once(": ") {
            Some((name, value)) if is_name(name) && is_plain(value.trim()) => {
                format!("{name}: '{}'\n", value.trim().replace('\'', "''"))
            }
            _ => format!("{line}\n"),
        }
    };
    yaml.lines().map(line).collect()
}

fn is_name(text: &str) -> bool {
    let is_fitting = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(is_fitting)
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
