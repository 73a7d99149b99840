//! The file under several clients, old contents and sudden ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use super::super::entries::MAX_ENTRIES;
use super::*;

/// Names the folder to a test that is run again as another process.
const FOLDER: &str = "HARNESS_TEST_HISTORY_FOLDER";
/// The beginning of the prompts of such a process.
const NAME: &str = "HARNESS_TEST_HISTORY_NAME";

fn of(prompts: &[&str]) -> PromptHistory {
    prompts.iter().map(|prompt| (*prompt).to_owned()).collect()
}

/// A file with these contents, as they are.
fn loaded(bytes: &[u8]) -> PromptHistory {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE_NAME), bytes).unwrap();
    HistoryFile::in_folder(folder.path()).load().unwrap()
}

/// Another process that runs the test of this name and nothing else.
fn process(test: &str, folder: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg(format!("prompt_history::file::tests::{test}"))
        .env(FOLDER, folder)
        .env(NAME, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The task of such a process.
fn role() -> Option<(HistoryFile, String)> {
    let folder = std::env::var_os(FOLDER)?;
    let name = std::env::var(NAME).unwrap();
    Some((HistoryFile::in_folder(Path::new(&folder)), name))
}

/// Spec: [HIST-03]
#[test]
fn what_is_added_is_there_for_whoever_loads() {
    let folder = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_folder(folder.path());
    assert_eq!(file.load().unwrap(), PromptHistory::default());
    let prompts = [
        "one",
        "two\nlines\r\n\tand \"quotes\" \\n",
        "漢字 👩\u{200d}👧 \u{2028}",
        "\"a JSON string\"",
        "null",
        "ends with a break\n",
    ];
    for (number, prompt) in prompts.iter().enumerate() {
        let history = file.add(prompt).unwrap();
        assert_eq!(history, of(&prompts[..=number]));
        assert_eq!(
            HistoryFile::in_folder(folder.path()).load().unwrap(),
            history
        );
    }
    let text = fs::read_to_string(folder.path().join("prompt_history")).unwrap();
    assert_eq!(text.lines().count(), prompts.len());
}

/// Spec: [HIST-01]
#[test]
fn the_file_has_the_last_100_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_folder(folder.path());
    let prompts: Vec<String> = (0..=MAX_ENTRIES)
        .map(|number| format!("p{number}"))
        .collect();
    let lines: String = prompts[..MAX_ENTRIES]
        .iter()
        .map(|prompt| format!("{prompt}\n"))
        .collect();
    fs::write(folder.path().join(FILE_NAME), lines).unwrap();
    assert_eq!(file.load().unwrap().entries(), &prompts[..MAX_ENTRIES]);
    file.add(&prompts[MAX_ENTRIES]).unwrap();
    assert_eq!(file.load().unwrap().entries(), &prompts[1..]);
    // A file that is too long, as another program may have left it.
    fs::write(folder.path().join(FILE_NAME), prompts.join("\n")).unwrap();
    assert_eq!(file.load().unwrap().entries(), &prompts[1..]);
}

/// Spec: [HIST-02]
#[test]
fn what_is_not_remembered_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_folder(folder.path());
    assert_eq!(file.add(" secret").unwrap(), PromptHistory::default());
    assert_eq!(file.add("\n").unwrap(), PromptHistory::default());
    assert!(!folder.path().join(FILE_NAME).exists());
    file.add("a").unwrap();
    assert_eq!(file.add("a").unwrap(), of(&["a"]));
}

/// Spec: [HIST-04]
#[test]
fn whatever_the_file_has_is_loaded() {
    let table: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (b"plain\nold lines  \r\n", &["plain", "old lines  "]),
        (b"\n \nno end of line", &["no end of line"]),
        (b"\"json\\nlines\"\nplain\n", &["json\nlines", "plain"]),
        (
            b"\"torn\n\"a\" b\n{\"a\":1}\n12\n",
            &["\"torn", "\"a\" b", "{\"a\":1}", "12"],
        ),
        (b"a\xffb\n\"c\xff\"\n", &["a\u{fffd}b", "c\u{fffd}"]),
    ];
    for (bytes, expected) in table {
        assert_eq!(loaded(bytes), of(expected), "{}", bytes.escape_ascii());
    }
}

/// Spec: [HIST-07]
#[test]
fn of_a_huge_file_only_the_end_is_read() {
    let mut bytes = b"old\n".to_vec();
    bytes.resize(MAX_READ as usize + 100, b'x');
    bytes.extend_from_slice(b"\none\ntwo\n");
    assert_eq!(loaded(&bytes), of(&["one", "two"]));
}

/// Spec: [HIST-04]
#[test]
fn what_is_no_file_is_an_error_and_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let file = HistoryFile::in_folder(folder.path());
    fs::create_dir(&path).unwrap();
    assert!(file.load().is_err() && file.add("a").is_err());
    fs::remove_dir(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(file.load().is_err() && file.add("a").is_err());
}

/// Spec: [HIST-08]
#[test]
fn nobody_else_can_read_the_file() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("made/anew");
    let path = folder.join(FILE_NAME);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = HistoryFile::in_folder(&folder);
    file.add("one").unwrap();
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    file.add("two").unwrap();
    assert_eq!(mode(&path), 0o600);
    let names = fs::read_dir(&folder).unwrap();
    for entry in names.map(Result::unwrap) {
        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
    }
}

/// Spec: [HIST-05]
#[test]
fn two_processes_at_once_lose_nothing() {
    if let Some((file, name)) = role() {
        for number in 0..50 {
            file.add(&format!("{name}\n{number}")).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let names = ["a", "b"];
    let processes =
        names.map(|name| process("two_processes_at_once_lose_nothing", folder.path(), name));
    for process in processes {
        assert!(process.wait_with_output().unwrap().status.success());
    }
    let history = HistoryFile::in_folder(folder.path()).load().unwrap();
    assert_eq!(history.entries().len(), 100);
    for name in names {
        let own: Vec<&String> = history
            .entries()
            .iter()
            .filter(|entry| entry.starts_with(name))
            .collect();
        let expected: Vec<String> = (0..50).map(|number| format!("{name}\n{number}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
}

/// Spec: [HIST-05]
#[test]
fn two_threads_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let file = HistoryFile::in_folder(folder.path());
            scope.spawn(move || {
                for number in 0..50 {
                    file.add(&format!("{name}{number}")).unwrap();
                }
            });
        }
    });
    let history = HistoryFile::in_folder(folder.path()).load().unwrap();
    let mut found = history.entries().to_vec();
    found.sort_unstable();
    let mut expected: Vec<String> = (0..50)
        .flat_map(|number| [format!("a{number}"), format!("b{number}")])
        .collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Spec: [HIST-06]
#[test]
fn a_client_that_is_killed_leaves_a_whole_file() {
    if let Some((file, name)) = role() {
        for number in 0.. {
            file.add(&format!("{name} {number}\n{}", "x".repeat(20_000)))
                .unwrap();
            println!("added {number}");
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = HistoryFile::in_folder(folder.path());
    let mut sure = 0;
    for round in 0..5 {
        let name = format!("round {round}");
        let mut client = process(
            "a_client_that_is_killed_leaves_a_whole_file",
            folder.path(),
            &name,
        );
        let lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let added = lines
            .map(Result::unwrap)
            .filter(|line| line.contains("added"));
        assert_eq!(added.take(1 + round).count(), 1 + round);
        sure += 1 + round;
        client.kill().unwrap();
        client.wait().unwrap();
        // The next one is kept neither from reading nor from writing, and nothing is torn.
        let history = file.add(&format!("after {round}")).unwrap();
        sure += 1;
        assert!(history.entries().len() >= sure.min(MAX_ENTRIES));
        for entry in history.entries() {
            let whole = entry.strip_suffix(&"x".repeat(20_000));
            assert!(
                whole.is_some() || entry.starts_with("after "),
                "{} bytes",
                entry.len()
            );
        }
    }
}
