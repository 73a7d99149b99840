//! The log of a client on a terminal, which must not appear on its screen.

use std::os::unix::fs::PermissionsExt as _;

use crate::program::{Service, command, output};
use crate::screen::Screen;

/// Spec: [CLI-65] [SEC-09]
#[tokio::test]
async fn a_client_on_a_screen_logs_to_a_file_and_else_to_standard_error() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let log = home.join(".harness/logs/tui.log");
    let mut quiet = Screen::attach(home, "ana").await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "");
    quiet.keys("\x04");
    assert_eq!(quiet.ended().await, 0);

    let environment = [("RUST_LOG", "info"), ("HARNESS_NAME", "ben\u{202e}")];
    let mut screen = Screen::start(home, &["attach"], &environment);
    screen.shows("Enter prompt...").await;
    screen.keys("\x04");
    assert_eq!(screen.ended().await, 0);
    let written = std::fs::read_to_string(&log).unwrap();
    let line = "ben\\u{202e} attaches to default\n";
    assert!(written.ends_with(line), "{written}");
    assert_eq!(written.lines().count(), 1);
    let shown = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(!shown.contains("attaches to"), "{shown}");
    let mode = std::fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut plain = command(home);
    plain
        .args(["attach", "--plain", "--name", "eve"])
        .env("RUST_LOG", "info");
    let (code, out, err) = output(&mut plain);
    assert_eq!(code, 0);
    assert!(err.contains("eve attaches to default"), "{err}");
    assert!(!out.contains("attaches to"), "{out}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), written);
}
