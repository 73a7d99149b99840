use std::fs;
use std::thread;

use bytes::Bytes;
use tempfile::TempDir;

use super::super::{FolderAttachments, JsonLinesStore, SystemDisk};
use super::*;
use crate::attachment::AttachmentStore as _;
use crate::clock::Clock;
use crate::journal::testing::{header, prompt, wait};
use crate::journal::{Durability, JournalStore as _};

const MAX: u64 = 20_000;

/// A state folder that holds so many bytes of trash, and may hold [`MAX`].
fn home(trash: usize) -> (TempDir, StateSize) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("trash")).unwrap();
    fs::write(home.path().join("trash/a-1.jsonl"), vec![b'x'; trash]).unwrap();
    // What is none of ours does not count.
    fs::write(home.path().join("config.toml"), vec![b'#'; 50_000]).unwrap();
    let size = StateSize::new(home.path(), Some(MAX), Arc::new(SystemDisk)).unwrap();
    (home, size)
}

/// Asks until the answer is as wanted, which the thread that counts brings about.
fn until(size: &StateSize, bytes: u64, is_refused: bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while size.check(bytes).is_err() != is_refused {
        assert!(tokio::time::Instant::now() < deadline);
        thread::yield_now();
    }
}

/// Spec: [JRNL-92] [JRNL-94]
#[test]
fn what_is_there_is_counted_and_what_is_written_is_added() {
    let (home, size) = home(12_000);
    until(&size, 8001, true);
    size.check(8000).unwrap();
    let store = JsonLinesStore::within(home.path(), Clock::system(), size.clone());
    let attachments = FolderAttachments::within(home.path(), size.clone());
    let made = wait(store.create(header("a"), vec![])).unwrap();
    let text = "x".repeat(3000);
    wait(made.append(0, vec![prompt(&text)], Durability::Synced)).unwrap();
    wait(attachments.put(Bytes::from(vec![b'y'; 4000]))).unwrap();
    let told = made.room(1000).unwrap_err().to_string();
    let expected = "cannot write conversations/a.jsonl: the state folder has 19";
    assert!(told.starts_with(expected), "{told}");
    assert!(
        told.ends_with(
            " bytes, and max_state_bytes allows 20000; delete conversations and run \
             `harness trash empty`, or raise max_state_bytes"
        ),
        "{told}"
    );
    made.room(100).unwrap();

    let refused = wait(attachments.put(Bytes::from(vec![b'z'; 4000]))).unwrap_err();
    assert!(refused.reason.contains("max_state_bytes"), "{refused}");
    let entries = vec![prompt(&text).to_json().unwrap()];
    let refused = wait(store.create(header("b"), entries)).err().unwrap();
    assert!(refused.to_string().contains("max_state_bytes"), "{refused}");
    let journals = fs::read_dir(home.path().join("conversations")).unwrap();
    assert_eq!(journals.count(), 1);
    // What was kept before is not written again.
    wait(attachments.put(Bytes::from(vec![b'y'; 4000]))).unwrap();
    // A run that goes on is written to its end, however much that is.
    wait(made.append(1, vec![prompt(&text)], Durability::Synced)).unwrap();
    made.room(0).unwrap_err();

    fs::remove_file(home.path().join("trash/a-1.jsonl")).unwrap();
    until(&size, 1000, false);
    let entries = vec![prompt(&text).to_json().unwrap()];
    wait(store.create(header("b"), entries)).unwrap();
}

/// Spec: [JRNL-92]
#[test]
fn what_is_removed_again_does_not_count() {
    let (home, size) = home(0);
    until(&size, MAX + 1, true);
    let attachments = FolderAttachments::within(home.path(), size.clone());
    for _ in 0..20 {
        let content = Bytes::from(vec![b'y'; 15_000]);
        let held = wait(attachments.hold(content)).unwrap();
        size.check(6000).unwrap_err();
        attachments.settle(&held, crate::attachment::Fate::Refused);
        // Also if a count that went on meanwhile has seen it.
        until(&size, 15_000, false);
    }
}

/// Spec: [JRNL-92]
#[test]
fn without_a_bound_nothing_is_counted() {
    let size = StateSize::new(Path::new("/"), None, Arc::new(SystemDisk)).unwrap();
    size.grew(usize::MAX);
    size.check(u64::MAX).unwrap();
}

/// Spec: [JRNL-92]
#[test]
fn the_thread_that_counts_ends_with_what_it_counts_for() {
    let (wanted, wants) = channel();
    let size = Arc::new(Size {
        home: "/nowhere".into(),
        disk: Arc::new(SystemDisk),
        max: 0,
        bytes: AtomicU64::new(0),
        written: AtomicU64::new(0),
        is_wanted: AtomicBool::new(false),
        wanted,
    });
    let counted = Arc::downgrade(&size);
    let counting = thread::spawn(move || keep_counting(&counted, &wants));
    drop(size);
    counting.join().unwrap();
}
