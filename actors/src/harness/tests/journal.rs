//! The journal is what lasts: a conversation goes on from it.

use std::sync::Mutex;

use harness_protocol::Event;
use serde_json::{Value, json};

use super::testing::*;
use super::*;
use crate::journal::{
    Durability, JournalEntry, JournalStore as _, JsonLinesStore, NewRecord, PageLimit, Record,
};
use crate::model::ScriptedReply;
use crate::reply::Object;
use crate::tool::{Cancellation, ToolContext, ToolFuture};

const ALL: PageLimit = PageLimit {
    records: usize::MAX,
    bytes: usize::MAX,
};

async fn entries(journal: &Arc<dyn Journal>) -> Vec<JournalEntry> {
    journal.read(0, ALL).await.unwrap().entries
}

/// A journal in memory and one in a file.
async fn journals(home: &tempfile::TempDir) -> [Arc<dyn Journal>; 2] {
    let header = || Header::new(ConversationId::new("kept"), 1);
    let store = JsonLinesStore::at(home.path(), Clock::system());
    let file = store.open_or_new(header()).await.unwrap();
    [Arc::new(MemoryJournal::new(header())), file]
}

/// Spec: [LIB-37] [LIB-38]
#[actix::test]
async fn a_conversation_goes_on_from_its_journal() {
    let home = tempfile::tempdir().unwrap();
    for journal in journals(&home).await {
        let (model, mut options) = scripted();
        options.journal = Some(Arc::clone(&journal));
        let first = Harness::start(options.clone()).unwrap();
        assert!(first.messages().await.unwrap().is_empty());
        assert_eq!(entries(&journal).await, []);
        model.push(ScriptedReply::text("x"));
        first.prompt("one").await.unwrap();
        first.set_model("second").await.unwrap();
        first.steer("waits").await.unwrap();
        let before = entries(&journal).await;
        drop(first);

        let second = Harness::start(options).unwrap();
        let messages = second.messages().await.unwrap();
        assert_eq!(said(&json!(messages)), ["user: one", "assistant: x"]);
        assert_eq!(second.queue().await.unwrap().len(), 1);
        assert_eq!(entries(&journal).await, before, "a look changes nothing");
        model.push(ScriptedReply::text("y"));
        second.prompt("two").await.unwrap();
        assert_eq!(
            requests(&model)[1],
            ["user: one", "assistant: x", "user: two", "user: waits"]
        );
        assert_eq!(model.requests()[1]["model"], "second");
        // Only what is new was added, behind what was there.
        let after = entries(&journal).await;
        assert_eq!(after[..before.len()], before);
        let of_second = |entry: &JournalEntry| matches!(&entry.record, Record::Prompt { run, .. } if *run != RunId(2));
        assert!(!after[before.len()..].iter().any(of_second));
    }
}

/// Spec: [LIB-39]
#[actix::test]
async fn a_journal_takes_no_record_that_it_does_not_know() {
    let home = tempfile::tempdir().unwrap();
    for journal in journals(&home).await {
        let data = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        let unknown = NewRecord {
            at: 1,
            record: Record::Unknown {
                kind: "shown_only".to_owned(),
                data,
            },
        };
        let refused = journal.append(0, vec![unknown], Durability::Written).await;
        let refused = refused.unwrap_err().to_string();
        assert_eq!(
            refused,
            "a record of the unknown type shown_only cannot be appended"
        );
        assert_eq!(entries(&journal).await, []);
    }
}

/// Spec: [LIB-42]
#[actix::test]
async fn a_file_is_made_at_the_first_record_and_replaced_as_a_whole() {
    let home = tempfile::tempdir().unwrap();
    let files = || -> Vec<String> {
        let Ok(folder) = std::fs::read_dir(home.path().join("conversations")) else {
            return vec![];
        };
        let name = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name();
        let mut names: Vec<_> = folder
            .map(name)
            .map(|it| it.into_string().unwrap())
            .collect();
        names.retain(|name| name.starts_with("kept"));
        names.sort();
        names
    };
    let lines = |name: &str| -> Vec<Value> {
        let path = home.path().join("conversations").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let [_, journal] = journals(&home).await;
    assert_eq!(entries(&journal).await, []);
    assert_eq!(files(), [""; 0]);
    let (model, mut options) = scripted();
    options.journal = Some(Arc::clone(&journal));
    let harness = Harness::start(options).unwrap();
    for _ in 0..4 {
        model.push(ScriptedReply::text("well"));
        harness.prompt(&"long ".repeat(1_000)).await.unwrap();
    }
    // Behind the order to forget what was kept of the replies.
    drop(journal.append(0, vec![], Durability::Written).await);
    assert_eq!(files(), ["kept.jsonl"]);
    let before = lines("kept.jsonl");
    assert_eq!(before.len(), 1 + entries(&journal).await.len());

    model.push(ScriptedReply::text("the summary"));
    let done = harness.compact_with(true, None).await.unwrap();
    assert!(done.compacted, "{done:?}");
    let after = lines("kept.jsonl");
    assert_eq!(after.len(), 1 + entries(&journal).await.len());
    assert_ne!(after[0], before[0], "it has another epoch");
    assert!(after[1].to_string().contains("the summary"));
    let archive = files()
        .into_iter()
        .find(|name| name != "kept.jsonl")
        .unwrap();
    assert!(done.archive.unwrap().ends_with(&archive));
    assert_eq!(lines(&archive)[..before.len()], before);
}

/// Spec: [LIB-40]
#[actix::test]
async fn a_journal_copies_what_it_is_given_and_what_it_gives() {
    let home = tempfile::tempdir().unwrap();
    for journal in journals(&home).await {
        let mut records = vec![NewRecord {
            at: 1,
            record: Record::RunStarted {
                spending_limit_micro_usd: None,
                schema: None,
                run: RunId(1),
                by: None,
                rules: harness_protocol::RunRules::default(),
            },
        }];
        let appending = journal.append(0, records.clone(), Durability::Written);
        records.clear();
        appending.await.unwrap();
        let mut given = entries(&journal).await;
        given[0].record = Record::ReplyLeftOut { by: None };
        given.clear();
        let kept = entries(&journal).await;
        assert_eq!(
            kept[0].record,
            Record::RunStarted {
                spending_limit_micro_usd: None,
                schema: None,
                run: RunId(1),
                by: None,
                rules: harness_protocol::RunRules::default(),
            }
        );
        assert_eq!(kept.len(), 1);
    }
}

/// Spec: [LIB-41]
#[actix::test]
async fn many_may_use_a_conversation_at_once() {
    let (model, options) = scripted();
    let harness = Harness::start(options).unwrap();
    for _ in 0..16 {
        model.push(ScriptedReply::text("well"));
    }
    let asking = (0..16).map(|number| {
        let harness = harness.clone();
        async move {
            let text = number.to_string();
            let prompted = harness.prompt(&text).await;
            let compacted = harness.compact().await;
            let looked = harness.snapshot().await.is_ok() && harness.messages().await.is_ok();
            assert!(looked);
            if let Err(error) = compacted {
                assert_eq!(error, HarnessError::Busy);
            }
            match prompted {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error, HarnessError::Busy);
                    0
                }
            }
        }
    });
    let done: usize = futures_util::future::join_all(asking)
        .await
        .into_iter()
        .sum();
    assert!(done >= 1);
    assert_eq!(model.requests().len(), done);
    let messages = harness.messages().await.unwrap();
    assert_eq!(messages.len(), 2 * done);
}

/// A tool that shows something, and returns when the gate is open.
struct Showing(Gate);

impl Tool for Showing {
    fn name(&self) -> &'static str {
        "showing"
    }

    fn description(&self) -> &'static str {
        "Shows what it does."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn execute(&self, input: Object, cancellation: Cancellation) -> ToolFuture<'_> {
        self.execute_in(input, ToolContext::new(cancellation))
    }

    fn execute_in(&self, _: Object, context: ToolContext) -> ToolFuture<'_> {
        let gate = self.0.clone();
        Box::pin(async move {
            context.output.write("Compiling a crate\n");
            context.output.write("Compiling another\n");
            gate.pass().await;
            Ok("done".to_owned())
        })
    }
}

/// Keeps what tools show, and opens the gate when something was shown.
struct Shown(Arc<Mutex<Vec<Event>>>, Option<Gate>);

impl EventHandler for Shown {
    fn event(&self, event: &Event) {
        if matches!(event, Event::ToolOutput { .. }) {
            self.0.lock().unwrap().push(event.clone());
            if let Some(gate) = &self.1 {
                gate.open();
            }
        }
    }
}

/// Spec: [EVENT-32]
#[actix::test]
async fn b7_what_a_tool_shows_is_seen_by_all_and_kept_nowhere() {
    let home = tempfile::tempdir().unwrap();
    for journal in journals(&home).await {
        let (model, mut options) = scripted();
        options.journal = Some(Arc::clone(&journal));
        let gate = Gate::default();
        options.tools = vec![Arc::new(Showing(gate.clone()))];
        let harness = Harness::start(options).unwrap();
        let seen: [Arc<Mutex<Vec<Event>>>; 3] = std::array::from_fn(|_| Arc::default());
        // The last of them ends the tool, when all have seen it.
        let gates = [None, None, Some(gate)];
        let _subscriptions: Vec<_> = seen
            .iter()
            .zip(gates)
            .map(|(seen, gate)| harness.subscribe(Arc::new(Shown(Arc::clone(seen), gate))))
            .collect();
        model.push(calls(&[("toolu_1", "showing")]));
        model.push(ScriptedReply::text("well"));
        harness.prompt("build").await.unwrap();
        let expected = Event::ToolOutput {
            id: "toolu_1".to_owned(),
            offset: 0,
            text: "Compiling a crate\nCompiling another\n".to_owned(),
        };
        for seen in &seen {
            assert_eq!(*seen.lock().unwrap(), std::slice::from_ref(&expected));
        }
        let kept = format!("{:?}", entries(&journal).await);
        assert!(
            kept.contains("done") && !kept.contains("Compiling"),
            "{kept}"
        );
    }
}
