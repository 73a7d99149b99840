//! The program at the command line.

use std::net::TcpListener;

use crate::program::{API_KEY, Service, command, output};

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(home.path());
    command.args(arguments).envs(environment.iter().copied());
    output(&mut command)
}

/// Spec: [CONF-45]
#[test]
fn without_a_key_the_program_says_how_to_get_one_or_do_without() {
    let (code, out, err) = run(&["serve", "--port", "0"], &[]);
    assert_eq!((code, &*out), (2, ""));
    assert!(
        err.starts_with("harness: no API key: set ANTHROPIC_API_KEY"),
        "{err}"
    );
    assert!(err.contains("harness serve --demo"), "{err}");
    assert_eq!(err.lines().count(), 1);
}

/// Spec: [CONF-32] [CONF-22] [SEC-01]
#[test]
fn wrong_use_has_exit_code_2_and_a_line_that_says_what_to_do() {
    for (arguments, environment, named) in [
        (&["serve", "--demo", "--port", "99999"][..], &[][..], "port"),
        (&["serve", "--demo", "--max-turns", "0"], &[], "max_turns"),
        (
            &["serve", "--demo", "--max-tokens", "-5"],
            &[],
            "max_tokens",
        ),
        (
            &["serve", "--demo", "--bind", "0.0.0.0"],
            &[],
            "--require-token",
        ),
        (
            &["serve", "--demo", "--workspace", "/no/such/folder"],
            &[],
            "workspace",
        ),
        (
            &["serve", "--port", "0"],
            &[
                ("ANTHROPIC_BASE_URL", "http://192.0.2.1"),
                ("ANTHROPIC_API_KEY", API_KEY),
            ],
            "ANTHROPIC_BASE_URL",
        ),
        (&["serve", "--nonsense"], &[], "--nonsense"),
    ] {
        let (code, _, err) = run(arguments, environment);
        assert_eq!(code, 2, "{arguments:?}: {err}");
        assert!(err.contains(named), "{arguments:?}: {err}");
        assert!(!err.contains(API_KEY));
    }
}

/// Spec: [CONF-44]
#[test]
fn a_port_that_is_taken_is_a_failure_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, _, err) = run(&["serve", "--demo", "--port", &port], &[]);
    assert_eq!(code, 1, "{err}");
    assert!(
        err.starts_with(&format!("harness: cannot listen on 127.0.0.1:{port}: ")),
        "{err}"
    );
    assert!(err.contains("--port"), "{err}");
}

/// Spec: [CONF-47]
#[test]
fn a_settings_file_that_is_none_is_named_and_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".harness");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("config.toml");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ask = || output(command(home.path()).arg("config"));
    let (code, _, err) = ask();
    assert_eq!(code, 2);
    assert!(err.contains("config.toml: it is not a file"), "{err}");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "#".repeat(2_000_000)).unwrap();
    let (code, _, err) = ask();
    assert_eq!(code, 2);
    assert!(err.contains("it is larger than 1048576 bytes"), "{err}");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    let (code, _, err) = output(command(home.path()).args(["serve", "--demo", "--port", "0"]));
    assert_eq!(code, 1);
    assert!(err.contains(".harness is not a folder"), "{err}");
}

/// Spec: [CONF-28] [CONF-29]
#[test]
fn config_shows_values_and_sources_and_no_secret() {
    let environment = [("ANTHROPIC_API_KEY", API_KEY), ("HARNESS_MAX_TURNS", "7")];
    let (code, out, err) = run(&["config", "--model", "m"], &environment);
    assert_eq!((code, &*err), (0, ""));
    for part in ["max_turns", "HARNESS_MAX_TURNS", "--model", "***"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains(API_KEY));
    let (code, out, _) = run(&["config", "--json"], &environment);
    assert_eq!(code, 0);
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = rows["items"].as_array().unwrap();
    assert!(rows.len() > 20);
    let value = |key: &str| &rows.iter().find(|row| row["key"] == key).unwrap()["value"];
    assert_eq!(value("max_tokens"), 4096);
    assert_eq!(value("port"), 8421);
    assert_eq!(value("require_token"), false);
    assert_eq!(value("allowed_hosts"), &serde_json::Value::Null);
    assert!(value("deny_read").is_array());
    assert!(!out.contains(API_KEY));
}

/// Spec: [HTTP-01]
#[tokio::test]
async fn the_demo_lists_reads_and_greps_and_can_be_cancelled() {
    // The demo takes no notice of where the API is said to be.
    let service = Service::start("http://127.0.0.1:9", &["--demo"]).await;
    std::fs::write(service.home.path().join("a.rs"), "fn main() {}\n").unwrap();
    let mut events = service.events().await;
    service
        .submit("list ., read a.rs lines 1-1 and grep fn main in a.rs")
        .await;
    let run = events.run().await;
    let results: Vec<&str> = run
        .iter()
        .filter_map(|event| event["result"].as_str())
        .collect();
    assert_eq!(results.len(), 3, "{run:?}");
    assert!(results[0].contains("a.rs"));
    assert_eq!(results[1], r#"{"content":"fn main() {}"}"#);
    assert_eq!(results[2], r#"{"matches":"1:fn main() {}"}"#);
    assert_eq!(run.last().unwrap()["state"], "idle");
    service.submit("tell me a long story").await;
    events.until("status").await;
    assert!(service.cancel().await);
    assert_eq!(events.end().await, ("idle".into(), "cancelled".into()));
}
