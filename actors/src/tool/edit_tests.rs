use std::fs;

use harness_protocol::{ChangeAction, FilePlace, Subject};

use super::super::testing::{Folder, object};
use super::super::{EffectError, SeenFiles, Write};
use super::*;
use crate::attachment::sha256;

/// The context of the tools of one conversation.
fn context(folder: &Folder) -> ToolContext {
    ToolContext::new(Cancellation::new()).in_folder(folder.path())
}

async fn edit(folder: &Folder, input: Value) -> Result<String, String> {
    let done = Edit.execute_in(object(input), context(folder)).await;
    done.map_err(|ToolError(error)| error)
}

fn texts(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

/// Spec: [TOOL-54] [TOOL-55] [TOOL-443]
#[tokio::test]
async fn an_edit_changes_the_matched_bytes_and_no_others() {
    let folder = Folder::new();
    for (before, old, new, after) in [
        (&b"a\xe9\nb\nc"[..], "b", "B", &b"a\xe9\nB\nc"[..]),
        (
            b"\xef\xbb\xbfa\r\nb\r\n\xff",
            "a\nb",
            "x\ny\nz",
            b"\xef\xbb\xbfx\r\ny\r\nz\r\n\xff",
        ),
        (b"a\nb\r\nc\nd", "c", "x\ny", b"a\nb\r\nx\ny\nd"),
        (b"a\nb\r\nc\r\n", "b", "b\nx", b"a\nb\r\nx\r\nc\r\n"),
        (b"one  \ntwo", "one\ntwo", "1\n2", b"1\n2"),
        (b"a\rb\rc\r", "b", "b\nx", b"a\rb\rx\rc\r"),
        (b"a\rb\rc\r", "a\nb", "A\nB", b"A\rB\rc\r"),
        (b"one\rtwo\nb\n", "b", "b\nx", b"one\rtwo\nb\nx\n"),
        (b"no end", "end", "END", b"no END"),
        (b"", "", "new\n", b"new\n"),
    ] {
        folder.file("f", before);
        edit(&folder, texts("f", old, new)).await.unwrap();
        assert_eq!(fs::read(folder.at("f")).unwrap(), after, "{old:?}");
    }
    edit(&folder, texts("made/new", "", "x")).await.unwrap();
    assert_eq!(fs::read(folder.at("made/new")).unwrap(), b"x");
    folder.file("f", "a b a");
    let all = json!({"path": "f", "old_string": "a", "new_string": "c", "replace_all": true});
    let done = edit(&folder, all).await.unwrap();
    assert!(done.ends_with("replaced in 2 places"), "{done}");
    assert_eq!(fs::read(folder.at("f")).unwrap(), b"c b c");
}

/// Spec: [TOOL-621]
#[tokio::test]
async fn a_file_that_is_not_utf_8_gets_no_second_encoding() {
    let folder = Folder::new();
    let before = b"one\ncaf\xe9 two\n\xc3\xa4 three\n";
    folder.file("f", before);
    for (old, new) in [
        ("two", "zw\u{f6}lf"),
        ("two", "\u{fffd}"),
        ("\u{e4}", "\u{e4}\u{f6}"),
    ] {
        let refused = edit(&folder, texts("f", old, new)).await.unwrap_err();
        let start = format!(
            "{} is not UTF-8 (byte 0xe9 in line 2)",
            folder.at("f").display()
        );
        assert!(refused.starts_with(&start), "{refused}");
        assert!(
            refused.contains("use ASCII only, or convert the file first"),
            "{refused}"
        );
        assert!(!refused.contains('\n'), "{refused}");
        assert_eq!(fs::read(folder.at("f")).unwrap(), before);
    }
    // ASCII, and what the replaced text has already, is put there; other bytes stay.
    edit(&folder, texts("f", "two", "2")).await.unwrap();
    edit(&folder, texts("f", "\u{e4} three", "3 \u{e4}"))
        .await
        .unwrap();
    let after = fs::read(folder.at("f")).unwrap();
    assert_eq!(after, b"one\ncaf\xe9 2\n3 \xc3\xa4\n");
    let seen = context(&folder);
    seen.seen.note(&folder.at("f"), sha256(&after));
    let write = async |content: &str| {
        let input = object(json!({"path": "f", "content": content}));
        Write.execute_in(input, seen.clone()).await
    };
    let ToolError(refused) = write("caf\u{e9}\n").await.unwrap_err();
    assert!(refused.contains("is not UTF-8"), "{refused}");
    write("cafe\n").await.unwrap();
    write("caf\u{e9}\n").await.unwrap();
    assert_eq!(fs::read(folder.at("f")).unwrap(), "caf\u{e9}\n".as_bytes());
}

/// Spec: [TOOL-56] [TOOL-59]
#[tokio::test]
async fn what_cannot_be_edited_stays_as_it_is_and_is_told_why() {
    let folder = Folder::new();
    let before = "a\nb\na\nit\u{2019}s it\u{2019}s\n";
    folder.file("f", before);
    for (old, new, reason) in [
        ("x", "y", "no match found for old_string"),
        (
            "a",
            "c",
            "found 2 matches, in lines 1, 3; give more context, or set replace_all",
        ),
        ("a", "a", "the same"),
        ("", "c", "old_string is empty"),
        ("it's", "its", "no match found"),
        ("b\nA", "c", "line 2: line 3 is \"a\", not \"A\""),
    ] {
        let refused = edit(&folder, texts("f", old, new)).await.unwrap_err();
        assert!(refused.contains(reason), "{old:?}: {refused}");
        assert_eq!(fs::read(folder.at("f")).unwrap(), before.as_bytes());
    }
    folder.file("loose", "it\u{2019}s");
    let all =
        json!({"path": "loose", "old_string": "it's", "new_string": "its", "replace_all": true});
    assert!(edit(&folder, all).await.unwrap_err().contains("no match"));
    folder.file("many", "a".repeat(1024 * 1024));
    let all = json!({"path": "many", "old_string": "a", "new_string": "b".repeat(1024 * 1024), "replace_all": true});
    let refused = edit(&folder, all).await.unwrap_err();
    assert!(refused.contains("more than 8388608 bytes"), "{refused}");
    let none = edit(&folder, texts("none", "a", "b")).await.unwrap_err();
    assert_eq!(none, "file not found; an empty old_string makes it");
}

/// Spec: [TOOL-61]
#[tokio::test]
async fn a_plan_changes_nothing_and_holds_only_for_the_file_that_it_was_made_of() {
    let folder = Folder::new();
    folder.file("f", "one\ntwo\n");
    let input = object(texts("f", "two", "2"));
    let planned = Edit
        .plan(input.clone(), context(&folder))
        .await
        .unwrap()
        .unwrap();
    let change = planned.subject.change().unwrap().clone();
    assert_eq!(
        (change.added, change.removed, change.place),
        (1, 1, FilePlace::Workspace)
    );
    assert_eq!(change.action, ChangeAction::Changed);
    assert!(change.diff.contains("-two\n+2\n"), "{}", change.diff);
    assert_eq!(fs::read(folder.at("f")).unwrap(), b"one\ntwo\n");
    folder.file("f", "three\ntwo\n");
    assert_eq!(planned.carry_out().await, Err(EffectError::Changed));
    assert_eq!(fs::read(folder.at("f")).unwrap(), b"three\ntwo\n");
    let planned = Edit.plan(input, context(&folder)).await.unwrap().unwrap();
    assert_ne!(
        super::super::digest(&planned.subject),
        super::super::digest(&Subject::Change(change))
    );
    planned.carry_out().await.unwrap();
    assert_eq!(fs::read(folder.at("f")).unwrap(), b"three\n2\n");
}

/// Spec: [TOOL-613]
#[tokio::test]
async fn a_change_of_a_file_that_a_formatter_changed_says_so() {
    let folder = Folder::new();
    let own = ToolContext {
        seen: SeenFiles::default(),
        ..context(&folder)
    };
    let edit = async |old: &str| {
        let input = object(json!({"path": "f", "old_string": old, "new_string": "c"}));
        let done = Edit.execute_in(input, own.clone()).await;
        done.map_err(|ToolError(error)| error)
    };
    let write = async || {
        let input = object(json!({"path": "f", "content": "whole"}));
        let done = Write.execute_in(input, own.clone()).await;
        done.map_err(|ToolError(error)| error)
    };
    folder.file("f", "let a  =  1\nlet b = 2\n");
    let unread = write().await.unwrap_err();
    assert!(unread.contains("you have not read all of it"), "{unread}");
    // What was never read is not known to have changed.
    let missed = edit("nothing like it").await.unwrap_err();
    assert!(!missed.contains("changed it"), "{missed}");
    let input = object(json!({"path": "f"}));
    super::super::Read
        .execute_in(input, own.clone())
        .await
        .unwrap();
    folder.file("f", "let a = 1\nlet b = 2\n");
    let changed = "a command, or something outside, changed it";
    let missed = edit("let a  =  1x").await.unwrap_err();
    assert!(missed.contains("no match found"), "{missed}");
    let end = format!("{changed}; read it again");
    assert!(missed.ends_with(&end), "{missed}");
    let refused = write().await.unwrap_err();
    let way = format!("{changed}; read it to its end");
    assert!(refused.contains(&way), "{refused}");
    // A text that is still there is replaced, with a remark.
    let done = edit("let b = 2").await.unwrap();
    assert!(done.contains(changed), "{done}");
}

/// Spec: [TOOL-62]
#[tokio::test]
async fn what_is_written_over_was_seen_whole_as_it_is() {
    let folder = Folder::new();
    let own = ToolContext {
        seen: SeenFiles::default(),
        ..context(&folder)
    };
    let write = async |content: &str| {
        let input = object(json!({"path": "f", "content": content}));
        Write
            .execute_in(input, own.clone())
            .await
            .map_err(|ToolError(error)| error)
    };
    write("one").await.unwrap();
    write("two").await.unwrap();
    folder.file("f", "by somebody\nelse");
    assert!(
        write("three")
            .await
            .unwrap_err()
            .contains("not as you last saw it")
    );
    let read = |from: Option<u32>| {
        let input = object(json!({"path": "f", "start_line": from}));
        super::super::Read.execute_in(input, own.clone())
    };
    read(Some(2)).await.unwrap();
    assert!(write("three").await.is_err(), "a part was read");
    read(None).await.unwrap();
    write("three").await.unwrap();
    assert_eq!(fs::read(folder.at("f")).unwrap(), b"three");
    assert!(
        write("three")
            .await
            .unwrap_err()
            .contains("has that content already")
    );
}

/// Spec: [TOOL-444]
#[tokio::test]
async fn a_large_file_that_was_read_in_parts_may_be_written_over() {
    let folder = Folder::new();
    let own = ToolContext {
        seen: SeenFiles::default(),
        ..context(&folder)
    };
    let line = "some words that fill the line up\n";
    folder.file("big", line.repeat(8000));
    let write = async || {
        let input = object(json!({"path": "big", "content": "short\n"}));
        let done = Write.execute_in(input, own.clone()).await;
        done.map_err(|ToolError(error)| error)
    };
    let read = async |start: Option<u32>, end: Option<u32>| {
        let input = json!({"path": "big", "start_line": start, "end_line": end});
        let reading = super::super::Read.execute_in(object(input), own.clone());
        reading.await.unwrap()
    };
    assert!(read(None, None).await.contains("cut after line"));
    read(Some(5000), None).await;
    let refused = write().await.unwrap_err();
    assert!(refused.contains("in parts with start_line"), "{refused}");
    // The same lines of another content count for nothing.
    folder.file("big", line.repeat(8001));
    read(Some(3000), Some(5500)).await;
    assert!(write().await.is_err());
    folder.file("big", line.repeat(8000));
    read(Some(1), Some(3500)).await;
    read(Some(3501), Some(6000)).await;
    assert!(write().await.is_err());
    read(Some(5000), None).await;
    write().await.unwrap();
    assert_eq!(fs::read(folder.at("big")).unwrap(), b"short\n");
}

/// Spec: [TOOL-58]
#[tokio::test]
async fn edits_of_two_conversations_and_another_program_lose_nothing() {
    const ROUNDS: usize = 100;
    let folder = Folder::new();
    let start: String = (0..3 * ROUNDS)
        .map(|number| format!("<{number}>\n"))
        .collect();
    let file = folder.file("f", &start);
    let conversation = |who: usize| {
        let context = context(&folder);
        tokio::spawn(async move {
            let mut done = Vec::new();
            for round in 0..ROUNDS {
                let number = 3 * round + who;
                let input = texts("f", &format!("<{number}>"), &format!("[{number}]"));
                if Edit
                    .execute_in(object(input), context.clone())
                    .await
                    .is_ok()
                {
                    done.push(number);
                }
            }
            done
        })
    };
    let both = [conversation(0), conversation(1)];
    // An editor that puts a new file in the place of the old one, if that is as it was read.
    let mut by_editor = Vec::new();
    for number in (2..3 * ROUNDS).step_by(3) {
        let before = fs::read(&file).unwrap();
        let text = String::from_utf8(before).unwrap();
        let after = text.replace(&format!("<{number}>"), &format!("[{number}]"));
        let input = object(json!({"path": "f", "old_string": text, "new_string": after}));
        if Edit.execute_in(input, context(&folder)).await.is_ok() {
            by_editor.push(number);
        }
    }
    let mut done = by_editor;
    for conversation in both {
        done.extend(conversation.await.unwrap());
    }
    let end = fs::read_to_string(&file).unwrap();
    assert_eq!(end.lines().count(), 3 * ROUNDS);
    for number in 0..3 * ROUNDS {
        let is_changed = end.contains(&format!("[{number}]"));
        assert_eq!(is_changed, done.contains(&number), "{number}");
    }
    assert!(done.len() > ROUNDS, "{}", done.len());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}
