//! Workflows that start by themselves, and that work in a part of the day.

use harness_actors::Clock;
use serde_json::{Value, json};

use crate::workflow_ground::{Bench, Turn, file};

/// Spec: [FLOW-222]
#[tokio::test]
async fn a_workflow_with_a_schedule_is_made_ready_and_worked_on_without_an_order_also_behind_a_kill()
 {
    let text = file("strict", "[schedule]\nevery = \"1s\"\n", &["one", "two"]);
    let mut bench = Bench::start(&text, &[], Turn::right).await;
    let made = bench.make(&bench.hash().await).await;
    assert_eq!(made.status, 201, "{made:?}");
    bench
        .until_it("planned", |now| now["next_start"].is_u64())
        .await;
    // What was missed meanwhile comes once.
    bench.service.kill();
    bench.service.revive().await;
    let now = bench.until("completed").await;
    assert_eq!(now["next_start"], Value::Null);
    let started = bench.past("phase_started").await;
    let phases: Vec<&Value> = started.iter().map(|run| &run["phase"]).collect();
    assert_eq!(phases, ["initializer", "task_iteration", "task_iteration"]);
    assert!(
        started.iter().all(|run| run["order"]["by"] == "schedule"),
        "{started:?}"
    );
    assert_eq!(bench.verdicts().await, [(1, 1, vec![]), (2, 1, vec![])]);
}

/// Spec: [FLOW-223]
#[tokio::test]
async fn a_workflow_is_paused_outside_of_its_window() {
    let minute = Clock::system().unix_seconds() / 60;
    let at = |minute: u64| format!("{:02}:{:02}", minute / 60 % 24, minute % 60);
    let window = format!(
        "[schedule]\nwindow = \"{}-{}\"\n",
        at(minute + 120),
        at(minute + 180)
    );
    let bench = Bench::ready(&file("strict", &window, &["one"]), &[], Turn::right).await;
    bench.run().await;
    let now = bench.paused("outside_schedule").await;
    let detail = now["detail"].as_str().unwrap();
    assert!(
        detail.contains(&format!("goes on by itself at {}", at(minute + 120))),
        "{detail}"
    );
    assert_eq!(bench.asked(), 0);
    assert_eq!(bench.order("resume", &json!({})).await.status, 409);

    let open = format!(
        "[schedule]\nwindow = \"{}-{}\"\n",
        at(minute + 1380),
        at(minute + 120)
    );
    let bench = Bench::ready(&file("strict", &open, &["one"]), &[], Turn::right).await;
    bench.complete().await;
}

/// Spec: [FLOW-222] [FLOW-228]
#[tokio::test]
async fn a_schedule_that_cannot_be_and_work_without_git_are_told_with_a_way_out() {
    for (more, place, said) in [
        (
            "[schedule]\nevery = \"1h\"\nat = [\"03:00\"]\n",
            "schedule",
            "keep one of them",
        ),
        (
            "[schedule]\nat = [\"25:00\"]\n",
            "schedule.at[0]",
            "no time of day",
        ),
        (
            "[schedule]\nwindow = \"9-17\"\n",
            "schedule.window",
            "write it like \"22:00-06:00\"",
        ),
        (
            "[workspace]\ngit = \"off\"\n",
            "workspace.git",
            "it needs git; write \"worktree\"",
        ),
    ] {
        let bench = Bench::start(&file("strict", more, &["one"]), &[], Turn::right).await;
        let refused = bench.post(&bench.making(&json!({}))).await;
        assert_eq!(refused.status, 422, "{more}: {refused:?}");
        let problem = refused.json()["problems"][0].clone();
        assert_eq!(problem["place"], place, "{problem}");
        assert!(
            problem["message"].as_str().unwrap().contains(said),
            "{problem}"
        );
    }
}
