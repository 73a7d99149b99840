//! Lengths of time as a file writes them: `30s`, `5m`, `8h`, `1h30m`.

/// The units, the longest first, with their seconds.
const UNITS: [(char, u64); 3] = [('h', 3600), ('m', 60), ('s', 1)];

/// The seconds of a text. `None` if it is not a length of time.
#[must_use]
pub fn seconds(text: &str) -> Option<u64> {
    let mut units = UNITS.into_iter();
    let mut rest = text;
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, behind) = rest.split_at(digits);
        let unit = behind.chars().next()?;
        // A unit occurs once, and after the longer ones.
        let (_, length) = units.find(|(name, _)| *name == unit)?;
        sum = number
            .parse::<u64>()
            .ok()?
            .checked_mul(length)?
            .checked_add(sum)?;
        rest = &behind[unit.len_utf8()..];
    }
    (!text.is_empty()).then_some(sum)
}

/// A time as a file writes it.
#[must_use]
pub fn text(seconds: u64) -> String {
    let mut rest = seconds;
    let mut text = String::new();
    for (name, length) in UNITS {
        if rest >= length {
            text += &format!("{}{name}", rest / length);
            rest %= length;
        }
    }
    if text.is_empty() {
        text += "0s";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-03]
    #[test]
    fn a_time_is_numbers_with_units_the_longest_first() {
        for (said, wanted) in [
            ("30s", 30),
            ("5m", 300),
            ("8h", 28_800),
            ("1h30m", 5400),
            ("1h1s", 3601),
            ("90m", 5400),
            ("0s", 0),
        ] {
            assert_eq!(seconds(said), Some(wanted), "{said}");
            assert_eq!(seconds(&text(wanted)), Some(wanted), "{said}");
        }
        for said in [
            "",
            "5",
            "m",
            "5 m",
            "5M",
            "m5",
            "-5m",
            "+5m",
            "1.5h",
            "5m5m",
            "30s1h",
            "1d",
            "5mm",
            "٥m",
            "5é",
            "99999999999999999999s",
            "9999999999999999999h",
        ] {
            assert_eq!(seconds(said), None, "{said}");
        }
        assert_eq!(text(5400), "1h30m");
    }
}
