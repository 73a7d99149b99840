//! Messages that wait: when they are said, in which order, who sees them, and what survives.

use std::collections::HashMap;
use std::time::Duration;

use harness_standin::{Gate, Hold, Message, MessagesRequest, Reply, Turns};
use serde_json::{Value, json};

use crate::cancel::children;
use crate::checker::check;
use crate::client::{Events, within};
use crate::eventually::eventually;
use crate::program::{Service, slow_search};
use crate::talk::{Talk, asked, asked_for, bare, last_texts, model, said, serving};

/// Makes a reply.
type MakeReply = fn() -> Reply;

/// A call that shows the working folder.
fn look(turn: usize) -> Message {
    Message::new().tool_use(format!("look_{turn}"), "list_dir", json!({"path": "."}))
}

/// The events of queues, without their times, up to the end of the run.
async fn seen_of_queues(events: &mut Events) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let event = events.event().await;
        match event["type"].as_str().unwrap() {
            "run_ended" => return seen,
            "queued" | "withdrawn" | "user" => seen.push(bare(event)),
            _ => {}
        }
    }
}

/// Spec: [CONV-71] [CONV-101]
#[tokio::test]
async fn steering_in_a_tool_is_said_behind_its_result_and_everybody_sees_it() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let (name, content, pattern) = slow_search();
    std::fs::write(service.home.path().join(name), content).unwrap();
    script.push(Reply::tool_calls([
        ("a", "list_dir", json!({"path": "."})),
        ("b", "grep", json!({"path": name, "pattern": pattern})),
    ]));
    script.push(Reply::text("done"));
    let talk = Talk::with(&service);
    let mut ann = talk.follow("ann").await;
    let mut bob = talk.follow("bob").await;
    talk.order("POST", "/prompt", &json!({"content": "go", "by": "ann"}))
        .await;
    // The first process of a service may be one that only looks what the system can do.
    let is_search = |id: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm"));
        name.is_ok_and(|name| name.trim() == "grep")
    };
    let search = eventually("the search", async || {
        children(&service).into_iter().find(is_search)
    })
    .await;
    let item = talk.queue("steer", "turn left").await;
    // It is on record as waiting, and nothing is said between the tools.
    assert_eq!(talk.waiting_texts().await, ["turn left"]);
    assert_eq!(asked(&standin).len(), 1);
    let search = nix::unistd::Pid::from_raw(i32::try_from(search).unwrap());
    nix::sys::signal::kill(search, nix::sys::signal::Signal::SIGKILL).unwrap();

    let seen = seen_of_queues(&mut ann).await;
    assert_eq!(seen_of_queues(&mut bob).await, seen);
    let expected = [
        json!({"type": "user", "content": "go", "run_id": 1, "by": "ann"}),
        json!({"type": "queued", "item": item, "queue": "steer", "content": "turn left",
               "by": "bob"}),
        json!({"type": "user", "content": "turn left", "run_id": 1, "by": "bob",
               "queue": "steer", "item": item}),
    ];
    assert_eq!(seen, expected);
    let next = &asked(&standin)[1];
    assert_eq!(last_texts(next), (2, vec!["turn left".to_owned()]));
    assert_eq!(next["messages"].as_array().unwrap().len(), 3);
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-71] [CONV-74]
#[tokio::test]
async fn steering_waits_for_all_tools_of_the_turn_and_goes_one_at_a_time() {
    for (mode, turns) in [("one_at_a_time", vec![1, 1]), ("all", vec![2, 0])] {
        let gate = Gate::new();
        let turns_of_model = Turns::new(2, |turn, _| match turn {
            0 => look(0).tool_use("second", "list_dir", json!({"path": "."})),
            _ => look(turn),
        });
        let turns_of_model = turns_of_model.hold(0, Hold::End, &gate);
        let (service, standin, _) = serving(turns_of_model, model(200_000), &[]).await;
        let talk = Talk::with(&service);
        talk.set(&json!({"steering_mode": mode})).await;
        talk.prompt("go").await;
        within("the reply", gate.reached()).await;
        talk.queue("steer", "first").await;
        talk.queue("steer", "second").await;
        gate.open();
        talk.idle().await;
        let asked = asked(&standin);
        assert_eq!(asked.len(), 3, "{mode}");
        for (request, (count, results)) in asked[1..].iter().zip(turns.iter().zip([2, 1])) {
            let (found, texts) = last_texts(request);
            assert_eq!((found, texts.len()), (results, *count), "{mode}");
        }
        assert_eq!(said(&asked[2]), ["go", "first", "second"]);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONV-74] [CONV-72]
#[tokio::test]
async fn follow_ups_are_said_only_when_the_run_would_end() {
    for (mode, replies) in [("one_at_a_time", 2), ("all", 1)] {
        let gate = Gate::new();
        // Two turns with calls, then only texts.
        let turns = Turns::new(2, |turn, _| look(turn)).hold(0, Hold::Head, &gate);
        let (service, standin, _) = serving(turns, model(200_000), &[]).await;
        let talk = Talk::with(&service);
        talk.set(&json!({"follow_up_mode": mode})).await;
        let run = talk.prompt("go").await;
        within("the request", gate.reached()).await;
        talk.queue("follow-up", "first").await;
        talk.queue("follow-up", "second").await;
        gate.open();
        talk.idle().await;
        let asked = asked(&standin);
        assert_eq!(asked.len(), 3 + replies, "{mode}");
        for request in &asked[..3] {
            assert_eq!(said(request), ["go"], "{mode}");
        }
        assert_eq!(said(asked.last().unwrap()), ["go", "first", "second"]);
        if replies == 2 {
            assert_eq!(said(&asked[3]), ["go", "first"]);
        }
        // All of it is one run.
        let users = talk.past_of("user").await;
        assert!(users.iter().all(|user| user["run_id"] == run), "{users:?}");
        assert_eq!(talk.past_of("run_ended").await.len(), 1);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONV-72]
#[tokio::test]
async fn steering_goes_before_follow_ups_and_also_keeps_a_run_going() {
    let gate = Gate::new();
    let turns = Turns::new(1, |_, _| Message::new().text("well")).hold(0, Hold::Text, &gate);
    let (service, standin, _) = serving(turns, model(200_000), &[]).await;
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the reply", gate.reached()).await;
    let later = talk.queue("follow-up", "later").await;
    let now = talk.queue("steer", "now").await;
    let listed: Vec<u64> = talk
        .waiting()
        .await
        .iter()
        .map(|i| i["item"].as_u64().unwrap())
        .collect();
    assert_eq!(listed, [now, later]);
    gate.open();
    talk.idle().await;
    let asked = asked(&standin);
    assert_eq!(said(&asked[1]), ["go", "now"]);
    assert_eq!(said(&asked[2]), ["go", "now", "later"]);
    assert_eq!(asked.len(), 3);
}

/// Spec: [CONV-104]
#[tokio::test]
async fn what_is_queued_while_nothing_runs_waits_for_the_next_run() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    talk.queue("follow-up", "at the end").await;
    talk.queue("steer", "mind this").await;
    assert_eq!(talk.waiting_texts().await, ["mind this", "at the end"]);
    assert_eq!(asked(&standin).len(), 0);
    script.extend([Reply::text("one"), Reply::text("two")]);
    talk.say("go").await;
    let asked = asked(&standin);
    assert_eq!(said(&asked[0]), ["go", "mind this"]);
    assert_eq!(asked[0]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(said(&asked[1]), ["go", "mind this", "at the end"]);
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
}

/// Spec: [CONV-105]
#[tokio::test]
async fn a_cancel_keeps_the_queues_unless_it_is_to_clear_them() {
    let gate = Gate::new();
    let turns = Turns::new(2, |_, _| Message::new().text("well"))
        .hold(0, Hold::Head, &gate)
        .hold(1, Hold::Head, &gate);
    let (service, standin, _) = serving(turns, model(200_000), &[]).await;
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the request", gate.reached()).await;
    talk.queue("follow-up", "later").await;
    talk.queue("steer", "now").await;
    talk.order("POST", "/cancel", &json!({})).await;
    assert_eq!(talk.outcome().await.0, "cancelled");
    assert_eq!(talk.waiting_texts().await, ["now", "later"]);

    talk.prompt("again").await;
    // The steering was taken off the queue and is behind the prompt.
    let second = asked_for(&standin, 1).await;
    assert_eq!(said(&second), ["go", "again", "now"]);
    let item = talk.queue("steer", "one more").await;
    let clear = json!({"clear_queue": true, "by": "ann"});
    let answer = talk.order("POST", "/cancel", &clear).await;
    assert_eq!(answer["cancelled"], true);
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    let withdrawn = talk.past_of("withdrawn").await;
    let expected = json!({"type": "withdrawn", "items": [1, item], "by": "ann"});
    assert_eq!(withdrawn, [expected]);
    gate.open();
    talk.say("last").await;
    let last = asked(&standin).pop().unwrap();
    assert_eq!(said(&last), ["go", "again", "now", "last"]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-105]
#[tokio::test]
async fn a_run_that_ends_for_another_reason_keeps_what_waits() {
    // What the model declined is left out.
    let endings: [(&str, MakeReply, &[&str]); 2] = [
        (
            "error",
            || Reply::error(401, "authentication_error", "no"),
            &["go", "now", "later"],
        ),
        (
            "completed",
            || Message::new().text("no").stop_reason("refusal").into(),
            &["now", "later"],
        ),
    ];
    for (outcome, ending, prompts) in endings {
        let (service, standin, script) = Service::scripted(&[]).await;
        let talk = Talk::with(&service);
        let gate = Gate::new();
        script.push(ending().gate_head(&gate));
        talk.prompt("go").await;
        within("the request", gate.reached()).await;
        talk.queue("follow-up", "later").await;
        talk.queue("steer", "now").await;
        gate.open();
        assert_eq!(talk.outcome().await.0, outcome);
        assert_eq!(talk.waiting_texts().await, ["now", "later"]);
        assert_eq!(asked(&standin).len(), 1);
        script.extend([Reply::text("one"), Reply::text("two")]);
        talk.order("POST", "/continue", &json!({})).await;
        talk.idle().await;
        assert_eq!(said(&asked(&standin)[2]), prompts);
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONV-105] [HTTP-62]
#[tokio::test]
async fn a_message_is_withdrawn_by_anybody_and_everybody_is_told() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let mut events = talk.follow("ann").await;
    for text in ["a", "b", "c"] {
        talk.queue("follow-up", text).await;
    }
    let one = talk.order("DELETE", "/queue/2?by=cid", &json!({})).await;
    assert_eq!(one, json!({"withdrawn": [2]}));
    assert_eq!(
        talk.send("DELETE", "/queue/2", &json!({})).await.status,
        404
    );
    assert_eq!(talk.waiting_texts().await, ["a", "c"]);
    let rest = talk.order("DELETE", "/queue", &json!({})).await;
    assert_eq!(rest, json!({"withdrawn": [1, 3]}));
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    let first = bare(events.until("withdrawn").await);
    assert_eq!(
        first,
        json!({"type": "withdrawn", "items": [2], "by": "cid"})
    );
    let second = bare(events.until("withdrawn").await);
    assert_eq!(second, json!({"type": "withdrawn", "items": [1, 3]}));
    script.push(Reply::text("done"));
    talk.say("go").await;
    assert_eq!(said(&asked(&standin)[0]), ["go"]);
    // A number is never given twice.
    assert_eq!(talk.queue("steer", "d").await, 4);
}

/// Spec: [CONV-106]
#[tokio::test]
async fn a_key_is_queued_once_also_after_it_was_said_and_after_a_restart() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    let keyed = json!({"content": "once", "key": "k"});
    let first = talk.order("POST", "/steer", &keyed).await;
    assert_eq!(talk.order("POST", "/steer", &keyed).await, first);
    let other = json!({"content": "other", "key": "k"});
    assert_eq!(talk.send("POST", "/steer", &other).await.status, 422);
    assert_eq!(talk.send("POST", "/prompt", &keyed).await.status, 422);
    script.push(Reply::text("done"));
    talk.say("go").await;
    assert_eq!(talk.order("POST", "/steer", &keyed).await, first);
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    let service = service.restart().await;
    let talk = Talk::with(&service);
    assert_eq!(talk.order("POST", "/steer", &keyed).await, first);
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    assert_eq!(said(&asked(&standin)[0]), ["go", "once"]);
}

/// Spec: [CONV-107] [HTTP-60]
#[tokio::test]
async fn at_most_a_hundred_messages_wait() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    for number in 0..100 {
        let queue = ["steer", "follow-up"][number % 2];
        talk.queue(queue, &number.to_string()).await;
    }
    for queue in ["/steer", "/follow-up"] {
        let full = talk.send("POST", queue, &json!({"content": "x"})).await;
        assert_eq!(full.status, 409, "{full:?}");
        assert_eq!(full.json()["type"], "urn:harness:problem:queue-full");
        assert!(full.body.contains("100"), "{full:?}");
    }
    assert_eq!(talk.waiting().await.len(), 100);
    talk.order("DELETE", "/queue/1", &json!({})).await;
    talk.queue("steer", "fits again").await;
    assert_eq!(talk.waiting().await.len(), 100);
}

/// Spec: [CONV-108]
#[tokio::test]
async fn a_fork_has_nothing_that_waits() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    script.push(Reply::text("done"));
    talk.say("go").await;
    talk.queue("steer", "not for the fork").await;
    let forked = talk.send("POST", "/fork", &json!({})).await;
    assert_eq!(forked.status, 201, "{forked:?}");
    let fork = Talk {
        service: &service,
        id: forked.json()["id"].as_str().unwrap().to_owned(),
    };
    assert_eq!(fork.waiting().await, [Value::Null; 0]);
    script.push(Reply::text("done"));
    fork.say("on").await;
    let last = asked(&standin).pop().unwrap();
    assert_eq!(said(&last), ["go", "on"]);
    assert_eq!(fork.waiting().await, [Value::Null; 0]);
    assert_eq!(talk.waiting_texts().await, ["not for the fork"]);
}

/// Spec: [CONV-109]
#[tokio::test]
async fn two_follow_ups_and_a_steer_survive_a_kill_and_run_once() {
    for resumption in ["/continue", "/prompt"] {
        let gate = Gate::new();
        let turns = Turns::new(1, |_, _| Message::new().text("never")).hold(0, Hold::Text, &gate);
        let (service, standin, _) = serving(turns, model(200_000), &[]).await;
        let talk = Talk::with(&service);
        talk.prompt("go").await;
        within("the reply", gate.reached()).await;
        talk.queue("follow-up", "second").await;
        talk.queue("steer", "first").await;
        talk.queue("follow-up", "third").await;
        let before = talk.waiting().await;
        let service = service.restart().await;
        let talk = Talk::with(&service);
        assert_eq!(talk.waiting().await, before);
        assert_eq!(talk.waiting_texts().await, ["first", "second", "third"]);
        let body = match resumption {
            "/prompt" => json!({"content": "back"}),
            _ => json!({}),
        };
        talk.order("POST", resumption, &body).await;
        talk.idle().await;
        assert_eq!(talk.waiting().await, [Value::Null; 0]);
        let last = asked(&standin).pop().unwrap();
        let mut expected = vec!["go", "first", "second", "third"];
        if resumption == "/prompt" {
            expected.insert(1, "back");
        }
        assert_eq!(said(&last), expected, "{resumption}");
        // One each: the run goes on with the steering, and each follow-up has a turn of its own.
        assert_eq!(asked(&standin).len(), 4);
        let users = talk.past_of("user").await;
        let texts: Vec<_> = users
            .iter()
            .map(|user| user["content"].as_str().unwrap())
            .collect();
        assert_eq!(texts, expected);
        check(&service.journal("default"));
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Number of times that the service is killed at random; `HARNESS_QUEUE_KILLS` sets another number.
const KILLS: u64 = 30;

/// Number of queued messages from which on they are sent before others are queued: a hundred may wait.
const NEARLY_FULL: usize = 90;

/// Lets runs say all that waits.
async fn say_all(talk: &Talk<'_>) {
    loop {
        talk.idle().await;
        let answer = talk.send("POST", "/continue", &json!({})).await;
        if answer.status == 409 {
            let kind = "urn:harness:problem:nothing-to-continue";
            assert_eq!(answer.json()["type"], kind);
            return;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// Quick replies that depend on nothing but the request: a call for what an operator said, and
/// then a text.
fn quick(request: &MessagesRequest) -> Reply {
    let last = request.last_content();
    let is_answer = last.iter().any(|block| block["type"] == "tool_result");
    if is_answer || request.messages().len() % 3 == 1 {
        return Message::new()
            .delta_pause(Duration::from_millis(1))
            .words_per_delta(1)
            .text("one two three")
            .into();
    }
    look(request.messages().len()).into()
}

/// Spec: [CONV-109] [CONV-110]
#[tokio::test]
async fn whenever_the_service_dies_each_queued_message_is_said_once() {
    let kills = std::env::var("HARNESS_QUEUE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {kills} kills");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut service, standin, _) = serving(quick, model(10_000_000), &[]).await;
    let mut sent: HashMap<u64, String> = HashMap::new();
    for cycle in 0..kills {
        let talk = Talk::with(&service);
        if talk.waiting().await.len() > NEARLY_FULL {
            say_all(&talk).await;
        }
        for number in 0..random.u64(1..5) {
            let queue = ["steer", "follow-up"][random.usize(..2)];
            let content = format!("{queue} {cycle} {number}");
            let item = talk.queue(queue, &content).await;
            sent.insert(item, content);
            if number == 0 {
                // There may be nothing left to say by then.
                let answer = talk.send("POST", "/continue", &json!({})).await;
                assert!([200, 409].contains(&answer.status), "{answer:?}");
            }
        }
        tokio::time::sleep(Duration::from_micros(random.u64(..25_000))).await;
        service.kill();
        check(&service.journal("default"));
        service = service.restart().await;
    }
    let talk = Talk::with(&service);
    say_all(&talk).await;
    assert_eq!(talk.waiting().await, [Value::Null; 0]);
    let said_at = |user: &Value| {
        let content = user["content"].as_str().unwrap().to_owned();
        (user["item"].as_u64().unwrap(), content)
    };
    let users = talk.past_of("user").await;
    let told: HashMap<u64, String> = users.iter().map(said_at).collect();
    assert_eq!(told.len(), users.len(), "one was said twice");
    assert_eq!(told, sent);
    // The API was told each once, too, in the order of the journal.
    let last = asked(&standin).pop().unwrap();
    let order: Vec<_> = users.iter().map(|user| said_at(user).1).collect();
    assert_eq!(said(&last), order);
    for queue in ["steer", "follow-up"] {
        let of_queue = users
            .iter()
            .filter(|user| user["content"].as_str().unwrap().starts_with(queue));
        let items: Vec<u64> = of_queue.map(|user| said_at(user).0).collect();
        assert!(items.is_sorted(), "{queue}: {items:?}");
    }
    assert_eq!(standin.violations(), [""; 0]);
    check(&service.journal("default"));
}
