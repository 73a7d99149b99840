//! The result of a tool as text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::conversation::ToolPart;
use crate::highlight::{Code, Language};

/// The readable form of a result. An object with one text in it is that text; another object is a line or more for each
/// key; anything else stays unchanged. Lines end with `\n` only, and a line that a program wrote over is what it wrote
/// last.
pub(crate) fn shown_result(result: &str) -> Cow<'_, str> {
    if result.trim_start().starts_with('{')
        && let Ok(object) = serde_json::from_str::<Map<String, Value>>(result)
    {
        return Cow::Owned(match object_text(object) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => match overwritten(&text) {
                Cow::Borrowed(_) => text,
                Cow::Owned(text) => text,
            },
        });
    }
    overwritten(result)
}

/// The text of a file that a tool has read, as code; `start` is where it begins in the source.
pub(super) fn code(tool: &ToolPart, source: &str, start: usize) -> Option<Code> {
    if !tool.name.contains("read") {
        return None;
    }
    let input: Map<String, Value> = serde_json::from_str(&tool.input).ok()?;
    let path = ["path", "file_path", "file"]
        .iter()
        .find_map(|name| input.get(*name)?.as_str())?;
    let text = source.get(start..)?;
    let first = text.lines().next().unwrap_or_default();
    let language = Language::of_path(path).or_else(|| Language::of_first_line(first))?;
    let mut code = Code::new(Some(language));
    for line in super::lines_of(text, start) {
        code.push(&line);
    }
    Some(code)
}

fn object_text(object: Map<String, Value>) -> Cow<'static, str> {
    if object.len() == 1
        && let Some(Value::String(text)) = object.values().next()
    {
        return Cow::Owned(text.clone());
    }
    if object.is_empty() {
        return Cow::Borrowed("{}");
    }
    let mut lines = Vec::new();
    for (key, value) in object {
        lines.push(match value {
            Value::String(text) if text.contains(['\n', '\r']) => {
                let text = text.strip_suffix('\n').unwrap_or(&text);
                format!("{key}:\n{text}")
            }
            Value::String(text) => format!("{key}: {text}"),
            value => format!("{key}: {}", super::json::compact(&value.to_string())),
        });
    }
    Cow::Owned(lines.join("\n"))
}

/// The text as a terminal would leave it, where a program went back to the start of the line.
fn overwritten(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        // After the last return there may be no text yet.
        let line = line.trim_end_matches('\r');
        out.push_str(line.rsplit('\r').next().unwrap_or(line));
        out.push_str(end);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [VIEW-16]
    #[test]
    fn a_result_is_what_a_person_would_read() {
        let cases = [
            (r#"{"content":"a\nb\n"}"#, "a\nb\n"),
            (r#"{"error":"permission denied"}"#, "permission denied"),
            (r#" {"matches":""}"#, ""),
            (r#"{"lines":3}"#, "lines: 3"),
            (
                r#"{"z":"one","out":"a\nb\n","n":1.50,"list":[1,{"a":"b"}],"none":null}"#,
                "z: one\nout:\na\nb\nn: 1.5\nlist: [1, {\"a\": \"b\"}]\nnone: null",
            ),
            ("{}", "{}"),
            ("[1,2]", "[1,2]"),
            ("\"text\"", "\"text\""),
            ("{not json", "{not json"),
            ("plain\ntext", "plain\ntext"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("10%\r20%\r\ndone\r", "20%\ndone"),
            (r#"{"out":"10%\r20%\n"}"#, "20%\n"),
        ];
        for (result, expected) in cases {
            assert_eq!(shown_result(result), expected, "{result:?}");
        }
    }
}
