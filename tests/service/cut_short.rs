//! The service is killed in the middle of replies: what was on a screen is in a file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness_standin::{Gate, Message, MessagesRequest, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::checker::check;
use crate::eventually::eventually;
use crate::program::Service;
use crate::talk::{asked, model, serving};

/// Number of times that the service is killed; `HARNESS_REPLY_KILLS` sets another number.
const KILLS: u64 = 50;
/// Number of clients that follow the conversation.
const CLIENTS: usize = 3;

/// The model's answer to prompt `number`: thinking for every second one, and a text.
fn words(number: u64, what: &str) -> String {
    let words = (0..40).map(|word| format!("{what}{number}.{word}"));
    words.collect::<Vec<_>>().join(" ")
}

fn reply(request: &MessagesRequest) -> Reply {
    let last = request.last_content();
    let text = last.last().and_then(|block| block["text"].as_str());
    let number = text.and_then(|text| text.strip_prefix("say ")?.parse().ok());
    let number: u64 = number.unwrap_or_default();
    let message = Message::new()
        .words_per_delta(1)
        .delta_pause(Duration::from_millis(1));
    let message = if number.is_multiple_of(2) {
        message.thinking(words(number, "t"), "c2lnbmVk")
    } else {
        message
    };
    message.text(words(number, "w")).into()
}

/// A client that comes back after every crash, and what is on its screen.
#[derive(Default)]
struct Screen {
    last_id: Option<String>,
    /// The blocks that grow: what they are, and what is there of them.
    live: BTreeMap<u64, (String, String)>,
    /// The finished blocks.
    blocks: Vec<(String, String)>,
    crashes: u64,
}

impl Screen {
    fn take(&mut self, id: Option<&str>, event: &Value) {
        if let Some(id) = id {
            self.last_id = Some(id.to_owned());
        }
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        let kind = text("type");
        match kind.as_str() {
            "delta" => self.grow(
                event["index"].as_u64().unwrap(),
                text("kind"),
                event["offset"].as_u64().unwrap(),
                &text("text"),
            ),
            "text" | "reasoning" => {
                let mut live = self.live.iter();
                let grown = live.find(|(_, (of, _))| *of == kind);
                if let Some(index) = grown.map(|(index, _)| *index) {
                    let (_, shown) = self.live.remove(&index).unwrap();
                    let content = text("content");
                    assert!(
                        content.starts_with(&shown),
                        "{shown:?} was shown, and {content:?} is kept"
                    );
                }
                self.blocks.push((kind, text("content")));
            }
            "discarded" => self.live.clear(),
            "reply_failed" | "reply_ended" | "turn_started" | "run_ended" => {
                assert!(self.live.is_empty(), "lost at {event}: {:?}", self.live);
            }
            "reset" => panic!("{event}"),
            _ => {}
        }
    }

    /// Says whether something of the reply to that prompt was shown.
    fn has_begun(&self, number: u64) -> bool {
        let begin = format!("{number}.");
        let mut texts = self.live.values().chain(&self.blocks);
        texts.any(|(_, text)| text.get(1..).is_some_and(|rest| rest.starts_with(&begin)))
    }

    fn grow(&mut self, index: u64, kind: String, offset: u64, text: &str) {
        let (_, shown) = self.live.entry(index).or_insert((kind, String::new()));
        if offset == 0 {
            assert!(
                text.starts_with(&*shown),
                "{shown:?} was shown, and then {text:?}"
            );
            shown.clear();
        }
        assert_eq!(offset, shown.len() as u64, "{text:?} behind {shown:?}");
        shown.push_str(text);
    }
}

/// Follows a conversation until the service dies, from where the client was. Only whole events
/// count.
async fn follow(address: SocketAddr, screen: Arc<Mutex<Screen>>) -> Option<()> {
    let last = screen.lock().unwrap().last_id.clone();
    let resume = last.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!(
        "GET /v1/conversations/default/events?after=0 HTTP/1.1\r\nhost: {address}\r\n{resume}\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut buffer = Vec::new();
    while stream.read_buf(&mut buffer).await.ok()? > 0 {
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = buffer.drain(..end + 2).collect();
            let block = String::from_utf8(block).unwrap();
            let id = block.lines().find_map(|line| line.strip_prefix("id: "));
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data {
                let event = serde_json::from_str(data).unwrap();
                screen.lock().unwrap().take(id, &event);
            }
        }
    }
    None
}

async fn prompt(service: &Service, number: u64) -> Option<u64> {
    let path = "/v1/conversations/default/prompt";
    let body = json!({"content": format!("say {number}"), "key": format!("k{number}")});
    let answer = service.post(path, &body.to_string()).await;
    assert!([200, 409].contains(&answer.status), "{answer:?}");
    answer.json()["run_id"].as_u64()
}

fn unfinished(service: &Service) -> std::path::PathBuf {
    service.journal("default").with_extension("unfinished")
}

/// Spec: [CONV-162] [CONV-163] [JRNL-99] [JRNL-101]
#[tokio::test]
async fn what_was_shown_of_a_reply_outlives_every_kill() {
    let kills = std::env::var("HARNESS_REPLY_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {kills} kills");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut service, standin, _) = serving(reply, model(10_000_000), &[]).await;
    let screens: [Arc<Mutex<Screen>>; CLIENTS] = std::array::from_fn(|_| Arc::default());
    let mut shown = 0;
    for number in 0..kills {
        let following = screens
            .clone()
            .map(|screen| tokio::spawn(follow(service.address, screen)));
        assert!(prompt(&service, number).await.is_some());
        // Half of the kills, of both kinds of replies, come when something of it is shown.
        if number % 4 < 2 {
            eventually("something of the reply", async || {
                let mut screens = screens.iter();
                screens.any(|screen| screen.lock().unwrap().has_begun(number))
            })
            .await;
        }
        tokio::time::sleep(Duration::from_micros(random.u64(..60_000))).await;
        service.kill();
        for client in following {
            assert_eq!(client.await.unwrap(), None);
        }
        for screen in &screens {
            let mut screen = screen.lock().unwrap();
            screen.crashes += 1;
            let live = screen.live.values();
            shown += live.map(|(_, text)| text.len()).sum::<usize>();
        }
        check(&service.journal("default"));
        service = service.restart().await;
    }
    let following = screens
        .clone()
        .map(|screen| tokio::spawn(follow(service.address, screen)));
    let last = prompt(&service, kills).await;
    service.idle("default").await;
    // No order was lost: each key names its run.
    for number in 0..kills {
        assert_eq!(prompt(&service, number).await, Some(number + 1));
    }
    assert_eq!(last, Some(kills + 1));
    assert!(!unfinished(&service).exists(), "something is left of it");
    let history = service.get("/v1/conversations/default?tail=100000").await;
    let past = history["history"]["events"].as_array().unwrap();
    let kept: Vec<(String, String)> = past
        .iter()
        .map(|past| &past["event"])
        .filter(|event| event["type"] == "text" || event["type"] == "reasoning")
        .map(|event| {
            (
                event["type"].as_str().unwrap().to_owned(),
                event["content"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    for (kind, text) in &screens[0].lock().unwrap().blocks {
        let number: u64 = text[1..].split('.').next().unwrap().parse().unwrap();
        let whole = words(number, if kind == "text" { "w" } else { "t" });
        assert!(whole.starts_with(&**text), "{text:?} was never said");
    }
    eventually("all records on all screens", async || {
        let now = service.get("/v1/conversations/default?tail=0").await;
        let last = now["position"].as_str();
        let mut screens = screens.iter();
        screens.all(|screen| screen.lock().unwrap().last_id.as_deref() == last)
    })
    .await;
    service.kill();
    for client in following {
        assert_eq!(client.await.unwrap(), None);
    }
    for screen in &screens {
        let screen = screen.lock().unwrap();
        assert!(screen.blocks.ends_with(&kept), "{kept:?} is kept");
        assert_eq!(screen.crashes, kills);
        assert!(screen.live.is_empty());
    }
    println!("{shown} characters were on the screens when it was killed");
    assert!(shown > 0, "nothing was shown at any kill");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-162] [HTTP-95]
#[tokio::test]
async fn a_reply_that_a_crash_cut_is_shown_until_the_next_prompt_seals_it() {
    let (mut service, standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(
        Message::new()
            .text("Half a sentence")
            .words_per_delta(1)
            .gate_after_delta(2, &gate),
    );
    let mut events = service.follow("default", "", "").await;
    assert!(prompt(&service, 1).await.is_some());
    let mut seen = String::new();
    while seen != "Half a " {
        let event = events.shown().await.unwrap().event;
        if event["type"] == "delta" {
            seen.push_str(event["text"].as_str().unwrap());
        }
    }
    service.kill();
    assert!(unfinished(&service).exists());
    service = service.restart().await;
    let snapshot = service.get("/v1/conversations/default").await;
    let shown = json!([{"type": "delta", "index": 0, "kind": "text", "offset": 0, "text": seen}]);
    assert_eq!(snapshot["unfinished"], shown);
    let mut late = service.follow("default", "", "").await;
    assert_eq!(late.shown().await.unwrap().event["type"], "attached");
    let delta = late.shown().await.unwrap();
    assert_eq!((delta.id, &delta.event), (None, &shown[0]));
    // A fork has it as a block that was cut short.
    let fork = service.post("/v1/conversations/default/fork", "{}").await;
    assert_eq!(fork.status, 201, "{fork:?}");
    let id = fork.json()["id"].as_str().unwrap().to_owned();
    let fork = service.get(&format!("/v1/conversations/{id}")).await;
    let events = fork["history"]["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["event"]["content"], *seen);
    script.push(Message::new().text("Whole"));
    assert!(prompt(&service, 2).await.is_some());
    service.idle("default").await;
    let snapshot = service.get("/v1/conversations/default").await;
    assert_eq!(snapshot.get("unfinished"), None);
    let events = snapshot["history"]["events"].as_array().unwrap();
    let texts = events.iter().map(|past| &past["event"]);
    let texts: Vec<_> = texts.filter(|event| event["type"] == "text").collect();
    assert_eq!(
        (&texts[0]["content"], &texts[0]["partial"]),
        (&json!(seen), &json!(true))
    );
    assert_eq!(texts[1]["content"], "Whole");
    assert!(!unfinished(&service).exists());
    // The model was told of it as of a reply that was cancelled.
    let told = asked(&standin).pop().unwrap();
    let messages = told["messages"].as_array().unwrap();
    let told = messages
        .iter()
        .find(|message| message["role"] == "assistant")
        .unwrap();
    assert_eq!(told["content"][0]["text"], *seen);
}

/// Spec: [CONV-164] [JRNL-100]
#[tokio::test]
async fn what_a_crash_cut_is_asked_for_anew_and_no_foreign_file_is_in_the_way() {
    let (mut service, standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    let cut = |gate: &Gate| {
        Message::new()
            .text("Half a sentence")
            .words_per_delta(1)
            .gate_after_delta(2, gate)
    };
    script.push(cut(&gate));
    std::fs::create_dir_all(unfinished(&service)).unwrap();
    assert!(prompt(&service, 1).await.is_some());
    let mut events = service.follow("default", "", "").await;
    while events.event().await["type"] != "delta" {}
    assert!(unfinished(&service).is_file());
    service.kill();
    let torn = std::fs::read_to_string(unfinished(&service)).unwrap() + "{\"epoch\":\"0";
    std::fs::write(unfinished(&service), torn).unwrap();
    service = service.restart().await;
    let snapshot = service.get("/v1/conversations/default").await;
    assert!(
        snapshot["unfinished"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Half")
    );
    script.push(Message::new().text("Whole"));
    let path = "/v1/conversations/default/continue";
    let answer = service.post(path, "{}").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle("default").await;
    let told = asked(&standin).pop().unwrap();
    assert_eq!(told["messages"].as_array().unwrap().len(), 1, "{told}");
    let snapshot = service.get("/v1/conversations/default").await;
    let events = snapshot["history"]["events"].as_array().unwrap();
    let texts = events.iter().map(|past| &past["event"]);
    let texts: Vec<_> = texts.filter(|event| event["type"] == "text").collect();
    assert_eq!(texts[0]["partial"], true);
    assert_eq!(texts[1]["content"], "Whole");
    assert_eq!(standin.violations(), [""; 0]);
}
