//! A change of a configuration of git that a command made: whether it stays, and its words.

use std::path::Path;

use super::git_config::{ConfigEntry, parse};
use crate::lexical::lexical;

/// Sections in which git's own commands keep what they set up, and sections of plain preferences. No other section is
/// changed: it may be another program's.
///
/// Source: git-config(1).
const SECTIONS: [&str; 31] = [
    "advice",
    "apply",
    "author",
    "blame",
    "branch",
    "checkout",
    "color",
    "column",
    "commit",
    "committer",
    "diff",
    "extensions",
    "feature",
    "fetch",
    "format",
    "gc",
    "index",
    "log",
    "maintenance",
    "merge",
    "pack",
    "pull",
    "push",
    "rebase",
    "remote",
    "rerere",
    "status",
    "stash",
    "submodule",
    "tag",
    "user",
];
/// Keys of other sections that are changed as well.
const KEYS: [&str; 16] = [
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.splitindex",
    "core.untrackedcache",
    "core.worktree",
    "gpg.format",
];
/// Names that lead the traffic of a remote through another machine.
const PROXIES: [&str; 2] = ["proxy", "proxyauthmethod"];
/// Maximum number of keys that a note names.
const MAX_KEYS: usize = 6;

/// A change by which git runs no program that it did not run before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigChange {
    /// The keys that have other values now, in their order.
    set: Vec<String>,
    /// The keys that were removed.
    unset: Vec<String>,
}

impl ConfigChange {
    /// The change of the configuration in the folder `git` from one content to another. A working tree that it names has
    /// to be in `workspace`.
    ///
    /// # Errors
    /// The reason for which the change is refused, as a part of a note.
    pub(super) fn judged(
        (was, is): (&[u8], &[u8]),
        git: &Path,
        workspace: &Path,
    ) -> Result<Self, String> {
        let unreadable = || "git could not read it".to_owned();
        let (was, is) = (parse(was), parse(is).ok_or_else(unreadable)?);
        let was = was.unwrap_or_default();
        let new = without(&is, &was);
        let gone = without(&was, &is);
        // A program that is no longer named makes room for another one, such as a hook.
        let mut changed = new.iter().chain(&gone);
        if let Some(entry) = changed.clone().find(|entry| entry.runs_program()) {
            return Err(format!("{} names a program for git to run", entry.key()));
        }
        if let Some(entry) = changed.find(|entry| !is_changed_by_commands(entry)) {
            return Err(format!(
                "{} is no setting that commands change",
                entry.key()
            ));
        }
        let is_outside = |entry: &&&ConfigEntry| {
            let tree = lexical(&git.join(entry.value()));
            entry.key() == "core.worktree" && !tree.starts_with(workspace)
        };
        if let Some(entry) = new.iter().find(is_outside) {
            return Err(format!("{} names a folder outside", entry.key()));
        }
        let set = keys(&new);
        let unset = keys(&gone).into_iter().filter(|key| !set.contains(key));
        Ok(Self {
            unset: unset.collect(),
            set,
        })
    }

    /// The note about it. `None` if no entry differs.
    pub(super) fn note(&self, path: &Path) -> Option<String> {
        let parts = [("set", &self.set), ("unset", &self.unset)];
        let parts = parts.into_iter().filter(|(_, keys)| !keys.is_empty());
        let parts: Vec<String> = parts
            .map(|(verb, keys)| format!("{verb} {}", listed(keys)))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: {}", path.display(), parts.join("; ")))
    }
}

/// True for a setting that commands may change.
fn is_changed_by_commands(entry: &ConfigEntry) -> bool {
    let key = entry.key();
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    let is_known = SECTIONS.contains(&section) || KEYS.contains(&&*key);
    is_known && !PROXIES.contains(&name)
}

/// The note about a change that does not stay.
pub(super) fn refusal_note(path: &Path, reason: &str) -> String {
    format!(
        "{} was not changed: {reason}; edit asks an operator for a change",
        path.display()
    )
}

/// The entries that are not among others, each as often as it has no counterpart there.
fn without<'e>(entries: &'e [ConfigEntry], others: &[ConfigEntry]) -> Vec<&'e ConfigEntry> {
    let mut others: Vec<&ConfigEntry> = others.iter().collect();
    let mut left = Vec::new();
    for entry in entries {
        match others.iter().position(|other| *other == entry) {
            Some(at) => drop(others.swap_remove(at)),
            None => left.push(entry),
        }
    }
    left
}

/// The keys of entries, each once.
fn keys(entries: &[&ConfigEntry]) -> Vec<String> {
    let mut keys = Vec::new();
    for key in entries.iter().map(|entry| entry.key()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn listed(keys: &[String]) -> String {
    let shown: Vec<&str> = keys.iter().take(MAX_KEYS).map(String::as_str).collect();
    match keys.len().checked_sub(MAX_KEYS) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        Some(0) | None => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "[core]\n\tbare = false\n\thooksPath = .githooks\n[remote \"origin\"]\n\turl = ../o\n";

    fn judged(after: &str) -> Result<Option<String>, String> {
        let contents = (BEFORE.as_bytes(), after.as_bytes());
        let (git, work) = (Path::new("/work/.git/modules/a"), Path::new("/work"));
        let change = ConfigChange::judged(contents, git, work)?;
        Ok(change.note(Path::new("config")))
    }

    /// Spec: [BASH-620]
    #[test]
    fn a_change_by_which_git_runs_no_other_program_stays_and_is_named() {
        let with = |more: &str| judged(&format!("{BEFORE}{more}"));
        let set = |keys: &str| Ok(Some(format!("config: set {keys}")));
        assert_eq!(judged(BEFORE), Ok(None));
        assert_eq!(with("# a comment\n"), Ok(None));
        assert_eq!(
            with("[remote \"two\"]\n url = ../two\n fetch = +a:b\n fetch = +c:d\n"),
            set("remote.two.url, remote.two.fetch")
        );
        assert_eq!(
            with("[core]\n worktree = ../../../a\n"),
            set("core.worktree")
        );
        let origin = BEFORE.replace("../o", "https://x/y");
        assert_eq!(judged(&origin), set("remote.origin.url"));
        let gone = BEFORE.split_once("[remote").unwrap().0;
        assert_eq!(
            judged(&format!("{gone}[pull]\n rebase = true\n")),
            Ok(Some(
                "config: set pull.rebase; unset remote.origin.url".to_owned()
            ))
        );
        let many: String = (0..9).map(|at| format!("[gc]\n k{at} = 1\n")).collect();
        assert_eq!(
            with(&many),
            set("gc.k0, gc.k1, gc.k2, gc.k3, gc.k4, gc.k5 and 3 more")
        );
    }

    /// Spec: [BASH-620]
    #[test]
    fn a_change_that_names_or_frees_a_program_or_a_folder_outside_does_not_stay() {
        let refused = |after: &str, reason: &str| {
            assert_eq!(judged(after), Err(reason.to_owned()), "{after}");
        };
        let program = |key: &str| format!("{key} names a program for git to run");
        for (more, key) in [
            ("[core]\n fsmonitor = evil\n", "core.fsmonitor"),
            ("[include]\n path = ../inc\n", "include.path"),
            ("[alias]\n st = !evil\n", "alias.st"),
            ("[remote \"x\"]\n url = ext::sh -c evil\n", "remote.x.url"),
            ("[core]\n hooksPath = h\n", "core.hookspath"),
            (
                "[user]\n name = a\n[filter \"x\"]\n clean = evil\n",
                "filter.x.clean",
            ),
        ] {
            refused(&format!("{BEFORE}{more}"), &program(key));
        }
        let freed = BEFORE.replace("\thooksPath = .githooks\n", "");
        refused(&freed, &program("core.hookspath"));
        refused(
            &format!("{BEFORE}[core]\n worktree = /home\n"),
            "core.worktree names a folder outside",
        );
        refused(
            &format!("{BEFORE}[core]\n worktree = ../../../../up\n"),
            "core.worktree names a folder outside",
        );
        for (more, key) in [
            ("[a]\n b = c\n", "a.b"),
            ("[http]\n proxy = http://x\n", "http.proxy"),
            (
                "[url \"https://x/\"]\n insteadOf = https://y/\n",
                "url.https://x/.insteadof",
            ),
            (
                "[remote \"origin\"]\n proxy = http://x\n",
                "remote.origin.proxy",
            ),
            ("[alias]\n st = status\n", "alias.st"),
            ("[core]\n bare = true\n", "core.bare"),
        ] {
            let reason = format!("{key} is no setting that commands change");
            refused(&format!("{BEFORE}{more}"), &reason);
        }
        refused("no configuration\n", "git could not read it");
    }
}
