//! How long a request is taken to be, and where the past is cut.

use super::cut::testing::ToldCut;
use super::*;
use crate::compaction::{CompactionCut, CompactionSettings, Goal, SYSTEM_PROMPT, finish, prompt};
use crate::tool::Registry;

const HEAD: u64 = 2000;

fn goal(window: u64, keep: u64) -> Goal {
    Goal {
        window,
        settings: CompactionSettings {
            keep_tokens: keep,
            ..CompactionSettings::default()
        },
        head_tokens: HEAD,
        summary_tokens: 4000,
    }
}

fn usual() -> Goal {
    goal(200_000, 20_000)
}

/// A text of so many tokens.
fn tokens(number: usize) -> String {
    "abc ".repeat(number)
}

fn reply(history: &mut History, blocks_of: &Value) {
    history.push_reply(blocks(blocks_of), Unanswered::Interrupted);
}

/// One call, and its result of so many tokens.
fn tool(history: &mut History, id: &str, size: usize) {
    reply(history, &json!([call(id)]));
    history.push_result(id, &tokens(size), false);
}

/// A conversation of turns of about 3,000 tokens, each prompt with one call.
fn turns(number: usize) -> History {
    let mut history = History::default();
    for turn in 0..number {
        history.push_prompt(&tokens(500), &[]);
        tool(&mut history, &format!("t{turn}"), 2000);
        reply(&mut history, &json!([text(&tokens(480))]));
    }
    history
}

/// The message that a cut begins what is kept with.
fn first_kept(history: &History, cut: &CompactionCut) -> Value {
    let messages: Vec<Value> = serde_json::from_str(&sent(history)).unwrap();
    messages[messages.len() - usize::try_from(cut.kept).unwrap()].clone()
}

/// Spec: [COMP-01]
#[test]
fn a_token_is_four_characters_and_not_bytes() {
    let own = |fill: fn(&mut History)| {
        let mut history = History::default();
        fill(&mut history);
        history.estimate(100) - 100
    };
    assert_eq!(own(|_| {}), 0);
    assert_eq!(own(|it| it.push_prompt(&"a".repeat(4001), &[])), 1001);
    assert_eq!(
        own(|it| it.push_prompt(&"\u{1f980}".repeat(4001), &[])),
        1001
    );
    assert_eq!(
        own(|it| {
            let file = |media_type: &str, bytes| Attachment {
                sha256: String::new(),
                media_type: media_type.to_owned(),
                bytes,
                name: None,
            };
            it.push_prompt(
                "ab",
                &[file("image/png", 9_999_999), file("text/plain", 398)],
            );
        }),
        1300
    );
    // The prompt, "read" with {"b":1,"a":[1.5,"x"]}, the thought and the text: 1 + 13.
    assert_eq!(
        own(|it| {
            it.push_prompt("hi", &[]);
            let thought = json!({"type": "thinking", "thinking": "1234567", "signature": "sss"});
            reply(it, &json!([thought, text(&"é".repeat(17)), call("t")]));
        }),
        1 + (7_u64 + 17 + 4 + 23).div_ceil(4)
    );
    // The result, before and after it is sealed.
    assert_eq!(
        own(|it| {
            it.push_prompt("hi", &[]);
            tool(it, "t", 100);
        }),
        1 + 7 + 100
    );
    assert_eq!(
        own(|it| {
            it.push_prompt("hi", &[]);
            tool(it, "t", 100);
            reply(it, &json!([text("abcd")]));
        }),
        1 + 7 + 100 + 1
    );
}

/// Spec: [COMP-02]
#[test]
fn an_estimate_begins_at_the_last_count() {
    let mut history = turns(1);
    history.anchor(5000);
    assert_eq!(history.estimate(HEAD), 5000);
    history.push_prompt(&tokens(300), &[]);
    assert_eq!(history.estimate(HEAD), 5300);
    // No server can count that.
    let own = history.own_estimate();
    for absurd in [0, 1, own / 10 - 1, u64::MAX, 2_000_000] {
        history.anchor(absurd);
        assert_eq!(history.estimate(HEAD), 5300, "{absurd}");
    }
    // A count later in the same past tells how this text is counted: here twice as high.
    reply(&mut history, &json!([text(&tokens(2000))]));
    history.anchor(5000 + 2 * 2300);
    history.push_prompt(&tokens(300), &[]);
    assert_eq!(history.estimate(HEAD), 9600 + 600);
}

/// Spec: [COMP-03]
#[test]
fn a_count_is_forgotten_when_the_past_is_another() {
    let changes: [Change; 4] = [
        ("a summary", |history| history.compact("S", 4)),
        ("no thinking", History::strip_thinking),
        ("taken back", |history| assert!(history.take_back_reply())),
        ("refused", |history| drop(history.leave_out_refused())),
    ];
    for (what, change) in changes {
        let mut history = turns(2);
        history.anchor(12_000);
        history.push_prompt(&tokens(3000), &[]);
        reply(&mut history, &json!([text("a")]));
        // 3,001 more are counted as 6,002: the factor stays.
        history.anchor(18_002);
        assert_eq!(history.estimate(HEAD), 18_002);
        change(&mut history);
        let own = history.own_estimate();
        assert_eq!(history.estimate(HEAD), 2 * (HEAD + own), "{what}");
    }
    // The factor is at least 1 and at most 4.
    for (counted, factor) in [(100, 1), (90_000, 4)] {
        let mut history = turns(2);
        history.anchor(12_000);
        history.push_prompt(&tokens(8000), &[]);
        reply(&mut history, &json!([text("a")]));
        history.anchor(12_000 + counted);
        history.strip_thinking();
        assert_eq!(
            history.estimate(HEAD),
            factor * (HEAD + history.own_estimate())
        );
    }
}

/// Spec: [COMP-03] [COMP-07]
#[test]
fn an_old_count_does_not_trigger_again() {
    let mut history = turns(65);
    history.anchor(198_000);
    let goal = usual();
    assert!(goal.is_exceeded_by(history.estimate(HEAD)));
    let cut = history.told_cut(&goal, None, &Registry::default()).unwrap();
    assert_eq!(cut.tokens_before, 198_000);
    history.compact("S", cut.kept);
    assert!(!goal.is_exceeded_by(history.estimate(HEAD)));
    assert!(history.estimate(HEAD) <= cut.tokens_after);
    assert_eq!(history.told_cut(&goal, None, &Registry::default()), None);
}

/// The life of a conversation in a window of 200,000 tokens.
struct Lived {
    over: usize,
    cuts: Vec<ToldCut>,
    largest: u64,
}

/// Asks the model; `factor` is what it counts for a token of ours, in tenths.
fn ask(history: &mut History, factor: u64, lived: &mut Lived, answer: &Value) {
    let goal = usual();
    if goal.is_exceeded_by(history.estimate(HEAD)) {
        let cut = history.told_cut(&goal, None, &Registry::default()).unwrap();
        let before = history.own_estimate();
        let summary = finish(&tokens(2000), &cut);
        history.compact(&summary, cut.kept);
        assert!(history.own_estimate() * 5 < before * 4, "it shrinks");
        lived.cuts.push(cut);
    }
    let request = HEAD + history.own_estimate() * factor / 10;
    lived.over += usize::from(request > goal.window);
    lived.largest = lived.largest.max(request);
    reply(history, answer);
    history.anchor(HEAD + history.own_estimate() * factor / 10);
}

/// Spec: [COMP-10]
#[test]
fn a_long_conversation_stays_within_the_window() {
    for (factor, most) in [(10, 3), (13, 4), (25, 7)] {
        let mut history = History::default();
        let mut lived = Lived {
            over: 0,
            cuts: Vec::new(),
            largest: 0,
        };
        for turn in 0..120 {
            history.push_prompt(&tokens(500), &[]);
            ask(
                &mut history,
                factor,
                &mut lived,
                &json!([call(&format!("t{turn}"))]),
            );
            history.push_result(&format!("t{turn}"), &tokens(2000), false);
            ask(
                &mut history,
                factor,
                &mut lived,
                &json!([text(&tokens(480))]),
            );
        }
        assert_eq!(lived.over, 0, "factor {factor}");
        assert!(
            (2..=most).contains(&lived.cuts.len()),
            "{} cuts at factor {factor}",
            lived.cuts.len()
        );
        // None comes before it is needed.
        assert!(lived.largest > 170_000, "{}", lived.largest);
        for cut in &lived.cuts {
            assert!(
                cut.tokens_before > 183_616 && cut.tokens_after < 60_000,
                "{cut:?}"
            );
            assert!(cut.pieces.len() < 4);
        }
        assert!(lived.cuts[0].told.previous.is_none());
        assert!(lived.cuts[1].told.previous.is_some());
    }
}

/// Spec: [COMP-06] [COMP-10]
#[test]
fn one_turn_that_is_longer_than_the_window_is_cut_inside() {
    let mut history = History::default();
    let mut lived = Lived {
        over: 0,
        cuts: Vec::new(),
        largest: 0,
    };
    history.push_prompt("go", &[]);
    for call_number in 0..100 {
        ask(
            &mut history,
            10,
            &mut lived,
            &json!([call(&format!("t{call_number}"))]),
        );
        history.push_result(&format!("t{call_number}"), &tokens(3000), false);
        let messages: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
        assert_eq!(first_violation(&messages), None);
    }
    assert_eq!((lived.over, lived.cuts.len()), (0, 1));
    assert!((18_000..20_000).contains(&(lived.cuts[0].tokens_after - HEAD - 4000)));
}

/// Spec: [COMP-05]
#[test]
fn a_prompt_near_the_place_is_preferred() {
    // 20,000 tokens back is a result; the prompt of its turn is near.
    let history = turns(60);
    let cut = history
        .told_cut(&goal(200_000, 20_000), None, &Registry::default())
        .unwrap();
    let first = first_kept(&history, &cut);
    assert_eq!((first["role"].as_str(), cut.kept), (Some("user"), 28));
    assert_eq!(first["content"][0]["type"], "text");

    // A loop of calls has none near.
    let mut history = turns(20);
    for number in 0..40 {
        tool(&mut history, &format!("u{number}"), 2000);
    }
    let cut = history
        .told_cut(&goal(200_000, 20_000), None, &Registry::default())
        .unwrap();
    let first = first_kept(&history, &cut);
    assert_eq!((first["role"].as_str(), cut.kept), (Some("assistant"), 18));
    // One that is near, but behind the place.
    history.push_prompt(&tokens(11_000), &[]);
    let mut later = history;
    reply(&mut later, &json!([text("a")]));
    later.push_prompt(&tokens(11_000), &[]);
    let cut = later
        .told_cut(&goal(200_000, 21_000), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 1);
}

/// Spec: [COMP-06]
#[test]
fn what_is_too_long_to_be_kept_goes_too() {
    // One giant result.
    let mut history = turns(1);
    history.push_prompt("see", &[]);
    tool(&mut history, "g", 250_000);
    let cut = history
        .told_cut(&usual(), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 0);
    assert!(cut.pieces[0].contains("[tool result]: abc abc"));
    assert!(cut.pieces[0].contains("998000 more characters are left out]"));
    history.compact("S", 0);
    assert!(!usual().is_exceeded_by(history.estimate(HEAD)));

    // Many results at once, with a prompt behind them: that one stays.
    let mut history = turns(1);
    let calls: Vec<Value> = (0..50).map(|number| call(&format!("p{number}"))).collect();
    history.push_prompt("all", &[]);
    reply(&mut history, &calls.into());
    for number in 0..50 {
        history.push_result(&format!("p{number}"), &tokens(6000), false);
    }
    history.push_prompt("steer", &[]);
    let cut = history
        .told_cut(&usual(), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 0);
    assert!(!cut.pieces.concat().contains("steer"));
    assert_eq!(cut.pieces.concat().matches("[tool result]").count(), 51);
    history.compact("S", 0);
    assert!(sent(&history).contains("steer"));

    // A result that is longer than what is to be kept, but not too long, stays.
    let mut history = turns(30);
    tool(&mut history, "g", 90_000);
    let cut = history
        .told_cut(&goal(180_000, 20_000), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 2);

    // Two results that are too long together, but not alone.
    let mut history = turns(1);
    tool(&mut history, "g", 120_000);
    tool(&mut history, "h", 120_000);
    let cut = history
        .told_cut(&goal(200_000, 130_000), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 2);
}

/// Spec: [COMP-07]
#[test]
fn nothing_is_cut_where_that_would_not_help() {
    // All of it is to be kept, or it is nothing.
    assert_eq!(
        turns(6).told_cut(&usual(), None, &Registry::default()),
        None
    );
    assert_eq!(
        History::default().told_cut(&usual(), None, &Registry::default()),
        None
    );
    // The prompt alone is too long.
    let mut history = History::default();
    history.push_prompt(&tokens(300_000), &[]);
    assert_eq!(history.told_cut(&usual(), None, &Registry::default()), None);
    // Nothing but the summary stands before it.
    history.compact(&tokens(3000), 0);
    assert_eq!(history.told_cut(&usual(), None, &Registry::default()), None);
    let mut history = turns(1);
    history.compact(&tokens(50_000), 1);
    history.push_prompt(&tokens(19_000), &[]);
    reply(&mut history, &json!([text(&tokens(19_000))]));
    assert_eq!(history.len(), 4);
    let cut = history
        .told_cut(&usual(), None, &Registry::default())
        .unwrap();
    assert_eq!(cut.kept, 2, "the reply between them is new");
    history.compact(&tokens(50_000), 1);
    assert_eq!(history.len(), 2);
    assert_eq!(history.told_cut(&usual(), None, &Registry::default()), None);

    // A fifth at least has to go, with a summary of full length.
    let shrunk = |dropped: usize| {
        let mut history = History::default();
        history.push_prompt(&tokens(dropped), &[]);
        reply(&mut history, &json!([text("a")]));
        history.push_prompt(&tokens(20_000), &[]);
        history.told_cut(&usual(), None, &Registry::default())
    };
    // (2,000 + 4,000 + 20,000) / 0.8 is 32,500.
    assert_eq!(shrunk(10_498), None);
    let cut = shrunk(10_499).unwrap();
    assert_eq!(
        (cut.tokens_before, cut.tokens_after, cut.kept),
        (32_500, 26_000, 1)
    );
}

/// Spec: [COMP-12]
#[test]
fn a_plan_knows_nothing_but_what_was_said() {
    let said = |word: &str| {
        let mut history = turns(30);
        history.compact(&format!("summary {word}"), 20);
        history.push_prompt(&format!("{word} {}", tokens(500)), &[]);
        reply(&mut history, &json!([text(&tokens(480))]));
        for number in 0..10 {
            history.push_prompt(&tokens(500), &[]);
            tool(&mut history, &format!("u{number}"), 2000);
            reply(&mut history, &json!([text(&tokens(480))]));
        }
        history
    };
    // Two pasts of the same length.
    let (one, other) = (said("one"), said("two"));
    let (first, second) = (
        one.told_cut(&usual(), None, &Registry::default()),
        other.told_cut(&usual(), None, &Registry::default()),
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.kept, second.kept);
    assert!(
        first.first_prompt().contains("[user]: one")
            && first.first_prompt().contains("summary one")
    );
    assert!(
        second.first_prompt().contains("[user]: two")
            && !second.first_prompt().contains("summary one")
    );
    let before = sent(&one);
    assert_eq!(
        one.told_cut(&usual(), None, &Registry::default()),
        Some(first)
    );
    assert_eq!(sent(&one), before);
}

/// Spec: [COMP-15]
#[test]
fn each_request_for_a_summary_fits_into_the_window() {
    for factor in [1, 3] {
        for window in [40_000, 200_000] {
            let mut history = History::default();
            for number in 0..60 {
                history.push_prompt(&format!("p{number} {}", tokens(4990)), &[]);
                reply(&mut history, &json!([text("a")]));
                history.anchor(HEAD + history.own_estimate() * factor);
            }
            assert!(history.own_estimate() > 299_000);
            history.compact(&tokens(3000), 119);
            let goal = goal(window, 5000);
            let cut = history
                .told_cut(&goal, Some("the tests"), &Registry::default())
                .unwrap();
            assert!(cut.pieces.len() > 1);
            let earlier = tokens(4000 / usize::try_from(factor).unwrap());
            for piece in &cut.pieces {
                let prompt = prompt(piece, Some(&earlier));
                let chars = (SYSTEM_PROMPT.len() + prompt.len()) as u64;
                let size = chars / 4 * factor + goal.summary_tokens;
                assert!(size <= window * 3 / 4, "{size} of {window}");
            }
            // All of it is told, once and in its order.
            let told = cut.pieces.concat();
            let places: Vec<Option<usize>> = (1..55)
                .map(|n| told.find(&format!("[user]: p{n} ")))
                .collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted());
        }
    }
}

/// Spec: [MODEL-805]
#[test]
fn what_the_api_left_out_is_not_in_the_next_request_but_may_be_charged() {
    let mut history = History::default();
    history.push_prompt(&"word ".repeat(8000), &[]);
    history.push_reply(vec![Block::text("yes")], Unanswered::Interrupted);
    history.anchor_cleared(12_000, 5000);
    assert_eq!((history.estimate(0), history.cleared()), (12_000, 5000));
    assert_eq!(history.counted().unwrap().tokens, 12_000);
    // A count that cannot be changes nothing, and the next reply says it anew.
    history.anchor_cleared(u64::MAX, 9);
    assert_eq!(history.cleared(), 5000);
    history.anchor(12_000);
    assert_eq!(history.cleared(), 0);
}
