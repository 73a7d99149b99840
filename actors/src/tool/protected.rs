//! The one list of places that tell other programs what to do, for the tools that change files and for commands.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folder and the file by which git finds a repository.
const GIT: &str = ".git";
/// Files and folders that tell other programs what to do, wherever below the folder they are. `*` at the end matches
/// any text.
///
/// Source: the documentation of git, direnv, mise, VS Code, JetBrains' editors, Zed, Vim, GDB, husky, lefthook,
/// pre-commit, Dev Containers, Cargo, npm, pnpm and Yarn on files that they read or run without asking.
const PROTECTED: &[&str] = &[
    GIT,
    ".gitmodules",
    ".gitattributes",
    ".envrc",
    ".mise.toml",
    ".vscode",
    ".idea",
    ".zed",
    ".exrc",
    ".gdbinit",
    ".husky",
    ".devcontainer*",
    ".npmrc",
    ".pnpmfile.cjs",
    ".yarnrc*",
    ".pre-commit-config.yaml",
    "lefthook*",
    ".lefthook*",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".agents",
    ".claude",
    ".cursor",
    ".mcp.json",
];
/// Files below a folder of that name.
const PROTECTED_IN: &[(&str, &str)] = &[(".cargo", "config*"), (".config", "fish")];
/// The entries that make a bare repository of a folder: git runs its hooks.
const BARE: &[&str] = &["HEAD", "objects", "refs", "hooks", "config"];
/// Places of [`PROTECTED_IN`] whose names are known in full.
const NAMED_IN: [&str; 3] = [".cargo/config", ".cargo/config.toml", ".config/fish"];

/// True if a path below the folder tells other programs what to do. Letters count as the same in both sizes: some file
/// systems make no difference.
#[must_use]
pub fn is_protected(below: &Path) -> bool {
    let names = lower_names(below);
    let first = names.first().map(String::as_str).unwrap_or_default();
    let is_bare = BARE.iter().any(|bare| covers(bare, first));
    is_bare || protected_end(&names).is_some()
}

/// True if a file of that name tells other programs what to do, wherever below the folder it is.
pub(super) fn is_protected_name(name: &OsStr) -> bool {
    protected_end(&lower_names(Path::new(name))).is_some()
}

/// The uppermost part of a path below the folder that is protected content: files that git replaces when it moves
/// between commits. `None` for other files, for git's own, and for the files of a bare repository, whose names many
/// other files have.
pub(super) fn content_place(below: &Path) -> Option<PathBuf> {
    let names = lower_names(below);
    if names.iter().any(|name| name == GIT) {
        return None;
    }
    let end = protected_end(&names)?;
    Some(below.iter().take(end).collect())
}

/// The places of content right in the folder whose names are known in full, whether they exist or not.
pub(super) fn named_places() -> impl Iterator<Item = &'static str> {
    let names = PROTECTED.iter().copied();
    let names = names.filter(|name| *name != GIT && !name.ends_with('*'));
    names.chain(NAMED_IN)
}

/// The number of the names up to the first one that is protected.
fn protected_end(names: &[String]) -> Option<usize> {
    let is_protected = |end: &usize| match names.get(..*end) {
        Some([.., folder, name]) => is_listed(name) || is_listed_in(folder, name),
        Some([name]) => is_listed(name),
        Some([]) | None => false,
    };
    (1..=names.len()).find(is_protected)
}

fn is_listed(name: &str) -> bool {
    PROTECTED.iter().any(|pattern| covers(pattern, name))
}

fn is_listed_in(folder: &str, name: &str) -> bool {
    PROTECTED_IN
        .iter()
        .any(|(above, pattern)| covers(above, folder) && covers(pattern, name))
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => {
            let begin = name.get(..start.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        }
        None => name.eq_ignore_ascii_case(pattern),
    }
}

fn lower_names(below: &Path) -> Vec<String> {
    let names = below.components();
    names
        .map(|name| name.as_os_str().to_string_lossy().to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-550]
    #[test]
    fn each_protected_name_is_one_in_the_folder_and_below_it() {
        for name in PROTECTED.iter().map(|name| name.replace('*', "x")) {
            for place in [name.clone(), format!("src/deep/{name}")] {
                assert!(is_protected(Path::new(&place)), "{place}");
                let inner = format!("{}/inner/file", place.to_uppercase());
                assert!(is_protected(Path::new(&inner)), "{inner}");
                let wanted = (name != GIT).then(|| PathBuf::from(place.to_uppercase()));
                assert_eq!(content_place(Path::new(&inner)), wanted, "{inner}");
            }
            assert!(is_protected_name(OsStr::new(&name)), "{name}");
        }
        for place in [".cargo/config.toml", "a/.config/fish", ".Cargo/Config"] {
            assert_eq!(content_place(Path::new(place)), Some(place.into()));
        }
        for place in NAMED_IN {
            assert_eq!(content_place(Path::new(place)), Some(place.into()));
        }
        for place in ["src/main.rs", ".cargo/bin", "fish", ".gitignore", ""] {
            assert!(!is_protected(Path::new(place)), "{place}");
            assert_eq!(content_place(Path::new(place)), None, "{place}");
        }
        for bare in BARE {
            assert!(is_protected(Path::new(bare)), "{bare}");
            assert!(!is_protected(&Path::new("src").join(bare)), "{bare}");
            assert_eq!(content_place(Path::new(bare)), None, "{bare}");
            assert!(!is_protected_name(OsStr::new(bare)), "{bare}");
        }
        assert_eq!(content_place(Path::new("sub/.git/.vscode")), None);
        assert!(named_places().all(|place| is_protected(Path::new(place))));
    }
}
