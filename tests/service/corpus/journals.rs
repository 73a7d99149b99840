//! Journals of conversations.

use std::sync::Arc;

use harness_actors::journal::{
    Durability, Journal, JournalStore as _, JsonLinesStore, NewRecord, PageLimit, Record,
};
use harness_actors::{Clock, ConversationId};

use super::{chance, changed, changes, kept};

const ALL: PageLimit = PageLimit {
    records: usize::MAX,
    bytes: usize::MAX,
};

async fn records(journal: &Arc<dyn Journal>) -> Vec<Record> {
    let page = journal.read(0, ALL).await.unwrap();
    assert!(page.at_end);
    page.entries.into_iter().map(|entry| entry.record).collect()
}

/// Spec: [JRNL-08] [JRNL-11] [JRNL-16] [JRNL-113]
#[tokio::test]
async fn a_journal_of_any_bytes_is_read_as_far_as_it_can_be_or_refused_and_never_lost() {
    let kept = kept("journals");
    let mut random = chance();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("conversations");
    let store = JsonLinesStore::at(home.path(), Clock::system());
    let mut files: Vec<Vec<u8>> = kept.iter().map(|(_, file)| file.clone()).collect();
    files.extend((0..changes(300)).map(|_| changed(&mut random, &kept)));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut opened, count) = (0, files.len());
    for (number, bytes) in files.into_iter().enumerate() {
        let path = folder.join(format!("c{number}.jsonl"));
        std::fs::write(&path, &bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let id = ConversationId::new(&format!("c{number}"));
        let journal = store.open(&id).await;
        let Ok(journal) = journal else {
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{text}");
            continue;
        };
        opened += 1;
        let before = records(&journal).await;
        assert!(journal.check().await.is_ok(), "{text}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{text}");
        let said = Record::Renamed {
            title: "said behind it".into(),
            by: None,
        };
        let new = NewRecord {
            at: 1,
            record: said.clone(),
        };
        let end = journal.end().seq;
        let append = journal.append(end, vec![new], Durability::Written).await;
        append.unwrap_or_else(|error| panic!("{error}: {text}"));
        let after = records(&journal).await;
        assert_eq!(after.last(), Some(&said), "{text}");
        assert_eq!(after[..after.len() - 1], before, "{text}");
        drop(journal);
        let journal = store.open(&id).await.unwrap();
        assert_eq!(records(&journal).await, after, "{text}");
    }
    println!("{opened} of {count} could be opened");
}
