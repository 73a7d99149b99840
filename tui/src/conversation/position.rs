//! The position of a client in a conversation.

/// The position after a record of one life of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamPosition {
    /// The life of the journal.
    pub(super) epoch: u64,
    /// The record.
    pub(super) seq: u64,
}

impl StreamPosition {
    /// Reads `<epoch>-<seq>-<sum>`. The first and the last part are hexadecimal.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rest, sum) = text.rsplit_once('-')?;
        let (epoch, seq) = rest.rsplit_once('-')?;
        u32::from_str_radix(sum, 16).ok()?;
        Some(Self {
            epoch: u64::from_str_radix(epoch, 16).ok()?,
            seq: seq.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [PART-03]
    #[test]
    fn a_position_has_three_parts() {
        let read =
            |text| StreamPosition::parse(text).map(|position| (position.epoch, position.seq));
        for (text, expected) in [
            (
                "0f6a31c29be44d07-12-9b1f00c3",
                Some((0x0f6a_31c2_9be4_4d07, 12)),
            ),
            ("a-0-0", Some((10, 0))),
            ("12-9b1f00c3", None),
            ("x-1-0", None),
            ("a-b-0", None),
            ("a-1-x", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
