//! A repository that a command has made: git asks no operator before it runs what its configuration names.

use std::ffi::OsStr;
use std::path::Path;

use super::git_look::configuration_programs;
use super::held_folder::{EntryKind, HeldFolder};

/// Looks at the repository in a folder that had none before the command: its hooks are put aside, and all of
/// it if its configuration names programs or it is elsewhere. A line for each.
pub(super) fn check(folder: &HeldFolder, path: &Path) -> Vec<String> {
    let git = OsStr::new(".git");
    let reason = match folder.kind(git) {
        Ok(None) => return Vec::new(),
        Ok(Some(EntryKind::Folder)) => match folder.folder(git) {
            Ok(inner) => match configuration_programs(&inner).pop_first() {
                None => return hooks(&inner, &path.join(git)),
                Some(reason) => reason,
            },
            Err(error) => format!("it cannot be opened: {error}"),
        },
        Ok(Some(_)) => "it leads to a repository elsewhere".to_owned(),
        Err(error) => format!("it cannot be looked at: {error}"),
    };
    vec![aside(
        folder,
        git,
        path,
        &format!("the new repository was not taken, {reason}"),
    )]
}

/// Puts the hooks aside.
fn hooks(git: &HeldFolder, path: &Path) -> Vec<String> {
    let name = OsStr::new("hooks");
    let what = "a hook of the new repository";
    let hooks = match git.kind(name) {
        Ok(None) => return Vec::new(),
        Ok(Some(EntryKind::Folder)) => git.folder(name),
        // Git follows a link to hooks that are elsewhere.
        Ok(Some(_)) | Err(_) => {
            return vec![aside(git, name, path, "the hooks of the new repository")];
        }
    };
    let path = path.join(name);
    let listed = hooks.and_then(|hooks| Ok((hooks.names()?, hooks)));
    let Ok((names, hooks)) = listed else {
        return vec![aside(git, name, path.parent().unwrap_or(&path), what)];
    };
    let is_hook = |name: &&std::ffi::OsString| !name.as_encoded_bytes().ends_with(b".sample");
    let names = names.iter().filter(is_hook);
    names
        .map(|name| aside_into(&hooks, name, git, &path, what))
        .collect()
}

fn aside(folder: &HeldFolder, name: &OsStr, path: &Path, what: &str) -> String {
    aside_into(folder, name, folder, path, what)
}

fn aside_into(
    folder: &HeldFolder,
    name: &OsStr,
    into: &HeldFolder,
    path: &Path,
    what: &str,
) -> String {
    let shown = path.join(name);
    let shown = shown.display();
    match folder.put_aside(name, into) {
        Ok(aside) => format!("{shown}: {what}; it was put aside as {}", aside.display()),
        Err(error) => format!("{shown}: {what}; it could not be put aside: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [BASH-07] [BASH-206]
    #[test]
    fn a_new_repository_has_no_hooks_and_names_no_programs() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let held = HeldFolder::open(home.path()).unwrap();
        let check = || check(&held, home.path());
        assert_eq!(check(), [""; 0]);
        fs::create_dir_all(at(".git/hooks")).unwrap();
        fs::write(at(".git/hooks/pre-commit.sample"), "").unwrap();
        fs::write(
            at(".git/config"),
            "[core]\n\tbare = false\n[pull]\n\trebase = false\n",
        )
        .unwrap();
        assert_eq!(check(), [""; 0]);
        fs::write(at(".git/hooks/pre-commit"), "evil").unwrap();
        assert_eq!(check().len(), 1);
        assert!(!at(".git/hooks/pre-commit").exists() && at(".git").exists());
        // What is elsewhere is not touched.
        fs::create_dir(at("out")).unwrap();
        fs::write(at("out/key"), "kept").unwrap();
        fs::remove_dir_all(at(".git/hooks")).unwrap();
        symlink(at("out"), at(".git/hooks")).unwrap();
        assert_eq!(check().len(), 1);
        assert!(fs::symlink_metadata(at(".git/hooks")).is_err());
        assert_eq!(fs::read(at("out/key")).unwrap(), b"kept");
        for (name, text) in [
            ("config", "[core]\n\tfsmonitor = evil\n"),
            ("config.worktree", "[core]\n\tfsmonitor = evil\n"),
            ("commondir", "../out\n"),
        ] {
            fs::create_dir_all(at(".git")).unwrap();
            fs::write(at(".git").join(name), text).unwrap();
            assert_eq!(check().len(), 1, "{name}");
            assert!(!at(".git").exists(), "{name}");
        }
        symlink(at("out"), at(".git")).unwrap();
        assert_eq!(check().len(), 1);
        assert!(fs::symlink_metadata(at(".git")).is_err());
        assert_eq!(fs::read_dir(at("out")).unwrap().count(), 1);
    }
}
