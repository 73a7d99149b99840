//! What the service does when the system gives it no more: larger files, open files.

use std::process::Command;

use harness_standin::Reply;
use serde_json::json;

use crate::client::Connection;
use crate::program::Service;

/// Sets what a running service may have, such as `nofile=10`; its hard limit stays.
fn limit(service: &Service, what: &str) {
    let id = service.id().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &id, &format!("--{what}:")])
        .status()
        .unwrap();
    assert!(limited.success(), "{what}");
}

/// Spec: [JRNL-112]
#[tokio::test]
async fn a_file_that_may_not_grow_refuses_what_goes_beyond_and_the_service_goes_on() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    limit(&service, "fsize=60000");
    let long = "x".repeat(3000);
    let mut taken = 0;
    let refused = loop {
        script.push(Reply::text("well"));
        let answer = service.prompt(&long).await;
        if answer.status != 200 {
            break answer;
        }
        service.idle("default").await;
        taken += 1;
        assert!(taken < 25);
    };
    assert_eq!(refused.status, 507, "{refused:?}");
    assert!(taken > 3, "{taken}");
    service.get("/v1/conversations/default").await;
    let other = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{other}/prompt");
    let answer = service.post(&path, r#"{"content":"x"}"#).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle(&other).await;

    limit(&service, "fsize=unlimited");
    script.push(Reply::text("well"));
    service.submit(&long).await;
    service.idle("default").await;
}

/// Spec: [HTTP-100]
#[tokio::test]
async fn a_lack_of_open_files_is_no_missing_token() {
    let (service, _standin, _script) = Service::scripted(&["--require-token"]).await;
    let file = service.home.path().join(".harness/token");
    let token = "a-token-that-takes-the-place";
    let mut connection = Connection::open(service.address).await;
    let mut ask = async |token: &str| {
        let request = format!(
            "GET /v1/tools HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
            service.address
        );
        connection.send(request.as_bytes()).await;
        connection.answer().await
    };
    let old = std::fs::read_to_string(&file).unwrap();
    assert_eq!(ask(old.trim()).await.status, 200);
    std::fs::write(&file, token).unwrap();
    limit(&service, "nofile=3");
    for shown in [token, old.trim(), token] {
        let answer = ask(shown).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(
            answer.json()["detail"]
                .as_str()
                .unwrap()
                .contains("try again")
        );
    }
    limit(&service, "nofile=1000");
    assert_eq!(ask(token).await.status, 200);
    assert_eq!(ask(old.trim()).await.status, 401);
}
