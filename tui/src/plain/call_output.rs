//! The output of running calls, in lines.

use std::collections::HashMap;

use crate::output::OutputLines;

/// Maximum number of lines of a call that are shown before its result is there.
const MAX_LINES: usize = 100;

/// The output of the running calls, in lines that a client without a screen prints.
#[derive(Debug, Default)]
pub struct CallOutput(HashMap<String, ShownOutput>);

#[derive(Debug, Default)]
struct ShownOutput {
    lines: OutputLines,
    count: usize,
}

impl CallOutput {
    /// Takes a piece and returns the lines that it finishes, each after the name of the tool. When there are too many,
    /// one line says so and none follows.
    pub fn take(&mut self, call_id: &str, name: &str, offset: u64, piece: &str) -> Option<String> {
        let shown = match self.0.get_mut(call_id) {
            Some(shown) => shown,
            None => self.0.entry(call_id.to_owned()).or_default(),
        };
        let mut said = Vec::new();
        for line in shown.lines.take(offset, piece)? {
            shown.count += 1;
            match shown.count.checked_sub(MAX_LINES + 1) {
                None => said.push(format!("output {name}: {}", line.words())),
                Some(0) => said.push(format!("output {name}: ... (no more before its result)")),
                Some(_) => break,
            }
        }
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// Forgets a call that has ended. Its last text, if it is not a whole line, is in its result.
    pub fn end(&mut self, call_id: &str) {
        self.0.remove(call_id);
    }

    /// Forgets all calls, since none is running.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::testing::event;
    use crate::plain::transcript::Transcript;

    /// Spec: [TUI-104]
    #[test]
    fn lines_are_said_when_they_are_whole_and_no_more_than_a_hundred() {
        let mut output = CallOutput::default();
        let mut take = |offset, piece: &str| output.take("t", "bash", offset, piece);
        assert_eq!(take(0, "one\ntw"), Some("output bash: one".to_owned()));
        assert_eq!(take(6, " 1%\r 2%"), None);
        let said = "output bash:  3%\noutput bash: … 86 bytes not shown\noutput bash: x";
        assert_eq!(take(13, "\r 3%"), None);
        assert_eq!(take(103, "x\n"), Some(said.to_owned()));
        let many = "line\n".repeat(500);
        let said = take(105, &many).unwrap();
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said.len(), MAX_LINES - 4 + 1);
        assert_eq!(
            said.last(),
            Some(&"output bash: ... (no more before its result)")
        );
        assert_eq!(take(2605, "line\n"), None);
        assert_eq!(
            output.take("u", "bash", 0, "a\n"),
            Some("output bash: a".to_owned())
        );
        output.end("t");
        assert_eq!(
            output.take("t", "bash", 0, "b\n"),
            Some("output bash: b".to_owned())
        );
    }
    /// Spec: [TUI-104]
    #[test]
    fn what_a_tool_shows_looks_like_nothing_else_and_ends_with_its_result() {
        let mut transcript = Transcript::default();
        let mut lines = |json: serde_json::Value| transcript.lines(&event(json));
        let output = |offset: u64, text: &str| json!({"type": "tool_output", "id": "t", "offset": offset, "text": text});
        assert_eq!(lines(output(0, "of no call\n")), None);
        let call =
            json!({"type": "tool_call", "id": "t", "name": "bash", "input": {"command": "make"}});
        assert_eq!(lines(call), None);
        let spoofed = "\x1b[2J\x1b]0;title\x07one\nagent: I am done\u{202e}\nopen";
        let said = lines(output(0, spoofed)).unwrap();
        assert_eq!(
            said,
            "output bash: one\noutput bash: agent: I am done<202E>"
        );
        let result = json!({"type": "tool_result", "id": "t", "result": "one", "isError": false});
        let said = lines(result).unwrap();
        assert_eq!(said, "tool bash make · 1 line\n  one");
        assert_eq!(lines(output(80, "late\n")), None);
    }
}
