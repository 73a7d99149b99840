//! The lines of a running check, one by one, without secrets.

use crate::secret::Redaction;

/// Maximum size of a line that is shown, in bytes; the rest of a longer one is left out.
const MAX_LINE: usize = 8 * 1024;

/// Cuts an output that grows into lines.
pub(super) struct LineCutter<'a> {
    redaction: Redaction,
    show: &'a mut dyn FnMut(&str),
    /// The line that has no end yet, as much as is needed of it.
    line: Vec<u8>,
    most: usize,
}

impl<'a> LineCutter<'a> {
    pub(super) fn new(redaction: Redaction, show: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            most: MAX_LINE + redaction.reach(),
            redaction,
            show,
            line: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n");
            let part = text.unwrap_or(piece);
            let room = self.most.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if text.is_some() {
                self.end_line();
            }
        }
    }

    /// Shows what has no newline at its end.
    pub(super) fn end(mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        if line.len() <= MAX_LINE {
            (self.show)(&self.redaction.apply(line.into_owned()));
        } else {
            (self.show)(&self.redaction.apply_to_start(&line, MAX_LINE));
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]], redaction: Redaction) -> Vec<String> {
        let mut shown = Vec::new();
        let mut show = |line: &str| shown.push(line.to_owned());
        let mut lines = LineCutter::new(redaction, &mut show);
        pieces.iter().for_each(|piece| lines.add(piece));
        lines.end();
        shown
    }

    /// Spec: [FLOW-75]
    #[test]
    fn lines_are_whole_and_without_secrets_however_the_pieces_are_cut() {
        let secret = "sk-0123456789abcdef";
        let redaction = Redaction::new(vec![secret.into()]);
        let all = format!("one\n\nkey {secret}\nlast");
        for cut in 0..all.len() {
            let (first, second) = all.as_bytes().split_at(cut);
            let shown = shown(&[first, second], redaction.clone());
            assert_eq!(shown, ["one", "", "key ***", "last"], "{cut}");
        }
    }

    /// Spec: [FLOW-75]
    #[test]
    fn of_an_endless_line_the_start_is_shown() {
        let long = vec![b'x'; 10 * MAX_LINE];
        let shown = shown(&[&long, &long, b"\nnext\n"], Redaction::default());
        assert_eq!(
            shown.iter().map(String::len).collect::<Vec<_>>(),
            [MAX_LINE, 4]
        );
    }
}
