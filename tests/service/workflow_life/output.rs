//! The events of a check while it runs.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bash::marked;
use crate::client::{Events, within};
use crate::workflow_ground::{Bench, ID, Turn};

/// A workflow with one feature, whose check writes this, and with what the model did waits for a signal.
async fn bench(says: &str, marker: &str) -> Bench {
    let text = format!(
        "[workflow]\nobjective = \"One file\"\nmode = \"unlimited\"\n\n\
         [permissions]\nmode = \"edits\"\nasks = \"deny\"\n\n\
         [[feature]]\nid = \"one\"\ndescription = \"one.txt says right\"\nsteps = [\"write it\"]\n\
         [[feature.check]]\nid = \"slow\"\n\
         shell = ''': {marker}; trap go=1 USR1; {says}\n\
         [ ! -e one.txt ] || until [ $go ]; do sleep 0.02; done\n\
         echo over; grep right one.txt'''\n",
    );
    Bench::ready(&text, &[], Turn::right).await
}

/// Lets the check of that name continue, if it runs.
fn open(marker: &str) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let is_check = line.starts_with("bash --norc") && line.contains(marker);
        // Sooner, the signal would end it.
        if is_check && catches(&entry.path(), Signal::SIGUSR1) {
            let pid = entry.file_name().into_string().unwrap().parse().unwrap();
            // It may have ended meanwhile.
            kill(Pid::from_raw(pid), Signal::SIGUSR1).unwrap_or_default();
        }
    }
}

/// True if a process, by its folder, handles a signal.
fn catches(process: &Path, signal: Signal) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (signal as u32 - 1)) != 0)
}

/// Lets all checks continue until the workflow is done.
async fn complete(bench: &Bench, marker: &str) {
    let is_done = |now: &Value| {
        open(marker);
        now["state"] == "completed"
    };
    bench.until_it("completed", is_done).await;
}

async fn follow(bench: &Bench) -> Events {
    let path = format!("/v1/workflows/{ID}/events");
    Events::open_at(bench.service.address, &path, "").await
}

/// The pieces that come of the check of the first attempt, until they are all that is waited for.
async fn pieces(events: &mut Events, is_all: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let mut pieces = Vec::new();
    while !is_all(&pieces) {
        let event = within("what the check shows", events.event()).await;
        assert_ne!(event["record"]["type"], "phase_ended", "{pieces:#?}");
        if event["type"] == "step_output" && event["iteration"] == 1 {
            pieces.push(event);
        }
    }
    pieces
}

/// All that the pieces show, without what was left out.
fn text(pieces: &[Value]) -> String {
    let texts = pieces.iter().map(|piece| piece["text"].as_str().unwrap());
    texts.collect()
}

/// Spec: [FLOW-114] [FLOW-116]
#[tokio::test]
async fn all_clients_see_what_a_running_check_writes_and_a_late_one_its_end() {
    let marker = marked(114);
    let bench = bench("echo one; echo two", &marker).await;
    let (mut first, mut second) = (follow(&bench).await, follow(&bench).await);
    bench.run().await;
    let begun = |pieces: &[Value]| text(pieces).ends_with("two\n");
    let seen = pieces(&mut first, begun).await;
    assert_eq!(seen, pieces(&mut second, begun).await);
    assert_eq!(text(&seen), "one\ntwo\n");
    let piece = &seen[0];
    assert_eq!(
        (&piece["step"], &piece["attempt"], &piece["offset"]),
        (&"check:slow".into(), &1.into(), &0.into())
    );
    assert_eq!(piece.get("timestamp"), None);
    // One that comes now has all of it in one piece, and then what all have.
    let mut late = follow(&bench).await;
    let told = pieces(&mut late, begun).await;
    assert_eq!((told.len(), &told[0]["offset"]), (1, &0.into()));
    assert_eq!(text(&told), "one\ntwo\n");
    open(&marker);
    let over = |pieces: &[Value]| text(pieces).ends_with("over\nright\n");
    for events in [&mut first, &mut second, &mut late] {
        let rest = pieces(events, over).await;
        assert_eq!(text(&rest), "over\nright\n");
        assert_eq!(rest[0]["offset"], 8);
        // Its record comes behind all of it.
        let record = events.until("workflow").await;
        assert_eq!(record["record"]["type"], "check_ended");
    }
    complete(&bench, &marker).await;
    // Nothing of it is on record, and nobody is shown it again.
    let past = bench.records().await;
    assert!(past.iter().all(|record| record["type"] != "step_output"));
    let mut after = follow(&bench).await;
    let attached = after.event().await;
    assert_eq!(attached["type"], "attached");
    let next = after.event().await;
    assert_eq!(next["type"], "presence");
}

/// Spec: [FLOW-114]
#[tokio::test]
async fn of_a_check_that_writes_faster_than_it_is_shown_the_end_is_shown() {
    let marker = marked(115);
    let bench = bench("seq 1 300000", &marker).await;
    let mut events = follow(&bench).await;
    bench.run().await;
    let is_all = |pieces: &[Value]| text(pieces).ends_with("\n300000\n");
    let seen = pieces(&mut events, is_all).await;
    let mut end = 0;
    for piece in &seen {
        let (offset, text) = (piece["offset"].as_u64(), piece["text"].as_str());
        let (offset, text) = (offset.unwrap(), text.unwrap());
        assert!(offset >= end, "a piece was shown twice");
        assert!(text.len() <= 8 * 1024, "{}", text.len());
        end = offset + text.len() as u64;
    }
    let whole: usize = (1..=300_000).map(|it: u32| it.to_string().len() + 1).sum();
    assert_eq!(end, whole as u64);
    // The check is not held up by those who look on, and its end is as ever.
    complete(&bench, &marker).await;
}
