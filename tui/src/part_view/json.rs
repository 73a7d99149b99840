//! The input of a tool on one line.

/// JSON with a space after each `:` and `,`, and no other space between its parts. Numbers, strings and the order of
/// the keys stay unchanged; so does text that is not JSON, or not yet.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let mut in_string = false;
    let mut is_escaped = false;
    for character in json.chars() {
        if in_string {
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            out.push(character);
            continue;
        }
        match character {
            ' ' | '\n' | '\r' | '\t' => {}
            ':' | ',' => {
                out.push(character);
                out.push(' ');
            }
            _ => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_space_between_parts_changes() {
        let cases = [
            ("", ""),
            ("{}", "{}"),
            (r#"{"a":1,"b" : [1.50, 2]}"#, r#"{"a": 1, "b": [1.50, 2]}"#),
            (
                "{\n  \"a\": {\n    \"b\": null\n  }\n}",
                r#"{"a": {"b": null}}"#,
            ),
            (
                r#"{"a":"x, y: \" , \\","b":1}"#,
                r#"{"a": "x, y: \" , \\", "b": 1}"#,
            ),
            (r#"{"a":"not yet, "#, r#"{"a": "not yet, "#),
            (r#"{"z":1,"a":1,"z":2}"#, r#"{"z": 1, "a": 1, "z": 2}"#),
        ];
        for (json, expected) in cases {
            assert_eq!(compact(json), expected);
        }
    }
}
