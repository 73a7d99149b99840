//! The text of a reply on its way to standard output, where nothing can be taken back.
//!
//! Invariant: what is written for a finished block is its text, whatever of it came before in
//! pieces, twice or not at all.

/// The known and the written part of the block that is not finished.
#[derive(Debug, Default)]
pub(super) struct ReplyText {
    /// The block's place in the reply and its text so far; nothing while a piece is missing.
    block: Option<(u64, String)>,
    /// The written part.
    shown: String,
}

impl ReplyText {
    /// A piece of an unfinished block arrived; what to write.
    pub(super) fn piece(&mut self, index: u64, offset: u64, piece: &str) -> String {
        let mut text = match self.block.take() {
            _ if offset == 0 => String::new(),
            Some((known, text)) if known == index => text,
            // Its beginning was missed. The finished block has it.
            Some(_) | None => return String::new(),
        };
        match usize::try_from(offset) {
            Ok(offset) if text.is_char_boundary(offset) => text.truncate(offset),
            Ok(_) | Err(_) => return String::new(),
        }
        text += piece;
        let written = if self.shown.starts_with(&text) {
            // It is told anew, after a break or by a model that was asked again.
            String::new()
        } else {
            self.catch_up(&text)
        };
        self.block = Some((index, text));
        written
    }

    /// A block is finished; what to write. Blocks end with a line break.
    pub(super) fn finished(&mut self, content: &str) -> String {
        let written = self.catch_up(content);
        written + self.close()
    }

    /// A block was cut short; what to write. More of it may have been seen than was kept.
    pub(super) fn cut_short(&mut self, content: &str) -> String {
        if self.shown.starts_with(content) {
            return self.close().to_owned();
        }
        self.finished(content)
    }

    /// There is no more; what to write, so that whatever follows begins on a line of its own.
    pub(super) fn close(&mut self) -> &'static str {
        self.block = None;
        let shown = std::mem::take(&mut self.shown);
        if shown.is_empty() || shown.ends_with('\n') {
            ""
        } else {
            "\n"
        }
    }

    /// Whether something was written that is not finished.
    pub(super) fn is_open(&self) -> bool {
        !self.shown.is_empty()
    }

    /// The part of the text that is still to be written; all of it, if another text was written.
    fn catch_up(&mut self, text: &str) -> String {
        let written = match text.strip_prefix(&self.shown) {
            Some(rest) => rest.to_owned(),
            None => format!("{}{text}", self.close()),
        };
        text.clone_into(&mut self.shown);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Step {
        Piece(u64, u64, &'static str),
        Finished(&'static str),
        Cut(&'static str),
        End,
    }
    use Step::{Cut, End, Finished, Piece};

    fn written(steps: &[Step]) -> String {
        let mut text = ReplyText::default();
        let write = |step: &Step| match *step {
            Piece(index, offset, piece) => text.piece(index, offset, piece),
            Finished(content) => text.finished(content),
            Cut(content) => text.cut_short(content),
            End => text.close().to_owned(),
        };
        steps.iter().map(write).collect()
    }

    /// Spec: [CLI-41]
    #[test]
    fn a_finished_block_completes_what_its_pieces_gave() {
        for (steps, expected) in [
            (&[Finished("Hello")][..], "Hello\n"),
            (
                &[Piece(0, 0, "Hel"), Piece(0, 3, "lo"), Finished("Hello")],
                "Hello\n",
            ),
            (&[Piece(0, 0, "Hel"), Finished("Hello\n")], "Hello\n"),
            (
                &[Piece(0, 0, "é"), Piece(0, 2, "è"), Finished("éèê")],
                "éèê\n",
            ),
            // A piece is missing.
            (
                &[
                    Piece(0, 0, "He"),
                    Piece(0, 3, "lo"),
                    Piece(0, 5, "!"),
                    Finished("Hello!"),
                ],
                "Hello!\n",
            ),
            (&[Piece(0, 3, "lo"), Finished("Hello")], "Hello\n"),
            // An offset inside a character is no place.
            (&[Piece(0, 0, "é"), Piece(0, 1, "x"), Finished("é")], "é\n"),
            // The pieces come again, whole and in parts, and overlap.
            (
                &[Piece(0, 0, "Hel"), Piece(0, 0, "Hello"), Finished("Hello!")],
                "Hello!\n",
            ),
            (
                &[
                    Piece(0, 0, "Hello"),
                    Piece(0, 0, "He"),
                    Piece(0, 2, "llo w"),
                    Finished("Hello w"),
                ],
                "Hello w\n",
            ),
            (
                &[Piece(0, 0, "Hello"), Piece(0, 3, "lo!"), Finished("Hello!")],
                "Hello!\n",
            ),
            // Blocks follow each other, with the same index or another.
            (
                &[
                    Piece(0, 0, "A"),
                    Finished("A"),
                    Piece(0, 0, "B"),
                    Finished("B"),
                ],
                "A\nB\n",
            ),
            (
                &[
                    Piece(0, 0, "A"),
                    Finished("A"),
                    Piece(2, 0, "A"),
                    Finished("A"),
                ],
                "A\nA\n",
            ),
            (&[Finished("")], ""),
        ] {
            assert_eq!(written(steps), expected);
        }
    }

    /// Spec: [CLI-42]
    #[test]
    fn a_reply_that_is_told_otherwise_begins_on_a_new_line() {
        for (steps, expected) in [
            (
                &[Piece(0, 0, "Hello w"), Piece(0, 0, "Hi"), Finished("Hi!")][..],
                "Hello w\nHi!\n",
            ),
            (&[Piece(0, 0, "Hello"), Finished("Hi")], "Hello\nHi\n"),
            (&[Piece(0, 0, "Hello"), Finished("Hell")], "Hello\nHell\n"),
            (
                &[Piece(0, 0, "Hello"), Piece(1, 0, "Then"), Finished("Then")],
                "Hello\nThen\n",
            ),
            (&[Piece(0, 0, "Hello"), End], "Hello\n"),
            (&[Piece(0, 0, "Hello\n"), End], "Hello\n"),
            (&[End], ""),
            // A cancel keeps less than was seen.
            (&[Piece(0, 0, "Hello"), Cut("Hell")], "Hello\n"),
            (&[Piece(0, 0, "Hel"), Cut("Hello")], "Hello\n"),
        ] {
            assert_eq!(written(steps), expected);
        }
    }

    /// Spec: [CLI-41]
    #[test]
    fn however_a_text_is_cut_and_repeated_it_is_written_once() {
        let text = "Grüße, wie geht es dir? 🦀\nGut.";
        let ends: Vec<usize> = (1..=text.len())
            .filter(|end| text.is_char_boundary(*end))
            .collect();
        for seed in 0..500 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut reply = ReplyText::default();
            let mut out = String::new();
            let mut at = 0;
            while at < text.len() && random.u8(..) > 5 {
                // A break: some come again, from the start or from anywhere, or are missing.
                let from = match random.u8(0..8) {
                    0 => 0,
                    1 => ends[random.usize(..ends.len() - 1)],
                    _ => at,
                };
                let further: Vec<usize> = ends.iter().copied().filter(|end| *end > from).collect();
                at = further[random.usize(..further.len())];
                out += &reply.piece(0, from as u64, &text[from..at]);
                assert!(text.starts_with(&out), "seed {seed}: {out}");
            }
            out += &reply.finished(text);
            assert_eq!(out, format!("{text}\n"), "seed {seed}");
        }
    }
}
