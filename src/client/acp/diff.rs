//! Changes of files in the form of the Agent Client Protocol: the old and the new text of each hunk.

use harness_protocol::{ChangeAction, FileChange, words};
use serde_json::{Value, json};

use crate::client::acp::content::text_content;

/// A hunk of a unified diff.
#[derive(Debug, Default, PartialEq, Eq)]
struct DiffHunk {
    /// The number of its first line in the new text.
    line: u64,
    old: String,
    new: String,
}

/// The content of a call that changes a file: a diff for each hunk, or a line where there is none.
pub(super) fn change_content(change: &FileChange) -> Vec<Value> {
    let hunks = hunks(&change.diff);
    let mut content: Vec<Value> = hunks
        .into_iter()
        .map(|DiffHunk { old, new, .. }| {
            let old = (change.action != ChangeAction::Made).then_some(old);
            json!({"type": "diff", "path": change.path, "oldText": old, "newText": new})
        })
        .collect();
    if content.is_empty() || change.diff_cut {
        content.push(text_content(&words::changed(change)));
    }
    content
}

/// The place of a change for the editor.
pub(super) fn change_location(change: &FileChange) -> Value {
    match hunks(&change.diff).first() {
        Some(hunk) if hunk.line > 0 => json!({"path": change.path, "line": hunk.line}),
        _ => json!({"path": change.path}),
    }
}

/// The hunks of a unified diff.
fn hunks(diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let mut last = ' ';
    for line in diff.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("@@ ") {
            let line = new_start(head).unwrap_or_default();
            hunks.push(DiffHunk {
                line,
                ..DiffHunk::default()
            });
            continue;
        }
        // What comes before the first hunk names the files.
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        let (mark, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        let (is_old, is_new) = match mark {
            " " => (true, true),
            "-" => (true, false),
            "+" => (false, true),
            // `\ No newline at end of file` is about the line before.
            "\\" => {
                if last != '+' {
                    cut_line_break(&mut hunk.old);
                }
                if last != '-' {
                    cut_line_break(&mut hunk.new);
                }
                continue;
            }
            _ => continue,
        };
        last = mark.chars().next().unwrap_or(' ');
        if is_old {
            hunk.old.push_str(text);
        }
        if is_new {
            hunk.new.push_str(text);
        }
    }
    hunks
}

/// The number behind the `+` in the head of a hunk: `-1,4 +1,5 @@`.
fn new_start(head: &str) -> Option<u64> {
    let (_, new) = head.split_once('+')?;
    let digits = new.find(|c: char| !c.is_ascii_digit());
    new[..digits.unwrap_or(new.len())].parse().ok()
}

fn cut_line_break(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ACP-07]
    #[test]
    fn each_hunk_has_its_old_and_its_new_text() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn run\n one\n-two\n+2\n three\n@@ -9 +9,2 @@\n \
                    nine\n+ten\n\\ No newline at end of file\n";
        let hunk = |line, old: &str, new: &str| DiffHunk {
            line,
            old: old.to_owned(),
            new: new.to_owned(),
        };
        assert_eq!(
            hunks(diff),
            [
                hunk(1, "one\ntwo\nthree\n", "one\n2\nthree\n"),
                hunk(9, "nine\n", "nine\nten"),
            ]
        );
        let both =
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
        assert_eq!(hunks(both), [hunk(1, "a", "b")]);
        let kept = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n";
        assert_eq!(hunks(kept), [hunk(1, "a\nc", "b\nc")]);
        assert_eq!(hunks(""), []);
        assert_eq!(hunks("--- a\n+++ b\n"), []);
    }
}
