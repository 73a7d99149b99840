//! Which lines of a log are shown.

/// A time as a log has it.
const TIME: &str = "2026-11-22T14:15:19.123Z";

/// The lines that were logged at a time or later; a line without a time belongs to the one before
/// it.
pub(crate) fn since<'a>(lines: &[&'a str], time: &str) -> Vec<&'a str> {
    let is_later = |line: &&str| time_of(line).is_some_and(|of_line| of_line >= time);
    let first = lines.iter().position(is_later);
    first.map_or_else(Vec::new, |first| lines[first..].to_vec())
}

/// The last lines, at most so many.
pub(crate) fn last<'a>(lines: &[&'a str], count: usize) -> Vec<&'a str> {
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// The time at the beginning of a line.
pub(crate) fn time_of(line: &str) -> Option<&str> {
    let time = line.get(..TIME.len())?;
    let is_alike = |(is, like): (u8, u8)| match like {
        b'0'..=b'9' => is.is_ascii_digit(),
        like => is == like,
    };
    time.bytes().zip(TIME.bytes()).all(is_alike).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-98]
    #[test]
    fn lines_are_chosen_by_their_times_and_their_number() {
        let lines = [
            "harness listens on http://127.0.0.1:8421",
            "2026-11-22T14:15:19.123Z INFO  harness: one",
            "2026-11-22T14:16:00.000Z WARN  harness: two",
            "thread 'x' panicked",
            "2026-11-22T14:17:00.000Z INFO  harness: three",
        ];
        assert_eq!(since(&lines, "2026-11-22T14:15:19.124Z"), lines[2..]);
        assert_eq!(since(&lines, "2026-11-22T14:16:00.000Z"), lines[2..]);
        assert_eq!(since(&lines, "2026-11-22T14:00:00.000Z"), lines[1..]);
        assert_eq!(since(&lines, "2026-11-23T00:00:00.000Z"), [""; 0]);
        assert_eq!(last(&lines, 2), lines[3..]);
        assert_eq!(last(&lines, 9), lines);
        assert_eq!(last(&lines, 0), [""; 0]);
        for no_time in [
            "",
            "2026-11-22",
            "2026-11-22 14:16:00.000Z x",
            "日本語日本語日本語",
        ] {
            assert_eq!(time_of(no_time), None);
        }
    }
}
