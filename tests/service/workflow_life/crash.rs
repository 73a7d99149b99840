//! A kill after every record of a workflow: the outcome is the same as without a kill.
//!
//! A few records are tried; `HARNESS_WORKFLOW_KILLS=all` tries all, `13:8` eight milliseconds after the thirteenth.
//!
//! The journal is read each millisecond, so that a kill comes within about two after its record, or eight later:
//! effects of a record may have begun by then, as when a machine dies. A death exactly between a record and its effects
//! is for the tests of the machine (`workflow/machine/tests/crashes.rs`), which die at each record in turn: the program
//! itself has no switch that makes it die.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::Reply;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::bash::{none_left, processes};
use crate::checker::check;
use crate::crash::exchange;
use crate::workflow_ground::{BRANCH, Bench, ID, Turn, file, git, verdict};

/// Time limit of a workflow up to its end, with a kill on the way.
const LIMIT: Duration = Duration::from_secs(180);

/// The moment when a service is killed: a delay after a record.
#[derive(Debug, Clone, Copy)]
struct Kill {
    record: usize,
    delay: Duration,
}

/// The moment when a client cancels the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cancel {
    Never,
    /// While a reply hangs.
    InReply,
    /// While a command runs that has this in its arguments.
    InCommand(&'static str),
    /// As soon as there is a verdict: the branch is about to move.
    BehindVerdict,
}

impl Cancel {
    fn is_due(self, bench: &Bench) -> bool {
        match self {
            Self::Never => false,
            Self::InReply => bench.asked() >= 2,
            Self::InCommand(mark) => !processes(mark).is_empty(),
            Self::BehindVerdict => std::fs::read_to_string(journal(bench))
                .is_ok_and(|text| text.contains(r#""type":"verdict""#)),
        }
    }
}

/// The state of a workflow at its end, and its actions on the way.
#[derive(Debug, PartialEq)]
struct Outcome {
    state: Value,
    features: Vec<(Value, Value)>,
    iterations: Vec<(u64, Value)>,
    verdicts: Vec<(u64, u64, Vec<String>)>,
    /// The trees and messages of the branch.
    log: Vec<String>,
    /// The files of the worktree that differ from its commit.
    changed: String,
    /// The checks that count, by attempt, check and tree.
    checks: BTreeSet<(u64, u64, String, String)>,
    /// The keys of the prompts in each conversation.
    prompts: BTreeMap<String, BTreeSet<String>>,
}

fn journal(bench: &Bench) -> PathBuf {
    let home = bench.service.home.path();
    home.join(format!(".harness/workflows/{ID}.jsonl"))
}

/// The records that a journal has as whole lines.
fn records_in(path: &PathBuf) -> usize {
    let text = std::fs::read(path).unwrap_or_default();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    lines.saturating_sub(1)
}

/// Kills the service as soon as its journal has that record.
async fn kill_behind(path: PathBuf, pid: u32, at: Kill) {
    while records_in(&path) < at.record {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(at.delay).await;
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    // It may have come to its end meanwhile.
    kill(pid, Signal::SIGKILL).unwrap_or_default();
}

/// Sends a request with the token; nothing if the service is dead.
async fn send(bench: &Bench, method: &str, what: &str, body: &Value) -> Option<(u16, Value)> {
    let token = bench.service.home.path().join(".harness/token");
    let token = std::fs::read_to_string(token).unwrap();
    let body = body.to_string();
    let request = format!(
        "{method} /v1/workflows{what} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        bench.service.address,
        token.trim(),
        body.len()
    );
    exchange(bench.service.address, &request).await
}

/// Gives an operator's next order, by the state of the workflow.
async fn order_next(bench: &Bench, now: &Value, cancels: Cancel) -> Option<()> {
    let is_first = now["state"] == "draft";
    let what = format!("/{ID}");
    match now["state"].as_str().unwrap() {
        "draft" | "ready" => {
            let key = if is_first { "first" } else { "second" };
            let run = send(bench, "POST", &(what + "/run"), &json!({"key": key})).await?;
            assert!([202, 409].contains(&run.0), "{run:?}");
        }
        // Somebody has enough of it.
        "running" if cancels.is_due(bench) => {
            let cancel = send(bench, "POST", &(what + "/cancel"), &json!({})).await?;
            assert!([200, 409].contains(&cancel.0), "{cancel:?}");
        }
        _ => tokio::time::sleep(Duration::from_millis(3)).await,
    }
    Some(())
}

/// Drives a workflow to its end as an operator would, whatever happens to the service.
async fn drive(bench: &mut Bench, hash: &str, cancels: Cancel) -> usize {
    let making = bench.making(&json!({"approve": hash}));
    let mut revived = 0;
    loop {
        let told = match send(bench, "GET", &format!("/{ID}"), &json!({})).await {
            Some((404, _)) => send(bench, "POST", "", &making).await.map(|_| false),
            Some((200, now)) => {
                let is_over = ["completed", "cancelled", "paused", "failed"];
                if is_over.contains(&now["state"].as_str().unwrap()) {
                    return revived;
                }
                order_next(bench, &now, cancels).await.map(|()| false)
            }
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        if told.is_none() {
            bench.service.kill();
            bench.service.revive().await;
            revived += 1;
        }
    }
}

async fn outcome(bench: &mut Bench, at: Option<Kill>) -> Outcome {
    let now = bench.look().await;
    let records = bench.records().await;
    let of = |kind: &str| {
        let kind = kind.to_owned();
        let found = records.iter().filter(move |record| record["type"] == *kind);
        found.map(|record| record["data"].clone())
    };
    let number = |data: &Value, key: &str| data[key].as_u64().unwrap();
    let text = |data: &Value, key: &str| data[key].as_str().unwrap().to_owned();
    let mut checks = BTreeSet::new();
    for data in of("check_ended").filter(|data| data["counts"] == true) {
        let (n, attempt) = (number(&data, "n"), number(&data, "attempt"));
        let key = (n, attempt, text(&data, "check"), text(&data, "tree"));
        assert!(checks.insert(key.clone()), "two count: {key:?}");
    }
    let log = bench.git(&["log", "--format=%T %s %an", BRANCH]);
    let worktree = text(&now, "worktree");
    let tip = bench.tip(BRANCH);
    let changed = git(worktree.as_ref(), &["status", "--porcelain", "--ignored"])
        + &git(worktree.as_ref(), &["diff", "--name-status", &tip]);
    let mut outcome = Outcome {
        state: now["state"].clone(),
        features: now["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|feature| (feature["id"].clone(), feature["state"].clone()))
            .collect(),
        iterations: of("iteration_ended")
            .map(|data| (number(&data, "n"), data["status"].clone()))
            .collect(),
        verdicts: of("verdict").map(|data| verdict(&data)).collect(),
        log: log.lines().map(str::to_owned).collect(),
        changed,
        checks,
        prompts: BTreeMap::new(),
    };
    bench.service.kill();
    for (n, status) in &outcome.iterations {
        let conversation = format!("wf-{ID}-{n}");
        // Every prompt, reply and call has one end, and no key stands for two prompts. A run that a dead service left
        // open ends with the next prompt, which a cancelled workflow does not send.
        let checked = check(&bench.service.journal(&conversation));
        let may_be_open = at.is_some() && now["state"] == "cancelled" && status == "interrupted";
        assert!(checked.open_run.is_none() || may_be_open, "{at:?}: {n}");
        let keys = checked.prompts.into_keys().collect();
        outcome.prompts.insert(conversation, keys);
    }
    assert_eq!(bench.standin.violations(), [""; 0]);
    outcome
}

/// One life of a workflow, with a kill or without: its outcome, how often the model was asked, how many
/// records it has.
async fn life(
    text: &str,
    play: fn(&Turn) -> Reply,
    cancels: Cancel,
    at: Option<Kill>,
) -> (Outcome, usize, usize) {
    let mut bench = Bench::start(text, &[], play).await;
    let hash = bench.hash().await;
    let killing = at.map(|at| kill_behind(journal(&bench), bench.service.id(), at));
    let killing = killing.map(tokio::spawn);
    let driven = tokio::time::timeout(LIMIT, drive(&mut bench, &hash, cancels)).await;
    if driven.is_err() {
        let now = bench.look().await;
        panic!("{at:?}: no end within {LIMIT:?}: {now:#}");
    }
    if let Some(killing) = killing {
        killing.abort();
        // What was seen is so after a further kill.
        bench.service.kill();
        bench.service.revive().await;
    }
    let asked = bench.asked();
    let records = records_in(&journal(&bench));
    (outcome(&mut bench, at).await, asked, records)
}

/// The kills for a workflow with that many records: after a few of them, or as `HARNESS_WORKFLOW_KILLS` selects.
fn kills(records: usize, few: usize) -> Vec<Kill> {
    let at = |record, delay| Kill {
        record,
        delay: Duration::from_millis(delay),
    };
    let wanted = std::env::var("HARNESS_WORKFLOW_KILLS").unwrap_or_default();
    if let Some((record, delay)) = wanted.split_once(':') {
        return vec![at(record.parse().unwrap(), delay.parse().unwrap())];
    }
    if wanted == "all" {
        let both = |record| [at(record, 0), at(record, 8)];
        return (1..records).flat_map(both).collect();
    }
    let some = (1..records)
        .step_by(records.div_ceil(few))
        .zip([0, 8].into_iter().cycle());
    some.map(|(record, delay)| at(record, delay)).collect()
}

/// Kills the service behind records of that workflow and compares.
async fn behind_records(
    text: &str,
    play: fn(&Turn) -> Reply,
    cancels: Cancel,
    few: usize,
) -> Outcome {
    let (expected, asked, records) = life(text, play, cancels, None).await;
    println!("{records} records, {asked} requests: {expected:#?}");
    for at in kills(records, few) {
        let (outcome, asked_then, _) = life(text, play, cancels, Some(at)).await;
        assert_eq!(outcome, expected, "{at:?}");
        assert!(asked_then <= asked + 1, "{at:?}: {asked_then} of {asked}");
    }
    expected
}

/// The second feature first breaks the first one.
fn breaking(turn: &Turn) -> Reply {
    match (&*turn.feature, turn.attempt, turn.done) {
        ("report", 1, 0) => turn.write("report.txt", "right\n").into(),
        ("report", 1, 1) => turn
            .call("bash", json!({"command": "cp README add.txt"}))
            .into(),
        ("report", 1, _) => Reply::text("all tests pass"),
        _ => turn.right(),
    }
}

/// Spec: [FLOW-56] [FLOW-59] [FLOW-112]
#[tokio::test]
async fn case_39_a_kill_behind_a_record_changes_no_feature_tree_prompt_or_verdict() {
    let text = file("unlimited", "", &["add", "report"]).replace("sleep *", "cp *");
    let expected = behind_records(&text, breaking, Cancel::Never, 5).await;
    let broken = vec!["regression".to_owned()];
    let verdicts = [(1, 1, vec![]), (2, 1, broken), (2, 2, vec![])];
    assert_eq!(expected.verdicts, verdicts);
    assert_eq!(expected.state, "completed");
}

fn hanging(turn: &Turn) -> Reply {
    match turn.done {
        0 => turn.write("one.txt", "right\n").into(),
        _ => Reply::text("I think about it").keep_events(3).hang(),
    }
}

/// Spec: [FLOW-50] [FLOW-56] [FLOW-59]
#[tokio::test]
async fn case_39_a_kill_behind_a_record_of_a_cancelled_workflow_leaves_it_cancelled_at_the_base() {
    let text = file("strict", "", &["one"]);
    let expected = behind_records(&text, hanging, Cancel::InReply, 4).await;
    assert_eq!(
        (expected.state, expected.verdicts.len()),
        (json!("cancelled"), 0)
    );
    assert_eq!((&*expected.changed, expected.log.len()), ("", 1));
}

/// In the command line of the command that a cancel ends.
const IN_TOOL: &str = "76543.2101";
/// In that of the check.
const IN_CHECK: &str = "76543.2102";

/// Spec: [FLOW-50] [FLOW-56] [FLOW-59]
#[tokio::test]
async fn case_39_a_kill_behind_a_record_of_a_cancel_during_a_tool_leaves_the_base_and_no_command() {
    let play = |turn: &Turn| {
        let command = format!("sleep {IN_TOOL}");
        turn.call("bash", json!({"command": command})).into()
    };
    let text = file("strict", "", &["one"]);
    let expected = behind_records(&text, play, Cancel::InCommand(IN_TOOL), 4).await;
    assert_eq!(
        (expected.state, expected.verdicts.len()),
        (json!("cancelled"), 0)
    );
    assert_eq!((&*expected.changed, expected.log.len()), ("", 1));
    none_left(IN_TOOL, Duration::from_secs(3)).await;
}

/// Spec: [FLOW-50] [FLOW-56] [FLOW-59]
#[tokio::test]
async fn case_39_a_kill_behind_a_record_of_a_cancel_during_a_check_leaves_the_base_and_no_command()
{
    let text = file("strict", "", &["one"])
        + &format!("[[feature.check]]\nshell = 'test -e one.txt && sleep {IN_CHECK}'\n");
    let expected = behind_records(&text, Turn::right, Cancel::InCommand(IN_CHECK), 4).await;
    assert_eq!(
        (expected.state, expected.verdicts.len()),
        (json!("cancelled"), 0)
    );
    assert_eq!((&*expected.changed, expected.log.len()), ("", 1));
    none_left(IN_CHECK, Duration::from_secs(3)).await;
}

/// Spec: [FLOW-50] [FLOW-56] [FLOW-59]
#[tokio::test]
async fn case_39_a_kill_behind_a_record_of_a_cancel_during_a_commit_leaves_the_base_or_the_commit()
{
    let text = file("unlimited", "", &["one", "two"]);
    // The second feature never ends by itself.
    let play = |turn: &Turn| match &*turn.feature {
        "one" => turn.right(),
        _ => Reply::text("I think about it").keep_events(3).hang(),
    };
    let (_, _, records) = life(&text, play, Cancel::BehindVerdict, None).await;
    for at in kills(records, 4) {
        let (outcome, _, _) = life(&text, play, Cancel::BehindVerdict, Some(at)).await;
        // Whether the cancel or the commit came first is not the same each time.
        let commits = outcome.log.len() - 1;
        assert!(commits <= 1, "{at:?}: {outcome:#?}");
        assert_eq!(
            (&outcome.state, &*outcome.changed),
            (&json!("cancelled"), ""),
            "{at:?}"
        );
        let wanted = if commits == 1 { "passing" } else { "failing" };
        assert_eq!(outcome.features[0].1, wanted, "{at:?}: {outcome:#?}");
        assert_eq!(outcome.verdicts, [(1, 1, vec![])], "{at:?}");
    }
}

/// It changes a protected file by a command, then does without.
fn tampering(turn: &Turn) -> Reply {
    match (turn.attempt, turn.done) {
        (1, 0) => turn
            .call("bash", json!({"command": "cp README tests/t.sh"}))
            .into(),
        (1, 1) => turn.write("one.txt", "right\n").into(),
        (1, _) => Reply::text("done"),
        _ => turn.right(),
    }
}

/// Spec: [FLOW-39] [FLOW-56] [FLOW-111]
#[tokio::test]
async fn case_39_a_kill_while_protected_files_are_restored_makes_nobody_forget_them() {
    let text = file("strict", "", &["one"]).replace("sleep *", "cp *");
    let (expected, _, _) = life(&text, tampering, Cancel::Never, None).await;
    let changed = vec!["protected_changed".to_owned()];
    assert_eq!(expected.verdicts, [(1, 1, changed), (1, 2, vec![])]);
    // The first snapshot, by its record.
    let mut bench = Bench::start(&text, &[], tampering).await;
    let hash = bench.hash().await;
    drive(&mut bench, &hash, Cancel::Never).await;
    let records = bench.records().await;
    let snapshot = records.iter().position(|record| {
        record["type"] == "step_started" && record["data"]["step"] == "snapshot"
    });
    let record = snapshot.unwrap() + 1;
    let is_all = std::env::var("HARNESS_WORKFLOW_KILLS").is_ok_and(|value| value == "all");
    let every = if is_all { 4 } else { 30 };
    for delay in (0..90).step_by(every) {
        let at = Kill {
            record,
            delay: Duration::from_millis(delay),
        };
        let (outcome, _, _) = life(&text, tampering, Cancel::Never, Some(at)).await;
        assert_eq!(outcome, expected, "{at:?}");
    }
}

/// Spec: [FLOW-57] [FLOW-113]
#[tokio::test]
async fn case_39_a_run_that_goes_on_behind_a_kill_has_the_rules_that_it_had() {
    let text = file("strict", "", &["one"]);
    let play = |turn: &Turn| match turn.done {
        0 => turn.write("one.txt", "right\n").into(),
        _ => Reply::text("I think about it").keep_events(3).hang(),
    };
    let mut bench = Bench::ready(&text, &[], play).await;
    bench.run().await;
    bench.asked_times(2).await;
    bench.service.kill();
    bench.service.revive().await;
    bench.asked_times(3).await;
    bench.service.kill();
    let journal = check(&bench.service.journal(&format!("wf-{ID}-1")));
    let started = journal.records.iter().map(|(_, record)| record);
    let started = started.filter(|record| record["type"] == "run_started");
    let rules: Vec<&Value> = started.map(|record| &record["data"]["rules"]).collect();
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0]["deny"][0], "edit(tests/**)");
    assert_eq!(rules[0], rules[1]);
}

/// Spec: [FLOW-57]
#[tokio::test]
async fn case_39_a_run_that_two_kills_left_is_given_up_and_the_feature_is_tried_again() {
    let text = file("strict", "", &["one"]);
    let asked = AtomicUsize::new(0);
    let play = move |turn: &Turn| match (turn.done, asked.load(Ordering::SeqCst)) {
        (0, _) => turn.write("one.txt", "right\n").into(),
        (_, left) if left < 2 => {
            asked.fetch_add(1, Ordering::SeqCst);
            Reply::text("I think about it").keep_events(3).hang()
        }
        _ => Reply::text("done"),
    };
    let mut bench = Bench::ready(&text, &[], play).await;
    bench.run().await;
    for asked in [2, 3] {
        bench.asked_times(asked).await;
        bench.service.kill();
        bench.service.revive().await;
    }
    bench.until("completed").await;
    let ends = bench.past("step_ended").await;
    let ends = ends.iter().filter(|end| end["step"] == "converse");
    let outcomes: Vec<&Value> = ends.map(|end| &end["outcome"]).collect();
    assert_eq!(outcomes, ["interrupted", "done"]);
    assert_eq!(bench.verdicts().await.len(), 1);
}
