//! Places in a folder that git's configuration names: files with more configuration, hooks, and programs.

use std::fs;
use std::path::{Path, PathBuf};

use super::git_config::{ConfigEntry, parse, read_git_file};
use crate::lexical::lexical;

/// Maximum number of files that one configuration may include, directly or not.
const MAX_FILES: usize = 64;
/// Maximum number of words of a program's command line that are looked at.
const MAX_WORDS: usize = 64;
/// Files with the configuration of a machine, which depend on how git was built.
const SYSTEM: [&str; 3] = [
    "/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
];
/// Names that git's hooks have.
///
/// Source: githooks(5).
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];
/// Programs that run the file that an argument names.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node",
    "deno", "bun", "php",
];
/// Signs that separate the words of a shell's command, or set what follows apart from them.
const SEPARATORS: &[char] = &[
    ' ', '\t', '\n', '"', '\'', '`', ';', '&', '|', '(', ')', '{', '}', '<', '>', '=', '!',
];
/// Signs in place of folders in a command line, so that their names are not split into words.
const TOP: char = '\u{1}';
const GIT_FOLDER: char = '\u{2}';
const HOME: char = '\u{3}';
/// The texts by which command lines name those folders.
const FOLDERS: [(&str, char); 13] = [
    ("$(git rev-parse --show-toplevel)", TOP),
    ("`git rev-parse --show-toplevel`", TOP),
    ("$(git rev-parse --git-dir)", GIT_FOLDER),
    ("$(git rev-parse --git-common-dir)", GIT_FOLDER),
    ("$(git rev-parse --absolute-git-dir)", GIT_FOLDER),
    ("${GIT_DIR}", GIT_FOLDER),
    ("$GIT_DIR", GIT_FOLDER),
    ("$(pwd)", TOP),
    ("`pwd`", TOP),
    ("${PWD}", TOP),
    ("$PWD", TOP),
    ("${HOME}", HOME),
    ("$HOME", HOME),
];

/// The operator's own configuration of git, which holds for all repositories.
#[derive(Debug, Clone, Default)]
pub(super) struct OperatorConfig {
    pub(super) files: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

impl OperatorConfig {
    /// The configuration that git reads in the environment of this process.
    ///
    /// Source: git-config(1), "FILES".
    pub(super) fn from_environment() -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = path("HOME").map(PathBuf::from);
        let more = path("XDG_CONFIG_HOME").map(PathBuf::from);
        let more = more.or_else(|| Some(home.as_ref()?.join(".config")));
        let mut files: Vec<PathBuf> = SYSTEM.map(PathBuf::from).to_vec();
        files.extend(path("GIT_CONFIG_SYSTEM").map(PathBuf::from));
        files.extend(more.map(|more| more.join("git/config")));
        files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
        files.extend(path("GIT_CONFIG_GLOBAL").map(PathBuf::from));
        Self { files, home }
    }

    fn home(&self) -> Option<PathBuf> {
        fs::canonicalize(self.home.as_ref()?).ok()
    }
}

/// The folders that a configuration names places from.
struct ConfigFolders<'n> {
    git: &'n Path,
    worktree: &'n Path,
    home: Option<PathBuf>,
}

/// The files with the operator's configuration, and the places that it and the one in a git folder name, by relative
/// paths or by absolute ones: included files and the folder of hooks, whether they exist or not, and files that a command
/// line names. The programs of a repository run in its working tree.
pub(super) fn configured_places(
    git: &Path,
    worktree: &Path,
    operator: &OperatorConfig,
) -> Vec<PathBuf> {
    let mut files = operator.files.clone();
    files.extend(["config", "config.worktree"].map(|name| git.join(name)));
    let named = ConfigFolders {
        git,
        worktree,
        home: operator.home(),
    };
    let most = files.len() + MAX_FILES;
    let mut places = operator.files.clone();
    let mut next = 0;
    while let Some(file) = files.get(next).cloned() {
        next += 1;
        let text = read_git_file(&file);
        let entries = text.and_then(|text| parse(text.as_bytes()));
        for entry in entries.unwrap_or_default() {
            if entry.is_include() {
                let included = named.path(entry.value(), file.parent().unwrap_or(git));
                if files.len() < most && !files.contains(&included) {
                    files.push(included.clone());
                }
                places.push(included);
            } else {
                named.add_programs(&entry, &mut places);
            }
        }
    }
    places
}

impl ConfigFolders<'_> {
    /// The path that a value names, relative to a folder.
    fn path(&self, value: &str, folder: &Path) -> PathBuf {
        let in_home = value
            .strip_prefix("~/")
            .and_then(|rest| Some(self.home.as_ref()?.join(rest)));
        lexical(&in_home.unwrap_or_else(|| folder.join(value)))
    }

    /// Adds the places of hooks and programs that an entry names.
    fn add_programs(&self, entry: &ConfigEntry, places: &mut Vec<PathBuf>) {
        if entry.key() == "core.hookspath" {
            let hooks = self.path(entry.value(), self.worktree);
            match self.worktree.starts_with(&hooks) {
                // The folder of all files cannot be protected as a whole.
                true => places.extend(HOOKS.map(|name| hooks.join(name))),
                false => places.push(hooks),
            }
        } else if entry.runs_program() {
            self.add_words(entry.value(), places);
        }
    }

    /// Adds the files that a command line names: those that exist, and those that look like programs. A first word without
    /// a slash is looked for on the search path.
    fn add_words(&self, line: &str, places: &mut Vec<PathBuf>) {
        let line = FOLDERS.iter().fold(line.to_owned(), |line, (text, sign)| {
            line.replace(text, &sign.to_string())
        });
        let words = line.split(SEPARATORS).filter(|word| !word.is_empty());
        let mut is_run = false;
        for (number, word) in words.take(MAX_WORDS).enumerate() {
            let Some(path) = self.word_path(word) else {
                continue;
            };
            let may_be_program = (word.contains('/') || is_run) && is_plain(word);
            let is_wanted = match fs::metadata(&path) {
                Ok(found) => found.is_file() && (number > 0 || word.contains('/')),
                Err(_) => may_be_program,
            };
            if is_wanted {
                places.push(path);
            }
            let is_option = word.starts_with('-');
            is_run = is_interpreter(word) || is_run && is_option && !is_code_option(word);
        }
    }

    /// The path of a word of a command line. `None` if it names no place.
    fn word_path(&self, word: &str) -> Option<PathBuf> {
        let (folder, rest) = match word.chars().next()? {
            TOP => (self.worktree, word.strip_prefix(TOP)?),
            GIT_FOLDER => (self.git, word.strip_prefix(GIT_FOLDER)?),
            HOME => (self.home.as_deref()?, word.strip_prefix(HOME)?),
            _ => return Some(self.path(word, self.worktree)),
        };
        Some(lexical(&folder.join(rest.trim_start_matches('/'))))
    }
}

/// True for a word that means only itself to a shell, and is not an option.
fn is_plain(word: &str) -> bool {
    let is_plain =
        |sign: char| sign.is_alphanumeric() || "._-/+@~".contains(sign) || sign.is_control();
    !word.starts_with('-') && !word.ends_with('/') && word.chars().all(is_plain)
}

fn is_interpreter(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    INTERPRETERS.contains(&name)
}

/// True for an option of an interpreter that is followed by code in place of a file.
fn is_code_option(word: &str) -> bool {
    word.ends_with(['c', 'e', 'm'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A working tree with a repository, in the home folder of an operator.
    struct Ground {
        _home: tempfile::TempDir,
        real: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let real = fs::canonicalize(home.path()).unwrap();
            fs::create_dir_all(real.join("work/.git")).unwrap();
            Self { _home: home, real }
        }

        /// The places, of those in the folder, that the operator's and the repository's configuration name.
        fn places(&self, global: &str, own: &str) -> Vec<String> {
            let work = self.real.join("work");
            fs::write(self.real.join(".gitconfig"), global).unwrap();
            fs::write(work.join(".git/config"), own).unwrap();
            let operator = OperatorConfig {
                files: vec![self.real.join(".gitconfig")],
                home: Some(self.real.clone()),
            };
            let places = configured_places(&work.join(".git"), &work, &operator);
            let within = places
                .iter()
                .filter_map(|path| path.strip_prefix(&work).ok());
            let mut within: Vec<_> = within
                .map(|path| path.to_str().unwrap().to_owned())
                .collect();
            within.sort();
            within.dedup();
            within
        }
    }

    /// Spec: [BASH-208]
    #[test]
    fn included_files_hooks_and_programs_are_found() {
        let ground = Ground::new();
        let work = ground.real.join("work");
        fs::create_dir_all(work.join("tools")).unwrap();
        fs::write(work.join("tools/clean.py"), "").unwrap();
        fs::write(
            work.join("shared.inc"),
            "[include]\n\tpath = more.inc\n\tpath = shared.inc\n",
        )
        .unwrap();
        let config = "[include]\n\tpath = ../shared.inc\n[core]\n\thooksPath = .githooks\n\
                      [filter \"x\"]\n\tclean = python3 'tools/clean.py' --all\n[pull]\n\trebase = false\n";
        let wanted = [".githooks", "more.inc", "shared.inc", "tools/clean.py"];
        assert_eq!(ground.places("", config), wanted);
    }

    /// Spec: [BASH-581]
    #[test]
    fn the_operators_configuration_names_places_in_the_folder() {
        let ground = Ground::new();
        assert_eq!(
            ground.places("[core]\n\thooksPath = .githooks\n", ""),
            [".githooks"]
        );
        assert_eq!(
            ground.places("[include]\n\tpath = ~/work/inc\n", ""),
            ["inc"]
        );
        assert_eq!(ground.places("[include]\n\tpath = work/inc\n", ""), ["inc"]);
        assert_eq!(
            ground.places("", "[core]\n\thooksPath = ~/work/hooks\n"),
            ["hooks"]
        );
        let hooks = ground.places("[core]\n\thooksPath = .\n", "");
        assert!(hooks.contains(&"pre-commit".to_owned()) && !hooks.contains(&String::new()));
    }

    /// Spec: [BASH-581]
    #[test]
    fn programs_are_found_before_they_exist_and_wherever_the_folder_is_named() {
        let ground = Ground::new();
        fs::write(ground.real.join("work/store"), "").unwrap();
        for (line, wanted) in [
            ("./run", vec!["run"]),
            ("tools/run --all", vec!["tools/run"]),
            ("sh run.sh", vec!["run.sh"]),
            ("python3 -u clean.py %f", vec!["clean.py"]),
            (
                "\\\"$(git rev-parse --show-toplevel)/tools/x\\\" %f",
                vec!["tools/x"],
            ),
            ("`git rev-parse --show-toplevel`/x", vec!["x"]),
            ("$(git rev-parse --git-dir)/x", vec![".git/x"]),
            ("${PWD}/x", vec!["x"]),
            ("~/work/x", vec!["x"]),
            ("$HOME/work/x", vec!["x"]),
            ("!f() { test -x ./a && ./a; }; f", vec!["a"]),
            ("X=./a ./b", vec!["a", "b"]),
            ("less -R", vec![]),
            ("store", vec![]),
            ("awk -f store", vec!["store"]),
            ("git-lfs clean -- %f", vec![]),
            ("sh -c true", vec![]),
            ("curl https://example.org/x", vec![]),
            ("/usr/bin/env true", vec![]),
        ] {
            let config = format!("[core]\n\tfsmonitor = \"{line}\"\n");
            assert_eq!(ground.places("", &config), wanted, "{line}");
            assert_eq!(ground.places(&config, ""), wanted, "{line}");
        }
    }
}
