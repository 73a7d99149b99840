//! The ways by which the files in a git folder make git run a program, each as a text that changes when the way does.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::git_config::parse;
use super::held_folder::{EntryKind, HeldFolder};

/// Finds the ways to run programs in the text of a file of git.
type ReadWays = fn(&str) -> BTreeSet<String>;

/// The ways of what cannot be told.
pub(super) const UNKNOWN: &str = "it cannot be looked at";
/// Maximum size of a file of git that is read, in bytes.
pub(super) const MAX_TEXT: u64 = 256 * 1024;
/// Maximum number of hooks that are looked at.
const MAX_HOOKS: usize = 128;
/// Files that git reads as configuration.
pub(super) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// The folders with what git is in the middle of: a rebase, `git am`, a cherry-pick or a revert. A merge and a bisect
/// name no program.
const SEQUENCES: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// The files in them that name programs: the lists of commands that git has yet to do, the strategy of merges, which is
/// a program `git-merge-…`, and options in the form of a configuration.
///
/// Source: `sequencer.c`, `builtin/rebase.c` and `builtin/am.c` of git.
const SEQUENCE_FILES: [(&str, ReadWays); 4] = [
    ("git-rebase-todo", todo_commands),
    ("todo", todo_commands),
    ("strategy", foreign_strategy),
    ("opts", option_programs),
];
/// The strategies that git has.
///
/// Source: git-merge(1), "MERGE STRATEGIES"; `recursive` and `subtree` are older names.
const GITS_OWN: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// The ways by which the configuration of a repository, or a pointer to another one, makes git run a program.
pub(super) fn configuration_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = BTreeSet::new();
    if !matches!(git.kind(OsStr::new("commondir")), Ok(None)) {
        ways.insert(format!(
            "its commondir leads to a repository elsewhere: {}",
            commondir(git).unwrap_or_default()
        ));
    }
    ways.extend(named_programs(git));
    ways
}

/// The ways by which the git folder of a linked worktree makes git run a program. Git writes the path of the
/// repository into its `commondir`, relative to it.
pub(super) fn worktree_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = named_programs(git);
    let common = commondir(git);
    if common.as_deref() != Some("../..") {
        let target = common.unwrap_or_default();
        ways.insert(format!(
            "its commondir leads to another repository: {target}"
        ));
    }
    ways
}

/// The keys of the configuration in a git folder that name programs.
fn named_programs(git: &HeldFolder) -> BTreeSet<String> {
    let mut ways = BTreeSet::new();
    for name in CONFIGURATIONS.map(OsStr::new) {
        if matches!(git.kind(name), Ok(None)) {
            continue;
        }
        let text = git.read(name, MAX_TEXT).ok().flatten();
        match text.and_then(|(text, _)| parse(&text)) {
            Some(entries) => {
                let programs = entries.iter().filter(|entry| entry.runs_program());
                ways.extend(programs.map(|entry| {
                    format!("its configuration names a program: {}", entry.with_value())
                }));
            }
            None => {
                ways.insert("its configuration cannot be read".to_owned());
            }
        }
    }
    ways
}

/// The hooks in a folder, each with its name. A way of all of them has none.
pub(super) fn hooks(folder: &HeldFolder, name: &OsStr) -> Vec<(Option<OsString>, String)> {
    let hooks = match folder.kind(name) {
        Ok(None) => return Vec::new(),
        Ok(Some(EntryKind::Folder)) => folder.folder(name),
        Ok(Some(EntryKind::File | EntryKind::Link | EntryKind::Other)) | Err(_) => {
            let target = folder.link(name).unwrap_or_default();
            let way = format!("its hooks are elsewhere: {}", target.display());
            return vec![(None, way)];
        }
    };
    let listed = hooks.and_then(|hooks| Ok((hooks.names()?, hooks)));
    let Ok((mut names, hooks)) = listed else {
        return vec![(None, "its hooks cannot be looked at".to_owned())];
    };
    names.retain(|name| !name.as_encoded_bytes().ends_with(b".sample"));
    if names.len() > MAX_HOOKS {
        return vec![(None, format!("it has more than {MAX_HOOKS} hooks"))];
    }
    let ways = names.into_iter().map(|name| {
        let way = hook(&hooks, &name);
        (Some(name), way)
    });
    ways.collect()
}

/// A hook with its mode, its content and the target of a link: git runs it once it is executable.
fn hook(hooks: &HeldFolder, name: &OsStr) -> String {
    let target = hooks.link(name).ok();
    let content = match target {
        Some(_) => hooks.read_followed(name, MAX_TEXT),
        None => hooks.read(name, MAX_TEXT),
    };
    let content = content.ok().flatten().map(|(content, mode)| {
        let digest = crate::attachment::sha256(&content);
        format!("{:o} {digest}", mode & 0o777)
    });
    let arrow = target.map(|target| format!(" -> {}", target.display()));
    format!(
        "it has a hook: {}{} {}",
        name.display(),
        arrow.unwrap_or_default(),
        content.unwrap_or_default()
    )
}

/// The entries of a git folder by which git runs a program when it continues what it is in the middle of.
pub(super) fn sequence_programs(git: &HeldFolder) -> Vec<(PathBuf, BTreeSet<String>)> {
    let unknown = || BTreeSet::from([UNKNOWN.to_owned()]);
    let mut found = Vec::new();
    for sequence in SEQUENCES {
        let folder = match git.kind(OsStr::new(sequence)) {
            Ok(None) => continue,
            Ok(Some(_)) | Err(_) => git.folder(OsStr::new(sequence)),
        };
        let Ok(folder) = folder else {
            found.push((sequence.into(), unknown()));
            continue;
        };
        for (name, programs) in SEQUENCE_FILES {
            if matches!(folder.kind(OsStr::new(name)), Ok(None)) {
                continue;
            }
            let text = folder.read(OsStr::new(name), MAX_TEXT).ok().flatten();
            let ways = text.map(|(text, _)| programs(&String::from_utf8_lossy(&text)));
            let path = Path::new(sequence).join(name);
            found.push((path, ways.unwrap_or_else(unknown)));
        }
    }
    found
}

/// The lines of a todo list that run a command.
///
/// Source: git-rebase(1), "INTERACTIVE MODE".
fn todo_commands(text: &str) -> BTreeSet<String> {
    let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    text.lines()
        .map(str::trim)
        .filter(runs)
        .map(|line| format!("the rebase that it continues would run: {line}"))
        .collect()
}

/// A strategy that is not git's own.
fn foreign_strategy(text: &str) -> BTreeSet<String> {
    let strategy = Some(text.trim()).filter(|name| !name.is_empty() && !GITS_OWN.contains(name));
    let ways = strategy.map(|name| format!("a merge would run: git-merge-{name}"));
    ways.into_iter().collect()
}

fn option_programs(text: &str) -> BTreeSet<String> {
    let Some(entries) = parse(text.as_bytes()) else {
        return BTreeSet::from([UNKNOWN.to_owned()]);
    };
    let strategies = entries
        .iter()
        .filter(|entry| entry.key() == "options.strategy");
    strategies
        .flat_map(|entry| foreign_strategy(entry.value()))
        .collect()
}

/// The target in the file `commondir`. `None` if it cannot be read.
fn commondir(git: &HeldFolder) -> Option<String> {
    let text = git.read(OsStr::new("commondir"), MAX_TEXT).ok().flatten();
    text.map(|(text, _)| String::from_utf8_lossy(&text).trim().to_owned())
}

/// True if git takes a folder for a repository, or if that cannot be told.
///
/// Source: `is_git_directory` in `setup.c` of git.
pub(super) fn may_be_repository(folder: &HeldFolder) -> bool {
    let exists = |name: &str| !matches!(folder.kind(OsStr::new(name)), Ok(None));
    exists("HEAD") && (exists("commondir") || (exists("objects") && exists("refs")))
}

/// True if git takes a folder for a repository for certain, and has nothing of another one below it.
pub(super) fn is_repository(folder: &HeldFolder) -> bool {
    let has = |name: &str| {
        let name = OsStr::new(name);
        matches!(folder.kind(name), Ok(Some(EntryKind::Folder))) && folder.can_enter(name)
    };
    let head = OsStr::new("HEAD");
    let is_head = match folder.link(head) {
        Ok(target) => target.as_encoded_bytes().starts_with(b"refs/"),
        Err(_) => folder.read(head, MAX_TEXT).is_ok_and(|head| {
            let head = head.map(|(text, _)| text).unwrap_or_default();
            let object = head.get(..40).unwrap_or_default();
            head.starts_with(b"ref: refs/")
                || (!object.is_empty() && object.iter().all(u8::is_ascii_hexdigit))
        }),
    };
    let is_whole = matches!(folder.kind(OsStr::new("commondir")), Ok(None));
    is_head && is_whole && has("objects") && has("refs")
}
