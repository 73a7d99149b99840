//! A summary in place of the beginning, byte by byte.

use super::*;

fn told(summary: &str) -> Value {
    text(&format!(
        "Summary of what was said before:\n\n{summary}\n\n---"
    ))
}

/// Two prompts; the first one has a tool loop.
///
/// 0 hi, 1 call t, 2 result t, 3 call u, 4 result u, 5 a, 6 next, 7 b
fn conversation() -> History {
    let mut history = prompted();
    for id in ["t", "u"] {
        history.push_reply(
            blocks(&json!([thinking("s"), call(id)])),
            Unanswered::Interrupted,
        );
        history.note_id(id);
        history.push_result(id, "x", false);
    }
    history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
    history.push_prompt("next", &[]);
    history.push_reply(
        blocks(&json!([thinking("s"), text("b")])),
        Unanswered::Interrupted,
    );
    history
}

/// The messages without thinking, from the given one on.
fn kept(from: usize) -> Vec<Value> {
    let all = [
        user(&json!([text("hi")])),
        assistant(&json!([call("t")])),
        user(&json!([result("t", "x", false)])),
        assistant(&json!([call("u")])),
        user(&json!([result("u", "x", false)])),
        assistant(&json!([text("a")])),
        user(&json!([text("next")])),
        assistant(&json!([text("b")])),
    ];
    all[from..].to_vec()
}

/// Spec: [COMP-05] [COMP-08] [COMP-11]
#[test]
fn the_summary_stands_in_front_of_what_is_kept() {
    let own = user(&json!([told("S")]));
    let in_front = user(&json!([told("S"), text("next")]));
    let first = user(&json!([told("S"), text("hi")]));
    for (number, expected) in [
        (0, vec![own.clone()]),
        (1, [vec![own.clone()], kept(7)].concat()),
        (2, [vec![in_front], kept(7)].concat()),
        (3, [vec![own.clone()], kept(5)].concat()),
        // Results are never kept without their calls.
        (4, [vec![own.clone()], kept(3)].concat()),
        (5, [vec![own.clone()], kept(3)].concat()),
        (6, [vec![own.clone()], kept(1)].concat()),
        (7, [vec![own], kept(1)].concat()),
        (8, [vec![first.clone()], kept(1)].concat()),
        (u64::MAX, [vec![first], kept(1)].concat()),
    ] {
        let mut history = conversation();
        history.compact("S", number);
        assert_eq!(
            sent(&history),
            Value::from(expected.clone()).to_string(),
            "{number} kept"
        );
        assert_eq!(history.len(), expected.len() as u64);
        assert_eq!(history.summary(), Some("S"));
        assert!(history.ends_with_reply());
        assert!(!history.is_empty());
        assert_eq!(history.unique_id("t"), "t_2");

        // It goes on, and the next summary takes the place of this one.
        history.push_prompt("more", &[]);
        assert!(!history.ends_with_reply());
        let mut messages: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
        assert_eq!(first_violation(&messages), None);
        history.compact("S2", u64::MAX);
        messages[0]["content"][0] = told("S2");
        assert_eq!(sent(&history), Value::from(messages).to_string());
        history.compact("S3", 1);
        let expected = json!([user(&json!([told("S3"), text("more")]))]);
        assert_eq!(sent(&history), expected.to_string());
    }
}

/// Spec: [COMP-05] [COMP-08]
#[test]
fn what_waits_for_a_reply_stays() {
    let open = || {
        let mut history = prompted();
        history.push_reply(blocks(&json!([call("t")])), Unanswered::Interrupted);
        history.push_result("t", "x", false);
        history
    };
    // Without the results, which are in the summary.
    let mut history = open();
    history.compact("S", 0);
    let expected = json!([user(&json!([told("S")]))]);
    assert_eq!(sent(&history), expected.to_string());
    assert!(!history.ends_with_reply(), "the model goes on");
    history.push_result("t", "late", false);
    history.compact("S", 0);
    assert_eq!(sent(&history), expected.to_string());
    assert!(!history.ends_with_reply());

    let mut history = open();
    history.push_prompt("next", &[]);
    history.compact("S", 0);
    let expected = json!([user(&json!([told("S"), text("next")]))]);
    assert_eq!(sent(&history), expected.to_string());
    history.push_reply(blocks(&json!([text("b")])), Unanswered::Interrupted);
    let expected = json!([expected[0], assistant(&json!([text("b")]))]);
    assert_eq!(sent(&history), expected.to_string());

    for kept in [1, 2] {
        let mut history = open();
        history.compact("S", kept);
        let expected = json!([
            user(&json!([told("S")])),
            assistant(&json!([call("t")])),
            user(&json!([result("t", "x", false)])),
        ]);
        assert_eq!(sent(&history), expected.to_string());
    }

    // A paused reply belongs to the message before it.
    let paused = || {
        let mut history = prompted();
        history.push_paused(blocks(&json!([thinking("s"), text("a"), web_search("s")])));
        assert_eq!(history.len(), 1);
        history
    };
    let mut history = paused();
    history.compact("S", 1);
    let hi = user(&json!([told("S"), text("hi")]));
    let expected = json!([hi, assistant(&json!([text("a"), web_search("s")]))]);
    assert_eq!(sent(&history), expected.to_string());
    let mut history = paused();
    history.compact("S", 0);
    assert_eq!(sent(&history), json!([hi]).to_string());
}

/// Spec: [COMP-08]
#[test]
fn a_past_that_is_only_a_summary_goes_on() {
    let mut history = History::default();
    assert!(history.is_empty());
    history.compact("S", 0);
    assert!(history.ends_with_reply());
    assert!(!history.is_empty());
    assert_eq!(history.len(), 1);
    // A damaged journal may lack the prompt.
    history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
    let expected = json!([user(&json!([told("S")])), assistant(&json!([text("a")]))]);
    assert_eq!(sent(&history), expected.to_string());

    // A refused prompt is gone, and nothing waits any more.
    let mut history = prompted();
    history.compact("S", 0);
    assert!(!history.ends_with_reply());
    history.leave_out_refused();
    assert!(history.ends_with_reply());
    assert_eq!(
        sent(&history),
        json!([user(&json!([told("S")]))]).to_string()
    );
}

/// Spec: [COMP-22]
#[test]
fn what_is_dropped_leaves_memory() {
    let mut history = History::default();
    for turn in 0..100 {
        history.push_prompt(&format!("prompt {turn}"), &[]);
        history.push_reply(blocks(&json!([text("a")])), Unanswered::Interrupted);
    }
    let before: Vec<Bytes> = history
        .pieces(Caching::Off)
        .into_iter()
        .filter_map(|piece| match piece {
            RequestPiece::Json(json) if json.as_ref() != b"," => Some(json),
            RequestPiece::Json(_) | RequestPiece::Attachments(_) => None,
        })
        .collect();
    history.compact("S", 150);
    for piece in before {
        assert!(piece.is_unique(), "{piece:?}");
    }
}
