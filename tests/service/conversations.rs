//! Many conversations: making, finding, naming, forking and deleting them.

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};

use crate::checker::check;
use crate::client::{Answer, within};
use crate::program::{Service, command, output};

async fn prompt(service: &Service, id: &str, body: &Value) -> Answer {
    let path = format!("/v1/conversations/{id}/prompt");
    service.post(&path, &body.to_string()).await
}

/// Runs a prompt to its end.
async fn say(service: &Service, id: &str, content: &str) {
    let answer = prompt(service, id, &json!({"content": content})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle(id).await;
}

async fn patch(service: &Service, path: &str, body: &str) -> Answer {
    let headers = "content-type: application/json\r\n";
    service.send("PATCH", path, headers, body).await
}

/// Spec: [CONV-62] [HTTP-27]
#[tokio::test]
async fn conversations_are_apart_and_each_has_its_settings() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let settings = json!({"system_prompt": "Be brief.", "max_tokens": 7, "max_turns": 3});
    let body = json!({"title": " One ", "settings": settings});
    let answer = service.post("/v1/conversations", &body.to_string()).await;
    assert_eq!(answer.status, 201);
    let made = answer.json();
    let id = made["id"].as_str().unwrap();
    let location = format!("/v1/conversations/{id}");
    assert_eq!(answer.header("location"), Some(&*location));
    assert_eq!(
        (&made["title"], &made["state"]),
        (&json!("One"), &json!("idle"))
    );

    script.extend([Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    say(&service, id, "first").await;
    service.submit("other").await;
    service.idle("default").await;
    say(&service, id, "second").await;
    let requests = standin.requests();
    let body = |place: usize| -> Value { serde_json::from_slice(&requests[place].body).unwrap() };
    assert_eq!(body(0)["system"][0]["text"], "Be brief.");
    assert_eq!(body(0)["max_tokens"], 7);
    assert_eq!(body(1)["system"], Value::Null);
    assert_eq!(body(1)["messages"].as_array().unwrap().len(), 1);
    assert_eq!(body(2)["messages"].as_array().unwrap().len(), 3);

    let snapshot = service.get(&location).await;
    assert_eq!(snapshot["settings"], settings);
    assert_eq!(snapshot["summary"]["prompts"], 2);
    assert_eq!(snapshot["summary"]["turns"], 2);
    let records = snapshot["summary"]["records"].as_u64().unwrap();
    assert_eq!(records, check(&service.journal(id)).records.len() as u64);
    let events = snapshot["history"]["events"].as_array().unwrap();
    assert_eq!(events.len() as u64, records);
    assert_eq!(events.last().unwrap()["id"], snapshot["position"]);
}

/// Spec: [HTTP-28]
#[tokio::test]
async fn runs_of_two_conversations_do_not_wait_for_each_other() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("late"));
    script.push(Reply::text("at once"));
    service.submit("hangs").await;
    within("the first request", gate.reached()).await;
    let other = service.create(&json!({})).await;
    say(&service, &other, "quick").await;
    let path = format!("/v1/conversations/{other}/cancel");
    assert_eq!(service.post(&path, "{}").await.json()["cancelled"], false);
    // A run is cancelled by its number, or whatever runs.
    let cancel = async |body: &str| {
        let answer = service.post("/v1/conversations/default/cancel", body).await;
        answer.json()["cancelled"].clone()
    };
    assert_eq!(cancel(r#"{"run_id": 2}"#).await, false);
    assert_eq!(cancel(r#"{"run_id": 1}"#).await, true);
    assert_eq!(cancel(r#"{"run_id": 1}"#).await, false);
}

/// Spec: [HTTP-29]
#[tokio::test]
async fn the_list_is_paged_with_the_last_active_first() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(
            service
                .create(&json!({"title": format!("n{number}")}))
                .await,
        );
    }
    script.push(Reply::text("done"));
    say(&service, &ids[2], "wake up").await;
    ids.reverse();
    let woken = ids.remove(4);
    ids.insert(0, woken);
    let mut listed = Vec::new();
    let mut path = "/v1/conversations?limit=3".to_owned();
    loop {
        let page = service.get(&path).await;
        let rows = page["conversations"].as_array().unwrap();
        assert!(rows.len() <= 3);
        listed.extend(rows.iter().cloned());
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/conversations?limit=3&cursor={next}"),
            None => break,
        }
    }
    let names: Vec<&str> = listed
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ids);
    assert_eq!(listed[0]["title"], "n2");
    assert_eq!(
        (&listed[0]["prompts"], &listed[1]["prompts"]),
        (&json!(1), &json!(0))
    );
    let bad = service
        .send("GET", "/v1/conversations?cursor=x", "", "")
        .await;
    assert_eq!(bad.status, 400);
}

/// Spec: [HTTP-50]
#[tokio::test]
async fn a_title_is_changed_for_everybody() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let id = service.create(&json!({"title": "old"})).await;
    let path = format!("/v1/conversations/{id}");
    let mut events = service.follow(&id, "", "").await;
    let answer = patch(&service, &path, r#"{"title": "new ü"}"#).await;
    assert_eq!(
        (answer.status, &answer.json()["title"]),
        (200, &json!("new ü"))
    );
    assert_eq!(events.until("renamed").await["title"], "new ü");
    for body in [
        json!({"title": ""}),
        json!({"title": "two\nlines"}),
        json!({"title": "x".repeat(201)}),
        json!({"title": 1}),
        json!({"name": "x"}),
    ] {
        let answer = patch(&service, &path, &body.to_string()).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    let service = service.restart().await;
    assert_eq!(service.get(&path).await["summary"]["title"], "new ü");
}

/// Spec: [HTTP-57] [EVENT-18]
#[tokio::test]
async fn clients_are_told_who_cancelled_and_who_renamed() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let id = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{id}");
    let mut events = service.follow(&id, "", "").await;
    let long = "ü".repeat(65);
    for (by, shown) in [
        (json!({}), Value::Null),
        (json!({"by": "ana@pts/3"}), json!("ana@pts/3")),
        (json!({ "by": long }), json!("ü".repeat(64))),
    ] {
        let mut body = by.clone();
        body["title"] = json!("new");
        let answer = patch(&service, &path, &body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let renamed = events.until("renamed").await;
        assert_eq!(renamed["by"], shown);
        assert_eq!(renamed.get("by").is_some(), !shown.is_null());

        let gate = Gate::new();
        script.push(Message::new().gate(&gate).text("late"));
        prompt(&service, &id, &json!({"content": "x"})).await;
        within("the request", gate.reached()).await;
        let answer = service
            .post(&format!("{path}/cancel"), &by.to_string())
            .await;
        assert_eq!(answer.json(), json!({"cancelled": true}));
        let ended = events.until("run_ended").await;
        assert_eq!(ended["by"], shown);
        assert_eq!(ended.get("by").is_some(), !shown.is_null());
    }
    for order in ["cancel", "prompt"] {
        let wrong = service
            .post(&format!("{path}/{order}"), r#"{"content":"x","by":1}"#)
            .await;
        assert_eq!(wrong.status, 400);
    }
}

/// Spec: [HTTP-51]
#[tokio::test]
async fn a_fork_begins_like_its_origin_and_goes_its_own_way() {
    let (service, standin, script) = Service::scripted(&[]).await;
    for text in ["a", "b", "c", "d"] {
        script.push(Reply::text(text));
    }
    say(&service, "default", "first").await;
    let cut = check(&service.journal("default")).records.len();
    say(&service, "default", "second").await;
    let fork = async |body: Value| {
        let answer = service
            .post("/v1/conversations/default/fork", &body.to_string())
            .await;
        (answer.status, answer.json())
    };
    let (status, made) = fork(json!({"seq": cut, "title": "forked"})).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["title"], "forked");
    say(&service, id, "other").await;
    let request: Value = serde_json::from_slice(&standin.requests()[2].body).unwrap();
    let texts = |message: &Value| message["content"][0]["text"].clone();
    let said: Vec<Value> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(texts)
        .collect();
    assert_eq!(said, ["first", "a", "other"]);
    let origin = check(&service.journal("default"));
    let forked = check(&service.journal(id));
    for (ours, theirs) in origin.records[..cut].iter().zip(&forked.records) {
        assert_eq!(ours.1["data"], theirs.1["data"]);
        assert_ne!(ours.0, theirs.0, "a position names its conversation");
    }
    let snapshot = service.get(&format!("/v1/conversations/{id}")).await;
    assert_eq!(snapshot["forked_from"], json!(["default", cut]));
    assert_eq!(fork(json!({"seq": 10_000})).await.0, 400);
    // A fork in the middle of a run is mended when it is prompted.
    let (_, middle) = fork(json!({"seq": 4})).await;
    assert_eq!(middle["state"], "interrupted");
    say(&service, middle["id"].as_str().unwrap(), "go on").await;
    check(&service.journal(middle["id"].as_str().unwrap()));
    assert_eq!(standin.violations(), Vec::<String>::new());
}

/// Spec: [HTTP-52]
#[tokio::test]
async fn a_deleted_conversation_is_in_the_trash_and_nowhere_else() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let id = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{id}");
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("late"));
    assert_eq!(
        prompt(&service, &id, &json!({"content": "x"})).await.status,
        200
    );
    within("the request", gate.reached()).await;
    assert_eq!(service.send("DELETE", &path, "", "").await.status, 409);
    gate.open();
    service.idle(&id).await;
    let mut events = service.follow(&id, "", "").await;
    let bytes = std::fs::read(service.journal(&id)).unwrap();
    let deleted = service.send("DELETE", &path, "", "").await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    let trash = deleted.json()["trash"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read(&trash).unwrap(), bytes);
    while let Some(frame) = events.frame().await {
        if frame == ": the conversation was deleted" {
            assert_eq!(events.frame().await, None);
            break;
        }
    }
    assert_eq!(service.send("GET", &path, "", "").await.status, 404);
    assert_eq!(service.send("DELETE", &path, "", "").await.status, 404);
    assert_eq!(
        prompt(&service, &id, &json!({"content": "x"})).await.status,
        404
    );
    // What is moved back is there again.
    std::fs::rename(trash, service.journal(&id)).unwrap();
    assert_eq!(service.get(&path).await["summary"]["prompts"], 1);
}

/// Spec: [CLI-795]
#[tokio::test]
async fn what_was_deleted_is_listed_moved_back_and_removed_for_good() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let id = service.create(&json!({})).await;
    script.push(Reply::text("once upon a time"));
    say(&service, &id, "a story at bedtime").await;
    let path = format!("/v1/conversations/{id}");
    let home = service.home.path().to_owned();
    let trash = async |words: &[&str]| {
        let mut trash = command(&home);
        trash.arg("trash").args(words);
        let running = tokio::task::spawn_blocking(move || output(&mut trash));
        within("the end of the command", running).await.unwrap()
    };
    let (code, out, err) = trash(&[]).await;
    assert_eq!((code, &*out), (0, "the trash is empty\n"), "{err}");
    service.send("DELETE", &path, "", "").await;
    let (_, out, _) = trash(&[]).await;
    assert!(out.starts_with("NAME"), "{out}");
    assert!(
        out.contains(&format!("{id}-")) && out.trim_end().ends_with("a story at bedtime"),
        "{out}"
    );
    let (code, _, err) = trash(&["restore", "another"]).await;
    assert_eq!(code, 2);
    assert!(err.contains("there is no another in the trash"), "{err}");
    // Named by the beginning of its title, while the service runs.
    let (code, out, err) = trash(&["restore", "a story"]).await;
    assert_eq!((code, out.trim_end()), (0, &*id), "{err}");
    assert_eq!(service.get(&path).await["summary"]["prompts"], 1);
    script.push(Reply::text("and they lived"));
    say(&service, &id, "go on").await;
    service.send("DELETE", &path, "", "").await;
    // Without a terminal nobody can be asked; what is young stays with `--older-than`.
    let (code, _, err) = trash(&["empty"]).await;
    assert_eq!(code, 1);
    assert!(err.contains("or use --yes for 1 deleted"), "{err}");
    let (_, out, _) = trash(&["empty", "--older-than", "1h", "--yes"]).await;
    assert!(out.starts_with("removed 0 deleted"), "{out}");
    let (code, out, err) = trash(&["empty", "--yes"]).await;
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("removed 1 deleted conversation, "), "{out}");
    let left = std::fs::read_dir(home.join(".harness/trash")).unwrap();
    assert_eq!(left.count(), 0);
}

/// Spec: [HTTP-52] [CONV-60]
#[tokio::test]
async fn a_deletion_that_fails_or_is_raced_deletes_nothing_else() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let id = service.create(&json!({})).await;
    let path = format!("/v1/conversations/{id}");
    let trash = service.home.path().join(".harness/trash");
    drop(std::fs::remove_dir_all(&trash));
    std::fs::write(&trash, "in the way").unwrap();
    let mut events = service.follow(&id, "", "").await;
    let refused = service.send("DELETE", &path, "", "").await;
    assert_eq!(refused.status, 507, "{refused:?}");
    while let Some(frame) = events.frame().await {
        assert!(!frame.contains("was deleted"), "{frame}");
    }
    script.push(Reply::text("still here"));
    say(&service, &id, "x").await;
    std::fs::remove_file(&trash).unwrap();
    // Of a deletion and prompts at once, each prompt is taken before it or finds nothing.
    for round in 0..20 {
        let id = service.create(&json!({})).await;
        let path = format!("/v1/conversations/{id}");
        script.push(Reply::text("done"));
        let body = json!({"content": "x", "key": format!("{round}")});
        let (deleted, prompted) = tokio::join!(
            service.send("DELETE", &path, "", ""),
            prompt(&service, &id, &body),
        );
        match (deleted.status, prompted.status) {
            (200, 404) | (409, 200) => {}
            // It was taken and had ended.
            (200, 200) => {}
            other => panic!("{other:?}: {deleted:?} {prompted:?}"),
        }
        script.clear();
    }
}

/// Spec: [HTTP-56]
#[tokio::test]
async fn a_client_that_closes_its_half_has_left() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut events = service.follow("default", "", "").await;
    events.close_half().await;
    within("the end of the stream", async {
        while events.frame().await.is_some() {}
    })
    .await;
}

/// Spec: [HTTP-53] [CONV-46]
#[tokio::test]
async fn a_prompt_that_is_repeated_with_its_key_runs_once() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("done"));
    let body = json!({"content": "once", "key": "k", "by": "ann"});
    let first = prompt(&service, "default", &body).await;
    within("the request", gate.reached()).await;
    // While the run is going, after it, and in the next life of the service.
    for _ in 0..2 {
        let again = prompt(&service, "default", &body).await;
        assert_eq!((again.status, &again.body), (200, &first.body));
        gate.open();
        service.idle("default").await;
    }
    let service = service.restart().await;
    let headers = "content-type: application/json\r\nidempotency-key: k\r\n";
    let again = service
        .send("POST", "/prompt", headers, r#"{"content": "once"}"#)
        .await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let other = json!({"content": "another", "key": "k"});
    assert_eq!(prompt(&service, "default", &other).await.status, 422);
    let disagreeing = service.send(
        "POST",
        "/prompt",
        headers,
        r#"{"content": "x", "key": "j"}"#,
    );
    assert_eq!(disagreeing.await.status, 400);
    for key in [String::new(), "k".repeat(201)] {
        let body = json!({"content": "x", "key": key});
        assert_eq!(prompt(&service, "default", &body).await.status, 400);
    }
    assert_eq!(standin.requests().len(), 1);
    let mut events = service.follow("default", "?after=0", "").await;
    let user = events.until("user").await;
    assert_eq!(
        (&user["key"], &user["by"], &user["run_id"]),
        (&json!("k"), &json!("ann"), &json!(1))
    );
}

/// Spec: [HTTP-54]
#[tokio::test]
async fn the_past_is_read_by_pages_in_both_directions() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for _ in 0..4 {
        script.push(Reply::text("done"));
        say(&service, "default", "go").await;
    }
    let expected = check(&service.journal("default")).positions_behind(0);
    let ids = |page: &Value| -> Vec<String> {
        let events = page["events"].as_array().unwrap();
        events
            .iter()
            .map(|event| event["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let path = "/v1/conversations/default/history?limit=7";
    let mut forwards = Vec::new();
    let mut after = json!(0);
    while !after.is_null() {
        let page = service.get(&format!("{path}&after={after}")).await;
        forwards.extend(ids(&page));
        after = page["after"].clone();
    }
    assert_eq!(forwards, expected);
    let mut backwards: Vec<String> = Vec::new();
    let mut page = service.get(path).await;
    loop {
        backwards.splice(0..0, ids(&page));
        if page["before"].is_null() {
            break;
        }
        page = service
            .get(&format!("{path}&before={}", page["before"]))
            .await;
    }
    assert_eq!(backwards, expected);
    let both = service
        .send("GET", &format!("{path}&before=3&after=1"), "", "")
        .await;
    assert_eq!(both.status, 400);
}
