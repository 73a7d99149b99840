//! The input of a tool call, which the API sends as pieces of JSON text.

use std::collections::HashSet;
use std::fmt;

use derive_more::Display;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use crate::reply::Object;

/// Maximum number of bytes of a bad input that its answer shows from the beginning.
const MAX_BEGINNING: usize = 200;
/// Maximum number of bytes that are shown up to the place of a fault, and of a repeated name.
const MAX_CONTEXT: usize = 40;

/// The reason why a text is not a tool's input.
#[derive(Debug, PartialEq, Eq, Display)]
pub(super) enum InputError {
    /// It stops in the middle.
    #[display("its input stops in the middle")]
    Incomplete,
    /// It is not one JSON object without repeated names.
    #[display("its input is not a JSON object: {_0}")]
    Invalid(String),
}

/// Reads a whole input. Nothing but white space means an empty object, as the API has it.
pub(super) fn parse(text: &str) -> Result<Object, InputError> {
    if text.trim().is_empty() {
        return Ok(Object::new());
    }
    let mut json = serde_json::Deserializer::from_str(text);
    UniqueNames
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(|error| match error.classify() {
            Category::Eof => InputError::Incomplete,
            Category::Io | Category::Syntax | Category::Data => invalid(text, &error),
        })?;
    let kind = match serde_json::from_str(text) {
        Ok(Value::Object(input)) => return Ok(input),
        Ok(Value::Array(_)) => "an array",
        Ok(Value::String(_)) => "a string",
        Ok(Value::Number(_)) => "a number",
        Ok(Value::Bool(_)) => "a truth value",
        Ok(Value::Null) => "null",
        Err(error) => return Err(invalid(text, &error)),
    };
    Err(InputError::Invalid(format!("it is {kind}")))
}

/// The error with its place, and the text that ends there.
fn invalid(text: &str, error: &serde_json::Error) -> InputError {
    let lines = text.split_inclusive('\n');
    let before = lines.take(error.line().saturating_sub(1)).map(str::len);
    let end = text.floor_char_boundary(before.sum::<usize>() + error.column());
    let start = text.floor_char_boundary(end.saturating_sub(MAX_CONTEXT));
    let context = visible(&text[start..end]);
    InputError::Invalid(format!("{error}, at the end of `{context}`"))
}

/// The answer to a call with an invalid input: the fault and its place, the beginning of the received text, and the way
/// out.
pub(super) fn answer(text: &str, error: &InputError) -> String {
    let beginning = &text[..text.floor_char_boundary(MAX_BEGINNING)];
    let is_cut = beginning.len() < text.len();
    let more = if is_cut { "…" } else { "" };
    format!(
        "not executed: {error}; {} bytes were received, which begin with `{}{more}`; make the call \
         again with one JSON object that is not in quotes or brackets, has double quotes around \
         each name and each name once, and has no bare quote, line break or tab and no half of a \
         surrogate pair in a string",
        text.len(),
        visible(beginning),
    )
}

/// The text with characters that cannot be seen as `\u{…}`, which no JSON has.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        // The escapes of the visible ones are those of Rust, which would hide what was received.
        if matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1 {
            visible.push(c);
        } else {
            visible.extend(c.escape_unicode());
        }
    }
    visible
}

/// The complete values in a text that stops in the middle.
///
/// The official SDKs assemble a call that the output limit cut in this way.
pub(super) fn parse_incomplete(text: &str) -> Object {
    let (kept, closers) = complete_part(text);
    let whole = |text: &str, closers: &str| match serde_json::from_str(&format!("{text}{closers}"))
    {
        Ok(Value::Object(input)) => Some(input),
        Ok(_) | Err(_) => None,
    };
    whole(&text[..kept], &closers).unwrap_or_default()
}

/// Number of bytes of the text that hold complete values, and the brackets that close them.
fn complete_part(text: &str) -> (usize, String) {
    let bytes = text.as_bytes();
    // Each open bracket: what closes it, and whether the next string in it is a name.
    let mut open: Vec<(char, bool)> = Vec::new();
    let mut kept = (0, String::new());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let start = at;
        at += 1;
        let value_ends = match byte {
            b'{' => {
                open.push(('}', true));
                true
            }
            b'[' => {
                open.push((']', false));
                true
            }
            b'}' | b']' => {
                open.pop();
                true
            }
            b':' => {
                if let Some((_, name_next)) = open.last_mut() {
                    *name_next = false;
                }
                false
            }
            b',' => {
                if let Some((closer, name_next)) = open.last_mut() {
                    *name_next = *closer == '}';
                }
                false
            }
            b'"' => {
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                at <= bytes.len() && open.last().is_none_or(|(_, name_next)| !name_next)
            }
            b' ' | b'\n' | b'\r' | b'\t' => false,
            _ => {
                while at < bytes.len() && !matches!(bytes[at], b',' | b'}' | b']' | b' ' | b'\n') {
                    at += 1;
                }
                serde_json::from_str::<Value>(&text[start..at]).is_ok()
            }
        };
        if value_ends {
            let closers = open.iter().rev().map(|(closer, _)| closer).collect();
            kept = (at, closers);
        }
    }
    kept
}

/// Walks a JSON value and refuses an object with a duplicate name: two readers of it could see two different calls.
struct UniqueNames;

impl<'de> DeserializeSeed<'de> for UniqueNames {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueNames {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                let name = visible(&name[..name.floor_char_boundary(MAX_CONTEXT)]);
                return Err(A::Error::custom(format_args!(
                    "the name \"{name}\" is repeated"
                )));
            }
            names.insert(name);
            map.next_value_seed(Self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-10]
    #[test]
    fn a_whole_input_is_one_object_and_nothing_means_an_empty_one() {
        for (text, fields) in [("", 0), (" \n", 0), ("{}", 0), (r#"{"a":1,"b":[{}]}"#, 2)] {
            assert_eq!(parse(text).unwrap().len(), fields, "{text:?}");
        }
    }

    /// Spec: [MODEL-10]
    #[test]
    fn anything_else_is_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            "{}{}",
            "[]",
            "null",
            "3",
            r#""text""#,
            r#"{"a":celsius}"#,
            r#"{"a":1e400}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"o":{"a":1,"b":2,"a":3}}"#,
            &deep,
        ] {
            let short = &text[..text.len().min(40)];
            assert!(
                matches!(parse(text), Err(InputError::Invalid(_))),
                "{short}"
            );
        }
        for text in ["{", r#"{"a"#, r#"{"a":"#, r#"{"a":1"#, r#"{"a":{"b":[1,"#] {
            assert_eq!(parse(text), Err(InputError::Incomplete), "{text}");
        }
    }

    /// Spec: [MODEL-430]
    #[test]
    fn an_answer_says_what_is_wrong_where_and_what_was_received() {
        for (text, fault, context) in [
            (r#"{path: "a"}"#, "key must be a string", "{p"),
            (r#"{"a":"x",}"#, "trailing comma", r#"{"a":"x",}"#),
            ("{\"a\":\"x\ny\"}", "control character", "{\"a\":\"x\\u{a}"),
            ("{\"a\":\n\"x\ty\"}", "control character", "\"x\\u{9}"),
            (r#"{"a":"x\ud99c y"}"#, "hex escape", r#"{"a":"x\ud99c"#),
            (r#"{"a":1,"a":2}"#, r#"the name "a" is repeated"#, r#","a""#),
            ("{}{}", "trailing characters", "{}{"),
        ] {
            let said = answer(text, &parse(text).unwrap_err());
            let (fault_said, rest) = said.split_once(", at the end of `").unwrap();
            assert!(fault_said.contains(fault), "{said}");
            assert!(fault_said.contains(" at line "), "{said}");
            let (context_said, _) = rest.split_once("`; ").unwrap();
            assert!(context_said.contains(context), "{said}");
            let received = format!("; {} bytes were received", text.len());
            assert!(said.contains(&received), "{said}");
        }
        for (text, kind) in [
            (r#"["n"]"#, "it is an array"),
            (r#""{\"a\":1}""#, "it is a string"),
            ("7", "it is a number"),
            ("true", "it is a truth value"),
            ("null", "it is null"),
            (r#"{"a":"#, "stops in the middle"),
        ] {
            let said = answer(text, &parse(text).unwrap_err());
            assert!(said.contains(kind), "{said}");
            assert!(said.contains(&format!("`{text}`")), "{said}");
        }
    }

    /// Spec: [MODEL-430]
    #[test]
    fn an_answer_is_bounded_and_has_no_control_characters() {
        let text = format!("{{\"a\":\"{}\n\u{1b}é", "é".repeat(100_000));
        let name = "é\u{1b}".repeat(50_000);
        let twice = format!("{{{name:?}:1,{name:?}:2}}");
        for text in [text, twice.replace("\\u{1b}", "\\u001b")] {
            let said = answer(&text, &parse(&text).unwrap_err());
            assert!(said.len() < 2000, "{} bytes", said.len());
            assert!(!said.chars().any(char::is_control), "{said}");
            assert!(said.contains('…'), "{said}");
        }
    }

    /// Spec: [MODEL-11]
    #[test]
    fn a_cut_input_keeps_its_complete_values() {
        for (text, kept) in [
            ("", "{}"),
            ("{", "{}"),
            (r#"{"a"#, "{}"),
            (r#"{"a""#, "{}"),
            (r#"{"a":"#, "{}"),
            (r#"{"a": 12"#, r#"{"a":12}"#),
            (r#"{"a": tr"#, "{}"),
            (r#"{"a": true, "b"#, r#"{"a":true}"#),
            (r#"{"a": "x\"y", "b": "z"#, r#"{"a":"x\"y"}"#),
            (r#"{"a": "x\"#, "{}"),
            (r#"{"a": ["p", "q", "r"#, r#"{"a":["p","q"]}"#),
            (r#"{"a": [1, {"b": "c"}, {"d""#, r#"{"a":[1,{"b":"c"},{}]}"#),
            (r#"{"a": {"b": []"#, r#"{"a":{"b":[]}}"#),
            ("]}", "{}"),
        ] {
            let input = Value::Object(parse_incomplete(text));
            assert_eq!(input.to_string(), kept, "{text}");
        }
    }
}
