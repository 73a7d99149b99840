//! Looking at files and reading them: bounded, and without waiting for what is no file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::fcntl::OFlag;

/// What tells whether a file is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    pub(super) owner: u32,
    pub(super) bytes: u64,
    modified: (i64, i64),
    /// When anything about it was changed; nobody can set this time.
    pub(super) changed: (i64, i64),
}

/// Looks at a file; nothing if there is none.
///
/// # Errors
/// Why what is there cannot be read.
pub(super) fn look(path: &Path) -> Result<Option<Stamp>, String> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(Some(Stamp {
            device: found.dev(),
            number: found.ino(),
            owner: found.uid(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })),
        Ok(_) => Err("it is not a file".to_owned()),
        Err(error) if is_absence(error.kind()) => match fs::symlink_metadata(path) {
            Ok(_) => Err("it is a link that leads nowhere".to_owned()),
            Err(_) => Ok(None),
        },
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

/// Whether there is nothing, instead of something that cannot be read.
pub(super) fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The beginning of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// With line feeds alone at the ends of lines, and without a byte order mark.
    pub(super) text: String,
    /// Whether there is more.
    pub(super) is_cut: bool,
}

/// Reads a file of UTF-8 text, or its first `max` bytes.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(path: &Path, max: usize) -> Result<Text, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let opened = OpenOptions::new()
        .read(true)
        // It may have become something else since it was looked at, such as a pipe.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path);
    let file = opened.map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let is_cut = bytes.len() > max;
    bytes.truncate(max);
    let text = decoded(&bytes, is_cut)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(Text {
        text: text.replace("\r\n", "\n"),
        is_cut,
    })
}

/// The text in the bytes. A character that was cut in two is left out.
fn decoded(bytes: &[u8], is_cut: bool) -> Result<&str, String> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) if is_cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Err(_) => bytes,
    };
    std::str::from_utf8(whole).map_err(|error| {
        let place = error.valid_up_to();
        format!("it is not UTF-8 text, see its byte {place}")
    })
}

/// A path as it is shown: on one line.
pub(super) fn shown(path: &Path) -> String {
    line(&path.display().to_string())
}

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    use super::*;

    /// Spec: [GUIDE-25]
    #[test]
    fn what_is_no_file_is_neither_opened_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        symlink(at("gone"), at("dangling")).unwrap();
        for name in ["folder", "pipe"] {
            assert_eq!(look(&at(name)).unwrap_err(), "it is not a file");
            assert_eq!(read(&at(name), 9).unwrap_err(), "it is not a file");
        }
        for (name, reason) in [
            ("loop", "it cannot be read: "),
            ("dangling", "it is a link that leads nowhere"),
        ] {
            assert!(look(&at(name)).unwrap_err().starts_with(reason), "{name}");
            assert!(read(&at(name), 9).is_err(), "{name}");
        }
        assert_eq!(look(&at("none")), Ok(None));
        assert_eq!(look(&at("none/none")), Ok(None));
    }

    /// Spec: [GUIDE-26]
    #[test]
    fn a_text_is_read_up_to_its_bound_and_never_half_a_character() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let check = |bytes: &[u8], max: usize| {
            fs::write(&path, bytes).unwrap();
            read(&path, max).map(|Text { text, is_cut }| (text, is_cut))
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

    /// Spec: [GUIDE-24]
    #[test]
    fn a_path_is_shown_on_one_line() {
        assert_eq!(shown(Path::new("/a b/\n\u{1b}ü")), "/a b/\\n\\u{1b}ü");
    }
}
