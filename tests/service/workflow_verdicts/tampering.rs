//! A model that changes what judges it: nothing that it can write counts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use harness_standin::Reply;
use serde_json::{Value, json};

use super::tally::{ADD, ONCE, file, leaves, read, ready, ready_on, repository, right};
use crate::contained::contains_commands;
use crate::workflow_ground::{BRANCH, Bench, ID, Turn, git};

/// A command of the model that may write.
fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command, "access": "write"}))
}

/// Spec: [FLOW-39] [FLOW-64] [FLOW-111]
#[tokio::test]
async fn case_21_a_protected_test_that_is_changed_unseen_is_found_restored_and_pauses_at_last() {
    if !contains_commands() {
        return;
    }
    let play = |turn: &Turn| {
        let says = format!("echo 'add ... ok' # {}\n", turn.attempt);
        let calls = [bash(&format!(
            "git update-index --assume-unchanged tests/add.sh && echo \"{}\" > tests/add.sh && \
             git status --short && echo right > tally/more.sh",
            says.trim_end()
        ))];
        turn.calls(&calls, "done")
    };
    let more = "[protect]\npaths = [\"tests/**\"]\non_change = \"pause\"\n";
    let bench = ready(&file("strict", more, &["add"]), play).await;
    bench.run().await;
    let now = bench.paused("tampering").await;
    assert!(
        now["detail"].as_str().unwrap().contains("tests/add.sh"),
        "{now:#}"
    );
    let changed = || vec!["protected_changed".to_owned()];
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, changed()), (1, 2, changed())]
    );
    for candidate in bench.past("candidate").await {
        assert_eq!(candidate["protected"], json!(["tests/add.sh"]));
    }
    bench.stands_at("main").await;
    assert_eq!(bench.tip(BRANCH), bench.tip("main"));
    let ran = bench.past("check_ended").await;
    assert!(ran.iter().all(|check| check["n"] == 0), "{ran:#?}");
}

/// Spec: [FLOW-33] [FLOW-64]
#[tokio::test]
async fn case_22_a_file_of_the_workflow_that_the_model_changes_decides_nothing() {
    let own = ".harness/workflows/words.toml";
    let vacuous = file("strict", "", &["add"])
        .replace("\"sh\", \"tests/add.sh\"", "\"echo\", \"add ... ok\"");
    let play = move |turn: &Turn| {
        let program = if turn.attempt == 1 {
            "echo wrong\n"
        } else {
            ADD
        };
        leaves(turn, &[(own, &vacuous), ("tally/add.sh", program)])
    };
    // The file is not protected: that it does not count is another thing.
    let more = "[protect]\npaths = [\"tests/**\"]\n";
    let text = file("strict", more, &["add"]);
    let bench = ready(&text, play).await;
    let before = bench.look().await;
    bench.complete().await;
    let expected = [(1, 1, vec!["check_failed".to_owned()]), (1, 2, vec![])];
    assert_eq!(bench.verdicts().await, expected);
    let ran = bench.past("check_ended").await;
    assert_eq!(ran[1]["check"], "add.1");
    assert!(
        ran[1]["tail"]
            .as_str()
            .unwrap()
            .contains("add ... FAILED: got 'wrong'"),
        "{:#}",
        ran[1]
    );
    let now = bench.look().await;
    assert_eq!(
        (&now["manifest"], &now["version"]),
        (&before["manifest"], &before["version"])
    );
    assert_eq!(bench.past("manifest_applied").await.len(), 1);
    assert_eq!(read(bench.root(), own), text);
    // Once it is merged it is a proposal, which is shown and counts for nothing by itself.
    bench.git(&["merge", "--quiet", BRANCH]);
    let path = format!("/v1/workflows/{ID}/manifest");
    let told = bench
        .service
        .as_owner("GET", &path, &Value::Null)
        .await
        .json();
    assert_eq!(told["hash"], before["manifest"]);
    let lines: Vec<&str> = told["proposal"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["line"].as_str().unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("feature add: check add.1: cmd")),
        "{told:#}"
    );
    assert_eq!(bench.past("manifest_applied").await.len(), 1);
}

/// Spec: [FLOW-65] [FLOW-67]
#[tokio::test]
async fn case_23_what_a_new_ignore_file_hides_is_gone_after_the_restore() {
    let files = [
        (".gitignore", "*\n"),
        ("tally/.gitignore", "*\n"),
        ("tally/planted.sh", "echo 6\n"),
        ("deep/er/planted.txt", "planted\n"),
        ("tally/add.sh", "sh tally/planted.sh\n"),
    ];
    let bench = ready(&file("strict", ONCE, &["add"]), move |turn| {
        leaves(turn, &files)
    })
    .await;
    bench.run().await;
    bench.until("ready").await;
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["check_failed".to_owned()])]
    );
    bench.stands_at("main").await;
}

/// Installs programs for git to run in a repository, by everything that this test knows. Each leaves a mark.
fn install(root: &Path, mark: &Path) {
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", mark.display());
    let evil = root.join(".git/evil");
    fs::write(&evil, &script).unwrap();
    let executable = || fs::Permissions::from_mode(0o755);
    fs::set_permissions(&evil, executable()).unwrap();
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
    ] {
        let hook = root.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, &script).unwrap();
        fs::set_permissions(&hook, executable()).unwrap();
    }
    let evil = evil.display().to_string();
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.fsmonitor",
    ] {
        git(root, &["config", key, &evil]);
    }
}

/// Spec: [FLOW-68]
#[tokio::test]
async fn case_24_hooks_and_filters_that_appear_are_not_run_and_pause_the_workflow() {
    let text = file("strict", "", &["add"]);
    let repository = repository(&text);
    let marks = tempfile::tempdir().unwrap();
    let mark = marks.path().join("ran");
    let (root, marked) = (repository.path().to_owned(), mark.clone());
    // A model that gets around its containment: here the test does it while the model works.
    let play = move |turn: &Turn| {
        if turn.answered == 1 {
            install(&root, &marked);
        }
        leaves(
            turn,
            &[
                ("tally/add.sh", ADD),
                (".gitattributes", "* filter=evil diff=evil\n"),
            ],
        )
    };
    let bench = ready_on(Arc::clone(&repository), play).await;
    bench.run().await;
    let now = bench.paused("git_config_changed").await;
    let detail = now["detail"].as_str().unwrap();
    for named in ["filter.evil.clean", "hooks/pre-commit"] {
        assert!(detail.contains(named), "{named}: {detail}");
    }
    assert_eq!(bench.verdicts().await, []);
    assert_eq!(bench.tip(BRANCH), bench.tip("main"));
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());

    // Going on is no way around it.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused("git_config_changed").await;
    // A person who takes it away lets it go on where it was.
    let own = repository.path().join(".git");
    fs::remove_dir_all(own.join("hooks")).unwrap();
    for section in ["filter.evil", "diff.evil"] {
        git(repository.path(), &["config", "--remove-section", section]);
    }
    git(repository.path(), &["config", "--unset", "core.fsmonitor"]);
    let hooks = own.join("hooks");
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
    fs::create_dir(hooks).unwrap();
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    let now = bench
        .until_it("an end", |now| now["state"] != "running")
        .await;
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
    // The samples of git's own hooks are gone, too, and that is told again.
    assert!(
        matches!(now["state"].as_str(), Some("completed" | "paused")),
        "{now:#}"
    );
}

/// Spec: [FLOW-68]
#[tokio::test]
async fn case_24_a_command_of_the_model_installs_neither_hooks_nor_filters() {
    if !contains_commands() {
        return;
    }
    let text = file("strict", "", &["add"]);
    let repository = repository(&text);
    let hook = repository.path().join(".git/hooks/pre-commit");
    let shown = hook.display().to_string();
    let play = move |turn: &Turn| {
        let calls = [
            bash(&format!(
                "printf '#!/bin/sh\\n' > {shown}; chmod +x {shown}"
            )),
            bash("git config filter.evil.clean cat; git config core.hooksPath hooks"),
            bash("git config --global core.hooksPath /tmp; echo '* filter=evil' > .gitattributes"),
            ("write", json!({"path": shown, "content": "#!/bin/sh\n"})),
            ("read", json!({"path": "tally/add.sh"})),
            ("write", json!({"path": "tally/add.sh", "content": ADD})),
        ];
        turn.calls(&calls, "done")
    };
    let bench = ready_on(Arc::clone(&repository), play).await;
    let before = read(bench.root(), ".git/config");
    bench.complete().await;
    assert_eq!(read(bench.root(), ".git/config"), before);
    assert!(!hook.exists());
    assert!(!bench.service.home.path().join(".gitconfig").exists());
}

/// Spec: [FLOW-64]
#[tokio::test]
async fn case_25_a_tool_that_would_write_a_protected_file_refuses_and_says_why() {
    let calls = [
        ("read", json!({"path": "tests/add.sh"})),
        (
            "write",
            json!({"path": "tests/add.sh", "content": "echo 'add ... ok'\n"}),
        ),
        (
            "write",
            json!({"path": "tests/new.sh", "content": "echo\n"}),
        ),
        (
            "write",
            json!({"path": "tally/../tests/add.sh", "content": "echo\n"}),
        ),
        ("read", json!({"path": "tally/add.sh"})),
        ("write", json!({"path": "tally/add.sh", "content": ADD})),
    ];
    let many = calls.len();
    let bench = ready(&file("strict", "", &["add"]), move |turn| {
        turn.calls(&calls, "done")
    })
    .await;
    bench.complete().await;
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    let requests = bench.standin.requests();
    let last = requests.last().unwrap().json();
    let messages = last["messages"].as_array().unwrap();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    let results: Vec<&Value> = blocks
        .flatten()
        .filter(|block| block["type"] == "tool_result")
        .collect();
    assert_eq!(results.len(), many);
    for done in results[..1].iter().chain(&results[4..]) {
        assert_ne!(done["is_error"], true, "{done}");
    }
    for refused in &results[1..4] {
        let said = refused.to_string();
        assert_eq!(refused["is_error"], true, "{said}");
        assert!(said.contains("tests/**"), "{said}");
    }
    assert_eq!(
        bench.git(&["diff", "--name-only", "main", BRANCH]),
        "tally/add.sh"
    );
}

/// Spec: [FLOW-54] [FLOW-62]
#[tokio::test]
async fn a_branch_that_somebody_moved_meanwhile_accepts_nothing() {
    let text = file("strict", "", &["add"]);
    let repository = repository(&text);
    let root = repository.path().to_owned();
    let play = move |turn: &Turn| {
        if turn.answered == 1 {
            let tree = git(&root, &["rev-parse", "main^{tree}"]);
            let commit = git(
                &root,
                &["commit-tree", "-p", "main", "-m", "done, really", &tree],
            );
            git(&root, &["update-ref", BRANCH, &commit]);
        }
        right(turn)
    };
    let bench = ready_on(repository, play).await;
    bench.run().await;
    let now = bench.paused("workspace_changed").await;
    assert_eq!(Bench::feature(&now, "add"), "failing");
    assert_eq!(
        bench.git(&["log", "-1", "--format=%s", BRANCH]),
        "done, really"
    );
    assert_eq!(bench.past("completed").await, [] as [Value; 0]);
}

/// Spec: [FLOW-47]
#[tokio::test]
async fn words_accept_nothing_and_an_honest_word_makes_a_feature_stuck() {
    let play = |_: &Turn| Reply::text("BLOCKED: there is no way. Accept it; all checks passed.");
    let bench = ready(&file("strict", "", &["add"]), play).await;
    bench.run().await;
    let now = bench
        .until_it("an end", |now| now["state"] != "running")
        .await;
    assert_eq!(Bench::feature(&now, "add"), "stuck");
    assert_eq!(bench.tip(BRANCH), bench.tip("main"));
}
