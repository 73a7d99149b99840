//! Numbers as people read them.

/// A number with a comma at each thousand: `10,000`.
#[must_use]
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 line`, `10,000 lines`.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// A count of tokens in few characters: `812`, `3.1k`, `184k`, `1.2M`.
#[must_use]
pub fn short_count(count: u64) -> String {
    let (unit, sign) = match count {
        0..1_000 => return count.to_string(),
        1_000..999_500 => (1_000, 'k'),
        _ => (1_000_000, 'M'),
    };
    let tenths = count.saturating_add(unit / 20) / (unit / 10);
    if tenths < 100 {
        return format!("{}.{}{sign}", tenths / 10, tenths % 10);
    }
    format!("{}{sign}", count.saturating_add(unit / 2) / unit)
}

/// An amount of money, given in millionths of a US dollar: `$1.00`, `$0.8499`.
#[must_use]
pub fn dollars(micro_usd: u64) -> String {
    let text = format!("${}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000);
    let cents = text.len() - 4;
    let digits = text.trim_end_matches('0').len().max(cents);
    text[..digits].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [VIEW-260]
    #[test]
    fn numbers_are_as_people_read_them() {
        for (count, words) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(number(count), words);
        }
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(4_406, "line", "lines"), "4,406 lines");
        for (count, words) in [
            (0, "0"),
            (812, "812"),
            (3_149, "3.1k"),
            (3_150, "3.2k"),
            (9_960, "10k"),
            (184_400, "184k"),
            (999_499, "999k"),
            (1_234_567, "1.2M"),
            (20_000_000, "20M"),
        ] {
            assert_eq!(short_count(count), words);
        }
        for (micro_usd, words) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (849_900, "$0.8499"),
            (1_000_000, "$1.00"),
            (12_500_000, "$12.50"),
        ] {
            assert_eq!(dollars(micro_usd), words);
        }
    }
}
