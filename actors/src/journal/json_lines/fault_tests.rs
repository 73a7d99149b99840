use bytes::Bytes;
use nix::libc::{EACCES, EAGAIN, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS};

use super::super::testing::*;
use super::super::{AppendError, Durability};
use super::simulated::{Fault, Loss, SimulatedDisk};
use super::*;

const LOSSES: [Loss; 4] = [Loss::Nothing, Loss::AllUnflushed, Loss::Some, Loss::Some];

fn store_on(disk: &SimulatedDisk) -> JsonLinesStore {
    let disk = Arc::new(disk.clone());
    JsonLinesStore::new("/c".into(), "/t".into(), disk, Clock::system())
}

fn new(store: &JsonLinesStore, name: &str) -> Arc<dyn Journal> {
    wait(store.open_or_new(header(name))).unwrap()
}

/// The orders to a conversation.
#[derive(Default)]
struct Told {
    /// The texts that were tried.
    tried: Vec<String>,
    /// The texts that were accepted.
    taken: Vec<String>,
    /// How much of that has to outlive a power cut.
    durable: usize,
}

impl Told {
    fn say(&mut self, journal: &Arc<dyn Journal>, text: &str, durability: Durability) {
        self.tried.push(text.to_owned());
        if say(journal, text, durability).is_ok() {
            self.taken.push(text.to_owned());
            if durability == Durability::Synced {
                self.durable = self.taken.len();
            }
        }
    }

    /// Whether a journal that was read again holds what it must, and nothing that was not said.
    fn check(&self, read: &[String]) {
        let mut tried = self.tried.iter();
        assert!(
            read.iter().all(|text| tried.any(|other| other == text)),
            "{read:?}"
        );
        let mut read = read.iter();
        let durable = &self.taken[..self.durable];
        assert!(
            durable.iter().all(|text| read.any(|other| other == text)),
            "{durable:?}"
        );
    }
}

/// Does everything that a store can, and tells the results. Goes on after errors.
fn life(disk: &SimulatedDisk) -> (Told, bool) {
    let store = store_on(disk);
    let mut told = Told::default();
    let Ok(journal) = wait(store.open_or_new(header("a"))) else {
        return (told, false);
    };
    for (text, durability) in [
        ("one", Durability::Synced),
        ("two", Durability::Written),
        ("three", Durability::Synced),
        ("four", Durability::Written),
        ("five", Durability::Synced),
    ] {
        told.say(&journal, text, durability);
        assert_eq!(prompts_or_none(&journal), told.taken_if(disk));
    }
    let entries = entries_or_none(&journal);
    let replaced = wait(journal.replace(journal.end().seq, header("a"), entries));
    if replaced.is_ok() {
        told.durable = told.taken.len();
    }
    told.say(&journal, "six", Durability::Synced);
    assert_eq!(prompts_or_none(&journal), told.taken_if(disk));
    let is_made = wait(store.create(header("b"), vec![])).is_ok();
    drop(wait(store.remove(&id("b"))));
    told.say(&journal, "seven", Durability::Synced);
    (told, is_made)
}

fn entries_or_none(journal: &Arc<dyn Journal>) -> Vec<Bytes> {
    let page = wait(journal.read(0, ALL)).unwrap_or_default();
    page.entries.into_iter().map(|entry| entry.json).collect()
}

/// The prompts that are shown; nothing if the disk is dead.
fn prompts_or_none(journal: &Arc<dyn Journal>) -> Option<Vec<String>> {
    wait(journal.read(0, ALL)).ok()?;
    Some(prompts(journal))
}

impl Told {
    /// The prompts that must be shown; nothing if the disk is dead.
    fn taken_if(&self, disk: &SimulatedDisk) -> Option<Vec<String>> {
        (!disk.is_dead() || self.taken.is_empty()).then(|| self.taken.clone())
    }
}

/// Opens everything again after a fault, in every way in which the disk may be left.
fn revive(disk: &SimulatedDisk, told: &Told, is_made: bool, random: &mut fastrand::Rng) {
    for loss in LOSSES {
        let disk = disk.after(loss, random);
        let store = store_on(&disk);
        let unfinished = |path: &PathBuf| path.extension().is_some_and(|end| end == "tmp");
        assert!(!disk.paths().iter().any(unfinished), "{:?}", disk.paths());
        let journal = new(&store, "a");
        let read = prompts(&journal);
        told.check(&read);
        if loss == Loss::Nothing {
            assert!(read.len() >= told.taken.len(), "{read:?}");
        }
        wait(journal.check()).unwrap();
        say(&journal, "again", Durability::Synced).unwrap();
        let expected = [read, vec!["again".to_owned()]].concat();
        assert_eq!(prompts(&journal), expected);
        let is_b = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with('b') && name.ends_with(".jsonl")
        };
        assert!(
            !is_made || disk.paths().iter().any(is_b),
            "{:?}",
            disk.paths()
        );
    }
}

/// Spec: [JRNL-03] [JRNL-04] [JRNL-05] [JRNL-21] [JRNL-22] [JRNL-25]
#[test]
fn whatever_operation_fails_nothing_that_was_promised_is_lost() {
    let disk = SimulatedDisk::default();
    disk.fail(usize::MAX, Fault::Crash);
    let (told, _) = life(&disk);
    assert_eq!(told.taken, told.tried);
    let count = disk.operations().len();
    assert!(count > 30, "{:?}", disk.operations());
    let mut random = fastrand::Rng::with_seed(15);
    for fault in [
        Fault::Error(EIO),
        Fault::Error(ENOSPC),
        Fault::Short(9, ENOSPC),
        Fault::Short(9, EIO),
        Fault::Crash,
    ] {
        for at in 0..count {
            let disk = SimulatedDisk::default();
            disk.fail(at, fault);
            println!("{fault:?} at {at}");
            let (told, is_made) = life(&disk);
            println!("which is {:?}", disk.operations().get(at));
            revive(&disk, &told, is_made, &mut random);
        }
    }
}

/// Spec: [JRNL-03]
#[test]
fn a_power_cut_takes_nothing_that_was_flushed() {
    for seed in 0..100 {
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let disk = SimulatedDisk::default();
        disk.fail(random.usize(20..400), Fault::Crash);
        let store = store_on(&disk);
        let mut journals: Vec<_> = (0..8)
            .map(|number| (new(&store, &format!("j{number}")), Told::default()))
            .collect();
        for number in 0..200 {
            let (journal, told) = &mut journals[random.usize(..8)];
            let durability = match random.u8(..3) {
                0 => Durability::Synced,
                _ => Durability::Written,
            };
            told.say(journal, &format!("{number}"), durability);
        }
        let told: Vec<Told> = journals.into_iter().map(|(_, told)| told).collect();
        for loss in LOSSES {
            let disk = disk.after(loss, &mut random);
            let store = store_on(&disk);
            for (number, told) in told.iter().enumerate() {
                told.check(&prompts(&new(&store, &format!("j{number}"))));
            }
        }
    }
}

/// Spec: [JRNL-04]
#[test]
fn a_full_disk_takes_nothing_and_works_again_when_there_is_room() {
    let disk = SimulatedDisk::default();
    let store = store_on(&disk);
    let (journal, other) = (new(&store, "a"), new(&store, "b"));
    say(&other, "one", Durability::Synced).unwrap();
    disk.fail_all(Some((&["append"], ENOSPC)));
    let refused = say(&journal, "no", Durability::Synced);
    assert!(
        matches!(refused, Err(AppendError::Storage(_))),
        "{refused:?}"
    );
    disk.fail_all(None);
    say(&journal, "one", Durability::Synced).unwrap();
    let whole = disk.content(Path::new("/c/a.jsonl"));
    for bytes in [0, 1, 9] {
        disk.fail(0, Fault::Short(bytes, ENOSPC));
        let refused = say(&journal, "no", Durability::Synced);
        assert!(
            matches!(refused, Err(AppendError::Storage(_))),
            "{refused:?}"
        );
        assert_eq!(disk.content(Path::new("/c/a.jsonl")), whole);
    }
    assert_eq!(prompts(&other), ["one"]);
    say(&journal, "two", Durability::Synced).unwrap();
    assert_eq!(prompts(&journal), ["one", "two"]);
}

/// Spec: [JRNL-05]
#[test]
fn a_conversation_whose_flush_failed_takes_nothing_more() {
    for names in [&["sync"][..], &["append"]] {
        let disk = SimulatedDisk::default();
        let store = store_on(&disk);
        let (journal, other) = (new(&store, "a"), new(&store, "b"));
        say(&journal, "one", Durability::Synced).unwrap();
        say(&journal, "two", Durability::Written).unwrap();
        disk.fail_all(Some((names, EIO)));
        let refused = say(&journal, "no", Durability::Synced);
        assert!(
            matches!(refused, Err(AppendError::Halted { .. })),
            "{refused:?}"
        );
        disk.fail_all(None);
        drop(journal);
        let journal = wait(store.open(&id("a"))).unwrap();
        assert_eq!(say(&journal, "no", Durability::Written), refused);
        let replaced = wait(journal.replace(2, header("a"), vec![]));
        assert_eq!(replaced.err(), refused.err());
        assert_eq!(prompts(&journal), ["one", "two"]);
        say(&other, "one", Durability::Synced).unwrap();
        drop((journal, store));
        let disk = disk.after(Loss::Nothing, &mut fastrand::Rng::with_seed(0));
        let store = store_on(&disk);
        let journal = new(&store, "a");
        say(&journal, "three", Durability::Synced).unwrap();
        assert_eq!(prompts(&journal), ["one", "two", "three"]);
    }
}

/// Spec: [JRNL-05]
#[test]
fn a_flush_that_fails_takes_back_all_that_came_behind_it() {
    let disk = SimulatedDisk::default();
    let store = store_on(&disk);
    let journal = new(&store, "a");
    say(&journal, "one", Durability::Synced).unwrap();
    disk.fail_all(Some((&["sync"], EIO)));
    disk.hold_syncs(true);
    let flushed = journal.append(1, vec![prompt("two")], Durability::Synced);
    assert_eq!(journal.end().seq, 1);
    // It is not shown before what it follows.
    let behind = journal.append(2, vec![prompt("three")], Durability::Written);
    let lost = journal.append(3, vec![prompt("four")], Durability::Synced);
    disk.hold_syncs(false);
    for append in [flushed, behind, lost] {
        let refused = wait(append);
        assert!(
            matches!(refused, Err(AppendError::Halted { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(journal.end().seq, 1);
    assert_eq!(prompts(&journal), ["one"]);
}

/// Spec: [JRNL-17]
#[test]
fn appends_that_wait_share_a_flush_and_delay_nobody() {
    let disk = SimulatedDisk::default();
    let store = store_on(&disk);
    let (journal, other) = (new(&store, "a"), new(&store, "b"));
    say(&journal, "0", Durability::Synced).unwrap();
    say(&other, "0", Durability::Synced).unwrap();
    disk.fail(usize::MAX, Fault::Crash);
    disk.hold_syncs(true);
    let appends: Vec<_> = (1..=50)
        .map(|end| journal.append(end, vec![prompt("x")], Durability::Synced))
        .collect();
    // It is written while nothing can be flushed, and with it everything before.
    say(&other, "1", Durability::Written).unwrap();
    let is_append = |name: &&&str| **name == "append";
    while disk.operations().iter().filter(is_append).count() < 51 {
        std::thread::yield_now();
    }
    disk.hold_syncs(false);
    for append in appends {
        wait(append).unwrap();
    }
    let syncs = disk
        .operations()
        .iter()
        .filter(|name| **name == "sync")
        .count();
    assert!(syncs <= 2, "{syncs}");
}

/// Spec: [JRNL-18]
#[test]
fn a_system_that_refuses_is_asked_again() {
    let disk = SimulatedDisk::default();
    let store = store_on(&disk);
    for errno in [EMFILE, EROFS, EACCES] {
        let name = format!("e{errno}");
        let there = format!("there{errno}");
        let header = super::super::header_line::encode(&header(&there)).unwrap();
        disk.put(&PathBuf::from(format!("/c/{there}.jsonl")), &header);
        for name in [name, there] {
            let journal = new(&store, &name);
            disk.fail_all(Some((&["open", "make folder"], errno)));
            let refused = say(&journal, "no", Durability::Synced);
            assert!(
                matches!(refused, Err(AppendError::Storage(_))),
                "{refused:?}"
            );
            disk.fail_all(None);
            say(&journal, "yes", Durability::Synced).unwrap();
            assert_eq!(prompts(&journal), ["yes"]);
        }
    }
}

/// Does it until it works; a second time at most.
fn in_two<T, E: std::fmt::Debug + ToString>(mut work: impl FnMut() -> Result<T, E>) -> T {
    work().unwrap_or_else(|error| {
        let told = error.to_string();
        assert!(
            told.contains("this passes, try again in a moment"),
            "{told}"
        );
        work().unwrap()
    })
}

/// Spec: [JRNL-91]
#[test]
fn a_lack_of_open_files_or_memory_passes_wherever_it_is_met() {
    for errno in [EMFILE, ENFILE, ENOMEM, EAGAIN] {
        let mut met = 0;
        for at in 0.. {
            let disk = SimulatedDisk::default();
            let header_line = super::super::header_line::encode(&header("there")).unwrap();
            disk.put(Path::new("/c/there.jsonl"), &header_line);
            let store = store_on(&disk);
            // Each operation that needs an open file is once the one that gets none.
            disk.fail_nth(&["open", "open folder", "make folder"], at, errno);
            for name in ["there", "new"] {
                let journal = in_two(|| wait(store.open_or_new(header(name))));
                for text in ["one", "two"] {
                    in_two(|| say(&journal, text, Durability::Synced));
                }
                let entries = entries_or_none(&journal);
                in_two(|| {
                    let end = journal.end().seq;
                    wait(journal.replace(end, header(name), entries.clone()))
                });
                in_two(|| say(&journal, "three", Durability::Synced));
                assert_eq!(
                    prompts(&journal),
                    ["one", "two", "three"],
                    "{errno} at {at}"
                );
            }
            drop(in_two(|| wait(store.create(header("made"), vec![]))));
            in_two(|| wait(store.remove(&id("made"))));
            in_two(|| wait(store.remove(&id("there"))));
            let is_stray = |path: &PathBuf| {
                let path = path.to_str().unwrap();
                path.starts_with("/c/") && !path.starts_with("/c/new.")
            };
            assert!(!disk.paths().iter().any(is_stray), "{:?}", disk.paths());
            if !disk.has_failed() {
                break;
            }
            met += 1;
        }
        assert!(met > 15, "{met}");
    }
}
