//! The values that the machine joins, each without the machine.

use std::sync::Arc;

use harness_protocol::{CompactionReason, RefusalFallback};

use super::super::compaction::{Compaction, CompactionVerdict, NextRequest, Progress};
use super::super::plan::RunPlan;
use super::super::tools::PendingCalls;
use super::talk::long;
use super::testing::*;
use super::*;
use crate::tool::ToolCall;

/// The plan of a run in a window of 10,000 tokens, of which 2,000 are reserved.
fn plan(auto_compact: bool) -> RunPlan {
    let mut defaults = (*planner(10).defaults).clone();
    defaults.settings.auto_compact = auto_compact;
    defaults.settings.context_window = Some(10_000);
    defaults.settings.reserve_tokens = 2_000;
    defaults.settings.keep_tokens = 1_000;
    Planner::new(defaults).plan(&Settings::default(), Arc::from([]), WebLimits::default())
}

/// A past of so many thousand tokens, and a prompt.
fn past(thousands: usize) -> History {
    let mut history = History::default();
    for _ in 0..thousands {
        history.push_prompt(&long("p", 500), &[]);
        history.push_reply(vec![Block::text(&long("r", 500))], Unanswered::Interrupted);
    }
    history.push_prompt("and now", &[]);
    history
}

fn look(compaction: &mut Compaction, plan: &RunPlan, thousands: usize) -> CompactionVerdict {
    compaction.look(&NextRequest {
        plan,
        head_tokens: 0,
        history: &past(thousands),
    })
}

/// Begins the summary that is due.
fn summarize(compaction: &mut Compaction, plan: &RunPlan, thousands: usize) {
    let CompactionVerdict::Summarize(cut, dropped) = look(compaction, plan, thousands) else {
        panic!("a summary is due");
    };
    let next = NextRequest {
        plan,
        head_tokens: 0,
        history: &past(thousands),
    };
    let summarizing = compaction.attempt(CompactionReason::Threshold, cut, &next, id(1));
    let told = dropped.tell();
    compaction.begin(summarizing, dropped);
    let asks = compaction.take_piece(&id(1), told);
    assert!(matches!(asks, Progress::Asks(_)));
}

/// Spec: [CONV-114] [CONV-115] [CONV-118]
#[test]
fn a_request_fits_or_is_looked_at_or_summarized_or_too_long() {
    let mut compaction = Compaction::default();
    assert_eq!(
        look(&mut compaction, &plan(false), 20),
        CompactionVerdict::Fits
    );

    let plan = plan(true);
    assert_eq!(look(&mut compaction, &plan, 1), CompactionVerdict::Fits);
    assert_eq!(look(&mut compaction, &plan, 5), CompactionVerdict::Describe);
    compaction.described(None);
    assert_eq!(look(&mut compaction, &plan, 5), CompactionVerdict::Fits);
    summarize(&mut compaction, &plan, 9);
    summarize(&mut compaction, &plan, 9);
    // After two attempts what fits is sent, and what does not is not.
    assert_eq!(look(&mut compaction, &plan, 9), CompactionVerdict::Fits);
    let too_long = look(&mut compaction, &plan, 12);
    assert!(
        matches!(too_long, CompactionVerdict::TooLong { tokens, window: 10_000 } if tokens > 12_000),
        "{too_long:?}"
    );
    compaction.replied();
    summarize(&mut compaction, &plan, 9);
}

/// Spec: [CONV-127]
#[test]
fn results_are_told_in_the_order_of_the_calls_and_once() {
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: crate::reply::Object::new(),
        input_error: None,
    };
    let outcome = || ToolOutcome::failed("no");
    let mut tools = PendingCalls::new(["a", "b", "c"].map(call).into());
    let mut last_call = id(0);
    let begun = tools.begin(2, &mut last_call);
    assert_eq!(begun, [run_tool(1, "a"), run_tool(2, "b")]);
    assert_eq!(tools.finish(&id(2), outcome()), Some(vec![]));
    assert_eq!(tools.finish(&id(2), outcome()), None);
    assert_eq!(tools.running().collect::<Vec<_>>(), [&id(1)]);
    let results = vec![(call("a"), outcome()), (call("b"), outcome())];
    assert_eq!(tools.finish(&id(1), outcome()), Some(results));
    assert!(!tools.is_empty());
    assert_eq!(tools.begin(1, &mut last_call), [run_tool(3, "c")]);
    assert_eq!(
        tools.finish(&id(3), outcome()).map(|last| last.len()),
        Some(1)
    );
    assert!(tools.is_empty());
}

/// Spec: [FLOW-717]
#[test]
fn another_model_goes_on_in_workflows_at_the_vendor_alone_and_if_it_is_left_open() {
    for (is_vendor, setting, falls_back) in [
        (true, RefusalFallback::Auto, true),
        (false, RefusalFallback::Auto, false),
        (true, RefusalFallback::Off, false),
        // Then it does in every conversation.
        (true, RefusalFallback::On, false),
    ] {
        let mut defaults = Defaults::new("m", 1);
        defaults.is_vendor = is_vendor;
        defaults.settings.refusal_fallback = setting;
        assert_eq!(defaults.workflows_fall_back(), falls_back, "{setting:?}");
    }
}
