//! Random pasts, against what must always hold.

use harness_standin::{Endpoint, strict_roles, validate};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::compaction::{CompactionSettings, Goal, finish};
use crate::model::{HeadSettings, ModelChoice, RequestHead};
use crate::tool::Registry;

#[derive(Debug, Clone)]
enum Step {
    Prompt(&'static str, usize),
    /// The model's blocks, the number of its calls, and how many of them have results.
    Reply(Vec<Value>, usize, usize),
    Pause,
    /// A reply with a call of one of our tools beside one of the API's own, that answers the calls
    /// before it or not.
    Mixed(bool),
    /// Something that changes what was said.
    Strip,
    TakeBack,
    LeaveOut,
    Compact(u64),
    /// As planned, for a window and so many tokens to be kept.
    Cut(u64, u64),
}

fn said() -> impl Strategy<Value = Step> {
    let reply = select(vec![
        json!([]),
        json!([text("a")]),
        json!([thinking("s"), text("a \"\\ é")]),
        json!([redacted()]),
        json!([text(" "), thinking("s")]),
    ]);
    prop_oneof![
        3 => (select(vec!["p", "ü\n", " ", "a long prompt with many words"]), 0..3_usize)
            .prop_map(|(text, files)| Step::Prompt(text, files)),
        4 => (reply, 0..3_usize, 0..3_usize).prop_map(|(reply, calls, results)| {
            Step::Reply(reply.as_array().unwrap().clone(), calls, results)
        }),
        1 => Just(Step::Pause),
        2 => any::<bool>().prop_map(Step::Mixed),
    ]
}

fn changed() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => said(),
        1 => Just(Step::Strip),
        1 => Just(Step::TakeBack),
        1 => Just(Step::LeaveOut),
        2 => prop_oneof![0..9_u64, Just(u64::MAX)].prop_map(Step::Compact),
        2 => (0..400_u64, 0..100_u64).prop_map(|(window, keep)| Step::Cut(window, keep)),
    ]
}

fn files(number: usize) -> Vec<Attachment> {
    let file = |place: usize| Attachment {
        sha256: place.to_string(),
        media_type: media_type(place).to_owned(),
        bytes: 10,
        name: None,
    };
    (0..number).map(file).collect()
}

fn media_type(place: usize) -> &'static str {
    if place == 0 {
        "image/png"
    } else {
        "text/plain"
    }
}

fn act(history: &mut History, number: usize, step: &Step) {
    match step {
        Step::Prompt(text, number) => history.push_prompt(text, &files(*number)),
        Step::Reply(said, calls, results) => {
            let ids: Vec<String> = (0..*calls)
                .map(|call| format!("t{number}_{call}"))
                .collect();
            let mut reply = said.clone();
            reply.extend(ids.iter().map(|id| call(id)));
            history.push_reply(blocks(&Value::from(reply)), Unanswered::Cancelled);
            for id in ids.iter().take(*results) {
                history.push_result(id, "result", false);
            }
            history.settle();
            history.anchor(number as u64 * 40);
        }
        Step::Pause => {
            let paused = json!([thinking("s"), text("w"), web_search(&format!("s{number}"))]);
            history.push_paused(blocks(&paused));
        }
        Step::Mixed(answers) => {
            let awaited = history.awaited_server_calls();
            let results = awaited
                .iter()
                .filter(|_| *answers)
                .map(|id| web_results(id));
            let mut reply: Vec<Value> = results.collect();
            let id = format!("t{number}");
            reply.extend([
                text("m"),
                thinking("s"),
                web_search(&format!("s{number}")),
                call(&id),
            ]);
            history.push_tool_use(blocks(&Value::from(reply)), Unanswered::Interrupted);
            history.push_result(&id, "result", false);
            history.anchor(number as u64 * 40);
        }
        Step::Strip => history.strip_thinking(),
        Step::TakeBack => {
            let before = history.messages().concat();
            if !history.take_back_reply() {
                assert_eq!(history.messages().concat(), before);
            }
        }
        Step::LeaveOut => drop(history.leave_out_refused()),
        Step::Compact(kept) => {
            history.compact(&format!("S{number}"), *kept);
            assert_eq!(history.summary(), Some(format!("S{number}").as_str()));
        }
        Step::Cut(window, keep) => cut(history, *window, *keep),
    }
}

fn cut(history: &mut History, window: u64, keep: u64) {
    let goal = Goal {
        window,
        settings: CompactionSettings {
            auto: true,
            reserve_tokens: window / 10,
            keep_tokens: keep,
        },
        head_tokens: 3,
        summary_tokens: 20,
    };
    let before = history.messages();
    let plan = history.told_cut(&goal, None, &Registry::default());
    assert_eq!(history.messages(), before, "a plan changes nothing");
    let Some(cut) = plan else {
        return;
    };
    assert!(cut.tokens_after < cut.tokens_before);
    assert!(!cut.pieces.is_empty());
    assert_eq!(cut.told.previous.is_some(), history.summary().is_some());
    history.compact(&finish("S", &cut), cut.kept);
    let messages = history.messages();
    // Nothing more than planned is kept: the cut is where one may be.
    let more = messages.len() as u64 - cut.kept.min(messages.len() as u64);
    assert!(more <= 2, "{cut:?} {messages:?}");
    assert!(
        history
            .told_cut(&goal, None, &Registry::default())
            .is_none_or(|again| again.kept < cut.kept.max(1) || cut.kept == 0)
    );
}

/// A request that is made now passes the API's rules.
fn check_request(history: &History) {
    let looked_at: Vec<Value> = serde_json::from_str(&sent(history)).unwrap();
    assert_eq!(history.is_empty(), looked_at.is_empty());
    let mut roles = looked_at
        .iter()
        .map(|message| message["role"].as_str().unwrap());
    assert_eq!(
        history.len(),
        looked_at.len() as u64 - u64::from(!history.paused.is_empty())
    );
    if roles.next_back() != Some("user") {
        return; // No request is made.
    }
    assert_eq!(first_violation(&looked_at), None, "{looked_at:?}");
    let model = ModelChoice {
        id: "claude-sonnet-5-5".into(),
        chosen: true,
    };
    let file = text("a file").to_string();
    let pieces = history.pieces(Caching::OneHour).into_iter();
    let pieces = pieces.map(|piece| match piece {
        RequestPiece::Json(json) => RequestPiece::Json(json),
        RequestPiece::Attachments(files) => {
            RequestPiece::Json(vec![file.as_str(); files.len()].join(",").into())
        }
    });
    let read = json!({"name": "read", "description": "d", "input_schema": {"type": "object"}});
    let head = RequestHead::new(HeadSettings {
        tools: &[read],
        ..HeadSettings::plain(model, 100)
    });
    let body = head
        .request(pieces.collect(), false)
        .body("claude-sonnet-5-5")
        .concat();
    let headers = [
        ("x-api-key", "k"),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match validate(Endpoint::Messages, &headers, &body) {
        Ok(request) => assert_eq!(strict_roles(&request), [""; 0]),
        Err(error) => panic!("{error:?} in {}", String::from_utf8_lossy(&body)),
    }
}

/// A request up to the place behind which the last message may grow, without its mark.
fn begin(history: &History) -> Vec<u8> {
    let mut begin = Vec::new();
    for piece in history.pieces(Caching::FiveMinutes) {
        match piece {
            RequestPiece::Json(json) => begin.extend_from_slice(&json),
            RequestPiece::Attachments(files) => {
                for file in files.iter() {
                    begin.extend_from_slice(format!("<{}>", file.sha256).as_bytes());
                }
            }
        }
    }
    let begin = String::from_utf8(begin).unwrap();
    let marks = begin.matches("cache_control").count();
    assert!(marks <= 1, "{begin}");
    let begin = begin.strip_suffix("]}").unwrap_or(&begin);
    begin
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
        .into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Spec: [COMP-05] [COMP-08] [COMP-12] [COMP-19]
    #[test]
    fn every_request_passes_the_rules_whatever_is_changed(
        steps in prop::collection::vec(changed(), 1..60),
    ) {
        let mut history = History::default();
        for (number, step) in steps.iter().enumerate() {
            act(&mut history, number, step);
            check_request(&history);
        }
    }

    /// Spec: [COMP-17]
    #[test]
    fn a_request_is_the_beginning_of_the_next_one(
        steps in prop::collection::vec(said(), 1..200),
    ) {
        let mut history = History::default();
        let mut before = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            // A pause is followed by what goes on from it, or by nothing that was in it.
            // The same holds for an open call of the API's own tools.
            let was_paused = !history.paused.is_empty() || history.awaits_server_results();
            act(&mut history, number, step);
            let now = begin(&history);
            if !was_paused {
                assert!(now.starts_with(&before), "{step:?}");
            }
            before = now;
        }
    }
}
