//! Real programs, most of them small scripts: what they are given and how they are ended.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::thread;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::super::testing::{Folder, LIMIT};
use super::*;

async fn run_in(folder: &Folder, program: &str, args: &[&str]) -> Result<ProgramOutput, ToolError> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let cancellation = Cancellation::new();
    let alone = Launching::default();
    let work = run(program, &args, folder.path(), &cancellation, &alone);
    timeout(LIMIT, work).await.expect("the program must end")
}

fn text(output: &ProgramOutput) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// Spec: [TOOL-33] [SEC-11]
#[tokio::test]
async fn a_program_gets_an_environment_of_its_own() {
    let ours = std::env::vars_os().filter(|(name, _)| name == "HOME" || name == "PWD");
    assert!(ours.count() > 0, "there must be something to keep back");
    let output = run_in(&Folder::new(), "env", &[]).await.unwrap();
    let mut expected = vec![
        "LC_ALL=C".to_owned(),
        "PATH=/usr/bin:/bin:/usr/local/bin".to_owned(),
    ];
    if let Ok(zone) = std::env::var("TZ") {
        expected.push(format!("TZ={zone}"));
    }
    let mut variables: Vec<&str> = text(&output).lines().collect();
    variables.sort_unstable();
    assert_eq!(variables, expected);
}

/// Spec: [TOOL-33]
#[tokio::test]
async fn a_program_gets_no_input_no_shell_and_the_workspace() {
    let folder = Folder::new();
    let output = run_in(&folder, "cat", &[]).await.unwrap();
    assert_eq!(text(&output), "");
    let output = run_in(&folder, "echo", &["$HOME", "`id`", "*; id"]).await;
    assert_eq!(text(&output.unwrap()), "$HOME `id` *; id\n");
    let output = run_in(&folder, "pwd", &["-P"]).await.unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    assert_eq!(text(&output).trim_end(), workspace.to_str().unwrap());
}

/// Spec: [TOOL-10] [TOOL-34]
#[tokio::test]
async fn a_program_is_stopped_when_its_output_is_over_the_cap() {
    let folder = Folder::new();
    for (size, seen, ends) in [
        (MAX_TEXT_BYTES, MAX_TEXT_BYTES, true),
        (MAX_TEXT_BYTES + 1, MAX_TEXT_BYTES + 1, true),
        (MAX_TEXT_BYTES + 2, MAX_TEXT_BYTES + 2, false),
        (MAX_TEXT_BYTES + 3, MAX_TEXT_BYTES + 2, false),
    ] {
        let size = size.to_string();
        let output = run_in(&folder, "head", &["-c", &size, "/dev/zero"]).await;
        let output = output.unwrap();
        assert_eq!((output.stdout.len(), output.status.is_some()), (seen, ends));
    }
    let endless = run_in(&folder, "yes", &[]).await.unwrap();
    assert_eq!(endless.status, None);
}

/// Spec: [TOOL-34]
#[tokio::test]
async fn a_program_that_falls_silent_over_the_cap_is_stopped_too() {
    let script = "head -c 200000 /dev/zero; sleep 1000";
    let output = run_in(&Folder::new(), "sh", &["-c", script]).await.unwrap();
    assert_eq!(output.status, None);
}

/// Spec: [TOOL-34]
#[tokio::test]
async fn the_start_of_the_complaints_is_kept() {
    let script = "echo begin >&2; head -c 1000000 /dev/zero >&2 && echo out; exit 3";
    let output = run_in(&Folder::new(), "sh", &["-c", script]).await.unwrap();
    assert_eq!(output.stderr.len(), MAX_STDERR_BYTES);
    assert!(output.stderr.starts_with("begin\n"));
    let code = output.status.and_then(|status| status.code());
    assert_eq!((text(&output), code), ("out\n", Some(3)));
}

/// Spec: [TOOL-36]
#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let error = run_in(&Folder::new(), "no-such-program", &[]).await;
    let expected = "no-such-program cannot be started: No such file or directory (os error 2)";
    assert_eq!(error.unwrap_err().to_string(), expected);
}

/// Spec: [TOOL-53]
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_program_may_take_is_bounded() {
    let folder = Folder::new();
    // The bounds come a moment after the start.
    let script = "until [ $(ulimit -t) = 300 ]; do :; done; ulimit -v";
    let output = run_in(&folder, "sh", &["-c", script]).await.unwrap();
    assert_eq!(output.stdout, b"524288\n");
}

/// A program that starts another one, and both run for long.
const FAMILY: &str = r#"exec 9>"$0"; sleep 1000 & sleep 1000"#;

/// The life of all programs that have a FIFO open.
struct Life {
    began: oneshot::Receiver<()>,
    ended: oneshot::Receiver<()>,
}

impl Life {
    fn of(fifo: PathBuf) -> Self {
        let (begin, began) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        thread::spawn(move || {
            let mut fifo = File::open(fifo).unwrap();
            begin.send(()).unwrap();
            // The end of the file comes when no process has it open any more.
            fifo.read_to_end(&mut Vec::new()).unwrap();
            end.send(()).unwrap();
        });
        Self { began, ended }
    }
}

/// Spec: [TOOL-35]
#[tokio::test]
async fn a_cancelled_program_is_killed_with_all_that_it_started() {
    let folder = Folder::new();
    let fifo = folder.fifo("alive");
    let life = Life::of(fifo.clone());
    let args = ["-c".as_ref(), FAMILY.as_ref(), fifo.as_os_str()];
    let cancellation = Cancellation::new();
    let alone = Launching::default();
    let work = run("sh", &args, folder.path(), &cancellation, &alone);
    let cancel = async {
        life.began.await.unwrap();
        cancellation.cancel();
    };
    let (result, ()) = timeout(LIMIT, async { tokio::join!(work, cancel) })
        .await
        .unwrap();
    assert_eq!(result.unwrap_err().to_string(), "cancelled");
    timeout(LIMIT, life.ended).await.unwrap().unwrap();
}

/// Spec: [TOOL-35]
#[tokio::test]
async fn a_dropped_program_is_killed_with_all_that_it_started() {
    let folder = Folder::new();
    let fifo = folder.fifo("alive");
    let life = Life::of(fifo.clone());
    let args = ["-c".as_ref(), FAMILY.as_ref(), fifo.as_os_str()];
    let cancellation = Cancellation::new();
    let alone = Launching::default();
    let work = run("sh", &args, folder.path(), &cancellation, &alone);
    tokio::select! {
        result = work => panic!("it must not end: {result:?}"),
        began = timeout(LIMIT, life.began) => began.unwrap().unwrap(),
    }
    timeout(LIMIT, life.ended).await.unwrap().unwrap();
}
