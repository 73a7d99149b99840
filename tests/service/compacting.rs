//! Long conversations: no request is over the window, and what is summarized, when and how.

use harness_standin::{Gate, Hold, Listing, Message, Model, Reply, Standin, Turns, prose};
use serde_json::{Value, json};

use crate::checker::check;
use crate::client::{Connection, LIMIT, within};
use crate::eventually::eventually;
use crate::program::{MODEL, Service};
use crate::talk::{Talk, asked, model, said, serving};

const WINDOW: u64 = 200_000;
const RESERVE: u64 = 16_384;
/// The window of the shorter tests, and how long a reply of theirs is: four of them are too many.
const SMALL: u64 = 60_000;
const PART: usize = 48_000;

/// Makes a reply.
type MakeReply = fn() -> Reply;

/// A reply of so many characters.
fn long(characters: usize) -> Message {
    Message::new().text(prose(characters))
}

/// True if a request asks for a summary.
fn is_summary(request: &Value) -> bool {
    let text = said(request).concat();
    request["tools"].is_null() && text.contains("<conversation>")
}

/// The inputs of the requests for messages in tokens, as the API counts, each with whether it was
/// one for a summary.
fn inputs(standin: &Standin) -> Vec<(u64, bool)> {
    let requests = standin.requests();
    let posted = requests.iter().filter(|request| request.method == "POST");
    let input = |request: &harness_standin::Received| {
        let body = String::from_utf8_lossy(&request.body);
        let summary = body.contains("<conversation>") && !body.contains("\"tools\":");
        (request.outcome.input.total(), summary)
    };
    posted.map(input).collect()
}

/// No request was over the window, nothing was wrong with one, and each summary that there was
/// came when it was needed and made the next request much shorter.
async fn check_compactions(
    talk: &Talk<'_>,
    standin: &Standin,
    (window, reserve): (u64, u64),
) -> usize {
    assert_eq!(standin.overflows().len(), 0);
    assert_eq!(standin.violations(), [""; 0]);
    let inputs = inputs(standin);
    assert!(inputs.iter().all(|(tokens, _)| *tokens <= window));
    let started = talk.past_of("compaction_started").await;
    let compacted = talk.past_of("compacted").await;
    assert_eq!(started.len(), compacted.len());
    for (started, compacted) in started.iter().zip(&compacted) {
        assert_eq!(started["reason"], "threshold");
        let tokens = started["tokens"].as_u64().unwrap();
        assert!(tokens > window - reserve, "{started}");
        assert_eq!(compacted["tokens_before"], tokens);
        let after = compacted["tokens_after"].as_u64().unwrap();
        assert!(after * 5 <= tokens * 4, "{compacted}");
        assert!(compacted["usage"]["input_tokens"].as_u64().unwrap() > 0);
    }
    compacted.len()
}

/// Sends prompts until that many were answered.
async fn say(talk: &Talk<'_>, prompts: usize) {
    for number in 0..prompts {
        talk.say(&format!("prompt {number}")).await;
    }
}

/// 120 turns of 3,000 estimated tokens in a window of 200,000, or that part of both, with a model
/// that counts so many percent of the estimate. Tells how many summaries there were.
async fn a_hundred_and_twenty_turns(percent: u64, parts: u64) -> usize {
    let characters = 12_000 / usize::try_from(parts).unwrap();
    let (window, reserve) = (WINDOW / parts, RESERVE / parts);
    let turns = Turns::new(120, move |_, _| long(characters));
    let model = model(window).token_percent(percent);
    let (service, standin, _) = serving(turns, model, &[]).await;
    let talk = Talk::with(&service);
    talk.set(&json!({"reserve_tokens": reserve, "keep_tokens": 20_000 / parts}))
        .await;
    say(&talk, 120).await;
    let count = check_compactions(&talk, &standin, (window, reserve)).await;
    let inputs = inputs(&standin);
    let turns = inputs.iter().filter(|(_, is_summary)| !is_summary);
    assert_eq!(turns.count(), 120);
    // As the API counts, none came early: the one before it was near the limit. A summary may
    // take more than one request.
    let begins = inputs.windows(2).filter(|pair| !pair[0].1 && pair[1].1);
    let before: Vec<u64> = begins.map(|pair| pair[0].0).collect();
    assert_eq!(before.len(), count);
    let is_near = |tokens: &u64| *tokens > (window - reserve) * 8 / 10;
    assert!(before.iter().all(is_near), "{before:?}");
    let mut ends = inputs.windows(2).filter(|pair| pair[0].1 && !pair[1].1);
    assert!(ends.all(|pair| pair[1].0 < window / 2));
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    count
}

/// Spec: [CONV-113] [CONV-114]
#[tokio::test]
async fn a_hundred_and_twenty_turns_never_exceed_the_window() {
    let count = a_hundred_and_twenty_turns(100, 1).await;
    assert!((1..=3).contains(&count), "{count}");
}

/// Spec: [CONV-113] [CONV-114]
#[tokio::test]
async fn nor_do_they_where_the_model_counts_more_than_is_estimated() {
    for (percent, fewest, most) in [(130, 2, 4), (200, 3, 7)] {
        let count = a_hundred_and_twenty_turns(percent, 4).await;
        assert!((fewest..=most).contains(&count), "{percent} %: {count}");
    }
}

/// Spec: [CONV-113] [CONV-114]
#[tokio::test]
async fn a_tool_loop_of_300000_tokens_is_compacted_on_its_way() {
    let turns = Turns::new(15, |turn, _| {
        Message::new().tool_use(format!("r{turn}"), "read", json!({"path": "book"}))
    });
    let (service, standin, _) = serving(turns, model(WINDOW), &["--max-turns", "50"]).await;
    std::fs::write(service.home.path().join("book"), prose(80_000)).unwrap();
    let talk = Talk::with(&service);
    talk.say("read it all").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let count = check_compactions(&talk, &standin, (WINDOW, RESERVE)).await;
    assert!((1..=3).contains(&count), "{count}");
    // It is one run, and each call got its result.
    assert_eq!(talk.past_of("run_started").await.len(), 1);
    let results = talk.past_of("tool_result").await;
    assert_eq!(results.len(), 15);
    assert!(results.iter().all(|result| result["isError"] == false));
}

/// Spec: [CONV-113] [CONV-115]
#[tokio::test]
async fn a_batch_of_results_over_the_window_is_summarized_too() {
    let turns = Turns::new(1, |_, _| {
        (0..15).fold(Message::new(), |message, call| {
            message.tool_use(format!("r{call}"), "read", json!({"path": "book"}))
        })
    });
    let flags = ["--tool-execution", "parallel"];
    let (service, standin, _) = serving(turns, model(WINDOW), &flags).await;
    std::fs::write(service.home.path().join("book"), prose(80_000)).unwrap();
    let talk = Talk::with(&service);
    talk.say("read it fifteen times").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(
        check_compactions(&talk, &standin, (WINDOW, RESERVE)).await,
        1
    );
    talk.say("and now?").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
}

/// Spec: [CONV-115]
#[tokio::test]
async fn a_prompt_that_is_longer_than_the_window_fails_openly() {
    let turns = Turns::new(0, |_, _| long(1));
    let (service, standin, _) = serving(turns, model(WINDOW), &[]).await;
    let talk = Talk::with(&service);
    talk.say("hello").await;
    talk.say(&prose(1_200_000)).await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(message.contains("200000"), "{message}");
    assert_eq!(standin.overflows().len(), 0);
    // It is not sent later either: the conversation can be used.
    talk.say("shorter").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(said(&asked(&standin)[1]), ["hello", "shorter"]);
    assert_eq!(talk.past_of("compacted").await, [Value::Null; 0]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-116]
#[tokio::test]
async fn an_unexpected_too_long_is_compacted_and_sent_once_more() {
    let turns = Turns::new(20, |_, _| long(PART));
    let unknown = model(SMALL).listed(Listing::NamesOnly);
    let (service, standin, catalogue) = serving(turns, unknown.clone(), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 6).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(standin.overflows().len(), 1);
    let started = talk.past_of("compaction_started").await;
    assert_eq!(started.len(), 1);
    assert_eq!(started[0]["reason"], "overflow");
    assert_eq!(talk.past_of("compacted").await.len(), 1);
    let (over, summary, again) = {
        let inputs = inputs(&standin);
        let at = inputs
            .iter()
            .position(|(_, is_summary)| *is_summary)
            .unwrap();
        (inputs[at - 1], inputs[at], inputs[at + 1])
    };
    assert!(over.0 > SMALL && summary.0 <= SMALL && again.0 * 2 < over.0);
    assert_eq!(standin.violations(), [""; 0]);

    // A model with so small a window that not even that helps: the run fails, and does not loop.
    let before = asked(&standin).len();
    catalogue.set(vec![unknown.window(1_000)]);
    talk.say("once more").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error", "{message}");
    assert!(asked(&standin).len() - before <= 3, "{before}");
    catalogue.set(vec![model(SMALL)]);
    talk.say("and on").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
}

/// Spec: [CONV-116]
#[tokio::test]
async fn a_too_long_that_compaction_does_not_help_fails_openly() {
    let refuse = || {
        Reply::error(
            400,
            "invalid_request_error",
            "prompt is too long: 9 > 8 maximum",
        )
    };
    let answered = std::sync::atomic::AtomicUsize::new(0);
    let responder = move |request: &harness_standin::MessagesRequest| {
        if request.wants_summary() {
            return Reply::text("A short summary.");
        }
        match answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            3 | 4 => refuse(),
            _ => long(PART).into(),
        }
    };
    let (service, standin, _) = serving(responder, model(1_000_000), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 3).await;
    talk.say("too long").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(message.contains("prompt is too long"), "{message}");
    let requests = asked(&standin);
    let summaries: Vec<bool> = requests.iter().map(is_summary).collect();
    let (first, rest) = summaries.split_at(4);
    assert_eq!(first, [false; 4]);
    // One more, behind a summary that took one request or two.
    assert!(
        matches!(rest, [true, false] | [true, true, false]),
        "{rest:?}"
    );
    assert_eq!(
        talk.past_of("compaction_started").await[0]["reason"],
        "overflow"
    );
    talk.say("next").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(talk.past_of("compacted").await.len(), 1);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-116]
#[tokio::test]
async fn a_window_that_is_full_in_the_middle_of_a_reply_is_compacted() {
    let turns = Turns::new(7, |turn, _| match turn {
        3 | 5 | 6 => Message::new()
            .text("I was about to")
            .stop_reason("model_context_window_exceeded"),
        _ => long(PART),
    });
    let (service, standin, _) = serving(turns, model(1_000_000), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 4).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(talk.past_of("compacted").await.len(), 1);
    // Twice in a row is said and ends the run.
    talk.say("on").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "completed");
    assert!(message.contains("context window"), "{message}");
    assert!(talk.past_of("compaction_started").await.len() <= 2);
    talk.say("still there?").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-117]
#[tokio::test]
async fn a_summary_that_fails_is_told_and_all_is_sent_as_long_as_it_fits() {
    let failures: [(&str, MakeReply); 3] = [
        ("refused", || {
            Reply::error(400, "invalid_request_error", "no summary today")
        }),
        ("empty", || Reply::text(" ")),
        ("not much shorter", || long(150_000).into()),
    ];
    for (name, failure) in failures {
        let turns = Turns::new(20, |_, _| long(PART)).summaries(move |_, _| failure());
        let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
        let talk = Talk::with(&service);
        // Above the reserve, but below the window.
        say(&talk, 5).await;
        assert_eq!(
            talk.outcome().await,
            ("completed".into(), String::new()),
            "{name}"
        );
        let failed = talk.past_of("compaction_failed").await;
        assert_eq!(failed.len(), 1, "{name}");
        assert!(!failed[0]["error"].as_str().unwrap().is_empty());
        assert_eq!(talk.past_of("compacted").await, [Value::Null; 0]);
        // Above the window nothing is sent.
        let before = asked(&standin).len();
        talk.say("too much").await;
        let (outcome, message) = talk.outcome().await;
        assert_eq!(outcome, "error", "{name}");
        assert!(
            message.contains("summar") || message.contains("compact"),
            "{message}"
        );
        let more: Vec<Value> = asked(&standin).split_off(before);
        assert!(more.len() <= 2 && more.iter().all(is_summary), "{name}");
        assert_eq!(standin.overflows().len(), 0, "{name}");
    }
}

/// Spec: [CONV-118]
#[tokio::test]
async fn without_automatic_compaction_nothing_is_summarized() {
    let turns = Turns::new(20, |_, _| long(PART));
    let (service, standin, _) = serving(turns, model(SMALL), &["--auto-compact", "false"]).await;
    let talk = Talk::with(&service);
    say(&talk, 5).await;
    assert_eq!(talk.outcome().await.0, "completed");
    talk.say("too much").await;
    let (outcome, message) = talk.outcome().await;
    assert_eq!(outcome, "error");
    assert!(message.contains("too long"), "{message}");
    assert!(!asked(&standin).iter().any(is_summary));
    talk.set(&json!({"auto_compact": true})).await;
    talk.say("now").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(talk.past_of("compacted").await.len(), 1);
}

/// A service with a conversation whose next run begins with a summary, which stops at the gate.
async fn before_a_summary(gate: &Gate) -> (Service, Standin) {
    let gate = gate.clone();
    let turns = Turns::new(20, |_, _| long(PART)).summaries(move |number, _| {
        let reply = Reply::text("The summary.");
        if number == 0 {
            reply.gate_head(&gate)
        } else {
            reply
        }
    });
    let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 4).await;
    (service, standin)
}

/// Spec: [CONV-119]
#[tokio::test]
async fn a_cancel_ends_a_summary_and_the_run() {
    let gate = Gate::new();
    let (service, standin) = before_a_summary(&gate).await;
    let talk = Talk::with(&service);
    talk.prompt("one more").await;
    within("the summary", gate.reached()).await;
    let snapshot = talk.snapshot().await;
    assert_eq!(
        (&snapshot["state"], &snapshot["message"]),
        (&json!("thinking"), &json!("compacting"))
    );
    talk.order("POST", "/cancel", &json!({})).await;
    assert_eq!(talk.outcome().await.0, "cancelled");
    assert_eq!(talk.past_of("compaction_failed").await.len(), 1);
    let last = standin.requests().pop().unwrap();
    assert!(last.closed(LIMIT).await.is_some());
    talk.say("again").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert_eq!(talk.past_of("compacted").await.len(), 1);
    assert_eq!(standin.violations(), [""; 0]);
    assert_eq!(standin.overflows().len(), 0);
}

/// Spec: [CONV-119]
#[tokio::test]
async fn a_kill_in_the_middle_of_a_summary_loses_nothing() {
    for is_manual in [false, true] {
        let gate = Gate::new();
        let (service, standin) = before_a_summary(&gate).await;
        let talk = Talk::with(&service);
        let mut connection = Connection::open(service.address).await;
        if is_manual {
            let request = compact_request(&service, r#"{"force":true}"#);
            connection.send(request.as_bytes()).await;
        } else {
            talk.prompt("one more").await;
        }
        within("the summary", gate.reached()).await;
        let service = service.restart().await;
        let talk = Talk::with(&service);
        if is_manual {
            assert_eq!(talk.snapshot().await["summary"]["state"], "idle");
        }
        talk.say("again").await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        assert_eq!(talk.past_of("compacted").await.len(), 1);
        let last = said(&asked(&standin).pop().unwrap());
        assert_eq!(last.last().unwrap(), "again");
        if !is_manual {
            assert!(last.contains(&"one more".to_owned()), "{}", last.len());
        }
        check(&service.journal("default"));
        assert_eq!(standin.violations(), [""; 0]);
        assert_eq!(standin.overflows().len(), 0);
    }
}

fn compact_request(service: &Service, body: &str) -> String {
    format!(
        "POST /v1/conversations/default/compact HTTP/1.1\r\nhost: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    )
}

/// Spec: [CONV-120] [HTTP-66]
#[tokio::test]
async fn a_compaction_for_good_replaces_the_journal_and_nothing_else() {
    let turns = Turns::new(20, |_, _| long(PART));
    let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    // An empty conversation, and one far within the window.
    let nothing = talk.order("POST", "/compact", &json!({})).await;
    assert_eq!(nothing["compacted"], false);
    say(&talk, 2).await;
    let nothing = talk.order("POST", "/compact", &json!({})).await;
    assert_eq!(nothing["compacted"], false);
    assert_eq!(nothing["tokens_before"], nothing["tokens_after"]);
    assert!(!asked(&standin).iter().any(is_summary));

    let mut events = talk.follow("ann").await;
    let before = std::fs::read(service.journal("default")).unwrap();
    let order = json!({"force": true, "instructions": "Mind the cat.", "by": "bob"});
    let done = talk.order("POST", "/compact", &order).await;
    assert_eq!(done["compacted"], true);
    let (tokens_before, tokens_after) = (&done["tokens_before"], &done["tokens_after"]);
    assert!(tokens_after.as_u64() < tokens_before.as_u64(), "{done}");
    let home = service.home.path().join(".harness");
    let archive = std::fs::read(home.join(done["archive"].as_str().unwrap())).unwrap();
    assert!(archive.starts_with(&before));
    let summary = asked(&standin).pop().unwrap();
    assert!(is_summary(&summary) && said(&summary).concat().contains("Mind the cat."));

    // Everybody is told, and comes to what there is now.
    within("the end of the stream", async {
        while events.shown().await.is_some() {}
    })
    .await;
    let resume = format!("last-event-id: {}\r\n", events.last_id);
    let mut again = service.follow("default", "", &resume).await;
    let reset = again.until("reset").await;
    let kept = &reset["snapshot"]["history"]["events"];
    assert_eq!(kept[0]["event"]["type"], "checkpoint", "{kept}");
    assert_eq!(kept[0]["event"]["by"], "bob");
    assert_eq!(reset["snapshot"]["state"], "idle");
    let records = check(&service.journal("default")).records;
    assert_eq!(records[0].1["type"], "checkpoint");

    talk.say("after it").await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let next = asked(&standin).pop().unwrap();
    assert!(
        next.to_string().len() < 2 * PART,
        "{}",
        next.to_string().len()
    );
    assert!(said(&next)[0].contains("Summary 0"));
    // The numbers of runs go on, and a later life sends the same.
    let run = talk.past_of("run_started").await.pop().unwrap();
    assert_eq!(run["run_id"], 3);
    let service = service.restart().await;
    let talk = Talk::with(&service);
    talk.say("and on").await;
    let later = asked(&standin).pop().unwrap();
    assert_eq!(harness_standin::prefix_break(&next, &later), None);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-171]
#[tokio::test]
async fn a_key_of_before_a_compaction_for_good_stands_for_its_text() {
    let turns = Turns::new(20, |_, _| long(PART));
    let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    let keyed = async |service: &Service, key: &str, content: &str| {
        let body = json!({"content": content, "key": key}).to_string();
        let answer = service.post("/prompt", &body).await;
        service.idle("default").await;
        answer
    };
    let first = keyed(&service, "k0", "once").await;
    assert_eq!(first.status, 200);
    for key in ["k1", "k2"] {
        assert_eq!(keyed(&service, key, "once").await.status, 200);
    }
    let done = talk
        .order("POST", "/compact", &json!({"force": true}))
        .await;
    assert_eq!(done["compacted"], true);
    let checkpoint = check(&service.journal("default")).records[0].1.clone();
    assert_eq!(checkpoint["type"], "checkpoint");
    assert!(checkpoint.to_string().contains("k0"), "{checkpoint}");
    let asked = standin.requests().len();
    let mut service = service;
    for _ in 0..2 {
        assert_eq!(keyed(&service, "k0", "another").await.status, 422);
        let again = keyed(&service, "k0", "once").await;
        assert_eq!((again.status, &again.body), (200, &first.body));
        service = service.restart().await;
    }
    assert_eq!(standin.requests().len(), asked);
}

/// Spec: [CONV-120]
#[tokio::test]
async fn what_was_summarized_by_itself_is_made_permanent_without_another_word() {
    let turns = Turns::new(20, |_, _| long(PART));
    let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 5).await;
    let before = asked(&standin);
    let compacted = talk.past_of("compacted").await;
    assert_eq!(compacted.len(), 1);
    let done = talk.order("POST", "/compact", &json!({})).await;
    assert_eq!(
        (&done["compacted"], done["archive"].is_string()),
        (&json!(true), true)
    );
    assert_eq!(asked(&standin).len(), before.len());
    // Once more there is nothing to do.
    let again = talk.order("POST", "/compact", &json!({})).await;
    assert_eq!(again["compacted"], false);
    talk.say("on").await;
    let next = asked(&standin).pop().unwrap();
    assert_eq!(
        harness_standin::prefix_break(before.last().unwrap(), &next),
        None
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-121] [HTTP-66] [HTTP-67]
#[tokio::test]
async fn a_compaction_goes_on_without_its_client_and_keeps_others_out() {
    let gate = Gate::new();
    let (service, standin) = before_a_summary(&gate).await;
    let talk = Talk::with(&service);
    let mut connection = Connection::open(service.address).await;
    let request = compact_request(&service, r#"{"force":true}"#);
    connection.send(request.as_bytes()).await;
    within("the summary", gate.reached()).await;
    for (order, body) in [
        ("/prompt", json!({"content": "x"})),
        ("/compact", json!({"force": true})),
        ("/continue", json!({})),
    ] {
        let answer = talk.send("POST", order, &body).await;
        assert_eq!(answer.status, 409, "{order}: {answer:?}");
        assert_eq!(answer.json()["type"], "urn:harness:problem:busy", "{order}");
    }
    // What is queued meanwhile is not lost.
    talk.queue("steer", "kept").await;
    drop(connection);
    let mut events = talk.follow("ann").await;
    gate.open();
    events.until("compacted").await;
    eventually("the new journal", async || {
        let text = std::fs::read_to_string(service.journal("default")).unwrap();
        text.lines()
            .nth(1)
            .unwrap()
            .contains(r#""type":"checkpoint""#)
    })
    .await;
    assert_eq!(talk.waiting_texts().await, ["kept"]);
    talk.say("on").await;
    let next = asked(&standin).pop().unwrap();
    assert_eq!(said(&next)[said(&next).len() - 2..], ["on", "kept"]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-121] [HTTP-67]
#[tokio::test]
async fn a_compaction_that_is_cancelled_or_has_no_summary_changes_nothing() {
    let gate = Gate::new();
    let held = gate.clone();
    let turns = Turns::new(20, |_, _| long(PART)).summaries(move |number, _| match number {
        0 => Reply::text("never").gate_head(&held),
        1 => Reply::error(400, "invalid_request_error", "no summary today"),
        _ => Reply::text("The summary."),
    });
    let (service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    say(&talk, 2).await;
    let force = json!({"force": true});
    let (cancelled, answer) = tokio::join!(
        async {
            within("the summary", gate.reached()).await;
            talk.order("POST", "/cancel", &json!({})).await
        },
        talk.send("POST", "/compact", &force)
    );
    assert_eq!(cancelled["cancelled"], true);
    assert_eq!(answer.status, 409, "{answer:?}");
    assert_eq!(answer.json()["type"], "urn:harness:problem:cancelled");
    assert_eq!(talk.snapshot().await["state"], "idle");
    let answer = talk.send("POST", "/compact", &force).await;
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(answer.body.contains("no summary today"), "{answer:?}");
    assert_eq!(talk.past_of("compaction_failed").await.len(), 2);
    let records = check(&service.journal("default")).records.len();
    assert!(records > 10);
    talk.say("on").await;
    assert_eq!(
        asked(&standin).pop().unwrap()["messages"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    // While a run is going there is none.
    let answer = talk.order("POST", "/compact", &force).await;
    assert_eq!(answer["compacted"], true);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-121]
#[tokio::test]
async fn there_is_no_compaction_for_good_while_a_run_is_going() {
    let gate = Gate::new();
    let turns = Turns::new(1, |_, _| long(100)).hold(0, Hold::Head, &gate);
    let (service, _standin, _) = serving(turns, model(SMALL), &[]).await;
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the request", gate.reached()).await;
    let answer = talk.send("POST", "/compact", &json!({"force": true})).await;
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["type"], "urn:harness:problem:busy");
    gate.open();
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
}

/// Spec: [CONV-122]
#[tokio::test]
async fn thinking_that_is_bound_to_what_stood_before_it_is_not_sent_behind_something_else() {
    for name in ["claude-opus-5-5", "claude-haiku-5-5"] {
        let turns = Turns::new(30, |turn, _| {
            let thought = Message::new().signed_thinking(format!("thought {turn}"));
            if turn % 2 == 0 {
                let look = json!({"path": "."});
                return thought.tool_use(format!("t{turn}"), "list_dir", look);
            }
            thought.text(prose(PART / 2))
        });
        let model = Model::new(name).window(SMALL);
        let (service, standin, catalogue) =
            serving(turns, model.clone(), &["--thinking", "high"]).await;
        let talk = Talk::with(&service);
        say(&talk, 3).await;
        let thoughts =
            |request: &Value| request.to_string().matches(r#""type":"thinking""#).count();
        assert!(thoughts(&asked(&standin).pop().unwrap()) >= 5);
        for patch in [
            json!({"system_prompt": "Be brief."}),
            json!({"active_tools": ["list_dir", "read"]}),
            json!({"thinking": "low"}),
            json!({"system_prompt": null, "active_tools": []}),
        ] {
            talk.set(&patch).await;
            talk.say("on").await;
            assert_eq!(talk.outcome().await.0, "completed", "{name} {patch}");
        }
        // Until it was compacted at least once.
        say(&talk, 3).await;
        assert!(!talk.past_of("compacted").await.is_empty(), "{name}");
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        let done = talk
            .order("POST", "/compact", &json!({"force": true}))
            .await;
        assert_eq!(done["compacted"], true);
        talk.say("on").await;
        let service = service.restart().await;
        let talk = Talk::with(&service);
        talk.say("on").await;
        // Another model takes the conversation over.
        catalogue.set(vec![
            model.clone(),
            Model::new("claude-sonnet-5-5").window(SMALL),
        ]);
        talk.set(&json!({"model": "claude-sonnet-5-5"})).await;
        talk.say("on").await;
        assert_eq!(
            talk.outcome().await,
            ("completed".into(), String::new()),
            "{name}"
        );
        assert_eq!(standin.violations(), [""; 0], "{name}");
        assert_eq!(standin.overflows().len(), 0, "{name}");
    }
}

/// Spec: [CONV-114]
#[tokio::test]
async fn a_window_that_only_a_setting_tells_is_kept_too() {
    let turns = Turns::new(20, |_, _| long(PART));
    let unknown = Model::new(MODEL).listed(Listing::NamesOnly);
    let (service, standin, _) = serving(turns, unknown, &[]).await;
    let talk = Talk::with(&service);
    talk.set(&json!({"context_window": SMALL})).await;
    say(&talk, 6).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    assert!(!talk.past_of("compacted").await.is_empty());
    assert!(inputs(&standin).iter().all(|(tokens, _)| *tokens <= SMALL));
}

/// Spec: [CONV-71]
#[tokio::test]
async fn steering_in_the_middle_of_a_summary_is_said_in_the_request_behind_it() {
    let gate = Gate::new();
    let (service, standin) = before_a_summary(&gate).await;
    let talk = Talk::with(&service);
    talk.prompt("one more").await;
    within("the summary", gate.reached()).await;
    talk.queue("steer", "turn left").await;
    talk.queue("steer", "turn right").await;
    gate.open();
    talk.idle().await;
    let asked = asked(&standin);
    let at = asked.iter().position(is_summary).unwrap();
    assert!(said(&asked[at + 1]).ends_with(&["one more".to_owned(), "turn left".to_owned()]));
    assert_eq!(said(&asked[at + 2]).last().unwrap(), "turn right");
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Number of times that the service is killed; `HARNESS_COMPACT_KILLS` sets another number.
const KILLS: u64 = 10;

/// Spec: [CONV-119] [CONV-120]
#[tokio::test]
async fn a_kill_at_any_moment_of_a_compaction_for_good_loses_nothing() {
    let kills = std::env::var("HARNESS_COMPACT_KILLS");
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {kills} kills");
    let mut random = fastrand::Rng::with_seed(seed);
    let turns = Turns::new(usize::MAX, |turn, _| {
        Message::new().text(format!("reply {turn} ") + &prose(3000))
    });
    let (mut service, standin, _) = serving(turns, model(SMALL), &[]).await;
    let mut archives = 0;
    for cycle in 0..kills {
        let talk = Talk::with(&service);
        for number in 0..3 {
            talk.say(&format!("prompt {cycle} {number}")).await;
        }
        talk.queue("steer", &format!("steer {cycle}")).await;
        let mut connection = Connection::open(service.address).await;
        let request = compact_request(&service, r#"{"force":true}"#);
        connection.send(request.as_bytes()).await;
        tokio::time::sleep(std::time::Duration::from_micros(random.u64(..120_000))).await;
        service.kill();
        let checked = check(&service.journal("default"));
        archives += usize::from(checked.records[0].1["type"] == "checkpoint");
        drop(connection);
        service = service.restart().await;
        let talk = Talk::with(&service);
        assert_eq!(talk.waiting_texts().await, [format!("steer {cycle}")]);
        talk.say(&format!("after {cycle}")).await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
        let next = said(&asked(&standin).pop().unwrap());
        let expected = [format!("after {cycle}"), format!("steer {cycle}")];
        assert!(next.ends_with(&expected), "{next:?}");
        for text in [format!("steer {cycle}"), format!("prompt {cycle} 2")] {
            assert_eq!(
                next.iter().filter(|said| **said == text).count(),
                1,
                "{text}"
            );
        }
    }
    println!("{archives} journals began with a summary");
    let talk = Talk::with(&service);
    let last = talk.past_of("run_started").await.pop().unwrap();
    assert_eq!(last["run_id"], kills * 4);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-124]
#[tokio::test]
async fn summaries_are_written_by_the_model_that_is_set_for_them() {
    let turns = Turns::new(20, |_, _| long(PART));
    let (service, standin, catalogue) = serving(turns, model(SMALL), &[]).await;
    catalogue.set(vec![
        model(SMALL),
        Model::new("claude-summary").window(SMALL),
    ]);
    let talk = Talk::with(&service);
    talk.set(&json!({"compaction_model": "claude-summary"}))
        .await;
    say(&talk, 5).await;
    assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    let asked = asked(&standin);
    assert!(asked.iter().any(is_summary));
    for request in &asked {
        let expected = if is_summary(request) {
            "claude-summary"
        } else {
            MODEL
        };
        assert_eq!(request["model"], expected);
    }
    assert_eq!(standin.violations(), [""; 0]);
}
