//! Lengths of time as people read them.

/// A duration: `12 ms`, `1.2 s`, `38 s`, `2 min 5 s`, `1 h 3 min`.
#[must_use]
pub fn took(millis: u64) -> String {
    let seconds = millis.saturating_add(500) / 1_000;
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..9_950 => {
            let tenths = (millis + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        _ => match seconds {
            0..60 => format!("{seconds} s"),
            60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
            _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        },
    }
}

/// The same in whole seconds, for what is not so exact: `14 s`; less than one is `0 s`.
#[must_use]
pub fn took_about(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{} s", millis / 1_000),
        _ => took(millis),
    }
}

/// The time since something, in the largest unit: `now` below a minute, `5 min`, `3 h`, `12 d`.
#[must_use]
pub fn age(seconds: u64) -> String {
    match seconds / 60 {
        0 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes => match minutes / 60 {
            hours @ 0..48 => format!("{hours} h"),
            hours => format!("{} d", hours / 24),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [VIEW-260]
    #[test]
    fn times_are_as_people_read_them() {
        for (millis, words) in [
            (0, "0 ms"),
            (12, "12 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (1_249, "1.2 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (38_200, "38 s"),
            (59_600, "1 min 0 s"),
            (125_000, "2 min 5 s"),
            (3_780_000, "1 h 3 min"),
        ] {
            assert_eq!(took(millis), words);
        }
        assert_eq!(took_about(14_400), "14 s");
        assert_eq!(took_about(999), "0 s");
        assert_eq!(took_about(9_999), "9 s");
    }

    /// Spec: [TUI-794]
    #[test]
    fn ages_have_one_unit() {
        for (seconds, words) in [
            (0, "now"),
            (59, "now"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
        ] {
            assert_eq!(age(seconds), words);
        }
    }
}
