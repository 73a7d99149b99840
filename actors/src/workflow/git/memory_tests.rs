use super::*;
use crate::workflow::git::CandidateName;

/// Spec: [FLOW-62]
#[test]
fn the_repository_in_memory_goes_the_way_of_a_real_one() {
    let git = MemoryGit::new(&[("a", "1\n"), ("tests/t", "t\n")]);
    let base = git.tip("main").unwrap().unwrap();
    let order = WorktreeOrder {
        folder: Path::new("/trees/w1"),
        branch: "harness/w1",
        start: &base.commit,
        copy: &[],
    };
    let tree = git.worktree(&order).unwrap();
    git.write(&tree.root, "a", Some("2\n"));
    git.write(&tree.root, "tests/t", None);
    let globs = ["tests/**".to_owned()];
    assert_eq!(
        git.protect(
            &tree,
            &base.commit,
            &crate::workflow::guard::PathGuard::of_globs(&globs)
        )
        .unwrap(),
        ["tests/t"]
    );
    let config = git.config(&tree).unwrap();
    let name = CandidateName {
        workflow: "w1".to_owned(),
        iteration: 1,
        attempt: 1,
    };
    let order = SnapshotOrder {
        base: &base.commit,
        message: "m",
        trailers: &[],
        seconds: 1,
        name: &name,
        config: &config,
    };
    let candidate = git.snapshot(&tree, &order).unwrap();
    assert_eq!(candidate.paths, ["a"]);
    assert_eq!(git.snapshot(&tree, &order).unwrap(), candidate);
    git.restore(&tree, &base.commit).unwrap();
    assert_eq!(git.tree_now(&tree, &base.commit).unwrap(), base.tree);
    let accept = AcceptOrder {
        branch: "harness/w1",
        candidate: &candidate.commit,
        base: &base.commit,
    };
    git.set_ref("refs/heads/harness/w1", None);
    let moved = git.accept(&tree, &accept);
    assert!(matches!(moved, Err(GitError::Moved { .. })));
    git.set_ref("refs/heads/harness/w1", Some(&base.commit));
    assert_eq!(git.accept(&tree, &accept), Ok(Accepted::Now));
    assert_eq!(git.accept(&tree, &accept), Ok(Accepted::Before));
    assert_eq!(
        git.files(&tree.root).get("a").map(String::as_str),
        Some("2\n")
    );
    git.set_config("core.hooksPath", "/evil");
    let refused = git.snapshot(&tree, &order);
    assert!(matches!(refused, Err(GitError::ConfigChanged { .. })));
}
