//! A digest that tells the message of a key from others when its text is gone.

use harness_protocol::Attachment;

use crate::attachment::sha256;

/// How many digits it is written with.
const DIGITS: usize = 16;

/// The beginning of the SHA-256 of a text and of the names of its files. It is in journals, and
/// is the same in every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest(u64);

impl Digest {
    /// That of a message.
    pub(super) fn from_message(content: &str, attachments: &[Attachment]) -> Self {
        // The length says where the text ends and the names begin.
        let mut told = format!("{}:{content}", content.len());
        for attachment in attachments {
            told.push_str(&attachment.sha256);
        }
        let digits = sha256(told.as_bytes());
        Self(u64::from_str_radix(&digits[..DIGITS], 16).unwrap_or_default())
    }

    /// The one that is written so; nothing if none is.
    pub(super) fn parse(digits: &str) -> Option<Self> {
        let is_digest = digits.len() == DIGITS && !digits.starts_with('+');
        let number = u64::from_str_radix(digits, 16).ok();
        number.filter(|_| is_digest).map(Self)
    }

    /// Its text in journals.
    pub(super) fn digits(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(sha256: &str) -> Attachment {
        Attachment {
            sha256: sha256.to_owned(),
            media_type: "text/plain".to_owned(),
            bytes: 1,
            name: None,
        }
    }

    /// Spec: [CONV-171]
    #[test]
    fn a_digest_is_the_same_for_ever_and_reads_back() {
        // printf 5:hello | sha256sum
        let digest = Digest::from_message("hello", &[]);
        assert_eq!(digest.digits(), "a3a285698dc7dbfe");
        assert_eq!(Digest::parse(&digest.digits()), Some(digest));
        for wrong in [
            "",
            "1",
            "+fffffffffffffff",
            "fffffffffffffffff",
            "xyzxyzxyzxyzxyzx",
        ] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }

    /// Spec: [CONV-171]
    #[test]
    fn the_text_and_the_files_count() {
        let (one, other) = (sha256(b"one"), sha256(b"other"));
        let digests = [
            Digest::from_message("", &[]),
            Digest::from_message("a", &[]),
            Digest::from_message("a ", &[]),
            Digest::from_message("a", &[file(&one)]),
            Digest::from_message("a", &[file(&other)]),
            Digest::from_message("a", &[file(&one), file(&other)]),
            Digest::from_message(&format!("a{one}"), &[]),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{at}");
        }
    }
}
