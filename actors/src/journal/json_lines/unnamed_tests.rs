use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use nix::libc::EIO;

use super::super::simulated::SimulatedDisk;
use super::*;
use crate::attachment::{Fate, sha256};

/// Two hours behind the epoch, where the simulated disk has its files.
fn late() -> Clock {
    Clock::new(|| UNIX_EPOCH + 2 * MIN_AGE)
}

struct World {
    disk: SimulatedDisk,
    contents: Arc<Contents>,
}

impl World {
    fn new(contents: &[&[u8]]) -> Self {
        let disk = SimulatedDisk::default();
        let world = Self {
            contents: Arc::new(Contents::within(Path::new("/h"), Arc::new(disk.clone()))),
            disk,
        };
        for content in contents {
            world.disk.put(&world.place(content), content);
        }
        world
    }

    fn place(&self, content: &[u8]) -> PathBuf {
        self.contents.place(&sha256(content)).1
    }

    fn is_kept(&self, content: &[u8]) -> bool {
        self.disk.content(&self.place(content)).is_some()
    }

    fn names(&self, path: &str, content: &[u8]) {
        let line = format!("{{\"sha256\":\"{}\"}}\n", sha256(content));
        self.disk.put(Path::new(path), line.as_bytes());
    }
}

/// Spec: [ATT-32]
#[test]
fn what_no_journal_archive_or_trash_names_is_removed() {
    let world = World::new(&[b"journal", b"archive", b"trash", b"none", b"longer"]);
    world.names("/h/conversations/a.jsonl", b"journal");
    world.names("/h/conversations/a.0123.archive", b"archive");
    world.names("/h/trash/a-1.jsonl", b"trash");
    let longer = format!("\"0{}\"", sha256(b"longer"));
    world
        .disk
        .put(Path::new("/h/conversations/b.jsonl"), longer.as_bytes());
    assert_eq!(world.contents.sweep_unnamed(late()).unwrap(), 2);
    for (content, is_kept) in [
        (&b"journal"[..], true),
        (b"archive", true),
        (b"trash", true),
        (b"none", false),
        (b"longer", false),
    ] {
        assert_eq!(world.is_kept(content), is_kept, "{content:?}");
    }
    assert_eq!(world.contents.sweep_unnamed(late()).unwrap(), 0);
}

/// Spec: [ATT-32]
#[test]
fn a_name_is_found_wherever_it_lies_in_a_file() {
    for before in [0, 1, CHUNK - 65, CHUNK - 64, CHUNK - 30, CHUNK - 1, CHUNK] {
        let world = World::new(&[b"x"]);
        let text = format!("{}{}", "-".repeat(before), sha256(b"x"));
        let path = Path::new("/h/conversations/a.jsonl");
        world.disk.put(path, text.as_bytes());
        world.contents.sweep_unnamed(late()).unwrap();
        assert!(world.is_kept(b"x"), "{before}");
    }
}

/// Spec: [ATT-32]
#[test]
fn what_is_young_or_in_use_or_cannot_be_told_stays() {
    let world = World::new(&[b"x"]);
    let soon = Clock::new(|| UNIX_EPOCH + MIN_AGE);
    assert_eq!(world.contents.sweep_unnamed(soon).unwrap(), 0);
    world.contents.claim(&sha256(b"x"));
    assert_eq!(world.contents.sweep_unnamed(late()).unwrap(), 0);
    world.contents.settle(&sha256(b"x"), Fate::Refused);
    assert!(world.is_kept(b"x"), "it was there before");
    world.disk.put(Path::new("/h/conversations/a.jsonl"), b"");
    world.disk.fail_all(Some((&["open"], EIO)));
    assert!(world.contents.sweep_unnamed(late()).is_err());
    world.disk.fail_all(None);
    assert!(world.is_kept(b"x"));
    assert_eq!(world.contents.sweep_unnamed(late()).unwrap(), 1);
}

/// Spec: [ATT-32]
#[test]
fn what_is_claimed_while_the_sweep_goes_on_stays() {
    let world = World::new(&[b"x", b"y"]);
    world.disk.put(Path::new("/h/conversations/a.jsonl"), b"");
    // The clock is looked at behind the beginning of the sweep.
    static CONTENTS: Mutex<Option<Arc<Contents>>> = Mutex::new(None);
    *lock(&CONTENTS) = Some(Arc::clone(&world.contents));
    let clock = Clock::new(|| {
        if let Some(contents) = &*lock(&CONTENTS) {
            contents.claim(&sha256(b"x"));
            contents.settle(&sha256(b"x"), Fate::Named);
        }
        UNIX_EPOCH + 2 * MIN_AGE
    });
    assert_eq!(world.contents.sweep_unnamed(clock).unwrap(), 1);
    assert!(world.is_kept(b"x") && !world.is_kept(b"y"));
}
