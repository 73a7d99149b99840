//! The folders that guidance is looked for in.

use std::path::{Path, PathBuf};

/// The folders with skills. If two have one of the same name, the first wins.
pub(super) fn skill_folders(home: &Path, workspace: &Path) -> Vec<PathBuf> {
    vec![
        workspace.join(".agents/skills"),
        workspace.join(".claude/skills"),
        home.join("skills"),
    ]
}

/// The folders with templates. If two have one of the same name, the first wins.
pub(super) fn template_folders(home: &Path, workspace: &Path) -> Vec<PathBuf> {
    vec![
        workspace.join(".agents/templates"),
        workspace.join(".agents/prompts"),
        workspace.join(".claude/commands"),
        home.join("templates"),
    ]
}

/// The folders with context files, each once, in the order in which the model is told them: what
/// is nearer to the work comes later.
pub(super) fn context_folders(home: &Path, workspace: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = workspace.ancestors().map(Path::to_owned).collect();
    folders.retain(|folder| folder != home);
    folders.push(home.to_owned());
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [GUIDE-30]
    #[test]
    fn context_comes_from_the_state_folder_and_then_from_the_outside_in() {
        let folders = |home: &str, workspace: &str| -> Vec<String> {
            let folders = context_folders(Path::new(home), Path::new(workspace));
            let texts = folders.iter().map(|folder| folder.to_str().unwrap());
            texts.map(str::to_owned).collect()
        };
        assert_eq!(
            folders("/home/a/.harness", "/home/a/src/x"),
            [
                "/home/a/.harness",
                "/",
                "/home",
                "/home/a",
                "/home/a/src",
                "/home/a/src/x"
            ]
        );
        assert_eq!(folders("/h", "/h/x"), ["/h", "/", "/h/x"]);
        assert_eq!(folders("/h", "/h"), ["/h", "/"]);
    }
}
