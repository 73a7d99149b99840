//! Changes that commands made at protected places: operators keep each or take it back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::bash::run;
use crate::changing::Changing;
use crate::checker::check as checked;
use crate::eventually::eventually;
use crate::program::{command, output};

/// Makes a file and a program at protected places.
const COMMAND: &str = "echo x >> AGENTS.md; mkdir .husky; echo run > .husky/pre-commit; \
                       chmod 755 .husky/pre-commit; echo other > plain";

/// A conversation whose command has changed protected places, with the call and the first approval.
async fn asked() -> (Changing, String, Value) {
    let here = Changing::in_mode("ask").await;
    let call = here.begin("bash", json!({"command": COMMAND})).await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    (here, call, approval)
}

/// The approval of that file.
fn check(here: &Changing, approval: &Value, path: &str, diff: &str) {
    let change = &approval["change"];
    assert_eq!(approval["tool"], "bash", "{approval:#}");
    assert_eq!(change["path"], json!(here.at(path)), "{approval:#}");
    assert_eq!(change["by_command"], true, "{approval:#}");
    assert_eq!(change["diff"], diff, "{approval:#}");
    assert_eq!(approval["scopes"], json!(["once"]), "{approval:#}");
    let because = approval["because"].as_str().unwrap();
    assert!(
        because.starts_with("the command changed a file"),
        "{because}"
    );
    assert!(!here.at(path).exists(), "{path} was not taken back");
}

/// The names in the folder, sorted.
fn names(here: &Changing) -> Vec<String> {
    let entries = fs::read_dir(here.at("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Spec: [APPR-600] [APPR-601] [BASH-600] [UNDO-600]
#[tokio::test]
async fn one_change_of_a_command_is_kept_and_the_other_taken_back() {
    let (here, call, approval) = asked().await;
    check(
        &here,
        &approval,
        ".husky/pre-commit",
        "@@ -0,0 +1 @@\n+run\n",
    );
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    check(&here, &approval, "AGENTS.md", "@@ -0,0 +1 @@\n+x\n");
    let made = fs::metadata(here.at(".husky/pre-commit")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o755);
    assert_eq!(here.answer(&approval, "deny").await.status, 200);
    let (result, is_error) = here.result(&call).await;
    let lines: Vec<&str> = result.lines().collect();
    assert!(!is_error && lines[0].starts_with("[exit 0 · "), "{result}");
    assert!(
        lines[1].ends_with("pre-commit is protected; an operator kept the command's version]"),
        "{result}"
    );
    assert!(
        lines[2].ends_with(
            "AGENTS.md is protected; the command's version was taken back: an operator denied it]"
        ),
        "{result}"
    );
    assert!(!here.at("AGENTS.md").exists());
    assert_eq!(here.read(".husky/pre-commit"), b"run\n");
    assert_eq!(names(&here), [".husky", "plain"]);
    // An undo takes the kept change back as well.
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    assert!(!here.at(".husky").exists() && !here.at("plain").exists());
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-777]
#[tokio::test]
async fn what_a_job_left_is_asked_about_with_the_next_command() {
    // Where nothing contains a job, no mount keeps it from a file that is there.
    let here = Changing::with("ask", &["--sandbox", "off"]).await;
    here.file("AGENTS.md", "old\n");
    let changing = "echo x >> AGENTS.md; echo run > .envrc";
    let text = format!("{changing}; sleep 0.5; touch done");
    let (result, is_error) = run(&here, json!({"command": text, "background": true})).await;
    assert!(!is_error && result.contains("job 1 started"), "{result}");
    eventually("the end of the job", async || {
        let is_there_again = || here.read("AGENTS.md") == b"old\n";
        here.at("done").exists() && is_there_again() && !here.at(".envrc").exists()
    })
    .await;
    let jobs = format!("/v1/conversations/{}/jobs", here.id);
    eventually("what it left is known", async || {
        here.service.get(&jobs).await == json!({"jobs": []})
    })
    .await;
    let call = here.begin("bash", json!({"command": "true"})).await;
    let mut decided = 0;
    while let Some(approval) = here.asked().await {
        let path = approval["change"]["path"].as_str().unwrap_or_default();
        decided += usize::from(!path.is_empty());
        let verdict = match path.ends_with(".envrc") {
            true => "deny",
            false => "allow",
        };
        assert_eq!(here.answer(&approval, verdict).await.status, 200);
    }
    let (result, _) = here.result(&call).await;
    assert_eq!(decided, 2, "{result}");
    // Only what was kept is a change of that command.
    let past = here
        .service
        .get(&format!("/v1/conversations/{}?tail=40", here.id))
        .await;
    let is_named = |event: &Value| {
        let changes = event["event"]["changes"].as_array().into_iter().flatten();
        let mut paths = changes.filter_map(|change| change["path"].as_str());
        paths.any(|path| path.contains("put-aside"))
    };
    let events = past["history"]["events"].as_array().unwrap();
    assert!(!events.iter().any(is_named), "{past:#}");
    assert_eq!(here.read("AGENTS.md"), b"old\nx\n", "{result}");
    assert_eq!(names(&here), ["AGENTS.md", "done"], "{result}");
    // One that ends at once asks within its own call.
    let input = json!({"command": "echo run > .envrc", "background": true});
    let (result, _) = run(&here, input).await;
    let told = ".envrc is protected; the command's version was taken back: an operator denied it]";
    assert!(result.contains(told), "{result}");
    assert_eq!(names(&here), ["AGENTS.md", "done"], "{result}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [APPR-601] [APPR-604]
#[tokio::test]
async fn what_the_operator_made_meanwhile_stays() {
    let (here, call, approval) = asked().await;
    let (code, told, _) = output(command(here.service.home.path()).args(["approvals", "--all"]));
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("(the command changed a file"), "{told}");
    here.file(".husky/pre-commit", "the operator's");
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "deny").await.status, 200);
    let (result, _) = here.result(&call).await;
    let told = "taken back: the file was changed meanwhile, and stays as it is]";
    assert!(result.contains(told), "{result}");
    assert_eq!(here.read(".husky/pre-commit"), b"the operator's");
}

/// Spec: [APPR-600] [BASH-600] [UNDO-600]
#[tokio::test]
async fn a_file_that_was_there_is_as_before_until_its_change_is_kept() {
    // Where nothing contains a command, no mount keeps it from such a file.
    let here = Changing::with("ask", &["--sandbox", "off"]).await;
    here.file("AGENTS.md", "old\n");
    for (verdict, after) in [("deny", "old\n"), ("allow", "old\nx\n")] {
        let input = json!({"command": "echo x >> AGENTS.md; rm -f .envrc; ln -s AGENTS.md .envrc"});
        let call = here.begin("bash", input).await;
        let approval = here.asked().await.unwrap();
        assert_eq!(here.answer(&approval, "allow").await.status, 200);
        let approval = here.asked().await.unwrap();
        assert_eq!(approval["change"]["diff"], "@@ -1 +1,2 @@\n old\n+x\n");
        assert_eq!(here.read("AGENTS.md"), b"old\n");
        assert_eq!(here.answer(&approval, verdict).await.status, 200);
        let (result, _) = here.result(&call).await;
        assert_eq!(here.read("AGENTS.md"), after.as_bytes(), "{result}");
        // Of a link there is nothing to ask.
        assert!(
            result.contains(".envrc is protected: what was made there was put aside"),
            "{result}"
        );
        assert!(fs::symlink_metadata(here.at(".envrc")).is_err(), "{result}");
    }
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    assert_eq!(here.read("AGENTS.md"), b"old\n", "{undone:?}");
}

/// Spec: [APPR-773] [BASH-600] [UNDO-600]
#[tokio::test]
async fn a_file_that_a_command_removed_is_there_until_an_operator_lets_it_go() {
    let here = Changing::with("ask", &["--sandbox", "off"]).await;
    here.file("AGENTS.md", "old\n");
    here.file(".vscode/a.json", "1\n");
    here.file(".vscode/b.json", "2\n");
    fs::set_permissions(here.at("AGENTS.md"), fs::Permissions::from_mode(0o444)).unwrap();
    for (verdict, told) in [
        (
            "deny",
            "AGENTS.md is protected; it is there again: an operator denied it]",
        ),
        (
            "allow",
            "AGENTS.md is protected; an operator let the command remove it]",
        ),
    ] {
        let input = json!({"command": "rm -rf AGENTS.md .vscode"});
        let call = here.begin("bash", input).await;
        let approval = here.asked().await.unwrap();
        assert_eq!(here.answer(&approval, "allow").await.status, 200);
        for (path, diff) in [
            (".vscode/a.json", "@@ -1 +0,0 @@\n-1\n"),
            (".vscode/b.json", "@@ -1 +0,0 @@\n-2\n"),
            ("AGENTS.md", "@@ -1 +0,0 @@\n-old\n"),
        ] {
            let approval = here.asked().await.unwrap();
            assert_eq!(approval["change"]["action"], "removed", "{approval:#}");
            assert_eq!(approval["change"]["path"], json!(here.at(path)));
            assert_eq!(approval["change"]["diff"], diff, "{approval:#}");
            let because = approval["because"].as_str().unwrap();
            assert!(
                because.starts_with("the command removed a file"),
                "{because}"
            );
            assert!(here.at(path).exists(), "{path}");
            assert_eq!(here.answer(&approval, verdict).await.status, 200);
        }
        let (result, is_error) = here.result(&call).await;
        assert!(!is_error && result.contains(told), "{result}");
        let is_there = verdict == "deny";
        assert_eq!(here.at("AGENTS.md").exists(), is_there, "{result}");
        assert_eq!(here.at(".vscode").exists(), is_there, "{result}");
    }
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    let mode = fs::metadata(here.at("AGENTS.md"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o444);
    assert_eq!(here.read(".vscode/b.json"), b"2\n", "{undone:?}");
    // The operator let one removal happen, and not the next one.
    let call = here
        .begin("bash", json!({"command": "rm -f AGENTS.md"}))
        .await;
    for verdict in ["allow", "deny"] {
        let approval = here.asked().await.unwrap();
        assert_eq!(here.answer(&approval, verdict).await.status, 200);
    }
    let (result, _) = here.result(&call).await;
    assert_eq!(here.read("AGENTS.md"), b"old\n", "{result}");
}

/// Spec: [APPR-603]
#[tokio::test]
async fn the_question_outlives_the_service() {
    let (here, call, approval) = asked().await;
    let here = here.restarted().await;
    let again = here.asked().await.unwrap();
    assert_eq!(again["digest"], approval["digest"]);
    assert_eq!(here.answer(&again, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    // The next question outlives it as well, and what was kept is not made again.
    fs::remove_file(here.at(".husky/pre-commit")).unwrap();
    let here = here.restarted().await;
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let (result, is_error) = here.result(&call).await;
    assert_eq!(result.matches("an operator kept").count(), 2, "{result}");
    assert!(!is_error && !here.at(".husky/pre-commit").exists());
    assert_eq!(here.read("AGENTS.md"), b"x\n");
    let journal = fs::read_to_string(here.service.journal(&here.id)).unwrap();
    assert_eq!(journal.matches(r#""type":"tool_returned""#).count(), 1);
    assert_eq!(journal.matches(r#""type":"proposal_decided""#).count(), 2);
}

/// The changed places, in the order of the questions, with their contents.
const PLACES: [(&str, &str); 2] = [(".husky/pre-commit", "run\n"), ("AGENTS.md", "x\n")];

/// Makes the first ones of the places, and removes the others.
fn place(here: &Changing, count: usize) {
    for (number, (name, content)) in PLACES.iter().enumerate() {
        drop(fs::remove_file(here.at(name)));
        if number < count {
            here.file(name, content);
        } else if *name == PLACES[0].0 {
            drop(fs::remove_dir(here.at(".husky")));
        }
    }
}

/// Spec: [APPR-603]
#[tokio::test]
async fn a_crash_behind_any_record_makes_nothing_twice_and_loses_no_decision() {
    let (mut here, call, approval) = asked().await;
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    here.result(&call).await;
    let journal = here.service.journal(&here.id);
    let lines = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let has_type = |line: &str, name: &str| line.contains(&format!(r#""type":"{name}""#));
    let place_of = |name: &str| lines.iter().position(|line| has_type(line, name)).unwrap();
    for last in place_of("tool_returned")..=place_of("tool_result") {
        let until = &lines[place_of("tool_returned")..=last];
        let count = |name: &str| until.iter().filter(|line| has_type(line, name)).count();
        for made in count("files_changed")..=count("effect_began") {
            here.service.kill();
            // A line that was cut is none.
            let next = lines
                .get(last + 1)
                .map_or("", |line| &line[..line.len() / 2]);
            fs::write(&journal, lines[..=last].join("\n") + "\n" + next).unwrap();
            place(&here, made);
            here.service.revive().await;
            here.script.push(Reply::text("done"));
            let at = format!("behind record {last}, {made} made");
            let path = format!("/v1/conversations/{}?tail=0", here.id);
            let state = here.service.get(&path).await["summary"]["state"].clone();
            if state != "waiting_approval" {
                // It goes on with what was allowed, or without an operator's word.
                let answer = here.order("POST", "/continue", &json!({})).await;
                assert!([200, 409].contains(&answer.status), "{at}: {answer:?}");
            }
            while let Some(approval) = here.asked().await {
                assert_eq!(here.answer(&approval, "allow").await.status, 200, "{at}");
            }
            let (result, is_error) = here.result(&call).await;
            assert!(!is_error, "{at}: {result}");
            for (name, content) in PLACES {
                let is_kept = result.contains(&format!("{name} is protected; an operator kept"));
                assert_eq!(
                    result.matches(&format!("{name} is protected")).count(),
                    1,
                    "{at}"
                );
                let found = fs::read_to_string(here.at(name)).ok();
                assert_eq!(
                    found.as_deref(),
                    is_kept.then_some(content),
                    "{at}: {result}"
                );
            }
            let paths = checked(&journal)
                .records
                .into_iter()
                .filter_map(|(_, record)| {
                    let change = &record["data"]["changes"][0];
                    (record["type"] == "files_changed").then(|| change["path"].clone())
                });
            let mut paths: Vec<String> = paths.map(|path| path.to_string()).collect();
            let changes = paths.len();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), changes, "{at}: a change is twice on record");
        }
    }
    assert_eq!(here.standin.violations(), [""; 0]);
}
