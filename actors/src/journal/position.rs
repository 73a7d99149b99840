//! Positions in a journal: what a client shows when it comes back.

use std::fmt;
use std::str::FromStr;

use derive_more::{Display, Error};

/// Names one life of a journal. A journal whose past is rewritten gets another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// A new epoch, which no other journal has.
    #[must_use]
    pub fn random() -> Self {
        Self(fastrand::u64(..))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Epoch {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        hex(text, 16).map(Self).ok_or(PositionError)
    }
}

/// A place in a journal: after the record `seq`, or before the first one for 0.
///
/// The sum is that of the record's bytes. After a power cut a journal may have lost records that
/// clients have seen and then hold others under the same numbers; the sum tells them apart.
/// Written as `<epoch>-<seq>-<sum>`, for example `0f6a31c29be44d07-12-9b1f00c3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The life of the journal.
    pub epoch: Epoch,
    /// The number of the record; records count from 1.
    pub seq: u64,
    /// The record's checksum, or 0 before the first record.
    pub sum: u32,
}

impl Position {
    /// Before the first record of a journal.
    #[must_use]
    pub fn start(epoch: Epoch) -> Self {
        Self {
            epoch,
            seq: 0,
            sum: 0,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:08x}", self.epoch, self.seq, self.sum)
    }
}

/// The text is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
#[display("not a position of the form <epoch>-<seq>-<sum>")]
pub struct PositionError;

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let mut parts = text.split('-');
        let (Some(epoch), Some(seq), Some(sum), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PositionError);
        };
        let is_number = seq.bytes().all(|byte| byte.is_ascii_digit());
        let is_canonical = is_number && (seq == "0" || !seq.starts_with('0'));
        let sum = hex(sum, 8).and_then(|sum| u32::try_from(sum).ok());
        match (is_canonical, seq.parse(), sum) {
            (true, Ok(seq), Some(sum)) => Ok(Self {
                epoch: epoch.parse()?,
                seq,
                sum,
            }),
            _ => Err(PositionError),
        }
    }
}

/// A number of exactly that many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_hex = text.len() == digits && text.bytes().all(is_digit);
    is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [JRNL-06]
    #[test]
    fn a_position_reads_back_and_nothing_else_is_one() {
        let position = Position {
            epoch: Epoch(0x0f6a_31c2_9be4_4d07),
            seq: 12,
            sum: 0x9b1f_00c3,
        };
        let text = "0f6a31c29be44d07-12-9b1f00c3";
        assert_eq!(position.to_string(), text);
        assert_eq!(text.parse(), Ok(position));
        for wrong in [
            "",
            "12",
            "-1",
            "0f6a31c29be44d07-12",
            "0f6a31c29be44d07-12-9b1f00c3-",
            "0f6a31c29be44d07--9b1f00c3",
            "0f6a31c29be44d07-+2-9b1f00c3",
            "0f6a31c29be44d07-012-9b1f00c3",
            "0F6A31C29BE44D07-12-9b1f00c3",
            "0f6a31c29be44d07-12-9b1f00c",
            "0f6a31c29be44d07-18446744073709551616-9b1f00c3",
            " 0f6a31c29be44d07-12-9b1f00c3",
            "0f6a31c29be44d07-1\u{662}-9b1f00c3",
        ] {
            assert_eq!(wrong.parse::<Position>(), Err(PositionError), "{wrong}");
        }
    }
}
