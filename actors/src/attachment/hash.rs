//! The names of contents.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Number of digits of a name.
const DIGITS: usize = 64;

/// The SHA-256 of a content in hexadecimal digits.
#[must_use]
pub fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// The SHA-256 of a content that comes in pieces.
#[derive(Default)]
pub(crate) struct PieceHash(Sha256);

impl PieceHash {
    /// Takes the next piece in.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash of all pieces in hexadecimal digits.
    pub(crate) fn digits(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(DIGITS);
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(digits, "{byte:02x}").unwrap_or_default();
    }
    digits
}

/// True if a text is the name of a content: 64 hexadecimal digits in small letters. Only such a name becomes a part of
/// a path.
#[must_use]
pub fn is_sha256(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [ATT-01]
    #[test]
    fn a_content_is_named_by_its_sha_256() {
        // The examples of FIPS 180-2, and of no bytes.
        for (content, name) in [
            (
                "",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(sha256(content.as_bytes()), name);
            let mut pieces = PieceHash::default();
            for piece in content.as_bytes().chunks(5) {
                pieces.add(piece);
            }
            assert_eq!(pieces.digits(), name);
            assert!(is_sha256(name));
        }
    }

    /// Spec: [ATT-02]
    #[test]
    fn what_could_lead_elsewhere_is_no_name() {
        let name = sha256(b"x");
        let wrong = [
            String::new(),
            name.to_uppercase(),
            name[1..].to_owned(),
            format!("{name}0"),
            format!("../{}", &name[3..]),
            format!("{}/", &name[1..]),
            format!("{}\0", &name[1..]),
            format!("{}ü", &name[2..]),
            format!("{}g", &name[1..]),
        ];
        for wrong in wrong {
            assert!(!is_sha256(&wrong), "{wrong}");
        }
    }
}
