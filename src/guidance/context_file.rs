//! `AGENTS.md` and its like: finding and reading them.

use std::path::{Path, PathBuf};

use harness_actors::guidance::ContextFile;

use super::file::{self, Stamp, Text};

/// The names of context files; in a folder that has both, the first is used.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of one the model is told, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Finds the context file of a folder.
///
/// # Errors
/// Which file cannot be read, and why. No other is used in its place.
pub(super) fn find(folder: &Path) -> Result<Option<(PathBuf, Stamp)>, (PathBuf, String)> {
    for name in NAMES {
        let path = folder.join(name);
        match file::look(&path) {
            Ok(Some(stamp)) => return Ok(Some((path, stamp))),
            Ok(None) => {}
            Err(reason) => return Err((path, reason)),
        }
    }
    Ok(None)
}

/// Reads one, with a remark if it is too long.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(path: &Path) -> Result<(ContextFile, Option<String>), String> {
    let Text { mut text, is_cut } = file::read(path, MAX_BYTES)?;
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

/// Whether a file of this owner in a folder above the working folder is used. In a folder that
/// everybody may write to, anybody could leave instructions for everybody's models.
pub(super) fn is_trusted(owner: u32, own: u32, owner_of_workspace: Option<u32>) -> bool {
    owner == 0 || owner == own || Some(owner) == owner_of_workspace
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [GUIDE-31]
    #[test]
    fn claude_md_is_used_where_there_is_no_agents_md() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let found = || find(folder.path()).map(|found| found.map(|(path, _)| path));
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
        fs::write(&path, "x".repeat(MAX_BYTES)).unwrap();
        let (file, remark) = read(&path).unwrap();
        assert_eq!((file.text.len(), remark), (MAX_BYTES, None));
        fs::write(&path, "x".repeat(MAX_BYTES + 1)).unwrap();
        let (file, remark) = read(&path).unwrap();
        let (text, note) = file.text.split_once('\n').unwrap();
        assert_eq!(text.len(), MAX_BYTES);
        assert!(note.starts_with("[The rest is left out"), "{note}");
        assert!(remark.is_some());
    }

    /// Spec: [GUIDE-33]
    #[test]
    fn what_others_leave_above_the_working_folder_is_not_used() {
        for (owner, trusted) in [(0, true), (7, true), (8, true), (9, false)] {
            assert_eq!(is_trusted(owner, 7, Some(8)), trusted, "{owner}");
        }
        assert!(!is_trusted(9, 7, None));
    }
}
