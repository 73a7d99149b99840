//! The folders that guidance is looked for in.

use std::path::{Path, PathBuf};

use super::grounds::FileOrigin;

/// The folders with skills. If two have one of the same name, the first wins.
pub(super) fn skill_folders(home: &Path, workspace: &Path) -> Vec<(FileOrigin, PathBuf)> {
    vec![
        (FileOrigin::Workspace, workspace.join(".agents/skills")),
        (FileOrigin::Workspace, workspace.join(".claude/skills")),
        (FileOrigin::StateFolder, home.join("skills")),
    ]
}

/// The folders with templates. If two have one of the same name, the first wins.
pub(super) fn template_folders(home: &Path, workspace: &Path) -> Vec<(FileOrigin, PathBuf)> {
    vec![
        (FileOrigin::Workspace, workspace.join(".agents/templates")),
        (FileOrigin::Workspace, workspace.join(".agents/prompts")),
        (FileOrigin::Workspace, workspace.join(".claude/commands")),
        (FileOrigin::StateFolder, home.join("templates")),
    ]
}

/// The folders with context files, each once, in the order in which the model receives them: what
/// is nearer to the work comes later.
pub(super) fn context_folders(home: &Path, workspace: &Path) -> Vec<(FileOrigin, PathBuf)> {
    let others = workspace.ancestors().filter(|folder| *folder != home);
    let mut folders: Vec<(FileOrigin, PathBuf)> = others
        .map(|folder| {
            let is_above = folder != workspace;
            let origin = if is_above {
                FileOrigin::Above
            } else {
                FileOrigin::Workspace
            };
            (origin, folder.to_owned())
        })
        .collect();
    folders.push((FileOrigin::StateFolder, home.to_owned()));
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
            let mark = |origin: &FileOrigin| match origin {
                FileOrigin::StateFolder => "own",
                FileOrigin::Workspace => "work",
                FileOrigin::Above => "above",
            };
            let texts = folders.iter();
            texts
                .map(|(origin, folder)| format!("{} {}", mark(origin), folder.display()))
                .collect()
        };
        assert_eq!(
            folders("/home/a/.harness", "/home/a/src/x"),
            [
                "own /home/a/.harness",
                "above /",
                "above /home",
                "above /home/a",
                "above /home/a/src",
                "work /home/a/src/x"
            ]
        );
        assert_eq!(folders("/h", "/h/x"), ["own /h", "above /", "work /h/x"]);
        assert_eq!(folders("/h", "/h"), ["own /h", "above /"]);
    }
}
