use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::client::testing::{Home, Server};

fn hasty() -> StartWaits {
    StartWaits {
        start: Duration::from_secs(20),
        other: Duration::from_millis(20),
        look: Duration::from_millis(5),
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Spec: [CLI-62] [CLI-63]
#[actix::test]
async fn what_is_started_writes_a_private_log_and_is_waited_for() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let folder = &home.config.home;
    let found = fs::read_to_string(folder.join("service.json")).unwrap();
    fs::remove_file(folder.join("service.json")).unwrap();
    // It answers a little later, with a whole file.
    let path = folder.join("service.json");
    let path = path.display();
    let script = format!(
        "echo out; echo err >&2; cat; sleep 0.1; printf '%s' '{found}' > {path}.new; mv {path}.new {path}; exec sleep 5"
    );
    let (_, remark) = find_or_start(&home.config, shell(&script), hasty())
        .await
        .unwrap();
    let remark = remark.unwrap();
    assert!(remark.starts_with("started a service"), "{remark}");
    let log = folder.join("logs/serve.log");
    assert_eq!(fs::read_to_string(&log).unwrap(), "out\nerr\n");
    assert_eq!((mode(&log), mode(&folder.join("logs"))), (0o600, 0o700));

    // The next one finds it.
    let (_, remark) = find_or_start(&home.config, shell("exit 1"), hasty())
        .await
        .unwrap();
    assert_eq!(remark, None);
}

/// Spec: [CLI-62]
#[actix::test]
async fn one_that_ends_is_told_with_the_last_lines_of_its_own_log() {
    let server = Server::start().await;
    let home = Home::of(&server);
    fs::remove_file(home.config.home.join("service.json")).unwrap();
    for script in ["echo before; exit 1", "seq 1 9; exit 2"] {
        let started = find_or_start(&home.config, shell(script), hasty()).await;
        let Err(StartError::Ended {
            status, last_lines, ..
        }) = started
        else {
            panic!("{script}");
        };
        if status.code() == Some(2) {
            assert_eq!(last_lines, ["5", "6", "7", "8", "9"]);
        } else {
            assert_eq!(last_lines, ["before"]);
        }
    }
}

/// Spec: [CLI-62]
#[actix::test]
async fn one_that_does_not_answer_is_not_waited_for_for_ever() {
    let server = Server::start().await;
    let home = Home::of(&server);
    fs::remove_file(home.config.home.join("service.json")).unwrap();
    let waits = StartWaits {
        start: Duration::from_millis(50),
        ..hasty()
    };
    let started = find_or_start(&home.config, shell("exec sleep 5"), waits).await;
    let error = started.err().unwrap().to_string();
    let said = ", does not answer after 50ms; see ";
    assert!(error.starts_with("the service, process "), "{error}");
    assert!(error.contains(said), "{error}");
    assert_eq!(StartWaits::default().start, Duration::from_secs(10));
}
