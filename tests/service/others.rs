//! Servers of others than the API: what they answer differently, and that conversations go on.

use harness_standin::{Listing, MessagesRequest, Reply};
use serde_json::json;

use crate::talk::{Talk, asked, model, serving};

/// The window of a server of these tests, in tokens.
const WINDOW: usize = 6144;

/// What llama.cpp's server answers to a request over its window, and a long reply otherwise.
fn small_server(request: &MessagesRequest) -> Reply {
    let tokens = request.input_tokens() as usize;
    if tokens <= WINDOW {
        return Reply::text(if request.wants_summary() {
            "A short summary.".to_owned()
        } else {
            harness_standin::prose(4000)
        });
    }
    let error = json!({"error": {
        "code": 400,
        "message": format!("request ({tokens} tokens) exceeds the available context size \
                            ({WINDOW} tokens), try increasing it"),
        "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": WINDOW,
    }});
    Reply::json(&error).status(400)
}

/// Spec: [MODEL-58] [CONV-175]
#[tokio::test]
async fn a_server_that_names_its_window_in_an_error_is_asked_within_it_from_then_on() {
    let unknown = model(1_000_000).listed(Listing::NamesOnly);
    let (service, standin, _) = serving(small_server, unknown, &[]).await;
    let talk = Talk::with(&service);
    for prompt in 0..12 {
        talk.say(&format!("{prompt} {}", harness_standin::prose(2500)))
            .await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    }
    let started = talk.past_of("compaction_started").await;
    assert_eq!(started[0]["reason"], "overflow");
    assert!(started.len() > 1);
    assert!(
        started[1..].iter().all(|it| it["reason"] == "threshold"),
        "{started:?}"
    );
    let over = asked(&standin).len()
        - standin
            .requests()
            .iter()
            .filter(|it| it.outcome.status == 200)
            .count();
    assert!(over <= 1, "{over}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-59]
#[tokio::test]
async fn a_server_with_properties_is_never_asked_over_its_window() {
    let unknown = model(1_000_000).listed(Listing::NamesOnly);
    let (service, standin, catalogue) = serving(small_server, unknown, &[]).await;
    catalogue.set_properties(Some(json!({
        "default_generation_settings": {"n_ctx": WINDOW}, "modalities": {"vision": false},
    })));
    let talk = Talk::with(&service);
    for prompt in 0..8 {
        talk.say(&format!("{prompt} {}", harness_standin::prose(2500)))
            .await;
        assert_eq!(talk.outcome().await, ("completed".into(), String::new()));
    }
    let started = talk.past_of("compaction_started").await;
    assert!(!started.is_empty() && started.iter().all(|it| it["reason"] == "threshold"));
    let requests = standin.requests();
    let asked: Vec<_> = requests
        .iter()
        .filter(|it| it.path.starts_with("/props"))
        .collect();
    assert_eq!(asked.len(), 1, "the answer holds");
    assert!(requests.iter().all(|it| it.outcome.status == 200));
}
