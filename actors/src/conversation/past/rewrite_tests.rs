use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::read_back::{glance, revive};
use super::*;
use crate::ids::{ConversationId, ItemId};
use crate::journal::{
    Activity, Durability, ForkedFrom, MemoryJournal, Outcome, PageLimit, Unanswered,
};
use crate::reply::{Block, Object};
use harness_protocol::{CompactionReason, Queue, Settings};

const ALL: PageLimit = PageLimit {
    records: usize::MAX,
    bytes: usize::MAX,
};

/// A conversation that is made up record by record, from numbers that decide.
struct Play<'a> {
    ledger: Ledger,
    records: Vec<Record>,
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    keys: Vec<String>,
    calls: u64,
    head: u8,
    /// How many messages the last compaction dropped.
    dropped: u64,
}

impl<'a> Play<'a> {
    fn new(choices: &'a [u8]) -> Self {
        Self {
            ledger: Ledger::default(),
            records: Vec::new(),
            choices: choices.iter().cycle(),
            keys: Vec::new(),
            calls: 0,
            head: 0,
            dropped: 0,
        }
    }

    fn choose(&mut self, below: u8) -> u8 {
        self.choices.next().unwrap() % below
    }

    fn add(&mut self, record: Record) {
        self.ledger.apply(&record);
        self.records.push(record);
    }

    fn key(&mut self) -> Option<String> {
        let key = (self.choose(3) == 0).then(|| format!("k{}", self.keys.len()));
        self.keys.extend(key.clone());
        key
    }

    fn status(&mut self, activity: Activity) {
        let message = format!("{}", self.records.len());
        self.add(Record::Status { activity, message });
    }

    /// Something that may happen at any time.
    fn aside(&mut self) {
        match self.choose(12) {
            0 | 1 => {
                let item = ItemId(self.ledger.totals().items + 1);
                let key = self.key();
                self.add(Record::Queued {
                    item,
                    queue: Queue::Steer,
                    content: format!("queued {}", item.0),
                    attachments: Vec::new(),
                    key,
                    by: None,
                });
            }
            2 => {
                if let Some(item) = self.ledger.totals().queue.first() {
                    let items = vec![ItemId(item.item)];
                    self.add(Record::Withdrawn { items, by: None });
                }
            }
            3 => {
                let settings = Settings {
                    max_tokens: Some(self.records.len() as u32),
                    ..Settings::default()
                };
                self.add(Record::SettingsChanged { settings, by: None });
            }
            4 => {
                let title = format!("title {}", self.records.len());
                self.add(Record::Renamed { title, by: None });
            }
            _ => {}
        }
    }

    /// The prompt of a message that waited, if one does.
    fn say_queued(&mut self, run: RunId) {
        let Some(item) = self.ledger.totals().queue.first().cloned() else {
            return;
        };
        self.add(Record::Prompt {
            run,
            content: item.content,
            key: item.key,
            by: None,
            queue: Some(item.queue),
            item: Some(ItemId(item.item)),
            attachments: Vec::new(),
        });
    }

    fn messages(&self) -> Vec<Value> {
        messages(&self.ledger)
    }

    /// A compaction that keeps some of the last messages, and no result without its call.
    fn compact(&mut self) {
        let messages = self.messages();
        // A paused reply belongs to the message that it is to.
        let count = self.ledger.history().len();
        let is_cut = |kept: &u64| {
            let first = messages.get(usize::try_from(count - kept).unwrap());
            first.is_none_or(|message| message["content"][0]["type"] != "tool_result")
        };
        let cuts: Vec<u64> = (0..count).filter(is_cut).collect();
        self.add(Record::CompactionStarted {
            reason: CompactionReason::Manual,
            tokens: 9,
            by: None,
        });
        self.aside();
        let usage = json!({"input_tokens": 3}).as_object().unwrap().clone();
        if cuts.is_empty() || self.choose(5) == 0 {
            let error = "no".to_owned();
            self.add(Record::CompactionFailed {
                error,
                model: String::new(),
                usage,
                by: None,
            });
            return;
        }
        let kept = cuts[usize::from(self.choose(255)) % cuts.len()];
        self.dropped = count - kept;
        self.add(Record::Compacted {
            reason: CompactionReason::Manual,
            summary: format!("summary at {}", self.records.len()),
            kept,
            tokens_before: 9,
            tokens_after: 1,
            model: "m".to_owned(),
            usage,
        });
    }

    fn run(&mut self) {
        let run = RunId(self.ledger.totals().runs + 1);
        self.add(Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run,
            by: None,
            rules: harness_protocol::RunRules::default(),
        });
        // A run without a prompt asks again for a reply that failed.
        if self.choose(8) > 0 || self.ledger.history().ends_with_reply() {
            let key = self.key();
            self.add(Record::Prompt {
                run,
                content: format!("prompt {}", run.0),
                key,
                by: None,
                queue: None,
                item: None,
                attachments: Vec::new(),
            });
        }
        let turns = u32::from(self.choose(5));
        let mut outcome = Outcome::Completed;
        for turn in 1..=turns {
            self.status(Activity::Thinking);
            if self.choose(6) == 0 {
                self.compact();
            }
            outcome = self.turn(run, turn);
            if outcome != Outcome::Completed {
                break;
            }
            if self.choose(3) == 0 {
                self.say_queued(run);
            }
            if self.ledger.history().ends_with_reply() {
                break;
            }
        }
        let totals = self.ledger.totals().clone();
        let run_usage = self.ledger.run_usage();
        self.add(Record::RunEnded {
            duration_ms: None,
            run,
            outcome,
            message: "over".to_owned(),
            totals,
            run_usage,
            by: None,
        });
        if self.choose(9) > 0 {
            self.status(Activity::Idle);
        }
    }

    fn turn(&mut self, run: RunId, turn: u32) -> Outcome {
        if self.choose(9) == 0 {
            self.head += 1;
        }
        let head = Some(format!("head {}", self.head / 2)).filter(|_| self.head > 0);
        let tools = (self.head == 0).then(|| vec![json!({"name": "t"})]);
        self.add(Record::TurnStarted {
            run,
            turn,
            head,
            tools,
            jobs: Vec::new(),
        });
        let mut calls = Vec::new();
        let end = self.choose(12);
        // What is refused for its content has no reply at all.
        let count = if end == 0 {
            0
        } else {
            u64::from(self.choose(4))
        };
        for index in 0..count {
            let block = match self.choose(4) {
                0 => Block::text(&format!("text {}", self.records.len())),
                1 => Block::new(
                    json!({"type": "thinking", "thinking": "hm", "signature": "s"})
                        .as_object()
                        .unwrap()
                        .clone(),
                ),
                _ => {
                    self.calls += 1;
                    calls.push(format!("t{}", self.calls));
                    Block::tool_call(&calls[calls.len() - 1], "read", Object::new())
                }
            };
            self.aside();
            self.add(Record::Block {
                duration_ms: None,
                index,
                block,
                partial: false,
            });
        }
        let outcome = match end {
            0 | 1 => {
                let error = "no".to_owned();
                self.add(Record::ReplyFailed {
                    error,
                    unanswered: Unanswered::Cancelled,
                    refused: end == 0,
                    overflow: end == 1 && count == 0,
                });
                if self.choose(3) == 0 {
                    self.add(Record::ReplyLeftOut { by: None });
                }
                Outcome::Error
            }
            _ => {
                self.add(Record::ReplyEnded {
                    id: "msg".to_owned(),
                    model: "m".to_owned(),
                    stop_reason: "x".to_owned(),
                    usage: json!({"input_tokens": turn, "output_tokens": run.0})
                        .as_object()
                        .unwrap()
                        .clone(),
                    paused: end == 2 && calls.is_empty(),
                    unanswered: Unanswered::Interrupted,
                    overflow: end == 3,
                    refused: end == 4,
                    window: None,
                });
                if end == 4 {
                    if self.choose(3) == 0 {
                        self.add(Record::ReplyLeftOut { by: None });
                    }
                    Outcome::Completed
                } else {
                    self.results(calls)
                }
            }
        };
        self.aside();
        self.add(Record::TurnEnded { run, turn, outcome });
        outcome
    }

    fn results(&mut self, calls: Vec<String>) -> Outcome {
        for id in calls {
            self.aside();
            if self.choose(6) == 0 {
                let reason = Unanswered::Cancelled;
                self.add(Record::CallsSkipped { reason });
                return Outcome::Cancelled;
            }
            let result = format!("result of {id}");
            self.add(Record::ToolResult {
                duration_ms: None,
                extent: None,
                id,
                result,
                is_error: false,
                seen: Vec::new(),
                folder: None,
            });
        }
        Outcome::Completed
    }

    /// Something that happens while no run is going.
    fn rest(&mut self) {
        match self.choose(7) {
            0 | 1 => self.compact(),
            2 => self.add(Record::ReplyLeftOut { by: None }),
            _ => self.aside(),
        }
    }
}

fn messages(ledger: &Ledger) -> Vec<Value> {
    let text = String::from_utf8(joined(ledger)).unwrap();
    serde_json::from_str(&format!("[{text}]")).unwrap()
}

fn joined(ledger: &Ledger) -> Vec<u8> {
    let mut joined = Vec::new();
    for piece in ledger.history().pieces(Caching::Off) {
        match piece {
            RequestPiece::Json(json) => joined.extend_from_slice(&json),
            RequestPiece::Attachments(files) => {
                joined.extend_from_slice(format!("{files:?}").as_bytes());
            }
        }
    }
    joined
}

fn check_same(one: &Ledger, other: &Ledger, keys: &[String]) {
    let text = |ledger| String::from_utf8(joined(ledger)).unwrap();
    assert_eq!(text(one), text(other));
    assert_eq!(one.totals(), other.totals());
    assert_eq!(one.settings(), other.settings());
    assert_eq!(one.status(), other.status());
    assert_eq!((one.run(), one.turn()), (other.run(), other.turn()));
    assert_eq!(one.has_failed(), other.has_failed());
    assert_eq!(one.closing(), other.closing());
    assert_eq!(one.history().len(), other.history().len());
    for key in keys {
        assert!(one.keyed(key).is_some());
        assert_eq!(one.keyed(key), other.keyed(key), "{key}");
    }
}

fn header() -> Header {
    Header {
        title: Some("t".to_owned()),
        settings: Settings {
            max_tokens: Some(7),
            ..Settings::default()
        },
        forked_from: Some(ForkedFrom {
            conversation: "d".to_owned(),
            seq: 3,
        }),
        ..Header::new(ConversationId::new("c"), 5)
    }
}

async fn journal_of(records: &[Record]) -> Arc<MemoryJournal> {
    let journal = MemoryJournal::new(header());
    let new = |(at, record): (u64, &Record)| NewRecord {
        at,
        record: record.clone(),
    };
    let records = (1000..).zip(records).map(new).collect();
    let appending = journal.append(0, records, Durability::Written);
    appending.await.unwrap();
    Arc::new(journal)
}

async fn entries(journal: &MemoryJournal) -> Vec<JournalEntry> {
    journal.read(0, ALL).await.unwrap().entries
}

async fn rewritten(journal: &Arc<MemoryJournal>) -> Option<Rewritten> {
    let end = journal.end().seq;
    let shared = Arc::clone(journal) as Arc<dyn Journal>;
    rewrite(shared, end, Some("ana".to_owned()), 77)
        .await
        .unwrap()
}

async fn revived(journal: &Arc<MemoryJournal>) -> Ledger {
    let shared = Arc::clone(journal) as Arc<dyn Journal>;
    revive(shared).await.unwrap().0
}

/// The part of an entry that is the same in every journal.
fn unnumbered(entry: &JournalEntry) -> String {
    let text = std::str::from_utf8(&entry.json).unwrap();
    text.split_once(',').unwrap().1.to_owned()
}

async fn check_rewrite(choices: &[u8], runs: usize, later: usize) {
    let mut play = Play::new(choices);
    for _ in 0..runs {
        play.run();
        play.rest();
    }
    let journal = journal_of(&play.records).await;
    let old = entries(&journal).await;
    let old_header = journal.header();
    let result = rewritten(&journal).await;
    let is_compacted = |record: &Record| matches!(record, Record::Compacted { .. });
    if !play.records.iter().any(is_compacted) {
        assert_eq!(result, None);
    }
    let Some(Rewritten { position, archive }) = result else {
        assert!(play.dropped <= 1, "nothing was rewritten");
        assert_eq!(journal.header(), old_header);
        return;
    };
    assert_eq!(position, journal.end());
    assert!(archive.contains(&old_header.epoch.to_string()));
    let now = journal.header();
    assert_ne!(now.epoch, old_header.epoch);
    let epoch = now.epoch;
    assert_eq!(
        now,
        Header {
            epoch,
            ..old_header
        }
    );

    let new = entries(&journal).await;
    let Record::Checkpoint { by, summary, .. } = &new[0].record else {
        panic!("{:?}", new[0]);
    };
    assert_eq!((by.as_deref(), new[0].at), (Some("ana"), 77));
    let last = play
        .records
        .iter()
        .rev()
        .find(|record| is_compacted(record));
    assert!(matches!(last, Some(Record::Compacted { summary: it, .. }) if it == summary));
    // Behind it the end of the old journal, to the byte.
    let own = new.iter().take_while(|entry| entry.at == 77).count();
    assert!(own <= 3);
    let kept = &old[old.len() - (new.len() - own)..];
    assert!(
        new[own..]
            .iter()
            .map(unnumbered)
            .eq(kept.iter().map(unnumbered))
    );
    assert!(kept.iter().any(|entry| is_compacted(&entry.record)));

    let mut ledger = revived(&journal).await;
    check_same(&ledger, &play.ledger, &play.keys);
    let seen = glance(&*journal).await.unwrap();
    assert_eq!(seen.ledger.totals(), play.ledger.totals());
    assert_eq!(seen.ledger.status(), play.ledger.status());
    assert_eq!(rewritten(&journal).await, None, "it was rewritten again");

    // Whatever comes next, both go on in the same way.
    for _ in 0..later {
        let known = play.records.len();
        play.run();
        play.rest();
        for record in &play.records[known..] {
            ledger.apply(record);
        }
        check_same(&ledger, &play.ledger, &play.keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Spec: [JRNL-31] [JRNL-32] [JRNL-33] [JRNL-34]
    #[test]
    fn a_rewritten_journal_adds_up_to_the_same(
        choices in prop::collection::vec(any::<u8>(), 1..400),
        runs in 1..12_usize,
        later in 0..4_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(check_rewrite(&choices, runs, later));
    }
}
