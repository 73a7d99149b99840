use serde_json::json;

use super::*;
use crate::conversation::testing::*;

fn tool(id: &str, outcome: &str) -> String {
    format!("{id} {{\"path\":\"{id}\"}} {outcome}")
}

/// Spec: [PART-01] [PART-08]
#[test]
fn parts_stand_in_their_order_and_results_go_to_their_calls() {
    let records = [
        event(json!({"type": "run_started", "run_id": 1})),
        user("hi"),
        reasoning("hm"),
        text("I will look"),
        call("a"),
        call("b"),
        result("a", "1"),
    ];
    let mut known = conversation(&records);
    let before = ids(&known);
    assert_eq!(
        all(&known),
        [
            "Named(\"ana\"): hi".to_owned(),
            "(hm)".to_owned(),
            "I will look".to_owned(),
            tool("a", "= 1"),
            tool("b", "Running"),
        ]
    );
    let revision = |known: &ConversationStore| known.parts().map(|part| part.revision).sum::<u32>();
    let revisions = revision(&known);
    assert_eq!(
        take(&mut known, 8, &result("b", "2")),
        EventApplied::Changed
    );
    assert_eq!(all(&known)[4], tool("b", "= 2"));
    assert_eq!(ids(&known), before);
    assert_eq!(revision(&known), revisions + 1);
}

/// Spec: [PART-08]
#[test]
fn calls_run_one_by_one_until_they_are_skipped() {
    let mut known = conversation(&[call("a"), call("b"), call("c")]);
    let outcomes = |known: &ConversationStore| -> Vec<String> {
        let shown = all(known);
        shown
            .iter()
            .map(|tool| tool.split_once("} ").unwrap().1.to_owned())
            .collect()
    };
    assert_eq!(outcomes(&known), ["Running", "Waiting", "Waiting"]);
    take(&mut known, 4, &result("a", "1"));
    assert_eq!(outcomes(&known), ["= 1", "Running", "Waiting"]);
    let skipped = event(json!({"type": "calls_skipped", "reason": "cancelled"}));
    take(&mut known, 5, &skipped);
    let reason = "skipped: cancelled";
    assert_eq!(outcomes(&known), ["= 1", reason, reason]);
    // What grows while the model still writes it becomes the call.
    pass(&mut known, &delta(0, "tool_input", 0, "{\"pa"));
    assert_eq!(all(&known)[3], " {\"pa Writing");
    let id = ids(&known)[3];
    take(&mut known, 6, &call("d"));
    assert_eq!(
        (all(&known)[3].clone(), ids(&known)[3]),
        (tool("d", "Running"), id)
    );
    // Nothing runs when no run is going.
    take(&mut known, 7, &status("idle", ""));
    assert_eq!(all(&known)[3], tool("d", "Waiting"));
}

/// Spec: [PART-03]
#[test]
fn each_record_is_taken_once_and_in_order() {
    let mut known = conversation(&[user("a"), text("b")]);
    let rows = [
        (position(2), EventApplied::Duplicate),
        (position(1), EventApplied::Duplicate),
        (position(4), EventApplied::Missed),
        ("00000000000000ab-3-0".to_owned(), EventApplied::Missed),
        ("nonsense".to_owned(), EventApplied::Missed),
        (position(3), EventApplied::Changed),
        (position(3), EventApplied::Duplicate),
    ];
    for (position, expected) in rows {
        let applied = known.apply(&text("c"), Some(&position), Duration::ZERO);
        assert_eq!(applied, expected, "{position}");
    }
    assert_eq!(all(&known), ["Named(\"ana\"): a", "b", "c"]);
    assert_eq!(pass(&mut known, &text("d")), EventApplied::Unchanged);
    assert_eq!(known.status().unknown, 1);
    let fresh =
        ConversationStore::new(String::new()).apply(&text("c"), Some(&position(1)), Duration::ZERO);
    assert_eq!(fresh, EventApplied::Missed);
}

/// Spec: [PART-03] [PART-11]
#[test]
fn a_gap_moves_on_and_is_said() {
    let mut known = conversation(&[user("a"), text("b")]);
    let gap =
        |after: u64, before: u64| event(json!({"type": "gap", "after": after, "before": before}));
    for (gap, expected) in [
        (gap(1, 3), EventApplied::Duplicate),
        (gap(3, 5), EventApplied::Missed),
        (gap(2, 5), EventApplied::Changed),
    ] {
        assert_eq!(pass(&mut known, &gap), expected);
    }
    assert_eq!(take(&mut known, 5, &text("c")), EventApplied::Changed);
    assert_eq!(
        all(&known),
        [
            "Named(\"ana\"): a",
            "b",
            "! records 3 to 4 cannot be read",
            "c"
        ]
    );
}

/// Spec: [PART-04]
#[test]
fn what_grows_is_never_doubled_and_becomes_the_finished_part() {
    let rows: [(&[Event], &str); 9] = [
        (
            &[delta(0, "text", 0, "Hel"), delta(0, "text", 3, "lo")],
            "Hello …",
        ),
        (
            &[delta(0, "text", 0, "Hel"), delta(0, "text", 0, "Hello")],
            "Hello …",
        ),
        (
            &[delta(0, "text", 0, "Hello"), delta(0, "text", 0, "Hel")],
            "Hello …",
        ),
        (
            &[delta(0, "text", 0, "Hello"), delta(0, "text", 3, "lo!")],
            "Hello! …",
        ),
        (
            &[delta(0, "text", 0, "Hel"), delta(0, "text", 4, "o")],
            "Hel …",
        ),
        (&[delta(0, "text", 0, "é"), delta(0, "text", 1, "x")], "é …"),
        (
            &[delta(0, "text", 0, "Hello"), delta(0, "text", 0, "Oh")],
            "Oh …",
        ),
        (
            &[delta(0, "reasoning", 0, "hm"), delta(0, "text", 0, "Oh")],
            "Oh …",
        ),
        (
            &[delta(0, "reasoning", 0, "hm"), delta(1, "text", 0, "Oh")],
            "Oh …",
        ),
    ];
    for (deltas, expected) in rows {
        let mut known = conversation(&[user("a")]);
        for delta in deltas {
            pass(&mut known, delta);
        }
        assert_eq!(all(&known).last().unwrap(), expected);
        let last = known
            .parts()
            .last()
            .map(|part| (part.id, part.revision))
            .unwrap();
        take(&mut known, 2, &text("Hello!"));
        let finished = known.parts().last().unwrap();
        assert_eq!((finished.id, finished.revision), (last.0, last.1 + 1));
        assert_eq!(all(&known), ["Named(\"ana\"): a", "Hello!"]);
        // A piece that comes late begins nothing.
        assert_eq!(
            pass(&mut known, &delta(0, "text", 3, "x")),
            EventApplied::Unchanged
        );
    }
}

/// Spec: [PART-04]
#[test]
fn what_comes_in_between_stands_before_what_grows() {
    let mut known = conversation(&[text("a")]);
    pass(&mut known, &delta(0, "reasoning", 0, "hm"));
    pass(&mut known, &delta(1, "text", 0, "Hel"));
    take(&mut known, 2, &user("b"));
    pass(&mut known, &delta(1, "text", 3, "lo"));
    let prompt = "Named(\"ana\"): b";
    assert_eq!(all(&known), ["a", prompt, "(hm) …", "Hello …"]);
    let seen = ids(&known);
    assert!(seen.is_sorted());
    // A block that was not seen growing stands before them too, and one that was passed over goes.
    take(&mut known, 3, &call("x"));
    assert_eq!(known.len(), 5);
    take(&mut known, 4, &text("Hello"));
    assert_eq!(all(&known)[3..], ["Hello"]);
    assert_eq!(
        known.digest(),
        conversation(&[text("a"), user("b"), call("x"), text("Hello")]).digest()
    );
}

/// Spec: [PART-04] [PART-05]
#[test]
fn what_is_void_goes() {
    let ends = [
        event(json!({"type": "discarded"})),
        event(json!({"type": "reply_failed", "error": "busy"})),
        event(json!({"type": "reply_ended", "model": "m", "stop_reason": "end_turn", "usage": {}})),
        status("idle", ""),
    ];
    for end in ends {
        let mut known = conversation(&[user("a")]);
        pass(&mut known, &delta(0, "reasoning", 0, "hm"));
        pass(&mut known, &delta(1, "text", 0, "b"));
        assert_eq!(known.len(), 3);
        if matches!(end, Event::Discarded {}) {
            assert_eq!(pass(&mut known, &end), EventApplied::Changed);
        } else {
            take(&mut known, 2, &end);
        }
        assert_eq!(all(&known), ["Named(\"ana\"): a"]);
    }
}

/// Spec: [PART-05]
#[test]
fn what_a_cancel_cut_short_is_marked_and_the_end_is_said_once() {
    let cut = event(json!({"type": "text", "content": "I wi", "partial": true}));
    let failed = event(json!({"type": "reply_failed", "error": "busy"}));
    let ended = |end: Event| [user("a"), cut.clone(), failed.clone(), end];
    for (records, expected) in [
        (ended(run_ended("cancelled", "cancelled")), "- cancelled"),
        (ended(run_ended("error", "busy")), "! busy"),
        (ended(run_ended("interrupted", "")), "! interrupted"),
        (
            ended(event(
                json!({"type": "turn_started", "run_id": 1, "turn": 2}),
            )),
            "! busy",
        ),
    ] {
        let known = conversation(&records);
        assert_eq!(all(&known), ["Named(\"ana\"): a", "I wi (cut)", expected]);
    }
}

/// Spec: [PART-06]
#[test]
fn a_prompt_is_shown_until_its_echo_takes_its_place() {
    let mut known = conversation(&[user("a")]);
    assert!(known.submit("k1".to_owned(), "b".to_owned(), Vec::new()));
    assert!(!known.submit("k1".to_owned(), "b".to_owned(), Vec::new()));
    assert!(known.submit("k2".to_owned(), "c".to_owned(), Vec::new()));
    assert!(known.submit("k3".to_owned(), "d".to_owned(), Vec::new()));
    known.accepted("k1", 2);
    take(&mut known, 2, &text("t"));
    let first = "Named(\"ana\"): a";
    assert_eq!(
        all(&known),
        [first, "t", "You: b …", "You: c …", "You: d …"]
    );
    assert!(known.refuse("k2"));
    assert!(!known.refuse("k2"));
    let echo = event(json!({"type": "user", "content": "b", "key": "k1"}));
    take(&mut known, 3, &echo);
    assert_eq!(all(&known), [first, "t", "You: b", "You: d …"]);
    // A new snapshot has the other echo, and what waits survives it.
    let third = event(json!({"type": "user", "content": "d", "key": "k3"}));
    known.submit("k4".to_owned(), "e".to_owned(), Vec::new());
    known.restore(
        &snapshot(&[user("a"), text("t"), echo, third], 1, 4),
        Duration::ZERO,
    );
    assert_eq!(all(&known), [first, "t", "You: b", "You: d", "You: e …"]);
    // An echo is further up than what was loaded, whichever is known first.
    known.submit("k5".to_owned(), "f".to_owned(), Vec::new());
    known.submit("k6".to_owned(), "g".to_owned(), Vec::new());
    known.accepted("k4", 2);
    let mut later = snapshot(&[text("z")], 1, 1);
    later.summary.run_id = Some(2);
    known.restore(&later, Duration::ZERO);
    assert_eq!(all(&known), ["z", "You: f …", "You: g …"]);
    known.accepted("k5", 2);
    known.accepted("k6", 3);
    assert_eq!(all(&known), ["z", "You: g …"]);
    // Another conversation has nothing of this one.
    later.summary.id = "other".to_owned();
    known.restore(&later, Duration::ZERO);
    assert_eq!(all(&known), ["z"]);
}

/// Spec: [PART-07]
#[test]
fn who_sent_a_prompt_is_said() {
    for (fields, expected) in [
        (
            json!({"type": "user", "content": "x", "by": "ana", "key": "own-7"}),
            "You: x",
        ),
        (
            json!({"type": "user", "content": "x", "by": "ana", "key": "owner"}),
            "Named(\"ana\"): x",
        ),
        (
            json!({"type": "user", "content": "x", "by": "ana"}),
            "Named(\"ana\"): x",
        ),
        (
            json!({"type": "user", "content": "x", "key": "k"}),
            "Unnamed: x",
        ),
    ] {
        assert_eq!(all(&conversation(&[event(fields)])), [expected]);
    }
}

/// Spec: [PART-09]
#[test]
fn a_new_snapshot_keeps_the_ids_of_the_records_that_it_shares() {
    let records: Vec<Event> = (0..20)
        .map(|n| {
            if n == 9 {
                call("a")
            } else {
                text(&format!("t{n}"))
            }
        })
        .collect();
    let mut known = conversation(&records[..12]);
    pass(&mut known, &delta(0, "text", 0, "live"));
    let before = ids(&known);
    let parts: Vec<Part> = known.parts().take(12).cloned().collect();
    // The tail overlaps: all stay.
    known.restore(&snapshot(&records, 8, 20), Duration::ZERO);
    assert_eq!(ids(&known)[..12], before[..12]);
    assert_eq!(known.parts().take(12).cloned().collect::<Vec<_>>(), parts);
    assert_eq!((known.len(), known.has_older()), (20, false));
    assert_eq!(known.digest(), conversation(&records).digest());
    // It does not: what is between must be fetched again. No layout of old parts fits new ones.
    let mut known = conversation(&records[..4]);
    let key = |part: &Part| (part.id, part.revision);
    let old: Vec<_> = known.parts().map(key).collect();
    known.restore(&snapshot(&records, 18, 20), Duration::ZERO);
    assert_eq!((known.len(), known.oldest_seq()), (3, Some(18)));
    known.prepend(&history(&records, 1, 17));
    assert!(
        known
            .parts()
            .any(|part| old.iter().any(|old| old.0 == part.id))
    );
    assert!(known.parts().all(|part| !old.contains(&key(part))));
    // Another life of the journal with the same records, then with others.
    let mut known = conversation(&records[..12]);
    let mut other = snapshot(&records, 8, 20);
    other.position = "b-20-0".to_owned();
    known.restore(&other, Duration::ZERO);
    assert_eq!(ids(&known)[..5], before[7..12]);
    assert_eq!(known.oldest_seq(), Some(8));
    let mut changed = records.clone();
    changed[9] = text("other");
    let mut known = conversation(&records[..12]);
    known.restore(&snapshot(&changed, 8, 20), Duration::ZERO);
    assert_eq!(ids(&known)[..9], before[..9]);
    assert!(ids(&known)[9] > before[11]);
    assert_eq!(known.digest(), conversation(&changed).digest());
}

/// Spec: [PART-09]
#[test]
fn what_a_new_snapshot_repeats_is_counted_once() {
    let records = [
        user("a"),
        event(json!({"type": "record", "record_type": "later"})),
        event(json!({"type": "turn_started", "run_id": 1, "turn": 3})),
    ];
    let mut known = conversation(&records);
    for _ in 0..2 {
        known.restore(&snapshot(&records, 1, 3), Duration::ZERO);
        assert_eq!((known.status().unknown, known.status().turn), (1, 3));
        assert_eq!((known.status().run_id, known.len()), (Some(1), 1));
    }
    let mut fresh = ConversationStore::new(String::new());
    fresh.restore(&snapshot(&records, 1, 3), Duration::ZERO);
    assert_eq!(fresh.status(), known.status());
}

/// Spec: [PART-13]
#[test]
fn older_pages_come_in_front_and_their_calls_get_their_results() {
    let records = [
        user("a"),
        call("a"),
        call("b"),
        result("a", "1"),
        event(json!({"type": "calls_skipped", "reason": "cancelled"})),
        run_ended("cancelled", ""),
        text("z"),
    ];
    let whole = conversation(&records);
    for from in 1..=7 {
        for middle in 1..=from {
            let mut known = ConversationStore::new(String::new());
            known.restore(&snapshot(&records, from, 7), Duration::ZERO);
            assert_eq!(known.oldest_seq(), (from > 1).then_some(from));
            let seen = ids(&known);
            for (first, last) in [(middle, from - 1), (1, middle - 1)] {
                if last >= first {
                    known.prepend(&history(&records, first, last));
                    // The answer to the same question again.
                    known.prepend(&history(&records, first, last));
                }
            }
            assert_eq!(all(&known), all(&whole), "{from} {middle}");
            assert_eq!(known.digest(), whole.digest());
            assert!(ids(&known).ends_with(&seen) && ids(&known).is_sorted());
            assert!(!known.has_older());
        }
    }
}

/// Spec: [PART-12]
#[test]
fn a_result_is_kept_short_until_all_of_it_is_asked_for() {
    let long = "line\n".repeat(500);
    let records = [call("a"), result("a", &long), call("b")];
    let mut known = conversation(&records);
    let lines = |known: &ConversationStore| all(known)[0].matches("line").count();
    let digest = known.digest();
    assert_eq!(lines(&known), 101);
    assert!(!known.replace_cut(9, &records[1]));
    assert!(!known.replace_cut(2, &text("x")));
    assert!(!known.replace_cut(2, &result("b", "x")));
    assert_eq!(lines(&known), 101);
    assert!(known.replace_cut(2, &records[1]));
    assert_eq!((lines(&known), known.digest()), (500, digest));
    // A new snapshot does not fold it again.
    known.restore(&snapshot(&records, 1, 3), Duration::ZERO);
    assert_eq!(lines(&known), 500);
    let other = conversation(&[call("a"), result("a", &(long + "more")), call("b")]);
    assert_ne!(other.digest(), digest);
}

/// Spec: [PART-02]
#[test]
fn the_status_follows_the_events() {
    let mut known = conversation(&[
        event(json!({"type": "run_started", "run_id": 7})),
        event(json!({"type": "turn_started", "run_id": 7, "turn": 2})),
        event(json!({"type": "reply_ended", "model": "m", "stop_reason": "x", "usage": {}})),
        event(json!({"type": "renamed", "title": "T"})),
        event(json!({"type": "record", "record_type": "later"})),
        status("running_tool", "grep"),
    ]);
    pass(
        &mut known,
        &event(json!({"type": "presence", "count": 2, "names": ["ana"]})),
    );
    let status = known.status().clone();
    assert_eq!(
        (status.run_id, status.turn, status.clients),
        (Some(7), 2, 2)
    );
    assert_eq!(
        (status.model, status.title),
        (Some("m".to_owned()), Some("T".to_owned()))
    );
    assert_eq!((status.tool, status.unknown), (Some("grep".to_owned()), 1));
    assert_eq!(
        (status.names, status.conversation),
        (vec!["ana".to_owned()], "c".to_owned())
    );
    let attached = |seq| {
        event(
            json!({"type": "attached", "conversation": "c", "position": position(seq),
            "state": "idle", "message": ""}),
        )
    };
    assert_eq!(pass(&mut known, &attached(7)), EventApplied::Missed);
    assert_eq!(pass(&mut known, &attached(6)), EventApplied::Changed);
    assert_eq!(
        (known.status().state, known.status().run_id),
        (ActivityState::Idle, None)
    );
    let reset = event(json!({"type": "reset", "reason": "x",
        "snapshot": serde_json::to_value(snapshot(&[user("n")], 1, 1)).unwrap()}));
    assert_eq!(pass(&mut known, &reset), EventApplied::Changed);
    assert_eq!(all(&known), ["Named(\"ana\"): n"]);
}
