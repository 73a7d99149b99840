//! Sums up what the tools gave.

use serde_json::Value;

use crate::messages_request::{MessagesRequest, list};

/// A sentence a result in the last message; nothing when there is none.
pub(super) fn summarize(request: &MessagesRequest) -> Option<String> {
    let content = request.last_content();
    let results: Vec<&Value> = content
        .iter()
        .filter(|block| block["type"] == "tool_result")
        .collect();
    let asked = request
        .messages()
        .iter()
        .rev()
        .nth(1)
        .map(|message| list(&message["content"]));
    let sentences: Vec<String> = results
        .into_iter()
        .map(|result| {
            let id = &result["tool_use_id"];
            let call = asked
                .unwrap_or_default()
                .iter()
                .find(|call| call["id"] == *id);
            sentence(call.unwrap_or(&Value::Null), result)
        })
        .collect();
    (!sentences.is_empty()).then(|| format!("The tools have answered. {}", sentences.join(" ")))
}

fn sentence(call: &Value, result: &Value) -> String {
    let tool = call["name"].as_str().unwrap_or("tool");
    let input = &call["input"];
    let path = input["path"].as_str().unwrap_or_default();
    let (text, failed) = outcome(result);
    let state = ended(&text);
    if let Some(state) = state.filter(|_| tool == "job" || input["background"] == true) {
        return format!("Now {state}.");
    }
    if let Some(ended) = state.filter(|_| tool == "bash") {
        let command = input["command"].as_str().unwrap_or_default();
        let lines = count(text.lines().count() - 1, "line", "lines");
        return format!("`{command}` wrote {lines} and ended: {ended}.");
    }
    if failed {
        let first = text.lines().next().unwrap_or("no reason given");
        return format!("`{tool}` of `{path}` failed: {first}.");
    }
    let lines = text.lines().count();
    match tool {
        "list_dir" => format!(
            "`{path}` has {}.",
            count(entries(&text), "entry", "entries")
        ),
        "read" => format!("`read` gave {} of `{path}`.", count(lines, "line", "lines")),
        "grep" => {
            let pattern = input["pattern"].as_str().unwrap_or_default();
            let matches = count(lines, "matching line", "matching lines");
            format!("`{pattern}` has {matches} in `{path}`.")
        }
        // The result describes the change.
        "edit" | "write" => format!("I {text}."),
        other => format!("`{other}` gave {}.", count(lines, "line", "lines")),
    }
}

/// The text of a result, and whether it is a failure. A tool may wrap its text in an object.
fn outcome(result: &Value) -> (String, bool) {
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        blocks => {
            let texts = list(blocks)
                .iter()
                .filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    let failed = result["is_error"] == true;
    let wrapped: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(error) = wrapped["error"].as_str() {
        return (error.to_owned(), true);
    }
    let fields = ["content", "entries", "matches"];
    match fields.iter().find_map(|field| wrapped[field].as_str()) {
        Some(inner) => (inner.to_owned(), failed),
        None => (text, failed),
    }
}

/// The end of a command: its last line, in brackets.
fn ended(text: &str) -> Option<&str> {
    let last = text.lines().next_back()?;
    last.strip_prefix('[')?.strip_suffix(']')
}

/// The entries of a long listing: neither its total nor the folder and its parent.
fn entries(listing: &str) -> usize {
    let names = listing.lines().filter(|line| !line.trim().is_empty());
    let entry = |line: &&str| {
        let name = line.split_whitespace().next_back().unwrap_or_default();
        !line.starts_with("total ") && name != "." && name != ".."
    };
    names.filter(entry).count()
}

/// A number with its word.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_result_gets_its_sentence() {
        let listing =
            "total 4\ndrwxr-xr-x 1 me me 0 .\ndrwxr-xr-x 1 me me 0 ..\n-rw 1 me me 9 a.rs";
        let wrapped = json!({"entries": listing}).to_string();
        let rows = [
            (
                "list_dir",
                json!({"content": listing}),
                "`src` has 1 entry.",
            ),
            (
                "list_dir",
                json!({"content": wrapped}),
                "`src` has 1 entry.",
            ),
            (
                "read",
                json!({"content": [{"type": "text", "text": "a\nb"}]}),
                "`read` gave 2 lines of `src`.",
            ),
            (
                "read",
                json!({"content": "{\"content\":\"\"}"}),
                "`read` gave 0 lines of `src`.",
            ),
            (
                "grep",
                json!({"content": "1:x"}),
                "`x` has 1 matching line in `src`.",
            ),
            (
                "grep",
                json!({"content": "{\"error\":\"path not found\"}"}),
                "`grep` of `src` failed: path not found.",
            ),
            (
                "bash",
                json!({"content": "a\nb\n[exit 1 · 0.2 s]", "is_error": true}),
                "`make` wrote 2 lines and ended: exit 1 · 0.2 s.",
            ),
            (
                "job",
                json!({"content": "a\n[job 1: running for 3 s]"}),
                "Now job 1: running for 3 s.",
            ),
        ];
        for (tool, result, expected) in rows {
            let call =
                json!({"name": tool, "input": {"path": "src", "pattern": "x", "command": "make"}});
            assert_eq!(sentence(&call, &result), expected);
        }
    }
}
