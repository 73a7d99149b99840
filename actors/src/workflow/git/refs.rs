//! Refs: what they name, what others did with them, and moving the branch of the work.

use std::collections::BTreeSet;
use std::fs;

use super::program::Session;
use super::{
    AcceptOrder, Accepted, CANDIDATES, GitError, KEPT_REJECTED, RefChange, Refs, Tip, TreeKind,
    Worktree,
};

/// The commit that a name refers to. Blocks.
pub(super) fn tip(session: &Session, name: &str) -> Result<Option<Tip>, GitError> {
    let answer = session
        .call(&[
            "rev-list",
            "--no-walk",
            "--no-commit-header",
            "--format=%H %T",
            "--end-of-options",
            name,
            "--",
        ])
        .answering(&[128])
        .run()?;
    let text = String::from_utf8_lossy(&answer.output);
    let tip = text.trim().split_once(' ').map(|(commit, tree)| Tip {
        commit: commit.to_owned(),
        tree: tree.to_owned(),
    });
    Ok(tip.filter(|_| answer.code == 0))
}

/// The head of a branch. Blocks.
pub(super) fn branch_tip(session: &Session, branch: &str) -> Result<Option<Tip>, GitError> {
    tip(session, &full(branch))
}

/// The full name of a branch.
pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// All refs but those that only name another one. Blocks.
pub(super) fn refs(session: &Session) -> Result<Refs, GitError> {
    let format = "--format=%(objectname) %(refname) %(symref)";
    let text = session.call(&["for-each-ref", format]).text()?;
    let pairs = text.lines().filter_map(|line| {
        let (id, names) = line.split_once(' ')?;
        let (name, other) = names.split_once(' ').unwrap_or((names, ""));
        other.is_empty().then(|| (name.to_owned(), id.to_owned()))
    });
    Ok(Refs(pairs.collect()))
}

/// Puts back what the worktree's work did with refs of others. Blocks.
pub(super) fn put_back(
    session: &Session,
    tree: &Worktree,
    base: &str,
    before: &Refs,
) -> Result<Vec<RefChange>, GitError> {
    let now = refs(session)?;
    let own = tree.branch.as_deref().map(full);
    let is_other = |name: &str| !name.starts_with(CANDIDATES) && own.as_deref() != Some(name);
    let names: BTreeSet<&String> = before.0.keys().chain(now.0.keys()).collect();
    let line = committed(session, tree);
    let mut changes = Vec::new();
    let mut orders = String::new();
    for name in names.into_iter().filter(|name| is_other(name)) {
        let (was, is) = (before.0.get(name), now.0.get(name));
        if was == is {
            continue;
        }
        let put_back = match is {
            // Making it again overwrites no commit.
            None => true,
            Some(id) => line.contains(id) && !is_in(session, id, base)?,
        };
        if put_back {
            orders += &match (was, is) {
                (Some(was), Some(is)) => format!("update {name} {was} {is}\n"),
                (Some(was), None) => format!("create {name} {was}\n"),
                (None, Some(is)) => format!("delete {name} {is}\n"),
                (None, None) => String::new(),
            };
        }
        changes.push(RefChange {
            name: name.clone(),
            before: was.cloned(),
            now: is.cloned(),
            put_back,
        });
    }
    if !orders.is_empty() {
        let update = session.call(&["update-ref", "--no-deref", "--stdin"]);
        update.input(orders.into_bytes()).run()?;
    }
    Ok(changes)
}

/// The commits that were made or checked out in a worktree, by its own log. The log of a person's own tree does not
/// count: commits there are a person's.
///
/// Source: gitrepository-layout(5): `logs`; each line begins with the old and the new id.
fn committed(session: &Session, tree: &Worktree) -> BTreeSet<String> {
    if tree.kind == TreeKind::InPlace {
        return BTreeSet::new();
    }
    let log = session.place.git.as_ref().map(|git| git.join("logs/HEAD"));
    let log = log
        .and_then(|log| fs::read_to_string(log).ok())
        .unwrap_or_default();
    let new = |line: &str| line.split(' ').nth(1).map(str::to_owned);
    log.lines().filter_map(new).collect()
}

/// True if a commit is another one or in its past. Blocks.
fn is_in(session: &Session, commit: &str, other: &str) -> Result<bool, GitError> {
    let call = session.call(&["merge-base", "--is-ancestor", commit, other]);
    Ok(call.answering(&[1]).run()?.code == 0)
}

/// Moves the branch from the base to a candidate. Blocks.
pub(super) fn accept(
    session: &Session,
    tree: &Worktree,
    order: &AcceptOrder<'_>,
) -> Result<Accepted, GitError> {
    let AcceptOrder {
        branch,
        candidate,
        base,
    } = *order;
    let at = branch_tip(session, branch)?.map(|tip| tip.commit);
    if at.as_deref() == Some(candidate) {
        return Ok(Accepted::Before);
    }
    check_at(session, branch, base)?;
    check_free(session, tree, branch)?;
    let name = full(branch);
    let update = session.call(&["update-ref", "--no-deref", &name, candidate, base]);
    if let Err(error) = update.run() {
        // Another process was faster.
        check_at(session, branch, base)?;
        return Err(error);
    }
    Ok(Accepted::Now)
}

/// Checks that a branch is at the expected commit. Blocks.
pub(super) fn check_at(session: &Session, branch: &str, expected: &str) -> Result<(), GitError> {
    let at = branch_tip(session, branch)?.map(|tip| tip.commit);
    if at.as_deref() == Some(expected) {
        return Ok(());
    }
    Err(GitError::Moved {
        branch: branch.to_owned(),
        expected: expected.to_owned(),
        found: at.unwrap_or_else(|| "nothing".to_owned()),
    })
}

/// Checks that no other worktree has a branch checked out: a person who works there would undo the moved work with
/// their next commit.
fn check_free(session: &Session, tree: &Worktree, branch: &str) -> Result<(), GitError> {
    let list = session.call(&["worktree", "list", "--porcelain", "-z"]);
    let checked_out = format!("branch {}", full(branch));
    let mut folder = None;
    for line in list.texts()? {
        if let Some(path) = line.strip_prefix("worktree ") {
            folder = Some(std::path::PathBuf::from(path));
        } else if line == checked_out
            && let Some(folder) = folder.take().filter(|folder| *folder != tree.root)
        {
            let branch = branch.to_owned();
            return Err(GitError::CheckedOut { branch, folder });
        }
    }
    Ok(())
}

/// Drops the refs of all candidates of a workflow. Blocks.
pub(super) fn forget(session: &Session, workflow: &str) -> Result<(), GitError> {
    let prefix = format!("{CANDIDATES}{workflow}/");
    let list = session.call(&["for-each-ref", "--format=delete %(refname)", &prefix]);
    let mut orders = list.text()?;
    if orders.is_empty() {
        return Ok(());
    }
    orders.push('\n');
    let update = session.call(&["update-ref", "--no-deref", "--stdin"]);
    update.input(orders.into_bytes()).run().map(drop)
}

/// Drops the oldest refs of rejected candidates. Blocks.
pub(super) fn forget_rejected(
    session: &Session,
    workflow: &str,
    branch: &str,
) -> Result<(), GitError> {
    let (prefix, accepted) = (format!("{CANDIDATES}{workflow}/"), full(branch));
    let not_in = format!("--no-merged={accepted}");
    let text = session
        .call(&["for-each-ref", "--format=%(refname)", &not_in, &prefix])
        .text()?;
    let mut rejected: Vec<(u32, u32, &str)> = text
        .lines()
        .filter_map(|name| {
            let (iteration, attempt) = name.strip_prefix(&prefix)?.split_once('.')?;
            Some((iteration.parse().ok()?, attempt.parse().ok()?, name))
        })
        .collect();
    rejected.sort_unstable();
    let old = rejected.len().saturating_sub(KEPT_REJECTED);
    let orders: String = rejected[..old]
        .iter()
        .map(|(_, _, name)| format!("delete {name}\n"))
        .collect();
    if !orders.is_empty() {
        let update = session.call(&["update-ref", "--no-deref", "--stdin"]);
        update.input(orders.into_bytes()).run()?;
    }
    Ok(())
}
