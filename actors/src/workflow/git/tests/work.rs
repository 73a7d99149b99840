//! Candidates: made, accepted, thrown away.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::place::{Place, commit, read, run, write};
use crate::workflow::git::{AcceptOrder, Accepted, GitError, TooLarge, WorkflowGit as _};

/// Spec: [FLOW-62]
#[test]
fn case_12_an_accepted_candidate_is_one_commit_on_the_base_with_the_tree_and_the_trailers() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "src/a.py", "a = 2\nc = 3\n");
    write(&tree.root, "src/new.py", "n = 1\n");
    write(&tree.root, "a.log", "ignored\n");
    fs::remove_file(tree.root.join("src/b.py")).unwrap();
    let candidate = place.snapshot(&tree, 1);
    assert_eq!(candidate.paths, ["src/a.py", "src/b.py", "src/new.py"]);
    assert_eq!(
        (candidate.files, candidate.insertions, candidate.deletions),
        (3, 3, 2)
    );
    assert_eq!(candidate.too_large, None);
    assert_eq!(
        place.at("refs/harness/w1/1.1").as_ref(),
        Some(&candidate.commit)
    );
    // Nothing is accepted yet.
    assert_eq!(place.at("refs/heads/harness/w1"), Some(place.base.clone()));
    let order = AcceptOrder {
        branch: "harness/w1",
        candidate: &candidate.commit,
        base: &place.base,
    };
    assert_eq!(place.git.accept(&tree, &order), Ok(Accepted::Now));
    let root = place.root();
    let ahead = run(&root, &["rev-list", "main..harness/w1"]);
    assert_eq!(ahead, candidate.commit);
    let tip = place.git.tip("refs/heads/harness/w1").unwrap().unwrap();
    assert_eq!(tip.tree, candidate.tree);
    let about = run(
        &root,
        &[
            "log",
            "-1",
            "--format=%B%an %ad",
            "--date=unix",
            "harness/w1",
        ],
    );
    assert_eq!(
        about,
        "a is two\n\nHarness-Workflow: w1\nHarness-Iteration: 1\nHarness-Feature: a\n\
         Harness 1700000000"
    );
    // The worktree is at it, and what git ignores is still there.
    assert_eq!(run(&tree.root, &["status", "--porcelain"]), "");
    assert_eq!(run(&tree.root, &["rev-parse", "HEAD"]), candidate.commit);
    assert!(tree.root.join("a.log").exists());
    // Once more, as after a crash.
    assert_eq!(place.git.accept(&tree, &order), Ok(Accepted::Before));
    // The user's own tree is untouched.
    assert_eq!(run(&root, &["status", "--porcelain", "-b"]), "## main");
    assert_eq!(read(&root, "src/a.py"), "a = 1\n");
}

/// Spec: [FLOW-62]
#[test]
fn the_same_content_gives_the_same_commit_and_commits_of_the_model_count_as_content() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "src/a.py", "a = 2\n");
    let first = place.snapshot(&tree, 1);
    assert_eq!(place.snapshot(&tree, 1), first);
    let own = commit(&tree.root, "the model's own");
    assert_ne!(own, place.base);
    assert_eq!(place.snapshot(&tree, 1), first);
    // Its own commit moves no branch.
    assert_eq!(place.at("refs/heads/harness/w1"), Some(place.base.clone()));
    let order = AcceptOrder {
        branch: "harness/w1",
        candidate: &first.commit,
        base: &place.base,
    };
    assert_eq!(place.git.accept(&tree, &order), Ok(Accepted::Now));
    assert_eq!(run(&tree.root, &["rev-parse", "HEAD"]), first.commit);
}

/// Spec: [FLOW-62]
#[test]
fn without_a_change_the_tree_is_the_bases() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "x.log", "ignored");
    let candidate = place.snapshot(&tree, 1);
    let base = place.git.tip(&place.base).unwrap().unwrap();
    assert_eq!((candidate.tree, candidate.files), (base.tree.clone(), 0));
    assert_eq!(place.git.tree_now(&tree, &place.base).unwrap(), base.tree);
    write(&tree.root, "src/a.py", "a = 2\n");
    assert_ne!(place.git.tree_now(&tree, &place.base).unwrap(), base.tree);
}

/// Spec: [FLOW-63]
#[test]
fn too_many_or_too_large_new_files_are_told_and_not_stored() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "src/a.py", "a = 2\n");
    let large = File::create(tree.root.join("large")).unwrap();
    large.set_len(100 * 1024 * 1024).unwrap();
    let candidate = place.snapshot(&tree, 1);
    let Some(TooLarge::File { path, bytes }) = candidate.too_large else {
        panic!("{candidate:?}");
    };
    assert_eq!((path.as_str(), bytes), ("large", 100 * 1024 * 1024));
    // What the base has is kept.
    assert_eq!(candidate.paths, ["src/a.py"]);
    large.set_len(100 * 1024 * 1024 - 1).unwrap();
    fs::remove_file(tree.root.join("large")).unwrap();
    for number in 0..5001 {
        write(&tree.root, &format!("many/{number}"), "");
    }
    let candidate = place.snapshot(&tree, 2);
    assert_eq!(candidate.too_large, Some(TooLarge::Files(5001)));
    fs::remove_file(tree.root.join("many/0")).unwrap();
    assert_eq!(place.snapshot(&tree, 3).too_large, None);
}

/// Spec: [FLOW-65]
#[test]
fn case_13_after_restore_the_tree_is_the_base_byte_for_byte() {
    let place = Place::new();
    let tree = place.tree();
    let root = &tree.root;
    let other = place.beside("other");
    fs::create_dir(&other).unwrap();
    write(&other, "a.py", "theirs\n");
    // A link where a folder was, a folder where a file was, modes, a branch, a merge under way.
    fs::remove_dir_all(root.join("src")).unwrap();
    symlink(&other, root.join("src")).unwrap();
    fs::remove_file(root.join("tests/test_a.py")).unwrap();
    write(root, "tests/test_a.py/deep", "x");
    fs::set_permissions(root.join(".gitignore"), fs::Permissions::from_mode(0o755)).unwrap();
    write(root, "build/out", "ignored");
    write(root, "locked/file", "x");
    fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o500)).unwrap();
    run(root, &["checkout", "-q", "-b", "side"]);
    fs::write(tree.git.join("MERGE_HEAD"), &place.base).unwrap();
    fs::write(tree.git.join("index.lock"), "").unwrap();
    place.git.restore(&tree, &place.base).unwrap();
    assert_eq!(run(root, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(run(root, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert_eq!(read(root, "src/a.py"), "a = 1\n");
    assert_eq!(read(root, "tests/test_a.py"), "assert a == 1\n");
    assert!(!root.join("locked").exists() && !root.join("build").exists());
    let mode = fs::metadata(root.join(".gitignore"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0);
    // A link leads nothing astray.
    assert_eq!(read(&other, "a.py"), "theirs\n");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}

/// Spec: [FLOW-65]
#[test]
fn case_23_a_planted_file_that_a_new_gitignore_hides_is_gone_after_restore() {
    let place = Place::new();
    for in_place in [false, true] {
        let tree = if in_place {
            place.git.in_place().unwrap()
        } else {
            place.tree()
        };
        write(&tree.root, "plant/.gitignore", "*\n");
        write(&tree.root, "plant/conftest.py", "evil");
        write(&tree.root, ".gitignore", "*.log\nbuild/\nhidden\n");
        write(&tree.root, "hidden", "evil");
        write(&tree.root, "nested/x", "evil");
        run(&tree.root.join("nested"), &["init", "-q"]);
        place.git.restore(&tree, &place.base).unwrap();
        assert_eq!(run(&tree.root, &["status", "--porcelain", "--ignored"]), "");
        for path in ["plant", "hidden", "nested"] {
            assert!(!tree.root.join(path).exists(), "{path} {in_place}");
        }
    }
}

/// Spec: [FLOW-66]
#[test]
fn copies_are_no_part_of_a_candidate_and_survive_restore() {
    let place = Place::new();
    write(&place.root(), ".env", "KEY=1\n");
    write(&place.root(), "conf/own/x", "1");
    let tree = place.tree_with(&[".env", "conf/own", "none"]);
    assert_eq!(read(&tree.root, ".env"), "KEY=1\n");
    write(&tree.root, ".env", "KEY=2\n");
    write(&tree.root, "conf/own/y", "2");
    // Not even if git is told not to ignore it.
    write(&tree.root, ".gitignore", "!.env\n");
    let candidate = place.snapshot(&tree, 1);
    assert_eq!(candidate.paths, [".gitignore"]);
    place.git.restore(&tree, &place.base).unwrap();
    assert_eq!(read(&tree.root, ".env"), "KEY=1\n");
    assert_eq!(read(&tree.root, "conf/own/x"), "1");
    assert_eq!(run(&tree.root, &["status", "--porcelain", "-uno"]), "");
    let fresh = place
        .git
        .fresh(&place.base, &place.beside("fresh"), &tree.copy)
        .unwrap();
    assert_eq!(read(&fresh.root, ".env"), "KEY=1\n");
}

/// Spec: [FLOW-65]
#[test]
fn in_a_persons_own_tree_what_the_base_ignores_stays() {
    let place = Place::new();
    let root = place.root();
    write(&root, "build/cache", "theirs");
    // A folder that ignores itself.
    write(&root, ".venv/.gitignore", "*\n");
    write(&root, ".venv/bin/python", "theirs");
    let tree = place.git.in_place().unwrap();
    write(&root, "src/a.py", "a = 2\n");
    write(&root, "new", "x");
    run(&root, &["add", "-A"]);
    place.git.restore(&tree, &place.base).unwrap();
    assert_eq!(run(&root, &["status", "--porcelain", "-b"]), "## main");
    assert_eq!(read(&root, "build/cache"), "theirs");
    assert_eq!(read(&root, ".venv/bin/python"), "theirs");
    // What a person commits meanwhile is kept.
    write(&root, "src/a.py", "a = 5\n");
    let theirs = commit(&root, "a person's");
    let moved = place.git.restore(&tree, &place.base).unwrap_err();
    assert!(matches!(moved, GitError::Moved { .. }), "{moved}");
    assert_eq!(place.at("refs/heads/main"), Some(theirs));
    assert_eq!(read(&root, "src/a.py"), "a = 5\n");
}

/// Spec: [FLOW-65]
#[test]
fn files_that_git_converts_are_restored_as_git_makes_them() {
    let mut place = Place::new();
    let root = place.root();
    write(&root, ".gitattributes", "*.bat text eol=crlf\n");
    write(&root, "x.bat", "one\r\ntwo\r\n");
    place.base = commit(&root, "converted");
    let tree = place.tree();
    assert_eq!(read(&tree.root, "x.bat"), "one\r\ntwo\r\n");
    assert_eq!(place.snapshot(&tree, 1).files, 0);
    write(&tree.root, "x.bat", "three\r\n");
    assert_eq!(
        place
            .git
            .protect(
                &tree,
                &place.base,
                &crate::workflow::guard::PathGuard::of_globs(&["*.bat".to_owned()])
            )
            .unwrap(),
        ["x.bat"]
    );
    assert_eq!(read(&tree.root, "x.bat"), "one\r\ntwo\r\n");
    write(&tree.root, ".gitattributes", "");
    write(&tree.root, "x.bat", "one\ntwo\n");
    place.git.restore(&tree, &place.base).unwrap();
    assert_eq!(read(&tree.root, "x.bat"), "one\r\ntwo\r\n");
}
