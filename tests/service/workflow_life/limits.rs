//! The bounds of a workflow: tokens, money, equal failures, trees that were seen, and time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::{Reply, Step};
use serde_json::{Value, json};

use crate::workflow_ground::{Bench, ID, Turn, file};

/// Number of tokens of a reply in the next test.
const A_REPLY: u64 = 3000;

/// Spec: [FLOW-42] [FLOW-110] [FLOW-240]
#[tokio::test]
async fn case_26_a_run_that_used_up_the_tokens_is_cancelled_and_a_grant_goes_on_with_its_feature() {
    let is_granted = Arc::new(AtomicBool::new(false));
    let text = file("bounded", "[budget]\ntokens = 5000\n", &["one", "two"]);
    let bench = Bench::ready(&text, &[], endless(&is_granted)).await;
    bench.run().await;
    let now = bench.paused("budget_tokens").await;
    let detail = now["detail"].as_str().unwrap();
    assert!(detail.contains("of 5000 tokens"), "{detail}");
    // The second reply reached the budget; one more may have been under way.
    let used = now["spent"]["tokens"].as_u64().unwrap();
    assert!((2 * A_REPLY..=3 * A_REPLY).contains(&used), "{used}");
    assert!((2..=4).contains(&bench.asked()), "{}", bench.asked());
    assert_eq!(now["limits"]["tokens"], 5000);
    assert_eq!(bench.verdicts().await, []);
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["status"], "interrupted");
    let conversation = format!("/v1/conversations/wf-{ID}-1?tail=0");
    assert_eq!(
        bench.service.get(&conversation).await["summary"]["state"],
        "idle"
    );

    // Without a grant it is where it was.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused("budget_tokens").await;
    is_granted.store(true, Ordering::Relaxed);
    let body = json!({"add_tokens": 1_000_000, "by": "ana"});
    assert_eq!(bench.order("resume", &body).await.status, 200);
    let now = bench.until("ready").await;
    assert_eq!(now["limits"]["tokens"], 1_005_000);
    assert_eq!(Bench::feature(&now, "one"), "passing");
    assert_eq!(Bench::feature(&now, "two"), "failing");
    let started = bench.past("iteration_started").await;
    assert!(
        started.iter().all(|one| one["feature"] == "one"),
        "{started:?}"
    );
    // The meter shows what the second one used up besides.
    assert!(now["spent"]["tokens"].as_u64().unwrap() > used, "{now:#}");
    let usages = bench.past("iteration_ended").await;
    let sum: u64 = usages
        .iter()
        .map(|ended| ended["usage"]["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(now["spent"]["tokens"], sum);
}

/// A model that writes for ever until it is let to end: two replies sooner than any real model, and then each later
/// than a cancel.
fn endless(granted: &Arc<AtomicBool>) -> impl Fn(&Turn) -> Reply + Send + Sync + use<> {
    let granted = Arc::clone(granted);
    let usage = json!({
        "input_tokens": 1000, "output_tokens": 2000,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    });
    let replies = AtomicUsize::new(0);
    move |turn: &Turn| {
        if granted.load(Ordering::Relaxed) {
            return turn.right();
        }
        let name = format!("{}-{}.txt", turn.feature, turn.done);
        let reply = turn.write(&name, "more\n").usage(usage.clone());
        let delay = match replies.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Duration::from_millis(150),
            _ => Duration::from_secs(10),
        };
        Reply::from(reply).delay_head(delay)
    }
}

/// Checks a budget: the workflow pauses, stays paused without a grant, and continues with one.
async fn is_bounded(
    text: &str,
    (reason, said, meter): (&str, &str, &str),
    grant: &Value,
) -> (u64, Value) {
    let granted = Arc::new(AtomicBool::new(false));
    let bench = Bench::ready(text, &[], endless(&granted)).await;
    bench.run().await;
    let now = bench.paused(reason).await;
    let detail = now["detail"].as_str().unwrap();
    assert!(detail.contains(said), "{detail}");
    let used = now["spent"][meter].as_u64().unwrap();
    assert_eq!(bench.verdicts().await, []);
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["status"], "interrupted");
    // Without a grant it is where it was.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused(reason).await;
    granted.store(true, Ordering::Relaxed);
    assert_eq!(bench.order("resume", grant).await.status, 200);
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "one"), "passing");
    let started = bench.past("iteration_started").await;
    assert!(
        started.iter().all(|one| one["feature"] == "one"),
        "{started:?}"
    );
    // The meter is never reset, and the limit has grown.
    assert!(now["spent"][meter].as_u64().unwrap() > used, "{now:#}");
    (used, now)
}

/// Spec: [FLOW-42]
#[tokio::test]
async fn case_26_a_run_that_used_up_the_time_is_cancelled_and_a_grant_goes_on_with_its_feature() {
    let text = file("bounded", "[budget]\nactive = \"4s\"\n", &["one", "two"]);
    let about = ("budget_time", "of 4000 milliseconds of work", "active_ms");
    let (used, now) = is_bounded(&text, about, &json!({"add_active_s": 1000})).await;
    // It is looked at behind each reply and twice a second; what is under way then is cancelled.
    assert!((4000..=13_000).contains(&used), "{used}");
    assert_eq!(now["limits"]["active_ms"], 1_004_000);
}

/// Spec: [FLOW-85]
#[tokio::test]
async fn case_27_a_budget_of_money_for_a_model_without_a_price_is_refused_before_anything_runs() {
    let text = file("strict", "[budget]\ncost_usd = 5.0\n", &["one"]);
    let bench = Bench::start(&text, &[], Turn::right).await;
    let refused = bench.post(&bench.making(&json!({}))).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(
        refused.json()["problems"][0]["place"],
        "budget.cost_usd",
        "{refused:?}"
    );
    assert_eq!(
        bench.service.get("/v1/workflows").await["workflows"],
        json!([])
    );
    assert_eq!(bench.asked(), 0);

    let priced = text.replace(
        "mode = \"edits\"",
        "mode = \"edits\"\nmodel = \"claude-opus-5\"",
    );
    let path = bench.root().join(".harness/workflows/words.toml");
    std::fs::write(path, priced).unwrap();
    let dry = bench.post(&bench.making(&json!({"dry_run": true}))).await;
    assert_eq!(dry.json()["problems"], json!([]), "{dry:?}");
}

/// Spec: [FLOW-23] [FLOW-43]
#[tokio::test]
async fn case_28_three_rejections_that_look_the_same_make_a_feature_stuck_and_the_next_is_taken() {
    // Its times, numbers and folders are others each time.
    let check =
        "echo failed after 0.$RANDOM s in /tmp/tmp.$RANDOM$RANDOM at $(date +%T.%N); exit 1";
    let text = format!(
        "{}\n[[feature.check]]\nshell = '{check}'\n",
        file("bounded", "[policy]\nmax_features_per_run = 2\n", &["one"])
    );
    let text = text
        + &file("", "", &["two"])
            .split_once("\n[[feature]]")
            .map_or(String::new(), |(_, feature)| {
                format!("\n[[feature]]{feature}")
            });
    // Another tree each time.
    let play = |turn: &Turn| {
        if turn.feature == "two" {
            return turn.right();
        }
        let tried = format!("right {}\n", turn.attempt);
        turn.writes(&[("one.txt", &tried)])
    };
    let bench = Bench::ready(&text, &[], play).await;
    bench.run().await;
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "one"), "stuck", "{now:#}");
    assert_eq!(Bench::feature(&now, "two"), "passing", "{now:#}");
    let failed = || vec!["check_failed".to_owned()];
    let verdicts = bench.verdicts().await;
    let expected = [
        (1, 1, failed()),
        (1, 2, failed()),
        (1, 3, failed()),
        (2, 1, vec![]),
    ];
    assert_eq!(verdicts, expected);
    let prints = bench.past("verdict").await;
    assert_eq!(prints[0]["fingerprint"], prints[2]["fingerprint"]);
    assert_ne!(prints[0]["tree"], prints[1]["tree"]);

    // Only the stuck one is left.
    bench.run().await;
    bench.paused("stuck").await;
}

/// Spec: [FLOW-44]
#[tokio::test]
async fn case_29_a_tree_that_was_rejected_before_is_known_and_no_check_runs_on_it() {
    let play = |turn: &Turn| {
        let wrong = if turn.attempt.is_multiple_of(2) {
            "wrong\n"
        } else {
            "bad\n"
        };
        turn.writes(&[("one.txt", wrong)])
    };
    let bench = Bench::ready(&file("strict", "", &["one"]), &[], play).await;
    bench.run().await;
    bench.until("ready").await;
    let why = |reason: &str| vec![reason.to_owned()];
    let verdicts = bench.verdicts().await;
    let expected = [
        (1, 1, why("check_failed")),
        (1, 2, why("check_failed")),
        (1, 3, why("seen_before")),
    ];
    assert_eq!(verdicts, expected);
    let ran = bench.past("check_ended").await;
    assert!(
        !ran.iter()
            .any(|check| check["n"] == 1 && check["attempt"] == 3),
        "{ran:#?}"
    );
    let trees = bench.past("candidate").await;
    assert_eq!(trees[0]["tree"], trees[2]["tree"]);
}

/// Spec: [FLOW-46]
#[tokio::test]
async fn case_31_a_reply_that_stalls_is_cancelled_upstream_and_the_attempt_timed_out() {
    let play = |turn: &Turn| {
        if turn.attempt == 1 {
            Reply::text("I think about it").keep_events(3).hang()
        } else {
            turn.right()
        }
    };
    let text = file("strict", "[budget]\nattempt = \"3s\"\n", &["one"]);
    let bench = Bench::ready(&text, &[], play).await;
    bench.complete().await;
    let verdicts = bench.verdicts().await;
    let expected = [(1, 1, vec!["attempt_timed_out".to_owned()]), (1, 2, vec![])];
    assert_eq!(verdicts, expected);
    let requests = bench.standin.requests();
    let stalled = requests.iter().find(|request| request.method == "POST");
    let stalled = stalled.unwrap();
    assert!(stalled.is_closed(), "the API was not told");
    let took = stalled.closed_at().unwrap() - stalled.at;
    // It hangs for ever by itself; a machine with other work may be late.
    assert!(took < Duration::from_secs(15), "{took:?}");
    // The second attempt was told why.
    assert_eq!(bench.past("attempt_timed_out").await.len(), 1);
    let last = requests.last().unwrap().json().to_string();
    assert!(last.contains("attempt_timed_out"), "{last}");
}

/// Spec: [FLOW-46]
#[tokio::test]
async fn case_31_a_provider_that_is_silent_for_ever_bounds_nothing_but_the_attempt() {
    let silent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&silent);
    let play = move |turn: &Turn| {
        count.fetch_add(1, Ordering::Relaxed);
        Reply::steps("text/event-stream", vec![Step::Hang])
            .header("x-feature", turn.feature.clone())
    };
    let text = file(
        "strict",
        "[budget]\nattempt = \"1s\"\n[policy]\nmax_turns_per_run = 1\n",
        &["one"],
    );
    let bench = Bench::ready(&text, &[], play).await;
    bench.run().await;
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "one"), "failing");
    let timed_out = vec!["attempt_timed_out".to_owned()];
    assert_eq!(bench.verdicts().await, [(1, 1, timed_out)]);
    assert_eq!(silent.load(Ordering::Relaxed), 1);
}
