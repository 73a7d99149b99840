use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::client::api::route::Route;
use crate::client::testing::{Home, Server, answer};

async fn refusal(config: &ClientConfig) -> String {
    find(config).await.err().unwrap().to_string()
}

fn has_token(requests: &[String]) -> bool {
    requests.iter().any(|request| request.contains("earer"))
}

/// Spec: [CLI-02] [CLI-04] [SEC-14]
#[actix::test]
async fn a_service_that_proves_itself_is_shown_the_token_each_time_behind_its_proof() {
    let server = Server::start().await;
    let home = Home::of(&server);
    std::fs::write(home.config.home.join("token"), "0123456789abcdef\n").unwrap();
    server.on("/v1/x", vec![answer(200, &json!({}))]);
    let connection = find(&home.config).await.unwrap();
    assert_eq!(connection.info().unwrap().version, VERSION);
    connection.ask(&Route::<Value>::get("/v1/x")).await.unwrap();
    let requests = server.all_requests();
    let paths: Vec<&str> = requests
        .iter()
        .map(|request| request.split([' ', '?']).nth(1).unwrap())
        .collect();
    assert_eq!(paths, ["/healthz", "/v1/service", "/healthz", "/v1/x"]);
    for request in &requests {
        let is_question = request.starts_with("GET /healthz?nonce=");
        assert_ne!(is_question, request.contains("Bearer 0123456789abcdef"));
        // The prompt's own bytes come behind the proof, too.
        assert_eq!(request.contains("user-agent"), !is_question);
    }
}

/// Spec: [CLI-02] [SEC-14]
#[actix::test]
async fn what_repeats_the_answers_of_another_service_is_told_nothing() {
    let server = Server::start().await;
    let home = Home::of(&server);
    std::fs::write(home.config.home.join("token"), "0123456789abcdef\n").unwrap();
    let connection = find(&home.config).await.unwrap();
    let before = server.all_requests().len();
    // It knows an epoch, and a proof that was right for another nonce.
    let nonce = server.all_requests()[0].clone();
    let nonce = nonce.split(['=', ' ']).nth(2).unwrap().to_owned();
    let replayed = home.key().prove(&nonce, &server.address.to_string());
    let lies = [
        json!({"status": "ok", "epoch": "e1"}),
        json!({"status": "ok", "epoch": "e1", "proof": replayed}),
        json!({"status": "ok", "proof": ""}),
        json!([]),
    ];
    let said = lies.iter().map(|lie| answer(200, lie)).collect();
    server.on("/healthz", said);
    for lie in &lies {
        let body = json!({"content": "private"});
        let order = Route::<Value>::post("/prompt", &body);
        let refused = connection.ask(&order).await.unwrap_err();
        assert!(
            matches!(refused, RequestError::Unproven { .. }),
            "{lie}: {refused}"
        );
    }
    let requests = server.all_requests().split_off(before);
    assert_eq!(requests.len(), lies.len());
    assert!(!has_token(&requests));
}

/// Spec: [CLI-02]
#[actix::test]
async fn a_file_that_is_missing_or_stale_means_that_no_service_runs() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let folder = home.config.home.display().to_string();
    let none = format!("no service runs for {folder}; start one with `harness serve`");

    home.write_discovery(&server.address.to_string(), "another key");
    assert_eq!(refusal(&home.config).await, none);

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap().to_string();
    drop(closed);
    home.write_discovery(&address, Home::KEY);
    assert_eq!(refusal(&home.config).await, none);

    std::fs::remove_file(home.config.home.join("service.json")).unwrap();
    assert_eq!(refusal(&home.config).await, none);
    assert!(!has_token(&server.requests()));
}

/// Spec: [CLI-66]
#[actix::test]
async fn what_listens_and_says_nothing_is_not_waited_for_long() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    home.write_discovery(&address, Home::KEY);
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let said = format!("the service at {address} does not answer");
    assert_eq!(refusal(&home.config).await, said);
    let waited = start.elapsed();
    assert!(waited < Duration::from_millis(3100), "{waited:?}");
}

/// Spec: [CLI-02]
#[actix::test]
async fn a_file_of_another_shape_is_named() {
    let server = Server::start().await;
    let home = Home::of(&server);
    home.write_discovery("here", Home::KEY);
    let said = refusal(&home.config).await;
    assert!(said.contains("service.json is not as expected"), "{said}");
}

/// Spec: [SEC-15]
#[actix::test]
async fn a_service_of_another_version_is_used_or_said_not_to_be_understood() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let mut info = server.info();
    info["version"] = json!("9.0.0");
    info["protocol"] = json!({"min": 1, "max": 9});
    info["something"] = json!("new");
    info["upstream"] = json!({"kind": "another", "host": "h"});
    server.on("/v1/service", vec![answer(200, &info)]);
    let connection = find(&home.config).await.unwrap();
    assert_eq!(connection.info().unwrap().version, "9.0.0");
    info["protocol"] = json!({"min": 9, "max": 9});
    server.on("/v1/service", vec![answer(200, &info)]);
    let said = refusal(&home.config).await;
    let expected = format!("the running service is 9.0.0 and this is {VERSION}");
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.contains("harness restart"), "{said}");
}

/// Spec: [SEC-15]
#[actix::test]
async fn a_service_that_is_too_old_to_prove_itself_is_told_nothing() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let old = json!({"address": server.address.to_string(), "pid": 7, "epoch": "e1"});
    std::fs::write(home.config.home.join("service.json"), old.to_string()).unwrap();
    assert!(refusal(&home.config).await.starts_with("no service runs"));
    let state = crate::state_dir::StateFolder::open(&home.config.home).unwrap();
    let lock = state.lock().unwrap();
    let said = refusal(&home.config).await;
    assert!(
        said.starts_with("the running service (process 7) is older than 0.2"),
        "{said}"
    );
    assert!(said.contains("`harness stop`"), "{said}");
    drop(lock);
    assert_eq!(server.all_requests(), [""; 0]);
}

/// Spec: [CLI-02]
#[test]
fn a_service_on_all_addresses_is_reached_on_this_machine() {
    for (given, reached) in [
        ("0.0.0.0:1", "127.0.0.1:1"),
        ("[::]:1", "[::1]:1"),
        ("192.0.2.7:1", "192.0.2.7:1"),
    ] {
        let reached: SocketAddr = reached.parse().unwrap();
        assert_eq!(reachable(given.parse().unwrap()), reached);
    }
}
