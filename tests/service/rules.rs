//! Rules and modes over HTTP, who may change them, and what else may happen while an approval is open.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use harness_standin::{Model, Reply, Script, Standin};
use nix::sys::stat::Mode;
use serde_json::{Value, json};

use crate::approvals::{AT, answer, asking, edits, open};
use crate::changing::{Changing, order};
use crate::client::within;
use crate::contained::contains_commands;
use crate::eventually::eventually;
use crate::program::{MODEL, Service, command, output};
use crate::talk::Talk;

/// The content of a file of the service's folder.
fn content(service: &Service, name: &str) -> String {
    std::fs::read_to_string(service.home.path().join(name)).unwrap()
}

/// The states of the approvals on record, by their events.
async fn ends(service: &Service) -> Vec<String> {
    let snapshot = service.get(AT).await;
    let events = snapshot["history"]["events"].as_array().unwrap();
    let told = |past: &Value| {
        let event = &past["event"];
        let what = match event["type"].as_str()? {
            "approval_answered" => event["answer"].as_str()?,
            "approval_withdrawn" => event["reason"].as_str()?,
            _ => return None,
        };
        Some(format!("{} {what}", event["id"]))
    };
    events.iter().filter_map(told).collect()
}

/// The results of tool calls that the model was sent last, as texts.
fn results(service: &Service) -> String {
    std::fs::read_to_string(service.journal("default"))
        .unwrap()
        .lines()
        .filter(|line| line.contains("\"type\":\"tool_result\""))
        .collect()
}

/// Spec: [APPR-04]
#[tokio::test]
async fn a06_a_denial_tells_the_model_why_and_may_stop_the_run() {
    let (service, standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes.txt"), "one\ntwo\n").unwrap();
    for (stop, state) in [(false, "idle"), (true, "idle")] {
        let edit = |new: &str| json!({"path": "notes.txt", "old_string": "two", "new_string": new});
        let calls = [
            ("a", "read", json!({"path": "notes.txt"})),
            ("b", "edit", edit("2")),
            ("c", "edit", edit("3")),
            ("d", "read", json!({"path": "notes.txt"})),
        ];
        script.push(Reply::tool_calls(calls));
        if !stop {
            script.push(Reply::text("I see"));
        }
        service.submit("change it").await;
        let approval = open(&service).await;
        let order =
            json!({"answer": "deny", "message": "not on Fridays", "stop": stop, "by": "ana"});
        // To deny, neither the token nor the digest is needed.
        let path = format!("{AT}/approvals/{}", approval["id"]);
        assert_eq!(service.post(&path, &order.to_string()).await.status, 200);
        service.idle("default").await;
        assert_eq!(service.get(AT).await["state"], state);
        assert_eq!(content(&service, "notes.txt"), "one\ntwo\n");
    }
    assert_eq!(
        results(&service)
            .matches("an operator denied it: not on Fridays")
            .count(),
        2
    );
    // The rest of the calls is not executed, as after any failed tool.
    let sent = standin.requests()[1].json().to_string();
    assert_eq!(
        sent.matches("not executed: an earlier tool failed").count(),
        2,
        "{sent}"
    );
    script.push(Reply::text("on"));
    service.submit("go on").await;
    service.idle("default").await;
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-04]
#[tokio::test]
async fn a06_a_denied_command_is_not_run_nor_are_the_calls_behind_it() {
    for stop in [false, true] {
        let (service, standin, script) = Service::scripted(&[]).await;
        let bash = |text: &str| json!({"command": text});
        let calls = [
            ("a", "bash", bash("echo a >>ran")),
            ("b", "bash", bash("echo b >>ran")),
            ("c", "bash", bash("echo c >>ran")),
            ("d", "bash", bash("echo d >>ran")),
        ];
        script.push(Reply::tool_calls(calls));
        if !stop {
            script.push(Reply::text("I see"));
        }
        service.submit("run them").await;
        let first = open(&service).await;
        assert_eq!(first["command"]["command"], "echo a >>ran");
        let allowed = answer(&service, &first, json!({"answer": "allow"})).await;
        assert_eq!(allowed.status, 200, "{allowed:?}");
        let second = open(&service).await;
        assert_eq!(second["command"]["command"], "echo b >>ran");
        let words =
            json!({"answer": "deny", "message": "not on Fridays", "stop": stop, "by": "ana"});
        let denied = answer(&service, &second, words).await;
        assert_eq!(denied.status, 200, "{denied:?}");
        service.idle("default").await;
        assert_eq!(content(&service, "ran"), "a\n");
        assert_eq!(ends(&service).await, ["1 allow", "2 deny"]);
        let told = results(&service);
        let said = told.matches("an operator denied it: not on Fridays");
        assert_eq!(said.count(), 1, "{told}");
        // What ran before is told as it was, and the model gets a result for each of the four.
        assert!(told.contains("[exit 0 · "), "{told}");
        script.push(Reply::text("on"));
        service.submit("go on").await;
        service.idle("default").await;
        let sent = standin.requests().last().unwrap().json().to_string();
        assert_eq!(sent.matches("\"tool_result\"").count(), 4, "{sent}");
        let not_run = sent.matches("not executed: an earlier tool failed").count();
        assert!(stop || not_run == 2, "{sent}");
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [APPR-13]
#[tokio::test]
async fn a07_a_rule_or_mode_that_now_decides_resolves_what_is_open_for_everybody() {
    let rule =
        |action: &str, rule: &str| json!({"add": [{"action": action, "rule": rule}], "by": "ana"});
    for (path, change, is_made) in [
        ("/rules", rule("allow", "edit(*.txt)"), true),
        ("/rules", rule("deny", "edit(notes.*)"), false),
        (
            "/settings",
            json!({"settings": {"mode": "edits"}, "by": "ana"}),
            true,
        ),
        ("/settings", json!({"settings": {"mode": "plan"}}), false),
        ("", rule("allow", "edit(**)"), true),
    ] {
        let (service, standin, _script, _) = asking().await;
        let mut late = service.follow("default", "", "").await;
        // Another file is none of the rule's business.
        let other = service
            .as_owner("PATCH", &format!("{AT}/rules"), &rule("allow", "edit(x)"))
            .await;
        assert_eq!(other.status, 200);
        assert_eq!(ends(&service).await, [""; 0]);
        let path = match path {
            "" => "/v1/rules".to_owned(),
            path => format!("{AT}{path}"),
        };
        let changed = service.as_owner("PATCH", &path, &change).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        let withdrawn = late.until("approval_withdrawn").await;
        assert_eq!(withdrawn["reason"], "decided");
        service.idle("default").await;
        let expected = if is_made { "one\n2\n" } else { "one\ntwo\n" };
        assert_eq!(content(&service, "notes.txt"), expected, "{change}");
        assert_eq!(ends(&service).await, ["1 decided"]);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [APPR-06] [APPR-11] [APPR-12]
#[tokio::test]
async fn a08_scopes_are_kept_listed_and_taken_back() {
    let (service, standin, script, _) = asking().await;
    let scopes = ["once", "run", "conversation", "workspace"];
    for (number, scope) in scopes.into_iter().enumerate() {
        if number > 0 {
            let name = format!("file{number}");
            std::fs::write(service.home.path().join(&name), "a b c d").unwrap();
            let edit = |old: &str| json!({"path": name, "old_string": old, "new_string": "x"});
            script.push(Reply::tool_calls([("p", "edit", edit("a"))]));
            script.push(Reply::tool_calls([("q", "edit", edit("b"))]));
            script.push(Reply::text("done"));
            service.submit("change").await;
        }
        let approval = open(&service).await;
        assert_eq!(approval["scopes"], json!(scopes));
        let order = json!({"answer": "allow", "scope": scope, "by": "ana"});
        let answered = answer(&service, &approval, order).await;
        assert_eq!(answered.status, 200, "{answered:?}");
        assert_eq!(answered.json()["scope"], scope);
        // The second change of the run is not asked about.
        service.idle("default").await;
        if number > 0 {
            assert_eq!(content(&service, &format!("file{number}")), "x x c d");
        }
    }
    let folder = service.home.path().canonicalize().unwrap();
    let held = service.get(&format!("{AT}/rules")).await;
    let rule = |rule: &str, scope: &str| json!({"action": "allow", "rule": rule, "scope": scope, "by": "ana"});
    let mut of_folder = rule("edit(file3)", "workspace");
    of_folder["workspace"] = json!(folder);
    // That of the run is gone with it.
    assert_eq!(
        held["rules"],
        json!([rule("edit(file2)", "conversation"), of_folder])
    );
    let service = service.restart().await;
    assert_eq!(service.get(&format!("{AT}/rules")).await, held);
    assert_eq!(service.get("/v1/rules").await["rules"], json!([of_folder]));
    let talk = Talk::with(&service);
    // What a rule of the folder covers is not asked about in another conversation either.
    let id = service.create(&json!({})).await;
    let edit = json!({"path": "file3", "old_string": "c", "new_string": "x"});
    script.extend([
        Reply::tool_calls([("r", "edit", edit)]),
        Reply::text("done"),
    ]);
    let prompted = service
        .post(
            &format!("/v1/conversations/{id}/prompt"),
            r#"{"content":"x"}"#,
        )
        .await;
    assert_eq!(prompted.status, 200);
    service.idle(&id).await;
    assert_eq!(content(&service, "file3"), "x x x d");
    // Taken back, they are asked about again.
    let gone = json!({"remove": [{"rule": "edit(file2)"}]});
    assert_eq!(
        talk.order("PATCH", "/rules", &gone).await["rules"],
        json!([of_folder])
    );
    assert_eq!(talk.send("PATCH", "/rules", &gone).await.status, 404);
    let gone = json!({"remove": [{"rule": "edit(file3)"}]});
    let left = service.as_owner("PATCH", "/v1/rules", &gone).await;
    assert_eq!(left.json()["rules"], json!([]));
    let again = service.as_owner("PATCH", "/v1/rules", &gone).await;
    assert_eq!(again.status, 404, "{again:?}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-420]
#[tokio::test]
async fn a08_a_denial_outlives_its_folder_and_a_rule_that_allows_does_not() {
    let mut here = Changing::in_mode("ask").await;
    let work = here.at("").canonicalize().unwrap();
    let away = work.with_file_name("away");
    let held =
        |action: &str, rule: &str| json!({"action": action, "rule": rule, "workspace": work});
    let add = json!({"add": [held("allow", "write(a)"), held("deny", "write(b)")]});
    let added = order(&here.service, "PATCH", "/v1/rules", &add).await;
    assert_eq!(added.status, 200, "{added:?}");
    std::fs::rename(&work, &away).unwrap();
    let listed = async |here: &Changing| {
        let rules = here.service.get("/v1/rules").await["rules"].clone();
        let rules = rules.as_array().unwrap().iter();
        rules
            .map(|held| format!("{} {}", held["action"], held["rule"]))
            .collect::<Vec<_>>()
    };
    let denial = [r#""deny" "write(b)""#];
    // Once without a folder, and once with another one at the path.
    assert_eq!(listed(&here).await, denial);
    std::fs::create_dir(&work).unwrap();
    assert_eq!(listed(&here).await, denial);
    for folder in [&work, &away] {
        here.id = here.service.create(&json!({"workspace": folder})).await;
        let (result, is_error) = here.write("b", "x").await;
        assert!(
            is_error && result.contains("the rule write(b) denies it"),
            "{result}"
        );
        here.begin("write", json!({"path": "a", "content": "x"}))
            .await;
        let asked = here.asked().await;
        assert_eq!(here.answer(&asked.unwrap(), "deny").await.status, 200);
        here.service.idle(&here.id).await;
    }
    let home = here.service.home.path().to_owned();
    let list = move || output(command(&home).args(["rules", "--all"]));
    let (code, out, err) = tokio::task::spawn_blocking(list).await.unwrap();
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with("deny write(b) for this folder /") && out.lines().count() == 1,
        "{out}"
    );
    std::fs::remove_dir(&work).unwrap();
    let gone = json!({"remove": [held("deny", "write(b)")]});
    let left = order(&here.service, "PATCH", "/v1/rules", &gone).await;
    assert_eq!(
        (left.status, &left.json()["rules"]),
        (200, &json!([])),
        "{left:?}"
    );
}

/// Runs a service on a file of rules that `place` puts there; its exit code and what it says.
async fn started_with(place: impl FnOnce(&Path)) -> (Option<i32>, String) {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join(".harness");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    place(&state.join("rules.json"));
    let mut serve = command(home.path());
    serve
        .args(["serve", "--demo", "--port", "0"])
        .stdin(Stdio::null());
    let mut serve = tokio::process::Command::from(serve);
    let ended = serve.kill_on_drop(true).output();
    let ended = within("the end of the service", ended).await.unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    (ended.status.code(), err)
}

/// Spec: [APPR-421]
#[tokio::test]
async fn a08_a_file_of_rules_that_is_not_understood_keeps_the_service_from_starting() {
    let with = |action: &str| {
        let held = json!({"action": action, "rule": "bash(rm *)", "scope": "workspace"});
        let text = json!([{"folder": "/w", "inode": 1, "rules": [held]}]).to_string();
        move |file: &Path| std::fs::write(file, text).unwrap()
    };
    let pipe = |file: &Path| nix::unistd::mkfifo(file, Mode::S_IRWXU).unwrap();
    let folder = |file: &Path| std::fs::create_dir(file).unwrap();
    let device = |file: &Path| std::os::unix::fs::symlink("/dev/zero", file).unwrap();
    for ((code, err), named) in [
        (
            started_with(with("denied")).await,
            "unknown variant `denied`, expected one of `allow`, `ask`, `deny`",
        ),
        (started_with(with("Deny")).await, "`Deny`"),
        (started_with(pipe).await, "it is a named pipe"),
        (started_with(folder).await, "it is a folder"),
        (started_with(device).await, "it is a device"),
    ] {
        assert_eq!(code, Some(1), "{err}");
        let about = err.lines().filter(|line| line.contains("rules.json"));
        let about: Vec<&str> = about.collect();
        let [line] = about[..] else {
            panic!("{err}");
        };
        assert!(line.contains("cannot read the rules in "), "{line}");
        assert!(line.contains(named), "{line}");
    }
}

/// Spec: [APPR-422] [BASH-420]
#[tokio::test]
async fn a09_a_rule_is_about_a_program_that_no_command_can_change() {
    if !contains_commands() {
        return;
    }
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(vec![Model::new(MODEL)]);
    let home = tempfile::tempdir().unwrap();
    let tools = home.path().canonicalize().unwrap().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let program = tools.join("fetch");
    std::fs::write(&program, "#!/bin/sh\necho it is the one of the folder\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let environment = [("PATH".to_owned(), path)];
    let flags = ["--model", MODEL];
    let service = Service::start_with(home, &standin.base_url(), &flags, &environment).await;
    let rules = ["bash+network(fetch *)", "bash+network(tools/fetch *)"];
    let rules = rules.map(|rule| json!({"action": "allow", "rule": rule}));
    let talk = Talk::with(&service);
    talk.order("PATCH", "/rules", &json!({"add": rules})).await;
    let begin = async |command: &str, access: &str, network: bool| {
        let input = json!({"command": command, "access": access, "network": network});
        script.push(Reply::tool_calls([("b", "bash", input)]));
        script.push(Reply::text("done"));
        service.submit("fetch it").await;
    };
    // Allowed by the rule, it does not run the one that commands can change.
    begin("fetch x", "read", true).await;
    service.idle("default").await;
    assert_eq!(ends(&service).await, [""; 0]);
    let told = results(&service);
    assert!(told.contains("exit 127"), "{told}");
    let note = format!("commands can write there: {}; name", tools.display());
    assert!(told.contains(&note), "{told}");
    assert!(!told.contains("it is the one of the folder"), "{told}");
    // Named by its path, it is asked about.
    begin("tools/fetch x", "read", true).await;
    let approval = open(&service).await;
    assert_eq!(approval["command"]["changeable_program"], json!(program));
    let because = approval["because"].as_str().unwrap();
    let named = format!("commands can change the program {}", program.display());
    assert!(because.contains(&named), "{because}");
    let denied = answer(&service, &approval, json!({"answer": "deny"})).await;
    assert_eq!(denied.status, 200, "{denied:?}");
    service.idle("default").await;
    // A command that reaches no further than the one that made it finds it.
    begin("fetch x", "write", false).await;
    service.idle("default").await;
    let told = results(&service);
    assert!(told.contains("it is the one of the folder"), "{told}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-24]
#[tokio::test]
async fn a09_a_rule_that_would_allow_any_command_is_refused_when_it_is_made() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let rule = "bash(sudo *)";
    let changes = json!({"add": [{"rule": rule}]});
    let prompt = json!({"content": "x", "allow": [rule]});
    for (method, path, body) in [
        ("PATCH", "/v1/rules".to_owned(), &changes),
        ("PATCH", format!("{AT}/rules"), &changes),
        ("POST", format!("{AT}/prompt"), &prompt),
    ] {
        let refused = service.as_owner(method, &path, body).await;
        assert_eq!(refused.status, 400, "{path}: {refused:?}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        let reason = "\"bash(sudo *)\" is no rule that allows: sudo runs the command behind it";
        assert!(detail.starts_with(reason), "{detail}");
    }
}

/// Spec: [APPR-12] [APPR-14]
#[tokio::test]
async fn a09_a_bad_rule_is_refused_when_it_is_made_and_all_need_the_token() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    for (rule, named) in [
        ("edit", "no pattern"),
        ("edti(src/**)", "those are edit, write"),
        ("read(**)", "those are edit, write"),
        ("edit(/etc/passwd)", "not below"),
        ("edit(../x)", ".."),
        ("edit()", "empty name"),
    ] {
        for path in ["/v1/rules", &format!("{AT}/rules")] {
            let refused = service
                .as_owner("PATCH", path, &json!({"add": [{"rule": rule}]}))
                .await;
            assert_eq!(refused.status, 400, "{rule}: {refused:?}");
            let detail = refused.json()["detail"].as_str().unwrap().to_owned();
            assert!(
                detail.contains(&format!("{rule:?}")) && detail.contains(named),
                "{detail}"
            );
        }
        let prompt = json!({"content": "x", "deny": [rule]}).to_string();
        assert_eq!(
            service.post(&format!("{AT}/prompt"), &prompt).await.status,
            400
        );
    }
    let add = json!({"add": [{"rule": "edit(a)"}]});
    for (method, path, body) in [
        ("PATCH", "/v1/rules".to_owned(), add.clone()),
        ("PATCH", format!("{AT}/rules"), add),
        (
            "PATCH",
            format!("{AT}/settings"),
            json!({"settings": {"mode": "edits"}}),
        ),
        (
            "PATCH",
            format!("{AT}/settings"),
            json!({"settings": {"active_tools": ["edit"]}}),
        ),
        (
            "PATCH",
            format!("{AT}/settings"),
            json!({"settings": {"active_tools": null}}),
        ),
        (
            "POST",
            "/v1/conversations".to_owned(),
            json!({"settings": {"mode": "plan"}}),
        ),
        (
            "POST",
            format!("{AT}/prompt"),
            json!({"content": "x", "mode": "edits"}),
        ),
        (
            "POST",
            format!("{AT}/prompt"),
            json!({"content": "x", "allow": ["edit(a)"]}),
        ),
    ] {
        let headers = "content-type: application/json\r\n";
        let refused = service
            .send(method, &path, headers, &body.to_string())
            .await;
        assert_eq!(refused.status, 401, "{method} {path} {body}: {refused:?}");
        assert!(refused.body.contains("needs the token"), "{refused:?}");
    }
    let settings = json!({"settings": {"active_tools": ["read"], "thinking": "off"}}).to_string();
    let headers = "content-type: application/json\r\n";
    let path = format!("{AT}/settings");
    assert_eq!(
        service
            .send("PATCH", &path, headers, &settings)
            .await
            .status,
        200
    );
    let waits = json!({"content": "x", "mode": "edits"});
    let refused = service
        .as_owner("POST", &format!("{AT}/follow-up"), &waits)
        .await;
    assert_eq!(refused.status, 400, "{refused:?}");
}

/// Spec: [APPR-14]
#[tokio::test]
async fn a_prompt_brings_a_mode_and_rules_for_its_run() {
    let (service, standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes.txt"), "0").unwrap();
    let prompt = async |body: Value, old: &str, new: &str| {
        edits(&script, old, new);
        let answer = service
            .as_owner("POST", &format!("{AT}/prompt"), &body)
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        service.idle("default").await;
        content(&service, "notes.txt")
    };
    let body = |what: &str, value: Value| json!({"content": "x", what: value});
    assert_eq!(prompt(body("mode", json!("edits")), "0", "1").await, "1");
    assert_eq!(
        prompt(body("allow", json!(["edit(notes.txt)"])), "1", "2").await,
        "2"
    );
    assert_eq!(
        prompt(body("deny", json!(["edit(**)"])), "2", "3").await,
        "2"
    );
    assert_eq!(prompt(body("mode", json!("plan")), "2", "3").await, "2");
    assert_eq!(
        prompt(
            json!({"content": "x", "mode": "edits", "deny": ["edit(n*)"]}),
            "2",
            "3"
        )
        .await,
        "2"
    );
    // The next run has none of it.
    edits(&script, "2", "4");
    service.submit("again").await;
    open(&service).await;
    assert!(service.cancel().await);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-15]
#[tokio::test]
async fn a17_an_approval_that_nobody_answers_in_time_says_so() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    std::fs::write(service.home.path().join("notes.txt"), "two").unwrap();
    talk.set(&json!({"approval_timeout": 1})).await;
    edits(&script, "two", "2");
    service.submit("change it").await;
    service.idle("default").await;
    eventually("the end of the wait", async || {
        service.get(AT).await["state"] == "idle"
    })
    .await;
    assert_eq!(ends(&service).await, ["1 expired"]);
    assert!(results(&service).contains("no operator answered in time"));
    let approval = talk.past_of("approval_asked").await.pop().unwrap();
    let late = answer(&service, &approval, json!({"answer": "allow"})).await;
    assert_eq!(late.status, 410, "{late:?}");
    assert_eq!(content(&service, "notes.txt"), "two");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-16] [APPR-18]
#[tokio::test]
async fn a18_what_else_may_happen_while_an_approval_is_open() {
    let (service, standin, _script, _) = asking().await;
    let talk = Talk::with(&service);
    talk.order(
        "PATCH",
        "/rules",
        &json!({"add": [{"action": "deny", "rule": "write(**)"}]}),
    )
    .await;
    talk.set(&json!({"mode": "ask"})).await;
    assert_eq!(talk.send("POST", "/compact", &json!({})).await.status, 409);
    assert_eq!(service.send("DELETE", AT, "", "").await.status, 409);
    assert_eq!(
        talk.order("PATCH", "", &json!({"title": "waits"})).await["state"],
        "waiting_approval"
    );
    let exported = service
        .send("GET", &format!("{AT}/history?limit=500"), "", "")
        .await;
    assert!(exported.body.contains("approval_asked"), "{exported:?}");
    // Its end is in the fork, and nothing that was granted.
    let forked = talk.send("POST", "/fork", &json!({})).await;
    assert_eq!(forked.status, 201, "{forked:?}");
    let fork = forked.json()["id"].as_str().unwrap().to_owned();
    let fork_at = format!("/v1/conversations/{fork}");
    let snapshot = service.get(&fork_at).await;
    assert_eq!(snapshot.get("approvals"), None, "{snapshot}");
    assert_eq!(snapshot["summary"]["state"], "interrupted");
    assert!(
        snapshot["history"]
            .to_string()
            .contains("\"reason\":\"forked\"")
    );
    assert_eq!(
        service.get(&format!("{fork_at}/rules")).await["rules"],
        json!([])
    );
    let settings = service.get(&format!("{fork_at}/settings")).await;
    assert_eq!(settings["settings"].get("mode"), None, "{settings}");
    let (refused, approval) = (answer_at(&service, &fork_at, 1).await, open(&service).await);
    assert_eq!(refused, 410);
    let allowed = answer(&service, &approval, json!({"answer": "allow"})).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    service.idle("default").await;
    assert_eq!(content(&service, "notes.txt"), "one\n2\n");
    assert_eq!(standin.violations(), [""; 0]);
}

async fn answer_at(service: &Service, at: &str, id: u64) -> u16 {
    let order = json!({"answer": "deny"});
    service
        .as_owner("POST", &format!("{at}/approvals/{id}"), &order)
        .await
        .status
}

/// Spec: [APPR-05]
#[tokio::test]
async fn a19_what_is_said_while_an_approval_is_open_waits() {
    let (service, standin, script, _) = asking().await;
    let talk = Talk::with(&service);
    assert_eq!(
        talk.send("POST", "/prompt", &json!({"content": "no"}))
            .await
            .status,
        409
    );
    talk.order("POST", "/steer", &json!({"content": "steered"}))
        .await;
    talk.order("POST", "/follow-up", &json!({"content": "followed"}))
        .await;
    assert_eq!(service.get(AT).await["state"], "waiting_approval");
    script.push(Reply::text("and followed"));
    let approval = open(&service).await;
    let allowed = answer(&service, &approval, json!({"answer": "allow"})).await;
    assert_eq!(allowed.status, 200);
    service.idle("default").await;
    let sent: Vec<String> = standin
        .requests()
        .iter()
        .map(|request| request.json().to_string())
        .collect();
    assert_eq!(sent.len(), 3);
    assert!(sent[1].contains("steered") && !sent[1].contains("followed"));
    assert!(sent[2].contains("followed"));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-02]
#[tokio::test]
async fn a20_conversations_wait_for_their_own_answers() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        let name = format!("f{number}");
        std::fs::write(service.home.path().join(&name), "old").unwrap();
        let id = service.create(&json!({})).await;
        let edit =
            json!({"path": name, "old_string": "old", "new_string": format!("new {number}")});
        script.push(Reply::tool_calls([("e", "edit", edit)]));
        let prompted = service
            .post(
                &format!("/v1/conversations/{id}/prompt"),
                r#"{"content":"x"}"#,
            )
            .await;
        assert_eq!(prompted.status, 200);
        let at = format!("/v1/conversations/{id}");
        eventually("the approval", async || {
            service.get(&at).await["state"] == "waiting_approval"
        })
        .await;
        ids.push(id);
    }
    let waiting = service.get("/v1/approvals").await;
    let order = |waiting: &Value| -> Vec<String> {
        let all = waiting["approvals"].as_array().unwrap().iter();
        all.map(|open| open["conversation"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(order(&waiting), ids);
    script.extend([Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    for number in [2, 0, 1] {
        let at = format!("/v1/conversations/{}", ids[number]);
        let digest = &waiting["approvals"][number]["digest"];
        let allow = json!({"answer": "allow", "digest": digest});
        let answered = service
            .as_owner("POST", &format!("{at}/approvals/1"), &allow)
            .await;
        assert_eq!(answered.status, 200, "{answered:?}");
        service.idle(&ids[number]).await;
        assert_eq!(
            content(&service, &format!("f{number}")),
            format!("new {number}")
        );
        let left = order(&service.get("/v1/approvals").await);
        assert!(!left.contains(&ids[number]));
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-02]
#[tokio::test]
async fn a21_the_list_says_what_waits_and_the_plain_stream_has_nothing_new() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes.txt"), "two").unwrap();
    let mut plain = service.events().await;
    edits(&script, "two", "2");
    service.submit("change it").await;
    let approval = open(&service).await;
    let listed = service.get("/v1/conversations").await;
    assert_eq!(listed["conversations"][0]["state"], "waiting_approval");
    answer(&service, &approval, json!({"answer": "allow"})).await;
    let run = plain.run().await;
    let kinds: Vec<&str> = run
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let seeds = [
        "status",
        "text",
        "tool_call",
        "tool_result",
        "user",
        "error",
    ];
    assert!(kinds.iter().all(|kind| seeds.contains(kind)), "{kinds:?}");
    let waits = run
        .iter()
        .filter(|event| event["message"] == "edit: waits for approval");
    let states: Vec<&Value> = waits.map(|event| &event["state"]).collect();
    assert_eq!(states, ["running_tool"]);
}

/// A service whose model wants a change, asked by `harness prompt` with these flags; its exit code, what it
/// printed and what it noted.
async fn prompted(
    flags: &[&str],
    script_more: impl FnOnce(&Script),
) -> (i32, String, String, String) {
    let (service, standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes.txt"), "one\ntwo\n").unwrap();
    edits(&script, "two", "2");
    script_more(&script);
    let home = service.home.path().to_owned();
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let (code, out, err) = tokio::task::spawn_blocking(move || {
        let mut command = command(&home);
        command
            .args(["prompt", "-c", "default"])
            .args(flags)
            .arg("change it");
        output(&mut command)
    })
    .await
    .unwrap();
    assert_eq!(standin.violations(), [""; 0]);
    (code, out, err, content(&service, "notes.txt"))
}

/// Spec: [CLI-119] [CLI-120]
#[tokio::test]
async fn a14_in_a_pipe_an_approval_is_denied_and_the_exit_code_says_so() {
    let (code, out, err, left) = prompted(&[], |_| {}).await;
    assert_eq!((code, &*out, &*left), (3, "done\n", "one\ntwo\n"), "{err}");
    for part in [
        "? 1 edit: changes",
        "-two",
        "+2",
        "harness approve 1 -c default",
        "denied",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (code, _, err, left) = prompted(&["--asks", "stop"], |_| {}).await;
    assert_eq!((code, &*left), (3, "one\ntwo\n"), "{err}");
    let (code, out, err, left) = prompted(&["--mode", "edits"], |_| {}).await;
    assert_eq!((code, &*out, &*left), (0, "done\n", "one\n2\n"), "{err}");
    let (code, _, err, left) = prompted(&["--allow", "edit(*.txt)"], |_| {}).await;
    assert_eq!((code, &*left), (0, "one\n2\n"), "{err}");
    let flags = ["--mode", "edits", "--deny", "edit(**)"];
    let (code, _, err, left) = prompted(&flags, |_| {}).await;
    assert_eq!((code, &*left), (0, "one\ntwo\n"), "{err}");
    let (code, _, err, _) = prompted(&["--allow", "nonsense"], |_| {}).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("\"nonsense\" is no rule"), "{err}");
}

/// Spec: [CLI-119]
#[tokio::test]
async fn a14_a_run_that_a_limit_cut_off_ends_with_4() {
    let (service, _standin, script) = Service::scripted(&["--max-turns", "1"]).await;
    std::fs::write(service.home.path().join("f"), "x").unwrap();
    script.push(Reply::tool_calls([("r", "read", json!({"path": "f"}))]));
    let home = service.home.path().to_owned();
    let (code, _, err) = tokio::task::spawn_blocking(move || {
        output(command(&home).args(["prompt", "-c", "default", "read it"]))
    })
    .await
    .unwrap();
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("stopped: reached max_turns (1)"), "{err}");
}

/// Spec: [CLI-120] [CLI-121]
#[tokio::test]
async fn a14_a_command_that_waits_goes_on_after_the_answer_of_another() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes.txt"), "one\ntwo\n").unwrap();
    edits(&script, "two", "2");
    let home = service.home.path().to_owned();
    let run = move |arguments: &[&str]| {
        let (home, arguments) = (
            home.clone(),
            arguments
                .iter()
                .map(|it| (*it).to_owned())
                .collect::<Vec<_>>(),
        );
        tokio::task::spawn_blocking(move || output(command(&home).args(arguments)))
    };
    let waiting = run(&["prompt", "-c", "default", "--asks", "wait", "change it"]);
    open(&service).await;
    let (code, out, err) = run(&["approvals", "--all"]).await.unwrap();
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with("1 edit in default: changes") && out.contains("  +2"),
        "{out}"
    );
    let allow = [
        "approve",
        "1",
        "-c",
        "default",
        "--scope",
        "workspace",
        "--name",
        "ana",
    ];
    let (code, out, err) = run(&allow).await.unwrap();
    assert_eq!(code, 0, "{err}");
    let line = "1 allowed by ana; the rule: edit(notes.txt)\n  1 edit in default: changes ";
    assert!(out.starts_with(line), "{out}");
    let (code, out, err) = waiting.await.unwrap();
    assert_eq!((code, &*out), (0, "done\n"), "{err}");
    assert_eq!(content(&service, "notes.txt"), "one\n2\n");
    let (_, out, _) = run(&["rules", "-c", "default"]).await.unwrap();
    assert!(
        out.starts_with("allow edit(notes.txt) for this folder /"),
        "{out}"
    );
    let deny = [
        "rules",
        "-c",
        "default",
        "--folder",
        "--deny",
        "write(**)",
        "--remove",
        "edit(notes.txt)",
    ];
    let (code, out, err) = run(&deny).await.unwrap();
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("deny write(**) for this folder /"), "{out}");
    assert_eq!(out.lines().count(), 1);
    let (code, _, err) = run(&["rules", "-c", "default", "--remove", "edit(x)"])
        .await
        .unwrap();
    assert_eq!(code, 2, "{err}");
    let (code, _, err) = run(&["deny", "9", "-c", "default"]).await.unwrap();
    assert_eq!(code, 1);
    assert!(err.contains("there is no approval 9"), "{err}");
}

/// Spec: [TOOL-62] [TOOL-76] [CONF-80]
#[tokio::test]
async fn f06_what_the_model_has_seen_outlives_the_service_and_secrets_are_closed() {
    let (service, _standin, script) =
        Service::scripted(&["--mode", "edits", "--deny-read", "~/keys"]).await;
    let home = service.home.path();
    std::fs::write(home.join("seen"), "a\nb\n").unwrap();
    std::fs::write(home.join("unseen"), "a\nb\n").unwrap();
    std::fs::create_dir(home.join("keys")).unwrap();
    std::fs::write(home.join("keys/one"), "secret").unwrap();
    script.push(Reply::tool_calls([("r", "read", json!({"path": "seen"}))]));
    script.push(Reply::text("read"));
    service.submit("read").await;
    service.idle("default").await;
    let mut service = service;
    service.kill();
    let service = service.restart().await;
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    for (call, input, is_made) in [
        ("w1", write("seen", "c\n"), true),
        ("w2", write("seen", "d\n"), true),
        ("w3", write("unseen", "c\n"), false),
        ("w4", write("new/file", "c\n"), true),
        ("w5", write(".harness/rules.json", "[]"), false),
        ("w6", write("keys/two", "x"), false),
        ("w7", write("keys/one", "x"), false),
    ] {
        let path = input["path"].as_str().unwrap().to_owned();
        let content_wanted = input["content"].clone();
        script.push(Reply::tool_calls([(call, "write", input)]));
        script.push(Reply::text("written"));
        service.submit("write").await;
        service.idle("default").await;
        let found = std::fs::read_to_string(service.home.path().join(&path)).unwrap_or_default();
        assert_eq!(found == content_wanted, is_made, "{path}: {found}");
    }
    script.push(Reply::tool_calls([(
        "k",
        "read",
        json!({"path": "keys/one"}),
    )]));
    script.push(Reply::text("no"));
    service.submit("read the key").await;
    service.idle("default").await;
    let told = results(&service);
    assert_eq!(told.matches("closed to tools").count(), 4, "{told}");
    assert!(!told.contains("secret"));
}
