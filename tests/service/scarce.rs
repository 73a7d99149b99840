//! The service when the system gives it no more: larger files, open files, the state folder.

use std::process::Command;

use harness_standin::Reply;
use nix::sys::signal::Signal;
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

/// Spec: [HTTP-775]
#[tokio::test]
async fn a_service_whose_state_folder_cannot_be_written_is_not_ready() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let state = service.home.path().join(".harness");
    let away = service.home.path().join("away");
    let ready = async || service.send("GET", "/readyz", "", "").await;
    let is_refused = async |words: &str| {
        let answer = ready().await;
        assert_eq!(answer.status, 503, "{answer:?}");
        let problem = answer.json();
        assert_eq!(problem["type"], "urn:harness:problem:not-ready");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{detail}");
    };
    assert_eq!(ready().await.json()["status"], "ready");
    limit(&service, "fsize=0");
    is_refused("File too large").await;
    limit(&service, "fsize=unlimited");
    std::fs::rename(&state, &away).unwrap();
    std::fs::create_dir(&state).unwrap();
    is_refused("not at its path").await;
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0);
    std::fs::remove_dir(&state).unwrap();
    std::fs::rename(&away, &state).unwrap();
    assert_eq!(ready().await.status, 200);
    let names = std::fs::read_dir(&state).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with(".ready")).count(), 0);
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

/// Spec: [HTTP-101] [JRNL-111]
#[tokio::test]
async fn a_state_folder_that_went_away_is_an_error_and_no_other_one_is_made() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("well"));
    service.submit("first").await;
    service.idle("default").await;
    let idle = service.create(&json!({})).await;
    let (home, away) = (
        service.home.path().join(".harness"),
        service.home.path().join("away"),
    );
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    for is_replaced in [false, true] {
        std::fs::rename(&home, &away).unwrap();
        if is_replaced {
            std::fs::create_dir_all(home.join("conversations")).unwrap();
            std::fs::write(home.join("token"), "a-token-of-another-folder").unwrap();
        }
        let idle = format!("/v1/conversations/{idle}");
        let hi = r#"{"content":"hi","attachments":[{"data":"aGk=","name":"a.txt"}]}"#;
        for (method, path, body) in [
            ("POST", "/prompt", r#"{"content":"hi"}"#),
            ("POST", "/prompt", hi),
            ("POST", "/v1/conversations", "{}"),
            (
                "POST",
                "/v1/conversations/new/prompt",
                r#"{"content":"hi"}"#,
            ),
            ("PATCH", &idle, r#"{"title":"t"}"#),
            (
                "PATCH",
                "/v1/conversations/default/settings",
                r#"{"settings":{"max_turns":3}}"#,
            ),
            (
                "POST",
                "/v1/conversations/default/steer",
                r#"{"content":"hi"}"#,
            ),
            ("POST", "/v1/conversations/default/fork", "{}"),
            ("DELETE", &idle, ""),
            ("GET", "/v1/conversations", ""),
            ("GET", "/v1/conversations/unknown", ""),
        ] {
            let json = "content-type: application/json\r\n";
            let answer = service.send(method, path, json, body).await;
            assert!(
                [503, 507].contains(&answer.status),
                "{method} {path} {body} {answer:?}"
            );
        }
        for shown in [token.trim(), "a-token-of-another-folder"] {
            let header = format!("authorization: Bearer {shown}\r\n");
            let answer = service.send("GET", "/v1/tools", &header, "").await;
            assert_eq!(answer.status, 503, "{answer:?}");
        }
        if is_replaced {
            let left = std::fs::read_dir(home.join("conversations")).unwrap();
            assert_eq!(left.count(), 0);
            std::fs::remove_dir_all(&home).unwrap();
        }
        assert!(!home.exists());
        std::fs::rename(&away, &home).unwrap();

        script.push(Reply::text("well"));
        service.submit("again").await;
        service.idle("default").await;
        service.create(&json!({})).await;
        let header = format!("authorization: Bearer {}\r\n", token.trim());
        let answer = service.send("GET", "/v1/tools", &header, "").await;
        assert_eq!(answer.status, 200);
    }
    let list = service.get("/v1/conversations").await;
    assert_eq!(list["conversations"].as_array().unwrap().len(), 4);
}

/// Spec: [HTTP-101]
#[tokio::test]
async fn a_service_that_stops_takes_nothing_from_another_state_folder() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().join(".harness");
    std::fs::rename(&home, service.home.path().join("away")).unwrap();
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("service.json"), "{}").unwrap();
    service.signal(Signal::SIGTERM);
    assert!(service.ended().await.success());
    assert!(home.join("service.json").exists());
}
