use std::path::PathBuf;
use std::sync::Arc;

use super::json_lines::simulated::SimulatedDisk;
use super::{JsonLinesStore, MemoryStore, contract};
use crate::clock::Clock;

/// Spec: [JRNL-96]
#[test]
fn the_store_in_memory_keeps_the_contract() {
    contract::hold(|| (MemoryStore::default(), ()));
}

/// Spec: [JRNL-96]
#[test]
fn the_store_in_files_keeps_the_contract() {
    contract::hold(|| {
        let home = tempfile::tempdir().unwrap();
        (JsonLinesStore::at(home.path(), Clock::system()), home)
    });
}

/// Spec: [JRNL-96]
#[test]
fn the_store_in_files_keeps_the_contract_on_a_simulated_disk() {
    contract::hold(|| {
        let (folder, trash) = (PathBuf::from("/c"), PathBuf::from("/t"));
        let disk = Arc::new(SimulatedDisk::default());
        let store = JsonLinesStore::new(folder, trash, disk, Clock::system());
        (store, ())
    });
}
