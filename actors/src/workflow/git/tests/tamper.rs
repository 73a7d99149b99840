//! Things that a model may do to git, and their outcome.

use std::fs;
use std::os::unix::fs::symlink;

use super::place::{Place, program, read, run, write};
use crate::workflow::git::{GitError, WorkflowGit as _};

fn protect(place: &Place, tree: &crate::workflow::git::Worktree) -> Vec<String> {
    let globs = ["tests/**".to_owned(), "*.cfg".to_owned()];
    let guard = crate::workflow::guard::PathGuard::of_globs(&globs);
    place.git.protect(tree, &place.base, &guard).unwrap()
}

/// Spec: [FLOW-64]
#[test]
fn case_21_a_protected_file_that_git_is_told_to_overlook_is_found_and_restored() {
    let place = Place::new();
    let tree = place.tree();
    let root = &tree.root;
    assert_eq!(protect(&place, &tree), [""; 0]);
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        run(root, &["update-index", mark, "tests/test_a.py"]);
        write(root, "tests/test_a.py", "pass\n");
        assert_eq!(run(root, &["status", "--porcelain"]), "");
        assert_eq!(protect(&place, &tree), ["tests/test_a.py"], "{mark}");
        assert_eq!(read(root, "tests/test_a.py"), "assert a == 1\n");
    }
    // Restore is not misled either.
    write(root, "tests/test_a.py", "pass\n");
    place.git.restore(&tree, &place.base).unwrap();
    assert_eq!(read(root, "tests/test_a.py"), "assert a == 1\n");
}

/// Spec: [FLOW-64]
#[test]
fn new_ignored_and_removed_protected_files_and_links_are_found_too() {
    let place = Place::new();
    let tree = place.tree();
    let root = &tree.root;
    write(root, "tests/conftest.py", "evil");
    write(root, "tests/x.log", "ignored");
    write(root, "tests/build/cache", "ignored");
    // What the model ignores is found.
    write(root, "tests/.gitignore", "hidden.py\n.gitignore\n");
    write(root, "tests/hidden.py", "evil");
    write(root, "tests/:x", "evil");
    write(root, "a.cfg", "x");
    write(root, "src/a.cfg", "not protected");
    fs::remove_file(root.join("tests/test_a.py")).unwrap();
    let found = protect(&place, &tree);
    assert_eq!(
        found,
        [
            "a.cfg",
            "tests/.gitignore",
            "tests/:x",
            "tests/conftest.py",
            "tests/hidden.py",
            "tests/test_a.py",
        ]
    );
    // What the base ignores is no change, and does not stay either.
    assert!(!root.join("tests/x.log").exists() && !root.join("tests/build/cache").exists());
    assert_eq!(protect(&place, &tree), [""; 0]);
    assert_eq!(read(root, "src/a.cfg"), "not protected");
    // The folder becomes a link to one that looks alike.
    let other = place.beside("other");
    write(&other, "test_a.py", "assert a == 1\n");
    fs::remove_dir_all(root.join("tests")).unwrap();
    symlink(&other, root.join("tests")).unwrap();
    assert_eq!(protect(&place, &tree), ["tests", "tests/test_a.py"]);
    assert!(fs::symlink_metadata(root.join("tests")).unwrap().is_dir());
    assert_eq!(read(&other, "test_a.py"), "assert a == 1\n");
    // The file becomes a program.
    run(root, &["config", "core.fileMode", "false"]);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.join("tests/test_a.py"), mode).unwrap();
    assert_eq!(protect(&place, &tree), ["tests/test_a.py"]);
}

/// Spec: [FLOW-68]
#[test]
fn case_24_planted_hooks_and_filters_do_not_run_and_are_named() {
    let place = Place::new();
    let tree = place.tree();
    let before = place.git.config(&tree).unwrap();
    let notes = place.beside("notes");
    let common = place.git.common();
    for hook in [
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        program(&common.join("hooks").join(hook), &notes);
    }
    let planted = place.beside("planted");
    program(&planted, &notes);
    let planted = planted.to_str().unwrap();
    let root = place.root();
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.e=v.il.process",
        "core.fsmonitor",
    ] {
        run(&root, &["config", key, planted]);
    }
    run(&root, &["config", "filter.evil.required", "true"]);
    run(&root, &["config", "diff.evil.textconv", planted]);
    write(&tree.root, ".gitattributes", "* filter=evil diff=evil\n");
    write(&tree.root, "src/a.py", "a = 2\n");
    let changed = place.try_snapshot(&tree, 1, &before).unwrap_err();
    let GitError::ConfigChanged { keys } = &changed else {
        panic!("{changed}");
    };
    for key in ["core.fsmonitor", "filter.evil.clean", "hooks/pre-commit"] {
        assert!(keys.iter().any(|found| found == key), "{key} {keys:?}");
    }
    // Nothing was kept.
    assert_eq!(place.at("refs/harness/w1/1.1"), None);
    // Even then nothing of it runs, whatever the service does.
    let candidate = place.snapshot(&tree, 2);
    assert_eq!(candidate.paths, [".gitattributes", "src/a.py"]);
    let fresh = place
        .git
        .fresh(&candidate.commit, &place.beside("fresh"), &[])
        .unwrap();
    assert_eq!(read(&fresh.root, "src/a.py"), "a = 2\n");
    protect(&place, &tree);
    place.git.restore(&tree, &place.base).unwrap();
    place.git.remove(&fresh).unwrap();
    assert!(!notes.exists(), "{}", fs::read_to_string(&notes).unwrap());
    // For a person they do run.
    write(&tree.root, ".gitattributes", "* filter=evil\n");
    super::place::commit(&tree.root, "with hooks");
    assert!(notes.exists());
}

/// Spec: [FLOW-68]
#[test]
fn what_makes_git_overlook_files_counts_and_a_persons_daily_settings_do_not() {
    let place = Place::new();
    let tree = place.tree();
    let before = place.git.config(&tree).unwrap();
    let changed = || before.changed(&place.git.config(&tree).unwrap());
    run(&place.root(), &["config", "branch.main.remote", "origin"]);
    run(&place.root(), &["config", "user.name", "Ana"]);
    assert_eq!(changed(), [""; 0]);
    let common = place.git.common();
    fs::create_dir_all(common.join("info")).unwrap();
    fs::write(common.join("info/exclude"), "planted\n").unwrap();
    assert_eq!(changed(), ["info/exclude"]);
    fs::create_dir_all(tree.git.join("info")).unwrap();
    fs::write(tree.git.join("info/sparse-checkout"), "/src\n").unwrap();
    let included = place.beside("included");
    fs::write(&included, "[core]\n\tattributesFile = /tmp/x\n").unwrap();
    run(
        &place.root(),
        &["config", "include.path", included.to_str().unwrap()],
    );
    assert_eq!(
        changed(),
        [
            "core.attributesfile",
            "include.path",
            "info/exclude",
            "worktree/info/sparse-checkout"
        ]
    );
}

/// Spec: [FLOW-68]
#[test]
fn a_repository_inside_of_the_tree_makes_git_run_nothing_and_is_told() {
    let mut place = Place::new();
    let notes = place.beside("notes");
    let planted = place.beside("planted");
    program(&planted, &notes);
    let plant = |nested: &std::path::Path| {
        write(nested, "x", "1");
        run(nested, &["init", "-q"]);
        super::place::commit(nested, "nested");
        run(
            nested,
            &["config", "core.fsmonitor", planted.to_str().unwrap()],
        );
        write(nested, "x", "2");
    };
    // One that the base names, and a new one.
    let root = place.root();
    write(&root.join("sub"), "x", "1");
    run(&root.join("sub"), &["init", "-q"]);
    super::place::commit(&root.join("sub"), "sub");
    place.base = super::place::commit(&root, "with a submodule");
    let tree = place.tree();
    plant(&tree.root.join("sub"));
    plant(&tree.root.join("nest"));
    fs::create_dir(tree.root.join("empty")).unwrap();
    run(&tree.root.join("empty"), &["init", "-q"]);
    write(&tree.root, "src/a.py", "a = 2\n");
    assert!(!notes.exists());
    let candidate = place.snapshot(&tree, 1);
    assert_eq!(candidate.paths, ["src/a.py"]);
    assert_eq!(candidate.nested, ["empty", "nest"]);
    assert!(!notes.exists());
    // For a person it does run.
    run(&tree.root, &["status"]);
    fs::remove_file(&notes).unwrap();
    place.git.restore(&tree, &place.base).unwrap();
    assert!(!tree.root.join("nest").exists());
    assert!(!notes.exists());
}
