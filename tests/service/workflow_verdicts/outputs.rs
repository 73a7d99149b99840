//! Checks that take too long, leave something running or write without end.

use std::time::Duration;

use serde_json::Value;

use super::tally::{ONCE, file, ready, right};
use crate::bash::{marked, none_left};
use crate::bounds::took_at_most;
use crate::workflow_ground::Bench;

/// A workflow whose feature has that check besides, after its end.
async fn ended(shell: &str, more: &str, state: &str) -> Bench {
    let check = format!(
        "\n[[feature.check]]\nid = \"own\"\nshell = '''grep -q total tally/add.sh || exit 1; {shell}'''\n{more}\n"
    );
    let bench = ready(&(file("strict", ONCE, &["add"]) + &check), right).await;
    bench.run().await;
    bench.until(state).await;
    bench
}

/// The record of the check on the candidate.
async fn own(bench: &Bench) -> Value {
    let all = bench.past("check_ended").await;
    let own = all
        .iter()
        .find(|check| check["check"] == "own" && check["n"] == 1);
    own.unwrap().clone()
}

/// Spec: [FLOW-72]
#[tokio::test]
async fn case_17_a_check_that_takes_too_long_is_ended_with_all_that_it_began() {
    let (first, second) = (marked(170), marked(171));
    let shell = format!(
        "trap \"\" TERM; sleep {first} & setsid sleep {second} & sleep {first}; sleep {first}"
    );
    let bench = ended(&shell, "time_limit = \"3s\"", "ready").await;
    let check = own(&bench).await;
    assert_eq!(check["verdict"], "timed_out");
    let took = check["ms"].as_u64().unwrap();
    assert!(took >= 3000, "{took}");
    took_at_most(Duration::from_millis(5500), Duration::from_millis(took));
    assert_eq!(
        bench.verdicts().await,
        [(1, 1, vec!["check_timed_out".to_owned()])]
    );
    for sleeping in [first, second] {
        none_left(&sleeping, Duration::ZERO).await;
    }
}

/// Spec: [FLOW-73]
#[tokio::test]
async fn case_18_what_a_check_leaves_running_is_ended_with_it() {
    let (first, second) = (marked(180), marked(181));
    let shell = format!("sleep {first} & (setsid sleep {second} >/dev/null 2>&1 &) ; echo served");
    let bench = ended(&shell, "must_match = \"served\"", "completed").await;
    assert_eq!(own(&bench).await["verdict"], "passed");
    for sleeping in [first, second] {
        none_left(&sleeping, Duration::ZERO).await;
    }
}

/// The most memory that the service had so far, in KiB.
fn peak(bench: &Bench) -> u64 {
    let path = format!("/proc/{}/status", bench.service.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().split(' ').next().unwrap();
    number.parse().unwrap()
}

/// Spec: [FLOW-21] [FLOW-74] [FLOW-100]
#[tokio::test]
async fn case_19_of_fifty_megabytes_one_is_kept_with_its_exact_end() {
    let small = ended("echo some", "", "completed").await;
    let shell = "head -c 50000000 /dev/zero | tr \"\\0\" x; echo; echo the very end";
    let bench = ended(shell, "", "completed").await;
    let check = own(&bench).await;
    assert_eq!(check["verdict"], "passed");
    let tail = check["tail"].as_str().unwrap();
    let end = "\nthe very end\n";
    assert_eq!(tail, "x".repeat(4096 - end.len()) + end);
    let name = format!("{}.output", check["output"].as_str().unwrap());
    let folder = bench.service.home.path().join(".harness/workflow-files");
    let kept = std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(
        (1_000_000..=1024 * 1024).contains(&kept.len()),
        "{}",
        kept.len()
    );
    assert!(kept.starts_with("xxxx") && kept.ends_with(end));
    // What is held does not depend on how much there was.
    let grown = peak(&bench).saturating_sub(peak(&small));
    assert!(grown < 16 * 1024, "{grown} KiB");
}
