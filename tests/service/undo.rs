//! Taking back what tools changed.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use harness_standin::{Reply, Script};
use serde_json::{Value, json};

use crate::approvals::{AT, asking};
use crate::bash;
use crate::changing::{Changing, left_in};
use crate::eventually::eventually;
use crate::program::{Service, command, output};

/// A run in which the model makes these calls.
async fn run(service: &Service, script: &Script, calls: &[(&str, Value)]) {
    for (number, (tool, input)) in calls.iter().enumerate() {
        let id = format!("c{number}-{}", fastrand::u64(..));
        script.push(Reply::tool_calls([(id.as_str(), *tool, input.clone())]));
    }
    script.push(Reply::text("done"));
    service.submit("change it").await;
    service.idle("default").await;
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    (
        "edit",
        json!({"path": path, "old_string": old, "new_string": new}),
    )
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write", json!({"path": path, "content": content}))
}

async fn undo(service: &Service, order: Value) -> Value {
    let answer = service
        .as_owner("POST", &format!("{AT}/undo"), &order)
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["files"].clone()
}

fn outcomes(files: &Value) -> Vec<String> {
    let each = files.as_array().unwrap().iter();
    let name = |file: &Value| {
        let path = file["path"].as_str().unwrap().to_owned();
        let name = Path::new(&path)
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        format!("{name} {}", file["outcome"].as_str().unwrap())
    };
    each.map(name).collect()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .output();
    done.map_or_else(
        |_| String::new(),
        |done| String::from_utf8(done.stdout).unwrap(),
    )
}

/// All files of a folder with their bytes.
fn bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => all.push((path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

/// Spec: [UNDO-02] [UNDO-03] [UNDO-04]
#[tokio::test]
async fn f16_changes_are_taken_back_to_a_run_or_record_and_conflicts_are_named() {
    let (service, standin, script) = Service::scripted(&["--mode", "edits"]).await;
    let home = service.home.path().to_owned();
    let content = |name: &str| std::fs::read_to_string(home.join(name)).ok();
    std::fs::write(home.join("a"), "one\n").unwrap();
    std::fs::write(home.join("b"), "one\n").unwrap();
    git(&home, &["init", "-q"]);
    git(&home, &["add", "a", "b"]);
    git(&home, &["commit", "-qm", "first"]);
    let repository = bytes(&home.join(".git"));
    let refused = service
        .as_owner("POST", &format!("{AT}/undo"), &json!({}))
        .await;
    assert_eq!(refused.status, 409, "{refused:?}");
    run(
        &service,
        &script,
        &[edit("a", "one", "two"), edit("a", "two", "three")],
    )
    .await;
    run(
        &service,
        &script,
        &[
            edit("a", "three", "four"),
            edit("b", "one", "two"),
            write("new/deep/c", "made"),
        ],
    )
    .await;
    std::fs::write(home.join("b"), "theirs\n").unwrap();
    std::fs::write(home.join("new/theirs"), "").unwrap();

    let dry = undo(&service, json!({"dry_run": true})).await;
    assert_eq!(outcomes(&dry), ["a restored", "b conflict", "c removed"]);
    assert_eq!(dry[0]["diff"], "@@ -1 +1 @@\n-four\n+three\n");
    assert_eq!(dry[1]["reason"], "it was changed since");
    assert_eq!(content("a").as_deref(), Some("four\n"));
    // It needs the token, and a run that goes has no changes taken from under it.
    assert_eq!(service.post(&format!("{AT}/undo"), "{}").await.status, 401);

    let mut follower = service.follow("default", "", "").await;
    let done = undo(&service, json!({"by": "ana"})).await;
    assert_eq!(outcomes(&done), ["a restored", "b conflict", "c removed"]);
    assert_eq!(content("a").as_deref(), Some("three\n"));
    assert_eq!(content("b").as_deref(), Some("theirs\n"));
    assert!(!home.join("new/deep").exists() && home.join("new/theirs").exists());
    let event = follower.until("undone").await;
    assert_eq!(
        (&event["by"], outcomes(&event["files"]).len()),
        (&json!("ana"), 3)
    );
    // The next time it goes on with what is left, and further back only if it is asked to.
    let again = undo(&service, json!({})).await;
    assert_eq!(outcomes(&again), ["b conflict"]);
    let service = service.restart().await;
    let first = undo(&service, json!({"to": {"run": 1}})).await;
    assert_eq!(outcomes(&first), ["a restored", "b conflict"]);
    assert_eq!(content("a").as_deref(), Some("one\n"));
    // The model is told, and takes no file for known that it is not.
    run(&service, &script, &[write("a", "over")]).await;
    assert_eq!(content("a").as_deref(), Some("one\n"));
    let sent = standin.requests().last().unwrap().json().to_string();
    assert!(
        sent.contains("An operator took back changes that you made"),
        "{sent}"
    );
    assert!(
        sent.contains("restored ") && sent.contains("removed "),
        "{sent}"
    );
    assert_eq!(bytes(&home.join(".git")), repository);
    // To a record.
    let past = service.get(&format!("{AT}?tail=200")).await;
    let events = past["history"]["events"].as_array().unwrap();
    let last = events.last().unwrap()["seq"].as_u64().unwrap();
    run(
        &service,
        &script,
        &[edit("a", "one", "1"), edit("a", "1", "2")],
    )
    .await;
    let back = undo(&service, json!({"to": {"seq": last}})).await;
    assert_eq!(outcomes(&back), ["a restored"]);
    assert_eq!(content("a").as_deref(), Some("one\n"));
    let nothing = json!({"to": {"seq": 1_000_000}});
    let refused = service
        .as_owner("POST", &format!("{AT}/undo"), &nothing)
        .await;
    assert_eq!(refused.status, 409);
    script.push(Reply::text("on"));
    service.submit("go on").await;
    service.idle("default").await;
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [UNDO-03]
#[tokio::test]
async fn nothing_is_taken_back_while_a_run_goes_or_waits() {
    let (service, standin, _script, file) = asking().await;
    let refused = service
        .as_owner("POST", &format!("{AT}/undo"), &json!({}))
        .await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body.contains("run is going") || refused.body.contains("busy"),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(file).unwrap(), b"one\ntwo\n");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [UNDO-02] [UNDO-04]
#[tokio::test]
async fn f16_an_undo_that_was_killed_is_finished_by_the_next() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut service, standin, script) = Service::scripted(&["--mode", "edits"]).await;
    let home = service.home.path().to_owned();
    let names: Vec<String> = (0..50).map(|number| format!("f{number:02}")).collect();
    let calls: Vec<_> = names.iter().map(|name| write(name, "made")).collect();
    service
        .as_owner(
            "PATCH",
            &format!("{AT}/settings"),
            &json!({"settings": {"max_turns": 99}}),
        )
        .await;
    run(&service, &script, &calls).await;
    for _ in 0..4 {
        let (path, nothing) = (format!("{AT}/undo"), json!({}));
        let order = service.as_owner("POST", &path, &nothing);
        let wait = std::time::Duration::from_millis(random.u64(0..30));
        // Killed at some moment of it; it may be done, too.
        tokio::time::timeout(wait, order).await.ok();
        service.kill();
        service = service.restart().await;
    }
    let answer = service
        .as_owner("POST", &format!("{AT}/undo"), &json!({}))
        .await;
    assert!([200, 409].contains(&answer.status), "{answer:?}");
    for name in &names {
        assert!(!home.join(name).exists(), "{name}");
    }
    let past = std::fs::read_to_string(service.journal("default")).unwrap();
    assert_eq!(past.matches("\"type\":\"undone\"").count(), 1);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [UNDO-789]
#[tokio::test]
async fn a_command_that_ended_with_the_service_is_told_and_an_earlier_run_stays() {
    let mut here = Changing::in_mode("ask").await;
    let (told, failed) = bash::run(&here, json!({"command": "echo x >earlier"})).await;
    assert!(!failed, "{told}");
    let line = "echo x >later; sleep 60";
    here.begin("bash", json!({"command": line})).await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let home = here.at("");
    let is_running = async || home.join("later").exists();
    eventually("a command that runs", is_running).await;
    here.service.kill();
    here.service.revive().await;
    let note = format!(
        "the service ended while the command ran, and what it changed is not known: {line}"
    );
    let order = async |order: Value| here.order("POST", "/undo", &order).await.json();
    let told = json!({"files": [], "notes": [note]});
    assert_eq!(order(json!({"dry_run": true})).await, told);
    assert_eq!(order(json!({})).await, told);
    assert!(home.join("earlier").exists() && home.join("later").exists());
    // It was told, and is on record for all clients.
    let past = std::fs::read_to_string(here.service.journal(&here.id)).unwrap();
    assert_eq!(past.matches(&format!("\"note\":\"{note}\"")).count(), 1);
    let again = order(json!({})).await;
    assert_eq!(outcomes(&again["files"]), ["earlier removed"]);
}

/// Spec: [TOOL-63] [TOOL-623]
#[tokio::test]
async fn what_an_undo_that_was_killed_left_is_removed_when_the_conversation_is_used_again() {
    let (mut service, standin, script) = Service::scripted(&["--mode", "edits"]).await;
    run(&service, &script, &[write("sub/f", "made")]).await;
    service.kill();
    let sub = service.home.path().join("sub");
    let (left, link) = (".harness-0123456789abcdef", ".harness-00000000000000aa");
    std::fs::write(sub.join(left), "a copy").unwrap();
    std::os::unix::fs::symlink(sub.join("f"), sub.join(link)).unwrap();
    service.revive().await;
    undo(&service, json!({"dry_run": true})).await;
    eventually("a swept folder", async || left_in(&sub).is_empty()).await;
    assert_eq!(std::fs::read(sub.join("f")).unwrap(), b"made");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [UNDO-03]
#[tokio::test]
async fn the_command_shows_what_would_be_and_was_taken_back() {
    let (service, _standin, script) = Service::scripted(&["--mode", "edits"]).await;
    std::fs::write(service.home.path().join("a"), "one\n").unwrap();
    run(&service, &script, &[edit("a", "one", "two")]).await;
    let home = service.home.path().to_owned();
    let run = move |flags: &[&str]| {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let home = home.clone();
        tokio::task::spawn_blocking(move || {
            output(command(&home).args(["undo", "-c", "default"]).args(flags))
        })
    };
    let (code, out, err) = run(&["--dry-run"]).await.unwrap();
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with("restored /") && out.contains("  -two\n  +one\n"),
        "{out}"
    );
    let (code, out, _) = run(&["--to-run", "1", "--name", "ana"]).await.unwrap();
    assert_eq!((code, out.lines().count()), (0, 1));
    let (code, _, err) = run(&[]).await.unwrap();
    assert_eq!(code, 1);
    assert!(err.contains("there is nothing to take back"), "{err}");
}

/// Spec: [BASH-18] [UNDO-05] [UNDO-640]
#[tokio::test]
async fn what_commands_changed_is_shown_and_taken_back_as_far_as_it_is_known() {
    let here = Changing::in_mode("ask").await;
    here.file("known", "one\n");
    // It is larger than what is copied.
    here.file("unknown", "one\n".repeat(3 << 20));
    here.file("mine", "one\n");
    here.file("folder/gone", "one\n");
    for name in ["known", "folder/gone"] {
        let (_, failed) = here.call("read", json!({"path": name})).await;
        assert!(!failed);
    }
    let line = "echo two >>known; echo two >>unknown; rm -r folder; mkdir new; echo x >new/made; mv mine kept";
    let (told, failed) = bash::run(&here, json!({"command": line})).await;
    assert!(!failed, "{told}");
    let path = format!("/v1/conversations/{}?tail=200", here.id);
    let past = here.service.get(&path).await;
    let events = past["history"]["events"].as_array().unwrap();
    let changed = events.iter().map(|past| &past["event"]);
    let changed: Vec<&Value> = changed
        .filter(|event| event["type"] == "files_changed")
        .collect();
    let [changed] = changed[..] else {
        panic!("{past}");
    };
    let each = changed["changes"].as_array().unwrap().iter();
    let short: Vec<String> = each
        .map(|change| {
            let path = change["path"].as_str().unwrap().rsplit('/').next().unwrap();
            assert_eq!(change["by_command"], true);
            format!(
                "{} {path} {}",
                change["action"].as_str().unwrap(),
                change["diff"]
            )
        })
        .collect();
    let expected = [
        r#"removed gone "@@ -1 +0,0 @@\n-one\n""#,
        r#"made kept "@@ -0,0 +1 @@\n+one\n""#,
        r#"changed known "@@ -1 +1,2 @@\n one\n+two\n""#,
        r#"removed mine "@@ -1 +0,0 @@\n-one\n""#,
        r#"made made "@@ -0,0 +1 @@\n+x\n""#,
        r#"changed unknown """#,
    ];
    assert_eq!(short, expected);
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    let undone = undone.json();
    let expected = [
        "gone restored",
        "kept removed",
        "known restored",
        "mine restored",
        "made removed",
        "unknown conflict",
    ];
    assert_eq!(outcomes(&undone["files"]), expected);
    assert_eq!(here.read("known"), b"one\n");
    assert_eq!(here.read("folder/gone"), b"one\n");
    assert_eq!(here.read("mine"), b"one\n");
    assert!(!here.at("new").exists() && !here.at("kept").exists());
    // A command that can write nothing has changed nothing, and one that changed nothing says so.
    for input in [
        json!({"command": "cat known", "access": "read"}),
        json!({"command": "true"}),
    ] {
        bash::run(&here, input).await;
    }
    let past = here.service.get(&path).await.to_string();
    assert_eq!(past.matches("\"type\":\"files_changed\"").count(), 1);
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [UNDO-778] [UNDO-780] [UNDO-781]
#[tokio::test]
async fn what_commands_changed_unseen_is_taken_back_but_for_what_git_ignores() {
    let here = Changing::in_mode("ask").await;
    let tracked = ["binary", "dirty", "program", "src/a", "src/deep/b"];
    for name in tracked {
        here.file(name, format!("{name}\0\n"));
    }
    // The clock by which files are stamped is not finer than that.
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let work = here.at("");
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "one"]);
    here.file("dirty", "mine\n");
    here.file("untracked", "mine\n");
    here.file(".gitignore", "*.o\n");
    here.file("ignored.o", "mine\n");
    symlink("dirty", here.at("link")).unwrap();
    // The command commits what it did: git's index is another one then.
    let line = "sed -i s/a/b/ src/a; chmod 755 src/a; chmod 600 program; rm -r src/deep untracked; ln -sfn away link; mkdir empty; echo x >>ignored.o; printf x >>binary; echo x >>dirty; \
                git -c user.name=a -c user.email=a@b commit -qam two";
    let (told, failed) = bash::run(&here, json!({"command": line})).await;
    assert!(!failed, "{told}");
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    let expected = [
        "binary restored",
        "dirty restored",
        "empty removed",
        "ignored.o conflict",
        "link restored",
        "program restored",
        "a restored",
        "b restored",
        "untracked restored",
    ];
    assert_eq!(outcomes(&undone.json()["files"]), expected);
    for name in ["program", "src/a"] {
        let mode = std::fs::metadata(here.at(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
    for name in ["binary", "src/a", "src/deep/b"] {
        assert_eq!(here.read(name), format!("{name}\0\n").as_bytes(), "{name}");
    }
    for name in ["dirty", "untracked"] {
        assert_eq!(here.read(name), b"mine\n", "{name}");
    }
    assert_eq!(
        std::fs::read_link(here.at("link")).unwrap(),
        Path::new("dirty")
    );
    assert!(!here.at("empty").exists());
    // The copies have no names.
    let state = std::fs::read_dir(here.service.home.path().join(".harness")).unwrap();
    let names = state.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| name.starts_with("copies")).collect();
    assert_eq!(names, [""; 0]);
    assert_eq!(here.standin.violations(), [""; 0]);
}
