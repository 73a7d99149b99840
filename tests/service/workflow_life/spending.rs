//! A budget of money: it is never exceeded, whatever the model uses and whenever the service is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::workflow_ground::{Bench, ID, PRICED, Turn, file, repository};

/// Prices of the model, in hundredths of a millionth of a dollar for a token: what it writes to the cache, and its
/// reply.
const WRITTEN: u64 = 625;
const REPLY: u64 = 2_500;

/// A model that uses all that it may, until it is granted an end. Counts what the API would charge for each request that
/// it received, whether the reply arrives or not, in hundredths of a millionth of a dollar.
fn greedy(granted: &Arc<AtomicBool>, charged: &Arc<AtomicU64>) -> impl Fn(&Turn) -> Reply + use<> {
    let (granted, charged) = (Arc::clone(granted), Arc::clone(charged));
    move |turn: &Turn| {
        let hundredths = turn.input_tokens * WRITTEN + turn.max_tokens * REPLY;
        charged.fetch_add(hundredths, Ordering::Relaxed);
        let usage = json!({
            "input_tokens": 0, "cache_creation_input_tokens": turn.input_tokens,
            "cache_read_input_tokens": 0, "output_tokens": turn.max_tokens,
        });
        if granted.load(Ordering::Relaxed) {
            return turn.right();
        }
        let name = format!("{}-{}.txt", turn.feature, turn.answered);
        let reply = turn.write(&name, "more\n").usage(usage);
        Reply::from(reply).delay_head(Duration::from_millis(60))
    }
}

fn limited(usd: &str) -> String {
    let text = file(
        "bounded",
        &format!("[budget]\ncost_usd = {usd}\n"),
        &["one", "two"],
    );
    text.replace(
        "mode = \"edits\"",
        &format!("mode = \"edits\"\nmodel = \"{PRICED}\""),
    )
}

/// Spec: [FLOW-42] [FLOW-110] [BUDGET-01] [BUDGET-02]
#[tokio::test]
async fn case_26_a_budget_of_money_is_used_up_but_not_exceeded_and_a_grant_goes_on_with_its_feature()
 {
    let (granted, charged) = (Arc::default(), Arc::default());
    let bench = Bench::ready(&limited("1.0"), &[], greedy(&granted, &charged)).await;
    bench.run().await;
    let now = bench.paused("budget_cost").await;
    let detail = now["detail"].as_str().unwrap();
    assert!(
        detail.contains(
            "the spending limit is reached: the next request to claude-opus-5 may cost $"
        ),
        "{detail}"
    );
    assert!(detail.ends_with("is left; resume with more"), "{detail}");
    let used = now["spent"]["cost_micro_usd"].as_u64().unwrap();
    let charged = || charged.load(Ordering::Relaxed).div_ceil(100);
    assert_eq!(used, charged(), "{now:#}");
    // What is left is too little for a request with a reply of 1,024 tokens.
    assert!((800_000..=1_000_000).contains(&used), "{used}");
    assert_eq!(bench.verdicts().await, []);
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["status"], "interrupted");

    // Without a grant it is where it was.
    assert_eq!(bench.order("resume", &json!({})).await.status, 200);
    bench.paused("budget_cost").await;
    assert_eq!(charged(), used);
    granted.store(true, Ordering::Relaxed);
    let grant = json!({"add_cost_usd": 50.0});
    assert_eq!(bench.order("resume", &grant).await.status, 200);
    let now = bench.until("ready").await;
    assert_eq!(Bench::feature(&now, "one"), "passing");
    let started = bench.past("iteration_started").await;
    let is_same = |one: &Value| one["feature"] == "one";
    assert!(started.iter().all(is_same), "{started:?}");
    assert_eq!(now["limits"]["cost_micro_usd"], 51_000_000);
}

fn is_at_rest(now: &Value) -> bool {
    now["state"] == "paused" || now["state"] == "ready"
}

/// Orders what a person would who wants it to run.
async fn keep_running(bench: &Bench, now: &Value) {
    let order = match now["state"].as_str().unwrap() {
        "paused" => "resume",
        "ready" => "run",
        _ => return,
    };
    let answer = bench.order(order, &json!({})).await;
    assert!([200, 202].contains(&answer.status), "{answer:?}");
}

/// Kills of the next test; `HARNESS_SPENDING_KILLS` sets another number.
const KILLS: u32 = 6;

/// Spec: [BUDGET-01] [BUDGET-03] [BUDGET-07]
#[tokio::test]
async fn a_budget_of_money_is_not_exceeded_over_kills() {
    let kills = std::env::var("HARNESS_SPENDING_KILLS").ok();
    let kills = kills.map_or(KILLS, |text| text.parse().unwrap());
    let seed = std::env::var("SEED").ok().map(|text| text.parse().unwrap());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (granted, charged) = (Arc::default(), Arc::<AtomicU64>::default());
    let mut bench = Bench::with_settings(
        Arc::new(repository(&limited("1.0"))),
        &[],
        // Short replies, so that there are many requests.
        &[("HARNESS_MAX_TOKENS", "100")],
        greedy(&granted, &charged),
    )
    .await;
    bench.initialize().await;
    bench.run().await;
    for _ in 0..kills {
        let asked = bench.asked();
        bench
            .until_it("asked or at rest", |now| {
                bench.asked() > asked || is_at_rest(now)
            })
            .await;
        tokio::time::sleep(Duration::from_millis(random.u64(0..90))).await;
        bench.service.kill();
        bench.service.revive().await;
        keep_running(&bench, &bench.look().await).await;
    }
    let now = loop {
        let now = bench.until_it("at rest", is_at_rest).await;
        if now["reason"] == "budget_cost" {
            break now;
        }
        keep_running(&bench, &now).await;
    };
    let charged = charged.load(Ordering::Relaxed).div_ceil(100);
    let used = now["spent"]["cost_micro_usd"].as_u64().unwrap();
    println!(
        "{} requests, {charged} charged, {used} counted",
        bench.asked()
    );
    assert!(
        charged <= used && used <= 1_000_000,
        "{charged} {used} {now:#}"
    );
    assert!(charged >= 200_000, "{charged}: the budget was hardly used");
}

/// Spec: [BUDGET-07]
#[tokio::test]
async fn requests_that_a_crash_cut_off_are_charged_also_when_their_run_is_given_up() {
    let hanging = |_: &Turn| Reply::text("never").delay_head(Duration::from_secs(600));
    let mut bench = Bench::ready(&limited("10.0"), &[], hanging).await;
    bench.run().await;
    // After the second crash the run is not continued.
    for requests in 1..=2 {
        bench.asked_times(requests).await;
        bench.service.kill();
        bench.service.revive().await;
    }
    bench.asked_times(3).await;
    let ended = bench.past("iteration_ended").await;
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["status"], "interrupted");
    let journal = bench.service.journal(&format!("wf-{ID}-1"));
    let journal = std::fs::read_to_string(journal).unwrap();
    let records = journal
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let reserved = records.filter(|record: &Value| record["type"] == "spending_reserved");
    let reserved: Vec<u64> = reserved
        .map(|record| record["data"]["micro_usd"].as_u64().unwrap())
        .collect();
    assert_eq!(reserved.len(), 2);
    let used = ended[0]["usage"]["cost_micro_usd"].as_u64().unwrap();
    assert_eq!(used, reserved.iter().sum::<u64>());
    assert_eq!(bench.look().await["spent"]["cost_micro_usd"], used);
}

/// Spec: [FLOW-717] [MODEL-806]
#[tokio::test]
async fn no_other_model_is_asked_under_a_budget_of_money() {
    let free = file("bounded", "", &["one", "two"]);
    let free = free.replace(
        "mode = \"edits\"",
        &format!("mode = \"edits\"\nmodel = \"{PRICED}\""),
    );
    for (file, falls_back) in [(limited("50.0"), false), (free, true)] {
        let bench = Bench::ready(&file, &["--refusal-fallback=on"], Turn::right).await;
        bench.run().await;
        bench.until("ready").await;
        let requests = bench.standin.requests();
        let asked = requests
            .iter()
            .filter(|request| request.path == "/v1/messages");
        let betas: Vec<Option<&str>> = asked
            .map(|request| request.header("anthropic-beta"))
            .collect();
        assert!(
            !betas.is_empty() && betas.iter().all(|beta| beta.is_some() == falls_back),
            "{betas:?}"
        );
        assert_eq!(bench.standin.violations(), [""; 0]);
    }
}
