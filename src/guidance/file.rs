//! A file's stamp, which tells whether it has changed, and its text: bounded, and without secrets.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use harness_actors::Redaction;

use crate::visible;

/// How much is read beyond a bound, in bytes, so that a secret that the bound would cut in two is
/// known there. More than any secret has.
const BEYOND: usize = 16 * 1024;

/// The properties that tell whether a file is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuidanceStamp {
    device: u64,
    number: u64,
    pub(super) bytes: u64,
    modified: (i64, i64),
    /// When anything about it was changed; no program can set this time.
    pub(super) changed: (i64, i64),
}

impl GuidanceStamp {
    pub(super) fn from_metadata(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            number: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// The beginning of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// With line feeds alone at the ends of lines, and without a byte order mark.
    pub(super) text: String,
    /// Whether there is more.
    pub(super) is_cut: bool,
}

/// Reads a file of UTF-8 text without what is secret in it, or its first `max` bytes.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(file: File, max: usize, redaction: &Redaction) -> Result<Text, String> {
    let most = max + BEYOND;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    let is_cut = bytes.len() > max;
    let is_whole = bytes.len() <= most;
    bytes.truncate(most);
    let text = decoded(&bytes, max)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut text = redaction.apply(text.replace("\r\n", "\n"));
    if is_cut {
        // Part of a secret may stand at the end of what was read.
        let sure = text.len().saturating_sub(if is_whole { 0 } else { BEYOND });
        text.truncate(text.floor_char_boundary(sure.min(max)));
    }
    Ok(Text { text, is_cut })
}

/// The text in the bytes. What is no text beyond `max` is left out, such as half a character.
fn decoded(bytes: &[u8], max: usize) -> Result<&str, String> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) if bytes.len() > max && error.valid_up_to() >= max => {
            &bytes[..error.valid_up_to()]
        }
        Err(_) => bytes,
    };
    std::str::from_utf8(whole).map_err(|error| {
        let place = error.valid_up_to();
        format!("it is not UTF-8 text, see its byte {place}")
    })
}

/// A path for messages: on one line.
pub(super) fn display_path(path: &Path) -> String {
    visible::line(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [GUIDE-26]
    #[test]
    fn a_text_is_read_up_to_its_bound_and_never_half_a_character() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let check = |bytes: &[u8], max: usize| {
            fs::write(&path, bytes).unwrap();
            let file = File::open(&path).unwrap();
            read(file, max, &Redaction::default()).map(|Text { text, is_cut }| (text, is_cut))
        };
        let text = |text: &str, is_cut| Ok((text.to_owned(), is_cut));
        assert_eq!(check("aü".as_bytes(), 3), text("aü", false));
        assert_eq!(check("aü".as_bytes(), 2), text("a", true));
        assert_eq!(
            check("\u{feff}a\r\nb\rc\n".as_bytes(), 99),
            text("a\nb\rc\n", false)
        );
        assert_eq!(check(b"", 0), text("", false));
        let refusal = "it is not UTF-8 text, see its byte 1".to_owned();
        assert_eq!(check(b"a\xc3", 9), Err(refusal.clone()));
        assert_eq!(check(b"a\xffbc", 3), Err(refusal));
    }

    /// Spec: [GUIDE-66]
    #[test]
    fn a_secret_that_a_bound_cuts_in_two_is_not_shown_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let secret = "sk-ant-0123456789";
        let redaction = Redaction::new(vec![secret.into()]);
        for max in 1..60 {
            for tail in [
                0,
                5,
                BEYOND - 30,
                BEYOND - 25,
                BEYOND - 20,
                BEYOND,
                3 * BEYOND,
            ] {
                let text = format!("ab {secret} {secret}{}", "x".repeat(tail));
                fs::write(&path, text).unwrap();
                let file = File::open(&path).unwrap();
                let read = read(file, max, &redaction).unwrap();
                let shown = format!("ab *** ***{}", "x".repeat(tail));
                assert!(shown.starts_with(&read.text), "{max} {tail}: {}", read.text);
                assert!(read.text.len() <= max || !read.is_cut);
            }
        }
        // Many that are taken out make the text short, and the end of it is near its beginning.
        let text = secret.repeat(4 * BEYOND);
        fs::write(&path, text).unwrap();
        let file = File::open(&path).unwrap();
        let read = read(file, BEYOND, &redaction).unwrap();
        assert!(read.text.chars().all(|c| c == '*'), "{}", read.text);
    }

    /// Spec: [GUIDE-24]
    #[test]
    fn a_path_is_shown_on_one_line() {
        assert_eq!(
            display_path(Path::new("/a b/\n\u{1b}ü")),
            "/a b/\\n\\u{1b}ü"
        );
    }
}
