//! The share of the service that one client can take: open files, memory and disk.

use std::path::{Path, PathBuf};

use harness_actors::attachment::sha256;
use harness_standin::{Gate, Message, Reply};
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::{Answer, LIMIT, within};
use crate::program::Service;

const MIB: usize = 1024 * 1024;
const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

/// The journals that the service has open.
fn open_journals(service: &Service) -> usize {
    let folder = format!("/proc/{}/fd", service.id());
    let links = std::fs::read_dir(folder).unwrap();
    let is_journal = |link: &PathBuf| link.to_string_lossy().contains("/conversations/");
    let links = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
    links.filter(is_journal).count()
}

/// The number of bytes in a folder of the state folder.
fn stored(service: &Service, folder: &str) -> u64 {
    fn sum(folder: &Path) -> u64 {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return 0;
        };
        let size = |path: PathBuf| match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => sum(&path),
            Ok(found) => found.len(),
            Err(_) => 0,
        };
        entries.map(|entry| size(entry.unwrap().path())).sum()
    }
    sum(&service.home.path().join(".harness").join(folder))
}

/// A conversation of so many records of about 1 MiB.
async fn long_past(service: &Service, records: usize) -> String {
    let name = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{name}/settings");
    for number in 0..records {
        let prompt = format!("{number:03}{}", "x".repeat(MIB - 3));
        let body = json!({"settings": {"system_prompt": prompt}}).to_string();
        let headers = "content-type: application/json\r\n";
        let answer = service.send("PATCH", &path, headers, &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    name
}

/// A client that asks for something and reads nothing of it.
async fn stall(service: &Service, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    setsockopt(&stream, sockopt::RcvBuf, &4096).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", service.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Spec: [CONV-151] [CONV-152]
#[tokio::test]
async fn conversations_that_nobody_uses_have_no_open_file() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut names = Vec::new();
    for number in 0..700 {
        names.push(
            service
                .create(&json!({"title": format!("t{number}")}))
                .await,
        );
    }
    assert!(open_journals(&service) <= 1, "{}", open_journals(&service));
    // Those that were read long ago may be closed again.
    let mut most = 0;
    for name in &names {
        let snapshot = service
            .get(&format!("/v1/conversations/{name}?tail=1"))
            .await;
        assert_eq!(snapshot["summary"]["records"], 0);
        most = most.max(open_journals(&service));
    }
    assert!(most >= 400, "{most}");
    let open = open_journals(&service);
    assert!(open <= 513, "{open}");
    script.push(Reply::text("well"));
    service.submit("hello").await;
    service.idle("default").await;
}

/// Spec: [HTTP-74] [HTTP-75]
#[tokio::test]
async fn clients_that_read_nothing_of_a_long_past_take_little_and_delay_nobody() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let name = long_past(&service, 10).await;
    let before = service.resident_bytes();
    let mut stalled = Vec::new();
    for number in 0..150 {
        let path = format!("/v1/conversations/{name}/events?after={}", number % 9);
        stalled.push(stall(&service, &path).await);
    }
    let mut reads = service.follow(&name, "?after=0", "").await;
    let mut prompts = Vec::new();
    while prompts.len() < 10 {
        let shown = within("an event", reads.shown()).await.unwrap();
        let prompt = &shown.event["settings"]["system_prompt"];
        prompts.extend(prompt.as_str().map(|prompt| prompt[..3].to_owned()));
    }
    let expected: Vec<String> = (0..10).map(|number| format!("{number:03}")).collect();
    assert_eq!(prompts, expected);
    // Each of them would hold more than a record of 1 MiB.
    let grown = (service.resident_bytes().saturating_sub(before)) as usize / MIB;
    assert!(grown < 110, "{grown} MiB for {} clients", stalled.len());
}

/// Spec: [HTTP-77]
#[tokio::test]
async fn answers_that_nobody_reads_take_little_and_delay_nobody_for_long() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let name = long_past(&service, 8).await;
    let before = service.resident_bytes();
    let mut stalled = Vec::new();
    for _ in 0..60 {
        let path = format!("/v1/conversations/{name}/history?after=0&limit=8");
        stalled.push(stall(&service, &path).await);
    }
    let path = format!("/v1/conversations/{name}/history?after=0&limit=3");
    // While answers are made for the others it may be told to come back, which it does.
    let page = async {
        loop {
            let answer = service.send("GET", &path, "", "").await;
            if answer.status == 200 {
                return answer.json();
            }
            assert_eq!(answer.status, 503, "{answer:?}");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
    };
    let page = tokio::time::timeout(4 * LIMIT, page).await.unwrap();
    let events = page["events"].as_array().unwrap();
    assert_eq!(events.len(), 3);
    let grown = (service.resident_bytes().saturating_sub(before)) as usize / MIB;
    assert!(grown < 180, "{grown} MiB for {} clients", stalled.len());
}

fn with_file(content: &str, file: &str) -> Value {
    use base64::Engine as _;
    let data = base64::engine::general_purpose::STANDARD.encode(file);
    json!({"content": content, "attachments": [{"data": data}]})
}

/// Spec: [ATT-30] [ATT-31]
#[tokio::test]
async fn files_of_messages_that_are_refused_leave_nothing() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Reply::text("well").gate_head(&gate));
    let mut body = with_file("Look.", "kept");
    body["key"] = json!("k");
    let answer = service.post("/prompt", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let post =
        async |path: &str, body: Value| -> Answer { service.post(path, &body.to_string()).await };
    for (path, body, status) in [
        ("/prompt", with_file("Look.", "busy"), 409),
        ("/prompt", with_file("Look.", "kept"), 409),
        (
            "/v1/conversations/none/prompt",
            with_file("Look.", "none"),
            404,
        ),
        (
            "/v1/conversations/none/steer",
            with_file("Look.", "none"),
            404,
        ),
        (
            "/v1/conversations/default/steer",
            with_file(" ", "blank"),
            400,
        ),
        (
            "/v1/conversations/default/follow-up",
            with_file("\n", "blank"),
            400,
        ),
    ] {
        let answer = post(path, body).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_eq!(stored(&service, "attachments"), 4, "{path}");
    }
    for path in ["/prompt", "/v1/conversations/default/follow-up"] {
        let mut body = with_file("Look.", "other");
        body["key"] = json!("k");
        let answer = post(path, body).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert_eq!(stored(&service, "attachments"), 4);
    }
    gate.open();
    service.idle("default").await;
    let answer = post(
        "/v1/conversations/default/follow-up",
        with_file("Look.", "later"),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(stored(&service, "attachments"), 9);
}

/// Spec: [ATT-32]
#[tokio::test]
async fn a_file_that_no_journal_names_is_gone_behind_the_next_start() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("well"));
    let answer = service
        .post("/prompt", &with_file("Look.", "named").to_string())
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle("default").await;
    service.kill();
    // As a crash leaves one between a file and its prompt: under its hash, and by now old.
    let folder = service.home.path().join(".harness/attachments");
    let place = |sha256: &str| folder.join(&sha256[..2]).join(sha256);
    let (named, unnamed) = (sha256(b"named"), sha256(b"unnamed"));
    std::fs::create_dir_all(place(&unnamed).parent().unwrap()).unwrap();
    std::fs::write(place(&unnamed), "unnamed").unwrap();
    let old = std::fs::metadata(place(&named))
        .unwrap()
        .modified()
        .unwrap()
        - 2 * HOUR;
    for sha256 in [&named, &unnamed] {
        let file = std::fs::File::options()
            .write(true)
            .open(place(sha256))
            .unwrap();
        file.set_modified(old).unwrap();
    }
    let _service = Service::start_in(
        std::sync::Arc::clone(&service.home),
        "http://127.0.0.1:9",
        &[],
    )
    .await;
    within("the sweep", async {
        while place(&unnamed).exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(place(&named).exists());
}

/// Spec: [JRNL-92]
#[tokio::test]
async fn what_would_make_the_state_folder_too_large_is_refused_before_it_is_written() {
    let flags = ["--max-state-bytes", "1MB"];
    let (service, _standin, script) = Service::scripted(&flags).await;
    let name = service.create(&json!({})).await;
    let base = format!("/v1/conversations/{name}");
    let headers = "content-type: application/json\r\n";
    let large =
        |bytes: usize| json!({"settings": {"system_prompt": "x".repeat(bytes)}}).to_string();
    let settings = format!("{base}/settings");
    let answer = service
        .send("PATCH", &settings, headers, &large(990_000))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // The log goes on whatever is refused.
    let kept = || stored(&service, "") - stored(&service, "logs");
    let before = kept();
    let long = "x".repeat(20_000);
    for (method, path, body) in [
        ("PATCH", settings.clone(), large(20_000)),
        (
            "POST",
            "/prompt".to_owned(),
            json!({"content": long}).to_string(),
        ),
        (
            "POST",
            format!("{base}/prompt"),
            json!({"content": long}).to_string(),
        ),
        (
            "POST",
            format!("{base}/prompt"),
            with_file("Look.", &long).to_string(),
        ),
        (
            "POST",
            format!("{base}/steer"),
            json!({"content": long}).to_string(),
        ),
        (
            "POST",
            format!("{base}/follow-up"),
            with_file("x", &long).to_string(),
        ),
        ("POST", format!("{base}/fork"), String::new()),
    ] {
        let answer = service.send(method, &path, headers, &body).await;
        assert_eq!(answer.status, 507, "{path}: {answer:?}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        for part in [
            "the state folder has 9",
            "max_state_bytes allows 1000000; delete conversations and run `harness trash empty`",
        ] {
            assert!(detail.contains(part), "{path}: {detail}");
        }
        assert_eq!(detail.lines().count(), 1);
    }
    // The default conversation was made, and nothing else was.
    let grown = kept() - before;
    assert!(grown < 300, "{grown}");
    for path in [format!("{base}?tail=1"), format!("{base}/history")] {
        service.get(&path).await;
    }
    let answer = service.send("DELETE", &base, "", "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let thrown = answer.json()["trash"].as_str().unwrap().to_owned();
    assert_eq!(service.prompt(&long).await.status, 507);
    std::fs::remove_file(thrown).unwrap();
    // What others took away is found behind the next refusal.
    script.push(Reply::text("well"));
    within("room", async {
        while service.prompt(&long).await.status != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    service.idle("default").await;
}

/// Spec: [JRNL-93]
#[tokio::test]
async fn a_run_that_fills_the_state_folder_is_written_to_the_end_of_its_turn() {
    let flags = ["--max-state-bytes", "100KB"];
    let (service, standin, script) = Service::scripted(&flags).await;
    let mut events = service.events().await;
    script.push(Message::new().text("x".repeat(150_000)).tool_use(
        "toolu_1",
        "list_dir",
        json!({}),
    ));
    service.submit("hello").await;
    let run = events.run().await;
    let (last, rest) = run.split_last().unwrap();
    assert_eq!(last["state"], "error");
    let message = last["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "stopped: cannot write conversations/default.jsonl: the state folder has "
        ),
        "{message}"
    );
    assert!(rest.iter().any(|event| event["type"] == "tool_result"));
    // What a model can do is looked up nevertheless.
    let mut asked = standin.requests();
    asked.retain(|request| request.path == "/v1/messages");
    assert_eq!(asked.len(), 1);
    let journal = std::fs::read_to_string(service.journal("default")).unwrap();
    assert!(
        journal
            .lines()
            .any(|line| line.contains("\"type\":\"run_ended\""))
    );
    assert_eq!(service.prompt("more").await.status, 507);
    let service = service.restart().await;
    let snapshot = service.get("/v1/conversations/default?tail=0").await;
    assert_eq!(snapshot["summary"]["state"], "idle");
}
