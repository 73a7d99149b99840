//! `AGENTS.md` and its like: finding them, and the text of one for the model.

use std::path::{Path, PathBuf};

use harness_actors::guidance::ContextFile;

use super::file::{GuidanceStamp, Text};
use super::grounds::{FileOrigin, Grounds};

/// The names of context files; in a folder that has both, the first is used.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum size of one for the model, in bytes.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Finds the context file of a folder.
///
/// # Errors
/// Which file is not used, and why. No other is used in its place.
pub(super) fn find(
    grounds: &Grounds,
    origin: FileOrigin,
    folder: &Path,
) -> Result<Option<(PathBuf, GuidanceStamp)>, (PathBuf, String)> {
    for name in NAMES {
        let path = folder.join(name);
        match grounds.look(origin, &path) {
            Ok(Some(stamp)) => return Ok(Some((path, stamp))),
            Ok(None) => {}
            Err(reason) => return Err((path, reason)),
        }
    }
    Ok(None)
}

/// The text about one for the model, with a remark if it is too long.
///
/// # Errors
/// Why it cannot be told.
pub(super) fn bounded_file(
    path: &Path,
    text: Text,
) -> Result<(ContextFile, Option<String>), String> {
    let Text { mut text, is_cut } = text;
    let place = path.to_str().ok_or("its path is not UTF-8 text")?;
    let remark = is_cut.then(|| {
        text += &format!("\n[The rest is left out: this file has more than {MAX_BYTES} bytes.]\n");
        format!("only its first {MAX_BYTES} bytes are used")
    });
    let file = ContextFile {
        path: place.to_owned(),
        text,
    };
    Ok((file, remark))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use harness_actors::Redaction;

    use super::*;
    use crate::guidance::file;

    /// Spec: [GUIDE-31]
    #[test]
    fn claude_md_is_used_where_there_is_no_agents_md() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let found = || {
            let grounds = Grounds::open(&at("home"), folder.path());
            let found = find(&grounds, FileOrigin::Workspace, folder.path());
            found.map(|found| found.map(|(path, _)| path))
        };
        assert_eq!(found(), Ok(None));
        fs::write(at("CLAUDE.md"), "c").unwrap();
        assert_eq!(found(), Ok(Some(at("CLAUDE.md"))));
        fs::write(at("AGENTS.md"), "a").unwrap();
        assert_eq!(found(), Ok(Some(at("AGENTS.md"))));
        fs::remove_file(at("AGENTS.md")).unwrap();
        fs::create_dir(at("AGENTS.md")).unwrap();
        assert_eq!(found().unwrap_err().0, at("AGENTS.md"));
    }

    /// Spec: [GUIDE-32]
    #[test]
    fn a_file_that_is_too_long_is_cut_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("AGENTS.md");
        let told = || {
            let file = File::open(&path).unwrap();
            bounded_file(&path, file::read(file, MAX_BYTES, &Redaction::default())?)
        };
        fs::write(&path, "x".repeat(MAX_BYTES)).unwrap();
        let (file, remark) = told().unwrap();
        assert_eq!((file.text.len(), remark), (MAX_BYTES, None));
        fs::write(&path, "x".repeat(MAX_BYTES + 1)).unwrap();
        let (file, remark) = told().unwrap();
        let (text, note) = file.text.split_once('\n').unwrap();
        assert_eq!(text.len(), MAX_BYTES);
        assert!(note.starts_with("[The rest is left out"), "{note}");
        assert!(remark.is_some());
    }
}
