#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use harness_protocol::{Queue, Settings};
use proptest::prelude::*;

use super::*;
use crate::conversation::machine::{Defaults, Machine, Planner};
use crate::conversation::messages::{RenameConversation, SubmitPrompt};
use crate::conversation::{Effect, Input};
use crate::ids::{CallId, ConversationId, ItemId, RunId};
use crate::journal::{Activity, Durability, Header, MemoryJournal, NewRecord, Outcome};
use crate::model::messages::ModelEvent;
use crate::reply::{Block, Object, ReplyEnd, StopReason};
use crate::tool::ToolOutcome;
use crate::tool::messages::ToolEvent;

const ALL: usize = 1200;

/// Records of a conversation whose runs have these numbers of turns, over and over.
fn records(turns: &[u32]) -> Vec<Record> {
    let id = ConversationId::new("c");
    let planner = Planner::new(Defaults::new("m", 1000));
    let mut machine = Machine::new(id.clone(), planner, Ledger::default(), 0);
    let mut records = Vec::new();
    let mut keep = |effects: Vec<Effect>| {
        records.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Record(record) => Some(record),
            _ => None,
        }));
        records.len() < ALL
    };
    for (run, turns) in turns.iter().cycle().enumerate() {
        if run % 3 == 1 {
            let rename = RenameConversation {
                title: format!("title {run}"),
                by: None,
            };
            keep(machine.order(rename, |_| Ok(())).unwrap().1);
        }
        let prompt = SubmitPrompt {
            content: "hi".to_owned(),
            ..SubmitPrompt::default()
        };
        keep(machine.order(prompt, |_| Ok(())).unwrap().1);
        for turn in 1..=*turns {
            let call_id = CallId {
                conversation: id.clone(),
                number: machine.calls(),
            };
            let is_last = turn == *turns;
            let block = if is_last {
                Block::text("done")
            } else {
                Block::tool_call("t", "read", Object::new())
            };
            let usage = serde_json::json!({"input_tokens": turn, "output_tokens": run});
            let end = ReplyEnd {
                stop_reason: StopReason::EndTurn,
                usage: usage.as_object().unwrap().clone().into(),
                ..ReplyEnd::default()
            };
            let index = 0;
            keep(machine.handle(Input::Model(ModelEvent::BlockFinished {
                call_id: call_id.clone(),
                index,
                block,
            })));
            keep(machine.handle(Input::Model(ModelEvent::Finished { call_id, end })));
            if !is_last {
                let call_id = CallId {
                    conversation: id.clone(),
                    number: machine.calls(),
                };
                let outcome = ToolOutcome::failed("no");
                keep(machine.handle(Input::Tool(ToolEvent::Finished { call_id, outcome })));
            }
        }
        if !keep(Vec::new()) {
            break;
        }
    }
    records.truncate(ALL);
    records
}

async fn append(journal: &MemoryJournal, record: Record) {
    let end = journal.end().seq;
    let new = NewRecord {
        at: 1000 + end,
        record,
    };
    let appending = journal.append(end, vec![new], Durability::Written);
    appending.await.unwrap();
}

async fn check(journal: &MemoryJournal, whole: &Ledger) {
    let end = journal.end();
    let glance = glance(journal).await.unwrap();
    assert_eq!(glance.position, end);
    assert_eq!(glance.ledger.totals(), whole.totals(), "{end}");
    assert_eq!(glance.ledger.status(), whole.status(), "{end}");
    assert_eq!(glance.ledger.run(), whole.run(), "{end}");
    assert_eq!(glance.ledger.turn(), whole.turn(), "{end}");
    let active_at = if end.seq == 0 { 0 } else { 999 + end.seq };
    assert_eq!(glance.active_at, active_at);
}

/// Spec: [CONV-47]
#[actix::test]
async fn a_look_at_the_end_tells_what_the_whole_journal_does() {
    // Short runs, and ones that are longer than the first and the second look.
    for (turns, step) in [(vec![1, 2, 1, 3], 1), (vec![1, 9], 1), (vec![60, 1], 7)] {
        let journal = MemoryJournal::new(Header::new(ConversationId::new("c"), 0));
        let mut whole = Ledger::default();
        let length = if step == 1 { 200 } else { ALL };
        check(&journal, &whole).await;
        for (place, record) in records(&turns).into_iter().take(length).enumerate() {
            whole.apply(&record);
            append(&journal, record).await;
            if place % step == 0 {
                check(&journal, &whole).await;
            }
        }
        check(&journal, &whole).await;
    }
}

/// Spec: [CONV-41]
#[actix::test]
async fn a_conversation_is_read_back_as_it_was() {
    let journal = Arc::new(MemoryJournal::new(Header::new(ConversationId::new("c"), 0)));
    let mut whole = Ledger::default();
    for record in records(&[2, 5]) {
        whole.apply(&record);
        append(&journal, record).await;
    }
    let (revived, _) = revive(Arc::clone(&journal) as Arc<dyn Journal>)
        .await
        .unwrap();
    assert_eq!(revived.history().messages(), whole.history().messages());
    assert_eq!(revived.totals(), whole.totals());
    assert_eq!((revived.run(), revived.turn()), (whole.run(), whole.turn()));
    assert_eq!(revived.status(), whole.status());
    assert_eq!(revived.closing(), whole.closing());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Spec: [CONV-47]
    #[test]
    fn a_look_is_enough_whatever_the_runs_are(
        turns in prop::collection::vec(1..40_u32, 1..6),
        length in 0..ALL,
    ) {
        futures_util::future::FutureExt::now_or_never(async {
            let journal = MemoryJournal::new(Header::new(ConversationId::new("c"), 0));
            let mut whole = Ledger::default();
            for record in records(&turns).into_iter().take(length) {
                whole.apply(&record);
                append(&journal, record).await;
            }
            check(&journal, &whole).await;
        })
        .unwrap();
    }
}

/// Records between runs, and before the first, that change what waits and the settings.
fn changes(count: u64) -> Vec<Record> {
    let queued = |item| Record::Queued {
        item: ItemId(item),
        queue: Queue::FollowUp,
        content: format!("queued {item}"),
        attachments: Vec::new(),
        key: None,
        by: None,
    };
    let settings = |max_tokens| Record::SettingsChanged {
        settings: Settings {
            max_tokens: Some(max_tokens),
            ..Settings::default()
        },
        by: None,
    };
    let mut records = vec![settings(1), queued(1)];
    for item in 2..=count {
        records.push(queued(item));
        if item % 3 == 0 {
            let items = vec![ItemId(item - 1)];
            records.push(Record::Withdrawn { items, by: None });
        }
    }
    records.push(settings(2));
    records
}

/// Spec: [JRNL-35]
#[actix::test]
async fn a_look_tells_what_waits_and_the_settings_wherever_they_changed() {
    // With a few changes and with more than the first look; before, behind and without a run.
    for count in [1, 5, 200] {
        for runs in [0, 1, 30] {
            for checkpoint in [false, true] {
                let journal = MemoryJournal::new(Header::new(ConversationId::new("c"), 0));
                let mut whole = Ledger::default();
                let mut all = Vec::new();
                if checkpoint {
                    let mut before = Ledger::default();
                    changes(4).iter().for_each(|record| before.apply(record));
                    all.push(Record::Checkpoint {
                        summary: "s".to_owned(),
                        totals: before.totals().clone(),
                        keys: Vec::new(),
                        item_keys: Vec::new(),
                        digests: Vec::new(),
                        tools: None,
                        by: None,
                    });
                }
                all.extend(changes(2));
                for run in 1..=runs {
                    all.push(Record::RunStarted {
                        spending_limit_micro_usd: None,
                        schema: None,
                        run: RunId(run),
                        by: None,
                        rules: harness_protocol::RunRules::default(),
                    });
                    let mut ledger = Ledger::default();
                    all.iter().for_each(|record| ledger.apply(record));
                    all.push(Record::RunEnded {
                        duration_ms: None,
                        run: RunId(run),
                        outcome: Outcome::Completed,
                        message: String::new(),
                        totals: ledger.totals().clone(),
                        run_usage: ledger.run_usage(),
                        by: None,
                    });
                }
                all.extend(changes(count));
                for record in all {
                    whole.apply(&record);
                    append(&journal, record).await;
                }
                check(&journal, &whole).await;
                let seen = glance(&journal).await.unwrap();
                assert_eq!(seen.ledger.settings().unwrap().max_tokens, Some(2));
                assert!(!seen.ledger.totals().queue.is_empty());
            }
        }
    }
}

/// Spec: [CONV-144]
#[tokio::test]
async fn a_summary_that_a_dead_service_began_is_not_under_way_any_more() {
    let journal = MemoryJournal::new(Header::new(ConversationId::new("c"), 0));
    let records = [
        Record::CompactionStarted {
            reason: harness_protocol::CompactionReason::Manual,
            tokens: 9,
            by: None,
        },
        Record::Status {
            activity: Activity::Thinking,
            message: "compacting".to_owned(),
        },
    ];
    let new = records.map(|record| NewRecord { at: 1, record });
    let appended = journal.append(0, new.into(), Durability::Written).await;
    appended.unwrap();
    let overview = Overview::from(glance(&journal).await.unwrap());
    assert_eq!(overview.status.activity, Activity::Idle);
    assert_eq!(overview.status.message, "");
}
