//! Branches of others, and the branch of the work.

use super::place::{Place, commit, read, run, write};
use crate::workflow::git::{
    AcceptOrder, CandidateName, GitError, KEPT_REJECTED, SnapshotOrder, WorkflowGit as _,
};

/// Spec: [FLOW-61]
#[test]
fn case_36_a_branch_that_a_person_moved_is_not_moved_and_both_commits_are_kept() {
    let place = Place::new();
    let tree = place.tree();
    write(&tree.root, "src/a.py", "a = 2\n");
    let candidate = place.snapshot(&tree, 1);
    let root = place.root();
    run(&root, &["checkout", "-q", "harness/w1"]);
    write(&root, "theirs", "x");
    let theirs = commit(&root, "a person's");
    let order = AcceptOrder {
        branch: "harness/w1",
        candidate: &candidate.commit,
        base: &place.base,
    };
    let expected = GitError::Moved {
        branch: "harness/w1".to_owned(),
        expected: place.base.clone(),
        found: theirs.clone(),
    };
    assert_eq!(place.git.accept(&tree, &order), Err(expected));
    assert_eq!(place.at("refs/heads/harness/w1"), Some(theirs));
    assert_eq!(
        place.at("refs/harness/w1/1.1"),
        Some(candidate.commit.clone())
    );
    assert_eq!(read(&tree.root, "src/a.py"), "a = 2\n");
    // One that somebody works on is not moved under them either.
    run(&root, &["reset", "-q", "--hard", &place.base]);
    let refused = place.git.accept(&tree, &order).unwrap_err();
    let GitError::CheckedOut { folder, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(folder, root);
    run(&root, &["checkout", "-q", "main"]);
    place.git.accept(&tree, &order).unwrap();
}

/// Spec: [FLOW-79]
#[test]
fn refs_that_the_work_moved_or_removed_are_put_back_and_a_persons_are_only_told() {
    let place = Place::new();
    let (root, tree) = (place.root(), place.tree());
    run(&root, &["branch", "old"]);
    run(&root, &["branch", "aside"]);
    run(&root, &["tag", "v1"]);
    let before = place.git.refs().unwrap();
    // A person goes on, also by taking what was accepted.
    write(&root, "theirs", "x");
    let theirs = commit(&root, "a person's");
    run(&root, &["branch", "merged", &place.base]);
    // A model commits, and moves what is not its own.
    write(&tree.root, "src/a.py", "a = 2\n");
    let own = commit(&tree.root, "the model's");
    run(&tree.root, &["update-ref", "refs/heads/aside", &own]);
    run(&tree.root, &["branch", "planted"]);
    run(&tree.root, &["branch", "-q", "-D", "old"]);
    run(&tree.root, &["tag", "-d", "v1"]);
    let changes = place
        .git
        .put_refs_back(&tree, &place.base, &before)
        .unwrap();
    let told: Vec<(&str, bool)> = changes
        .iter()
        .map(|change| (change.name.as_str(), change.put_back))
        .collect();
    assert_eq!(
        told,
        [
            ("refs/heads/aside", true),
            ("refs/heads/main", false),
            ("refs/heads/merged", false),
            ("refs/heads/old", true),
            ("refs/heads/planted", true),
            ("refs/tags/v1", true),
        ]
    );
    for (name, at) in [
        ("refs/heads/aside", Some(&place.base)),
        ("refs/heads/main", Some(&theirs)),
        ("refs/heads/merged", Some(&place.base)),
        ("refs/heads/old", Some(&place.base)),
        ("refs/heads/planted", None),
        ("refs/tags/v1", Some(&place.base)),
    ] {
        assert_eq!(place.at(name).as_ref(), at, "{name}");
    }
}

/// Spec: [FLOW-63]
#[test]
fn the_last_rejected_candidates_are_kept_and_accepted_ones_with_them() {
    let place = Place::new();
    let tree = place.tree();
    let config = place.git.config(&tree).unwrap();
    let count = u32::try_from(KEPT_REJECTED).unwrap() + 2;
    let mut accepted = String::new();
    for iteration in 1..=count {
        write(
            &tree.root,
            "src/a.py",
            &format!("a = {iteration}{iteration}\n"),
        );
        let name = CandidateName {
            workflow: "w1".to_owned(),
            iteration,
            attempt: 1,
        };
        let order = SnapshotOrder {
            base: &place.base,
            message: "m",
            trailers: &[],
            seconds: 1,
            name: &name,
            config: &config,
        };
        let candidate = place.git.snapshot(&tree, &order).unwrap();
        if iteration == 1 {
            accepted = candidate.commit;
        }
    }
    let order = AcceptOrder {
        branch: "harness/w1",
        candidate: &accepted,
        base: &place.base,
    };
    place.git.accept(&tree, &order).unwrap();
    place.git.forget_rejected("w1", "harness/w1").unwrap();
    let refs = place.git.refs().unwrap().0;
    let kept = refs.keys().filter(|name| name.starts_with("refs/harness/"));
    assert_eq!(kept.count(), KEPT_REJECTED + 1);
    assert!(refs.contains_key("refs/harness/w1/1.1"));
    assert!(!refs.contains_key("refs/harness/w1/2.1"));
    assert!(refs.contains_key("refs/harness/w1/3.1"));
}
