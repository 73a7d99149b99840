//! The service is killed without warning, again and again, under load.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness_standin::{Message, MessagesRequest, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::checker::check;
use crate::client::seq_of;
use crate::eventually::eventually;
use crate::program::Service;
use crate::talk::{model, serving};

/// Number of times that the service is killed; `HARNESS_CRASH_CYCLES` sets another number.
const CYCLES: u64 = 200;

/// Replies that depend on nothing but the request, so that every run ends.
fn reply(request: &MessagesRequest) -> Reply {
    let last = request.last_content();
    let is_answer = last.iter().any(|block| block["type"] == "tool_result");
    let text = last.last().and_then(|block| block["text"].as_str());
    let kind = text.map_or(0, |text| text.len() % 4);
    let pause = Duration::from_millis(2);
    let message = match kind {
        _ if is_answer => Message::new().text("That is it."),
        0 => Message::new().text("I will look.").tool_use(
            format!("call_{}", request.messages().len()),
            "list_dir",
            json!({"path": "."}),
        ),
        1 => Message::new()
            .thinking("hm", "c2lnbmVk")
            .text("one two three four five six seven eight nine ten")
            .words_per_delta(1)
            .delta_pause(pause),
        2 => Message::new().text("short"),
        _ => Message::new()
            .tool_use(
                format!("call_{}a", request.messages().len()),
                "list_dir",
                json!({"path": "."}),
            )
            .tool_use(
                format!("call_{}b", request.messages().len()),
                "read",
                json!({"path": "nowhere"}),
            ),
    };
    message.into()
}

/// The ids that a client that comes back after every crash has seen, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// The prompts by their keys: the conversation, the text, and the run if it was accepted.
type Sent = HashMap<String, (usize, String, Option<u64>)>;

/// Sends a request; nothing if the service died before it answered.
pub(crate) async fn exchange(address: SocketAddr, request: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    tokio::time::timeout(crate::client::LIMIT, reading)
        .await
        .expect("an answer or the end")
        .ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

async fn prompt(
    address: SocketAddr,
    conversation: &str,
    key: &str,
    content: &str,
) -> Option<(u16, Value)> {
    let body = json!({"content": content, "key": key}).to_string();
    let request = format!(
        "POST /v1/conversations/{conversation}/prompt HTTP/1.1\r\nhost: {address}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(address, &request).await
}

/// Follows a conversation until the service dies, from where the client was. Only whole events
/// count.
async fn follow(address: SocketAddr, conversation: String, seen: Seen) -> Option<()> {
    let last = seen.lock().unwrap().last().cloned();
    let resume = match last {
        Some(id) => format!("last-event-id: {id}\r\n"),
        None => String::new(),
    };
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!(
        "GET /v1/conversations/{conversation}/events?after=0 HTTP/1.1\r\nhost: {address}\r\n{resume}\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut buffer = Vec::new();
    while stream.read_buf(&mut buffer).await.ok()? > 0 {
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = buffer.drain(..end + 2).collect();
            let block = String::from_utf8(block).unwrap();
            assert!(!block.contains(r#""type":"reset""#), "{block}");
            // A chunk may begin right before the event.
            let event = block.find("id: ").map(|at| &block[at + 4..]);
            if let Some((id, data)) = event.and_then(|event| event.split_once('\n'))
                && data.starts_with("data: ")
            {
                seen.lock().unwrap().push(id.to_owned());
            }
        }
    }
    None
}

/// Sends every prompt again: what was accepted is not run again, and the rest is run now. How many
/// of them had no answer before.
async fn send_again(service: &Service, conversations: &[String], sent: &mut Sent) -> u64 {
    let mut unanswered = 0;
    for (key, (place, content, accepted)) in sent {
        let conversation = &conversations[*place];
        loop {
            let answer = prompt(service.address, conversation, key, content).await;
            match answer.unwrap() {
                (200, body) => {
                    let run = body["run_id"].as_u64();
                    assert!(
                        accepted.is_none() || *accepted == run,
                        "{key} has another run"
                    );
                    unanswered += u64::from(accepted.is_none());
                    *accepted = run;
                    break;
                }
                (409, _) => service.idle(conversation).await,
                (status, body) => panic!("{status} {body}"),
            }
        }
    }
    unanswered
}

/// Spec: [CONV-46] [CONV-61] [HTTP-20]
#[tokio::test]
async fn no_crash_loses_or_repeats_an_accepted_prompt_or_an_event() {
    let cycles = std::env::var("HARNESS_CRASH_CYCLES").map_or(CYCLES, |set| set.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {cycles} cycles");
    let mut random = fastrand::Rng::with_seed(seed);

    let (mut service, standin, _) = serving(reply, model(10_000_000), &[]).await;
    let mut conversations = vec!["default".to_owned()];
    for _ in 0..2 {
        conversations.push(service.create(&json!({})).await);
    }
    let seen: Vec<Seen> = conversations.iter().map(|_| Seen::default()).collect();
    let mut sent = Sent::new();

    for cycle in 0..cycles {
        let followers: Vec<_> = conversations
            .iter()
            .zip(&seen)
            .map(|(id, seen)| tokio::spawn(follow(service.address, id.clone(), Arc::clone(seen))))
            .collect();
        let address = service.address;
        let mut prompts = Vec::new();
        let answered = Arc::new(tokio::sync::Notify::new());
        for number in 0..random.usize(2..5) {
            let place = random.usize(..conversations.len());
            let conversation = conversations[place].clone();
            let key = format!("{cycle}-{number}");
            let content = "x".repeat(random.usize(1..9));
            sent.insert(key.clone(), (place, content.clone(), None));
            let wait = Duration::from_millis(random.u64(..25));
            let answered = Arc::clone(&answered);
            prompts.push(tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                let answer = prompt(address, &conversation, &key, &content).await;
                answered.notify_one();
                (key, answer)
            }));
        }
        // Every other time in the middle of a run that was accepted.
        if cycle % 2 == 1 {
            crate::client::within("an answer", answered.notified()).await;
        }
        tokio::time::sleep(Duration::from_micros(random.u64(..60_000))).await;
        service.kill();
        for prompt in prompts {
            let (key, answer) = prompt.await.unwrap();
            match answer {
                Some((200, body)) => {
                    sent.get_mut(&key).unwrap().2 = body["run_id"].as_u64();
                }
                // Busy: it was not accepted, and is not sent again.
                Some((409, _)) => drop(sent.remove(&key)),
                // Another test's API may have the port of the dead service by now.
                Some((status, body)) => assert!(body["type"] == "error", "{status} {body}"),
                None => {}
            }
        }
        for follower in followers {
            follower.await.unwrap();
        }
        for id in &conversations {
            let path = service.journal(id);
            if path.exists() {
                check(&path);
            }
        }
        service = service.restart().await;
    }

    let unanswered = send_again(&service, &conversations, &mut sent).await;
    let (mut records, mut replies) = (0, 0);
    for ((id, seen), place) in conversations.iter().zip(&seen).zip(0..) {
        service.idle(id).await;
        let follower = tokio::spawn(follow(service.address, id.clone(), Arc::clone(seen)));
        let checked = check(&service.journal(id));
        records += checked.records.len();
        replies += checked.replies();
        let end = checked.records.len() as u64;
        eventually("the last events", async || {
            seen.lock().unwrap().last().map(|id| seq_of(id)) == Some(end)
        })
        .await;
        follower.abort();
        assert_eq!(*seen.lock().unwrap(), checked.positions_behind(0), "{id}");
        for (key, (of, content, run)) in &sent {
            if *of == place {
                let prompt = Some((content.clone(), run.unwrap()));
                assert_eq!(checked.prompts.get(key).cloned(), prompt, "{key}");
            }
        }
    }
    let listed = service.get("/v1/conversations").await;
    assert_eq!(
        listed["conversations"].as_array().unwrap().len(),
        3,
        "{listed}"
    );
    assert_eq!(standin.violations(), Vec::<String>::new());
    assert!(replies > 0, "no run came as far as a reply");
    println!(
        "{cycles} kills, {} prompts ({unanswered} of them unanswered at first), {replies} replies, \
         {records} records",
        sent.len()
    );
}
