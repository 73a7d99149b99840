//! `harness logs`, and the file that every service keeps.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;

use crate::client::within;
use crate::eventually::eventually;
use crate::program::{Service, command, output};

/// Spec: [CLI-97] [CLI-98]
#[tokio::test]
async fn a_service_in_a_terminal_logs_to_a_file_too_which_outlives_it() {
    let (mut service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let log = home.join(".harness/logs/serve.log");
    let logs = |arguments: &[&str]| output(command(&home).arg("logs").args(arguments));
    let begin = format!(
        "harness {}, process {}, listens on http://{} for ",
        env!("CARGO_PKG_VERSION"),
        service.id(),
        service.address
    );
    // A thread writes it, and the address may be told sooner.
    eventually("the line of the start", async || {
        let (code, out, err) = logs(&["--since", "1h", "-n", "500"]);
        assert_eq!((code, &*err), (0, ""));
        out.contains(&begin)
    })
    .await;
    let mode = std::fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    service.signal(Signal::SIGTERM);
    service.ended().await;
    let (code, out, err) = logs(&["-n", "1"]);
    assert_eq!(code, 0);
    assert!(out.ends_with(" INFO  harness::serve: stopped\n"), "{out}");
    assert_eq!(out.lines().count(), 1);
    let note = "; this is the log of the last one\n";
    assert!(
        err.starts_with("harness: no service runs for ") && err.ends_with(note),
        "{err}"
    );
    // Standard error has each line, and the file has it once.
    let stopped = |text: &str| text.matches("harness::serve: stopped").count();
    assert_eq!(stopped(&service.log()), 1);
    assert_eq!(stopped(&std::fs::read_to_string(&log).unwrap()), 1);
    let (code, out, _) = logs(&["--since", "1ms"]);
    assert_eq!((code, &*out), (0, ""));

    std::fs::write(log.with_extension("log.1"), "before\n").unwrap();
    let (_, out, _) = logs(&["-n", "10000"]);
    assert!(out.starts_with("before\n"), "{out}");
}

/// Spec: [CLI-98]
#[test]
fn without_a_log_it_says_so_and_wrong_use_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, err) = output(command(home.path()).arg("logs"));
    assert_eq!((code, &*out), (1, ""));
    assert!(err.contains("there is no log at "), "{err}");
    assert!(!home.path().join(".harness").exists());
    let (code, _, err) = output(command(home.path()).args(["logs", "--since", "soon"]));
    assert_eq!((code, err.contains("such as 30s")), (2, true), "{err}");
}

/// Spec: [CLI-99]
#[tokio::test]
async fn a_log_is_followed_across_the_end_of_its_file() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let log = home.join(".harness/logs/serve.log");
    let mut follower = command(&home)
        .args(["logs", "-f", "-n", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = ChildStdout::from_std(follower.stdout.take().unwrap()).unwrap();
    let mut lines = BufReader::new(out).lines();
    let mut told = async |line: &str| {
        // It may not be looking yet when the first one is written.
        loop {
            let next = within(line, lines.next_line()).await.unwrap().unwrap();
            if next == line {
                return;
            }
        }
    };
    let (stop, mut is_over) = tokio::sync::oneshot::channel::<()>();
    let path = log.clone();
    let writing = tokio::spawn(async move {
        while is_over.try_recv().is_err() {
            append(&path, "first\n");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    told("first").await;
    stop.send(()).unwrap();
    writing.await.unwrap();
    std::fs::rename(&log, log.with_extension("log.1")).unwrap();
    append(&log.with_extension("log.1"), "last of the old one\n");
    append(&log, "first of the new one\n");
    told("last of the old one").await;
    told("first of the new one").await;
    let id = Pid::from_raw(i32::try_from(follower.id()).unwrap());
    kill(id, Signal::SIGINT).unwrap();
    let ended = tokio::task::spawn_blocking(move || follower.wait());
    let ended = within("the end", ended).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(130));
}

fn append(path: &std::path::Path, text: &str) {
    use std::io::Write as _;
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}
