//! The service says that a feature is done, by its checks, on exactly the files that were left.

use std::sync::Arc;

use harness_standin::Reply;
use serde_json::{Value, json};

use super::tally::{ADD, ONCE, REPORT, file, leaves, ready, ready_on, right};
use crate::workflow_ground::{BRANCH, Bench, Turn, repository_with};

/// The checks that ran on candidates.
async fn checked(bench: &Bench) -> Vec<Value> {
    let mut all = bench.past("check_ended").await;
    all.retain(|check| check["n"] != 0);
    all
}

/// The reasons why each attempt was rejected: the reason, the check and the detail.
async fn reasons(bench: &Bench) -> Vec<(String, String, String)> {
    let verdicts = bench.past("verdict").await;
    let lists = verdicts
        .iter()
        .filter_map(|verdict| verdict["reasons"].as_array());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = |reason: &Value| {
        let (check, detail) = (text(&reason["check"]), text(&reason["detail"]));
        (text(&reason["reason"]), check, detail)
    };
    lists.flatten().map(reason).collect()
}

/// Spec: [FLOW-34]
#[tokio::test]
async fn case_11_a_claim_without_a_change_is_no_change_and_nothing_is_checked() {
    let claim = |_: &Turn| Reply::text("I finished it, and all tests pass: 6 passed, 0 failed.");
    let bench = ready(&file("strict", ONCE, &["add"]), claim).await;
    bench.run().await;
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "add"), "failing");
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["no_change".to_owned()])]
    );
    assert_eq!(checked(&bench).await, [] as [Value; 0]);
    assert_eq!(bench.tip(BRANCH), bench.tip("main"));
    // What it said is its note to the next one, and no more.
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended[0]["status"], "rejected");
    assert!(
        ended[0]["note"]
            .as_str()
            .unwrap()
            .contains("all tests pass")
    );
}

/// Spec: [FLOW-35] [FLOW-62]
#[tokio::test]
async fn case_12_a_right_fix_is_one_commit_with_just_the_tree_that_was_checked() {
    let bench = ready(&file("strict", "", &["add"]), right).await;
    let base = bench.tip("main");
    bench.complete().await;
    assert_eq!(bench.verdicts().await, [(1, 1, vec![])]);
    assert_eq!(bench.tip("main"), base);
    assert_eq!(bench.tip(&format!("{BRANCH}^")), base);
    let tree = bench.tip(&format!("{BRANCH}^{{tree}}"));
    let verdict = &bench.past("verdict").await[0];
    assert_eq!(verdict["tree"], tree);
    for check in checked(&bench).await {
        assert_eq!(check["tree"], tree, "{check:#}");
    }
    let changed = bench.git(&["diff", "--name-only", "main", BRANCH]);
    assert_eq!(changed, "tally/add.sh");
    assert_eq!(
        bench.git(&["cat-file", "blob", &format!("{BRANCH}:tally/add.sh")]),
        ADD.trim_end()
    );
    let trailers = bench.git(&["log", "-1", "--format=%(trailers:only)", BRANCH]);
    let expected = "Harness-Workflow: w1\nHarness-Iteration: 1\nHarness-Feature: add";
    assert_eq!(trailers, expected);
    bench.stands_at(BRANCH).await;
    // The final verification was of that commit.
    assert_eq!(bench.past("completed").await[0]["head"]["tree"], tree);
}

/// Spec: [FLOW-36] [FLOW-65]
#[tokio::test]
async fn case_13_a_fix_that_breaks_other_features_is_a_regression_and_is_rolled_back() {
    // It makes `report` work, and prints something before each result of the others.
    let broken = [
        ("tally/report.sh", "echo 'total: 3'\n"),
        ("tally/add.sh", "echo plus; exit\n"),
        ("tally/parse.sh", "echo words; exit\n"),
        ("notes/new.txt", "left\n"),
    ];
    let play = move |turn: &Turn| match (&*turn.feature, turn.attempt) {
        ("report", 1) => leaves(turn, &broken),
        // What is left is the base, or it would be another change.
        ("report", 2) => Reply::text("done"),
        _ => right(turn),
    };
    let more = "[policy]\nmax_turns_per_run = 2\nmax_features_per_run = 3\n";
    let bench = ready(&file("bounded", more, &["add", "parse", "report"]), play).await;
    bench.run().await;
    let told = |now: &Value| now["state"] != "running" && now["iterations"].as_u64() >= Some(3);
    let now = bench.until_it("the run to end", told).await;
    assert_eq!(Bench::feature(&now, "add"), "passing");
    assert_eq!(Bench::feature(&now, "parse"), "passing");
    assert_ne!(Bench::feature(&now, "report"), "passing");
    let regression = || vec!["regression".to_owned(), "regression".to_owned()];
    let verdicts = bench.verdicts().await;
    assert_eq!(
        verdicts[..3],
        [(1, 1, vec![]), (2, 1, vec![]), (3, 1, regression())]
    );
    assert_eq!(verdicts[3], (3, 2, vec!["no_change".to_owned()]));
    let reasons = reasons(&bench).await;
    assert_eq!((&*reasons[0].1, &*reasons[1].1), ("add.1", "parse.1"));
    // It fails neither on the base nor by chance.
    let on_base = bench.past("check_ended").await;
    let base = bench.tip(&format!("{BRANCH}^{{tree}}"));
    let on_base = on_base
        .iter()
        .filter(|check| check["n"] == 3 && check["tree"] == *base);
    let on_base: Vec<&Value> = on_base.map(|check| &check["verdict"]).collect();
    assert_eq!(on_base, ["passed", "passed"]);
    // The model was told what both of them said.
    let requests = bench.standin.requests();
    let answer = requests.iter().map(|request| request.json().to_string());
    let answer = answer.filter(|text| text.contains("What you left was not accepted"));
    let answer = answer.last().unwrap();
    for said in [
        "add ... FAILED: got 'plus'",
        "parse ... FAILED: got 'words'",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    bench.stands_at(BRANCH).await;
    // What it left is kept.
    let kept = bench.git(&["cat-file", "blob", "refs/harness/w1/3.1:notes/new.txt"]);
    assert_eq!(kept, "left");
}

/// Spec: [FLOW-37]
#[tokio::test]
async fn case_14_a_check_that_shows_nothing_on_the_base_is_refused() {
    for check in [
        "cmd = [\"true\"]",
        "shell = 'ls tests | grep no_such_test | xargs -r -n 1 sh'",
    ] {
        let text = format!(
            "{}\n[[feature.check]]\n{check}\n",
            file("strict", "", &["add"])
        );
        let bench = Bench::on(super::tally::repository(&text), &[], right).await;
        let made = bench.make(&bench.hash().await).await;
        assert_eq!(made.status, 201, "{made:?}");
        bench.run().await;
        let now = bench.paused("baseline_broken").await;
        let detail = now["detail"].as_str().unwrap();
        assert!(
            detail.contains("add.2: green on the base"),
            "{check}: {detail}"
        );
        assert!(!detail.contains("add.1"), "{check}: {detail}");
        assert_eq!(bench.asked(), 0);
        // Going on changes nothing about it.
        assert_eq!(bench.order("resume", &json!({})).await.status, 200);
        bench.paused("baseline_broken").await;
        assert_eq!(bench.past("iteration_started").await, [] as [Value; 0]);
    }
}

/// Spec: [FLOW-26]
#[tokio::test]
async fn case_15_a_check_that_ends_well_and_shows_nothing_is_vacuous() {
    let check = "\n[[feature.check]]\nshell = \"test -f done.txt && sh tests/parse.sh; test -f done.txt\"\n\
                 must_match = '^parse \\.\\.\\. ok$'\n";
    let text = file("strict", ONCE, &["add"]) + check;
    let play = |turn: &Turn| leaves(turn, &[("tally/add.sh", ADD), ("done.txt", "yes\n")]);
    let bench = ready(&text, play).await;
    bench.run().await;
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "add"), "failing");
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["check_vacuous".to_owned()])]
    );
    let last = checked(&bench).await.pop().unwrap();
    assert_eq!(last["check"], "add.2");
    assert_eq!(last["verdict"], "vacuous");
    assert_eq!(last["end"], json!({"exited": 0}));
}

/// Spec: [FLOW-24]
#[tokio::test]
async fn case_16_a_test_that_passed_before_and_is_gone_renamed_or_skipped_is_lost() {
    // The tests are in the source itself, as in some languages.
    let suite = "for file in src/*.sh; do . ./$file; done\n\
                 for name in $(grep -oh '^test_[a-z]*' src/*.sh); do\n\
                 if $name; then echo \"test $name ... ok\"; else echo \"test $name ... ignored\"; fi\ndone\n";
    let one = "test_one() { true; }\n";
    let words = format!("{one}test_two() {{ true; }}\n");
    let files = [("tests/suite.sh", suite), ("src/words.sh", words.as_str())];
    let text = crate::workflow_ground::file(
        "strict",
        "[[check]]\nid = \"suite\"\ncmd = [\"sh\", \"tests/suite.sh\"]\nexit = \"any\"\n\
         keep = '^test (\\S+) \\.\\.\\. ok$'\n",
        &["one"],
    );
    let left = [
        one.to_owned(),
        format!("{one}test_three() {{ true; }}\n"),
        format!("{one}test_two() {{ false; }}\n"),
    ];
    let play = move |turn: &Turn| {
        let source = &left[turn.attempt - 1];
        leaves(turn, &[("one.txt", "right\n"), ("src/words.sh", source)])
    };
    let bench = ready_on(Arc::new(repository_with(&text, &files)), play).await;
    bench.run().await;
    let now = bench
        .until_it("an end", |now| now["state"] != "running")
        .await;
    assert_ne!(Bench::feature(&now, "one"), "passing");
    let lost = || {
        let detail = "passed before and not now: test_two";
        (
            "test_lost".to_owned(),
            "suite".to_owned(),
            detail.to_owned(),
        )
    };
    assert_eq!(reasons(&bench).await, [lost(), lost(), lost()]);
    assert_eq!(bench.tip(BRANCH), bench.tip("main"));
}

/// Spec: [FLOW-24] [FLOW-35]
#[tokio::test]
async fn what_the_suite_shows_of_an_accepted_tree_it_has_to_show_of_the_next() {
    // `add` passes with the first feature alone; the second one breaks it and has no check that says so.
    let suite = "[[check]]\nid = \"suite\"\ncmd = [\"sh\", \"tests/suite.sh\"]\nexit = \"any\"\n\
                 keep = '^(\\S+) \\.\\.\\. ok$'\n[policy]\nmax_features_per_run = 2\n\
                 max_turns_per_run = 2\nregression = \"global\"\n";
    let play = |turn: &Turn| match (&*turn.feature, turn.attempt) {
        ("parse", 1) => leaves(
            turn,
            &[
                ("tally/parse.sh", super::tally::PARSE),
                ("tally/add.sh", "echo 7\n"),
            ],
        ),
        _ => right(turn),
    };
    let bench = ready(&file("bounded", suite, &["add", "parse"]), play).await;
    bench.complete().await;
    let lost = vec!["test_lost".to_owned()];
    let expected = [(1, 1, vec![]), (2, 1, lost), (2, 2, vec![])];
    assert_eq!(bench.verdicts().await, expected);
    assert_eq!(reasons(&bench).await[0].2, "passed before and not now: add");
}

/// Spec: [FLOW-38]
#[tokio::test]
async fn case_20_a_check_that_fails_once_counts_if_it_passes_as_often_as_is_wanted() {
    // It counts its tries in a file that is no part of the tree.
    let check = |flaky: &str| {
        format!(
            "\n[[feature.check]]\nid = \"moody\"\n\
             shell = 'echo x >> tries.tmp; grep -q total tally/add.sh && [ $(wc -l < tries.tmp) -gt 1 ]'\n{flaky}\n"
        )
    };
    for (flaky, outcome) in [("flaky = 2", "accepted"), ("", "rejected")] {
        let text = file("strict", ONCE, &["add"]) + &check(flaky);
        let bench = ready(&text, right).await;
        bench.run().await;
        let state = if flaky.is_empty() {
            "ready"
        } else {
            "completed"
        };
        bench.until(state).await;
        assert_eq!(bench.past("iteration_ended").await[0]["status"], outcome);
        let mut tries = checked(&bench).await;
        tries.retain(|check| check["check"] == "moody" && check["n"] == 1);
        let verdicts: Vec<&Value> = tries.iter().map(|tried| &tried["verdict"]).collect();
        if flaky.is_empty() {
            assert_eq!(verdicts, ["failed"]);
            assert_eq!(reasons(&bench).await[0].0, "check_failed");
            continue;
        }
        assert_eq!(verdicts, ["failed", "passed", "flaky"]);
        let counts: Vec<&Value> = tries.iter().map(|tried| &tried["counts"]).collect();
        assert_eq!(counts, [false, false, true]);
        // The verdict says so.
        let verdict = &bench.past("verdict").await[0];
        let evidence = verdict["evidence"].as_array().unwrap().iter();
        let moody: Vec<&Value> = evidence.filter(|shown| shown["check"] == "moody").collect();
        assert_eq!(moody.len(), 1);
        assert_eq!(moody[0]["verdict"], "flaky");
    }
}

/// Spec: [FLOW-26] [FLOW-67]
#[tokio::test]
async fn a_check_sees_the_candidate_alone_and_one_that_changes_it_shows_nothing() {
    // The result lies in a file that git ignores: the model has it, the candidate does not.
    let hidden = [("made.tmp", REPORT), ("tally/add.sh", "sh made.tmp\n")];
    let bench = ready(&file("strict", ONCE, &["add"]), move |turn| {
        leaves(turn, &hidden)
    })
    .await;
    bench.run().await;
    bench.until("ready").await;
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["check_failed".to_owned()])]
    );
    bench.stands_at(BRANCH).await;

    // A check that repairs what it judges.
    let check = "\n[[feature.check]]\nshell = \"grep -q total tally/add.sh && echo 'echo 6' > tally/add.sh\"\n";
    let bench = ready(&(file("strict", ONCE, &["add"]) + check), right).await;
    bench.run().await;
    bench.until("ready").await;
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["check_vacuous".to_owned()])]
    );
}
