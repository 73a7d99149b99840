//! The output of running calls on the screen, from the events on.

use super::testing::*;
use super::{ConversationStore, EventApplied, PartKind};
use crate::layout::picture::text;
use crate::part_view::{FoldAmount, layout};

fn tool_output(id: &str, offset: usize, text: &str) -> harness_protocol::Event {
    event(serde_json::json!({"type": "tool_output", "id": id, "offset": offset, "text": text}))
}

/// The part below the heading and the input of a call.
fn rows(known: &ConversationStore, call: &str, fold: FoldAmount) -> Vec<String> {
    let is_it = |kind: &PartKind| matches!(kind, PartKind::Tool(tool) if tool.call_id == call);
    let part = known.parts().find(|part| is_it(&part.kind)).unwrap();
    let rows = text(&layout(part, 30, fold));
    rows.into_iter().skip(2).collect()
}

/// Spec: [TUI-102]
#[test]
fn a_running_call_shows_a_tail_that_grows_until_its_result_comes() {
    let mut known = conversation(&[call("a"), call("b")]);
    assert_eq!(rows(&known, "a", FoldAmount::Cut), [""; 0]);
    let mut offset = 0;
    let mut says = |known: &mut ConversationStore, text: &str| {
        let applied = pass(known, &tool_output("a", offset, text));
        assert_eq!(applied, EventApplied::Changed);
        offset += text.len();
    };
    says(&mut known, "Compiling one\n  Comp");
    assert_eq!(
        rows(&known, "a", FoldAmount::Cut),
        ["  Compiling one", "    Comp"]
    );
    says(&mut known, "iling two\n 1/9\r 2/9");
    assert_eq!(
        rows(&known, "a", FoldAmount::Cut)[1..],
        ["    Compiling two", "   2/9"]
    );
    says(&mut known, "\r 9/9\n");
    for number in 1..=12 {
        says(
            &mut known,
            &format!("line {number} \x1b[1;1Hwith more than fits in a row\n"),
        );
    }
    let tail = rows(&known, "a", FoldAmount::Cut);
    assert_eq!(tail.len(), 9, "{tail:?}");
    assert_eq!(tail[0], "  ... (7 earlier lines)");
    assert_eq!(tail[8], "  line 12 with more than fits…");
    let all = rows(&known, "a", FoldAmount::Open);
    assert_eq!(all[..3], ["  Compiling one", "    Compiling two", "   9/9"]);
    assert_eq!(all.len(), 3 + 2 * 12);
    assert_eq!(rows(&known, "a", FoldAmount::Folded), [""; 0]);
    // Calls may run at the same time.
    assert_eq!(
        pass(&mut known, &tool_output("b", 0, "x")),
        EventApplied::Changed
    );
    assert_eq!(rows(&known, "b", FoldAmount::Cut), ["  x"]);
    take(&mut known, 3, &result("a", "done"));
    assert_eq!(rows(&known, "a", FoldAmount::Cut), ["  done"]);
    let skipped = event(serde_json::json!({"type": "calls_skipped", "reason": "cancelled"}));
    take(&mut known, 4, &skipped);
    assert_eq!(rows(&known, "b", FoldAmount::Cut), [""; 0]);
    // What comes too late, or is of a call that is not loaded, is not shown.
    for id in ["a", "b", "other"] {
        let late = pass(&mut known, &tool_output(id, 900, "late"));
        assert_eq!(late, EventApplied::Unchanged);
    }
    assert_eq!(known.status().unknown, 0);
}

/// Spec: [TUI-103]
#[test]
fn a_client_that_attaches_again_shows_nothing_twice_and_says_what_it_missed() {
    let mut known = conversation(&[call("a")]);
    pass(&mut known, &tool_output("a", 0, "one\ntw"));
    // The end is told again, with what came meanwhile.
    pass(&mut known, &tool_output("a", 4, "two\nthree\n"));
    assert_eq!(
        rows(&known, "a", FoldAmount::Cut),
        ["  one", "  two", "  three"]
    );
    assert_eq!(
        pass(&mut known, &tool_output("a", 4, "two\nthree\n")),
        EventApplied::Unchanged
    );
    pass(&mut known, &tool_output("a", 65_550, "last\n"));
    assert_eq!(
        rows(&known, "a", FoldAmount::Cut)[3..],
        ["  … 65536 bytes not shown", "  last"]
    );
    // With a snapshot it begins anew.
    known.restore(&snapshot(&[call("a")], 1, 1), std::time::Duration::ZERO);
    pass(&mut known, &tool_output("a", 65_550, "last\n"));
    assert_eq!(
        rows(&known, "a", FoldAmount::Cut),
        ["  … 65550 bytes not shown", "  last"]
    );
}
