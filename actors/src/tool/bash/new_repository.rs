//! A repository that a command has made: git asks nobody before it runs what its configuration names.

use std::fs;
use std::path::Path;

use super::guard::put_aside;

/// The keys that run nothing, by section.
///
/// Source: git-config(1).
const PLAIN: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "symlinks",
            "ignorecase",
            "precomposeunicode",
            "autocrlf",
            "eol",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("init", &["defaultbranch"]),
    ("user", &["name", "email"]),
    ("remote", &["url", "fetch"]),
    ("branch", &["remote", "merge"]),
    ("commit", &["gpgsign"]),
];

/// Looks at the repository in a folder that had none before the command: its hooks are put aside, and all of
/// it if its configuration names programs or it is elsewhere. A line for each.
pub(super) fn check(workspace: &Path) -> Vec<String> {
    let git = workspace.join(".git");
    let Ok(found) = fs::symlink_metadata(&git) else {
        return Vec::new();
    };
    let config = git.join("config");
    let text = match fs::symlink_metadata(&config) {
        Ok(config_found) if config_found.is_file() => fs::read_to_string(&config).ok(),
        Ok(_) => None,
        Err(_) => Some(String::new()),
    };
    let is_plain = found.is_dir()
        && text.is_some_and(|text| is_plain_config(&text))
        && !git.join("config.worktree").exists();
    if !is_plain {
        return vec![aside(
            &git,
            "the new repository names programs for git to run",
        )];
    }
    let hooks = fs::read_dir(git.join("hooks"))
        .into_iter()
        .flatten()
        .flatten();
    let hooks = hooks.filter(|entry| !entry.file_name().to_string_lossy().ends_with(".sample"));
    hooks
        .map(|entry| aside(&entry.path(), "a hook of the new repository"))
        .collect()
}

fn aside(path: &Path, what: &str) -> String {
    let name = path.display();
    match put_aside(path) {
        Ok(aside) => format!("{name}: {what}; it was put aside as {}", aside.display()),
        Err(error) => format!("{name}: {what}; it could not be put aside: {error}"),
    }
}

/// Whether a configuration has nothing but keys that run nothing.
fn is_plain_config(text: &str) -> bool {
    let mut keys: &[&str] = &[];
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.ends_with('\\') {
            return false;
        }
        if let Some(section) = line.strip_prefix('[') {
            let Some(section) = section.strip_suffix(']') else {
                return false; // A key may stand behind it.
            };
            let name = section.split([' ', '"', '.']).next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == name) else {
                return false;
            };
            keys = plain;
            continue;
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        if !keys.contains(&&*key.to_ascii_lowercase()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-07]
    #[test]
    fn a_configuration_that_runs_something_is_not_plain() {
        for plain in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
            "[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "# text\n[user]\n name = ana\n",
        ] {
            assert!(is_plain_config(plain), "{plain}");
        }
        for other in [
            "[core]\n\tfsmonitor = evil\n",
            "[core] fsmonitor = evil\n",
            "[CORE]\nhooksPath = x\n",
            "[alias]\n\tst = !evil\n",
            "[include]\n\tpath = x\n",
            "[remote \"origin\"]\n\tuploadpack = evil\n",
            "[core]\n\tfilemode = \\\ntrue\n",
            "fsmonitor = evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
        ] {
            assert!(!is_plain_config(other), "{other}");
        }
    }

    /// Spec: [BASH-07]
    #[test]
    fn a_new_repository_has_no_hooks_and_names_no_programs() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        assert_eq!(check(home.path()), [""; 0]);
        fs::create_dir_all(at(".git/hooks")).unwrap();
        fs::write(at(".git/hooks/pre-commit.sample"), "").unwrap();
        fs::write(at(".git/config"), "[core]\n\tbare = false\n").unwrap();
        assert_eq!(check(home.path()), [""; 0]);
        fs::write(at(".git/hooks/pre-commit"), "evil").unwrap();
        assert_eq!(check(home.path()).len(), 1);
        assert!(!at(".git/hooks/pre-commit").exists() && at(".git").exists());
        fs::write(at(".git/config"), "[core]\n\tfsmonitor = evil\n").unwrap();
        assert_eq!(check(home.path()).len(), 1);
        assert!(!at(".git").exists());
    }
}
