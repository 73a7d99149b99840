use std::fs;

use tempfile::TempDir;

use super::*;

fn home(files: &[(&str, &str)]) -> (TempDir, JournalTrash) {
    let home = TempDir::new().unwrap();
    for folder in ["conversations", "trash"] {
        fs::create_dir(home.path().join(folder)).unwrap();
    }
    for (file, content) in files {
        fs::write(home.path().join(file), content).unwrap();
    }
    let trash = JournalTrash::at(home.path(), Clock::system());
    (home, trash)
}

fn names(home: &TempDir, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(home.path().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Spec: [JRNL-795]
#[test]
fn what_is_in_the_trash_is_listed_the_last_deleted_first() {
    let (_home, trash) = home(&[
        ("trash/a-1-100.jsonl", "123"),
        ("trash/a-1-100.damaged", "45"),
        ("trash/b-200.jsonl", "6"),
        ("trash/notes.txt", "of somebody"),
        ("trash/no-time.jsonl", "x"),
    ]);
    let listed = trash.list().unwrap();
    let told: Vec<_> = listed
        .iter()
        .map(|it| (&*it.name, &*it.id, it.deleted_at, it.bytes))
        .collect();
    assert_eq!(told, [("b-200", "b", 200, 1), ("a-1-100", "a-1", 100, 5)]);
    let nothing = TempDir::new().unwrap();
    let nothing = JournalTrash::at(nothing.path(), Clock::system());
    assert_eq!(nothing.list().unwrap(), []);
}

/// Spec: [JRNL-795]
#[test]
fn a_conversation_is_moved_back_with_all_its_files_and_over_no_other() {
    let (home, trash) = home(&[
        ("trash/a-100.jsonl", "old"),
        ("trash/a-100.7-9.archive", "older"),
        ("trash/a-200.jsonl", "new"),
        ("trash/ab-100.jsonl", "another"),
    ]);
    assert_eq!(trash.restore("a-100"), Ok("a".to_owned()));
    assert_eq!(names(&home, "conversations"), ["a.7-9.archive", "a.jsonl"]);
    assert_eq!(names(&home, "trash"), ["a-200.jsonl", "ab-100.jsonl"]);
    let exists = RestoreError::Exists { id: "a".to_owned() };
    assert_eq!(trash.restore("a-200"), Err(exists));
    for name in ["a-100", "../conversations/a", "", "a"] {
        let not_found = RestoreError::NotFound {
            name: name.to_owned(),
        };
        assert_eq!(trash.restore(name), Err(not_found));
    }
    assert_eq!(names(&home, "trash"), ["a-200.jsonl", "ab-100.jsonl"]);
}

/// Spec: [JRNL-795]
#[test]
fn what_is_removed_is_gone_with_all_its_files_and_nothing_else_is() {
    let (home, trash) = home(&[
        ("trash/a-100.jsonl", "old"),
        ("trash/a-100.damaged", "x"),
        ("trash/a-1000.jsonl", "another"),
    ]);
    let listed = trash.list().unwrap();
    trash.remove(listed.last().unwrap()).unwrap();
    assert_eq!(names(&home, "trash"), ["a-1000.jsonl"]);
}
