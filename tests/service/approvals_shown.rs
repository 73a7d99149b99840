//! An answer from the command line allows only what was shown, and all that would change is shown.

use std::path::PathBuf;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::changing::{Changing, edit_of};
use crate::program::{command, output};

/// Runs the program in the conversation's folder, or in the folder above it.
async fn run(here: &Changing, is_above: bool, line: &str) -> (i32, String, String) {
    let home = here.service.home.path().to_owned();
    let folder: PathBuf = if is_above { home.clone() } else { here.at("") };
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let program = move || output(command(&home).current_dir(folder).args(words));
    tokio::task::spawn_blocking(program).await.unwrap()
}

/// Lets a run begin that asks, and returns the digits of the digest that are shown.
async fn ask(here: &Changing) -> String {
    here.talk().prompt("go on").await;
    let digest = here.asked().await.unwrap()["digest"].clone();
    digest.as_str().unwrap()[..12].to_owned()
}

/// Spec: [CLI-590] [CLI-591] [CLI-592] [CLI-593]
#[tokio::test]
async fn a_number_that_waits_twice_is_not_answered_until_the_command_line_says_which() {
    let mut here = Changing::in_mode("ask").await;
    for name in ["first", "second"] {
        let input = json!({"path": name, "content": "x\n"});
        here.script
            .extend([Reply::tool_calls([(name, "write", input)])]);
    }
    here.script
        .extend([Reply::text("done"), Reply::text("done")]);
    let (first, digest) = (here.id.clone(), ask(&here).await);
    here.begin_another("ask").await;
    let (second, other) = (here.id.clone(), ask(&here).await);

    let (code, _, err) = run(&here, false, "approve 1").await;
    assert_eq!(code, 2, "{err}");
    let line = |id: &str, digest: &str| format!("harness approve 1 -c {id} --digest {digest}\n");
    for part in [
        line(&first, &digest).as_str(),
        &line(&second, &other),
        "/work",
        "/first +1 -0",
        "approval 1 waits in 2 conversations",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (_, out, err) = run(&here, false, "approvals").await;
    assert!(
        out.contains(&format!("digest {other}: {}", line(&second, &other))),
        "{out}{err}"
    );
    let elsewhere = out.split_once("in other conversations").unwrap().1;
    assert!(elsewhere.contains(&line(&first, &digest)), "{out}");
    let (_, out, _) = run(&here, false, "approvals --json").await;
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed["items"][0]["conversation"], second.as_str());
    assert_eq!(listed["others"][0]["conversation"], first.as_str());
    let (_, out, _) = run(&here, false, "status").await;
    assert!(
        out.contains("2 approvals wait: harness approvals\n"),
        "{out}"
    );
    let (_, out, _) = run(&here, false, "status --json").await;
    let status: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(status["approvals"], 2);

    let (code, _, err) = run(&here, false, "approve 1 --digest 0123456789ab").await;
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("was changed; look again: harness approvals"),
        "{err}"
    );
    assert!(!here.at("first").exists() && !here.at("second").exists());
    let answer = format!("approve 1 --digest {}", &digest[..8]);
    let (code, out, err) = run(&here, false, &answer).await;
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with("1 allowed") && out.contains("/first +1 -0"),
        "{out}"
    );
    assert!(out.contains(&first), "{out}");

    // The one that is left is not answered from another folder, but where it waits.
    let (code, _, err) = run(&here, true, "deny 1").await;
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains(&format!("harness deny 1 -c {second}")),
        "{err}"
    );
    let (code, out, err) = run(&here, false, "deny 1").await;
    assert_eq!(code, 0, "{err}");
    assert!(
        out.starts_with("1 denied") && out.contains(&second),
        "{out}"
    );
    assert!(!here.at("second").exists());
}

/// Spec: [TOOL-590] [TOOL-591] [APPR-591]
#[tokio::test]
async fn an_approval_shows_each_place_that_differs_in_a_line_of_any_length() {
    let here = Changing::in_mode("ask").await;
    let values: Vec<String> = (0..20_000).map(|n| format!("\"k{n}\":{n}")).collect();
    here.file("min.json", format!("{{{}}}", values.join(",")));
    let call = edit_of(
        "min.json",
        "\"k15000\":15000",
        "\"k15000\":\"changed\u{202e} here\"",
    );
    here.begin("edit", call).await;
    let change = here.asked().await.unwrap()["change"].clone();
    let diff = change["diff"].as_str().unwrap();
    assert!(
        diff.contains("\"k15000\":15000") && diff.contains("changed"),
        "{diff}"
    );
    assert!(
        diff.contains(" characters …") && diff.len() < 2000,
        "{diff}"
    );
    assert!(change["diff_cut"].is_null());
    let notes = change["notes"].to_string();
    for part in [
        "U+202E RIGHT-TO-LEFT OVERRIDE in line 1",
        "around the places",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
    let (code, out, err) = run(&here, false, "approvals").await;
    assert!(
        code == 0 && out.contains("changed\\u{202e} here"),
        "{out}{err}"
    );
    let (code, _, err) = run(&here, false, "approve 1").await;
    assert_eq!(code, 0, "{err}");
}

/// Spec: [APPR-590]
#[tokio::test]
async fn an_approval_of_a_command_names_its_hidden_character() {
    let here = Changing::in_mode("ask").await;
    let input = json!({"command": "echo a\ng\u{200b}it status", "access": "write"});
    here.begin("bash", input).await;
    let because = here.asked().await.unwrap()["because"].to_string();
    let named = "hidden: U+200B ZERO WIDTH SPACE in line 2, column 2";
    assert!(because.contains(named), "{because}");
}
