//! The orders of operators: a cancel, a pause, the answer to a gate, and changes of the repository.

use std::fs;
use std::time::Duration;

use harness_standin::{Gate, Message, Reply};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bash::{marked, none_left, processes};
use crate::bounds::took_at_most;
use crate::client::{Events, within};
use crate::eventually::eventually;
use crate::program::Service;
use crate::workflow_ground::{BRANCH, Bench, ID, Turn, file, git};

/// Cancels what is under way: the answer comes when nothing of it is left, and another cancel changes nothing.
async fn cancelled(bench: &Bench, began: Instant) {
    let base = bench.tip("main");
    let answer = bench.order("cancel", &json!({"by": "ana"})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["state"], "cancelled");
    took_at_most(Duration::from_secs(10), began.elapsed());
    let tip = bench.tip(BRANCH);
    let accepted = bench.past("iteration_ended").await;
    let accepted = accepted
        .iter()
        .filter(|ended| ended["status"] == "accepted");
    let heads: Vec<&str> = accepted
        .map(|ended| ended["commit"]["commit"].as_str().unwrap())
        .collect();
    assert_eq!(tip, *heads.last().unwrap_or(&&*base), "{heads:?}");
    let worktree = bench.look().await["worktree"].as_str().unwrap().to_owned();
    let changed = git(worktree.as_ref(), &["diff", "--name-only", &tip]);
    assert_eq!(changed, "");
    let again = bench.order("cancel", &json!({"by": "bob"})).await;
    assert_eq!(again.status, 409, "{again:?}");
    let detail = again.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("already cancelled"), "{detail}");
    let before = bench.records().await;
    assert_eq!(bench.order("run", &json!({})).await.status, 409);
    assert_eq!(bench.records().await, before);
    assert_eq!(before.last().unwrap()["type"], "cancelled");
}

/// Spec: [FLOW-50] [FLOW-88]
#[tokio::test]
async fn case_32_a_cancel_during_a_reply_ends_the_reply() {
    let gate = Gate::new();
    let held = gate.clone();
    let play = move |turn: &Turn| match turn.done {
        0 => turn.write("one.txt", "right\n").into(),
        _ => Message::new().text("all done").gate(&held).into(),
    };
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], play).await;
    bench.run().await;
    within("the reply", gate.reached()).await;
    cancelled(&bench, Instant::now()).await;
    assert!(bench.standin.requests().last().unwrap().is_closed());
    let path = format!("/v1/conversations/wf-{ID}-1?tail=0");
    let summary = bench.service.get(&path).await["summary"].clone();
    assert_ne!(summary["state"], "running", "{summary}");
    assert_eq!(bench.verdicts().await, []);
}

/// Spec: [FLOW-50]
#[tokio::test]
async fn case_32_a_cancel_during_a_tool_ends_what_it_runs() {
    let sleep = marked(321);
    let command = format!("sleep {sleep}");
    let play = move |turn: &Turn| turn.call("bash", json!({"command": command})).into();
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], play).await;
    bench.run().await;
    eventually("the command", async || !processes(&sleep).is_empty()).await;
    cancelled(&bench, Instant::now()).await;
    none_left(&sleep, Duration::from_millis(500)).await;
}

/// Spec: [FLOW-50]
#[tokio::test]
async fn case_32_a_cancel_during_a_check_ends_the_check_and_rolls_back() {
    let sleep = marked(322);
    let text = file("strict", "", &["one"])
        + &format!("[[feature.check]]\nshell = 'test -e one.txt && sleep {sleep}'\n");
    let bench = Bench::ready(&text, &[], Turn::right).await;
    bench.run().await;
    bench.step("check:one.2").await;
    eventually("the command", async || !processes(&sleep).is_empty()).await;
    cancelled(&bench, Instant::now()).await;
    none_left(&sleep, Duration::from_millis(500)).await;
    assert_eq!(bench.verdicts().await, []);
    // What the attempt left is kept.
    let kept = bench.git(&["show", &format!("refs/harness/{ID}/1.1:one.txt")]);
    assert_eq!(kept, "right");
}

/// Spec: [FLOW-50]
#[tokio::test]
async fn case_32_a_cancel_during_a_commit_leaves_the_base_or_the_accepted_commit() {
    let journal = |bench: &Bench| {
        let home = bench.service.home.path();
        let path = home.join(format!(".harness/workflows/{ID}.jsonl"));
        std::fs::read_to_string(path).unwrap()
    };
    for record in [r#""type":"verdict""#, r#""step":"accept""#] {
        let bench = Bench::ready(&file("bounded", "", &["one", "two"]), &[], Turn::right).await;
        bench.run().await;
        eventually("the record", async || journal(&bench).contains(record)).await;
        cancelled(&bench, Instant::now()).await;
    }
}

/// Spec: [FLOW-51] [FLOW-88]
#[tokio::test]
async fn case_33_a_pause_behind_the_iteration_lets_it_end_and_nothing_begins_after_it() {
    let gate = Gate::new();
    let held = gate.clone();
    let play = move |turn: &Turn| match turn.done {
        0 => turn
            .write(&format!("{}.txt", turn.feature), "right\n")
            .into(),
        _ => Message::new().text("done").gate(&held).into(),
    };
    let text = file("unlimited", "", &["one", "two"]);
    let bench = Bench::ready(&text, &[], play).await;
    bench.run().await;
    within("the reply", gate.reached()).await;
    let pause = json!({"when": "iteration", "by": "ana"});
    let pausing = bench.order("pause", &pause);
    let opening = async {
        // The order was taken and is not answered yet.
        eventually("the pause", async || {
            !bench.past("pause_requested").await.is_empty()
        })
        .await;
        assert_eq!(bench.look().await["state"], "running");
        // Another start is refused, and none waits.
        assert_eq!(bench.order("run", &json!({})).await.status, 409);
        gate.open();
    };
    let (paused, ()) = tokio::join!(pausing, opening);
    assert_eq!(paused.status, 200, "{paused:?}");
    let now = paused.json();
    assert_eq!(
        (&now["state"], &now["reason"]),
        (&json!("paused"), &json!("operator"))
    );
    assert_eq!(Bench::feature(&now, "one"), "passing");
    let before = bench.records().await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(bench.records().await, before);
    assert_eq!(bench.past("iteration_started").await.len(), 1);
    assert_eq!(bench.order("run", &json!({})).await.status, 409);

    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.until("completed").await;
}

/// Spec: [FLOW-51] [FLOW-88]
#[tokio::test]
async fn case_33_a_pause_at_once_interrupts_and_one_behind_the_attempt_waits_for_its_verdict() {
    for (when, verdicts) in [("now", 0), ("attempt", 1)] {
        let gate = Gate::new();
        let held = gate.clone();
        let play = move |turn: &Turn| match (turn.attempt, turn.done) {
            (1, 0) => turn.write("one.txt", "wrong\n").into(),
            (1, _) => Message::new().text("done").gate(&held).into(),
            _ => turn.right(),
        };
        let bench = Bench::ready(&file("strict", "", &["one"]), &[], play).await;
        bench.run().await;
        within("the reply", gate.reached()).await;
        let pause = json!({"when": when});
        let pausing = bench.order("pause", &pause);
        let opening = async {
            if when == "attempt" {
                // The order was taken and is not answered yet.
                eventually("the pause", async || {
                    !bench.past("pause_requested").await.is_empty()
                })
                .await;
                gate.open();
            }
        };
        let (paused, ()) = tokio::join!(pausing, opening);
        assert_eq!(paused.status, 200, "{paused:?}");
        let now = paused.json();
        assert_eq!(
            (&now["state"], &now["reason"]),
            (&json!("paused"), &json!("operator")),
            "{when}: {now:#}"
        );
        assert_eq!(bench.verdicts().await.len(), verdicts, "{when}");
        assert_eq!(bench.order("resume", &json!({})).await.status, 200);
        if when == "attempt" {
            bench.until("completed").await;
        }
    }
}

/// Spec: [FLOW-52] [FLOW-87]
#[tokio::test]
async fn case_34_of_two_answers_to_a_gate_at_once_one_counts_and_the_other_is_told_it() {
    let marker = marked(34);
    let text = file("strict", "", &["one"])
        + &format!("[[feature.check]]\nshell = 'echo {marker} >> ${{TMPDIR}}/ran; exit 1'\n");
    for _ in 0..5 {
        let bench = Bench::start(&text, &[], Turn::right).await;
        let made = bench.post(&bench.making(&json!({}))).await;
        assert_eq!(made.status, 201, "{made:?}");
        bench.run().await;
        let now = bench.until("waiting_for_approval").await;
        assert_eq!(now["gate"]["gate"], "plan-1");
        // Nothing of the file has run.
        assert_eq!(bench.past("check_ended").await, [] as [Value; 0]);
        let ana = json!({"answer": "approve", "by": "ana"});
        let bob = json!({"answer": "reject", "comment": "not so", "by": "bob"});
        let (ana, bob) = tokio::join!(
            bench.order("gates/plan-1", &ana),
            bench.order("gates/plan-1", &bob)
        );
        let mut statuses = [ana.status, bob.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{ana:?} {bob:?}");
        let (first, second) = if ana.status == 200 {
            ("ana", &bob)
        } else {
            ("bob", &ana)
        };
        let told = second.json();
        assert_eq!(told["type"], "urn:harness:problem:gate-answered");
        assert_eq!(told["answer"]["by"], first, "{told:#}");
        assert_eq!(told["answer"]["approved"], first == "ana");
        let closed = bench.past("gate_closed").await;
        assert_eq!(closed.len(), 1);
        assert_eq!(closed[0]["by"], first);
        let state = if first == "ana" { "ready" } else { "draft" };
        bench.until(state).await;
    }
}

/// Everything that a person's own tree has, and what git knows of it.
fn person(root: &std::path::Path) -> Vec<String> {
    let read = |name: &str| format!("{:?}", std::fs::read(root.join(name)).ok());
    vec![
        git(root, &["--no-optional-locks", "status", "--porcelain"]),
        git(root, &["for-each-ref"]),
        git(root, &["stash", "list"]),
        read(".git/index"),
        read(".git/HEAD"),
        read("README"),
        read("mine"),
    ]
}

/// Spec: [FLOW-61] [FLOW-86]
#[tokio::test]
async fn case_35_a_tree_with_changes_is_refused_in_place_and_nothing_is_touched() {
    let more = "[workspace]\ngit = \"in_place\"\nbranch = \"main\"\n";
    let text = file("strict", more, &["one"]);
    let bench = Bench::start(&text, &[], Turn::right).await;
    let root = bench.root().to_owned();
    assert_eq!(bench.make(&bench.hash().await).await.status, 201);
    for (path, content) in [("README", "changed\n"), ("mine", "new\n")] {
        std::fs::write(root.join(path), content).unwrap();
        let before = (person(&root), bench.records().await);
        let refused = bench.order("run", &json!({})).await;
        assert_eq!(refused.status, 409, "{path}: {refused:?}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(path), "{detail}");
        assert_eq!((person(&root), bench.records().await), before);
        assert_eq!(bench.look().await["state"], "draft");
        std::fs::remove_file(root.join(path)).unwrap();
        git(&root, &["checkout", "--quiet", "--", "."]);
    }
    assert_eq!(bench.asked(), 0);

    // A clean one is worked in.
    bench.run().await;
    bench.until("ready").await;
    bench.complete().await;
    assert_eq!(
        std::fs::read_to_string(root.join("one.txt")).unwrap(),
        "right\n"
    );
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(git(&root, &["log", "--format=%s", "main"]), "one\nbegin");
}

/// Spec: [FLOW-54] [FLOW-62]
#[tokio::test]
async fn case_36_a_commit_of_a_person_during_an_attempt_pauses_and_both_commits_stay() {
    let gate = Gate::new();
    let held = gate.clone();
    let play = move |turn: &Turn| match turn.done {
        0 => turn.write("one.txt", "right\n").into(),
        _ => Message::new().text("done").gate(&held).into(),
    };
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], play).await;
    bench.run().await;
    within("the reply", gate.reached()).await;
    let base = bench.tip(BRANCH);
    let tree = bench.tip(&format!("{base}^{{tree}}"));
    let own = bench.git(&["commit-tree", "-p", &base, "-m", "of a person", &tree]);
    bench.git(&["update-ref", BRANCH, &own, &base]);
    gate.open();
    let now = bench.paused("workspace_changed").await;
    assert_eq!(bench.tip(BRANCH), own);
    let candidate = format!("refs/harness/{ID}/1.1");
    assert_eq!(
        bench.git(&["show", &format!("{candidate}:one.txt")]),
        "right"
    );
    assert_eq!(Bench::feature(&now, "one"), "failing");
    let detail = now["detail"].as_str().unwrap();
    assert!(detail.contains("harness/words"), "{detail}");

    // It stays so until the person has decided.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused("workspace_changed").await;
    bench.git(&["update-ref", "refs/heads/of-a-person", &own]);
    bench.git(&["update-ref", BRANCH, &base, &own]);
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.until("completed").await;
    assert_eq!(bench.tip("refs/heads/of-a-person"), own);
}

/// Spec: [FLOW-60] [FLOW-716]
#[tokio::test]
async fn a_check_that_cannot_be_set_up_pauses_and_a_worktree_left_unfinished_is_made_again() {
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], Turn::right).await;
    let folder = bench.worktree().await.with_file_name(format!("{ID}.check"));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("theirs"), "text").unwrap();
    bench.run().await;
    let now = bench.paused("workspace_changed").await;
    let detail = now["detail"].as_str().unwrap();
    assert!(detail.contains("move it away"), "{detail}");
    // It stays so until the person has decided.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused("workspace_changed").await;
    assert!(folder.join("theirs").exists());
    fs::remove_file(folder.join("theirs")).unwrap();
    // As a crash of git leaves it.
    fs::write(folder.join(".git"), "gitdir: /nowhere\n").unwrap();
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.until("completed").await;
}

/// Spec: [FLOW-69]
#[tokio::test]
async fn case_37_a_second_service_is_refused_the_repository_and_told_who_holds_it() {
    let play = |turn: &Turn| match turn.done {
        0 => turn.write("one.txt", "right\n").into(),
        _ => Reply::text("I think").keep_events(3).hang(),
    };
    let text = file("strict", "", &["one"]);
    let mut first = Bench::ready(&text, &[], play).await;
    first.run().await;
    first.asked_times(2).await;

    let second = Bench::start(&text, &[], Turn::right).await;
    let Bench {
        service, standin, ..
    } = second;
    let second = Bench {
        service,
        standin,
        repository: first.repository.clone(),
    };
    let named = text.replace(
        "[permissions]",
        "[workspace]\nbranch = \"harness/other\"\n\n[permissions]",
    );
    let path = first.root().join(".harness/workflows/other.toml");
    std::fs::write(path, named).unwrap();
    let making = |more: Value| {
        let mut order = second.making(&more);
        order["path"] = json!(".harness/workflows/other.toml");
        order
    };
    let dry = second.post(&making(json!({"dry_run": true}))).await.json();
    let made = second.post(&making(json!({"approve": dry["hash"]}))).await;
    assert_eq!(made.status, 201, "{made:?}");
    let refused = second.order("run", &json!({})).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    let holder = format!("process {}", first.service.id());
    let state = first.service.home.path().join(".harness");
    for part in ["w1", &holder, state.to_str().unwrap()] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    assert_eq!(second.look().await["state"], "draft");

    // The lock goes with the process that holds it.
    first.service.kill();
    second.run().await;
    second.until("ready").await;
    second.complete().await;
}

async fn follow(service: &Service, headers: &str) -> Events {
    let path = format!("/v1/workflows/{ID}/events?after=0");
    Events::open_at(service.address, &path, headers).await
}

/// Spec: [FLOW-81] [FLOW-82]
#[tokio::test]
async fn case_38_a_client_that_comes_back_in_the_middle_gets_exactly_what_it_missed() {
    let bench = Bench::ready(&file("unlimited", "", &["one", "two"]), &[], Turn::right).await;
    // One follows all the time; another leaves after every fifth record and comes back.
    let mut whole = follow(&bench.service, "").await;
    bench.run().await;
    let mut seen: Vec<(String, Value)> = Vec::new();
    loop {
        let headers = match seen.last() {
            Some((id, _)) => format!("last-event-id: {id}\r\n"),
            None => String::new(),
        };
        let mut events = follow(&bench.service, &headers).await;
        let mut few = 0;
        while few < 5
            && !seen
                .last()
                .is_some_and(|(_, last)| last["type"] == "completed")
        {
            let shown = events.shown().await.unwrap();
            if let Some(id) = shown.id {
                assert_eq!(shown.event["type"], "workflow");
                seen.push((id, shown.event["record"].clone()));
                few += 1;
            }
        }
        if few < 5 {
            break;
        }
    }
    let mut all = Vec::new();
    while all.len() < seen.len() {
        let shown = whole.shown().await.unwrap();
        if let Some(id) = shown.id {
            all.push((id, shown.event["record"].clone()));
        }
    }
    assert_eq!(seen, all);
    let records: Vec<Value> = seen.into_iter().map(|(_, record)| record).collect();
    assert_eq!(records, bench.records().await);

    // From any record on, the rest and nothing else.
    for at in [0, 1, all.len() / 2, all.len() - 2] {
        let headers = format!("last-event-id: {}\r\n", all[at].0);
        let mut events = follow(&bench.service, &headers).await;
        for expected in &all[at + 1..] {
            let mut shown = events.shown().await.unwrap();
            while shown.id.is_none() {
                shown = events.shown().await.unwrap();
            }
            assert_eq!(shown.id.as_ref(), Some(&expected.0));
            assert_eq!(shown.event["record"], expected.1);
        }
    }
}
