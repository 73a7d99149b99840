use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::{Duration, UNIX_EPOCH};

use nix::sys::stat::{Mode, umask};

use super::super::testing::*;
use super::super::{AppendError, Durability};
use super::*;

fn store(home: &Path) -> JsonLinesStore {
    JsonLinesStore::at(home, Clock::system())
}

fn new(store: &JsonLinesStore, name: &str) -> Arc<dyn Journal> {
    wait(store.open_or_new(header(name))).unwrap()
}

fn path(home: &Path, name: &str) -> PathBuf {
    home.join(format!("conversations/{name}.jsonl"))
}

fn what(refused: Result<super::super::Position, AppendError>) -> String {
    match refused {
        Err(AppendError::Tampered { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

/// Spec: [JRNL-19] [JRNL-111]
#[test]
fn a_journal_that_another_program_changed_takes_nothing_more() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("it was deleted", |path| fs::remove_file(path).unwrap()),
        ("it was replaced", |path| {
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).unwrap();
            fs::rename(copy, path).unwrap();
        }),
        ("it was truncated", |path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(200).unwrap();
        }),
        ("something was added to it", |path| {
            let added = [fs::read(path).unwrap(), b"more\n".to_vec()].concat();
            fs::write(path, added).unwrap();
        }),
    ];
    for (number, (expected, change)) in changes.into_iter().enumerate() {
        let name = format!("j{number}");
        let journal = new(&store, &name);
        say(&journal, "one", Durability::Synced).unwrap();
        say(&journal, "two", Durability::Written).unwrap();
        change(&path(home.path(), &name));
        for _ in 0..2 {
            assert_eq!(what(say(&journal, "no", Durability::Synced)), expected);
        }
    }
    fs::remove_dir_all(home.path().join("conversations")).unwrap();
    // The next start makes the folder anew, and this one does not.
    assert!(wait(store.open_or_new(header("new"))).is_err());
    let store = self::store(home.path());
    let journal = new(&store, "new");
    say(&journal, "one", Durability::Synced).unwrap();
    assert_eq!(prompts(&journal), ["one"]);
}

/// Spec: [JRNL-20]
#[test]
fn one_process_writes_a_journal_and_every_process_reads_it() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (store(home.path()), store(home.path()));
    let (journal, other) = (new(&one, "a"), new(&two, "a"));
    say(&journal, "one", Durability::Synced).unwrap();
    assert_eq!(
        what(say(&other, "no", Durability::Synced)),
        "it was made meanwhile"
    );
    let other = wait(two.open(&id("a"))).unwrap();
    assert_eq!(prompts(&other), ["one"]);
    say(&journal, "two", Durability::Synced).unwrap();
    let taken = say(&other, "no", Durability::Synced);
    assert!(matches!(taken, Err(AppendError::Taken { .. })), "{taken:?}");
    let kept = wait(two.remove(&id("a"))).unwrap_err().to_string();
    assert!(kept.contains("is written by another process"), "{kept}");
    // The lock goes with the last handle, and what was appended meanwhile is seen.
    drop(journal);
    let (expected, end) = (1, 2);
    let conflict = wait(other.append(1, vec![prompt("no")], Durability::Synced));
    assert_eq!(conflict, Err(AppendError::Conflict { expected, end }));
    let late = wait(one.open(&id("a"))).unwrap();
    say(&other, "three", Durability::Synced).unwrap();
    assert_eq!(prompts(&other), ["one", "two", "three"]);
    let taken = say(&late, "no", Durability::Synced);
    assert!(matches!(taken, Err(AppendError::Taken { .. })), "{taken:?}");
}

/// Spec: [JRNL-20]
#[test]
fn a_journal_is_free_as_soon_as_it_was_let_go() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    for number in 0..200 {
        let journal = new(&store, "a");
        say(&journal, &number.to_string(), Durability::Written).unwrap();
    }
    assert_eq!(new(&store, "a").end().seq, 200);
}

/// Spec: [JRNL-26]
#[test]
fn files_and_folders_are_private_whatever_the_umask() {
    for mask in [0o000, 0o077] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("conversations");
        if mask == 0 {
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        }
        let before = umask(Mode::from_bits_truncate(mask));
        let store = store(home.path());
        let journal = new(&store, "a");
        say(&journal, "one", Durability::Synced).unwrap();
        wait(journal.replace(1, header("a"), vec![])).unwrap();
        drop(wait(store.create(header("b"), vec![])).unwrap());
        wait(store.remove(&id("b"))).unwrap();
        umask(before);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        for folder in [folder, home.path().join("trash")] {
            assert_eq!(mode(&folder), 0o700);
            for entry in fs::read_dir(folder).unwrap() {
                assert_eq!(mode(&entry.unwrap().path()), 0o600);
            }
        }
    }
}

/// Spec: [JRNL-16] [JRNL-23]
#[test]
fn what_is_no_journal_is_not_followed_nor_listed() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    for number in 0..100 {
        drop(wait(store.create(header(&format!("j{number}")), vec![])).unwrap());
    }
    let folder = home.path().join("conversations");
    fs::write(path(home.path(), "bad"), "garbage").unwrap();
    symlink(path(home.path(), "j1"), path(home.path(), "link")).unwrap();
    fs::create_dir(path(home.path(), "folder")).unwrap();
    nix::unistd::mkfifo(&path(home.path(), "pipe"), Mode::S_IRWXU).unwrap();
    for name in [
        ".j.tmp",
        "j1.damaged",
        "j1.x.archive",
        "README.md",
        "B.jsonl",
        "a.b.jsonl",
    ] {
        fs::write(folder.join(name), "x").unwrap();
    }
    let listed = wait(store.list(None, usize::MAX)).unwrap();
    assert_eq!(listed.len(), 101);
    assert!(listed.iter().any(|listed| listed.id == "bad"));
    for name in ["bad", "link", "folder", "pipe"] {
        let refused = wait(store.open(&id(name))).err().unwrap();
        assert!(matches!(refused, OpenError::Unreadable { .. }), "{refused}");
    }
    for name in ["link", "folder", "pipe"] {
        assert!(wait(store.remove(&id(name))).is_err());
    }
    for number in 0..100 {
        wait(store.open(&id(&format!("j{number}")))).unwrap();
    }
    drop(store);
    drop(self::store(home.path()));
    assert!(!folder.join(".j.tmp").exists());
    assert!(folder.join("j1.damaged").exists());
}

/// Spec: [JRNL-23] [JRNL-25]
#[test]
fn a_clock_that_goes_backwards_changes_no_order() {
    let home = tempfile::tempdir().unwrap();
    let clock = Clock::new(|| UNIX_EPOCH + Duration::from_millis(5));
    let store = JsonLinesStore::at(home.path(), clock);
    let journal = new(&store, "a");
    for (number, at) in [u64::MAX, 0, 1_763_770_000_000, 5].into_iter().enumerate() {
        let mut record = prompt(&number.to_string());
        record.at = at;
        let end = journal.end().seq;
        wait(journal.append(end, vec![record], Durability::Written)).unwrap();
    }
    assert_eq!(prompts(&journal), ["0", "1", "2", "3"]);
    // Two at the same time do not share a place in the trash.
    let mut thrown = Vec::new();
    for _ in 0..3 {
        let journal = new(&store, "b");
        say(&journal, "one", Durability::Written).unwrap();
        wait(journal.replace(1, header("b"), vec![])).unwrap();
        thrown.push(wait(store.remove(&id("b"))).unwrap());
    }
    let trash = home.path().join("trash");
    for (number, path) in (5..).zip(thrown) {
        assert_eq!(Path::new(&path), trash.join(format!("b-{number}.jsonl")));
    }
    // Each with its archive.
    assert_eq!(fs::read_dir(trash).unwrap().count(), 6);
}

/// Spec: [JRNL-08]
#[test]
fn opening_and_reading_leave_a_journal_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let store = store(home.path());
    let journal = new(&store, "a");
    say(&journal, "one", Durability::Synced).unwrap();
    drop(journal);
    let path = path(home.path(), "a");
    let (content, stat) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap());
    let journal = wait(store.open(&id("a"))).unwrap();
    assert_eq!(prompts(&journal), ["one"]);
    assert!(wait(journal.check()).unwrap().is_none());
    drop(journal);
    let now = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    let facts = |stat: &fs::Metadata| (stat.ino(), stat.mtime_nsec(), stat.ctime_nsec());
    assert_eq!(facts(&stat), facts(&now));
}
