//! The past of a workflow: iterations, what an attempt changed, and the outputs of checks.

use serde_json::{Value, json};

use crate::workflow_ground::{Bench, ID, Turn, file};

/// The first attempt is wrong, the second is right.
fn second_is_right(turn: &Turn) -> harness_standin::Reply {
    match turn.attempt {
        1 => turn.writes(&[("one.txt", "wrong\n")]),
        _ => turn.right(),
    }
}

/// Spec: [FLOW-97] [FLOW-98]
#[tokio::test]
async fn what_was_tried_is_told_with_what_it_changed_and_what_the_checks_wrote() {
    let check = "\n[[check]]\nid = \"says\"\nshell = \"echo all is well\"\n";
    let bench = Bench::ready(
        &file("strict", check, &["one", "two"]),
        &[],
        second_is_right,
    )
    .await;
    bench.run().await;
    bench.until("ready").await;
    let at = |what: &str| format!("/v1/workflows/{ID}/{what}");
    let all = bench.service.get(&at("iterations")).await;
    assert_eq!(all["iterations"].as_array().unwrap().len(), 1, "{all:#}");
    let first = &all["iterations"][0];
    assert_eq!(
        (&first["feature"], &first["status"]),
        (&json!("one"), &json!("accepted"))
    );
    assert_eq!(first["attempts"][0].get("checks"), None);
    assert_eq!(
        bench.service.get(&at("iterations?after=1")).await["iterations"],
        json!([])
    );
    let it = bench.service.get(&at("iterations/1")).await;
    let attempts = it["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{it:#}");
    assert_eq!(attempts[0]["reasons"][0]["reason"], "check_failed");
    assert_eq!(
        (&attempts[1]["accepted"], &it["commit"]),
        (&json!(true), &attempts[1]["commit"])
    );
    assert_eq!(it["attempts"][0]["conversation"], format!("wf-{ID}-1"));
    let head = bench.service.get(&at("iterations/0")).await;
    assert_eq!(head["attempts"][0]["accepted"], true, "{head:#}");
    let owned = async |what: &str| bench.service.as_owner("GET", &at(what), &Value::Null).await;
    let diff = owned("iterations/1/diff?attempt=1").await.json();
    assert_eq!(
        (&diff["base"], &diff["commit"]),
        (&it["base"], &attempts[0]["commit"])
    );
    let changed = diff["diff"].as_str().unwrap();
    assert!(
        changed.contains("one.txt") && changed.ends_with("+wrong\n"),
        "{changed}"
    );
    let last = owned("iterations/1/diff").await.json();
    assert_eq!(last["attempt"], 2);
    assert!(
        last["diff"].as_str().unwrap().ends_with("+right\n"),
        "{last:#}"
    );
    let checks = attempts[1]["checks"].as_array().unwrap();
    let says = checks
        .iter()
        .find(|check| check["check"] == "says")
        .unwrap();
    let hash = says["output"].as_str().unwrap();
    let output = owned(&format!("outputs/{hash}")).await;
    assert_eq!((output.status, &*output.body), (200, "all is well\n"));
    assert_eq!(
        output.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    for (what, status) in [
        ("iterations/9", 404),
        ("iterations/x", 404),
        ("iterations/9/diff", 404),
        ("iterations/1/diff?attempt=9", 404),
        ("outputs/..%2Fw1", 404),
        (&*format!("outputs/{}", "0".repeat(64)), 404),
    ] {
        assert_eq!(owned(what).await.status, status, "{what}");
    }
    // Git's work, and what hidden checks wrote, are not for everybody.
    for what in ["iterations/1/diff".to_owned(), format!("outputs/{hash}")] {
        let refused = bench.service.send("GET", &at(&what), "", "").await;
        assert_eq!(refused.status, 401, "{what}");
    }
    // A ref that is gone takes the commit with it once git cleans up.
    let rejected = attempts[0]["commit"].as_str().unwrap();
    bench.git(&["update-ref", "-d", &format!("refs/harness/{ID}/1.1")]);
    bench.git(&["prune", "--expire=now"]);
    assert_ne!(rejected, "");
    let gone = owned("iterations/1/diff?attempt=1").await;
    assert_eq!(gone.status, 404, "{gone:?}");
    assert!(gone.body.contains("not kept any more"), "{gone:?}");
}
