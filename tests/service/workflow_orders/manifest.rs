//! The file of a workflow that counts, and another one in its place.

use std::fs;

use serde_json::{Value, json};

use crate::client::Answer;
use crate::workflow_ground::{Bench, ID, Turn, file};

const PATH: &str = ".harness/workflows/words.toml";

impl Bench {
    async fn manifest(&self) -> Answer {
        let path = format!("/v1/workflows/{ID}/manifest");
        self.service.as_owner("GET", &path, &Value::Null).await
    }

    /// Sends a file, with what it is to replace.
    async fn put(&self, over: Option<&str>, body: &Value) -> Answer {
        let token = fs::read_to_string(self.service.home.path().join(".harness/token"));
        let token = token.unwrap_or_default();
        let over = over.map(|hash| format!("if-match: \"{hash}\"\r\n"));
        let headers = format!(
            "authorization: Bearer {}\r\ncontent-type: application/json\r\n{}",
            token.trim(),
            over.unwrap_or_default()
        );
        let path = format!("/v1/workflows/{ID}/manifest");
        self.service
            .send("PUT", &path, &headers, &body.to_string())
            .await
    }
}

fn kind(answer: &Answer) -> (u16, String) {
    let kind = answer.json()["type"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (answer.status, kind.replace("urn:harness:problem:", ""))
}

/// Spec: [FLOW-94]
#[tokio::test]
async fn the_file_that_counts_is_told_with_what_the_one_in_the_folder_would_change() {
    let old = file("strict", "", &["one", "two"]);
    let bench = Bench::start(&old, &[], Turn::right).await;
    let hash = bench.hash().await;
    assert_eq!(bench.make(&hash).await.status, 201);
    let told = bench.manifest().await;
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(told.header("etag"), Some(&*format!("\"{hash}\"")));
    let it = told.json();
    assert_eq!((&it["hash"], &it["version"]), (&json!(hash), &json!(1)));
    assert_eq!((&it["text"], &it["file"]), (&json!(old), &json!(PATH)));
    assert_eq!(it["manifest"]["features"][1]["id"], "two");
    assert_eq!(
        (&it["approved"], &it["proposal"]),
        (&json!(true), &Value::Null)
    );
    fs::write(
        bench.root().join(PATH),
        file("strict", "", &["one", "three"]),
    )
    .unwrap();
    let proposal = bench.manifest().await.json()["proposal"].clone();
    let lines: Vec<&str> = proposal["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["line"].as_str().unwrap())
        .collect();
    assert!(lines[0].starts_with("feature three is new"), "{lines:?}");
    assert_eq!(lines[1], "feature two is removed");
    assert_eq!(
        (&proposal["removes"], &proposal["problems"]),
        (&json!(true), &json!([]))
    );
    fs::write(bench.root().join(PATH), "[workflow]\n").unwrap();
    let proposal = bench.manifest().await.json()["proposal"].clone();
    assert_ne!(proposal["problems"], json!([]), "{proposal}");
    fs::remove_file(bench.root().join(PATH)).unwrap();
    let told = bench.manifest().await.json();
    assert!(told["proposal"]["missing"].is_string(), "{told}");
    assert_eq!(told["text"], old);
    // It has what the model is not told.
    let path = format!("/v1/workflows/{ID}/manifest");
    let refused = bench.service.send("GET", &path, "", "").await;
    assert_eq!(kind(&refused), (401, "unauthorized".to_owned()));
}

/// Spec: [FLOW-95]
#[tokio::test]
async fn another_file_counts_only_in_place_of_the_one_that_is_named() {
    let bench = Bench::ready(&file("strict", "", &["one", "two"]), &[], Turn::right).await;
    bench.run().await;
    bench.until("ready").await;
    let first = bench.look().await["manifest"].as_str().unwrap().to_owned();
    let path = bench.root().join(PATH);
    let new = file("strict", "", &["one", "three"]).replacen("\"right\"", "\"-i\", \"right\"", 1);
    fs::write(&path, &new).unwrap();
    let compared = bench.put(None, &json!({"dry_run": true})).await;
    assert_eq!(compared.status, 200, "{compared:?}");
    let hash = compared.json()["hash"].as_str().unwrap().to_owned();
    let order = json!({"approve": hash, "allow_remove": true, "by": "ana"});
    let before = bench.records().await;
    for over in [None, Some("beef")] {
        let refused = bench.put(over, &order).await;
        assert_eq!(
            kind(&refused),
            (412, "manifest-changed".to_owned()),
            "{over:?}"
        );
    }
    let refused = bench.put(Some(&first), &json!({"approve": "beef"})).await;
    assert_eq!(kind(&refused), (409, "other-file".to_owned()));
    let refused = bench.put(Some(&first), &json!({"approve": hash})).await;
    assert_eq!(
        kind(&refused),
        (422, "invalid-order".to_owned()),
        "{refused:?}"
    );
    assert!(
        refused.body.contains("missing in the new manifest: two"),
        "{refused:?}"
    );
    let moved = new.replace(
        "[permissions]",
        "[workspace]\nbranch = \"other\"\n\n[permissions]",
    );
    fs::write(&path, moved).unwrap();
    let refused = bench
        .put(Some(&first), &json!({"allow_remove": true}))
        .await;
    assert!(
        refused.body.contains("make another workflow"),
        "{refused:?}"
    );
    fs::write(&path, &new).unwrap();
    assert_eq!(bench.records().await, before);
    let head = bench.look().await["head"].clone();
    let applied = bench.put(Some(&first), &order).await;
    assert_eq!(applied.status, 200, "{applied:?}");
    assert_eq!(applied.header("etag"), Some(&*format!("\"{hash}\"")));
    let now = applied.json();
    assert_eq!((&now["version"], &now["head"]), (&json!(2), &head));
    assert_eq!(Bench::feature(&now, "one"), "failing");
    // A repetition changes nothing, whatever it names.
    let after = bench.records().await;
    assert_eq!(bench.put(Some(&first), &order).await.status, 200);
    assert_eq!(bench.records().await, after);
    let last = after.last().unwrap();
    assert_eq!(
        (&last["data"]["file"], &last["data"]["by"]),
        (&json!(PATH), &json!("ana"))
    );
    // The other checks count: the feature is green without any work, which its check has to show first.
    bench.run().await;
    let now = bench.paused("baseline_broken").await;
    assert!(now["detail"].as_str().unwrap().contains("one.1"), "{now:#}");
}
