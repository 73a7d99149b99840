use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::*;
use crate::broadcast::{
    EventView, Followed, Follower, FollowerSource, FollowerStart, ReadBudget, STREAM_BYTES,
    STREAM_GRACE,
};
use crate::clock::Clock;
use crate::conversation::Defaults;
use crate::conversation::messages::{GetOverview, SubmitError, SubmitPrompt, WaitForEnd};
use crate::directory::messages::{
    ConversationRow, ForkConversation, ForkError, ListConversations, RemoveConversation,
    RemoveError,
};
use crate::directory::{Extensions, MAX_OPEN_CONVERSATIONS};
use crate::ids::ItemId;
use crate::journal::{
    Activity, Durability, Journal, JournalEntries, ListedJournal, MemoryStore, NewRecord, Position,
    Record,
};
use crate::model::messages::{
    CancelModelCall, DescribeModel, ListModels, ModelEvent, StartModelCall,
};
use crate::reply::{Block, ReplyEnd};
use crate::storage::{StorageError, StorageFuture};
use crate::tool::ToolShelf;
use crate::tool::messages::{CancelTool, RunTool};
use futures_util::StreamExt as _;
use harness_protocol::{Queue, Settings};

/// Answers each call of the model at once, unless it is told to wait.
struct Model {
    asked: mpsc::UnboundedSender<StartModelCall>,
}

impl Actor for Model {
    type Context = Context<Self>;
}

impl Handler<StartModelCall> for Model {
    type Result = ();

    fn handle(&mut self, order: StartModelCall, _: &mut Context<Self>) {
        drop(self.asked.send(order));
    }
}

macro_rules! ignores {
    ($($message:ty),*) => {$(
        impl Handler<$message> for Model {
            type Result = ();

            fn handle(&mut self, _: $message, _: &mut Context<Self>) {}
        }
    )*};
}

impl Handler<ListModels> for Model {
    type Result = MessageResult<ListModels>;

    fn handle(&mut self, _: ListModels, _: &mut Context<Self>) -> Self::Result {
        MessageResult(Ok(Vec::new()))
    }
}

ignores!(CancelModelCall, DescribeModel, RunTool, CancelTool);

/// A store that fails to open for as long as it is told to.
struct Store {
    memory: MemoryStore,
    broken: Mutex<bool>,
    /// How many journals were opened.
    opened: AtomicUsize,
}

impl JournalStore for Store {
    fn open(&self, id: &ConversationId) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        if *self.broken.lock().unwrap() {
            let error = StorageError {
                doing: "open".to_owned(),
                path: id.to_string(),
                reason: "no".to_owned(),
            };
            return Box::pin(async { Err(OpenError::Storage(error)) });
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.memory.open(id)
    }

    fn open_or_new(&self, header: Header) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        self.memory.open_or_new(header)
    }

    fn create_from(
        &self,
        header: Header,
        entries: JournalEntries,
    ) -> StorageFuture<Result<Arc<dyn Journal>, OpenError>> {
        self.memory.create_from(header, entries)
    }

    fn list(
        &self,
        after: Option<ListedJournal>,
        limit: usize,
    ) -> StorageFuture<Result<Vec<ListedJournal>, StorageError>> {
        self.memory.list(after, limit)
    }

    fn remove(&self, id: &ConversationId) -> StorageFuture<Result<String, OpenError>> {
        self.memory.remove(id)
    }
}

/// A time that is another one each time, and long ago for the conversations.
fn tick() -> std::time::SystemTime {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    let ticks = TICKS.fetch_add(1, Ordering::Relaxed);
    std::time::UNIX_EPOCH + Duration::from_nanos(ticks)
}

pub(in super::super) struct World {
    directory: Addr<DirectoryActor>,
    store: Arc<Store>,
    asked: mpsc::UnboundedReceiver<StartModelCall>,
}

impl World {
    fn new() -> Self {
        Self::with_places(MAX_OPEN_CONVERSATIONS)
    }

    /// A world in which so many conversations may be open.
    pub(in super::super) fn with_places(max_open: usize) -> Self {
        let (sender, asked) = mpsc::unbounded_channel();
        let model = Model { asked: sender }.start();
        let parts = DirectoryParts {
            lives: Arc::default(),
            start_model_call: model.clone().recipient(),
            cancel_model_call: model.clone().recipient(),
            run_tool: model.clone().recipient(),
            cancel_tool: model.clone().recipient(),
            describe_model: model.clone().recipient(),
            tools: ToolShelf::default(),
            workspace: Path::new("/own").into(),
            list_models: model.recipient(),
            extensions: Extensions::default(),
            defaults: Arc::new(Defaults::new("m", 10)),
            clock: Clock::new(|| std::time::UNIX_EPOCH + Duration::from_secs(9)),
            broadcasting: Arbiter::current(),
        };
        let store = Arc::new(Store {
            memory: MemoryStore::new(Clock::new(tick)),
            broken: Mutex::new(false),
            opened: AtomicUsize::default(),
        });
        let shared = Arc::clone(&store) as Arc<dyn JournalStore>;
        Self {
            directory: DirectoryActor::new(shared, parts, max_open).start(),
            store,
            asked,
        }
    }

    pub(in super::super) async fn open(&self, id: &str) -> Result<OpenedConversation, OpenError> {
        let id = ConversationId::new(id);
        self.directory.send(OpenConversation { id }).await.unwrap()
    }

    /// Makes a conversation, and tells its name.
    pub(in super::super) async fn make(&self, title: &str) -> String {
        self.make_in(title, None).await
    }

    /// Makes one that works in a folder.
    async fn make_in(&self, title: &str, workspace: Option<&str>) -> String {
        let create = CreateConversation {
            id: None,
            title: Some(title.to_owned()),
            settings: Settings::default(),
            workspace: workspace.map(PathBuf::from),
        };
        let made = self.directory.send(create).await.unwrap().unwrap();
        made.header.conversation.to_string()
    }

    pub(in super::super) async fn create(&self, title: &str) -> OpenedConversation {
        let id = self.make(title).await;
        self.open(&id).await.unwrap()
    }

    async fn fork(&self, id: &str, seq: Option<u64>) -> Result<OpenedConversation, ForkError> {
        let fork = ForkConversation {
            id: ConversationId::new(id),
            seq,
            title: None,
        };
        let made = self.directory.send(fork).await.unwrap()?;
        let id = made.header.conversation.to_string();
        Ok(self.open(&id).await.unwrap())
    }

    async fn remove(&self, id: &str) -> Result<String, RemoveError> {
        let id = ConversationId::new(id);
        self.directory
            .send(RemoveConversation { id })
            .await
            .unwrap()
    }

    /// Starts a run, and waits until the model is asked.
    pub(in super::super) async fn ask(
        &mut self,
        conversation: &OpenedConversation,
    ) -> StartModelCall {
        let prompt = SubmitPrompt {
            content: "hi".to_owned(),
            ..SubmitPrompt::default()
        };
        conversation.actor.send(prompt).await.unwrap().unwrap();
        self.asked.recv().await.unwrap()
    }

    /// A whole run.
    pub(in super::super) async fn run(&mut self, conversation: &OpenedConversation) {
        let order = self.ask(conversation).await;
        let overview = conversation.actor.send(GetOverview).await.unwrap().unwrap();
        let run = overview.run.unwrap();
        let call_id = order.call_id.clone();
        let index = 0;
        let block = Block::text("well");
        let answer = |event| crate::send::tell(&order.reply_to, event);
        answer(ModelEvent::BlockFinished {
            call_id,
            index,
            block,
        });
        answer(ModelEvent::Finished {
            call_id: order.call_id.clone(),
            end: ReplyEnd::default(),
        });
        conversation.actor.send(WaitForEnd { run }).await.unwrap();
    }

    pub(in super::super) async fn list(&self) -> Vec<ConversationRow> {
        self.list_in(None).await
    }

    /// Those that work in a folder.
    async fn list_in(&self, workspace: Option<&str>) -> Vec<ConversationRow> {
        let list = ListConversations {
            after: None,
            limit: 10,
            workspace: workspace.map(PathBuf::from),
        };
        self.directory.send(list).await.unwrap().unwrap()
    }
}

/// Where a client of a conversation gets its events from.
pub(in super::super) fn source(conversation: &OpenedConversation) -> FollowerSource {
    FollowerSource {
        journal: Arc::clone(&conversation.journal),
        broadcast: conversation.broadcast.clone().recipient(),
        attendance: conversation.attendance.clone(),
        budget: ReadBudget::new(STREAM_BYTES, STREAM_GRACE),
    }
}

fn id(conversation: &OpenedConversation) -> String {
    conversation.journal.header().conversation.to_string()
}

/// Spec: [CONV-155] [CONV-156]
#[actix::test]
async fn a_conversation_keeps_its_folder_and_is_found_by_it() {
    let world = World::new();
    world.open("default").await.unwrap();
    let own = world.make_in("own", None).await;
    let there = world.make_in("there", Some("/there")).await;
    let forked = world.fork(&there, None).await.unwrap();
    let forked = forked.journal.header();
    assert_eq!(
        forked.workspace,
        Some(Workspace {
            folder: "/there".into(),
            is_elsewhere: true
        })
    );
    let forked = forked.conversation.to_string();
    for (folder, expected) in [
        ("/own", vec![own.clone(), "default".to_owned()]),
        ("/there", vec![forked, there]),
        ("/nowhere", vec![]),
    ] {
        // Also when the folders are known.
        for _ in 0..2 {
            let rows = world.list_in(Some(folder)).await;
            let mut ids: Vec<String> = rows.into_iter().map(|row| row.listed.id).collect();
            let mut expected = expected.clone();
            ids.sort();
            expected.sort();
            assert_eq!(ids, expected, "{folder}");
        }
    }
    let header = world.open(&own).await.unwrap().journal.header();
    let workspace = header.workspace.unwrap();
    assert_eq!(
        (workspace.folder, workspace.is_elsewhere),
        ("/own".into(), false)
    );
}

/// Spec: [CONV-58]
#[actix::test]
async fn who_asks_for_the_same_conversation_gets_the_same_actors() {
    let world = World::new();
    let (one, other) = tokio::join!(world.open(DEFAULT_CONVERSATION), world.open("default"));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(
        (&one.actor, &one.broadcast),
        (&other.actor, &other.broadcast)
    );
    let made = world.create("t").await;
    assert_ne!(made.actor, one.actor);
    assert_eq!(world.open(&id(&made)).await.unwrap().actor, made.actor);
    assert_ne!(id(&world.create("t").await), id(&made));
}

/// Spec: [CONV-58]
#[actix::test]
async fn what_cannot_be_opened_is_tried_again() {
    let mut world = World::new();
    let id = "later".to_owned();
    let missing = OpenError::NotFound { id: id.clone() };
    assert_eq!(world.open(&id).await.err(), Some(missing));
    let header = Header::new(ConversationId::new(&id), 0);
    world.store.create(header, vec![]).await.unwrap();
    *world.store.broken.lock().unwrap() = true;
    assert!(matches!(world.open(&id).await, Err(OpenError::Storage(_))));
    *world.store.broken.lock().unwrap() = false;
    let opened = world.open(&id).await.unwrap();
    world.run(&opened).await;
}

/// Spec: [CONV-48] [CONV-56] [CONV-58]
#[actix::test]
async fn an_idle_conversation_ends_after_two_looks_and_comes_back() {
    tokio::time::pause();
    let mut world = World::new();
    let first = world.create("t").await;
    world.run(&first).await;
    let busy = world.create("busy").await;
    world.ask(&busy).await;
    let watched = world.create("watched").await;
    let mut client = Follower::new(
        source(&watched),
        EventView::Plain,
        None,
        FollowerStart::Live,
    );
    assert!(matches!(client.next().await, Some(Followed::Live(_))));
    // This one has not even begun to read what it lacks.
    let read = world.create("read").await;
    let follow = |conversation: &OpenedConversation| {
        Follower::new(
            source(conversation),
            EventView::Full,
            None,
            FollowerStart::Behind(Position::start(conversation.journal.end().epoch)),
        )
    };
    let mut slow = follow(&read);
    tokio::time::sleep(SWEEP + SWEEP / 2).await;
    assert!(first.is_alive());
    tokio::time::sleep(SWEEP).await;
    assert!(!first.is_alive());
    assert!(busy.is_alive() && watched.is_alive() && read.is_alive());
    world.run(&read).await;
    let mut shown = 0;
    while shown < 9 {
        let followed = slow.next().await.unwrap();
        assert!(matches!(followed, Followed::Frame(_)), "{followed:?}");
        shown += 1;
    }
    // Who found a conversation just before it ended is sent to the next one.
    let late = follow(&first).collect::<Vec<_>>().await;
    let replaced = Followed::Ended(crate::broadcast::StreamEndReason::Closed(Closing::Replaced));
    assert_eq!(late, [replaced]);

    let again = world.open(&id(&first)).await.unwrap();
    assert_ne!(again.actor, first.actor);
    world.run(&again).await;
    assert_eq!(again.journal.end().seq, 18);
    let order = world.ask(&again).await;
    let sent = String::from_utf8(order.request.body("m").concat()).unwrap();
    assert_eq!(sent.matches("well").count(), 2);
}

/// Spec: [CONV-59]
#[actix::test]
async fn a_fork_begins_like_its_origin() {
    let mut world = World::new();
    let origin = world.create("t").await;
    world.run(&origin).await;
    world.run(&origin).await;
    let end = origin.journal.end().seq;
    for (seq, copied) in [(None, end), (Some(9), 9), (Some(0), 0)] {
        let fork = world.fork(&id(&origin), seq).await.unwrap();
        assert_eq!(fork.journal.end().seq, copied);
        let header = fork.journal.header();
        let forked_from = header.forked_from.unwrap();
        assert_eq!(
            (forked_from.conversation, forked_from.seq),
            (id(&origin), copied)
        );
        assert_eq!(header.title.as_deref(), Some("t"));
        assert_ne!(header.epoch, origin.journal.header().epoch);
        world.run(&fork).await;
        assert_eq!(origin.journal.end().seq, end);
    }
    let seq = end + 1;
    let refused = world.fork(&id(&origin), Some(seq)).await.err();
    assert_eq!(refused, Some(ForkError::NoSuchRecord { seq, end }));
    let missing = world.fork("nobody", None).await;
    assert!(matches!(
        missing,
        Err(ForkError::Open(OpenError::NotFound { .. }))
    ));
}

/// Spec: [CONV-59]
#[actix::test]
async fn a_fork_in_the_middle_of_a_run_ends_that_run() {
    let mut world = World::new();
    let origin = world.create("t").await;
    world.ask(&origin).await;
    let fork = world.fork(&id(&origin), None).await.unwrap();
    let overview = fork.actor.send(GetOverview).await.unwrap().unwrap();
    assert!(overview.run.is_some() && !overview.is_running);
    world.run(&fork).await;
    let overview = fork.actor.send(GetOverview).await.unwrap().unwrap();
    assert_eq!((overview.run, overview.totals.runs), (None, 2));
}

/// Spec: [JRNL-36]
#[actix::test]
async fn a_fork_does_not_say_what_waits_in_its_origin() {
    let mut world = World::new();
    let origin = world.create("t").await;
    world.run(&origin).await;
    let end = origin.journal.end().seq;
    let queued = |item| crate::journal::NewRecord {
        at: 5,
        record: Record::Queued {
            item: ItemId(item),
            queue: Queue::FollowUp,
            content: "later".to_owned(),
            attachments: Vec::new(),
            key: None,
            by: None,
        },
    };
    let items = vec![ItemId(2)];
    let withdrawn = crate::journal::NewRecord {
        at: 6,
        record: Record::Withdrawn { items, by: None },
    };
    let records = vec![queued(1), queued(2), queued(3), withdrawn];
    let appending = origin
        .journal
        .append(end, records, crate::journal::Durability::Written);
    appending.await.unwrap();
    for (seq, withdrawn) in [
        (None, &[1, 3][..]),
        (Some(end + 3), &[1, 2, 3]),
        (Some(end + 1), &[1]),
        (Some(end), &[]),
    ] {
        let fork = world.fork(&id(&origin), seq).await.unwrap();
        let copied = seq.unwrap_or(end + 4);
        let header = fork.journal.header();
        assert_eq!(header.forked_from.unwrap().seq, copied);
        let overview = fork.actor.send(GetOverview).await.unwrap().unwrap();
        assert_eq!(overview.totals.queue, []);
        // Names in the queue are not given twice.
        assert_eq!(
            overview.totals.items,
            withdrawn.last().copied().unwrap_or(0)
        );
        let limit = crate::journal::PageLimit {
            records: 9,
            bytes: usize::MAX,
        };
        let added = fork.journal.read(copied, limit).await.unwrap().entries;
        let expected = Record::Withdrawn {
            items: withdrawn.iter().copied().map(ItemId).collect(),
            by: None,
        };
        match &added[..] {
            [] => assert!(withdrawn.is_empty()),
            [entry] => assert_eq!(entry.record, expected),
            more => panic!("{more:?}"),
        }
        world.run(&fork).await;
    }
    assert_eq!(origin.journal.end().seq, end + 4);
}

/// Spec: [CONV-60] [HTTP-34]
#[actix::test]
async fn a_conversation_is_removed_when_no_run_is_going() {
    let mut world = World::new();
    let removed = world.create("t").await;
    let name = id(&removed);
    world.run(&removed).await;
    let mut client = Follower::new(
        source(&removed),
        EventView::Plain,
        None,
        FollowerStart::Live,
    );
    assert!(matches!(client.next().await, Some(Followed::Live(_))));
    let order = world.ask(&removed).await;
    assert_eq!(world.remove(&name).await, Err(RemoveError::Busy));
    let failure = crate::model::ModelFailure {
        error: crate::model::ModelError::Truncated,
        interrupted: false,
    };
    crate::send::tell(
        &order.reply_to,
        ModelEvent::Failed {
            call_id: order.call_id.clone(),
            failure,
            partial: Vec::new(),
        },
    );
    let run = crate::ids::RunId(2);
    removed.actor.send(WaitForEnd { run }).await.unwrap();
    world.remove(&name).await.unwrap();
    let ended = Followed::Ended(crate::broadcast::StreamEndReason::Closed(Closing::Deleted));
    let last = client.collect::<Vec<_>>().await.pop();
    assert_eq!(last, Some(ended));
    let missing = OpenError::NotFound { id: name.clone() };
    assert_eq!(world.open(&name).await.err(), Some(missing.clone()));
    assert_eq!(world.remove(&name).await, Err(RemoveError::Open(missing)));
    assert_eq!(world.list().await, []);
}

/// Spec: [CONV-47]
#[actix::test]
async fn the_list_tells_how_each_conversation_is() {
    tokio::time::pause();
    let mut world = World::new();
    let closed = world.create("closed").await;
    world.run(&closed).await;
    tokio::time::sleep(SWEEP * 3).await;
    assert!(!closed.is_alive());
    let busy = world.create("busy").await;
    world.ask(&busy).await;
    let rows = world.list().await;
    let mut found: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let (header, overview) = row.found.unwrap();
            assert_eq!((header.created_at, overview.active_at), (9000, 9000));
            let activity = overview.status.activity;
            (
                header.title.unwrap(),
                overview.totals.runs,
                overview.is_running,
                activity,
            )
        })
        .collect();
    found.sort_by_key(|(title, ..)| title.clone());
    let expected = [
        ("busy".to_owned(), 1, true, Activity::Thinking),
        ("closed".to_owned(), 1, false, Activity::Idle),
    ];
    assert_eq!(found, expected);
}

/// Spec: [HTTP-103]
#[actix::test]
async fn a_list_opens_no_journal_that_was_not_changed() {
    let world = World::new();
    let ids = [world.make("a").await, world.make("b").await];
    let opened = || world.store.opened.swap(0, Ordering::Relaxed);
    let first = world.list().await;
    opened();
    assert_eq!(world.list().await, first);
    assert_eq!(opened(), 0);
    let changed = ConversationId::new(&ids[0]);
    let journal = world.store.memory.open(&changed).await.unwrap();
    let record = Record::Renamed {
        title: "c".to_owned(),
        by: None,
    };
    let renamed = vec![NewRecord { at: 1, record }];
    let appending = journal.append(journal.end().seq, renamed, Durability::Written);
    appending.await.unwrap();
    let rows = world.list().await;
    assert_eq!(opened(), 1);
    let titles = rows.iter().map(|row| {
        let (_, overview) = row.found.as_ref().unwrap();
        overview.totals.title.clone()
    });
    assert!(titles.collect::<Vec<_>>().contains(&Some("c".to_owned())));
}

/// Spec: [CONV-25] [HTTP-34]
#[actix::test]
async fn a_stop_ends_all_runs_and_streams() {
    let mut world = World::new();
    let one = world.create("one").await;
    let order = world.ask(&one).await;
    let client = Follower::new(
        source(&one),
        EventView::Plain,
        None,
        FollowerStart::Behind(Position::start(one.journal.end().epoch)),
    );
    let stop = actix::spawn(world.directory.send(StopAll));
    let failure = crate::model::ModelFailure {
        error: crate::model::ModelError::Cancelled,
        interrupted: false,
    };
    tokio::task::yield_now().await;
    crate::send::tell(
        &order.reply_to,
        ModelEvent::Failed {
            call_id: order.call_id.clone(),
            failure,
            partial: Vec::new(),
        },
    );
    stop.await.unwrap().unwrap();
    let seen: Vec<Followed> = client.collect().await;
    let ended = Followed::Ended(crate::broadcast::StreamEndReason::Closed(Closing::Stopping));
    assert_eq!(seen.last(), Some(&ended));
    let prompt = SubmitPrompt {
        content: "hi".to_owned(),
        ..SubmitPrompt::default()
    };
    let refused = one.actor.send(prompt).await.unwrap();
    assert_eq!(refused, Err(SubmitError::Stopping));
    // Nor is another one opened or made any more.
    let refused = world.open("default").await.err();
    assert_eq!(refused, Some(OpenError::Stopping));
}
