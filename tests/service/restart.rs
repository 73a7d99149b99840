//! The state after the service died or was started again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use harness_standin::{Message, Reply};
use serde_json::{Value, json};

use crate::checker::check;
use crate::client::Events;
use crate::program::{Service, command, output};
use crate::stop::process_in;

/// Spec: [CONV-61] [CONV-63]
#[tokio::test]
async fn a_call_that_a_crash_cut_off_is_answered_when_the_next_prompt_comes_and_not_before() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let (name, content, pattern) = crate::program::slow_search();
    std::fs::write(service.home.path().join(name), content).unwrap();
    script.push(
        Message::new()
            .text("Looking.")
            .tool_use("t1", "grep", json!({"pattern": pattern, "path": name}))
            .tool_use("t2", "list_dir", json!({})),
    );
    let mut events = service.follow("default", "", "").await;
    service.submit("search").await;
    events.until("reply_ended").await;
    let position = events.last_id.clone();
    let service = service.restart().await;
    // The program that the dead service ran goes on, and is no part of this.
    if let Some(id) = process_in(service.home.path()) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(id).unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
    }

    let journal = service.journal("default");
    let bytes = std::fs::read(&journal).unwrap();
    let snapshot = service.get("/v1/conversations/default").await;
    assert_eq!(snapshot["summary"]["state"], "interrupted");
    assert_eq!(snapshot["state"], "error");
    let resume = format!("last-event-id: {position}\r\n");
    let mut full = service.follow("default", "", &resume).await;
    let attached = full.event().await;
    assert_eq!(
        (&attached["type"], &attached["state"]),
        (&json!("attached"), &json!("error"))
    );
    let mut plain = Events::open_at(service.address, "/events", &resume).await;
    let status = plain.event().await;
    assert_eq!(
        status["message"],
        "interrupted: the service ended before the run did"
    );
    service.get("/v1/conversations").await;
    service.get("/v1/conversations/default/history").await;
    assert_eq!(
        std::fs::read(&journal).unwrap(),
        bytes,
        "reading changed the journal"
    );

    script.push(Reply::text("Sorry."));
    service.submit("go on").await;
    service.idle("default").await;
    assert!(std::fs::read(&journal).unwrap().starts_with(&bytes));
    let request: Value = serde_json::from_slice(&standin.requests()[1].body).unwrap();
    let results = request["messages"][2]["content"].as_array().unwrap();
    for (result, id) in results.iter().zip(["t1", "t2"]) {
        assert_eq!(result["tool_use_id"], id);
        assert_eq!(
            result["content"],
            r#"{"error":"interrupted, effect unknown"}"#
        );
        assert_eq!(result["is_error"], true);
    }
    assert_eq!(results[2]["text"], "go on");
    assert_eq!(standin.violations(), Vec::<String>::new());
    let checked = check(&journal);
    assert_eq!(checked.open_run, None);
    // The clients that came back see the mending and the new run without a gap.
    let mut seen = vec![full.shown().await.unwrap().id];
    let last = checked.records.last().unwrap().0.clone();
    while seen.last().unwrap().as_ref() != Some(&last) {
        seen.extend(full.shown().await.unwrap().id.map(Some));
    }
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    let from = crate::client::seq_of(&position);
    assert_eq!(seen, checked.positions_behind(from));
}

/// Spec: [CONV-64]
#[tokio::test]
async fn a_restarted_service_goes_on_with_the_same_conversation() {
    let (mut service, standin, script) = Service::scripted(&[]).await;
    for text in ["a", "b", "c"] {
        script.push(Reply::text(text));
    }
    let mut last_id = String::new();
    for (number, content) in ["one", "two", "three"].into_iter().enumerate() {
        let resume = format!("last-event-id: {last_id}\r\n");
        let headers = if last_id.is_empty() { "" } else { &resume };
        let mut events = Events::open_at(service.address, "/events", headers).await;
        let answer = service.prompt(content).await;
        assert_eq!(answer.json()["run_id"], number + 1);
        assert_eq!(events.event().await["content"], content);
        events.end().await;
        last_id.clone_from(&events.last_id);
        service = service.restart().await;
    }
    let request: Value = serde_json::from_slice(&standin.requests()[2].body).unwrap();
    let texts: Vec<&Value> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["one", "a", "two", "b", "three"]);
}

/// Spec: [HTTP-42] [HTTP-41]
#[tokio::test]
async fn the_position_before_the_first_record_outlives_the_service() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("a"));
    let position = service.events().await.last_id;
    let service = service.restart().await;
    service.submit("one").await;
    service.idle("default").await;
    let resume = format!("last-event-id: {position}\r\n");
    let mut events = Events::open_at(service.address, "/events", &resume).await;
    assert_eq!(events.event().await["content"], "one");
}

/// Spec: [JRNL-60]
#[tokio::test]
async fn a_torn_end_is_cut_and_a_damaged_middle_is_set_aside() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for text in ["a", "b", "c", "d"] {
        script.push(Reply::text(text));
    }
    service.submit("one").await;
    service.idle("default").await;
    let mut service = service;
    service.kill();
    let journal = service.journal("default");
    let whole = std::fs::read_to_string(&journal).unwrap();
    // The text of the prompt is changed, and a record that was torn off stands at the end.
    let damaged = whole.replace(r#""content":"one""#, r#""content":"two""#);
    let torn = format!("{damaged}{{\"seq\":99,\"at\":17");
    std::fs::write(&journal, &torn).unwrap();
    let service = service.restart().await;

    let snapshot = service.get("/v1/conversations/default").await;
    assert_eq!(snapshot["damage"]["parts"], 2, "{snapshot}");
    let copy = snapshot["damage"]["file"].as_str().unwrap();
    assert!(std::fs::metadata(copy).unwrap().len() > 0);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), torn);
    let mut before = serde_json::json!(null);
    let mut seen = Vec::new();
    loop {
        let from = if before.is_null() {
            String::new()
        } else {
            format!("&before={before}")
        };
        let page = service
            .get(&format!("/v1/conversations/default/history?limit=1{from}"))
            .await;
        seen.extend(
            page["events"]
                .as_array()
                .unwrap()
                .iter()
                .map(|event| event["seq"].clone()),
        );
        before = page["before"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(
        seen,
        [9, 8, 7, 6, 5, 4, 3, 1],
        "the past does not end at the damage"
    );
    let mut events = service.follow("default", "?after=0", "").await;
    assert_eq!(events.event().await["type"], "run_started");
    let gap = events.event().await;
    assert_eq!(
        (&gap["type"], &gap["after"], &gap["before"]),
        (&json!("gap"), &json!(1), &json!(3))
    );
    service.submit("three").await;
    service.idle("default").await;
    let mended = std::fs::read_to_string(&journal).unwrap();
    assert!(mended.starts_with(&damaged), "what was damaged stays");
    assert!(!mended.contains("\"seq\":99"));
    let reported = service.whole_log().await.matches("damaged").count();
    service.get("/v1/conversations/default").await;
    let service = service.restart().await;
    service.get("/v1/conversations/default").await;
    assert_eq!(
        service.whole_log().await.matches("damaged").count(),
        reported,
        "it is told once"
    );
}

/// Spec: [JRNL-61]
#[tokio::test]
async fn one_unreadable_journal_keeps_nothing_else_from_working() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(service.create(&json!({})).await);
    }
    let wrong: [(&str, &[u8]); 5] = [
        ("empty", b""),
        ("garbage", b"\0\0\0\xff\xfe no journal\n"),
        ("newer", b"{\"format\":\"harness-journal\",\"version\":3,\"conversation\":\"newer\",\"epoch\":\"0000000000000001\",\"created_at\":1}\n"),
        ("torn", b"{\"format\":\"harness-jou"),
        ("foreign", b"{\"seq\":1}\n"),
    ];
    for (name, bytes) in wrong {
        std::fs::write(service.journal(name), bytes).unwrap();
    }
    // A line that somebody wrote, with a number that no journal reaches.
    let mut huge = std::fs::read(service.journal(&ids[0])).unwrap();
    huge.extend_from_slice(
        b"{\"seq\":18446744073709551615,\"at\":1,\"type\":\"later\",\"data\":1}\n",
    );
    std::fs::write(service.journal(&ids[0]), huge).unwrap();
    let service = service.restart().await;
    let listed = service.get("/v1/conversations?limit=100").await;
    let rows = listed["conversations"].as_array().unwrap();
    assert_eq!(rows.len(), 25);
    for row in rows {
        let is_wrong = wrong.iter().any(|(name, _)| row["id"] == *name);
        assert_eq!(row["state"] == "unreadable", is_wrong, "{row}");
        assert_eq!(row["error"].is_string(), is_wrong, "{row}");
    }
    for (name, bytes) in wrong {
        let path = format!("/v1/conversations/{name}/prompt");
        let answer = service.post(&path, r#"{"content": "x"}"#).await;
        assert_eq!(answer.status, 500, "{name}: {answer:?}");
        assert_eq!(
            std::fs::read(service.journal(name)).unwrap(),
            bytes,
            "{name}"
        );
    }
    script.push(Reply::text("fine"));
    script.push(Reply::text("fine"));
    for id in [&ids[0], &ids[3]] {
        let path = format!("/v1/conversations/{id}/prompt");
        assert_eq!(service.post(&path, r#"{"content": "x"}"#).await.status, 200);
        service.idle(id).await;
    }
}

/// Spec: [JRNL-62]
#[tokio::test]
async fn a_second_service_on_the_same_folder_says_who_has_it() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let serve = || {
        let mut command = command(service.home.path());
        command.args(["serve", "--demo", "--port", "0"]);
        output(&mut command)
    };
    let (code, out, err) = serve();
    assert_eq!((code, &*out), (1, ""));
    let holder = format!("process {} on http://{}", service.id(), service.address);
    assert!(err.contains(&holder), "{err}");
    assert!(err.contains("HARNESS_HOME"), "{err}");
    // A process that is gone holds nothing.
    service.kill();
    let service = service.restart().await;
    service.get("/v1/conversations").await;
}

/// Spec: [JRNL-63]
#[tokio::test]
async fn everything_in_the_state_folder_is_private() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("done"));
    service.submit("x").await;
    service.idle("default").await;
    let id = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{id}");
    assert_eq!(service.send("DELETE", &path, "", "").await.status, 200);
    let mut files = 0;
    let mut folders = vec![service.home.path().join(".harness")];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    assert!(files >= 5, "{files}");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Spec: [JRNL-64]
#[tokio::test]
async fn a_journal_that_another_program_changed_is_noticed_before_the_next_record() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    for _ in 0..9 {
        script.push(Reply::text("done"));
    }
    let path = service.journal("default");
    let truncate = |path: &Path| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length - 3).unwrap();
    };
    let replace = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let append = |path: &Path| {
        use std::io::Write as _;
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(b"not ours\n").unwrap();
    };
    let delete = |path: &Path| std::fs::remove_file(path).unwrap();
    let harms: [&dyn Fn(&Path); 4] = [&truncate, &replace, &append, &delete];
    for harm in harms {
        service.submit("x").await;
        service.idle("default").await;
        harm(&path);
        let refused = service.prompt("y").await;
        assert_eq!(refused.status, 507, "{refused:?}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("changed by another program"), "{detail}");
        service.get("/v1/conversations").await;
        // The change was meant: the next life of the service goes on with what is there.
        service = service.restart().await;
    }
}

/// Spec: [CONV-32] [CONV-45] [CONV-63]
#[tokio::test]
async fn records_that_somebody_wrote_by_hand_lead_to_valid_requests() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let id = service.create(&json!({})).await;
    let journal = service.journal(&id);
    let call = |id: &str| json!({"index": 0, "block": {"type": "tool_use", "id": id, "name": "read", "input": {}}});
    let ended = json!({"id": "m", "model": "m", "stop_reason": "tool_use", "usage": {}, "unanswered": "interrupted"});
    let records = [
        ("run_started", json!({"run": u64::MAX})),
        ("prompt", json!({"run": u64::MAX, "content": "  "})),
        ("prompt", json!({"run": 1, "content": "hi"})),
        ("turn_started", json!({"run": 1, "turn": 1})),
        ("block", call("t 1/\u{e9}")),
        ("block", call("")),
        ("block", call("t")),
        ("block", call("t")),
        ("reply_ended", ended),
        (
            "tool_result",
            json!({"id": "t", "result": "x", "is_error": false}),
        ),
    ];
    let mut text = std::fs::read_to_string(&journal).unwrap();
    for (seq, (kind, data)) in (1..).zip(records) {
        text += &format!("{{\"seq\":{seq},\"at\":1,\"type\":\"{kind}\",\"data\":{data}}}\n");
    }
    std::fs::write(&journal, text).unwrap();
    let service = service.restart().await;
    let path = format!("/v1/conversations/{id}/prompt");
    for _ in 0..2 {
        script.push(Reply::text("fine"));
        let answer = service.post(&path, r#"{"content": "x"}"#).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        service.idle(&id).await;
    }
    assert_eq!(standin.requests().len(), 2);
    assert_eq!(standin.violations(), Vec::<String>::new());
}

/// Spec: [JRNL-27]
#[tokio::test]
async fn the_doctor_finds_what_is_damaged_and_repairs_it_only_when_told_to() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let sound = service.create(&json!({})).await;
    script.push(Reply::text("a"));
    service.submit("one").await;
    service.idle("default").await;
    let journal = service.journal("default");
    let home = std::sync::Arc::clone(&service.home);
    let doctor = |flags: &[&str]| {
        let mut command = command(home.path());
        command.arg("doctor").args(flags);
        output(&mut command)
    };
    let (code, out, _) = doctor(&[]);
    assert_eq!(
        (code, out.contains("2 journals, 0 damaged")),
        (0, true),
        "{out}"
    );

    let whole = std::fs::read_to_string(&journal).unwrap();
    let damaged = whole.replace(r#""content":"one""#, r#""content":"two""#);
    std::fs::write(&journal, &damaged).unwrap();
    let (code, out, err) = doctor(&["--json"]);
    assert_eq!(code, 1);
    assert!(err.contains("--repair"), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    let items = told["items"].as_array().unwrap();
    let harmed = items.iter().find(|line| line["id"] == "default").unwrap();
    assert_eq!(
        (&harmed["records"], &harmed["damaged_parts"]),
        (&json!(8), &json!(1))
    );
    // Not under the hands of a service.
    let (code, _, err) = doctor(&["--repair"]);
    assert_eq!(
        (code, err.contains("stop that service first")),
        (1, true),
        "{err}"
    );
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), damaged);

    service.kill();
    let (code, out, err) = doctor(&["--repair"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    let archive = out
        .split("as it was: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    assert_eq!(std::fs::read_to_string(archive).unwrap(), damaged);
    assert_eq!(check(&journal).records.len(), 8);
    let service = service.restart().await;
    script.push(Reply::text("b"));
    service.submit("two").await;
    service.idle("default").await;
    service.get(&format!("/v1/conversations/{sound}")).await;
}
