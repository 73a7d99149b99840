use std::fs;

use bytes::Bytes;

use super::super::{FolderAttachments, JsonLinesStore};
use super::*;
use crate::attachment::AttachmentStore as _;
use crate::clock::Clock;
use crate::journal::testing::{header, id, prompts, say, wait};
use crate::journal::{Durability, Journal, JournalStore as _, OpenError};
use crate::storage::StorageError;
use crate::threads::PASSES;

/// The names below a folder.
fn below(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn is_away(error: &StorageError) -> bool {
    let said = error.to_string();
    assert!(said.ends_with(PASSES), "{said}");
    error.is_passing() && said.contains("the state folder is away")
}

/// Nothing is taken, told or made while the folder is away.
fn nothing_works(
    store: &JsonLinesStore,
    attachments: &FolderAttachments,
    journal: &Arc<dyn Journal>,
) {
    for durability in [Durability::Synced, Durability::Written] {
        let said = say(journal, "no", durability).unwrap_err();
        assert!(
            said.to_string().contains("the state folder is away"),
            "{said}"
        );
    }
    let storage = |error: OpenError| {
        let OpenError::Storage(error) = error else {
            panic!("{error:?}");
        };
        error
    };
    let created = wait(store.create(header("new"), Vec::new())).err().unwrap();
    assert!(is_away(&storage(created)));
    let opened = wait(store.open(&id("other"))).err().unwrap();
    assert!(is_away(&storage(opened)));
    let opened = wait(store.open_or_new(header("third"))).err().unwrap();
    assert!(is_away(&storage(opened)));
    let removed = wait(store.remove(&id("other"))).err().unwrap();
    assert!(is_away(&storage(removed)));
    assert!(is_away(&wait(store.list(None, 9)).unwrap_err()));
    let content = Bytes::from_static(b"content");
    assert!(is_away(&wait(attachments.put(content)).unwrap_err()));
}

/// Spec: [JRNL-111]
#[test]
fn a_state_folder_that_went_away_is_an_error_until_it_is_back() {
    type Change = fn(&Path);
    let nothing: Change = |_| {};
    let empty: Change = |home| fs::create_dir(home).unwrap();
    let file: Change = |home| fs::write(home, "x").unwrap();
    let other: Change = |home| {
        for folder in ["conversations", "attachments", "trash"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
    };
    for (name, put) in [
        ("", nothing),
        ("", empty),
        ("", file),
        ("", other),
        ("conversations", nothing),
        ("conversations", empty),
    ] {
        let top = tempfile::tempdir().unwrap();
        let (home, away) = (top.path().join("home"), top.path().join("away"));
        fs::create_dir(&home).unwrap();
        let store = JsonLinesStore::at(&home, Clock::system());
        let attachments = FolderAttachments::at(&home);
        let journal = wait(store.open_or_new(header("one"))).unwrap();
        say(&journal, "first", Durability::Synced).unwrap();
        drop(wait(store.create(header("other"), Vec::new())).unwrap());

        let gone = home.join(name);
        let gone = gone.components().as_path();
        fs::rename(gone, &away).unwrap();
        put(gone);
        let before = gone.is_dir().then(|| below(gone));
        if name.is_empty() {
            nothing_works(&store, &attachments, &journal);
        } else {
            let said = say(&journal, "no", Durability::Synced).unwrap_err();
            assert!(
                said.to_string().contains("the state folder is away"),
                "{said}"
            );
            assert!(wait(store.create(header("new"), Vec::new())).is_err());
        }
        assert_eq!(
            gone.is_dir().then(|| below(gone)),
            before,
            "nothing was made"
        );
        if gone.is_dir() {
            fs::remove_dir_all(gone).unwrap();
        } else if gone.exists() {
            fs::remove_file(gone).unwrap();
        }
        fs::rename(&away, gone).unwrap();

        say(&journal, "second", Durability::Synced).unwrap();
        assert_eq!(prompts(&journal), ["first", "second"]);
        drop(wait(store.create(header("new"), Vec::new())).unwrap());
        assert_eq!(wait(store.list(None, 9)).unwrap().len(), 3);
        wait(attachments.put(Bytes::from_static(b"content"))).unwrap();
    }
}

/// Spec: [JRNL-111]
#[test]
fn a_folder_that_is_made_again_is_another_one() {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    fs::create_dir(&home).unwrap();
    let disk = StateDisk::for_home(&home);
    disk.make_folder(&home.join("trash")).unwrap();
    for _ in 0..20 {
        fs::remove_dir_all(&home).unwrap();
        fs::create_dir(&home).unwrap();
        let error = disk.make_folder(&home.join("trash")).unwrap_err();
        assert!(error.get_ref().unwrap().is::<Away>());
    }
    assert_eq!(below(&home), [""; 0]);
}

/// Spec: [JRNL-111]
#[test]
fn a_folder_that_was_not_there_is_the_one_that_is_made() {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    let store = JsonLinesStore::at(&home, Clock::system());
    let journal = wait(store.open_or_new(header("one"))).unwrap();
    say(&journal, "first", Durability::Synced).unwrap();
    fs::remove_dir_all(&home).unwrap();
    say(&journal, "no", Durability::Synced).unwrap_err();
    assert!(!home.exists());
}
