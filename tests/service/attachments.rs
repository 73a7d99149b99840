//! Files that go with prompts.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use harness_standin::Reply;
use nix::sys::stat::Mode;
use serde_json::{Value, json};

use crate::client::Connection;
use crate::program::{Service, command, output};

/// An image of one pixel that is text, so that it can be compared as such.
const GIF: &str = "GIF89a\u{1}\0\u{1}\0\0\0\0;";
const GIF_BASE64: &str = "R0lGODlhAQABAAAAADs=";
const GIF_SHA256: &str = "1f19970f056cd116a5fe3c02422c1ee1ac827136df470b5c89af492620512aa4";

fn folder(service: &Service) -> PathBuf {
    service.home.path().join(".harness/attachments")
}

/// The files of a folder of attachments.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    inside(folder)
        .iter()
        .flat_map(|path| inside(path))
        .collect()
}

fn body(attachments: &Value) -> String {
    json!({"content": "Look.", "attachments": attachments}).to_string()
}

/// Spec: [ATT-01] [ATT-06] [ATT-09] [ATT-10] [ATT-12]
#[tokio::test]
async fn a_file_comes_as_data_or_by_its_path_and_is_kept_once() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    std::fs::create_dir(service.home.path().join("sub")).unwrap();
    std::fs::write(service.home.path().join("sub/dot.gif"), GIF).unwrap();
    for attachments in [
        json!([{"data": GIF_BASE64, "media_type": "image/gif", "name": "one.gif"}]),
        json!([{"path": "sub/dot.gif"}, {"data": GIF_BASE64}]),
    ] {
        script.push(Reply::text("seen"));
        let answer = service.post("/prompt", &body(&attachments)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        service.idle("default").await;
    }
    let files = kept(&folder(&service));
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    assert_eq!(std::fs::read_to_string(file).unwrap(), GIF);
    for (path, mode) in [
        (&**file, 0o600),
        (file.parent().unwrap(), 0o700),
        (&folder(&service), 0o700),
    ] {
        let found = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
    assert_eq!(file.file_name().unwrap().to_str(), Some(GIF_SHA256));
    let service = service.restart().await;
    let path = format!("/v1/attachments/{GIF_SHA256}");
    let answer = service.send("GET", &path, "", "").await;
    assert_eq!((answer.status, &*answer.body), (200, GIF));
}

/// Spec: [ATT-05] [ATT-11]
#[tokio::test]
async fn what_goes_with_a_prompt_is_seen_with_it_by_those_who_ask() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut plain = service.events().await;
    let mut full = service.follow("default", "", "").await;
    script.push(Reply::text("seen"));
    let name = "dot\u{7}.gif";
    let attachments = json!([{"data": GIF_BASE64, "name": name}]);
    let answer = service.post("/prompt", &body(&attachments)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let expected = json!([{
        "sha256": GIF_SHA256,
        "media_type": "image/gif",
        "bytes": GIF.len(),
        "name": "dot.gif",
    }]);
    while let Some(shown) = full.shown().await {
        if shown.event["type"] == "user" {
            assert_eq!(shown.event["attachments"], expected);
            break;
        }
    }
    while let Some(shown) = plain.shown().await {
        if shown.event["type"] == "user" {
            assert_eq!(shown.event.get("attachments"), None);
            break;
        }
    }
    service.idle("default").await;
    let service = service.restart().await;
    let snapshot = service.get("/v1/conversations/default").await;
    let events = snapshot["history"]["events"].as_array().unwrap();
    let mut said = events.iter().filter(|past| past["event"]["type"] == "user");
    assert_eq!(said.next().unwrap()["event"]["attachments"], expected);
}

/// Spec: [ATT-03] [ATT-04] [ATT-09] [ATT-10] [ATT-23]
#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_and_the_prompt_has_no_effect() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    std::fs::write(home.join("note"), "note").unwrap();
    std::fs::write(home.join("empty"), "").unwrap();
    symlink("/etc/passwd", home.join("out")).unwrap();
    nix::unistd::mkfifo(&home.join("pipe"), Mode::S_IRWXU).unwrap();
    let large = std::fs::File::create(home.join("large")).unwrap();
    large.set_len(30 * 1024 * 1024).unwrap();
    for (attachment, told) in [
        (
            json!({"path": "/etc/passwd"}),
            "attachment 2 (passwd) is at /etc/passwd, which is outside of the working folder",
        ),
        (json!({"path": "../note"}), "attachment 2 (note) "),
        (json!({"path": "out"}), "outside of the working folder"),
        (
            json!({"path": ".harness/token"}),
            "in the service's state folder",
        ),
        (json!({"path": "pipe"}), "is not a file"),
        (json!({"path": "."}), "is not a file"),
        (
            json!({"path": "none"}),
            "attachment 2 (none) cannot be read at none: No such file",
        ),
        (
            json!({"path": "large"}),
            "attachment 2 (large) has more than 23068672 bytes",
        ),
        (json!({"path": "empty"}), "attachment 2 (empty) is empty"),
        (
            json!({"path": "note", "media_type": "image/png"}),
            "attachment 2 (note) is text/plain, not \"image/png\"",
        ),
        (
            json!({"path": "note", "data": "YWJj"}),
            "has both `data` and `path`",
        ),
        (
            json!({"name": "a\nb"}),
            "attachment 2 (a\\nb) has neither `data` nor `path`",
        ),
        (
            json!({"data": "!"}),
            "attachment 2 has `data` that is not base64",
        ),
        (
            json!({"data": "AAEC"}),
            "attachment 2 has 3 bytes and is no image, PDF or text",
        ),
        (json!({"data": "YWJj", "url": "x"}), "unknown field `url`"),
        (json!({"data": 3}), "the body is not as expected"),
    ] {
        let attachments = json!([{"data": "ZmluZQ=="}, attachment]);
        let answer = service.post("/prompt", &body(&attachments)).await;
        let problem = answer.json();
        assert_eq!(answer.status, 400, "{attachment} {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{detail}");
        assert_eq!(detail.lines().count(), 1);
    }
    let many = json!(vec![json!({"data": "YWJj"}); 21]);
    let answer = service.post("/prompt", &body(&many)).await;
    let detail = "21 attachments are too many; a prompt may have 20";
    assert_eq!(answer.json()["detail"], detail);
    assert_eq!(kept(&folder(&service)), [""; 0].map(PathBuf::from));
    assert!(standin.requests().is_empty());
    let snapshot = service.get("/v1/conversations/default").await;
    assert_eq!(snapshot["history"]["events"], json!([]));
}

/// Spec: [ATT-04] [HTTP-07]
#[tokio::test]
async fn a_prompt_may_be_as_long_as_its_files_and_its_text_no_longer_for_it() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let data = format!("JVBERi0x{}", "eHh4".repeat(2 * 1024 * 1024));
    script.push(Reply::text("seen"));
    let answer = service
        .post("/prompt", &body(&json!([{ "data": data }])))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle("default").await;
    let text = "x".repeat(4 * 1024 * 1024);
    let long = json!({"content": text, "attachments": [{"data": "YWJj"}]});
    let answer = service.post("/prompt", &long.to_string()).await;
    assert_eq!(answer.status, 413, "{answer:?}");
    let mut connection = Connection::open(service.address).await;
    let head = format!(
        "POST /prompt HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        service.address
    );
    connection.send(head.as_bytes()).await;
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    for _ in 0..37 {
        connection.send(chunk.as_bytes()).await;
    }
    // What is over the limit may be refused before all of it is sent.
    connection.send(b"80000\r\n").await;
    connection.send("x".repeat(1 << 19).as_bytes()).await;
    assert_eq!(connection.answer().await.status, 413);
}

/// Spec: [ATT-02] [ATT-12]
#[tokio::test]
async fn a_content_is_shown_again_in_a_way_that_no_browser_runs_it() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    std::fs::write(home.join("page.html"), "<script>alert(1)</script>").unwrap();
    std::fs::write(home.join("paper.pdf"), "%PDF-1.7").unwrap();
    std::fs::write(home.join("dot.gif"), GIF).unwrap();
    script.push(Reply::text("seen"));
    let paths = json!([{"path": "page.html"}, {"path": "paper.pdf"}, {"path": "dot.gif"}]);
    assert_eq!(service.post("/prompt", &body(&paths)).await.status, 200);
    let mut shown = Vec::new();
    for file in kept(&folder(&service)) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = format!("/v1/attachments/{name}");
        let answer = service.send("GET", &path, "", "").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, std::fs::read_to_string(&file).unwrap());
        for (header, value) in [
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("etag", &*format!("\"{name}\"")),
            ("cache-control", "private, max-age=31536000, immutable"),
        ] {
            assert_eq!(answer.header(header), Some(value));
        }
        let known = format!("if-none-match: \"{name}\"\r\n");
        let again = service.send("GET", &path, &known, "").await;
        assert_eq!((again.status, &*again.body), (304, ""));
        let header = |header| answer.header(header).unwrap().to_owned();
        shown.push((header("content-type"), header("content-disposition")));
    }
    shown.sort();
    let expected = [
        ("application/pdf", "attachment"),
        ("image/gif", "inline"),
        ("text/plain; charset=utf-8", "inline"),
    ];
    assert_eq!(shown, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    for name in [
        "x",
        &"0".repeat(64),
        "..%2ftoken",
        &GIF_SHA256.to_uppercase(),
    ] {
        let path = format!("/v1/attachments/{name}");
        let answer = service.send("GET", &path, "", "").await;
        assert_eq!(answer.status, 404, "{name}");
        let kind = answer.json()["type"].clone();
        assert_eq!(kind, "urn:harness:problem:no-attachment");
    }
    let posted = service.send("POST", "/v1/attachments/x", "", "").await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")));
}

/// Spec: [ATT-07] [ATT-08]
#[tokio::test]
async fn a_content_that_was_changed_is_not_shown_and_the_doctor_names_it() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("seen"));
    let one = body(&json!([{"data": GIF_BASE64}]));
    assert_eq!(service.post("/prompt", &one).await.status, 200);
    service.idle("default").await;
    let file = kept(&folder(&service)).remove(0);
    let doctor = |service: &Service, flags: &[&str]| {
        let mut command = command(service.home.path());
        output(command.arg("doctor").args(flags))
    };
    let (code, out, _) = doctor(&service, &[]);
    assert!(out.contains("attachments: 1, 0 damaged\n"), "{out}");
    assert_eq!(code, 0);
    std::fs::write(&file, "changed").unwrap();
    let path = format!("/v1/attachments/{GIF_SHA256}");
    let answer = service.send("GET", &path, "", "").await;
    assert_eq!(answer.status, 500, "{answer:?}");
    assert!(
        answer.body.contains("its content was changed"),
        "{answer:?}"
    );
    service.kill();
    let (code, out, _) = doctor(&service, &[]);
    let named = format!("attachment {GIF_SHA256}: its content was changed since it was kept");
    assert!(out.contains(&named), "{out}");
    assert!(out.contains("attachments: 1, 1 damaged\n"), "{out}");
    assert_eq!(code, 1);
    let (code, out, _) = doctor(&service, &["--json"]);
    assert!(
        out.contains(&format!("{{\"attachment\":\"{GIF_SHA256}\"")),
        "{out}"
    );
    assert_eq!(code, 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "changed");
}

/// Spec: [ATT-13]
#[tokio::test]
async fn a_file_goes_with_a_prompt_of_the_command_line() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let (gif, note) = (
        elsewhere.path().join("dot.gif"),
        elsewhere.path().join("note"),
    );
    std::fs::write(&gif, GIF).unwrap();
    std::fs::write(&note, "note").unwrap();
    script.push(Reply::text("I see a dot."));
    let prompt = |files: &[&Path]| {
        let mut command = command(service.home.path());
        command.arg("prompt");
        for file in files {
            command.arg("--attach").arg(file);
        }
        command.arg("What is it?");
        command
    };
    let asked = prompt(&[&gif, &note]);
    let asked = tokio::task::spawn_blocking(move || output(&mut { asked }));
    let (code, out, err) = asked.await.unwrap();
    assert_eq!((code, &*out), (0, "I see a dot.\n"), "{err}");
    assert_eq!(kept(&folder(&service)).len(), 2);
    let missing = elsewhere.path().join("none");
    let asked = prompt(&[&gif, &missing]);
    let asked = tokio::task::spawn_blocking(move || output(&mut { asked }));
    let (code, out, err) = asked.await.unwrap();
    assert_eq!((code, &*out), (1, ""));
    let expected = format!("harness: cannot attach {}: No such file", missing.display());
    assert!(err.starts_with(&expected), "{err}");
    assert_eq!(err.lines().count(), 1);
}

/// Spec: [ATT-14]
#[tokio::test]
async fn files_wait_with_the_message_that_they_go_with() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let attachments = json!([{"data": GIF_BASE64, "name": "dot.gif"}]);
    for path in ["steer", "follow-up"] {
        let path = format!("/v1/conversations/default/{path}");
        let answer = service.post(&path, &body(&attachments)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let wrong = body(&json!([{"path": "/etc/passwd"}]));
        assert_eq!(service.post(&path, &wrong).await.status, 400);
    }
    let service = service.restart().await;
    let queue = service.get("/v1/conversations/default/queue").await;
    let items = queue["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{queue}");
    for item in items {
        assert_eq!(item["attachments"][0]["sha256"], GIF_SHA256);
        assert_eq!(item["attachments"][0]["name"], "dot.gif");
    }
}

/// Spec: [ATT-15]
#[tokio::test]
async fn the_model_is_sent_the_content_of_files_in_this_run_and_in_later_ones() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let attachments = json!([
        {"data": GIF_BASE64},
        {"data": "JVBERi0xLjc=", "name": "paper.pdf"},
        {"data": "bm90ZQ==", "name": "note.md"},
    ]);
    script.push(Reply::text("seen"));
    let answer = service.post("/prompt", &body(&attachments)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle("default").await;
    let service = service.restart().await;
    script.push(Reply::text("still seen"));
    service.submit("And now?").await;
    service.idle("default").await;
    let expected = [
        json!({"type": "base64", "media_type": "image/gif", "data": GIF_BASE64}),
        json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}),
        json!({"type": "text", "media_type": "text/plain", "data": "note"}),
    ];
    let asked = standin.requests();
    let asked: Vec<Value> = asked
        .iter()
        .filter(|request| request.path == "/v1/messages")
        .map(harness_standin::Received::json)
        .collect();
    assert_eq!(asked.len(), 2);
    for request in asked {
        let content = &request["messages"][0]["content"];
        let sources = (0..3).map(|at| content[at]["source"].clone());
        assert_eq!(sources.collect::<Vec<_>>(), expected, "{content}");
        assert_eq!(content[0]["type"], "image");
        assert_eq!(content[3]["text"], "Look.");
    }
}
