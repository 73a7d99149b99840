//! The parts of a request beside the texts: marks, files, thinking; and a reply taken back.

use super::*;

fn file(name: &str, media_type: &str, bytes: u64) -> Attachment {
    Attachment {
        sha256: "ab".repeat(32),
        media_type: media_type.to_owned(),
        bytes,
        name: Some(name.to_owned()),
    }
}

/// The pieces of a request, with `<name …>` for a run of files.
fn shown(history: &History, caching: Caching) -> String {
    let show = |piece: &RequestPiece| match piece {
        RequestPiece::Json(json) => String::from_utf8(json.to_vec()).unwrap(),
        RequestPiece::Attachments(files) => {
            let names: Vec<&str> = files.iter().filter_map(|it| it.name.as_deref()).collect();
            format!("<{}>", names.join(" "))
        }
    };
    history.pieces(caching).iter().map(show).collect()
}

/// Spec: [COMP-18]
#[test]
fn files_stand_before_their_prompt_and_behind_results() {
    let mut history = prompted();
    history.push_reply(blocks(&json!([call("t")])), Unanswered::Interrupted);
    history.push_result("t", "x", false);
    let (a, b) = (file("a", "image/png", 1), file("b", "text/plain", 9));
    history.push_prompt("one", &[a.clone(), b.clone()]);
    history.push_prompt("two", std::slice::from_ref(&b));
    let open = format!(
        r#"{{"role":"user","content":[{},<a b>,{},<b>,{}]}}"#,
        result("t", "x", false),
        text("one"),
        text("two")
    );
    assert!(shown(&history, Caching::Off).ends_with(&open));
    // The same once it no longer changes, and joined with others.
    for _ in 0..70 {
        history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
        let request = shown(&history, Caching::Off);
        assert!(request.contains(&format!(",{open},")), "{request}");
        history.push_prompt("three", &[]);
    }
    let looked_at: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
    assert_eq!(
        looked_at[2]["content"][1],
        json!({"type": "attachment", "attachment": a})
    );

    // A prompt may be blank in a journal; the run of files goes on then.
    let mut history = History::default();
    history.push_prompt(" ", &[a]);
    history.push_prompt("one", &[b]);
    let open = format!(r#"{{"role":"user","content":[<a b>,{}]}}"#, text("one"));
    assert_eq!(shown(&history, Caching::Off), open);
}

/// Spec: [COMP-17]
#[test]
fn the_last_block_is_marked_for_the_cache() {
    let mark = r#","cache_control":{"type":"ephemeral"}}]}"#;
    let hour = r#","cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#;
    let check = |history: &History| {
        let plain = shown(history, Caching::Off);
        let begin = plain.strip_suffix("}]}").unwrap();
        let marked = |mark: &str| format!("{begin}{mark}");
        assert_eq!(shown(history, Caching::FiveMinutes), marked(mark));
        assert_eq!(shown(history, Caching::OneHour), marked(hour));
    };
    let mut history = prompted();
    check(&history);
    history.push_prompt("more", &[file("a", "image/png", 1)]);
    check(&history);
    let paused = json!([thinking("s"), text("a"), web_search("s"), thinking("s")]);
    history.push_paused(blocks(&paused));
    check(&history);
    let rest = json!([web_results("s"), thinking("s"), call("t")]);
    history.push_reply(blocks(&rest), Unanswered::Interrupted);
    history.push_result("t", "x", false);
    check(&history);

    // The mark of a request is not in the next one.
    history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
    history.push_prompt("next", &[]);
    let request = shown(&history, Caching::FiveMinutes);
    assert_eq!(request.matches("cache_control").count(), 1);

    // Files are put in later, so the block before them has the mark.
    let mut history = History::default();
    history.push_prompt("hi", &[]);
    history.push_prompt("", &[file("a", "image/png", 1)]);
    let request = shown(&history, Caching::FiveMinutes);
    assert!(request.ends_with(r#""text":"hi","cache_control":{"type":"ephemeral"}},<a>]}"#));
}

/// Spec: [COMP-22]
#[test]
fn a_long_conversation_has_few_pieces_and_is_in_memory_once() {
    let mut history = History::default();
    let mut pieces = 0;
    for turn in 0..500 {
        history.push_prompt(&format!("prompt {turn}"), &[]);
        history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
        pieces = pieces.max(history.pieces(Caching::Off).len());
    }
    assert!(pieces < 1000 / 64 + 2 * 66 + 4, "{pieces} pieces");
    // A message is a part of the piece that it was joined to.
    let request = history.pieces(Caching::Off);
    let Some(RequestPiece::Json(first)) = request.first() else {
        panic!("text");
    };
    let range = first.as_ptr_range();
    let inside = history.sealed.messages().iter().take(64).all(|message| {
        let [RequestPiece::Json(json)] = message.pieces() else {
            panic!("text");
        };
        range.contains(&json.as_ptr())
    });
    assert!(inside);
}

/// Spec: [COMP-11]
#[test]
fn thinking_behind_another_beginning_is_not_sent_again() {
    let mut history = prompted();
    let float =
        json!({"type": "tool_use", "id": "t", "name": "read", "input": {"b": 1.10, "a": 2}});
    let reply = json!([thinking("s"), text("a"), redacted(), float]);
    history.push_reply(blocks(&reply), Unanswered::Interrupted);
    history.push_result("t", "x", false);
    history.push_paused(blocks(&json!([thinking("s"), text("b"), web_search("s")])));
    assert!(!history.lacks_thinking());
    history.strip_thinking();
    assert!(history.lacks_thinking());
    let expected = json!([
        user(&json!([text("hi")])),
        assistant(&json!([text("a"), float])),
        user(&json!([result("t", "x", false)])),
        assistant(&json!([text("b"), web_search("s")])),
    ]);
    assert_eq!(sent(&history), expected.to_string());
    // What comes later stays.
    history.push_reply(
        blocks(&json!([thinking("s"), text("c")])),
        Unanswered::Interrupted,
    );
    assert!(sent(&history).contains("signature"));
}

/// Spec: [COMP-20]
#[test]
fn calls_without_thinking_before_them_are_known() {
    for (reply, lacks) in [
        (json!([text("a"), call("t")]), true),
        (json!([thinking("s"), call("t")]), false),
        (json!([redacted(), text("a"), call("t")]), false),
        (json!([text("b"), thinking("s"), call("t")]), true),
        (json!([text("a")]), false),
        (json!([]), false),
    ] {
        let mut history = prompted();
        assert!(!history.lacks_thinking());
        history.push_reply(blocks(&reply), Unanswered::Interrupted);
        history.push_result("t", "x", false);
        assert_eq!(history.lacks_thinking(), lacks, "{reply}");
        history.push_prompt("next", &[]);
        assert_eq!(history.lacks_thinking(), lacks, "{reply}");
    }
}

/// Spec: [COMP-19]
#[test]
fn a_reply_is_taken_back_as_if_it_had_not_come() {
    let mut history = prompted();
    assert!(!history.take_back_reply());
    history.push_reply(
        blocks(&json!([call("t"), call("u")])),
        Unanswered::Interrupted,
    );
    history.push_result("t", "x", false);
    history.leave_unanswered(Unanswered::EarlierToolFailed);
    history.settle();
    history.push_prompt(
        "one",
        &[file("a", "image/png", 1), file("b", "text/plain", 2)],
    );
    let before = shown(&history, Caching::OneHour);
    let messages = sent(&history);
    let (len, own) = (history.len(), history.own_estimate());

    let failed = json!([thinking("s"), text("a"), call("v")]);
    history.push_reply(blocks(&failed), Unanswered::Interrupted);
    history.settle();
    assert_eq!(history.len(), len + 2);
    assert!(history.take_back_reply());
    assert_eq!(shown(&history, Caching::OneHour), before);
    assert_eq!(sent(&history), messages);
    assert_eq!((history.len(), history.own_estimate()), (len, own));
    assert!(!history.ends_with_reply());
    assert_eq!(history.dangling(), [""; 0]);
    assert!(!history.take_back_reply(), "only the last one is");
    history.push_prompt("two", &[]);
    history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
    let messages: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[2]["content"].as_array().unwrap().len(), 6);
}

/// Spec: [COMP-19]
#[test]
fn a_reply_behind_which_something_came_stays() {
    let after: [Change; 6] = [
        ("a prompt", |history| history.push_prompt("next", &[])),
        ("a blank prompt", |history| history.push_prompt(" ", &[])),
        ("a result", |history| history.push_result("t", "x", false)),
        ("a pause", |history| {
            history.push_paused(blocks(&json!([text("b")])));
        }),
        ("an empty reply", |history| {
            history.push_reply(Vec::new(), Unanswered::Interrupted);
        }),
        ("a summary", |history| history.compact("s", 2)),
    ];
    for (what, happens) in after {
        let mut history = prompted();
        history.push_reply(blocks(&json!([call("t")])), Unanswered::Interrupted);
        happens(&mut history);
        let before = sent(&history);
        assert!(!history.take_back_reply(), "{what}");
        assert_eq!(sent(&history), before, "{what}");
    }
    // What was sent back of it at a pause goes with it.
    let mut history = prompted();
    let before = sent(&history);
    history.push_paused(blocks(&json!([text("a"), web_search("s")])));
    history.push_reply(
        blocks(&json!([web_results("s"), text("b")])),
        Unanswered::Cancelled,
    );
    assert!(history.take_back_reply());
    assert_eq!(sent(&history), before);
}

/// Spec: [COMP-19]
#[test]
fn a_reply_to_a_summary_is_taken_back() {
    for kept in 0..3 {
        let mut history = prompted();
        history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
        history.push_prompt("one", &[file("a", "image/png", 1)]);
        history.compact("told", kept);
        let before = (shown(&history, Caching::Off), history.len());
        history.push_reply(blocks(&json!([text("b")])), Unanswered::Interrupted);
        assert!(history.take_back_reply());
        assert_eq!((shown(&history, Caching::Off), history.len()), before);
        assert_eq!(history.summary(), Some("told"));
        assert!(!history.ends_with_reply());
        // The next summary takes its place, wherever it stands.
        history.compact("told anew", kept);
        assert_eq!(
            shown(&history, Caching::Off),
            before.0.replace("told", "told anew")
        );
    }
}

/// Spec: [COMP-21]
#[test]
fn what_the_api_would_refuse_is_found() {
    let (hi, a) = (user(&json!([text("hi")])), assistant(&json!([text("a")])));
    let calls = assistant(&json!([call("t"), call("u")]));
    let results = |blocks: Value| user(&blocks);
    let both = results(json!([
        result("u", "", false),
        result("t", "", true),
        text("x")
    ]));
    for (messages, wrong) in [
        (vec![], None),
        (vec![hi.clone(), a.clone(), hi.clone()], None),
        (vec![hi.clone(), calls.clone(), both.clone()], None),
        (vec![a.clone()], Some("message 0 is not of the user")),
        (
            vec![hi.clone(), hi.clone()],
            Some("message 1 is not of the assistant"),
        ),
        (vec![user(&json!([]))], Some("message 0 is empty")),
        (
            vec![user(&json!([text(" ")]))],
            Some("message 0 has a blank text"),
        ),
        (
            vec![hi.clone(), calls.clone()],
            Some("the call t has no result"),
        ),
        (
            vec![
                hi.clone(),
                calls.clone(),
                results(json!([result("t", "", false)])),
            ],
            Some("message 2: the call u has no result"),
        ),
        (
            vec![both.clone()],
            Some("message 0: the result u has no call"),
        ),
        (
            vec![
                hi.clone(),
                calls.clone(),
                results(json!([
                    result("t", "", false),
                    text("x"),
                    result("u", "", false)
                ])),
            ],
            Some("message 2: results do not come first"),
        ),
        (
            vec![
                hi.clone(),
                calls.clone(),
                results(json!([
                    result("t", "", false),
                    result("u", "", false),
                    result("u", "", false)
                ])),
            ],
            Some("message 2: a call has two results"),
        ),
        (
            vec![hi, calls.clone(), both.clone(), calls, both],
            Some("message 3: a call has the id t again"),
        ),
    ] {
        assert_eq!(first_violation(&messages).as_deref(), wrong, "{messages:?}");
    }
}
