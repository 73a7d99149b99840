//! Working trees: made, reused, refused.

use std::fs;
use std::sync::Arc;

use super::place::{Place, read, run, write};
use crate::workflow::git::worktree::remove_but_git;
use crate::workflow::git::{GitError, RepositoryGit, TreeKind, WorkflowGit as _};
use crate::workflow::testing::Plain;

/// Spec: [FLOW-60]
#[test]
fn a_worktree_is_made_once_and_used_again_as_it_is() {
    let place = Place::new();
    let tree = place.tree();
    assert_eq!(tree.kind, TreeKind::Linked);
    assert_eq!(read(&tree.root, "src/a.py"), "a = 1\n");
    assert_eq!(place.at("refs/heads/harness/w1"), Some(place.base.clone()));
    write(&tree.root, "src/a.py", "half done\n");
    assert_eq!(place.tree(), tree);
    assert_eq!(read(&tree.root, "src/a.py"), "half done\n");
    let list = run(&place.root(), &["worktree", "list", "--porcelain"]);
    assert_eq!(list.matches("worktree ").count(), 2, "{list}");
    // Git keeps it, also while its folder cannot be seen.
    let hidden = place.beside("elsewhere");
    fs::rename(&tree.root, &hidden).unwrap();
    run(&place.root(), &["worktree", "prune", "--expire", "now"]);
    fs::rename(&hidden, &tree.root).unwrap();
    assert_eq!(place.tree(), tree);
    // One whose folder is gone is made again.
    fs::remove_dir_all(&tree.root).unwrap();
    assert_eq!(read(&place.tree().root, "src/a.py"), "a = 1\n");
}

/// Spec: [FLOW-60]
#[test]
fn a_folder_with_something_else_is_left_alone() {
    let place = Place::new();
    let folder = place.beside("trees/w1");
    write(&folder, "theirs", "text");
    let order = crate::workflow::git::WorktreeOrder {
        folder: &folder,
        branch: "harness/w1",
        start: &place.base,
        copy: &[],
    };
    let refused = place.git.worktree(&order).unwrap_err();
    assert!(matches!(refused, GitError::Broken { .. }), "{refused}");
    let refused = place.git.fresh(&place.base, &folder, &[]).unwrap_err();
    assert!(matches!(refused, GitError::Broken { .. }), "{refused}");
    // Nor is a worktree of another repository.
    let other = Place::new();
    let refused = place.git.restore(&other.tree(), &place.base).unwrap_err();
    assert!(matches!(refused, GitError::NotOurs { .. }), "{refused}");
    assert_eq!(read(&folder, "theirs"), "text");
}

/// Spec: [FLOW-716]
#[test]
fn a_worktree_that_a_crash_left_unfinished_is_made_again() {
    for link in [None, Some("gitdir: /nowhere\n"), Some("")] {
        let place = Place::new();
        for folder in [place.beside("trees/w1"), place.beside("fresh")] {
            fs::create_dir_all(&folder).unwrap();
            if let Some(link) = link {
                fs::write(folder.join(".git"), link).unwrap();
            }
        }
        assert_eq!(read(&place.tree().root, "src/a.py"), "a = 1\n");
        let fresh = place
            .git
            .fresh(&place.base, &place.beside("fresh"), &[])
            .unwrap();
        assert_eq!(read(&fresh.root, "src/a.py"), "a = 1\n");
    }
}

/// Spec: [FLOW-716]
#[test]
fn a_worktree_that_a_crash_left_half_removed_is_made_again() {
    let place = Place::new();
    let folder = place.beside("fresh");
    let fresh = || place.git.fresh(&place.base, &folder, &[]).unwrap();
    let root = fresh().root;
    write(&root, "more/deep/b", "x");
    remove_but_git(&root).unwrap();
    let left: Vec<_> = fs::read_dir(&root).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(read(&fresh().root, "src/a.py"), "a = 1\n");
}

/// Spec: [FLOW-61]
#[test]
fn case_35_in_place_needs_a_clean_tree_on_a_branch_and_touches_nothing_else() {
    let place = Place::new();
    let root = place.root();
    let demanded = || place.git.in_place();
    let tree = demanded().unwrap();
    assert_eq!((tree.branch.as_deref(), &tree.root), (Some("main"), &root));
    let dirty = |path: &str| {
        let refused = demanded().unwrap_err();
        let expected = GitError::Dirty {
            paths: vec![path.to_owned()],
        };
        assert_eq!(refused, expected);
    };
    write(&root, "new", "x");
    dirty("new");
    fs::remove_file(root.join("new")).unwrap();
    write(&root, "src/a.py", "a = 2\n");
    dirty("src/a.py");
    // Git is told not to look at it.
    run(&root, &["update-index", "--assume-unchanged", "src/a.py"]);
    assert_eq!(run(&root, &["status", "--porcelain"]), "");
    dirty("src/a.py");
    assert_eq!(read(&root, "src/a.py"), "a = 2\n");
    run(
        &root,
        &["update-index", "--no-assume-unchanged", "src/a.py"],
    );
    // Only staged.
    run(&root, &["add", "-A"]);
    write(&root, "src/a.py", "a = 1\n");
    dirty("src/a.py");
    run(&root, &["reset", "-q", "--hard"]);
    write(&root, "x.log", "ignored");
    demanded().unwrap();
    run(&root, &["checkout", "-q", "--detach"]);
    assert_eq!(demanded(), Err(GitError::Detached));
}

/// Spec: [FLOW-67]
#[test]
fn a_fresh_worktree_has_the_candidate_alone_and_is_removed_whole() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "src/a.py", "a = 2\n");
    write(&tree.root, "planted.log", "ignored");
    let candidate = place.snapshot(&tree, 1);
    let folder = place.beside("fresh/1");
    let fresh = place.git.fresh(&candidate.commit, &folder, &[]).unwrap();
    assert_eq!(read(&fresh.root, "src/a.py"), "a = 2\n");
    assert!(!fresh.root.join("planted.log").exists());
    assert_eq!(run(&fresh.root, &["status", "--porcelain"]), "");
    // One that a crash has left is replaced.
    write(&fresh.root, "left", "x");
    let fresh = place.git.fresh(&place.base, &folder, &[]).unwrap();
    assert_eq!(read(&fresh.root, "src/a.py"), "a = 1\n");
    assert!(!fresh.root.join("left").exists());
    place.git.remove(&fresh).unwrap();
    assert!(!folder.exists());
    let list = run(&place.root(), &["worktree", "list", "--porcelain"]);
    assert_eq!(list.matches("worktree ").count(), 2, "{list}");
    place.git.remove(&fresh).unwrap();
    // A person's own tree is never removed.
    let own = place.git.in_place().unwrap();
    assert!(matches!(
        place.git.remove(&own),
        Err(GitError::NotOurs { .. })
    ));
}

/// Spec: [FLOW-60]
#[test]
fn a_repository_is_found_from_below_and_its_absence_is_told() {
    let place = Place::new();
    let found = RepositoryGit::open(Arc::new(Plain), &place.root().join("src")).unwrap();
    assert_eq!(found.root(), place.root());
    assert_eq!(found.common(), place.root().join(".git"));
    let tree = place.tree();
    let linked = RepositoryGit::open(Arc::new(Plain), &tree.root).unwrap();
    assert_eq!(linked.common(), place.root().join(".git"));
    let none = tempfile::tempdir().unwrap();
    let refused = RepositoryGit::open(Arc::new(Plain), none.path());
    assert!(matches!(
        refused.err(),
        Some(GitError::NotRepository { .. })
    ));
    assert_eq!(place.git.tip("refs/heads/none"), Ok(None));
}
