//! Many conversations at once.

use std::time::Duration;

use futures_util::future::join_all;
use harness_standin::{Gate, Message, MessagesRequest, Reply, Standin};
use serde_json::json;
use tokio::time::Instant;

use crate::checker::check;
use crate::client::{LIMIT, within};
use crate::program::Service;

/// Repeats the last message.
fn echo(request: &MessagesRequest) -> Reply {
    let said = request.last_content();
    let text = said[0]["text"].as_str().unwrap_or_default();
    Message::new().text(format!("I heard {text}")).into()
}

/// Spec: [HTTP-28] [JRNL-13]
#[tokio::test]
async fn fifty_conversations_at_once_are_apart_and_one_whose_api_hangs_delays_none() {
    let gate = Gate::new();
    let held = gate.clone();
    let standin = Standin::start(move |request: &MessagesRequest| -> Reply {
        match request.last_content()[0]["text"].as_str() {
            Some("hang") => Message::new().gate(&held).text("late").into(),
            _ => echo(request),
        }
    })
    .unwrap();
    let mut service = Service::start(&standin.base_url(), &[]).await;
    service.submit("hang").await;
    within("the request that hangs", gate.reached()).await;
    let empty = json!({});
    let ids = join_all((0..50).map(|_| service.create(&empty))).await;
    let began = Instant::now();
    for round in 0..3 {
        let say = async |id: &str| {
            let path = format!("/v1/conversations/{id}/prompt");
            let body = json!({"content": format!("{id} {round}")}).to_string();
            let answer = service.post(&path, &body).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            service.at_rest(id).await;
        };
        let runs = join_all(ids.iter().map(|id| say(id)));
        let ended = tokio::time::timeout(8 * LIMIT, runs).await;
        ended.expect("the end of fifty runs");
    }
    println!("150 runs beside one that hangs: {:?}", began.elapsed());
    let default = service.get("/v1/conversations/default?tail=0").await;
    assert_eq!(default["summary"]["state"], "running");
    service.kill();
    for id in &ids {
        let text = std::fs::read_to_string(service.journal(id)).unwrap();
        let journal = check(&service.journal(id));
        assert_eq!(journal.open_run, None);
        for round in 0..3 {
            assert!(text.contains(&format!("I heard {id} {round}")), "{text}");
        }
        let others = ids.iter().filter(|other| *other != id);
        for other in others {
            assert!(!text.contains(other.as_str()), "{other} in {id}");
        }
    }
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [HTTP-11] [EVENT-16] [MODEL-71]
#[tokio::test]
async fn of_twenty_runs_at_once_each_client_gets_all_of_its_own() {
    const PIECES: usize = 50;
    let reply = |request: &MessagesRequest| -> Reply {
        let said = request.last_content();
        let said = said[0]["text"].as_str().unwrap();
        Message::new()
            .text(format!("{said} ").repeat(PIECES))
            .words_per_delta(1)
            .delta_pause(Duration::from_millis(2))
            .into()
    };
    let standin = Standin::start(reply).unwrap();
    let service = Service::start(&standin.base_url(), &[]).await;
    let empty = json!({});
    let ids = join_all((0..20).map(|_| service.create(&empty))).await;
    let mut clients = Vec::new();
    for id in ids.iter().flat_map(|id| [id; 3]) {
        clients.push((id, service.follow(id, "", "").await));
    }
    let prompts = ids.iter().map(async |id| {
        let path = format!("/v1/conversations/{id}/prompt");
        let body = json!({"content": id}).to_string();
        assert_eq!(service.post(&path, &body).await.status, 200);
    });
    join_all(prompts).await;
    let followed = clients.into_iter().map(async |(id, mut client)| {
        let (mut grown, mut texts) = (String::new(), Vec::new());
        loop {
            let event = client.event().await;
            match event["type"].as_str() {
                Some("delta") => {
                    assert_eq!(event["offset"], grown.len(), "{id}");
                    grown += event["text"].as_str().unwrap();
                }
                Some("text") => texts.push(event["content"].clone()),
                Some("run_ended") => break,
                _ => {}
            }
        }
        let wanted = format!("{id} ").repeat(PIECES);
        assert_eq!((texts, grown), (vec![json!(wanted)], wanted));
    });
    let ended = tokio::time::timeout(8 * LIMIT, join_all(followed)).await;
    ended.expect("the end of all runs");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [HTTP-04]
#[tokio::test]
async fn of_a_hundred_prompts_at_once_one_runs_and_the_others_are_refused() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Message::new().gate(&gate).text("one"));
    let prompts =
        (0..100).map(async |number: u32| service.prompt(&number.to_string()).await.status);
    let answers = within("all answers", join_all(prompts)).await;
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|status| **status == 409).count(), 99);
    gate.open();
    service.idle("default").await;
    assert_eq!(standin.requests().len(), 1);
}

/// Spec: [HTTP-11] [HTTP-20]
#[tokio::test]
async fn a_run_goes_on_without_clients_and_who_comes_later_sees_it_all() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(
        Message::new()
            .text("first part")
            .gate(&gate)
            .text("the rest"),
    );
    let clients = [service.events().await, service.events().await];
    service.submit("go").await;
    within("the first part", gate.reached()).await;
    drop(clients);
    gate.open();
    service.idle("default").await;
    let mut late = service.follow("default", "?after=0", "").await;
    let mut texts = Vec::new();
    loop {
        let event = late.event().await;
        match event["type"].as_str() {
            Some("text") => texts.push(event["content"].clone()),
            Some("run_ended") => break,
            _ => {}
        }
    }
    assert_eq!(texts, ["first part", "the rest"]);
}
