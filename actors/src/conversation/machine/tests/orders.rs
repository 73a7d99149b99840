//! The conditions of an order, whatever its content.

use harness_protocol::{RenewTools, SettingsPatch};
use serde_json::json;

use super::talk::message;
use super::testing::*;
use super::*;
use crate::conversation::messages::{
    ChangeConversationSettings, ChangeError, CompactConversation, ContinueRun, GivenOrder,
    RenameConversation, Resumption, WithdrawMessages, WouldTake,
};
use crate::ids::ItemId;

fn full() -> SubmitError {
    SubmitError::NotKept("the disk is full".to_owned())
}

/// The refusal of an order where there is no room.
fn refusal<O: ConversationOrder<Answer: std::fmt::Debug, Refusal: std::fmt::Debug>>(
    machine: &mut Machine,
    order: O,
) -> O::Refusal {
    machine.order(order, |_| Err(full())).unwrap_err()
}

/// A machine that was asked once, with that key, and has a message that waits.
fn idle() -> Machine {
    let mut machine = machine(10);
    machine.obey(keyed()).unwrap();
    machine.handle(finished(1, StopReason::EndTurn));
    machine.obey(message(Queue::Steer, "later")).unwrap();
    machine
}

fn keyed() -> SubmitPrompt {
    SubmitPrompt {
        key: Some("k".to_owned()),
        ..prompt("hi")
    }
}

/// Spec: [CONV-160]
#[test]
fn without_room_an_order_that_brings_something_changes_nothing() {
    let mut machine = idle();
    let before = machine.ledger().totals().clone();
    let by = None;
    let title = "t".to_owned();
    let patch = SettingsPatch::parse(object(&json!({"max_turns": 3}))).unwrap();
    let would = WouldTake {
        queue: None,
        content: "new".to_owned(),
        key: None,
    };
    let resumption = Resumption::Continue;
    let refusals = [
        refusal(&mut machine, prompt("new")),
        refusal(&mut machine, message(Queue::FollowUp, "new")),
        refusal(&mut machine, would),
        refusal(
            &mut machine,
            ContinueRun {
                spending_limit_micro_usd: None,
                resumption,
                by: None,
                rules: harness_protocol::RunRules::default(),
            },
        ),
        refusal(&mut machine, RenameConversation { title, by: None }),
        refusal(&mut machine, GivenOrder(RenewTools::default())),
        refusal(&mut machine, CompactConversation::default()),
    ];
    for refusal in refusals {
        assert_eq!(refusal, full());
    }
    let changed = refusal(&mut machine, ChangeConversationSettings { patch, by });
    assert_eq!(changed, ChangeError::Order(full()));
    assert_eq!(*machine.ledger().totals(), before);
    assert_eq!(machine.run(), None);
    // What cannot be is refused as such.
    assert_eq!(refusal(&mut machine, prompt(" ")), SubmitError::Blank);
}

/// Spec: [CONV-160]
#[test]
fn without_room_what_was_taken_is_answered_and_what_waits_can_be_withdrawn() {
    let mut machine = idle();
    let no_room = |_| Err(full());
    assert_eq!(machine.order(keyed(), no_room), Ok((RunId(1), vec![])));
    let again = WouldTake {
        queue: None,
        content: "hi".to_owned(),
        key: Some("k".to_owned()),
    };
    assert_eq!(machine.order(again, no_room), Ok(((), vec![])));
    let all = WithdrawMessages::default();
    let (withdrawn, _) = machine.order(all, no_room).unwrap();
    assert_eq!(withdrawn, [ItemId(1)]);
    machine.prompt("on").unwrap();
    let (stops, effects) = machine.order(CancelRun::default(), no_room).unwrap();
    assert!(stops);
    assert_eq!(effects, [Effect::CancelModel(id(2))]);
}

/// Spec: [CONV-161]
#[test]
fn a_cancel_of_a_run_that_has_ended_stops_no_other() {
    let cancel = |run, clear_queue| CancelRun {
        run: Some(RunId(run)),
        by: None,
        clear_queue,
    };
    let mut machine = idle();
    machine.prompt("on").unwrap();
    machine.obey(message(Queue::Steer, "later")).unwrap();
    assert_eq!(machine.obey(cancel(1, false)), Ok((false, vec![])));
    let (stops, effects) = machine.obey(cancel(1, true)).unwrap();
    assert!(!stops);
    let withdrawn = Record::Withdrawn {
        items: vec![ItemId(2)],
        by: None,
    };
    assert_eq!(effects, [Effect::Record(withdrawn)]);
    let (stops, effects) = machine.obey(cancel(2, false)).unwrap();
    assert!(stops);
    assert_eq!(effects, [Effect::CancelModel(id(2))]);
    // It stops no compaction either.
    let mut machine = idle();
    machine.obey(CompactConversation::default()).unwrap();
    assert_eq!(machine.obey(cancel(1, false)), Ok((false, vec![])));
    let (stops, _) = machine.obey(CancelRun::default()).unwrap();
    assert!(stops);
}
