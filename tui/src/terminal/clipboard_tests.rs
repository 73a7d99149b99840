use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn of(variables: &[&str]) -> Capabilities {
    let read = |name: &str| variables.contains(&name).then(|| "1".to_owned());
    Capabilities::new(read, false)
}

/// Spec: [TERM-20]
#[test]
fn each_place_has_its_ways_to_a_clipboard() {
    let plan_of = |variables: &[&str]| plan(312, &of(variables));
    let terminal = || CopyPlan {
        terminal: true,
        ..CopyPlan::default()
    };
    let with = |helpers: &[CopyHelper]| CopyPlan {
        helpers: helpers.to_vec(),
        ..terminal()
    };
    let tmux = || CopyPlan {
        tmux: true,
        ..terminal()
    };
    assert_eq!(plan_of(&[]), terminal());
    assert_eq!(plan_of(&["DISPLAY"]), with(&[X11]));
    assert_eq!(
        plan_of(&["DISPLAY", "WAYLAND_DISPLAY"]),
        with(&[WAYLAND, X11])
    );
    assert_eq!(plan_of(&["WSL_DISTRO_NAME"]), with(&[WINDOWS]));
    assert_eq!(plan_of(&["DISPLAY", "SSH_CONNECTION"]), terminal());
    assert_eq!(plan_of(&["TMUX", "SSH_CONNECTION"]), tmux());
    let mac = Capabilities::new(|_| None, true);
    assert_eq!(plan(312, &mac), with(&[MACOS]));
}

/// Spec: [TERM-21]
#[test]
fn a_terminal_is_told_no_more_than_it_takes() {
    let capabilities = of(&["TMUX", "DISPLAY"]);
    let longest = MAX_ENCODED / 4 * 3;
    let within = plan(longest, &capabilities);
    assert!(within.terminal && within.tmux);
    assert_eq!(sequence(&"x".repeat(longest)).len(), 9 + MAX_ENCODED);
    let expected = CopyPlan {
        helpers: vec![X11],
        ..CopyPlan::default()
    };
    assert_eq!(plan(longest + 1, &capabilities), expected);
}

/// Spec: [TERM-20]
#[tokio::test]
async fn the_terminal_is_told_in_one_sequence_and_the_person_in_words() {
    let mut written = Vec::new();
    let copied = copy("hé", &of(&[]), &mut written, Path::new("/nowhere")).await;
    assert_eq!(String::from_utf8(written).unwrap(), "\x1b]52;c;aMOp\x1b\\");
    let words = "sent to the terminal's clipboard, 2 characters";
    assert_eq!(copied.to_string(), words);
}

/// Spec: [TERM-21]
#[tokio::test]
async fn what_is_too_long_is_in_a_file_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    // Whatever was there, the rights are ours.
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let text = "é".repeat(40_000);
    let mut written = Vec::new();
    let copied = copy(&text, &of(&["TMUX"]), &mut written, folder.path()).await;
    assert_eq!(written, b"");
    let words = format!(
        "too long for the clipboard; written to {}, 40000 characters",
        path.display()
    );
    assert_eq!(copied.to_string(), words);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let missing = folder.path().join("missing");
    let copied = copy(&text, &of(&[]), &mut written, &missing).await;
    assert!(matches!(copied, CopyOutcome::Failed(_)), "{copied}");
}

fn shell(script: &'static [&'static str; 2]) -> CopyHelper {
    CopyHelper::new("sh", script)
}

/// Spec: [TERM-22]
#[tokio::test]
async fn a_program_that_helps_gets_the_text_and_has_its_limit() {
    let reads = shell(&["-c", "test \"$(cat)\" = text"]);
    help(reads, "text").await.unwrap();
    help(reads, "other").await.unwrap_err();
    help(CopyHelper::new("harness-no-such-program", &[]), "text")
        .await
        .unwrap_err();
    // Read by none, this fills the pipe.
    let long = "x".repeat(1 << 20);
    let began = tokio::time::Instant::now();
    let hangs = shell(&["-c", "exec sleep 60"]);
    let error = help(hangs, &long).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(began.elapsed() < LIMIT * 10);
    let windows = CopyHelper {
        is_utf16: true,
        ..shell(&[
            "-c",
            "test \"$(od -An -tx1 | tr -d ' \\n')\" = fffe6800e900",
        ])
    };
    help(windows, "hé").await.unwrap();
}
