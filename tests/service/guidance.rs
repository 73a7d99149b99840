//! Skills, prompt templates and context files of a running service.

use std::os::unix::fs::symlink;
use std::path::Path;

use harness_standin::{Gate, Message, Reply, Standin};
use serde_json::{Value, json};

use crate::client::{Answer, within};
use crate::program::{API_KEY, Service, command, output};

/// Writes a file below the working folder, which has the state folder in it.
fn write(service: &Service, name: &str, text: &str) {
    let path = service.home.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn write_skill(service: &Service, folder: &str, name: &str, more: &str, content: &str) {
    let text = format!("---\nname: {name}\ndescription: For {name}.\n{more}---\n{content}\n");
    write(service, &format!("{folder}/{name}/SKILL.md"), &text);
}

/// The values of one field in a list.
fn values(list: &Value, kind: &str, field: &str) -> Vec<Value> {
    let rows = list[kind].as_array().unwrap();
    rows.iter().map(|row| row[field].clone()).collect()
}

async fn order(service: &Service, kind: &str, body: &Value) -> Answer {
    let path = format!("/v1/conversations/default/{kind}");
    service.post(&path, &body.to_string()).await
}

/// Runs an order to its end.
async fn run(service: &Service, kind: &str, body: &Value) -> Value {
    let answer = order(service, kind, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle("default").await;
    answer.json()["run_id"].clone()
}

/// The last system prompt of the model.
fn last_prompt(standin: &Standin) -> String {
    let requests = standin.requests();
    let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    let message = body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(message["role"], "user");
    match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    }
}

/// Spec: [GUIDE-50] [GUIDE-15] [GUIDE-24]
#[tokio::test]
async fn what_is_on_disk_is_listed_without_a_restart() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let empty = service.get("/v1/skills").await;
    assert_eq!(empty, json!({"skills": [], "problems": []}));
    let empty = service.get("/v1/templates").await;
    assert_eq!(empty, json!({"templates": [], "problems": []}));

    write_skill(&service, ".agents/skills", "b", "", "One.");
    write_skill(&service, ".harness/skills", "a", "hidden: true\n", "Two.");
    write(&service, ".claude/skills/bad/SKILL.md", "no front matter");
    write(
        &service,
        ".harness/templates/t.md",
        "---\ndescription: Tries.\n---\n$1",
    );
    let skills = service.get("/v1/skills").await;
    assert_eq!(values(&skills, "skills", "name"), ["a", "b"]);
    assert_eq!(
        values(&skills, "skills", "description"),
        ["For a.", "For b."]
    );
    assert_eq!(values(&skills, "skills", "hidden"), [true, false]);
    let path = skills["skills"][1]["path"].as_str().unwrap();
    assert!(path.ends_with("/.agents/skills/b/SKILL.md"), "{path}");
    assert_eq!(skills["skills"][0].get("content"), None);
    let problems = skills["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let problem = problems[0].as_str().unwrap();
    assert!(problem.contains("/bad/SKILL.md: "), "{problem}");
    let templates = service.get("/v1/templates").await;
    assert_eq!(values(&templates, "templates", "name"), ["t"]);
    assert_eq!(values(&templates, "templates", "description"), ["Tries."]);
    assert_eq!(templates["problems"], skills["problems"]);
    assert_eq!(service.get("/v1/skills/a").await["content"], "Two.");
    assert_eq!(service.get("/v1/templates/t").await["content"], "$1");

    for content in ["Six.", "Ten."] {
        write_skill(&service, ".agents/skills", "b", "", content);
        assert_eq!(service.get("/v1/skills/b").await["content"], content);
    }
    std::fs::remove_dir_all(service.home.path().join(".agents")).unwrap();
    assert_eq!(
        values(&service.get("/v1/skills").await, "skills", "name"),
        ["a"]
    );
    // It is told of once, not each time that somebody looks.
    assert_eq!(
        service.whole_log().await.matches("/bad/SKILL.md: ").count(),
        1
    );
}

/// Spec: [GUIDE-52] [GUIDE-02]
#[tokio::test]
async fn a_skill_reaches_the_model_as_a_block() {
    let (service, standin, script) = Service::scripted(&[]).await;
    write_skill(&service, ".agents/skills", "release", "", "Tag it.");
    write_skill(
        &service,
        ".agents/skills",
        "secret",
        "hidden: true\n",
        "Hush.",
    );
    let mut events = service.follow("default", "", "").await;
    script.extend(["a", "b", "c"].map(Reply::text));
    let body = json!({"name": "release", "instructions": "Only it.", "key": "k", "by": "ana"});
    let first = run(&service, "skill", &body).await;
    let said = last_prompt(&standin);
    let (opening, rest) = said.split_once('\n').unwrap();
    assert!(
        opening.starts_with("<skill name=\"release\" location=\"/"),
        "{opening}"
    );
    assert!(
        opening.ends_with("/.agents/skills/release/SKILL.md\">"),
        "{opening}"
    );
    assert!(
        rest.ends_with("\n\nTag it.\n</skill>\n\nOnly it."),
        "{rest}"
    );
    let user = events.until("user").await;
    assert_eq!(
        (&user["content"], &user["by"]),
        (&json!(said), &json!("ana"))
    );

    // Sent again with its key, it is the same run.
    assert_eq!(run(&service, "skill", &body).await, first);
    assert_eq!(standin.requests().len(), 1);
    let headers = "content-type: application/json\r\nidempotency-key: k\r\n";
    let path = "/v1/conversations/default/skill";
    let again = json!({"name": "release", "instructions": ["Only it."]}).to_string();
    let answer = service.send("POST", path, headers, &again).await;
    assert_eq!(answer.json()["run_id"], first);
    let other = json!({"name": "secret", "key": "k"});
    assert_eq!(order(&service, "skill", &other).await.status, 422);

    let several = json!({"name": "release", "instructions": ["One.", "", "Two."]});
    run(&service, "skill", &several).await;
    assert!(last_prompt(&standin).ends_with("</skill>\n\nOne.\n\nTwo."));
    run(&service, "skill", &json!({"name": "secret"})).await;
    assert!(last_prompt(&standin).ends_with("\n\nHush.\n</skill>"));
}

/// Spec: [GUIDE-53]
#[tokio::test]
async fn a_template_reaches_the_model_with_its_arguments() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let text = "---\ndescription: Compares.\n---\nCompare $1 with ${2:-main}: $@";
    write(&service, ".agents/templates/compare.md", text);
    for (more, said) in [
        (json!({}), "Compare  with main: "),
        (
            json!({"arguments": ["$2", "b c"]}),
            "Compare $2 with b c: $2 b c",
        ),
        (json!({"line": "'a b'  c"}), "Compare a b with c: a b c"),
    ] {
        script.push(Reply::text("Done."));
        let mut body = more.clone();
        body["name"] = json!("compare");
        run(&service, "template", &body).await;
        assert_eq!(last_prompt(&standin), said, "{more}");
    }
}

/// Spec: [GUIDE-51] [GUIDE-53] [GUIDE-54]
#[tokio::test]
async fn what_cannot_be_said_starts_nothing() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    write_skill(&service, ".agents/skills", "x", "", "Do it.");
    write(&service, ".agents/templates/t.md", &"$1".repeat(2000));
    write(&service, ".agents/templates/blank.md", " $1 ");
    let long = "y".repeat(10_000);
    for (kind, body, status, problem, named) in [
        (
            "skill",
            json!({"name": "y"}),
            404,
            "no-skill",
            "there are: x",
        ),
        (
            "template",
            json!({"name": "y"}),
            404,
            "no-template",
            "there are: blank, t",
        ),
        ("skill", json!({}), 400, "bad-request", "name"),
        (
            "skill",
            json!({"name": "x", "instructions": 3}),
            400,
            "bad-request",
            "instructions",
        ),
        (
            "skill",
            json!({"name": "x", "arguments": []}),
            400,
            "bad-request",
            "arguments",
        ),
        (
            "skill",
            json!({"name": "x", "key": ""}),
            400,
            "bad-request",
            "key",
        ),
        (
            "template",
            json!({"name": "t", "arguments": "a"}),
            400,
            "bad-request",
            "sequence",
        ),
        (
            "template",
            json!({"name": "t", "arguments": [], "line": ""}),
            400,
            "bad-request",
            "either",
        ),
        (
            "template",
            json!({"name": "t", "line": long}),
            400,
            "bad-request",
            "4194304",
        ),
        (
            "template",
            json!({"name": "blank"}),
            400,
            "bad-request",
            "blank",
        ),
    ] {
        let answer = order(&service, kind, &body).await;
        let json = answer.json();
        assert_eq!(answer.status, status, "{json}");
        assert_eq!(json["type"], format!("urn:harness:problem:{problem}"));
        let detail = json["detail"].as_str().unwrap();
        assert!(detail.contains(named), "{detail}");
    }
    for path in ["/v1/skills/y", "/v1/templates/y"] {
        assert_eq!(service.send("GET", path, "", "").await.status, 404);
    }
    let nowhere = "/v1/conversations/none/skill";
    let answer = service.post(nowhere, r#"{"name": "x"}"#).await;
    assert_eq!(answer.json()["type"], "urn:harness:problem:no-conversation");
    assert_eq!(standin.requests().len(), 0);
}

/// Spec: [GUIDE-52] [GUIDE-53]
#[tokio::test]
async fn nothing_is_said_while_a_run_is_going() {
    let (service, standin, script) = Service::scripted(&[]).await;
    write_skill(&service, ".agents/skills", "x", "", "Do it.");
    write(&service, ".agents/templates/t.md", "Say it.");
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("late"));
    service.submit("hangs").await;
    within("the request", gate.reached()).await;
    for (kind, name) in [("skill", "x"), ("template", "t")] {
        let answer = order(&service, kind, &json!({"name": name})).await;
        assert_eq!(answer.json()["type"], "urn:harness:problem:busy");
    }
    gate.open();
    service.idle("default").await;
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [GUIDE-60] [GUIDE-61]
#[tokio::test]
async fn the_commands_list_and_run_skills_and_templates() {
    let (service, standin, script) = Service::scripted(&[]).await;
    write_skill(&service, ".agents/skills", "x", "", "Do it.");
    write(&service, ".agents/templates/t.md", "Say $1.");
    let home = service.home.path().to_owned();
    let harness = async |arguments: &[&str]| {
        let mut command = command(&home);
        command.args(arguments);
        let running = tokio::task::spawn_blocking(move || output(&mut command));
        within("the end of the command", running).await.unwrap()
    };
    let (code, out, err) = harness(&["skills"]).await;
    assert_eq!((code, &*out, &*err), (0, "x  For x.\n", ""));
    let (code, out, _) = harness(&["templates", "--json"]).await;
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &listed["items"][0]["name"]), (0, &json!("t")));
    script.extend(["One.", "Two."].map(Reply::text));
    let (code, out, err) = harness(&["skill", "x", "but", "quickly"]).await;
    assert_eq!((code, &*out), (0, "One.\n"), "{err}");
    assert!(last_prompt(&standin).ends_with("Do it.\n</skill>\n\nbut quickly"));
    let (code, out, err) = harness(&["template", "t", "a b"]).await;
    assert_eq!((code, &*out), (0, "Two.\n"), "{err}");
    assert_eq!(last_prompt(&standin), "Say a b.");
    let (code, out, err) = harness(&["skill", "y"]).await;
    assert_eq!((code, &*out), (1, ""));
    assert!(
        err.contains("there is no skill \"y\"; there are: x"),
        "{err}"
    );
}

/// The system prompt of a request.
fn system_prompt(standin: &Standin, place: usize) -> String {
    let requests = standin.requests();
    let body: Value = serde_json::from_slice(&requests[place].body).unwrap();
    match &body["system"] {
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| block["text"].as_str().unwrap());
            texts.collect()
        }
        text => text.as_str().unwrap_or_default().to_owned(),
    }
}

/// Spec: [GUIDE-03] [GUIDE-12] [GUIDE-13] [GUIDE-15] [GUIDE-30] [GUIDE-57]
#[tokio::test]
async fn the_model_is_told_of_context_files_and_visible_skills() {
    let (service, standin, script) = Service::scripted(&["--system-prompt", "Be brief."]).await;
    script.extend(["a", "b", "c", "d"].map(Reply::text));
    service.submit("nothing yet").await;
    service.idle("default").await;
    assert_eq!(system_prompt(&standin, 0), "Be brief.");

    write_skill(&service, ".agents/skills", "seen", "", "Body.");
    write_skill(
        &service,
        ".agents/skills",
        "unseen",
        "hidden: true\n",
        "Body.",
    );
    write(&service, "AGENTS.md", "Of the work.");
    write(&service, ".harness/CLAUDE.md", "Of home.");
    for _ in 0..2 {
        service.submit("now").await;
        service.idle("default").await;
    }
    let told = system_prompt(&standin, 1);
    assert_eq!(system_prompt(&standin, 2), told);
    let places: Vec<usize> = [
        "Be brief.",
        "\nOf home.\n",
        "\nOf the work.\n",
        "<name>seen</name>",
    ]
    .iter()
    .map(|part| told.find(part).unwrap_or_else(|| panic!("{part}: {told}")))
    .collect();
    assert!(places.is_sorted(), "{told}");
    assert!(
        !told.contains("unseen") && !told.contains("Body."),
        "{told}"
    );

    let shown = async || service.get("/v1/conversations/default").await["context_files"].clone();
    let files = shown().await;
    assert_eq!(files.as_array().map(Vec::len), Some(2), "{files}");
    assert_eq!(files[1]["bytes"], "Of the work.".len());

    let path = "/v1/conversations/default/settings";
    let headers = "content-type: application/json\r\n";
    let off = r#"{"settings": {"context_files": false}}"#;
    let answer = service.send("PATCH", path, headers, off).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(shown().await.as_array().is_none_or(Vec::is_empty));
    service.submit("without").await;
    service.idle("default").await;
    let told = system_prompt(&standin, 3);
    assert!(
        !told.contains("Of the work.") && !told.contains("Of home."),
        "{told}"
    );
    assert!(told.contains("<name>seen</name>"), "{told}");
}

/// Spec: [GUIDE-56]
#[tokio::test]
async fn a_skill_and_a_template_can_wait_for_their_time() {
    let (service, standin, script) = Service::scripted(&[]).await;
    write_skill(&service, ".agents/skills", "x", "", "Do it.");
    write(&service, ".agents/templates/t.md", "Say $1.");
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("late"));
    script.extend(["One.", "Two."].map(Reply::text));
    service.submit("hangs").await;
    within("the request", gate.reached()).await;
    let skill = json!({"name": "x", "queue": "follow_up"});
    let answer = order(&service, "skill", &skill).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json()["item"].is_u64(), "{answer:?}");
    let template = json!({"name": "t", "line": "'a b'", "queue": "follow_up"});
    assert_eq!(order(&service, "template", &template).await.status, 200);
    gate.open();
    service.idle("default").await;
    assert_eq!(standin.requests().len(), 3);
    assert_eq!(last_prompt(&standin), "Say a b.");
}

/// A repository that was cloned, with links that lead to what is private.
///
/// Spec: [GUIDE-63]
#[tokio::test]
async fn a_repository_sends_nothing_that_lies_outside_of_it() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let private = tempfile::tempdir().unwrap();
    let key = private.path().join("id_rsa");
    std::fs::write(&key, "-----BEGIN KEY-----").unwrap();
    let at = |name: &str| service.home.path().join(name);
    std::fs::create_dir_all(at(".claude/commands")).unwrap();
    symlink(&key, at("AGENTS.md")).unwrap();
    symlink("../../.harness/token", at(".claude/commands/fix.md")).unwrap();
    symlink(private.path(), at(".agents")).unwrap();
    script.push(Reply::text("Done."));
    service.submit("hello").await;
    service.idle("default").await;
    assert_eq!(system_prompt(&standin, 0), "");
    let listed = service.get("/v1/templates").await;
    assert_eq!(listed["templates"], json!([]));
    let problems: Vec<&str> = listed["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem.as_str().unwrap())
        .collect();
    for (name, reason) in [
        (
            "/AGENTS.md",
            "it is a link that leads out of the working folder",
        ),
        ("/.claude/commands/fix.md", "it leads into the state folder"),
        ("/.agents/skills", "it lies behind a link that leads out"),
    ] {
        let is_told = |line: &&&str| line.contains(&format!("{name}: {reason}"));
        assert_eq!(problems.iter().filter(is_told).count(), 1, "{problems:?}");
    }
    let answer = order(&service, "template", &json!({"name": "fix"})).await;
    assert_eq!(answer.status, 404, "{answer:?}");
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [GUIDE-66]
#[tokio::test]
async fn what_guidance_says_is_shown_and_sent_without_secrets() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
    let secrets = format!("{} and {API_KEY}", token.trim());
    write(&service, "AGENTS.md", &secrets);
    write_skill(&service, ".agents/skills", "x", "", &secrets);
    write(&service, ".agents/templates/t.md", &secrets);
    for (path, field) in [("skills/x", "content"), ("templates/t", "description")] {
        let shown = service.get(&format!("/v1/{path}")).await;
        assert_eq!(shown[field], "*** and ***", "{shown}");
    }
    script.extend(["a", "b"].map(Reply::text));
    run(&service, "template", &json!({"name": "t"})).await;
    assert_eq!(last_prompt(&standin), "*** and ***");
    run(&service, "skill", &json!({"name": "x"})).await;
    for place in 0..2 {
        let requests = standin.requests();
        let sent = String::from_utf8_lossy(&requests[place].body).into_owned();
        assert!(
            !sent.contains(token.trim()) && !sent.contains(API_KEY),
            "{sent}"
        );
        assert!(system_prompt(&standin, place).contains("*** and ***"));
    }
}

/// Spec: [GUIDE-55]
#[test]
fn the_actors_read_no_guidance_from_disk() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("actors/src/guidance");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["std::fs", "read_to_string", "read_dir", "tokio"] {
            assert!(!text.contains(word), "{} has {word}", path.display());
        }
        count += 1;
    }
    assert!(count > 3);
}
