//! Text of bytes that come in pieces.

/// Makes text of bytes that come in pieces: a character that is not whole waits for the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Characters {
    rest: Vec<u8>,
}

impl Characters {
    pub(super) fn next(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(_) => self.rest.len(),
            Err(_) => self.rest.len() - unfinished(&self.rest),
        };
        let text = String::from_utf8_lossy(&self.rest[..whole]).into_owned();
        self.rest.drain(..whole);
        text
    }

    /// The bytes that are left at the end.
    pub(super) fn rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

/// Number of bytes at the end that begin an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3);
    let lead = last.enumerate().find(|(_, byte)| **byte & 0xC0 != 0x80);
    match lead {
        Some((behind, byte)) => {
            let wanted = match byte {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 1,
            };
            if wanted > behind + 1 { behind + 1 } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-08]
    #[test]
    fn b6_characters_are_whole_however_the_pieces_are_cut() {
        let text = "a ä € 😀 \u{0} end";
        let mut bytes = text.as_bytes().to_vec();
        for cut in 0..=bytes.len() {
            let mut characters = Characters::default();
            let first = characters.next(&bytes[..cut]);
            assert!(text.starts_with(&first), "{cut}: {first}");
            assert_eq!(first + &characters.next(&bytes[cut..]), text);
        }
        // Bytes that are no text never wait.
        bytes = vec![b'a', 0xFF, 0x80, 0x80, 0x80, b'b'];
        assert_eq!(
            Characters::default().next(&bytes),
            String::from_utf8_lossy(&bytes)
        );
        assert_eq!(Characters::default().next(&[0xFF]), "\u{fffd}");
    }
}
