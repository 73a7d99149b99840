//! The output of a check: its start and its end, as much as is kept, without secrets.

use std::collections::VecDeque;

use crate::attachment::sha256;
use crate::secret::Redaction;

/// Maximum size of an output that is kept, in bytes.
pub const MAX_KEPT: usize = 1024 * 1024;
/// Maximum size of its end in a record, in bytes.
pub const MAX_TAIL: usize = 4 * 1024;
/// The size of the note that replaces the middle, in bytes.
const NOTE: usize = 128;
/// Size of the start and of the end that are kept of an output that is too long, in bytes.
const HALF: usize = (MAX_KEPT - NOTE) / 2;

/// The kept part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptOutput {
    /// All of it, or its start and its end with a note between them: at most [`MAX_KEPT`] bytes.
    pub text: String,
    /// The SHA-256 of the text.
    pub sha256: String,
    /// The last [`MAX_TAIL`] bytes of it, from the start of a character on.
    pub tail: String,
    /// Number of bytes that were written.
    pub total: u64,
    /// Number of bytes that are left out.
    pub left_out: u64,
}

/// An output that grows. What it holds does not depend on how long that is.
#[derive(Debug)]
pub(super) struct GrowingOutput {
    redaction: Redaction,
    /// Number of bytes that a secret may reach over a cut.
    reach: usize,
    start: Vec<u8>,
    end: VecDeque<u8>,
    total: u64,
}

impl GrowingOutput {
    pub(super) fn new(redaction: Redaction) -> Self {
        Self {
            reach: redaction.reach(),
            redaction,
            start: Vec::new(),
            end: VecDeque::new(),
            total: 0,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (MAX_KEPT + self.reach).saturating_sub(self.start.len());
        self.start
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        let most = HALF + self.reach;
        let last = &bytes[bytes.len().saturating_sub(most)..];
        let old = (self.end.len() + last.len()).saturating_sub(most);
        self.end.drain(..old);
        self.end.extend(last);
    }

    pub(super) fn kept(&self) -> KeptOutput {
        let (text, left_out) = self.text();
        let tail = text.ceil_char_boundary(text.len().saturating_sub(MAX_TAIL));
        KeptOutput {
            sha256: sha256(text.as_bytes()),
            tail: text[tail..].to_owned(),
            text,
            total: self.total,
            left_out,
        }
    }

    fn text(&self) -> (String, u64) {
        if self.total <= MAX_KEPT as u64 {
            let all = String::from_utf8_lossy(&self.start).into_owned();
            let text = self.redaction.apply(all);
            // Bytes that are no text are longer as text.
            if text.len() <= MAX_KEPT {
                return (text, 0);
            }
        }
        let start = &self.start[..(HALF + self.reach).min(self.start.len())];
        let start = String::from_utf8_lossy(start);
        let mut head = self.redaction.apply_to_start(&start, HALF);
        head.truncate(head.floor_char_boundary(HALF));
        let end: Vec<u8> = self.end.iter().copied().collect();
        let end = String::from_utf8_lossy(&end);
        let tail = self.redaction.apply_from(&end, self.reach);
        let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(HALF))..];
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let text = format!("{head}\n… [{left_out} bytes left out] …\n{tail}");
        (text, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&[u8]], redaction: Redaction) -> KeptOutput {
        let mut growing = GrowingOutput::new(redaction);
        pieces.iter().for_each(|piece| growing.add(piece));
        growing.kept()
    }

    /// Spec: [FLOW-74]
    #[test]
    fn a_short_output_is_kept_as_it_is() {
        let kept = kept(&[b"one\n", b"two"], Redaction::default());
        assert_eq!(
            (kept.text.as_str(), kept.tail.as_str()),
            ("one\ntwo", "one\ntwo")
        );
        assert_eq!((kept.total, kept.left_out), (7, 0));
        assert_eq!(kept.sha256, sha256(b"one\ntwo"));
    }

    /// Spec: [FLOW-74]
    #[test]
    fn case_19_a_long_output_is_kept_by_its_start_and_its_exact_end() {
        let all: String = (0..400_000).map(|line| format!("line {line}\n")).collect();
        for size in [1000, 65536, all.len()] {
            let pieces: Vec<&[u8]> = all.as_bytes().chunks(size).collect();
            let kept = kept(&pieces, Redaction::default());
            assert!(kept.text.len() <= MAX_KEPT && kept.text.len() > MAX_KEPT - 2 * NOTE);
            let (head, rest) = kept.text.split_once("\n… [").unwrap();
            let (note, tail) = rest.split_once("] …\n").unwrap();
            assert!(all.starts_with(head) && all.ends_with(tail));
            let left_out = all.len() - head.len() - tail.len();
            assert_eq!(note, format!("{left_out} bytes left out"));
            assert_eq!(kept.left_out, left_out as u64);
            assert_eq!(kept.tail, all[all.len() - MAX_TAIL..]);
        }
    }

    /// Spec: [FLOW-74]
    #[test]
    fn an_output_that_is_no_text_is_kept_within_the_same_bound() {
        let kept = kept(&[&vec![0xFF; MAX_KEPT]], Redaction::default());
        assert!(kept.text.len() <= MAX_KEPT, "{}", kept.text.len());
    }

    /// Spec: [FLOW-75]
    #[test]
    fn a_secret_over_a_cut_is_in_neither_half() {
        let secret = "sk-0123456789abcdef";
        let redaction = Redaction::new(vec![secret.into()]);
        for shift in 0..secret.len() + 2 {
            let mut all = vec![b'x'; 3 * MAX_KEPT];
            for place in [HALF - shift, all.len() - HALF - shift, all.len() - 100] {
                all[place..place + secret.len()].copy_from_slice(secret.as_bytes());
            }
            let kept = kept(&[&all], redaction.clone());
            for part in [&secret[..4], &secret[secret.len() - 4..]] {
                assert!(!kept.text.contains(part), "{shift} {part}");
            }
            assert!(kept.tail.contains("***"));
        }
    }
}
