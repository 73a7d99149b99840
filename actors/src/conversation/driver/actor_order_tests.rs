//! Orders that are not prompts, at the actor: what waits, settings, and compaction for good.

use futures_util::future::BoxFuture;
use harness_protocol::{Queue, SettingsAnswer, SettingsPatch};
use serde_json::json;

use super::*;
use crate::compaction::SummaryRequest;
use crate::conversation::messages::{
    ChangeConversationSettings, ChangeError, CompactConversation, ContinueRun, GetSettings,
    QueueMessage, Resumption, WithdrawMessages,
};
use crate::ids::ItemId;

/// Writes summaries in place of the model.
struct Writes(Writing);

type Writing = fn() -> Result<String, String>;

impl Summarizer for Writes {
    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'static, Result<String, String>> {
        let written = self.0;
        Box::pin(async move { written() })
    }
}

/// Writes when the test says so.
struct Waits(Arc<tokio::sync::Notify>);

impl Summarizer for Waits {
    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'static, Result<String, String>> {
        let go = Arc::clone(&self.0);
        Box::pin(async move {
            go.notified().await;
            Ok("all of it".to_owned())
        })
    }
}

/// Never ends.
struct Dawdles;

impl Summarizer for Dawdles {
    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

type Task<T> = tokio::task::JoinHandle<T>;

fn steer(content: &str) -> QueueMessage {
    QueueMessage {
        queue: Queue::Steer,
        content: content.to_owned(),
        key: None,
        by: None,
        attachments: Vec::new(),
    }
}

fn change(max_turns: u32) -> ChangeConversationSettings {
    let patch = json!({"max_turns": max_turns});
    ChangeConversationSettings {
        patch: SettingsPatch::parse(patch.as_object().unwrap().clone()).unwrap(),
        by: None,
    }
}

impl World {
    fn order<M, T>(&self, order: M) -> Task<T>
    where
        M: Message<Result = T> + Send + 'static,
        T: Send + 'static,
        ConversationActor: Handler<M>,
    {
        let sent = self.send(order);
        actix::spawn(async { sent.await.unwrap() })
    }

    fn compact(&self) -> Task<Result<Compacted, CompactError>> {
        self.order(CompactConversation {
            force: true,
            instructions: None,
            by: None,
        })
    }

    /// An idle conversation with something to summarize.
    async fn long(summarizer: impl Summarizer) -> Self {
        let mut world = Self::with(Some(Arc::new(summarizer)));
        for times in [400, 120] {
            let run = world.prompt(&"a long story ".repeat(times));
            let order = world.asked().await;
            run.await.unwrap().unwrap();
            world.reply(&order.call_id, vec![Block::text("well")]);
            world.rest().await;
        }
        world
    }

    /// Lets an order to compact know what the model takes.
    async fn describe(&mut self) {
        let call_id = loop {
            if let Did::Describe(call_id) = self.next().await {
                break call_id;
            }
        };
        self.model(ModelEvent::Described {
            call_id,
            info: None,
        });
    }

    /// A conversation whose summary is written, and waits for the journal.
    async fn summarized() -> (Self, Task<Result<Compacted, CompactError>>) {
        let go = Arc::new(tokio::sync::Notify::new());
        let mut world = Self::long(Waits(Arc::clone(&go))).await;
        let compacted = world.compact();
        world.describe().await;
        world.append().await;
        world.rest().await;
        world.journal.hold(true);
        go.notify_one();
        world.append().await;
        (world, compacted)
    }

    async fn records(&self) -> Vec<&'static str> {
        let page = self.journal.memory.read(0, ALL).await.unwrap();
        page.entries
            .iter()
            .map(|entry| name(&entry.record))
            .collect()
    }

    fn view(&self) -> Task<Result<SettingsAnswer, StorageError>> {
        self.order(GetSettings)
    }
}

fn not_kept<T>(answer: &Result<T, SubmitError>) -> bool {
    matches!(answer, Err(SubmitError::NotKept(_)))
}

/// Spec: [CONV-67]
#[actix::test]
async fn an_order_is_answered_when_its_record_is_on_disk() {
    let mut world = World::new();
    world.journal.hold(true);
    let queued = world.order(steer("s"));
    assert_eq!(world.append().await, (1, Durability::Synced));
    assert!(world.rest().await.is_empty() && !queued.is_finished());
    world.journal.complete();
    assert_eq!(queued.await.unwrap(), Ok(ItemId(1)));

    let changed = world.order(change(3));
    assert_eq!(world.append().await, (1, Durability::Synced));
    world.rest().await;
    assert!(!changed.is_finished());
    world.journal.complete();
    let view = changed.await.unwrap().unwrap();
    assert_eq!(view.settings.max_turns, Some(3));

    let withdrawn = world.order(WithdrawMessages {
        item: None,
        by: None,
    });
    assert_eq!(world.append().await, (1, Durability::Synced));
    world.rest().await;
    assert!(!withdrawn.is_finished());
    world.journal.complete();
    assert_eq!(withdrawn.await.unwrap(), Ok(vec![ItemId(1)]));
}

/// Spec: [CONV-51] [CONV-67]
#[actix::test]
async fn an_order_that_is_not_kept_is_refused_and_the_next_one_works() {
    let mut world = World::new();
    world.journal.hold(true);
    let queued = world.order(steer("s"));
    world.append().await;
    world.journal.refuse();
    assert!(not_kept(&queued.await.unwrap()));
    let changed = world.order(change(3));
    world.append().await;
    world.journal.refuse();
    let lost = changed.await.unwrap();
    assert!(
        matches!(lost, Err(ChangeError::Order(SubmitError::NotKept(_)))),
        "{lost:?}"
    );
    world.journal.hold(false);
    let view = world.view().await.unwrap().unwrap();
    assert_eq!(view.settings.max_turns, None);
    assert_eq!(world.order(steer("s")).await.unwrap(), Ok(ItemId(1)));
    let view = world.order(change(4)).await.unwrap().unwrap();
    assert_eq!(view.settings.max_turns, Some(4));
    assert_eq!(world.records().await, ["queued", "settings_changed"]);
}

/// Spec: [CONV-86]
#[actix::test]
async fn the_settings_of_a_conversation_that_is_not_in_memory_are_shown() {
    let mut world = World::new();
    let shown = world.view().await.unwrap().unwrap();
    assert_eq!(shown.effective.max_turns, Some(10));
    assert_eq!(shown.tools, ["read", "write"]);
    assert!(world.rest().await.is_empty());

    // As the last change left them.
    world.order(change(3)).await.unwrap().unwrap();
    let alive = world.view().await.unwrap().unwrap();
    let glance = crate::conversation::glance(&world.journal.memory);
    let own = glance.await.unwrap().ledger.settings().cloned().unwrap();
    assert_eq!(own, alive.settings);
}

/// Spec: [CONV-68]
#[actix::test]
async fn a_compaction_is_answered_when_the_journal_is_replaced() {
    let mut world = World::long(Writes(|| Ok("all of it".to_owned()))).await;
    let before = world.journal.header().epoch;
    let compacted = world.compact();
    world.describe().await;
    let compacted = compacted.await.unwrap().unwrap();
    assert!(compacted.compacted && compacted.archive.is_some());
    assert!(compacted.tokens_after < compacted.tokens_before);
    assert_ne!(world.journal.header().epoch, before);
    let did = world.rest().await;
    let rewritten = did.iter().filter(|did| matches!(did, Did::Rewritten));
    assert_eq!(rewritten.count(), 1, "{did:?}");
    let records = world.goes_on().await;
    assert_eq!(records[0], "checkpoint");
    // The first one is gone.
    assert_eq!(records.iter().filter(|name| **name == "prompt").count(), 2);
}

/// Spec: [CONV-68]
#[actix::test]
async fn orders_wait_while_the_journal_is_replaced() {
    let (mut world, compacted) = World::summarized().await;
    let queued = world.order(steer("s"));
    let changed = world.order(change(3));
    let retired = world.order(RetireIfIdle);
    let prompt = world.prompt("and now");
    world.rest().await;
    assert!(!retired.await.unwrap());
    assert!(!queued.is_finished() && !compacted.is_finished());
    world.journal.hold(false);
    world.journal.complete();
    assert!(compacted.await.unwrap().unwrap().compacted);
    assert_eq!(queued.await.unwrap(), Ok(ItemId(1)));
    assert_eq!(changed.await.unwrap().unwrap().settings.max_turns, Some(3));
    prompt.await.unwrap().unwrap();
    let records = world.records().await;
    assert_eq!(records[0], "checkpoint");
    let orders = ["queued", "settings_changed", "run_started", "prompt"];
    assert!(
        records.windows(4).any(|names| names == orders),
        "{records:?}"
    );
}

/// Spec: [CONV-68] [CONV-57]
#[actix::test]
async fn a_stop_waits_until_the_journal_is_replaced() {
    let (mut world, compacted) = World::summarized().await;
    let stopped = world.order(StopRuns);
    world.rest().await;
    assert!(!stopped.is_finished());
    world.journal.complete();
    stopped.await.unwrap();
    assert!(compacted.is_finished());
    assert_eq!(world.records().await[0], "checkpoint");
    let refused = world.order(steer("s")).await.unwrap();
    assert_eq!(refused, Err(SubmitError::Stopping));
}

/// Spec: [CONV-68] [CONV-51]
#[actix::test]
async fn a_compaction_that_the_journal_does_not_take_is_answered_and_orders_go_on() {
    // At its beginning.
    let mut world = World::long(Writes(|| Ok("all of it".to_owned()))).await;
    world.journal.hold(true);
    let compacted = world.compact();
    world.describe().await;
    world.append().await;
    world.journal.refuse();
    let lost = compacted.await.unwrap();
    let is_lost =
        |lost: &Result<_, _>| matches!(lost, Err(CompactError::Order(SubmitError::NotKept(_))));
    assert!(is_lost(&lost), "{lost:?}");
    world.journal.hold(false);
    world.rest().await;
    assert!(!world.goes_on().await.contains(&"checkpoint"));

    // At its end, with an order that waits.
    let (mut world, compacted) = World::summarized().await;
    let queued = world.order(steer("s"));
    world.rest().await;
    world.journal.hold(false);
    world.journal.refuse();
    let lost = compacted.await.unwrap();
    assert!(is_lost(&lost), "{lost:?}");
    assert_eq!(queued.await.unwrap(), Ok(ItemId(1)));
    world.rest().await;
    assert!(!world.records().await.contains(&"checkpoint"));
}

/// Spec: [CONV-69]
#[actix::test]
async fn a_summarizer_that_fails_or_panics_is_told() {
    let fails: [(Writing, &str); 3] = [
        (|| Err("no paper".to_owned()), "no paper"),
        (|| panic!("on purpose"), "panicked"),
        (|| Ok(" ".to_owned()), "empty"),
    ];
    for (writes, reason) in fails {
        let mut world = World::long(Writes(writes)).await;
        let compacted = world.compact();
        world.describe().await;
        let failed = compacted.await.unwrap();
        let Err(CompactError::Summary(told)) = failed else {
            panic!("{failed:?}");
        };
        assert!(told.contains(reason), "{told}");
        world.rest().await;
        assert!(!world.goes_on().await.contains(&"checkpoint"));
    }
}

/// Spec: [CONV-69]
#[actix::test]
async fn a_cancel_drops_a_summarizer() {
    let mut world = World::long(Dawdles).await;
    let compacted = world.compact();
    world.describe().await;
    world.append().await;
    world.rest().await;
    let cancel = CancelRun {
        run: None,
        by: None,
        clear_queue: false,
    };
    assert!(world.order(cancel).await.unwrap());
    assert_eq!(compacted.await.unwrap(), Err(CompactError::Cancelled));
    world.rest().await;
    assert!(!world.goes_on().await.contains(&"checkpoint"));
}

/// Spec: [CONV-150]
#[actix::test]
async fn an_order_to_go_on_is_on_record_with_who_gave_it() {
    let mut world = World::new();
    let call_id = world.asking().await.call_id;
    let failure = ModelFailure {
        error: ModelError::Truncated,
        interrupted: false,
    };
    world.model(ModelEvent::Failed {
        call_id,
        failure,
        partial: vec![],
    });
    world.rest().await;
    let order = ContinueRun {
        spending_limit_micro_usd: None,
        resumption: Resumption::Continue,
        by: Some("ann".to_owned()),
        rules: harness_protocol::RunRules::default(),
    };
    world.order(order).await.unwrap().unwrap();
    let page = world.journal.memory.read(0, ALL).await.unwrap();
    let by = |record: &Record| match record {
        Record::RunStarted { by, .. } => Some(by.clone()),
        _ => None,
    };
    let begun: Vec<_> = page.entries.iter().filter_map(|e| by(&e.record)).collect();
    assert_eq!(begun, [None, Some("ann".to_owned())]);
}
