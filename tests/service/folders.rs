//! Conversations in folders of their own, of one running service.

use std::path::{Path, PathBuf};

use harness_standin::{Gate, Reply, Script, Standin};
use serde_json::{Value, json};

use crate::client::within;
use crate::program::{Service, command, output};

/// A folder below the working folder of the service, with what it says to the model.
fn project(service: &Service, name: &str) -> PathBuf {
    let folder = service.home.path().join(name);
    let skill = folder.join(".agents/skills").join(format!("{name}-skill"));
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(folder.join("AGENTS.md"), format!("Rules of {name}.")).unwrap();
    std::fs::write(folder.join("notes.txt"), format!("notes of {name}\n")).unwrap();
    let text = format!("---\nname: {name}-skill\ndescription: For {name}.\n---\nDo {name}.\n");
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    folder
}

async fn made_in(service: &Service, folder: &Path) -> String {
    service.create(&json!({"workspace": folder})).await
}

async fn post(service: &Service, id: &str, route: &str, body: &Value) -> (u16, Value) {
    let path = format!("/v1/conversations/{id}/{route}");
    let answer = service.as_owner("POST", &path, body).await;
    (answer.status, answer.json())
}

/// A reply that has three tools look at relative paths.
fn looking() -> Reply {
    Reply::tool_calls([
        ("r", "read", json!({"path": "notes.txt"})),
        ("l", "list_dir", json!({"path": "."})),
        (
            "g",
            "grep",
            json!({"pattern": "notes", "path": ".", "recursive": true}),
        ),
    ])
}

async fn look(service: &Service, id: &str) {
    let (status, answer) = post(service, id, "prompt", &json!({"content": "look"})).await;
    assert_eq!(status, 200, "{answer}");
}

/// Runs a prompt that looks around to its end.
async fn look_around(service: &Service, id: &str, script: &Script) {
    script.extend([looking(), Reply::text("done")]);
    look(service, id).await;
    service.idle(id).await;
}

/// The requests of those conversations that have this text in them.
fn requests_with(standin: &Standin, text: &str) -> Vec<String> {
    let requests = standin.requests();
    let bodies = requests
        .iter()
        .map(|it| String::from_utf8_lossy(&it.body).into_owned());
    bodies.filter(|body| body.contains(text)).collect()
}

/// Spec: [HTTP-91] [HTTP-92] [CONV-155] [GUIDE-68]
#[tokio::test]
async fn two_conversations_work_in_two_folders_at_once_and_keep_them() {
    let (service, standin, script) = Service::scripted(&["--tool-execution", "parallel"]).await;
    let (alpha, beta) = (project(&service, "alpha"), project(&service, "beta"));
    let ids = [
        made_in(&service, &alpha).await,
        made_in(&service, &beta).await,
    ];
    let mut service = service;
    for round in 0..2 {
        let before = standin.requests().len();
        // Both have asked before either is answered.
        let gate = Gate::new();
        script.extend([looking().gate_head(&gate), looking().gate_head(&gate)]);
        script.extend(["done", "done"].map(Reply::text));
        for id in &ids {
            look(&service, id).await;
        }
        within("both requests", async {
            while standin.requests().len() < before + 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        gate.open();
        for id in &ids {
            service.idle(id).await;
        }
        assert_eq!(standin.requests().len(), before + 4);
        for (own, other) in [("alpha", "beta"), ("beta", "alpha")] {
            let bodies = requests_with(&standin, &format!("Rules of {own}."));
            assert_eq!(bodies.len(), 2 * (round + 1));
            let last = bodies.last().unwrap();
            for part in [
                format!("notes of {own}"),
                "AGENTS.md".to_owned(),
                format!("./notes.txt:1:notes of {own}"),
                format!("For {own}."),
            ] {
                assert!(last.contains(&part), "{part}: {last}");
            }
            assert!(bodies.iter().all(|body| !body.contains(other)), "{last}");
        }
        service = service.restart().await;
    }
    for (id, folder) in ids.iter().zip([&alpha, &beta]) {
        let shown = service.get(&format!("/v1/conversations/{id}")).await;
        assert_eq!(shown["summary"]["workspace"], json!(folder));
        let listed = format!("/v1/conversations?workspace={}", folder.display());
        let listed = service.get(&listed).await;
        let rows = listed["conversations"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["id"]), (1, &json!(id)));
    }
}

/// Spec: [HTTP-93] [TOOL-50]
#[tokio::test]
async fn a_folder_that_is_gone_stops_its_conversations_and_nothing_else() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let (kept, gone) = (project(&service, "kept"), project(&service, "gone"));
    let lost = made_in(&service, &gone).await;
    let other = made_in(&service, &kept).await;
    look_around(&service, &lost, &script).await;
    std::fs::remove_dir_all(&gone).unwrap();
    let records = |shown: &Value| shown["summary"]["records"].clone();
    let shown = service.get(&format!("/v1/conversations/{lost}")).await;
    let before = records(&shown);
    for (route, body) in [
        ("prompt", json!({"content": "on"})),
        ("steer", json!({"content": "on"})),
        ("follow-up", json!({"content": "on"})),
        ("continue", json!({})),
        ("retry", json!({})),
        ("skill", json!({"name": "gone-skill"})),
        ("template", json!({"name": "none"})),
    ] {
        let (status, problem) = post(&service, &lost, route, &body).await;
        assert_eq!(status, 409, "{route}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        let expected = format!(
            "the folder of this conversation is gone: {}",
            gone.display()
        );
        assert!(detail.starts_with(&expected), "{detail}");
        assert_eq!(problem["type"], "urn:harness:problem:no-workspace");
    }
    let shown = service.get(&format!("/v1/conversations/{lost}")).await;
    assert_eq!(records(&shown), before);
    assert_eq!(
        shown["history"]["events"].as_array().unwrap().len() as u64,
        before
    );
    service
        .get(&format!("/v1/conversations/{lost}/settings"))
        .await;
    look_around(&service, &other, &script).await;
    // It works again when the folder is back.
    project(&service, "gone");
    look_around(&service, &lost, &script).await;
}

/// Spec: [HTTP-90] [SEC-56]
#[tokio::test]
async fn only_some_folders_may_be_worked_in() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let above = home.parent().unwrap();
    let refused = async |path: &Path, headers: &str| {
        let body = json!({"workspace": path}).to_string();
        let headers = format!("content-type: application/json\r\n{headers}");
        service
            .send("POST", "/v1/conversations", &headers, &body)
            .await
    };
    for path in [
        home.join(".harness"),
        home.join(".harness/conversations"),
        home.join("log"),
        home.join("none"),
        PathBuf::from("relative"),
    ] {
        let answer = refused(&path, "").await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with(&format!("workspace cannot be {}", path.display())),
            "{detail}"
        );
    }
    let token = std::fs::read_to_string(home.join(".harness/token")).unwrap();
    let token = format!("authorization: Bearer {}\r\n", token.trim_end());
    for path in [Path::new("/"), above, &home] {
        let answer = refused(path, "").await;
        assert_eq!(answer.status, 401, "{answer:?}");
        let made = refused(path, &token).await;
        assert_eq!(made.status, 201, "{made:?}");
        assert_eq!(
            made.json()["workspace"],
            json!(path.canonicalize().unwrap())
        );
    }
}

/// The output of a client command that is started in a folder.
fn in_folder(service: &Service, folder: &Path, arguments: &[&str]) -> String {
    let mut command = command(service.home.path());
    let (code, out, err) = output(command.current_dir(folder).args(arguments));
    assert_eq!(code, 0, "{arguments:?}: {err}");
    out.trim_end().to_owned()
}

/// Spec: [CLI-116] [CLI-20]
#[tokio::test]
async fn a_command_is_about_the_last_conversation_of_its_folder() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let (alpha, beta) = (project(&service, "alpha"), project(&service, "beta"));
    script.extend(["one", "two", "three", "four"].map(Reply::text));
    let prompt = |folder: &Path, text: &str| in_folder(&service, folder, &["prompt", text]);
    assert_eq!(prompt(&alpha, "in alpha"), "one");
    assert_eq!(prompt(&beta, "in beta"), "two");
    assert_eq!(prompt(&beta, "again"), "three");
    let home = service.home.path();
    assert_eq!(prompt(home, "at home"), "four");
    // Each folder has its own, and the service's own folder the one that is always there.
    let ids = |folder: &Path, flags: &[&str]| -> Vec<String> {
        let arguments = [&["conversations", "list", "--json"], flags].concat();
        let out = in_folder(&service, folder, &arguments);
        let listed: Value = serde_json::from_str(&out).unwrap();
        let rows = listed["items"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&alpha, &[]).len(), 3);
    assert_eq!(ids(home, &["--here"]), ["default"]);
    let [in_beta] = &ids(&beta, &["--here"])[..] else {
        panic!("not one in beta");
    };
    let shown = service.get(&format!("/v1/conversations/{in_beta}")).await;
    assert_eq!(shown["summary"]["prompts"], 2);
    assert_eq!(requests_with(&standin, "Rules of beta.").len(), 2);
    assert!(requests_with(&standin, "in alpha")[0].contains("Rules of alpha."));
    // Another one is made on demand, and is the last one then.
    let new = in_folder(&service, &beta, &["conversations", "new", "--title", "B"]);
    assert_eq!(ids(&beta, &["--here"]).len(), 2);
    script.push(Reply::text("five"));
    assert_eq!(prompt(&beta, "in the new one"), "five");
    let shown = service.get(&format!("/v1/conversations/{new}")).await;
    assert_eq!(shown["summary"]["prompts"], 1);
    assert_eq!(shown["summary"]["workspace"], json!(beta));
    // What is named goes before, and lists look in the folder.
    script.push(Reply::text("six"));
    let named = ["prompt", "-c", "default", "from beta"];
    assert_eq!(in_folder(&service, &beta, &named), "six");
    let skills = in_folder(&service, &beta, &["skills"]);
    assert!(
        skills.contains("beta-skill") && !skills.contains("alpha"),
        "{skills}"
    );
    let table = in_folder(&service, &beta, &["conversations", "--here"]);
    assert!(
        table.contains("~/beta") && !table.contains("~/alpha"),
        "{table}"
    );
}

/// Spec: [HTTP-94] [CONV-90] [CLI-117]
#[tokio::test]
async fn the_tools_on_offer_are_renewed_by_an_order() {
    let (service, standin, script) = Service::scripted(&[]).await;
    // A past in which the tool `old` was offered, which there is not any more.
    let lines = [
        json!({"format": "harness-journal", "version": 1, "conversation": "old",
            "epoch": "0000000000000001", "created_at": 1}),
        json!({"seq": 1, "at": 1, "type": "run_started", "data": {"run": 1}}),
        json!({"seq": 2, "at": 1, "type": "turn_started", "data": {"run": 1, "turn": 1, "tools": [
            {"name": "old", "description": "d", "input_schema": {"type": "object"}}]}}),
    ];
    let journal: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(service.journal("old"), journal).unwrap();
    let mut events = service.follow("old", "", "").await;
    let offered = |place: usize| -> Vec<Value> {
        let body: Value = serde_json::from_slice(&standin.requests()[place].body).unwrap();
        let tools = body["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].clone()).collect()
    };
    let say = async |text: &str| {
        script.push(Reply::text("a"));
        let (status, answer) = post(&service, "old", "prompt", &json!({"content": text})).await;
        assert_eq!(status, 200, "{answer}");
        service.idle("old").await;
    };
    say("hi").await;
    assert_eq!(offered(0), ["old"]);
    let settings = service.get("/v1/conversations/old/settings").await;
    assert_eq!(settings["tools"], json!(["old"]));
    let there = json!(["read", "list_dir", "grep", "edit", "write", "bash", "job"]);
    for _ in 0..2 {
        let (status, view) = post(&service, "old", "tools", &json!({"by": "ana"})).await;
        assert_eq!((status, &view["tools"]), (200, &there), "{view}");
    }
    let renewed = events.until("tools_renewed").await;
    assert_eq!((&renewed["tools"], &renewed["by"]), (&there, &json!("ana")));
    say("on").await;
    assert_eq!(
        offered(1),
        ["read", "list_dir", "grep", "edit", "write", "bash", "job"]
    );
    // At the command line, too.
    let shown = in_folder(
        &service,
        service.home.path(),
        &["tools", "-c", "old", "--renew"],
    );
    assert_eq!(shown, "read\nlist_dir\ngrep\nedit\nwrite\nbash\njob");
    let settings = json!({"settings": {"active_tools": ["grep"]}}).to_string();
    let headers = "content-type: application/json\r\n";
    let path = "/v1/conversations/old/settings";
    let changed = service.send("PATCH", path, headers, &settings).await;
    assert_eq!(changed.status, 200);
    let shown = in_folder(&service, service.home.path(), &["tools", "-c", "old"]);
    assert_eq!(
        shown,
        "read  (not active)\nlist_dir  (not active)\ngrep\nedit  (not active)\nwrite  (not active)\nbash  (not active)\njob  (not active)"
    );
    // The second and the third order changed nothing.
    let shown = service.get("/v1/conversations/old").await;
    let past = shown["history"]["events"].to_string();
    assert_eq!(past.matches("tools_renewed").count(), 1);
}
