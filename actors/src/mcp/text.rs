//! The result of a tool of a server, as text for the model.

use std::fmt::{self, Write as _};

use serde_json::Value;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// Maximum length of the text, in bytes.
const MAX_TEXT: usize = MIB;
/// The end of a text that was longer.
const CUT: &str = "\n[cut: the result is longer than 1 MiB]";
/// The text of a result that has none.
const NOTHING: &str = "(no content)";
/// Maximum length of a name, an address or a media type in a note, in bytes.
const MAX_LABEL: usize = 512;

/// The text of a `CallToolResult`, and true if the tool reports an error. Blocks that are not text are named in a line
/// each, and structured content is only used without text: servers repeat it as text. The length is bounded.
#[must_use]
pub(super) fn result_text(result: &Value) -> (String, bool) {
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let mut text = ResultText::default();
    for block in result
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        text.add_block(block);
        if text.is_cut {
            break;
        }
    }
    let structured = result.get("structuredContent");
    if let Some(structured) = structured.filter(|value| !value.is_null() && !text.has_text) {
        text.start_line();
        // It fails at the maximum length, which is noted already.
        write!(text, "{structured}").unwrap_or_default();
    }
    (text.finish(), is_error)
}

/// A text that grows up to its maximum length.
#[derive(Debug, Default)]
struct ResultText {
    text: String,
    /// True if there is text of the tool itself, not only notes.
    has_text: bool,
    /// True if there was more than fits.
    is_cut: bool,
}

impl ResultText {
    fn add_block(&mut self, block: &Value) {
        let kind = block.get("type").and_then(Value::as_str);
        match (kind, block.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => self.add_text(text),
            (Some("image" | "audio"), _) => {
                let facts = media_facts(block, "data");
                let gap = if facts.is_empty() { "" } else { " " };
                let kind = kind.unwrap_or_default();
                self.add_note(&format!("{kind}{gap}{facts}: not shown"));
            }
            (Some("resource_link"), _) => {
                let name = label(block, "name").map(|name| format!(" {name}"));
                let uri = label(block, "uri").map(|uri| format!(": {uri}"));
                let [name, uri] = [name, uri].map(Option::unwrap_or_default);
                self.add_note(&format!("resource{name}{uri}"));
            }
            (Some("resource"), _) => self.add_resource(block.get("resource").unwrap_or(block)),
            (Some(_), _) => {
                let kind = label(block, "type").unwrap_or_else(|| "content".to_owned());
                self.add_note(&format!("{kind}: not shown"));
            }
            (None, _) => self.add_note("content without a type: not shown"),
        }
    }

    /// Adds a resource that is part of the result.
    fn add_resource(&mut self, resource: &Value) {
        let mut name = "resource".to_owned();
        if let Some(uri) = label(resource, "uri") {
            name.push(' ');
            name.push_str(&uri);
        }
        match resource.get("text").and_then(Value::as_str) {
            Some(text) => {
                self.add_note(&name);
                self.add_text(text);
            }
            None => {
                let facts = media_facts(resource, "blob");
                let gap = if facts.is_empty() { "" } else { ", " };
                self.add_note(&format!("{name}{gap}{facts}: not shown"));
            }
        }
    }

    /// Adds a text of the tool.
    fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.start_line();
        self.add(text);
        self.has_text |= !text.trim().is_empty();
    }

    /// Adds a line about content that is not text.
    fn add_note(&mut self, note: &str) {
        self.start_line();
        self.add("[");
        self.add(note);
        self.add("]");
    }

    fn start_line(&mut self) {
        if !self.text.is_empty() {
            self.add("\n");
        }
    }

    /// Adds the part of a text that fits.
    fn add(&mut self, text: &str) {
        if self.is_cut {
            return;
        }
        let end = text.floor_char_boundary(MAX_TEXT - self.text.len());
        self.text.push_str(&text[..end]);
        self.is_cut = end < text.len();
    }

    fn finish(self) -> String {
        let mut text = self.text;
        if self.is_cut {
            text.truncate(text.floor_char_boundary(MAX_TEXT - CUT.len()));
            text.push_str(CUT);
        } else if text.trim().is_empty() {
            NOTHING.clone_into(&mut text);
        }
        text
    }
}

impl fmt::Write for ResultText {
    /// Fails when no more fits, so that the rest of a large value is not even written.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text);
        if self.is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The media type and the size of content, if they are known. `data` is the key of its bytes, in base64.
fn media_facts(content: &Value, data: &str) -> String {
    let size = content.get(data).and_then(Value::as_str).map(decoded_size);
    let facts = label(content, "mimeType").into_iter().chain(size);
    facts.collect::<Vec<String>>().join(", ")
}

/// A short text of some content, in one line. `None` without one.
fn label(content: &Value, key: &str) -> Option<String> {
    let text = content.get(key)?.as_str()?;
    let end = text.floor_char_boundary(MAX_LABEL);
    let visible = text[..end].chars();
    let mut label: String = visible
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if end < text.len() {
        label.push('…');
    }
    (!label.is_empty()).then_some(label)
}

/// The size of the bytes that a text in base64 holds.
fn decoded_size(base64: &str) -> String {
    let digits = base64.trim_end_matches('=').len();
    let bytes = digits / 4 * 3 + digits % 4 * 3 / 4;
    match bytes {
        1 => "1 byte".to_owned(),
        0 | 2..KIB => format!("{bytes} bytes"),
        KIB..MIB => format!("{} KiB", bytes.div_ceil(KIB)),
        MIB.. => format!("{} MiB", bytes.div_ceil(MIB)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(content: &Value, text: &str) {
        assert_eq!(
            result_text(&json!({"content": content})),
            (text.to_owned(), false)
        );
    }

    /// Spec: [MCP-08]
    #[test]
    fn texts_are_joined_by_line_breaks() {
        check(&json!([{"type": "text", "text": "one"}]), "one");
        check(
            &json!([
                {"type": "text", "text": "one\n"},
                {"type": "text", "text": ""},
                {"type": "text", "text": " two", "annotations": {"audience": ["user"]}},
            ]),
            "one\n\n two",
        );
    }

    /// Spec: [MCP-08]
    #[test]
    fn a_result_says_whether_it_is_an_error() {
        for (is_error, expected) in [
            (json!(true), true),
            (json!(false), false),
            (Value::Null, false),
            (json!("true"), false),
        ] {
            let result = json!({"content": [{"type": "text", "text": "x"}], "isError": is_error});
            assert_eq!(result_text(&result), ("x".to_owned(), expected));
        }
    }

    /// Spec: [MCP-08]
    #[test]
    fn other_content_is_named() {
        let twelve_kib = "QUJD".repeat(4 * 1024);
        check(
            &json!([
                {"type": "image", "data": twelve_kib, "mimeType": "image/png"},
                {"type": "audio", "data": "QQ==", "mimeType": "audio/wav"},
                {"type": "image"},
                {"type": "text", "text": "seen"},
                {"type": "resource_link", "uri": "file:///a.rs", "name": "a.rs", "title": "A"},
                {"type": "resource_link", "uri": "file:///b.rs"},
            ]),
            "[image image/png, 12 KiB: not shown]\n[audio audio/wav, 1 byte: not shown]\n\
             [image: not shown]\nseen\n[resource a.rs: file:///a.rs]\n[resource: file:///b.rs]",
        );
        check(
            &json!([
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "in a"}},
                {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "x/y", "blob": "QUI="}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": ""}},
                {"type": "resource"},
                {"type": "tool_use", "id": "1"},
                {"type": "text", "text": 5},
                {"type": 5},
                "x",
                null,
            ]),
            "[resource file:///a]\nin a\n[resource file:///b, x/y, 2 bytes: not shown]\n\
             [resource file:///c, 0 bytes: not shown]\n[resource: not shown]\n[tool_use: not shown]\n\
             [text: not shown]\n[content without a type: not shown]\n\
             [content without a type: not shown]\n[content without a type: not shown]",
        );
    }

    /// Spec: [MCP-08]
    #[test]
    fn a_note_is_one_short_line() {
        let uri = format!("a\nb\u{1b}[1m{}", "ä".repeat(1000));
        let (text, _) = result_text(&json!({"content": [{"type": "resource_link", "uri": uri}]}));
        let start = "[resource: a b [1mä";
        assert!(text.starts_with(start) && text.ends_with("ä…]"), "{text}");
        assert_eq!((text.lines().count(), text.len() < 600), (1, true));
    }

    /// Spec: [MCP-08]
    #[test]
    fn structured_content_takes_the_place_of_missing_text() {
        let structured = json!({"b": 1, "a": ["x\ny"]});
        let with = |content: Value| {
            let result = json!({"content": content, "structuredContent": structured});
            result_text(&result).0
        };
        let as_json = r#"{"b":1,"a":["x\ny"]}"#;
        assert_eq!(with(json!([])), as_json);
        assert_eq!(with(Value::Null), as_json);
        assert_eq!(with(json!([{"type": "text", "text": ""}])), as_json);
        assert_eq!(
            with(json!([{"type": "image"}])),
            format!("[image: not shown]\n{as_json}")
        );
        assert_eq!(with(json!([{"type": "text", "text": "x"}])), "x");
        let alone = json!({"structuredContent": [1, 2]});
        assert_eq!(result_text(&alone), ("[1,2]".to_owned(), false));
    }

    /// Spec: [MCP-08]
    #[test]
    fn a_result_without_content_says_so() {
        for result in [
            json!({}),
            json!(null),
            json!([1]),
            json!({"content": []}),
            json!({"content": "text"}),
            json!({"content": [{"type": "text", "text": " \n"}]}),
            json!({"content": [], "structuredContent": null}),
        ] {
            assert_eq!(
                result_text(&result),
                ("(no content)".to_owned(), false),
                "{result}"
            );
        }
    }

    /// Spec: [MCP-08]
    #[test]
    fn a_long_result_is_cut_between_characters() {
        let block = |text: &str| json!({"type": "text", "text": text});
        let fits = "x".repeat(MAX_TEXT);
        check(&json!([block(&fits)]), &fits);
        for content in [
            json!([block(&format!("{fits}y"))]),
            json!([block(&fits), {"type": "image"}]),
            json!([block(&"ä".repeat(MAX_TEXT))]),
            Value::Array(vec![json!({"type": "image"}); 100_000]),
        ] {
            let (text, _) = result_text(&json!({"content": content}));
            assert!(text.ends_with(CUT));
            assert!(
                (MAX_TEXT - 1..=MAX_TEXT).contains(&text.len()),
                "{}",
                text.len()
            );
        }
        let structured = json!({"structuredContent": {"a": vec!["ä"; 400_000]}});
        let (text, _) = result_text(&structured);
        assert!(text.starts_with(r#"{"a":["ä","ä","#) && text.ends_with(CUT));
        assert!(
            (MAX_TEXT - 1..=MAX_TEXT).contains(&text.len()),
            "{}",
            text.len()
        );
    }

    /// Spec: [MCP-08]
    #[test]
    fn sizes_are_rounded_up() {
        for (base64, size) in [
            ("", "0 bytes"),
            ("QQ==", "1 byte"),
            ("QUI", "2 bytes"),
            ("QUJDRA==", "4 bytes"),
        ] {
            assert_eq!(decoded_size(base64), size);
        }
        assert_eq!(decoded_size(&"QUJD".repeat(341)), "1023 bytes");
        assert_eq!(decoded_size(&"QUJD".repeat(342)), "2 KiB");
        assert_eq!(decoded_size(&"QUJD".repeat(1_000_000)), "3 MiB");
    }

    const WORDS: &[&str] = &["text", "image", "resource", "resource_link", "other", ""];
    const KEYS: &[&str] = &[
        "type", "text", "resource", "uri", "data", "blob", "name", "mimeType",
    ];

    /// A value that can be a part of a result.
    fn part() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            select(WORDS).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let member = (select(KEYS), inner.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Value::Array),
                prop::collection::vec(member, 0..5).prop_map(|members| {
                    let members = members.into_iter();
                    Value::Object(
                        members
                            .map(|(key, value)| (key.to_owned(), value))
                            .collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        /// Spec: [MCP-08]
        #[test]
        fn every_result_has_a_text(
            content in part(),
            structured in part(),
            is_error in any::<bool>(),
        ) {
            let result = json!({
                "content": content,
                "structuredContent": structured,
                "isError": is_error,
            });
            let (text, reported) = result_text(&result);
            prop_assert!(!text.trim().is_empty());
            prop_assert_eq!(reported, is_error);
            prop_assert!(!result_text(&content).0.is_empty());
        }
    }
}
