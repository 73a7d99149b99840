//! The API's cache: each request continues the beginning that the one before it marked.

use harness_standin::{Gate, Hold, Message, Model, Turns, prefix_break};
use serde_json::{Value, json};

use crate::client::within;
use crate::talk::{Talk, asked, last_texts, serving};

/// The indices of the marked blocks in a list.
fn marks(blocks: &Value) -> Vec<usize> {
    let blocks = blocks.as_array().unwrap().iter().enumerate();
    let marked = blocks.filter(|(_, block)| !block["cache_control"].is_null());
    marked.map(|(place, _)| place).collect()
}

/// The marks are on the last block of the system prompt, the last tool and the last message.
fn check_marks(request: &Value) {
    for part in ["system", "tools"] {
        let blocks = request[part].as_array().unwrap();
        assert_eq!(marks(&request[part]), [blocks.len() - 1], "{part}");
    }
    let messages = request["messages"].as_array().unwrap();
    for (place, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().unwrap();
        let expected = if place + 1 == messages.len() {
            vec![blocks.len() - 1]
        } else {
            vec![]
        };
        assert_eq!(marks(&message["content"]), expected, "message {place}");
    }
}

/// The requests that do not continue the one before them.
fn breaks(requests: &[Value]) -> Vec<(usize, String)> {
    let pairs = requests.windows(2).enumerate();
    let broken =
        pairs.filter_map(|(place, pair)| Some((place + 1, prefix_break(&pair[0], &pair[1])?)));
    broken.collect()
}

/// Two turns with calls and then one with a text, all with signed thinking.
fn turn(number: usize) -> Message {
    let message = Message::new().signed_thinking(format!("thought {number}"));
    let look = json!({"path": "."});
    match number % 3 {
        0 => message
            .text("I look twice.")
            .tool_use(format!("a{number}"), "list_dir", look.clone())
            .tool_use(format!("b{number}"), "list_dir", look),
        1 => message.tool_use(format!("c{number}"), "read", json!({"path": "notes"})),
        _ => message.text(format!("That was turn {number}.")),
    }
}

/// Spec: [CONV-111] [CONV-112]
#[tokio::test]
async fn fifty_turns_with_steering_tools_and_a_restart_keep_their_beginning() {
    // Every third run is steered while the model replies with calls.
    let gates: Vec<Gate> = (0..6).map(|_| Gate::new()).collect();
    let mut turns = Turns::new(60, |number, _| turn(number));
    for (number, gate) in gates.iter().enumerate() {
        turns = turns.hold(number * 9, Hold::End, gate);
    }
    let model = Model::new("claude-opus-5-5");
    let flags = ["--system-prompt", "Be brief.", "--thinking", "high"];
    let (mut service, standin, _) = serving(turns, model, &flags).await;
    std::fs::write(service.home.path().join("notes"), "remember this").unwrap();
    std::fs::write(service.home.path().join("AGENTS.md"), "Be kind.").unwrap();
    let mut changed = None;
    for run in 0..18 {
        let talk = Talk::with(&service);
        talk.prompt(&format!("prompt {run}")).await;
        if run % 3 == 0 {
            let gate: &Gate = &gates[run / 3];
            within("the reply", gate.reached()).await;
            talk.queue("steer", &format!("steer {run}")).await;
            gate.open();
        }
        talk.idle().await;
        if run == 8 {
            // What the next life of the service sends is the same to the byte.
            service = service.restart().await;
        }
        if run == 12 {
            let talk = Talk::with(&service);
            talk.set(&json!({"max_turns": 7, "max_tokens": 5000, "follow_up_mode": "all"}))
                .await;
        }
        if run == 15 {
            let talk = Talk::with(&service);
            talk.set(&json!({"system_prompt": "Be very brief."})).await;
            changed = Some(asked(&standin).len());
        }
    }
    let requests = asked(&standin);
    assert!(requests.len() >= 54, "{}", requests.len());
    requests.iter().for_each(check_marks);
    let steered = requests.iter().filter(|request| {
        let (results, texts) = last_texts(request);
        results == 2 && texts.len() == 1
    });
    assert_eq!(steered.count(), 6);
    let broken: Vec<usize> = breaks(&requests).iter().map(|(place, _)| *place).collect();
    let changed = changed.unwrap();
    assert_eq!(broken, [changed], "{:?}", breaks(&requests));
    assert_eq!(standin.violations(), [""; 0]);

    // What the API counted says the same, and is told to clients.
    let talk = Talk::with(&service);
    let replies = talk.past_of("reply_ended").await;
    assert_eq!(replies.len(), requests.len());
    let count = |reply: &Value, part: &str| reply["usage"][part].as_u64().unwrap();
    let mut remembered = 0;
    for (place, reply) in replies.iter().enumerate() {
        let read = count(reply, "cache_read_input_tokens");
        let written = count(reply, "cache_creation_input_tokens");
        if place != changed {
            assert_eq!(read, remembered, "reply {place}");
        }
        assert!(written > 0, "reply {place}");
        assert_eq!(count(reply, "input_tokens"), 0, "reply {place}");
        remembered = read + written;
    }
    let ends = talk.past_of("run_ended").await;
    let usage = &ends.last().unwrap()["run_usage"];
    assert!(usage["cache_read_input_tokens"].as_u64().unwrap() > 0);
    assert!(usage["cache_creation_input_tokens"].as_u64().unwrap() > 0);
}
