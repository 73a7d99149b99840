use super::super::super::testing::*;
use super::super::super::{Durability, JournalStore as _};
use super::super::JsonLinesStore;
use super::*;

fn journal_of(home: &Path, name: &str, count: usize) -> PathBuf {
    let store = JsonLinesStore::at(home, Clock::system());
    let journal = wait(store.open_or_new(header(name))).unwrap();
    for number in 0..count {
        say(&journal, &number.to_string(), Durability::Written).unwrap();
    }
    home.join(format!("conversations/{name}.jsonl"))
}

/// Spec: [JRNL-27]
#[test]
fn every_journal_is_looked_at_and_none_is_changed() {
    let home = tempfile::tempdir().unwrap();
    let doctor = Doctor::at(home.path(), Clock::system());
    assert_eq!(doctor.inspect().unwrap(), []);
    let good = journal_of(home.path(), "good", 3);
    let content = std::fs::read(&good).unwrap();
    let text = String::from_utf8(content.clone()).unwrap();
    let with = |name: &str, content: &str| {
        let path = home.path().join(format!("conversations/{name}.jsonl"));
        std::fs::write(path, content).unwrap();
    };
    with("bad", &text.replacen("\"epoch\"", "\"epooh\"", 1));
    with(
        "damaged",
        &text.replace("\"content\":\"1\"", "\"content\":\"7\""),
    );
    with("newer", "{\"format\":\"harness-journal\",\"version\":9}\n");
    with("open", text.trim_end());
    with("torn", &format!("{text}{{\"seq\":"));
    let reports = doctor.inspect().unwrap();
    let line = |report: &JournalReport| {
        format!(
            "{} {} {} {} {} {}",
            report.id,
            report.records,
            report.damaged_parts,
            report.torn_bytes,
            report.is_open,
            report.error.is_some()
        )
    };
    let lines: Vec<String> = reports.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "bad 0 0 0 false true",
            "damaged 2 1 0 false false",
            "good 3 0 0 false false",
            "newer 0 0 0 false true",
            "open 3 0 0 true false",
            "torn 3 0 7 false false",
        ]
    );
    assert_eq!(std::fs::read(&good).unwrap(), content);
    assert_eq!(
        std::fs::read_dir(good.parent().unwrap()).unwrap().count(),
        6
    );
}

/// Spec: [JRNL-27]
#[test]
fn a_repaired_journal_has_what_could_be_read_and_the_old_one_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let doctor = Doctor::at(home.path(), Clock::system());
    let path = journal_of(home.path(), "a", 4);
    let text = std::fs::read_to_string(&path).unwrap();
    let newer = "{\"format\":\"harness-journal\",\"version\":9}\n";
    for (content, expected, lost_header) in [
        (
            text.replace("\"content\":\"1\"", "\"content\":\"7\""),
            &["0", "2", "3"][..],
            false,
        ),
        (
            text.replacen("harness-journal", "harness-journey", 1),
            &["0", "1", "2", "3"],
            true,
        ),
        (
            text.replacen("\"epoch\"", "garbage\n", 1),
            &["0", "1", "2", "3"],
            true,
        ),
        (String::new(), &[], true),
    ] {
        std::fs::write(&path, &content).unwrap();
        let repaired = doctor.repair(&id("a")).unwrap();
        assert_eq!(repaired.records, expected.len() as u64);
        assert_eq!(repaired.lost_header, lost_header);
        assert_eq!(std::fs::read_to_string(&repaired.archive).unwrap(), content);
        let store = JsonLinesStore::at(home.path(), Clock::system());
        let journal = wait(store.open(&id("a"))).unwrap();
        assert_eq!(prompts(&journal), expected);
        assert!(wait(journal.check()).unwrap().is_none());
        say(&journal, "next", Durability::Synced).unwrap();
        let taken = doctor.repair(&id("a")).unwrap_err().to_string();
        assert!(taken.contains("another process writes it"), "{taken}");
        drop((journal, store));
    }
    std::fs::write(&path, newer).unwrap();
    let refused = doctor.repair(&id("a")).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { version: 9, .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    let missing = doctor.repair(&id("none")).unwrap_err();
    assert!(matches!(missing, OpenError::NotFound { .. }));
}

/// Spec: [JRNL-110]
#[test]
fn an_older_copy_behind_a_journal_is_told_and_repaired_and_nothing_is_added_before() {
    let home = tempfile::tempdir().unwrap();
    let store = JsonLinesStore::at(home.path(), Clock::system());
    let journal = wait(store.open_or_new(header("a"))).unwrap();
    let long = "x".repeat(1000);
    let path = home.path().join("conversations/a.jsonl");
    let mut copy = Vec::new();
    for number in 1..=160_u64 {
        say(&journal, &format!("{number} {long}"), Durability::Written).unwrap();
        if number == 120 {
            copy = std::fs::read(&path).unwrap();
        }
    }
    drop((journal, store));
    // More than what is looked at to find the end.
    assert!(copy.len() > 100_000);
    let mut content = std::fs::read(&path).unwrap();
    content.extend(&copy);
    std::fs::write(&path, &content).unwrap();

    let store = JsonLinesStore::at(home.path(), Clock::system());
    let journal = wait(store.open(&crate::ids::ConversationId::new("a"))).unwrap();
    for _ in 0..2 {
        let refused = say(&journal, "lost", Durability::Synced).unwrap_err();
        let told = refused.to_string();
        assert!(
            told.contains("record 160 stands before record 120"),
            "{told}"
        );
        assert!(told.contains("harness doctor --repair"), "{told}");
    }
    drop((journal, store));
    assert_eq!(std::fs::read(&path).unwrap(), content);

    let doctor = Doctor::at(home.path(), Clock::system());
    let report = doctor.inspect().unwrap().remove(0);
    assert_eq!((report.records, report.misplaced), (160, Some(160)));
    // The header of the copy, and its records.
    assert_eq!(report.damaged_parts, 121);
    let name = crate::ids::ConversationId::new("a");
    assert_eq!(doctor.repair(&name).unwrap().records, 160);
    let report = doctor.inspect().unwrap().remove(0);
    assert_eq!((report.damaged_parts, report.misplaced), (0, None));
    let store = JsonLinesStore::at(home.path(), Clock::system());
    let journal = wait(store.open(&name)).unwrap();
    say(&journal, "found", Durability::Synced).unwrap();
    assert_eq!(journal.end().seq, 161);
}
