//! A block of the reply that editors are sent in pieces.

/// A block of the reply, and the part of it that was sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StreamedBlock {
    /// The name of the message that its pieces make.
    pub(super) message: String,
    sent: String,
    /// True if pieces were missed. The whole block follows.
    is_torn: bool,
}

impl StreamedBlock {
    /// A block of which nothing was sent.
    pub(super) fn new(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    /// Adds a piece at its offset in the block. Returns the part to send; none if the piece does not continue what was
    /// sent, so that the block needs a new message.
    pub(super) fn add<'p>(&mut self, offset: u64, piece: &'p str) -> Option<&'p str> {
        if self.is_torn {
            return Some("");
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(known) = self.sent.get(start..) else {
            // Between the two something is missing.
            self.is_torn = true;
            return Some("");
        };
        let fresh = match piece.strip_prefix(known) {
            Some(fresh) => fresh,
            None if known.starts_with(piece) => "",
            None => return None,
        };
        self.sent.push_str(fresh);
        Some(fresh)
    }

    /// The part of the finished block to send; none if what was sent is not its beginning.
    pub(super) fn rest<'c>(&self, content: &'c str) -> Option<&'c str> {
        content.strip_prefix(self.sent.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ACP-06]
    #[test]
    fn pieces_are_sent_once_and_a_missed_one_waits_for_the_whole_block() {
        let mut block = StreamedBlock::new("m1".to_owned());
        for (offset, piece, sent) in [
            (0, "Hel", Some("Hel")),
            (3, "lo", Some("lo")),
            // The text so far, after a break of the connection.
            (0, "Hello, wor", Some(", wor")),
            (0, "Hello", Some("")),
            // Another beginning.
            (0, "Bye", None),
            (12, "d", Some("")),
            (10, "ld", Some("")),
        ] {
            assert_eq!(block.add(offset, piece), sent, "{offset} {piece}");
        }
        assert_eq!(block.rest("Hello, world"), Some("ld"));
        assert_eq!(block.rest("Bye"), None);
        // Inside a character.
        let mut block = StreamedBlock::new("m2".to_owned());
        assert_eq!(block.add(0, "ä"), Some("ä"));
        assert_eq!(block.add(1, "x"), Some(""));
    }

    /// Spec: [ACP-06]
    #[test]
    fn whatever_is_missed_or_repeated_the_block_is_sent_whole() {
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..20))
                .map(|_| random.choice(['a', 'ä', '😀']).unwrap())
                .collect();
            let ends: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let mut block = StreamedBlock::new(String::new());
            let mut sent = String::new();
            for _ in 0..random.usize(..10) {
                let (one, two) = (random.usize(..ends.len()), random.usize(..ends.len()));
                let (from, to) = (ends[one.min(two)], ends[one.max(two)]);
                sent.push_str(block.add(from as u64, &text[from..to]).unwrap());
            }
            sent.push_str(block.rest(&text).unwrap());
            assert_eq!(sent, text, "seed {seed}");
        }
    }
}
