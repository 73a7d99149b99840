//! Real folders, listed by the real `ls`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::time::{Duration, UNIX_EPOCH};

use super::super::testing::{
    At, Folder, as_nobody, call, call_with, parsed, run_as_nobody, set_mode, signature,
};
use super::*;

fn lister(folder: &Folder) -> At<ListDir> {
    At(ListDir, folder.path().into())
}

async fn list_path(folder: &Folder, path: &str) -> Result<Value, String> {
    call(&lister(folder), json!({"path": path})).await
}

async fn entries(folder: &Folder, path: &str) -> String {
    let result = list_path(folder, path).await.unwrap();
    assert_eq!(result.as_object().unwrap().len(), 1, "{result}");
    result["entries"].as_str().unwrap().to_owned()
}

/// The name in a line of a listing, which comes after eight columns.
fn name(line: &str) -> String {
    let columns: Vec<&str> = line.split_whitespace().skip(8).collect();
    columns.join(" ")
}

/// Spec: [TOOL-03]
#[test]
fn it_takes_a_path() {
    let expected = json!(["list_dir", "object", {"path": "string"}, ["path"]]);
    assert_eq!(signature(&lister(&Folder::new())), expected);
}

/// Spec: [TOOL-21]
#[tokio::test]
async fn a_listing_is_what_ls_prints() {
    let folder = Folder::new();
    // A listing shows the folder above as well, so that one must not be changed by other tests.
    let work = folder.at("work");
    folder.file("work/sub/inner", "12345");
    folder.file("work/b", "");
    folder.file("work/.a", "");
    symlink("b", work.join("link")).unwrap();
    for path in [".", "sub", "sub/", work.to_str().unwrap()] {
        let ls = Command::new("ls")
            .args(["-al", path])
            .current_dir(&work)
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let expected = String::from_utf8(ls.stdout).unwrap();
        let listing = call(&At(ListDir, work.clone()), json!({"path": path})).await;
        let expected = json!({"entries": expected.strip_suffix('\n')});
        assert_eq!(listing, Ok(expected), "{path}");
    }
}

/// Spec: [TOOL-22]
#[tokio::test]
async fn a_listing_shows_everything_about_an_entry() {
    let folder = Folder::new();
    let path = folder.file(".hidden", "12345");
    set_mode(&path, 0o640);
    let file = File::options().append(true).open(&path).unwrap();
    // Noon of 15 September 2001, so that the day is the same in all time zones.
    let then = UNIX_EPOCH + Duration::from_secs(1_000_555_200);
    file.set_modified(then).unwrap();
    let listing = entries(&folder, ".").await;
    let names: Vec<String> = listing.lines().map(name).collect();
    assert_eq!(names, ["", ".", "..", ".hidden"]);
    let columns: Vec<&str> = listing.lines().nth(3).unwrap().split_whitespace().collect();
    let [
        permissions,
        links,
        owner,
        group,
        size,
        month,
        day,
        year,
        name,
    ] = columns[..]
    else {
        panic!("not nine columns: {columns:?}");
    };
    assert_eq!(permissions.get(..10), Some("-rw-r-----"));
    assert_eq!((links, size, name), ("1", "5", ".hidden"));
    assert_eq!([month, day, year], ["Sep", "15", "2001"]);
    assert!(!owner.is_empty() && !group.is_empty());
}

/// Spec: [TOOL-21]
#[tokio::test]
async fn odd_names_are_shown_as_they_are() {
    let folder = Folder::new();
    folder.file("sub/a\nb", "");
    fs::create_dir(folder.at("last")).unwrap();
    folder.file("last/z\n", "");
    fs::create_dir(folder.at("bytes")).unwrap();
    fs::write(folder.at("bytes").join(OsStr::from_bytes(b"a\xffb")), "").unwrap();
    for (path, end) in [("sub", " a\nb"), ("last", " z\n"), ("bytes", " a\u{fffd}b")] {
        assert!(entries(&folder, path).await.ends_with(end), "{path}");
    }
}

/// Spec: [TOOL-23]
#[tokio::test]
async fn what_is_no_directory_is_refused() {
    let folder = Folder::new();
    folder.file("file", "");
    folder.fifo("fifo");
    symlink("file", folder.at("link")).unwrap();
    symlink("nothing", folder.at("dangling")).unwrap();
    for (path, expected) in [
        ("missing", "path not found"),
        ("missing/sub", "path not found"),
        ("dangling", "path not found"),
        ("file", "not a directory"),
        ("link", "not a directory"),
        ("fifo", "not a directory"),
        ("/dev/zero", "not a directory"),
        ("file/sub", "Not a directory (os error 20)"),
    ] {
        let result = list_path(&folder, path).await;
        assert_eq!(result, Err(expected.to_owned()), "{path}");
    }
}

/// Spec: [TOOL-24]
#[tokio::test]
async fn a_link_to_a_directory_is_listed_as_a_link() {
    let folder = Folder::new();
    folder.file("sub/inner", "");
    symlink("sub", folder.at("link")).unwrap();
    assert!(entries(&folder, "link").await.ends_with(" link -> sub"));
    assert!(entries(&folder, "link/").await.ends_with(" inner"));
}

/// Spec: [TOOL-07] [TOOL-08]
#[tokio::test]
async fn a_path_starts_at_the_workspace_and_is_no_option() {
    let folder = Folder::new();
    for path in ["-", "--", "-d", "--help", "-R", "*", "$HOME", "a b", "~"] {
        folder.file(&format!("{path}/in {path}"), "");
        let listing = entries(&folder, path).await;
        assert!(listing.ends_with(&format!(" in {path}")), "{listing}");
    }
    let missing = list_path(&folder, "--version").await;
    assert_eq!(missing, Err("path not found".to_owned()));
    let inside = At(ListDir, folder.at("a b"));
    for path in ["../-d", folder.at("-d").to_str().unwrap()] {
        let result = call(&inside, json!({"path": path})).await.unwrap();
        assert!(result["entries"].as_str().unwrap().ends_with(" in -d"));
    }
}

const NOTE: &str = "cut at the limit of 131072 bytes; there are more entries, \
                    list a subdirectory or grep for what you need";

fn output(code: i32, stdout: &str, stderr: &str) -> ProgramOutput {
    ProgramOutput {
        status: Some(ExitStatus::from_raw(code << 8)),
        stdout: stdout.into(),
        stderr: stderr.into(),
    }
}

fn answered(output: &ProgramOutput) -> Result<Value, String> {
    parsed(
        answer(output, &Redaction::default())
            .map(|answer| answer.to_string())
            .map_err(|error| error.to_string()),
    )
}

/// Spec: [TOOL-06] [TOOL-10]
#[test]
fn a_listing_over_the_cap_keeps_whole_lines() {
    let first = "x".repeat(MAX_TEXT_BYTES / 2);
    for (size, is_cut) in [
        (MAX_TEXT_BYTES - 1, false),
        (MAX_TEXT_BYTES, false),
        (MAX_TEXT_BYTES + 1, true),
    ] {
        let text = format!("{first}\n{}", "y".repeat(size - first.len() - 1));
        let result = answered(&output(0, &format!("{text}\n"), ""));
        let expected = if is_cut {
            json!({"entries": first, "note": NOTE})
        } else {
            json!({"entries": text})
        };
        assert!(result == Ok(expected), "{size}");
    }
}

/// How many files a large folder has; `HARNESS_ENTRIES` sets another number.
const ENTRIES: usize = 600;

/// Spec: [TOOL-10] [TOOL-34]
#[tokio::test]
async fn a_large_folder_is_listed_up_to_the_cap() {
    let entries = std::env::var("HARNESS_ENTRIES");
    let entries = entries.map_or(ENTRIES, |entries| entries.parse().unwrap());
    // Long names where they are few.
    let width = if entries > ENTRIES { 20 } else { 250 };
    let folder = Folder::new();
    for number in 0..entries {
        folder.file(&format!("sub/{number:0width$}"), "");
    }
    let result = list_path(&folder, "sub").await.unwrap();
    let listing = result["entries"].as_str().unwrap();
    assert!((MAX_TEXT_BYTES - 400..=MAX_TEXT_BYTES).contains(&listing.len()));
    // Three lines come before the first file.
    let last = listing.lines().count() - 4;
    assert!(listing.ends_with(&format!(" {last:0width$}")));
    assert_eq!(result["note"], NOTE);
}

/// Spec: [TOOL-10]
#[tokio::test]
async fn a_folder_that_is_very_deep_is_listed() {
    let folder = Folder::new();
    let deep = "d/".repeat(1000);
    folder.file(&format!("{deep}file"), "");
    let result = list_path(&folder, &deep).await.unwrap();
    let listing = result["entries"].as_str().unwrap();
    assert!(listing.ends_with(" file"), "{listing}");
}

/// Spec: [TOOL-44]
#[tokio::test]
async fn a_cancelled_listing_stops() {
    let folder = Folder::new();
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let result = call_with(&lister(&folder), json!({"path": "."}), cancellation).await;
    assert_eq!(result, Err("cancelled".to_owned()));
}

/// Spec: [TOOL-12] [TOOL-36]
#[test]
fn a_failed_ls_is_an_error_unless_it_printed_something() {
    let bad = "ls: cannot access 'x': Input/output error\n";
    let expected = json!({"entries": "total 0", "warning": bad.trim()});
    assert_eq!(answered(&output(1, "total 0\n", bad)), Ok(expected));
    assert_eq!(answered(&output(2, "", bad)), Err(bad.trim().to_owned()));
    let silent = Err("ls ended without saying why".to_owned());
    assert_eq!(answered(&output(2, "", "")), silent);
}

/// Spec: [TOOL-12] [TOOL-13]
#[test]
fn what_may_not_be_read_is_permission_denied() {
    let folder = Folder::new();
    folder.file("sub/inner/file", "");
    let listed = || {
        let output = run_as_nobody("ls", &["-al", "--", "sub"], folder.path());
        answered(&output)
    };
    set_mode(&folder.at("sub"), 0o000);
    assert_eq!(listed(), Err("permission denied".to_owned()));
    let checked = as_nobody(|| check_folder(&folder.at("sub/inner"), &[]));
    assert_eq!(checked, Err("permission denied".into()));
    // The names may be read, and nothing else of the entries.
    set_mode(&folder.at("sub"), 0o444);
    let partly = listed().unwrap();
    assert!(partly["entries"].as_str().unwrap().ends_with(" inner"));
    let warning = partly["warning"].as_str().unwrap();
    assert!(warning.contains("Permission denied"), "{warning}");
    set_mode(&folder.at("sub"), 0o755);
}
