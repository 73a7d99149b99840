//! Finding files of a conversation's folder over HTTP.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::program::Service;

async fn found(service: &Service, id: &str, query: &str) -> Value {
    let path = format!("/v1/conversations/{id}/files?{query}");
    service.get(&path).await
}

/// Spec: [HTTP-112] [HTTP-113]
#[tokio::test]
async fn files_of_the_folder_are_found_by_letters_of_their_paths() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let folder = service.home.path().join("project");
    for file in ["src/main.rs", "docs/the main thing.md", "target/main.o"] {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    std::fs::write(folder.join(".gitignore"), "target\n").unwrap();
    symlink("/etc", folder.join("main_out")).unwrap();
    let id = service.create(&json!({"workspace": folder})).await;
    let all = found(&service, &id, "q=main").await;
    let expected = json!({
        "query": "main",
        "files": ["src/main.rs", "docs/the main thing.md"],
        "known": 3,
        "is_whole": true,
    });
    assert_eq!(all, expected);
    let one = found(&service, &id, "q=main&limit=1").await;
    assert_eq!(one["files"], json!(["src/main.rs"]));
    // Named in full, one that git ignores is found, and what lies outside is not.
    let named = found(&service, &id, "q=target/main.o").await;
    assert_eq!(named["files"], json!(["target/main.o"]));
    for none in ["../log", "main_out/passwd", "/etc/passwd"] {
        let named = found(&service, &id, &format!("q={none}")).await;
        assert_eq!(named["files"], json!([]), "{none}");
    }
    // The state folder lies in the folder of this one.
    let states = found(&service, "default", "q=token").await;
    assert_eq!(states["files"], json!([]));
    let state = found(&service, "default", "q=.harness/token").await;
    assert_eq!(state["files"], json!([]));
    // What was found goes along by its path.
    let long = "a".repeat(4097);
    for (path, status) in [
        (format!("/v1/conversations/{id}/files?q={long}"), 400),
        (format!("/v1/conversations/{id}/files?limit=x"), 400),
        ("/v1/conversations/none/files".to_owned(), 404),
    ] {
        let answer = service.as_owner("GET", &path, &Value::Null).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // Whoever may read nothing else finds nothing.
    let path = format!("/v1/conversations/{id}/files");
    let foreign = service
        .send("GET", &path, "host: evil.example\r\n", "")
        .await;
    assert_ne!(foreign.status, 200, "{foreign:?}");
}
