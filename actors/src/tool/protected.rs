//! The one list of places that tell other programs what to do, for the tools that change files and for commands.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The folder and the file by which git finds a repository.
const GIT: &str = ".git";
/// Files and folders that tell other programs what to do, wherever below the folder they are. `*` at the end matches
/// any text.
///
/// Source: the documentation of each program on files of a folder that it reads or runs. Files that are themselves the
/// programs or the build of a project, such as `Makefile` and `package.json`, are not among them.
const PROTECTED: &[&str] = &[
    // Git.
    GIT,
    ".gitmodules",
    ".gitattributes",
    // What runs before and after commits.
    ".husky",
    ".pre-commit-config*",
    "lefthook*",
    ".lefthook*",
    // Environments: direnv, mise, Dev Containers.
    ".envrc",
    ".mise",
    ".mise.toml",
    ".mise.local.toml",
    "mise.toml",
    "mise.local.toml",
    ".devcontainer*",
    // Editors: VS Code, those of JetBrains, Zed, Vim, Neovim, Emacs.
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    // Debuggers and interpreters.
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".perldb",
    ".ghci",
    ".ocamlinit",
    ".iex.exs",
    ".irbrc",
    ".pryrc",
    ".octaverc",
    ".Rprofile",
    // Package managers and builders: npm, pnpm, Yarn, Bun, Bazel, Maven.
    ".npmrc",
    ".pnpmfile*",
    ".yarnrc*",
    "bunfig.toml",
    ".bazelrc",
    ".mvn",
    // Shells.
    ".bashrc",
    ".bash_aliases",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".inputrc",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    // Agents.
    "AGENTS.md",
    "AGENTS.override.md",
    "AGENT.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".agents",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".cursorrules",
    ".opencode",
    "opencode.json*",
    ".windsurf",
    ".windsurfrules",
    ".clinerules",
    ".roo",
    ".roomodes",
    ".kiro",
    ".continue",
    ".junie",
    ".aider.conf.yml",
    ".goosehints",
    ".mcp.json",
];
/// Files below a folder of that name.
const PROTECTED_IN: &[(&str, &str)] = &[
    (".cargo", "config*"),
    (".config", "fish"),
    (".config", "mise*"),
    (".github", "copilot-instructions.md"),
    (".github", "instructions"),
];
/// The entries that make a bare repository of a folder: git runs its hooks.
const BARE: &[&str] = &["HEAD", "objects", "refs", "hooks", "config"];
/// Places of [`PROTECTED_IN`] whose names are known in full.
const NAMED_IN: [&str; 6] = [
    ".cargo/config",
    ".cargo/config.toml",
    ".config/fish",
    ".config/mise",
    ".github/copilot-instructions.md",
    ".github/instructions",
];

/// The names of [`PROTECTED`] by their first byte in lower case. Each file of a folder is compared, and most begin with the
/// byte of none.
static BY_FIRST_BYTE: LazyLock<[Vec<&'static str>; 256]> = LazyLock::new(|| {
    let mut names: [Vec<&'static str>; 256] = std::array::from_fn(|_| Vec::new());
    for name in PROTECTED {
        let first = name.as_bytes()[0].to_ascii_lowercase();
        names[usize::from(first)].push(name);
    }
    names
});

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

/// True if a file of that name is protected content, in a folder of that name that is not.
pub(super) fn is_content_name(folder: Option<&OsStr>, name: &OsStr) -> bool {
    // Only letters that are not ASCII have other small ones than those that are compared.
    fn small(name: &OsStr) -> Cow<'_, str> {
        match name.to_string_lossy() {
            text if text.is_ascii() => text,
            text => text.to_lowercase().into(),
        }
    }
    let name = small(name);
    let is_in = |folder| is_listed_in(&small(folder), &name);
    !name.eq_ignore_ascii_case(GIT) && (is_listed(&name) || folder.is_some_and(is_in))
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
    let first = name.bytes().next().unwrap_or_default();
    let patterns = &BY_FIRST_BYTE[usize::from(first.to_ascii_lowercase())];
    patterns.iter().any(|pattern| covers(pattern, name))
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
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// Spec: [BASH-550]
    #[test]
    fn the_manual_lists_each_protected_name() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tools.md");
        let page = fs::read_to_string(page).unwrap();
        let block = page.split("```text\n.git ").nth(1).unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let listed = block.split_whitespace().map(str::to_owned);
        let listed: BTreeSet<String> = listed.chain([GIT.to_owned()]).collect();
        let names = PROTECTED.iter().map(|name| (*name).to_owned());
        let below = PROTECTED_IN
            .iter()
            .map(|(folder, name)| format!("{folder}/{name}"));
        assert_eq!(listed, names.chain(below).collect());
    }

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
            for written in [name.clone(), name.to_uppercase()] {
                let is_one = is_content_name(None, OsStr::new(&written));
                assert_eq!(is_one, name != GIT, "{name}");
            }
            assert!(is_protected_name(OsStr::new(&name)), "{name}");
        }
        for place in [".cargo/config.toml", "a/.config/fish", ".Cargo/Config"] {
            assert_eq!(content_place(Path::new(place)), Some(place.into()));
        }
        for place in NAMED_IN {
            assert_eq!(content_place(Path::new(place)), Some(place.into()));
            let (folder, name) = place.split_once('/').unwrap();
            assert!(is_content_name(Some(OsStr::new(folder)), OsStr::new(name)));
            assert!(!is_content_name(Some(OsStr::new("src")), OsStr::new(name)));
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
