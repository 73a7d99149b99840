//! The traces of a workflow that is deleted.

use std::fs;

use serde_json::{Value, json};

use crate::workflow_ground::{BRANCH, Bench, ID, Turn, file};

/// Spec: [FLOW-105]
#[tokio::test]
async fn a_deleted_workflow_leaves_its_branch_and_nothing_that_somebody_would_miss() {
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], Turn::right).await;
    bench.complete().await;
    let worktree = bench.worktree().await;
    let refs = format!("refs/harness/{ID}");
    assert_ne!(bench.git(&["for-each-ref", &refs]), "");
    // A ref of another workflow, whose name begins alike.
    let other = format!("refs/harness/{ID}0/1.1");
    bench.git(&["update-ref", &other, "HEAD"]);
    let path = format!("/v1/workflows/{ID}");
    let delete = async || bench.service.as_owner("DELETE", &path, &Value::Null).await;
    let own = worktree.join("notes");
    fs::write(&own, "of a person").unwrap();
    let refused = delete().await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body.contains("not as they were left"),
        "{refused:?}"
    );
    assert!(own.exists());
    assert_eq!(bench.look().await["state"], "completed");
    fs::remove_file(&own).unwrap();
    let head = bench.tip(BRANCH);
    let deleted = delete().await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    assert!(fs::metadata(deleted.json()["trash"].as_str().unwrap()).is_ok());
    assert!(!worktree.exists());
    assert_eq!(bench.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(bench.git(&["for-each-ref", &refs]), "");
    assert_ne!(bench.git(&["for-each-ref", &other]), "");
    assert_eq!(bench.tip(BRANCH), head);
    assert_eq!(
        bench.service.get("/v1/workflows").await,
        json!({"workflows": []})
    );
    assert_eq!(delete().await.status, 404);
}

/// Spec: [FLOW-105]
#[tokio::test]
async fn a_workflow_whose_worktree_or_repository_is_gone_is_deleted_all_the_same() {
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], Turn::right).await;
    let path = format!("/v1/workflows/{ID}");
    fs::remove_dir_all(bench.root().join(".git")).unwrap();
    let deleted = bench.service.as_owner("DELETE", &path, &Value::Null).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
}
