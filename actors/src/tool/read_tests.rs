//! Files of all kinds: what is read of them, and what is refused.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::testing::{At, Folder, as_nobody, call, call_with, object, set_mode, signature};
use super::*;

fn reader(folder: &Folder) -> At<Read> {
    At(Read, folder.path().into())
}

fn content(text: impl Into<String>) -> Result<Value, String> {
    Ok(json!({"content": text.into()}))
}

fn no(reason: &str) -> Result<Value, String> {
    Err(reason.to_owned())
}

/// Reads one file with this content.
async fn read_text(
    text: impl AsRef<[u8]>,
    start_line: Option<i64>,
    end_line: Option<i64>,
) -> Result<Value, String> {
    let folder = Folder::new();
    folder.file("f", text);
    let mut input = json!({"path": "f"});
    for (name, line) in [("start_line", start_line), ("end_line", end_line)] {
        if let Some(line) = line {
            input[name] = line.into();
        }
    }
    call(&reader(&folder), input).await
}

/// Spec: [TOOL-03]
#[test]
fn it_takes_a_path_and_two_optional_lines() {
    let types = json!({"path": "string", "start_line": "integer", "end_line": "integer"});
    let expected = json!(["read", "object", types, ["path"]]);
    assert_eq!(signature(&reader(&Folder::new())), expected);
}

/// Spec: [TOOL-14] [TOOL-15]
#[tokio::test]
async fn a_range_goes_from_the_first_line_to_the_last_one_included() {
    for (start, end, expected) in [
        (None, None, "one\ntwo\nthree"),
        (Some(1), None, "one\ntwo\nthree"),
        (Some(2), None, "two\nthree"),
        (Some(3), None, "three"),
        (None, Some(1), "one"),
        (None, Some(2), "one\ntwo"),
        (Some(1), Some(1), "one"),
        (Some(2), Some(2), "two"),
        (Some(1), Some(3), "one\ntwo\nthree"),
        (Some(2), Some(4), "two\nthree"),
        (None, Some(i64::MAX), "one\ntwo\nthree"),
        (Some(3), Some(i64::MAX), "three"),
    ] {
        let result = read_text("one\ntwo\nthree", start, end).await;
        assert_eq!(result, content(expected), "{start:?} {end:?}");
    }
}

/// Spec: [TOOL-17]
#[tokio::test]
async fn lines_that_cannot_be_are_refused() {
    for (start, end, expected) in [
        (Some(0), None, "start_line must be at least 1"),
        (Some(-5), None, "start_line must be at least 1"),
        (Some(i64::MIN), Some(-1), "start_line must be at least 1"),
        (None, Some(0), "end_line must be at least 1"),
        (None, Some(-1), "end_line must be at least 1"),
        (Some(3), Some(2), "start_line 3 is greater than end_line 2"),
        (Some(1), Some(0), "start_line 1 is greater than end_line 0"),
        (
            Some(4),
            None,
            "start_line 4 exceeds the length of the file, 3 lines",
        ),
        (
            Some(9),
            Some(10),
            "start_line 9 exceeds the length of the file, 3 lines",
        ),
        (
            Some(i64::MAX),
            Some(i64::MAX),
            "start_line 9223372036854775807 exceeds the length of the file, 3 lines",
        ),
    ] {
        let result = read_text("one\ntwo\nthree", start, end).await;
        assert_eq!(result, no(expected), "{start:?} {end:?}");
    }
}

/// Spec: [TOOL-14] [TOOL-15] [TOOL-17]
#[tokio::test]
async fn an_empty_file_has_no_lines() {
    assert_eq!(read_text("", None, None).await, content(""));
    assert_eq!(read_text("", None, Some(5)).await, content(""));
    let beyond = "start_line 1 exceeds the length of the file, 0 lines";
    assert_eq!(read_text("", Some(1), None).await, no(beyond));
    assert_eq!(read_text("", Some(1), Some(1)).await, no(beyond));
}

/// Spec: [TOOL-14] [TOOL-16]
#[tokio::test]
async fn a_whole_file_is_as_it_is_and_lines_are_joined_by_newlines() {
    let long = "x".repeat(PIECE - 1);
    for (text, lines) in [
        ("a", "a"),
        ("a\n", "a"),
        ("\n", ""),
        ("a\nb", "a\nb"),
        ("a\n\n\n", "a\n\n"),
        ("\n\na", "\n\na"),
        ("a\r\nb\r\n", "a\nb"),
        ("a\r\nb", "a\nb"),
        ("\r\n\r\n", "\n"),
        ("a\rb\r\r\nc\r", "a\rb\r\nc\r"),
        // The two bytes come in two pieces.
        (&format!("{long}\r\ny"), &format!("{long}\ny")),
        (&format!("{long}\rz\ny"), &format!("{long}\rz\ny")),
        (&format!("{long}\r"), &format!("{long}\r")),
        (&format!("{long}é\n"), &format!("{long}é")),
    ] {
        let shown = &text[text.len().saturating_sub(9)..];
        let whole = read_text(text, None, None).await;
        assert!(whole == content(text), "{shown:?}");
        let range = read_text(text, Some(1), None).await;
        assert!(range == content(lines), "{shown:?}");
        let count = lines.split('\n').count();
        let beyond = format!(
            "start_line {} exceeds the length of the file, {count} lines",
            count + 1
        );
        let last = i64::try_from(count + 1).unwrap();
        let range = read_text(text, Some(last), None).await;
        assert_eq!(range, no(&beyond), "{shown:?}");
    }
}

/// Spec: [TOOL-14]
#[tokio::test]
async fn invalid_utf_8_is_replaced_and_nothing_else_is() {
    for (bytes, expected) in [
        (&b"a\xffb"[..], "a\u{fffd}b"),
        (b"a\xc3", "a\u{fffd}"),
        (b"\xf0\x9f\x98x", "\u{fffd}x"),
        (b"\xef\xbb\xbfa", "\u{feff}a"),
        (
            "é😀e\u{301}\u{202e}\u{1b}[2J".as_bytes(),
            "é😀e\u{301}\u{202e}\u{1b}[2J",
        ),
    ] {
        assert_eq!(read_text(bytes, None, None).await, content(expected));
        assert_eq!(read_text(bytes, Some(1), None).await, content(expected));
    }
}

/// Spec: [TOOL-440]
#[tokio::test]
async fn a_file_that_is_no_text_is_named_and_not_shown() {
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 90_000]].concat();
    for (bytes, parts) in [
        (png, ["image/png, 90008 bytes", "ask the user to attach it"]),
        (b"a\nb\0c".to_vec(), ["binary data, 5 bytes", "xxd"]),
        (b"\xff\xfea\0".to_vec(), ["text in UTF-16, 4 bytes", "bash"]),
    ] {
        for start in [None, Some(1), Some(7)] {
            let result = read_text(&bytes, start, None).await.unwrap();
            assert_eq!(result.as_object().unwrap().len(), 1, "{result}");
            let note = result["note"].as_str().unwrap();
            assert!(parts.iter().all(|part| note.contains(part)), "{note}");
        }
    }
    // Text is judged by its start, and a byte of another encoding makes no binary file of it.
    let late = format!("{}\0", "x".repeat(8 * 1024));
    assert!(read_text(&late, None, None).await == content(&late));
    let latin = read_text(b"caf\xe9\n", None, None).await;
    assert_eq!(latin, content("caf\u{fffd}\n"));
}

/// Reads a file as a model does: from its start, and on from where each note says.
async fn read_on(text: &str, start_line: Option<i64>) -> Vec<String> {
    let mut parts = Vec::new();
    let mut next = start_line;
    loop {
        let result = read_text(text, next, None).await.unwrap();
        parts.push(result["content"].as_str().unwrap().to_owned());
        let Some(note) = result["note"].as_str() else {
            return parts;
        };
        assert!(note.starts_with("cut after line "), "{note}");
        let (_, line) = note.rsplit_once("read on with start_line ").unwrap();
        next = Some(line.parse().unwrap());
    }
}

/// Spec: [TOOL-06] [TOOL-10] [TOOL-19]
#[tokio::test]
async fn what_is_over_the_cap_can_be_read_on() {
    // The first lines end just before, at and just behind the cap; different things follow.
    for size in MAX_TEXT_BYTES - 2..=MAX_TEXT_BYTES + 1 {
        for rest in ["", "\n", "\n\n", "\nz", "\n\nz\n", "\nzz\n\n\n"] {
            let line = "x".repeat(size / 2);
            let text = format!("{line}\n{}{rest}", "y".repeat(size - line.len() - 1));
            let lines = text.strip_suffix('\n').unwrap_or(&text);
            let fits = lines.len() <= MAX_TEXT_BYTES;
            for start in [None, Some(1)] {
                let parts = read_on(&text, start).await;
                let expected = if fits && start.is_none() {
                    &text
                } else {
                    lines
                };
                assert!(parts.join("\n") == expected, "{size} {rest:?} {start:?}");
                assert_eq!(parts.len() == 1, fits, "{size} {rest:?} {start:?}");
                assert!(
                    parts[0].len() <= MAX_TEXT_BYTES + usize::from(fits),
                    "{size} {rest:?} {start:?}"
                );
            }
        }
    }
}

/// Spec: [TOOL-06] [TOOL-10] [TOOL-19]
#[tokio::test]
async fn a_long_file_is_read_on_in_several_parts() {
    let lines: Vec<String> = (0..5_000)
        .map(|n| format!("{n} é😀 {:1$}|", "", n % 97))
        .collect();
    let text = lines.join("\n");
    let parts = read_on(&text, None).await;
    assert!(parts.len() > 2 && parts.join("\n") == text);
    let parts = read_on(&lines.join("\r\n"), None).await;
    assert!(parts.len() > 2 && parts.join("\n").lines().eq(&lines));
}

/// Spec: [TOOL-10]
#[tokio::test]
async fn the_note_tells_the_last_line_and_the_next_one() {
    let text = format!(
        "a\n{}\n{}",
        "b".repeat(MAX_TEXT_BYTES / 2),
        "c".repeat(MAX_TEXT_BYTES)
    );
    let note = "cut after line 2, at the limit of 131072 bytes; read on with start_line 3";
    for start in [None, Some(1), Some(2)] {
        let result = read_text(&text, start, None).await.unwrap();
        assert_eq!(result["note"], note, "{start:?}");
    }
}

/// Spec: [TOOL-06] [TOOL-10] [TOOL-19]
#[tokio::test]
async fn a_line_over_the_cap_is_cut_at_a_character() {
    let note = "cut inside line 1, which alone is over the limit of 131072 bytes; \
                the rest of it cannot be read, read on with start_line 2";
    for (bytes_before, kept) in [
        (MAX_TEXT_BYTES, MAX_TEXT_BYTES),
        (MAX_TEXT_BYTES - 1, MAX_TEXT_BYTES - 1),
        (MAX_TEXT_BYTES - 3, MAX_TEXT_BYTES - 3),
        (MAX_TEXT_BYTES - 4, MAX_TEXT_BYTES),
    ] {
        let text = format!("{}😀!\nthe rest", "x".repeat(bytes_before));
        for start in [None, Some(1)] {
            let result = read_text(&text, start, None).await;
            let expected = json!({"content": text[..kept], "note": note});
            assert!(result == Ok(expected), "{bytes_before} {start:?}");
        }
        assert_eq!(read_text(&text, Some(2), None).await, content("the rest"));
    }
    let exact = "x".repeat(MAX_TEXT_BYTES);
    assert!(read_text(&exact, None, None).await == content(&exact));
    assert!(read_text(&exact, Some(1), Some(1)).await == content(&exact));
}

/// Spec: [TOOL-18]
#[tokio::test]
async fn what_is_no_regular_file_is_refused() {
    let folder = Folder::new();
    folder.file("sub/file", "text");
    folder.fifo("fifo");
    let _listener = UnixListener::bind(folder.at("socket")).unwrap();
    symlink("fifo", folder.at("to_fifo")).unwrap();
    symlink("nothing", folder.at("dangling")).unwrap();
    symlink("loop", folder.at("loop")).unwrap();
    for (path, expected) in [
        ("missing", "file not found"),
        ("missing/file", "file not found"),
        ("dangling", "file not found"),
        ("sub", "path is a directory"),
        ("sub/", "path is a directory"),
        (".", "path is a directory"),
        ("fifo", "not a regular file"),
        ("to_fifo", "not a regular file"),
        ("socket", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("sub/file/x", "Not a directory (os error 20)"),
        ("sub/file/", "Not a directory (os error 20)"),
    ] {
        for input in [
            json!({"path": path}),
            json!({"path": path, "start_line": 0}),
        ] {
            assert_eq!(call(&reader(&folder), input).await, no(expected), "{path}");
        }
    }
    for path in ["loop", &"x".repeat(256), &"x/".repeat(3000)] {
        let result = call(&reader(&folder), json!({"path": path})).await;
        assert!(result.is_err(), "{path}");
    }
}

/// Spec: [TOOL-07] [TOOL-08]
#[tokio::test]
async fn a_path_starts_at_the_workspace_and_is_taken_literally() {
    let folder = Folder::new();
    let outside = folder.file("outside", "out");
    for name in ["-", "--", "-n", "~", "*", "$HOME", "a b", "a\nb", "é", "!"] {
        folder.file(&format!("work/{name}"), name);
    }
    symlink("../outside", folder.at("work/link")).unwrap();
    let read = At(Read, folder.at("work"));
    for name in ["-", "--", "-n", "~", "*", "$HOME", "a b", "a\nb", "é", "!"] {
        assert_eq!(call(&read, json!({"path": name})).await, content(name));
    }
    for path in [
        "../outside",
        "./../work/link",
        "link",
        outside.to_str().unwrap(),
    ] {
        let result = call(&read, json!({"path": path})).await;
        assert_eq!(result, content("out"), "{path}");
    }
}

/// Spec: [TOOL-10] [TOOL-20]
#[tokio::test]
async fn of_a_huge_file_only_the_start_is_read() {
    let folder = Folder::new();
    folder.huge("huge", 1 << 40);
    for input in [
        json!({"path": "huge"}),
        json!({"path": "huge", "start_line": 1, "end_line": 9}),
    ] {
        let result = call(&reader(&folder), input).await.unwrap();
        assert_eq!(result["content"].as_str().unwrap().len(), MAX_TEXT_BYTES);
        assert!(result["note"].is_string());
    }
}

/// Spec: [TOOL-10] [TOOL-20]
#[tokio::test]
async fn a_file_that_changes_while_it_is_read_gives_what_was_in_it() {
    let folder = Folder::new();
    let (path, other) = (folder.at("f"), folder.at("other"));
    std::fs::write(&path, "x\n").unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    // It is emptied and grows again, and then another one takes its place.
    let writer = std::thread::spawn(move || {
        while !is_done.load(Ordering::Relaxed) {
            std::fs::write(&path, "x\n".repeat(60_000)).unwrap();
            std::fs::write(&other, "x\n").unwrap();
            std::fs::rename(&other, &path).unwrap();
        }
    });
    for _ in 0..300 {
        let result = call(&reader(&folder), json!({"path": "f"})).await.unwrap();
        let content = result["content"].as_str().unwrap();
        assert!(content.len() <= MAX_TEXT_BYTES);
        assert_eq!(content.trim_matches(['x', '\n']), "");
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
}

/// Spec: [TOOL-44]
#[tokio::test]
async fn a_cancelled_read_stops() {
    let folder = Folder::new();
    folder.huge("huge", 1 << 40);
    let read = reader(&folder);
    let input = json!({"path": "huge", "start_line": 2});

    let cancellation = Cancellation::new();
    let work = call_with(&read, input.clone(), cancellation.clone());
    // The read has begun before this is polled.
    let (result, ()) = tokio::join!(biased; work, async { cancellation.cancel() });
    assert_eq!(result, no("cancelled"));

    let result = call_with(&read, input, cancellation).await;
    assert_eq!(result, no("cancelled"));
}

/// Spec: [TOOL-13]
#[test]
fn what_may_not_be_read_is_permission_denied() {
    let folder = Folder::new();
    let file = folder.file("file", "secret");
    let inside = folder.file("sub/file", "secret");
    set_mode(&file, 0o000);
    set_mode(&folder.at("sub"), 0o000);
    for path in [&file, &inside] {
        let result =
            as_nobody(|| super::read(path, None, None, &ToolContext::new(Cancellation::new())));
        assert_eq!(result, Err("permission denied".into()), "{path:?}");
    }
    set_mode(&folder.at("sub"), 0o755);
}

/// Spec: [SEC-22]
#[tokio::test]
async fn a_cut_leaves_nothing_of_a_secret() {
    let folder = Folder::new();
    let context = ToolContext::new(Cancellation::new());
    let secret = "sk-ant-\"0123456789";
    context.redaction.add(secret.into());
    let tool = At(Read, folder.path().into());
    let shown = async |input: Value| {
        let result = tool
            .execute_in(object(input), context.clone())
            .await
            .unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        result["content"].as_str().unwrap().to_owned()
    };
    for before in MAX_TEXT_BYTES - secret.len() - 2..MAX_TEXT_BYTES + 2 {
        let start = "x".repeat(before);
        folder.file("f", format!("{start}{secret}\n"));
        for input in [json!({"path": "f"}), json!({"path": "f", "start_line": 1})] {
            let text = shown(input).await;
            assert!(!text.contains('s') && text.starts_with(&start[..MAX_TEXT_BYTES - 40]));
        }
    }
    // Lines keep their numbers, and ranges begin where they are told to.
    context
        .redaction
        .add("first-of-two\nsecond-of-two-0123".into());
    folder.file("f", "a\nfirst-of-two\nsecond-of-two-0123\nb\n");
    assert_eq!(shown(json!({"path": "f"})).await, "a\n***\n***\nb\n");
    assert_eq!(shown(json!({"path": "f", "start_line": 3})).await, "***\nb");
}

/// Spec: [SEC-25]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_memory_and_the_environment_of_processes_are_not_read() {
    use std::os::fd::AsRawFd as _;

    let folder = Folder::new();
    let us = std::process::id();
    let opened = File::open("/proc/self/environ").unwrap();
    symlink("/proc/self/environ", folder.at("link")).unwrap();
    symlink("link", folder.at("further")).unwrap();
    let tool = At(Read, folder.path().into());
    let refused = "permission denied: the memory and the environment of processes are not read";
    for path in [
        "/proc/self/environ".to_owned(),
        format!("/proc/{us}/environ"),
        format!("/proc/{us}/task/{us}/environ"),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/./self/../{us}//environ"),
        format!("/proc/self/root/proc/{us}/environ"),
        format!("/dev/fd/{}", opened.as_raw_fd()),
        format!("/proc/self/fd/{}", opened.as_raw_fd()),
        "/proc/self/mem".to_owned(),
        "/proc/self/auxv".to_owned(),
        "link".to_owned(),
        "further".to_owned(),
    ] {
        for input in [json!({"path": path}), json!({"path": path, "end_line": 1})] {
            assert_eq!(call(&tool, input).await, Err(refused.to_owned()), "{path}");
        }
    }
    for path in ["/proc/self/status", "/proc/meminfo", "/proc/self/cmdline"] {
        assert!(call(&tool, json!({"path": path})).await.is_ok(), "{path}");
    }
    // The name alone says nothing.
    folder.file("environ", "plain");
    let read = call(&tool, json!({"path": "environ"})).await;
    assert_eq!(read, Ok(json!({"content": "plain"})));
}
