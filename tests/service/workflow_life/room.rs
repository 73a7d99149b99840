//! The number of workflows that work at once, the order of their list, and their start after a restart.

use harness_standin::Reply;
use serde_json::json;

use crate::workflow_ground::{Bench, ID, Turn, file, repository};

fn hangs(_: &Turn) -> Reply {
    Reply::text("I think about it").keep_events(3).hang()
}

/// Makes a workflow in a repository of its own, and lets it run twice: to be ready, and to work.
async fn another(bench: &Bench, id: &str, text: &str) -> tempfile::TempDir {
    let own = repository(text);
    let path = ".harness/workflows/words.toml";
    let making =
        json!({"folder": own.path(), "path": path, "id": id, "approve": bench.hash().await});
    let made = bench.post(&making).await;
    assert_eq!(made.status, 201, "{made:?}");
    own
}

/// Spec: [FLOW-226]
#[tokio::test]
async fn one_more_than_may_work_at_once_is_refused_and_runs_when_there_is_room() {
    let text = file("strict", "", &["one"]);
    let bench = Bench::ready(&text, &["--max-workflows", "1"], hangs).await;
    let own = another(&bench, "w2", &text).await;
    bench.run().await;
    bench.asked_times(1).await;
    let nothing = json!({});
    let run = || {
        bench
            .service
            .as_owner("POST", "/v1/workflows/w2/run", &nothing)
    };
    let refused = run().await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("at most 1 workflow may work at once (max_workflows)"),
        "{detail}"
    );
    assert!(detail.contains("1 is at work: w1"), "{detail}");
    assert_eq!(bench.order("cancel", &json!({})).await.status, 200);
    assert_eq!(run().await.status, 202);
    drop(own);
}

/// Spec: [FLOW-227]
#[tokio::test]
async fn workflows_are_listed_the_last_made_first() {
    let text = file("strict", "", &["one"]);
    let mut bench = Bench::start(&text, &[], Turn::right).await;
    let hash = bench.hash().await;
    assert_eq!(bench.make(&hash).await.status, 201);
    let own = [
        another(&bench, "zz", &text).await,
        another(&bench, "aa", &text).await,
    ];
    let listed = async |bench: &Bench| {
        let listed = bench.service.get("/v1/workflows").await;
        let ids = listed["workflows"].as_array().unwrap().iter();
        ids.map(|own| own["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&bench).await, ["aa", "zz", ID]);
    bench.service.kill();
    bench.service.revive().await;
    bench.until_it("found", |now| now["id"] == ID).await;
    for id in ["aa", "zz"] {
        bench.service.get(&format!("/v1/workflows/{id}")).await;
    }
    assert_eq!(listed(&bench).await, ["aa", "zz", ID]);
    drop(own);
}

/// Spec: [FLOW-58] [FLOW-225]
#[tokio::test]
async fn without_the_setting_a_workflow_stays_when_the_service_comes_back_and_a_person_lets_it_go_on()
 {
    let text = file("strict", "", &["one"]);
    let flags = ["--workflow-auto-resume=false"];
    let mut bench = Bench::ready(&text, &flags, hangs).await;
    bench.run().await;
    bench.asked_times(1).await;
    bench.service.kill();
    bench.service.revive().await;
    let now = bench.paused("operator").await;
    let detail = now["detail"].as_str().unwrap();
    assert!(detail.contains("workflow_auto_resume"), "{detail}");
    assert_eq!(bench.asked(), 1);
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.asked_times(2).await;
    assert_eq!(bench.order("cancel", &json!({})).await.status, 200);
}
