//! Checks that run where the model worked.

use serde_json::json;

use crate::workflow_ground::{BRANCH, Bench, Turn, file, repository_with};

/// Spec: [FLOW-224]
#[tokio::test]
async fn checks_in_place_see_what_git_ignores_and_the_last_verification_does_not() {
    let text = file("strict", "[verify]\nwhere = \"in_place\"\n", &["one"])
        + "[[feature.check]]\ncmd = [\"grep\", \"right\", \"made.cache\"]\n";
    let repository = repository_with(
        &text,
        &[(".gitignore", "*.cache\n"), ("README", "Words.\n")],
    );
    let play = |turn: &Turn| turn.writes(&[("one.txt", "right\n"), ("made.cache", "right\n")]);
    let bench = Bench::on(repository.into(), &[], play).await;
    bench.initialize().await;
    bench.run().await;
    let now = bench.until("ready").await;
    // It was accepted where it was made, and is not done where only the commit is.
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    assert_ne!(bench.tip(BRANCH), bench.tip("main"));
    let last = bench.past("verification_ended").await;
    let last = last.last().unwrap();
    assert_eq!(
        (&last["green"], &last["reopened"]),
        (&json!(false), &json!(["one"]))
    );
    assert_eq!(Bench::feature(&now, "one"), "failing");
}

/// Spec: [FLOW-224]
#[tokio::test]
async fn what_is_right_is_accepted_in_place_and_completed_by_a_fresh_verification() {
    let text = file(
        "unlimited",
        "[verify]\nwhere = \"in_place\"\n",
        &["one", "two"],
    );
    let bench = Bench::ready(&text, &[], Turn::right).await;
    bench.complete().await;
    assert_eq!(bench.verdicts().await, [(1, 1, vec![]), (2, 1, vec![])]);
    bench.stands_at(BRANCH).await;
}
