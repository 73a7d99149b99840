//! Approvals over HTTP: seen by all, answered once, and there again after a crash.

use std::path::PathBuf;

use futures_util::future::join_all;
use harness_standin::{Reply, Script, Standin};
use serde_json::{Value, json};

use crate::bash::run;
use crate::changing::Changing;
use crate::client::{Answer, within};
use crate::eventually::eventually;
use crate::program::Service;

pub(crate) const AT: &str = "/v1/conversations/default";

/// An edit of a file in the workspace, which is asked about, and a text behind it.
pub(crate) fn edits(script: &Script, old: &str, new: &str) {
    let input = json!({"path": "notes.txt", "old_string": old, "new_string": new});
    script.extend([
        Reply::tool_calls([("e", "edit", input)]),
        Reply::text("done"),
    ]);
}

/// A service with a file, whose model wants to change it.
pub(crate) async fn asking() -> (Service, Standin, Script, PathBuf) {
    let (service, standin, script) = Service::scripted(&[]).await;
    let file = service.home.path().join("notes.txt");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    edits(&script, "two", "2");
    service.submit("change it").await;
    open(&service).await;
    (service, standin, script, file)
}

/// The approval that waits.
pub(crate) async fn open(service: &Service) -> Value {
    eventually("an approval", async || {
        let open = service.get(&format!("{AT}/approvals")).await["approvals"][0].clone();
        (!open.is_null()).then_some(open)
    })
    .await
}

/// Answers with the token.
pub(crate) async fn answer(service: &Service, approval: &Value, order: Value) -> Answer {
    let mut order = order;
    order["digest"] = approval["digest"].clone();
    let path = format!("{AT}/approvals/{}", approval["id"]);
    service.as_owner("POST", &path, &order).await
}

/// Spec: [APPR-02] [APPR-03] [APPR-09]
#[tokio::test]
async fn a01_a02_every_client_sees_the_approval_and_the_first_of_100_answers_counts() {
    let (service, standin, _script, file) = asking().await;
    let approval = open(&service).await;
    let mut late = service.follow("default", "?after=0", "").await;
    let asked = late.until("approval_asked").await;
    assert_eq!(
        (&asked["id"], &asked["digest"]),
        (&json!(1), &approval["digest"])
    );
    assert_eq!(late.until("attached").await["state"], "waiting_approval");
    let snapshot = service.get(AT).await;
    assert_eq!(snapshot["state"], "waiting_approval");
    assert_eq!(snapshot["summary"]["state"], "waiting_approval");
    assert_eq!(
        snapshot["approvals"][0]["change"]["diff"],
        "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
    let all = service.get("/v1/approvals").await;
    assert_eq!(all["approvals"][0]["conversation"], "default");
    // Without the token it can be denied and not allowed.
    let path = format!("{AT}/approvals/1");
    let body = json!({"answer": "allow", "digest": approval["digest"]}).to_string();
    assert_eq!(service.post(&path, &body).await.status, 401);
    assert_eq!(std::fs::read(&file).unwrap(), b"one\ntwo\n");

    let answers = (0..100).map(|number| {
        let said = ["allow", "deny"][number % 2];
        let order = json!({"answer": said, "by": format!("c{number}")});
        answer(&service, &approval, order)
    });
    let answers = join_all(answers).await;
    let first = answers
        .iter()
        .find(|answer| answer.status == 200)
        .unwrap()
        .json();
    for answer in &answers {
        match answer.status {
            200 => assert_eq!(answer.json(), first),
            409 => {
                let detail = answer.json()["detail"].to_string();
                assert!(detail.contains(first["by"].as_str().unwrap()), "{detail}");
            }
            other => panic!("{other}: {answer:?}"),
        }
    }
    service.idle("default").await;
    let is_allowed = first["answer"] == "allow";
    let expected: &[u8] = if is_allowed {
        b"one\n2\n"
    } else {
        b"one\ntwo\n"
    };
    assert_eq!(std::fs::read(&file).unwrap(), expected);
    let unknown = answer(&service, &json!({"id": 7}), json!({"answer": "deny"})).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-08]
#[tokio::test]
async fn a03_a04_an_approval_outlives_the_service_and_its_run_goes_on() {
    for is_killed in [true, false] {
        let (mut service, standin, _script, file) = asking().await;
        let before = open(&service).await;
        if is_killed {
            service.kill();
        }
        let service = service.restart().await;
        // Nobody has opened the conversation since.
        let all = service.get("/v1/approvals").await;
        assert_eq!(all["approvals"][0]["digest"], before["digest"]);
        let refused = service
            .post(&format!("{AT}/prompt"), r#"{"content":"x"}"#)
            .await;
        assert_eq!(refused.status, 409);
        let answered = answer(&service, &before, json!({"answer": "allow"})).await;
        assert_eq!(answered.status, 200, "{answered:?}");
        service.idle("default").await;
        assert_eq!(std::fs::read(&file).unwrap(), b"one\n2\n");
        let past = std::fs::read_to_string(service.journal("default")).unwrap();
        assert_eq!(past.matches("\"type\":\"files_changed\"").count(), 1);
        assert_eq!(past.matches("\"type\":\"run_started\"").count(), 1);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [APPR-01]
#[tokio::test]
async fn a11_f07_a_file_that_changes_before_the_answer_is_asked_about_anew() {
    let (service, _standin, _script, file) = asking().await;
    let first = open(&service).await;
    std::fs::write(&file, "zero\ntwo\n").unwrap();
    assert_eq!(
        answer(&service, &first, json!({"answer": "allow"}))
            .await
            .status,
        200
    );
    let second = within("another approval", async {
        loop {
            let open = open(&service).await;
            if open["id"] == 2 {
                return open;
            }
        }
    })
    .await;
    assert_ne!(first["digest"], second["digest"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"zero\ntwo\n");
    assert_eq!(
        answer(&service, &second, json!({"answer": "allow"}))
            .await
            .status,
        200
    );
    service.idle("default").await;
    assert_eq!(std::fs::read(&file).unwrap(), b"zero\n2\n");
}

/// Spec: [APPR-05] [APPR-07]
#[tokio::test]
async fn a05_a_cancel_withdraws_and_a_mode_decides() {
    let (service, standin, script, file) = asking().await;
    let approval = open(&service).await;
    assert!(service.cancel().await);
    assert_eq!(
        answer(&service, &approval, json!({"answer": "allow"}))
            .await
            .status,
        410
    );
    for (mode, after) in [
        ("plan", "one\ntwo\n"),
        ("locked", "one\ntwo\n"),
        ("edits", "one\n2\n"),
    ] {
        let changed = json!({"settings": {"mode": mode}});
        let path = format!("{AT}/settings");
        let answer = service.as_owner("PATCH", &path, &changed).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        edits(&script, "two", "2");
        service.submit("again").await;
        service.idle("default").await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "{mode}");
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [APPR-08]
#[tokio::test]
async fn after_a_crash_in_a_change_the_file_says_whether_it_was_made() {
    for (content, told) in [
        (
            "one\n2\n",
            "was changed; the service ended before it could say so",
        ),
        ("one\ntwo\n", "interrupted"),
        ("another", "interrupted, effect unknown"),
    ] {
        let (mut service, standin, script, file) = asking().await;
        let approval = open(&service).await;
        answer(&service, &approval, json!({"answer": "allow"})).await;
        service.idle("default").await;
        service.kill();
        // As if it had died right behind the record.
        let journal = service.journal("default");
        let past = std::fs::read_to_string(&journal).unwrap();
        let begun = past.find("\"type\":\"effect_began\"").unwrap();
        let end = begun + past[begun..].find('\n').unwrap() + 1;
        std::fs::write(&journal, &past[..end]).unwrap();
        std::fs::write(&file, content).unwrap();
        let service = service.restart().await;
        assert_eq!(service.get(AT).await["summary"]["state"], "interrupted");
        script.push(Reply::text("I see"));
        service.submit("go on").await;
        service.idle("default").await;
        let past = std::fs::read_to_string(&journal).unwrap();
        let results: Vec<&str> = past
            .lines()
            .filter(|line| line.contains("\"type\":\"tool_result\""))
            .collect();
        assert_eq!(results.len(), 1);
        assert!(results[0].contains(told), "{content:?}: {results:?}");
        let is_made = content == "one\n2\n";
        assert_eq!(past.contains("\"type\":\"files_changed\""), is_made);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONF-80] [CONF-480]
#[tokio::test]
async fn secrets_are_closed_by_default_and_a_history_without_content_hides_no_device() {
    let here = Changing::in_mode("sandbox").await;
    let home = here.service.home.path();
    let secrets = [
        ".vault-token",
        ".config/git/credentials",
        ".config/google-chrome/Default/Cookies",
        ".codex/auth.json",
        ".zsh_history",
    ];
    for name in secrets {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "secret\n").unwrap();
    }
    std::fs::write(home.join(".config/git/config"), "[user]\n\tname = ana\n").unwrap();
    std::os::unix::fs::symlink("/dev/null", home.join(".bash_history")).unwrap();
    for name in secrets {
        let path = home.join(name);
        let (result, is_error) = here.call("read", json!({"path": path})).await;
        assert!(is_error && result.contains("closed to tools"), "{result}");
    }
    let path = home.join(".config/git/config");
    let (result, is_error) = here.call("read", json!({"path": path})).await;
    assert!(!is_error && result.contains("ana"), "{result}");
    let command = "echo x >/dev/null && test -c /dev/null && echo 'it is there'";
    let (result, is_error) = run(&here, json!({"command": command})).await;
    assert!(!is_error && result.contains("it is there"), "{result}");
}
