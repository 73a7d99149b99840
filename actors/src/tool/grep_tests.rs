//! Real files, searched by the real `grep`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use super::super::testing::{
    At, Folder, as_nobody, call, call_with, parsed, run_as_nobody, set_mode, signature,
};
use super::*;

fn searcher(folder: &Folder) -> At<Grep> {
    At(Grep, folder.path().into())
}

async fn search(folder: &Folder, pattern: &str, path: &str) -> Result<Value, String> {
    let input = json!({"pattern": pattern, "path": path});
    call(&searcher(folder), input).await
}

/// The matches in all files of a path, in order of their names.
async fn search_all(folder: &Folder, pattern: &str, path: &str) -> Vec<String> {
    let input = json!({"pattern": pattern, "path": path, "recursive": true});
    let result = call(&searcher(folder), input).await.unwrap();
    assert_eq!(result.as_object().unwrap().len(), 1, "{result}");
    let text = result["matches"].as_str().unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn matches(text: &str) -> Result<Value, String> {
    Ok(json!({ "matches": text }))
}

fn no(reason: &str) -> Result<Value, String> {
    Err(reason.to_owned())
}

fn answered(output: &ProgramOutput, path: &str) -> Result<Value, String> {
    let scope = GrepScope {
        recursive: false,
        left_out: Vec::new(),
    };
    parsed(
        answer(output, path, &scope, &Redaction::default())
            .map(|answer| answer.to_string())
            .map_err(|error| error.to_string()),
    )
}

fn output(code: i32, stdout: &str, stderr: &str) -> ProgramOutput {
    ProgramOutput {
        status: Some(ExitStatus::from_raw(code << 8)),
        stdout: stdout.into(),
        stderr: stderr.into(),
    }
}

/// Spec: [TOOL-03]
#[test]
fn it_takes_a_pattern_a_path_and_whether_to_go_down() {
    let types = json!({"pattern": "string", "path": "string", "recursive": "boolean"});
    let expected = json!(["grep", "object", types, ["pattern", "path"]]);
    assert_eq!(signature(&searcher(&Folder::new())), expected);
}

/// Spec: [TOOL-25] [TOOL-26] [TOOL-28]
#[tokio::test]
async fn the_lines_of_a_file_that_match_are_found() {
    let folder = Folder::new();
    folder.file("f", "alpha\nbeta\nAlpha\na+b\nhello\n\nend: \"é😀\"");
    folder.file("crlf", "one\r\ntwo\r\n");
    folder.file("empty", "");
    for (path, pattern, expected) in [
        ("f", "beta", "2:beta"),
        ("f", "alpha", "1:alpha"),
        ("f", "Alpha", "3:Alpha"),
        ("f", "[aA]lpha", "1:alpha\n3:Alpha"),
        ("f", "^a.*a$", "1:alpha"),
        ("f", "a+b", "4:a+b"),
        ("f", r"\(l\)\1", "5:hello"),
        ("f", r"l\{2\}", "5:hello"),
        ("f", "^$", "6:"),
        ("f", "é😀", "7:end: \"é😀\""),
        ("f", "nothing", ""),
        ("crlf", "two", "2:two\r"),
        ("empty", "a", ""),
        ("empty", "^", ""),
    ] {
        let result = search(&folder, pattern, path).await;
        assert_eq!(result, matches(expected), "{pattern}");
    }
}

/// Spec: [TOOL-441]
#[tokio::test]
async fn a_pattern_with_extended_signs_that_finds_nothing_is_explained() {
    let folder = Folder::new();
    folder.file("f", "an error in line 7\na warning 12\nfn main(a|b) {\n");
    for (pattern, hint) in [
        ("error|warning", r"write a\|b"),
        ("[0-9]+", r"write a\+"),
        ("(error)", r"write \(ab\)"),
        ("erro?r", r"write a\?"),
        ("r{2}", r"write a\{2\}"),
        (r"\d", "write [0-9]"),
    ] {
        let result = search(&folder, pattern, "f").await.unwrap();
        assert_eq!(result["matches"], "", "{pattern}");
        let note = result["note"].as_str().unwrap_or_default();
        assert!(note.contains(hint), "{pattern}: {result}");
    }
    // Nothing is said where a line was found, or no sign is to blame.
    for (pattern, found) in [("a|b", "3:fn main(a|b) {"), ("none", ""), (r"x\|y", "")] {
        assert_eq!(search(&folder, pattern, "f").await, matches(found));
    }
}

/// Spec: [TOOL-27] [TOOL-28]
#[tokio::test]
async fn a_directory_is_searched_with_all_below_it() {
    let folder = Folder::new();
    folder.file("a", "one\ntwo\n");
    folder.file("sub/b", "two\n");
    folder.file("sub/deep/.c", "x\ny\ntwo: 2\n");
    folder.file("other/d", "one\n");
    let absolute = folder.at("sub").to_str().unwrap().to_owned();
    let below = [
        format!("{absolute}/b:1:two"),
        format!("{absolute}/deep/.c:3:two: 2"),
    ];
    for (path, expected) in [
        (
            ".",
            &["./a:2:two", "./sub/b:1:two", "./sub/deep/.c:3:two: 2"][..],
        ),
        ("sub", &["sub/b:1:two", "sub/deep/.c:3:two: 2"]),
        ("sub/", &["sub/b:1:two", "sub/deep/.c:3:two: 2"]),
        ("sub/deep", &["sub/deep/.c:3:two: 2"]),
        ("a", &["a:2:two"]),
        ("other", &[]),
        (&absolute, &[&below[0], &below[1]]),
    ] {
        assert_eq!(search_all(&folder, "two", path).await, expected, "{path}");
    }
    let input = json!({"pattern": "two", "path": "a", "recursive": false});
    assert_eq!(call(&searcher(&folder), input).await, matches("2:two"));
}

/// Spec: [TOOL-30]
#[tokio::test]
async fn what_cannot_be_searched_is_refused() {
    let folder = Folder::new();
    folder.file("sub/file", "a");
    folder.fifo("fifo");
    let _listener = UnixListener::bind(folder.at("socket")).unwrap();
    symlink("nothing", folder.at("dangling")).unwrap();
    let directory = "is a directory; set recursive to search it";
    for (path, expected) in [
        ("missing", "path not found"),
        ("missing/file", "path not found"),
        ("dangling", "path not found"),
        ("sub", directory),
        (".", directory),
        ("fifo", "not a regular file"),
        ("socket", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("sub/file/x", "Not a directory (os error 20)"),
    ] {
        assert_eq!(search(&folder, "a", path).await, no(expected), "{path}");
        let input = json!({"pattern": "a", "path": path, "recursive": true});
        if expected != directory {
            assert_eq!(
                call(&searcher(&folder), input).await,
                no(expected),
                "{path}"
            );
        }
    }
}

/// Spec: [TOOL-31]
#[tokio::test]
async fn what_is_no_file_is_passed_over_below_a_directory() {
    let folder = Folder::new();
    let outside = Folder::new();
    outside.file("secret", "found\n");
    folder.file("file", "found\n");
    folder.fifo("fifo");
    let _listener = UnixListener::bind(folder.at("socket")).unwrap();
    symlink("/dev/zero", folder.at("zero")).unwrap();
    symlink(".", folder.at("cycle")).unwrap();
    symlink(outside.path(), folder.at("outside")).unwrap();
    assert_eq!(search_all(&folder, "found", ".").await, ["./file:1:found"]);
    let at_link = search_all(&folder, "found", "outside").await;
    assert_eq!(at_link, ["outside/secret:1:found"]);
}

/// Spec: [TOOL-07] [TOOL-08]
#[tokio::test]
async fn a_pattern_or_path_is_never_an_option() {
    let folder = Folder::new();
    let odd = [
        "-",
        "--",
        "-v",
        "-e x",
        "-f file",
        "-r",
        "--help",
        "--include=a",
        "-Pa",
        "$HOME",
        "!",
    ];
    folder.file("file", "x\n");
    folder.file("patterns", format!("x\n{}\n", odd.join("\n")));
    for (index, pattern) in odd.iter().enumerate() {
        let result = search(&folder, &format!("^{pattern}"), "patterns").await;
        let text = result.unwrap()["matches"].to_string();
        assert!(text.contains(&format!("{}:{pattern}", index + 2)), "{text}");
        // Without the anchor, the pattern itself begins like an option.
        let result = search(&folder, pattern, "patterns").await.unwrap();
        assert!(result["matches"].as_str().unwrap().contains(pattern));
        assert_eq!(search(&folder, pattern, "file").await, matches(""));
    }
    for name in odd.iter().chain(&["a b", "*"]) {
        folder.file(&format!("odd/{name}"), "x\n");
        let inside = At(Grep, folder.at("odd"));
        let result = call(&inside, json!({"pattern": "x", "path": name})).await;
        assert_eq!(result, matches("1:x"), "{name}");
        let input = json!({"pattern": "x", "path": name, "recursive": true});
        let result = call(&inside, input).await.unwrap();
        let text = result["matches"].as_str().unwrap();
        assert!(text.ends_with(&format!("{name}:1:x")), "{text}");
        let input = json!({"pattern": "x", "path": format!("../odd/{name}")});
        assert_eq!(call(&inside, input).await, matches("1:x"), "{name}");
    }
}

/// Spec: [TOOL-53]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pattern_that_grows_without_bound_is_an_error() {
    let folder = Folder::new();
    folder.file("f", "a\n");
    let pattern = r"\(\(a\{1,255\}\)\{1,255\}\)\{1,255\}b";
    let error = search(&folder, pattern, "f").await.unwrap_err();
    assert!(error.contains("more memory than it may"), "{error}");
}

/// Spec: [TOOL-29]
#[tokio::test]
async fn a_malformed_pattern_is_an_error_with_a_reason() {
    let folder = Folder::new();
    folder.file("f", "a\n");
    for path in ["f", "I", "U"] {
        folder.file(path, "a\n");
        for pattern in [
            r"\(",
            r"a\)",
            "[",
            "[z-a]",
            r"a\{1",
            r"a\{2,1\}",
            r"\(a\)\2",
            "a\\",
        ] {
            let error = search(&folder, pattern, path).await.unwrap_err();
            let reason = error.strip_prefix("invalid pattern: ").unwrap();
            assert!(!reason.is_empty() && !reason.contains("grep: "), "{reason}");
        }
    }
    let long = "a".repeat(1024 * 1024);
    let error = search(&folder, &long, "f").await.unwrap_err();
    assert!(error.starts_with("grep cannot be started: "), "{error}");
    let nested = format!("{}a{}", r"\(".repeat(10_000), r"\)".repeat(10_000));
    assert_eq!(search(&folder, &nested, "f").await, matches("1:a"));
}

/// Spec: [TOOL-32]
#[tokio::test]
async fn a_binary_file_that_matches_is_named() {
    let folder = Folder::new();
    folder.file("bin", b"a\0b\nfound\n");
    folder.file("text", "found\n");
    let result = search(&folder, "found", "bin").await;
    let warning = "grep: bin: binary file matches";
    assert_eq!(result, Ok(json!({"matches": "", "warning": warning})));
    assert_eq!(search(&folder, "other", "bin").await, matches(""));
    let input = json!({"pattern": "found", "path": ".", "recursive": true});
    let result = call(&searcher(&folder), input).await;
    let warning = "grep: ./bin: binary file matches";
    assert_eq!(
        result,
        Ok(json!({"matches": "./text:1:found", "warning": warning}))
    );
}

/// Spec: [TOOL-25]
#[tokio::test]
async fn bytes_that_are_no_utf_8_are_replaced() {
    let folder = Folder::new();
    folder.file("f", b"a\xffb\n");
    assert_eq!(search(&folder, "a", "f").await, matches("1:a\u{fffd}b"));
}

const NOTE: &str = "cut at the limit of 131072 bytes; there are more matches, \
                    use a narrower pattern or path";

/// Spec: [TOOL-06] [TOOL-10]
#[tokio::test]
async fn matches_over_the_cap_are_cut_with_a_note() {
    let folder = Folder::new();
    // Of the first match, two bytes are its number.
    for size in MAX_TEXT_BYTES - 3..=MAX_TEXT_BYTES - 2 {
        let line = "x".repeat(size);
        folder.file("f", format!("{line}\n"));
        let expected = format!("1:{line}");
        assert!(
            search(&folder, "x", "f").await == matches(&expected),
            "{size}"
        );
        folder.file("f", format!("{line}\nx\nx\n"));
        let expected = json!({"matches": expected, "note": NOTE});
        assert!(search(&folder, "x", "f").await == Ok(expected), "{size}");
    }
    for (before, kept) in [(2, 0), (5, 0), (6, 4)] {
        let line = "x".repeat(MAX_TEXT_BYTES - before);
        folder.file("f", format!("{line}😀!\nx\n"));
        let text = format!("1:{line}😀");
        let expected = json!({"matches": text[..2 + line.len() + kept], "note": NOTE});
        assert!(search(&folder, "x", "f").await == Ok(expected), "{before}");
    }
}

/// Spec: [TOOL-10] [TOOL-34]
#[tokio::test]
async fn too_many_matches_stop_the_search() {
    let folder = Folder::new();
    folder.file("f", "match\n".repeat(300_000));
    let result = search(&folder, "match", "f").await.unwrap();
    let text = result["matches"].as_str().unwrap();
    assert!(text.len() <= MAX_TEXT_BYTES && text.len() > MAX_TEXT_BYTES - 20);
    let count = text.lines().count();
    assert!(text.ends_with(&format!("\n{count}:match")));
    assert_eq!(result["note"], NOTE);
}

/// Spec: [TOOL-44]
#[tokio::test]
async fn a_cancelled_search_stops() {
    let folder = Folder::new();
    let file = fs::File::create(folder.at("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let input = json!({"pattern": "a", "path": "huge"});
    let result = call_with(&searcher(&folder), input, cancellation).await;
    assert_eq!(result, no("cancelled"));
}

/// Spec: [TOOL-12] [TOOL-28] [TOOL-29] [TOOL-36]
#[test]
fn how_grep_ended_decides_what_comes_back() {
    let bad = "grep: sub/x: Input/output error\n";
    let both = json!({"matches": "sub/a:1:x", "warning": bad.trim()});
    for (output, expected) in [
        (output(0, "sub/a:1:x\n", ""), matches("sub/a:1:x")),
        (output(1, "", ""), matches("")),
        (output(2, "sub/a:1:x\n", bad), Ok(both)),
        (output(2, "", bad), no("sub/x: Input/output error")),
        (
            output(2, "", "grep: sub: Permission denied\n"),
            no("permission denied"),
        ),
        (
            output(2, "", "grep: subtle mistake\n"),
            no("invalid pattern: subtle mistake"),
        ),
        (output(2, "", ""), no("grep ended without saying why")),
        (
            output(1, "", "grep: warning: stray \\ before i\n"),
            Ok(json!({"matches": "", "warning": "grep: warning: stray \\ before i"})),
        ),
    ] {
        assert_eq!(answered(&output, "sub"), expected, "{output:?}");
    }
    let io_error = no("sub/x: Input/output error");
    assert_eq!(answered(&output(2, "", bad), "sub/"), io_error);
}

/// Spec: [TOOL-12] [TOOL-13]
#[test]
fn what_may_not_be_read_is_permission_denied() {
    let folder = Folder::new();
    folder.file("sub/open", "x\n");
    let closed = folder.file("sub/closed", "x\n");
    set_mode(&closed, 0o000);
    let searched = |args: &[&str], path| {
        let args = [args, &["-e", "x", "--", path]].concat();
        answered(&run_as_nobody("grep", &args, folder.path()), path)
    };
    let denied = no("permission denied");
    assert_eq!(searched(&["-n", "-h"], "sub/closed"), denied);
    let warning = "grep: sub/closed: Permission denied";
    let partly = json!({"matches": "sub/open:1:x", "warning": warning});
    assert_eq!(searched(&["-n", "-r", "-H"], "sub"), Ok(partly));
    set_mode(&folder.at("sub"), 0o000);
    assert_eq!(searched(&["-n", "-r", "-H"], "sub"), denied);
    let looked = as_nobody(|| path::look(&closed, "path not found").map(|_| ()));
    assert_eq!(looked, Err("permission denied".into()));
    set_mode(&folder.at("sub"), 0o755);
}

/// Spec: [SEC-25] [SEC-26]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_files_of_processes_are_not_searched() {
    let folder = Folder::new();
    let us = std::process::id();
    symlink("/proc", folder.at("all")).unwrap();
    symlink("/proc/self/environ", folder.at("link")).unwrap();
    let hidden = "permission denied: the memory and the environment of processes are not read";
    for path in [&format!("/proc/{us}/environ"), "/proc/self/mem", "link"] {
        for recursive in [false, true] {
            let input = json!({"pattern": "a", "path": path, "recursive": recursive});
            assert_eq!(call(&searcher(&folder), input).await, no(hidden), "{path}");
        }
    }
    let whole = "permission denied: the files of processes are not searched, only one at a time";
    for path in [
        "/proc",
        &format!("/proc/{us}"),
        "/proc/self/task",
        "all",
        "all/",
    ] {
        let input = json!({"pattern": "a", "path": path, "recursive": true});
        assert_eq!(call(&searcher(&folder), input).await, no(whole), "{path}");
    }
    let found = search(&folder, "MemTotal", "/proc/meminfo").await.unwrap();
    assert!(found["matches"].as_str().unwrap().starts_with("1:MemTotal"));
    assert_eq!(
        look(Path::new("/"), true, &[]),
        Ok(vec![("/proc".into(), "of the files of processes")])
    );
    assert_eq!(look(folder.path(), true, &[]), Ok(vec![]));
}

/// Spec: [SEC-26]
#[tokio::test]
async fn what_is_left_out_is_not_searched_and_told() {
    let folder = Folder::new();
    folder.file("a", "found\n");
    folder.file("p[r]*c/1/environ", "found\n");
    folder.file("single", "found\n");
    let left_out = ["p[r]*c", "single"].map(|name| (folder.at(name), "of the files of processes"));
    let scope = GrepScope {
        recursive: true,
        left_out: left_out.into(),
    };
    let input = GrepInput {
        pattern: "found".to_owned(),
        path: ".".to_owned(),
        recursive: Some(true),
    };
    let context = ToolContext::new(Cancellation::new()).in_folder(folder.path());
    let result = super::search(&input, &scope, &context).await;
    let result = parsed(result.map_err(|error| error.to_string())).unwrap();
    assert_eq!(result["matches"], "./a:1:found");
    let warning = result["warning"].as_str().unwrap();
    for part in ["p[r]*c: not searched", "single: not searched"] {
        assert!(warning.contains(part), "{warning}");
    }
}
