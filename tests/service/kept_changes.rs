//! Changes that commands made at protected places: operators keep each or take it back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::changing::Changing;

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
    let entries = fs::read_dir(here.at("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, [".husky", "plain"]);
    // An undo takes the kept change back as well.
    let undone = here.order("POST", "/undo", &json!({})).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    assert!(!here.at(".husky").exists() && !here.at("plain").exists());
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [APPR-601] [APPR-604]
#[tokio::test]
async fn what_the_operator_made_meanwhile_stays() {
    let (here, call, approval) = asked().await;
    here.file(".husky/pre-commit", "the operator's");
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "deny").await.status, 200);
    let (result, _) = here.result(&call).await;
    let told = "taken back: the file was changed meanwhile, and stays as it is]";
    assert!(result.contains(told), "{result}");
    assert_eq!(here.read(".husky/pre-commit"), b"the operator's");
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
    // Under another mode all stay taken back, and no operator is asked.
    here.set_mode("locked").await;
    let journal = fs::read_to_string(here.service.journal(&here.id)).unwrap();
    assert_eq!(journal.matches(r#""type":"tool_returned""#).count(), 1);
    assert_eq!(journal.matches(r#""type":"proposal_decided""#).count(), 2);
}
