//! The keys that conversations choose by their names.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use harness_standin::{Message, Reply};
use serde_json::{Value, json};

use crate::program::{API_KEY, Service};
use crate::talk::Talk;

const OTHER_KEY: &str = "sk-ant-other-77aa31";

fn keep(path: &Path, key: &str) {
    fs::write(path, format!("{key}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A service with a key in a file, named `mine`, and others.
async fn with_keys() -> (Service, harness_standin::Standin, harness_standin::Script) {
    let config = "[key_sources]\n\
        mine = 'file:~/mine'\n\
        ours = 'env:OUR_CHOICE'\n\
        home = 'env:HOME'\n\
        unset = 'env:NOT_SET_ANYWHERE'\n\
        missing = 'file:/not/here'\n\
        token = 'file:~/.harness/token'\n";
    let environment = [("OUR_CHOICE", "sk-ant-ours-0123456789")];
    Service::configured(config, &environment).await
}

/// Spec: [CONV-128] [MODEL-53]
#[tokio::test]
async fn the_key_comes_from_the_source_that_the_settings_name() {
    let (service, standin, script) = with_keys().await;
    let talk = Talk::with(&service);
    let file = service.home.path().join("mine");
    let steps = [
        (Value::Null, API_KEY),
        (json!("mine"), OTHER_KEY),
        (json!("ours"), "sk-ant-ours-0123456789"),
        (json!("mine"), "sk-ant-changed-1"),
    ];
    for (source, key) in steps {
        keep(&file, key);
        talk.set(&json!({"key_source": source})).await;
        script.push(Reply::text("done"));
        talk.say("go").await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        let sent = standin.requests().pop().unwrap();
        assert_eq!(sent.header("x-api-key"), Some(key));
    }
    let told = fs::read_to_string(service.journal("default")).unwrap() + &service.whole_log().await;
    for (_, key) in [("", OTHER_KEY), ("", "sk-ant-changed-1"), ("", API_KEY)] {
        assert!(!told.contains(key), "{key}");
    }
}

/// Spec: [CONV-128] [MODEL-54] [MODEL-57]
#[tokio::test]
async fn where_there_is_no_key_only_the_log_says_why() {
    let (service, standin, script) = with_keys().await;
    let talk = Talk::with(&service);
    let asked_before = standin.requests().len();
    for (name, why) in [
        ("unset", "it is not set"),
        ("missing", "it cannot be read: No such file"),
        ("mine", "it cannot be read: No such file"),
        ("token", "it is the service's own token"),
    ] {
        talk.set(&json!({"key_source": name})).await;
        talk.say("go").await;
        let said = format!("the key source \"{name}\" gives no key; the service's log says why");
        assert_eq!(talk.outcome().await, ("error".into(), said));
        let logged = format!("the key source \"{name}\" gives no key: {why}");
        assert!(service.whole_log().await.contains(&logged), "{logged}");
    }
    assert_eq!(standin.requests().len(), asked_before);
    // A key that works again is all that it takes.
    talk.set(&json!({"key_source": null})).await;
    script.push(Reply::text("done"));
    talk.order("POST", "/continue", &json!({})).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
}

/// Spec: [SEC-28] [SEC-13]
#[tokio::test]
async fn a_client_cannot_say_where_a_key_is() {
    let (service, _standin, _script) = with_keys().await;
    let talk = Talk::with(&service);
    for source in [
        "env:HOME",
        "file:/etc/hostname",
        "nothing-of-that-name",
        API_KEY,
    ] {
        let settings = json!({"settings": {"key_source": source}});
        let changed = talk.send("PATCH", "/settings", &settings).await;
        let made = service
            .post("/v1/conversations", &settings.to_string())
            .await;
        for answer in [changed, made] {
            assert_eq!(answer.status, 400, "{answer:?}");
            for part in [
                "[key_sources] team =",
                "there are: home, mine, missing, ours, token, unset",
            ] {
                assert!(answer.body.contains(part), "{part}: {answer:?}");
            }
            assert!(!answer.body.contains(API_KEY), "{answer:?}");
        }
    }
    assert!(!service.whole_log().await.contains(API_KEY));
}

/// Spec: [SEC-28] [MODEL-55]
#[tokio::test]
async fn what_an_older_version_kept_is_not_read() {
    let (service, standin, _script) = with_keys().await;
    let talk = Talk::with(&service);
    talk.set(&json!({"key_source": "ours"})).await;
    let journal = service.journal("default");
    let home = service.home.clone();
    drop(service);
    // A journal from before: lines without a sum are taken as they are.
    let text = fs::read_to_string(&journal).unwrap();
    let older = text.replace("\"ours\"", "\"env:OUR_CHOICE\"");
    let lines = older.lines().map(|line| match line.rfind(",\"crc\":") {
        Some(at) => format!("{}}}\n", &line[..at]),
        None => format!("{line}\n"),
    });
    fs::write(&journal, lines.collect::<String>()).unwrap();
    let environment = [("OUR_CHOICE".to_owned(), "sk-ant-ours-0123456789".to_owned())];
    let flags = ["--model", crate::program::MODEL];
    let service = Service::start_with(home, &standin.base_url(), &flags, &environment).await;
    let talk = Talk::with(&service);
    let kept = talk.snapshot().await["settings"]["key_source"].clone();
    assert_eq!(kept, "env:OUR_CHOICE");
    talk.say("go").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    for part in ["\"env:OUR_CHOICE\" gives no key", "[key_sources] team = "] {
        assert!(message.contains(part), "{message}");
    }
    assert!(standin.requests().iter().all(|sent| sent.method != "POST"));
}

/// Spec: [SEC-24]
#[tokio::test]
async fn a_key_of_one_conversation_spoils_no_other() {
    let (service, standin, script) = with_keys().await;
    let (file, text) = (
        service.home.path().join("mine"),
        service.home.path().join("text"),
    );
    let home = service.home.path().to_str().unwrap().to_owned();
    fs::write(&text, format!("see http://example in {home}: {OTHER_KEY}")).unwrap();
    let read = |id: &str| Message::new().tool_use(id, "read", json!({"path": "text"}));
    let ann = service.create(&json!({"title": "ann"})).await;
    let mut number = 0;
    // Words and paths are never taken out, a key only where it is used, and only if it is one.
    let here = Talk {
        service: &service,
        id: ann,
    };
    let there = Talk::with(&service);
    for (source, key, refused, left) in [
        (
            "mine",
            "http",
            false,
            format!("see http://example in {home}: {OTHER_KEY}"),
        ),
        (
            "home",
            "http",
            false,
            format!("see http://example in {home}: {OTHER_KEY}"),
        ),
        (
            "mine",
            OTHER_KEY,
            true,
            format!("see http://example in {home}: {OTHER_KEY}"),
        ),
        (
            "mine",
            OTHER_KEY,
            false,
            format!("see http://example in {home}: ***"),
        ),
    ] {
        keep(&file, key);
        here.set(&json!({"key_source": source})).await;
        if refused {
            script.push(Reply::error(401, "authentication_error", "no"));
            here.say("go").await;
            assert_eq!(here.outcome().await.0, "error");
            here.set(&json!({"key_source": null})).await;
        }
        for (talk, left) in [
            (&here, left),
            (&there, format!("see http://example in {home}: {OTHER_KEY}")),
        ] {
            number += 1;
            script.push(read(&format!("t{number}")));
            script.push(Reply::text("done"));
            talk.say("read it").await;
            assert_eq!(talk.outcome().await.0, "completed");
            let sent = standin.requests().pop().unwrap().json();
            let last = sent["messages"].as_array().unwrap().last().unwrap();
            let result = last["content"][0]["content"].to_string();
            assert!(result.contains(&left), "{number}: {result}");
        }
    }
}
