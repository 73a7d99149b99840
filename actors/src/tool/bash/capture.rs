//! The output of a command: its start and its end for the model, and all of it in a bounded file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};

use super::frames::FrameFold;
use super::lines::{from_line, to_line};
use super::outputs::{MAX_KEPT, NewOutput};
use crate::secret::Redaction;

/// How much of the start the model is shown, in bytes, if not all of it.
const HEAD: usize = 8 * 1024;
/// How much of the end, in bytes.
const TAIL: usize = 24 * 1024;

/// The start and the end of a text that is added to.
#[derive(Debug, Clone)]
struct TextEnds {
    /// How many bytes a secret may reach over a cut.
    reach: usize,
    /// The start: all of it, as long as that is shown.
    start: Vec<u8>,
    /// The end.
    end: VecDeque<u8>,
    total: u64,
}

impl TextEnds {
    fn add(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.total += bytes.len() as u64;
        let room = (HEAD + TAIL + self.reach).saturating_sub(self.start.len());
        let (first, _) = bytes.split_at(room.min(bytes.len()));
        self.start.extend_from_slice(first);
        self.end.extend(bytes);
        let most = TAIL + self.reach;
        let old = self.end.len().saturating_sub(most);
        self.end.drain(..old);
    }

    /// The end as text, which may begin within a character.
    fn end(&self) -> String {
        let end: Vec<u8> = self.end.iter().copied().collect();
        String::from_utf8_lossy(&end).into_owned()
    }

    /// The end of it, whole lines of at most so many bytes of that end without its secrets.
    fn cut_end(&self, end: String, most: usize) -> String {
        if end.len() <= most && self.total <= self.end.len() as u64 {
            return end;
        }
        from_line(&end, most).to_owned()
    }
}

/// The output of a command so far. Its size in memory does not depend on how much that is.
#[derive(Debug)]
pub(super) struct Capture {
    redaction: Redaction,
    /// Makes of the output what a terminal would show.
    frames: FrameFold,
    /// The text that a terminal would show, up to the line that is not finished.
    finished: TextEnds,
    /// Number of bytes that were written.
    total: u64,
    /// The bytes that were written, until a file has them.
    first: Vec<u8>,
    /// Where all of it goes when it is more than is shown.
    output: Option<NewOutput>,
    /// Whether it goes there from the first byte on.
    keeps_all: bool,
    file: Option<File>,
    kept: u64,
    /// Why it is not kept.
    error: Option<io::Error>,
}

/// The part of an output that the model sees, as a terminal would show it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VisibleOutput {
    pub(super) text: String,
    /// Number of bytes that the text leaves out.
    pub(super) left_out: u64,
    /// Number of bytes that are kept. `None` if the text shows all of them.
    pub(super) kept: Option<u64>,
}

impl Capture {
    /// An output that is kept there when it is long.
    pub(super) fn new(redaction: Redaction, output: Option<NewOutput>) -> Self {
        Self {
            frames: FrameFold::default(),
            finished: TextEnds {
                reach: redaction.reach(),
                start: Vec::new(),
                end: VecDeque::new(),
                total: 0,
            },
            redaction,
            total: 0,
            first: Vec::new(),
            output,
            keeps_all: false,
            file: None,
            kept: 0,
            error: None,
        }
    }

    /// An output that is kept there from its first byte on, also when it is short.
    pub(super) fn keeping_all(redaction: Redaction, output: Option<NewOutput>) -> Self {
        Self {
            keeps_all: true,
            ..Self::new(redaction, output)
        }
    }

    /// Adds what the command has written, which may be nothing yet. Blocks.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.keeps_all || self.total > (HEAD + TAIL) as u64 {
            let kept = self.keep(bytes);
            if let Err(error) = kept {
                log::warn!("the output of a command is not kept: {error}");
                self.file = None;
                self.output = None;
                self.error = Some(error);
            }
        } else {
            self.first.extend_from_slice(bytes);
        }
        let text = self.frames.add(bytes);
        self.finished.add(&text);
    }

    /// Puts it into the file: first all that came before.
    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        let first = std::mem::take(&mut self.first);
        if let Some(output) = self.output.take() {
            let mut file = output.create()?;
            file.write_all(&first)?;
            self.kept = first.len() as u64;
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let room = usize::try_from(MAX_KEPT - self.kept).unwrap_or(usize::MAX);
        let more = &bytes[..bytes.len().min(room)];
        file.write_all(more)?;
        self.kept += more.len() as u64;
        Ok(())
    }

    /// The text that a terminal would show now.
    fn text(&self) -> TextEnds {
        let mut text = self.finished.clone();
        text.add(&self.frames.unfinished());
        text
    }

    /// The end of it, whole lines of at most so many bytes.
    pub(super) fn tail(&self, most: usize) -> String {
        let text = self.text();
        let end = self.redaction.apply(text.end());
        text.cut_end(end, most)
    }

    /// How many bytes were written.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The end of what is still being written, whole lines of at most so many bytes. What may become a
    /// secret with what follows is not in it.
    pub(super) fn growing_tail(&self, most: usize) -> String {
        let text = self.text();
        let end = text.end();
        let end = self.redaction.apply_to_start(&end, end.len());
        text.cut_end(end, most)
    }

    /// The part that the model sees.
    pub(super) fn text_for_model(&self) -> VisibleOutput {
        let all = self.text();
        if all.total <= (HEAD + TAIL) as u64 {
            let text = String::from_utf8_lossy(&all.start).into_owned();
            return VisibleOutput {
                text: self.redaction.apply(text),
                left_out: 0,
                kept: None,
            };
        }
        let start = String::from_utf8_lossy(&all.start[..(HEAD + all.reach).min(all.start.len())]);
        let head = self.redaction.apply_to_start(&start, HEAD);
        let head = to_line(&head, HEAD);
        let tail = all.cut_end(self.redaction.apply(all.end()), TAIL);
        let left_out = all.total.saturating_sub((head.len() + tail.len()) as u64);
        let kept = self.file.is_some().then_some(self.kept);
        let how = match (kept, &self.error) {
            (Some(kept), _) if kept < self.total => {
                format!("the first {kept} of {} bytes are kept", self.total)
            }
            (Some(_), _) => "all of it is kept".to_owned(),
            (None, Some(error)) => format!("the rest is lost: {error}"),
            (None, None) => "the rest is lost".to_owned(),
        };
        let newline = if head.ends_with('\n') { "" } else { "\n" };
        VisibleOutput {
            text: format!("{head}{newline}… [{left_out} bytes left out; {how}] …\n{tail}"),
            left_out,
            kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ConversationId;
    use crate::tool::Outputs;

    fn told(pieces: &[&[u8]], redaction: Redaction) -> VisibleOutput {
        let home = tempfile::tempdir().unwrap();
        let output = Outputs::at(home.path()).new_output(&ConversationId::new("c"), "call");
        let mut capture = Capture::new(redaction, Some(output));
        pieces.iter().for_each(|piece| capture.add(piece));
        let kept = Outputs::at(home.path()).path(&ConversationId::new("c"), "call");
        let told = capture.text_for_model();
        let all: Vec<u8> = pieces.concat();
        match told.kept {
            Some(_) => assert!(std::fs::read(kept).unwrap() == all),
            None => assert!(!kept.exists()),
        }
        told
    }

    /// Spec: [BASH-08]
    #[test]
    fn b6_a_short_output_is_told_as_it_is() {
        let told = told(&[b"one\n", b"two"], Redaction::default());
        assert_eq!(told.text, "one\ntwo");
        assert_eq!((told.left_out, told.kept), (0, None));
    }

    /// Spec: [BASH-08]
    #[test]
    fn b6_a_long_output_is_told_by_whole_lines_of_its_start_and_end() {
        let all: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
        for size in [1, 7, 4096, all.len()] {
            let pieces: Vec<&[u8]> = all.as_bytes().chunks(size).collect();
            let told = told(&pieces, Redaction::default());
            let (head, tail) = told.text.split_once("… [").unwrap();
            let (note, tail) = tail.split_once("] …\n").unwrap();
            assert!(all.starts_with(head) && head.ends_with('\n'));
            assert!(all.ends_with(tail) && tail.starts_with("line "));
            assert!(head.len() <= HEAD && tail.len() <= TAIL);
            let left_out = all.len() - head.len() - tail.len();
            assert_eq!(
                note,
                format!("{left_out} bytes left out; all of it is kept")
            );
            assert_eq!(told.left_out, left_out as u64);
        }
    }

    /// Spec: [BASH-08]
    #[test]
    fn b6_a_secret_that_lies_over_a_cut_is_not_told() {
        let secret = "sk-0123456789abcdef";
        let redaction = Redaction::new(vec![secret.into()]);
        for shift in 0..secret.len() + 2 {
            // One over the end of what is told of the start, one over the start of the end.
            let mut all = vec![b'x'; 3 * (HEAD + TAIL)];
            let places = [HEAD - shift, all.len() - TAIL - shift];
            for place in places {
                all[place..place + secret.len()].copy_from_slice(secret.as_bytes());
            }
            let told = told(&[&all], redaction.clone());
            for part in [&secret[..4], &secret[secret.len() - 4..]] {
                assert!(!told.text.contains(part), "{shift} {part}");
            }
        }
    }

    /// Spec: [BASH-452]
    #[test]
    fn b6_frames_are_folded_before_the_cut_and_kept_as_bytes() {
        let frames: String = (0..3000)
            .map(|frame| format!("\r\u{1b}[32mstep {frame} of 3000\u{1b}[0m"))
            .collect();
        let all = format!("{frames}\ndone\n");
        assert!(all.len() > HEAD + TAIL);
        let home = tempfile::tempdir().unwrap();
        let outputs = Outputs::at(home.path());
        let conversation = ConversationId::new("c");
        let output = outputs.new_output(&conversation, "call");
        let mut capture = Capture::new(Redaction::default(), Some(output));
        for piece in all.as_bytes().chunks(7) {
            capture.add(piece);
        }
        let told = capture.text_for_model();
        assert_eq!(told.text, "step 2999 of 3000\ndone\n");
        assert_eq!((told.left_out, capture.total()), (0, all.len() as u64));
        assert_eq!(capture.tail(64), told.text);
        let kept = std::fs::read(outputs.path(&conversation, "call")).unwrap();
        assert!(kept == all.as_bytes());
    }

    /// Spec: [BASH-452]
    #[test]
    fn b6_a_secret_between_escape_sequences_is_not_told() {
        let redaction = Redaction::new(vec!["sk-0123456789abcdef".into()]);
        let coloured = b"sk-0123\x1b[31m456789ab\x1b[0mcdef\n";
        assert_eq!(told(&[coloured], redaction).text, "***\n");
    }
}
