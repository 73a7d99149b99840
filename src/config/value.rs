//! Checks of plain values: numbers, durations, switches, texts and files.

use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::error::SettingError;
use super::raw::RawSetting;
use super::secret::{MIN_TOKEN_CHARS, Secret, as_token, is_visible_ascii};

/// The longest duration: a year, far from where adding it to a clock overflows.
const MAX_DURATION: Duration = Duration::from_secs(8760 * 60 * 60);
/// The shortest duration.
const MIN_DURATION: Duration = Duration::from_millis(1);
/// The largest file of standing instructions; without a limit `/dev/zero` would never end.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

/// A whole number in a range.
pub(super) fn whole_number<N>(raw: &RawSetting, range: RangeInclusive<N>) -> Result<N, SettingError>
where
    N: FromStr + PartialOrd + Display,
{
    let text = raw.text.trim();
    let only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if only_digits && range.contains(&number) => Ok(number),
        _ => {
            let (from, to) = range.into_inner();
            Err(raw.refuse(&format!("be a whole number from {from} to {to}")))
        }
    }
}

/// A length of time such as `300ms`, `2s`, `1.5m` or `1h`; a bare number is seconds.
pub(super) fn duration(raw: &RawSetting) -> Result<Duration, SettingError> {
    match parse_duration(raw.text.trim()) {
        Some(duration) if (MIN_DURATION..=MAX_DURATION).contains(&duration) => Ok(duration),
        _ => Err(raw.refuse("be a duration such as 300ms, 2s, 5m or 1h, from 1ms to 8760h")),
    }
}

/// A duration, or none with the word `off`.
pub(super) fn duration_or_off(raw: &RawSetting) -> Result<Option<Duration>, SettingError> {
    if raw.text.trim() == "off" {
        return Ok(None);
    }
    duration(raw).map(Some)
}

/// A length of time as settings give it; any length.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_a_unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    // Rust also reads "+1", ".5" and "1."; a person who writes these may have slipped.
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_plain = match number.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(number),
    };
    let number: f64 = is_plain.then(|| number.parse().ok())??;
    Duration::try_from_secs_f64(number * seconds_a_unit).ok()
}

/// The units of sizes, the largest first.
const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
];

/// A number of bytes such as `1048576`, `500MB` or `20GiB`; nothing for `off` or 0.
pub(super) fn size(raw: &RawSetting) -> Result<Option<u64>, SettingError> {
    let text = raw.text.trim();
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    match parse_size(text) {
        Some(bytes) => Ok(Some(bytes).filter(|bytes| *bytes > 0)),
        None => Err(raw.refuse("be a number of bytes such as 500MB or 20GiB, or off")),
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let bytes = match unit {
        "" | "B" => 1,
        unit => {
            let mut units = UNITS.iter();
            let is_meant = |(name, _): &&(&str, u64)| name.eq_ignore_ascii_case(unit);
            units.find(is_meant)?.1
        }
    };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(bytes)
}

/// The size as a setting would give it.
pub(super) fn size_text(bytes: u64) -> String {
    let mut units = UNITS.iter();
    let whole = units.find(|(_, unit)| bytes.is_multiple_of(*unit));
    whole.map_or_else(
        || bytes.to_string(),
        |(name, unit)| format!("{}{name}", bytes / unit),
    )
}

/// `true` or `false`.
pub(super) fn switch(raw: &RawSetting) -> Result<bool, SettingError> {
    match raw.text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(raw.refuse("be true or false")),
    }
}

/// One line of printable ASCII that fits an HTTP header.
pub(super) fn header_text(raw: &RawSetting) -> Result<String, SettingError> {
    let text = raw.text.trim();
    if text
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic())
    {
        return Ok(text.to_owned());
    }
    Err(raw.refuse("be one line of printable ASCII characters"))
}

/// A key for the Messages API, without the space around it that copying leaves.
pub(super) fn key(raw: &RawSetting) -> Result<Secret, SettingError> {
    let text = raw.text.trim();
    if is_visible_ascii(text) {
        return Ok(Secret::from(text));
    }
    Err(raw.refuse("be visible ASCII characters without spaces; copy it again"))
}

/// The token that clients send.
pub(super) fn token(raw: &RawSetting) -> Result<Secret, SettingError> {
    as_token(raw.text.trim()).ok_or_else(|| {
        raw.refuse(&format!(
            "be at least {MIN_TOKEN_CHARS} visible ASCII characters"
        ))
    })
}

/// A folder that exists, as an absolute path without links.
pub(super) fn folder(raw: &RawSetting, path: &Path) -> Result<PathBuf, SettingError> {
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(_) => Err(raw.refuse("be a folder, not a file")),
        Err(error) => Err(raw.refuse(&format!("be a folder that exists ({error})"))),
    }
}

/// The text of a file of standing instructions.
pub(super) fn prompt_file(raw: &RawSetting, path: &Path) -> Result<String, SettingError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_PROMPT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| raw.refuse(&format!("be a file that can be read ({error})")))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        return Err(raw.refuse("be a file of at most 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| raw.refuse("be a file of UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::SettingSource;
    use crate::config::setting::Key;

    fn check(text: &str) -> Result<Duration, SettingError> {
        let source = SettingSource::Flag("tool-timeout");
        duration(&RawSetting {
            key: Key::ToolTimeout,
            text: text.to_owned(),
            source,
        })
    }

    /// Spec: [CONF-60]
    #[test]
    fn a_size_has_a_unit_or_is_in_bytes_and_is_shown_as_it_could_be_given() {
        let read = |text: &str| {
            let source = SettingSource::Flag("max-state-bytes");
            size(&RawSetting {
                key: Key::MaxStateBytes,
                text: text.to_owned(),
                source,
            })
        };
        for (text, bytes) in [
            ("1", 1),
            ("1000000", 1_000_000),
            ("1MB", 1_000_000),
            ("5mib", 5 << 20),
            (" 20GiB ", 20 << 30),
            ("2TB", 2_000_000_000_000),
            ("1536KiB", 1536 << 10),
        ] {
            let given = read(text).unwrap().unwrap();
            assert_eq!(given, bytes, "{text}");
            assert_eq!(read(&size_text(given)).unwrap(), Some(bytes), "{text}");
        }
        assert_eq!(
            (size_text(20 << 30), size_text(1001)),
            ("20GiB".into(), "1001".into())
        );
        for none in ["off", "OFF", "0", "0GiB"] {
            assert_eq!(read(none).unwrap(), None, "{none}");
        }
        for wrong in [
            "",
            "-1",
            "1.5GiB",
            "GiB",
            "20 GiB",
            "1PB",
            "99999999999TiB",
            "on",
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(
                error.contains("max_state_bytes must be a number of bytes"),
                "{error}"
            );
        }
    }

    /// Spec: [CONF-19]
    #[test]
    fn a_duration_has_a_unit_or_is_in_seconds() {
        for (text, millis) in [
            ("300ms", 300),
            ("2s", 2000),
            ("2", 2000),
            ("0.5", 500),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
            ("8760h", 31_536_000_000),
        ] {
            assert_eq!(
                check(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
        for wrong in [
            "", "s", ".5s", "1.s", "+1s", "1d", "1m30s", "inf", "NaN", "1.2.3",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
