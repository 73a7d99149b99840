//! The demo: a model in the service's own process, which no other process can reach.

use std::collections::BTreeSet;

use harness_standin::Standin;
use serde_json::{Value, json};

use crate::program::Service;

/// The addresses at which a process listens for TCP.
#[cfg(target_os = "linux")]
fn listening(process: u32) -> Vec<String> {
    let sockets: BTreeSet<String> = std::fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|target| {
            let target = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']');
            target.map(str::to_owned)
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|name| {
        let path = format!("/proc/{process}/net/{name}");
        std::fs::read_to_string(path).unwrap_or_default()
    });
    let rows = tables.iter().flat_map(|table| table.lines().skip(1));
    let rows = rows.map(|row| row.split_ascii_whitespace().collect::<Vec<_>>());
    // The state 0A is that of a socket that listens.
    rows.filter(|row| row[3] == "0A" && sockets.contains(row[9]))
        .map(|row| row[1].to_owned())
        .collect()
}

/// Spec: [SEC-42]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_demo_listens_at_one_address_only() {
    let service = Service::start("http://127.0.0.1:9", &["--demo"]).await;
    let mut events = service.events().await;
    service.submit("list .").await;
    events.run().await;
    let port = format!("0100007F:{:04X}", service.address.port());
    assert_eq!(listening(service.id()), [port]);
}

/// The events of a run, without ids and times.
async fn run(service: &Service, prompt: &str) -> Vec<Value> {
    let mut events = service.events().await;
    service.submit(prompt).await;
    let mut run = events.run().await;
    for event in &mut run {
        let fields = event.as_object_mut().unwrap();
        for name in ["id", "timestamp"] {
            fields.remove(name);
        }
    }
    run
}

/// Spec: [SEC-42]
#[tokio::test]
async fn the_demo_answers_as_its_model_does_over_http() {
    let standin = Standin::demo().unwrap();
    let more = ["--max-tokens", "999999"];
    let demo = Service::start("http://127.0.0.1:9", &["--demo"]).await;
    let other = Service::start(&standin.base_url(), &[]).await;
    assert_eq!(demo.get("/v1/models").await, other.get("/v1/models").await);
    for prompt in ["think about what is in none", "read none", "hello"] {
        assert_eq!(run(&demo, prompt).await, run(&other, prompt).await);
    }
    let usage = async |service: &Service| {
        let shown = service.get("/v1/conversations/default").await;
        shown["summary"].clone()
    };
    for field in ["context_window", "context_tokens", "model"] {
        assert_eq!(usage(&demo).await[field], usage(&other).await[field]);
    }
    // What it refuses is told in the same words.
    let demo = Service::start("http://127.0.0.1:9", &[&["--demo"], &more[..]].concat()).await;
    let other = Service::start(&standin.base_url(), &more).await;
    let refusal = |told: &[Value]| {
        let mut said = told.iter().filter_map(|event| event["message"].as_str());
        let said = said.find(|said| said.contains("HTTP 400"));
        let said = said.unwrap_or_default();
        assert!(said.contains("max_tokens"), "{told:?}");
        said.split("request req_").next().unwrap().to_owned()
    };
    let told = run(&demo, "hello").await;
    assert_eq!(refusal(&told), refusal(&run(&other, "hello").await));
}

/// Spec: [SEC-42]
#[tokio::test]
async fn the_demo_takes_no_word_for_a_key() {
    let service = Service::start("http://127.0.0.1:9", &["--demo"]).await;
    std::fs::write(service.home.path().join("a"), "harness serve --demo\n").unwrap();
    let run = run(&service, "read a").await;
    let result = run.iter().find_map(|event| event["result"].as_str());
    assert_eq!(
        result,
        Some(
            json!({"content": "harness serve --demo\n"})
                .to_string()
                .as_str()
        )
    );
}
