//! Finds duplicate names in an object of a JSON text.
//!
//! Of two members with one name readers take the first, the last or none (RFC 8259), so that a text with such an object
//! is ambiguous.

use std::borrow::Cow;
use std::collections::HashSet;

/// Maximum number of characters of a name that an error repeats.
const MAX_TOLD: usize = 64;

/// The first duplicate name in an object of the text, at any depth. The text is valid JSON.
pub(super) fn repeated(json: &[u8]) -> Option<String> {
    // For each object and list around the place: the names so far of an object.
    let mut around: Vec<Option<HashSet<Cow<'_, str>>>> = Vec::new();
    let mut awaits_name = false;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' => {
                around.push(Some(HashSet::new()));
                awaits_name = true;
            }
            b'[' => {
                around.push(None);
                awaits_name = false;
            }
            b'}' | b']' => {
                around.pop();
                awaits_name = false;
            }
            b',' => awaits_name = matches!(around.last(), Some(Some(_))),
            b'"' => {
                let end = at + string_length(&json[at..]);
                if awaits_name && let Some(Some(names)) = around.last_mut() {
                    let name = decoded(&json[at - 1..end]);
                    if names.contains(&name) {
                        return Some(name.chars().take(MAX_TOLD).collect());
                    }
                    names.insert(name);
                    awaits_name = false;
                }
                at = end;
            }
            _ => {}
        }
    }
    None
}

/// Length of the rest of a string, including its closing quotation mark.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    rest.len()
}

/// The content of a string with its quotation marks: `"\u0061"` is `"a"`.
fn decoded(string: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(string);
    match serde_json::from_slice(string) {
        Ok(said) => Cow::Owned(said),
        // A lone surrogate, which no field has.
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [HTTP-102]
    #[test]
    fn a_name_that_stands_twice_is_found_at_any_depth() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(5000), "]".repeat(5000));
        for (json, name) in [
            (r#"{"a":1,"a":2}"#, Some("a")),
            (r#" { "a" : 1 , "b" : 2 , "a" : 2 } "#, Some("a")),
            (r#"{"a":{"b":1,"c":{},"b":null}}"#, Some("b")),
            (r#"[{"a":1},{"x":[{"b":1,"c":2,"c":3}]}]"#, Some("c")),
            (r#"{"a":1,"\u0061":2}"#, Some("a")),
            (r#"{"":1,"":2}"#, Some("")),
            (r#"{"\"":1,"\"":2}"#, Some("\"")),
            (r#"{"\\":1,"b":["a,\"b\":",1],"\\":2}"#, Some("\\")),
            (r#"{"\ud800":1,"\ud800":2}"#, Some("\"\\ud800\"")),
            (r#"{"ä":1,"ä":2}"#, Some("ä")),
            (r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, None),
            (r#"{"a":"a","b":["a","a","{\"a\":1,\"a\":2}"]}"#, None),
            (r#"{"a":"\\","b":"\\\"a","A":1}"#, None),
            (r#"["a","a"]"#, None),
            (r#""a""#, None),
            ("3", None),
            ("{}", None),
            (&deep(r#"{"a":[],"a":1}"#), Some("a")),
            (&deep(r#"{"a":[],"b":1}"#), None),
        ] {
            assert_eq!(repeated(json.as_bytes()).as_deref(), name, "{json}");
        }
        let long = "x".repeat(1000);
        let json = format!(r#"{{"{long}":1,"{long}":2}}"#);
        let told = repeated(json.as_bytes()).unwrap();
        assert_eq!(told, "x".repeat(MAX_TOLD));
    }
}
