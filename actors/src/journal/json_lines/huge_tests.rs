//! Journals of more than one part.

use bytes::Bytes;

use super::super::testing::*;
use super::check::PART;
use super::disk::append_all;
use super::whole::Whole;
use super::*;

/// Records of about a megabyte each, of more than two parts together.
fn entries() -> Vec<Bytes> {
    let of = |number: usize| prompt(&number.to_string().repeat(1 << 20));
    let parts = usize::try_from((2 * PART) >> 20).unwrap();
    let entries = (0..parts + 4).map(|number| of(number % 10).to_json());
    entries.collect::<Result<_, _>>().unwrap()
}

/// Spec: [CONV-173]
#[test]
fn a_journal_that_is_written_piece_by_piece_is_the_same() {
    let home = tempfile::tempdir().unwrap();
    let header = header("a");
    let whole = Whole::encode(&header, &entries()).unwrap();
    let mut written = Whole::empty(&header).unwrap();
    let path = home.path().join("a");
    let file = SystemDisk.open(&path, OpenMode::New).unwrap();
    let size = StateSize::default();
    written
        .write(JournalEntries::from_lines(entries()), &*file, &size)
        .unwrap();
    assert_eq!(written.end, whole.end);
    assert!(std::fs::read(&path).unwrap() == whole.content);
    // A record that is none ends it.
    let mut other = Whole::empty(&header).unwrap();
    let bad = JournalEntries::from_lines(vec![Bytes::from_static(b"{}")]);
    let error = other.write(bad, &*file, &size);
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("entry 1: "), "{error}");
}

/// Spec: [CONV-172]
#[test]
fn a_huge_journal_is_checked_in_parts_and_others_are_read_between_them() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("conversations");
    let made = JsonLinesStore::at(home.path(), Clock::system());
    drop(wait(made.create(header("a"), entries())).unwrap());
    drop(made);
    let path = folder.join("a.jsonl");
    let mut content = std::fs::read(&path).unwrap();
    let end = content.len();
    // Once in the first part, once in the last one, and behind the end.
    for at in [1 << 20, end - (1 << 19)] {
        content[at] = b'!';
    }
    std::fs::write(&path, content).unwrap();
    let file = SystemDisk.open(&path, OpenMode::Append).unwrap();
    append_all(&*file, b"torn").unwrap();
    let store = JsonLinesStore::at(home.path(), Clock::system());
    let journal = store.0.open("a").unwrap();
    let mut looks = 1;
    let damage = loop {
        if let Some(damage) = journal.check().unwrap() {
            break damage;
        }
        looks += 1;
    };
    assert_eq!((looks, damage.parts), (3, 3));
    assert_eq!(
        journal.check().unwrap(),
        Some(damage.clone()),
        "the same again"
    );
    let handle: Arc<dyn Journal> = Arc::new(Handle(journal));
    assert_eq!(wait(handle.check()).unwrap(), damage);
}
