use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use nix::libc::ENOSPC;

use super::super::FolderAttachments;
use super::super::simulated::SimulatedDisk;
use crate::attachment::{AttachmentStore as _, Fate, sha256};
use crate::journal::testing::wait;

const X: &[u8] = b"content";

struct World {
    disk: SimulatedDisk,
    store: FolderAttachments,
}

impl World {
    fn new() -> Self {
        let disk = SimulatedDisk::default();
        let store = FolderAttachments::on(Path::new("/h"), Arc::new(disk.clone()));
        Self { disk, store }
    }

    fn hold(&self) -> String {
        wait(self.store.hold(Bytes::from_static(X))).unwrap()
    }

    fn put(&self) {
        wait(self.store.put(Bytes::from_static(X))).unwrap();
    }

    fn is_kept(&self) -> bool {
        wait(self.store.get(&sha256(X))).is_ok()
    }
}

/// Spec: [ATT-30]
#[test]
fn what_came_with_a_refused_order_and_nothing_else_is_removed() {
    let world = World::new();
    for _ in 0..3 {
        let held = world.hold();
        assert!(world.is_kept());
        world.store.settle(&held, Fate::Refused);
        assert!(!world.is_kept());
    }
    world.store.settle(&world.hold(), Fate::Named);
    assert!(world.is_kept());
    // It was there before.
    world.store.settle(&world.hold(), Fate::Refused);
    assert!(world.is_kept());
    // What nobody holds cannot be settled.
    world.store.settle(&sha256(X), Fate::Refused);
    assert!(world.is_kept());
}

/// Spec: [ATT-31]
#[test]
fn of_orders_with_the_same_file_one_that_was_taken_is_enough() {
    for fates in [
        [Fate::Named, Fate::Refused, Fate::Refused],
        [Fate::Refused, Fate::Named, Fate::Refused],
        [Fate::Refused, Fate::Refused, Fate::Named],
    ] {
        let world = World::new();
        let held = world.hold();
        world.hold();
        world.hold();
        for fate in fates {
            assert!(world.is_kept());
            world.store.settle(&held, fate);
        }
        assert!(world.is_kept(), "{fates:?}");
    }
    let world = World::new();
    let held = world.hold();
    world.put();
    world.store.settle(&held, Fate::Refused);
    assert!(world.is_kept());
}

/// Spec: [ATT-31]
#[test]
fn many_at_once_never_lose_a_file_that_one_of_them_names() {
    for seed in 0..20 {
        let world = Arc::new(World::new());
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let world = Arc::clone(&world);
                std::thread::spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed * 8 + number);
                    let mut is_named = false;
                    for _ in 0..20 {
                        let held = world.hold();
                        assert!(world.is_kept());
                        let takes = random.u8(..40) == 0;
                        is_named |= takes;
                        let fate = if takes { Fate::Named } else { Fate::Refused };
                        world.store.settle(&held, fate);
                        assert!(!is_named || world.is_kept());
                    }
                    is_named
                })
            })
            .collect();
        let is_named: Vec<bool> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        assert_eq!(world.is_kept(), is_named.contains(&true), "seed {seed}");
    }
}

/// Spec: [ATT-30]
#[test]
fn what_cannot_be_held_is_not_kept() {
    let world = World::new();
    world.disk.fail_all(Some((&["sync folder"], ENOSPC)));
    wait(world.store.hold(Bytes::from_static(X))).unwrap_err();
    assert!(!world.is_kept());
    world.disk.fail_all(None);
    let held = world.hold();
    world.store.settle(&held, Fate::Named);
    assert!(world.is_kept());
}
