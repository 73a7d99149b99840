//! Where a command starts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::{ToolError, closed};

/// The folder that a command starts in, without links: the one that it asks for, or where the last command
/// was, or the folder of the conversation. It has to be in that. Blocks.
///
/// # Errors
/// If it is not there, or elsewhere.
pub(super) fn find(
    workspace: &Path,
    asked: Option<&str>,
    last: Option<&Path>,
    closed_paths: &[PathBuf],
) -> Result<(PathBuf, PathBuf), ToolError> {
    let real = |path: &Path| fs::canonicalize(path);
    let workspace = real(workspace).map_err(|_| {
        let workspace = workspace.display();
        ToolError(format!(
            "the folder of this conversation is gone: {workspace}"
        ))
    })?;
    let Some(asked) = asked else {
        let last = last.and_then(|last| real(last).ok());
        let last = last.filter(|last| last.is_dir() && last.starts_with(&workspace));
        let is_open = |folder: &PathBuf| closed::check_path(folder, closed_paths).is_ok();
        let folder = last.filter(is_open).unwrap_or_else(|| workspace.clone());
        return Ok((workspace, folder));
    };
    let folder = real(&workspace.join(asked))
        .map_err(|error| ToolError(format!("workdir {asked:?}: {error}")))?;
    if !folder.is_dir() {
        return Err(ToolError(format!("workdir {asked:?} is no folder")));
    }
    if !folder.starts_with(&workspace) {
        let workspace = workspace.display();
        return Err(ToolError(format!(
            "workdir {asked:?} is outside of the folder of this conversation, {workspace}; use cd in the command"
        )));
    }
    closed::check_path(&folder, closed_paths)?;
    Ok((workspace, folder))
}

/// A folder for results: below the folder of the conversation by its name there.
pub(super) fn display_folder(workspace: &Path, folder: &Path) -> String {
    match folder.strip_prefix(workspace) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => folder.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-04]
    #[test]
    fn b10_a_command_starts_in_the_folder_of_the_conversation_or_below() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let workspace = real.join("w");
        fs::create_dir_all(workspace.join("src/deep")).unwrap();
        fs::create_dir_all(workspace.join("state")).unwrap();
        fs::create_dir(real.join("other")).unwrap();
        fs::write(workspace.join("file"), "").unwrap();
        std::os::unix::fs::symlink("../other", workspace.join("out")).unwrap();
        let closed = [workspace.join("state")];
        let at = |asked: Option<&str>, last: Option<&str>| {
            let last = last.map(|last| workspace.join(last));
            let found = find(&workspace, asked, last.as_deref(), &closed);
            found.map(|(workspace, folder)| display_folder(&workspace, &folder))
        };
        assert_eq!(at(None, None), Ok(".".to_owned()));
        assert_eq!(at(None, Some("src")), Ok("src".to_owned()));
        assert_eq!(at(Some("."), Some("src")), Ok(".".to_owned()));
        assert_eq!(at(Some("src/deep"), None), Ok("src/deep".to_owned()));
        for last in ["gone", "file", "out", "state", "../other"] {
            assert_eq!(at(None, Some(last)), Ok(".".to_owned()), "{last}");
        }
        for asked in ["gone", "file", "out", "..", "/", "state", "../other"] {
            assert!(at(Some(asked), None).is_err(), "{asked}");
        }
    }
}
