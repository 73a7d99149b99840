//! `harness` alone and `harness attach`: the service behind them.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::Stdio;

use harness_protocol::Discovery;
use harness_standin::{Model, Standin};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getsid};

use crate::client::Connection;
use crate::eventually::eventually;
use crate::program::{Service, command, output};
use crate::screen::Screen;
use crate::talk::Talk;

/// Spec: [CONF-32]
#[test]
fn alone_without_a_terminal_the_help_goes_to_stderr_and_nothing_is_started() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, err) = output(&mut command(home.path()));
    assert_eq!((code, &*out), (2, ""));
    for part in ["Usage: harness", "harness attach", "Exit codes:"] {
        assert!(err.contains(part), "{part} is missing in:\n{err}");
    }
    assert!(!home.path().join(".harness").exists());
}

/// Spec: [CLI-61]
#[test]
fn attach_without_a_service_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, err) = output(command(home.path()).args(["attach", "--plain"]));
    assert_eq!((code, &*out), (1, ""));
    assert!(err.starts_with("harness: no service runs for "), "{err}");
    assert!(err.contains("harness serve"), "{err}");
    assert_eq!(err.lines().count(), 1);
    assert!(!home.path().join(".harness").exists());
}

/// Spec: [CLI-62] [CONF-45]
#[test]
fn a_service_that_does_not_start_is_told_with_its_own_words() {
    let home = tempfile::tempdir().unwrap();
    let (code, _, err) = output(command(home.path()).arg("--plain"));
    assert_eq!(code, 1);
    let lines: Vec<&str> = err.lines().collect();
    let [said, remark] = lines[..] else {
        panic!("{err}");
    };
    assert!(said.starts_with("harness: no API key: "), "{err}");
    assert!(said.ends_with(" with: harness --demo"), "{err}");
    assert!(remark.starts_with("harness: the service did not start (exit status: 2)"));
    assert!(remark.ends_with("/.harness/logs/serve.log"), "{err}");
}

pub(crate) fn discovery(home: &Path) -> Option<Discovery> {
    let text = std::fs::read_to_string(home.join(".harness/service.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Ends a service that no child of ours is, also when a test fails.
pub(crate) struct Ending(Pid);

impl Ending {
    /// The service that uses the state folder below a home folder.
    pub(crate) fn of(home: &Path) -> Self {
        let service = discovery(home).unwrap();
        Self(Pid::from_raw(i32::try_from(service.pid).unwrap()))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // It may have ended already.
        kill(self.0, Signal::SIGTERM).unwrap_or_default();
    }
}

/// Spec: [CLI-62] [CLI-64]
#[tokio::test]
async fn a_service_that_was_started_so_outlives_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut client = command(home.path())
        .args(["--plain", "--demo"])
        .env("HARNESS_PORT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let service = eventually("the service", async || discovery(home.path())).await;
    let pid = Pid::from_raw(i32::try_from(service.pid).unwrap());
    let ending = Ending(pid);
    assert_eq!(
        getsid(Some(pid)).unwrap(),
        pid,
        "it has no session of its own"
    );

    // A terminal that is closed tells so all its processes; the client may have ended by itself.
    let group = Pid::from_raw(i32::try_from(client.id()).unwrap());
    killpg(group, Signal::SIGHUP).unwrap_or_default();
    let ended = client.wait().unwrap();
    assert!(ended.signal().is_some() || ended.code().is_some());
    let mut connection = Connection::open(service.address.parse().unwrap()).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", service.address);
    connection.send(request.as_bytes()).await;
    assert_eq!(connection.answer().await.status, 200);

    drop(ending);
    eventually("its end", async || discovery(home.path()).is_none()).await;
    let log = home.path().join(".harness/logs/serve.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("harness listens on http://"), "{log}");
}

/// Spec: [CONF-44] [CONF-48]
#[tokio::test]
async fn a_port_that_somebody_has_matters_only_to_who_chose_it() {
    // If it cannot be had, somebody else has it.
    let _other = TcpListener::bind("127.0.0.1:8421");
    let said = "cannot listen on 127.0.0.1:8421: ";
    let strict = tempfile::tempdir().unwrap();
    let (code, _, err) = output(command(strict.path()).args(["serve", "--demo"]));
    assert_eq!((code, err.contains(said)), (1, true), "{err}");
    let mut chosen = command(strict.path());
    chosen
        .args(["--plain", "--demo"])
        .env("HARNESS_PORT", "8421");
    let (code, _, err) = output(&mut chosen);
    assert_eq!((code, err.contains(said)), (1, true), "{err}");

    let home = tempfile::tempdir().unwrap();
    let (code, _, err) = output(command(home.path()).args(["--plain", "--demo"]));
    let service = discovery(home.path()).unwrap();
    let _ending = Ending(Pid::from_raw(i32::try_from(service.pid).unwrap()));
    assert_eq!(
        (code, err.contains("started a service")),
        (0, true),
        "{err}"
    );
    assert_ne!(service.address, "127.0.0.1:8421");
    assert!(service.address.starts_with("127.0.0.1:"), "{service:?}");
}

/// Spec: [CLI-66] [CLI-67]
#[tokio::test]
async fn what_listens_and_says_nothing_does_not_keep_a_client_from_its_user() {
    let home = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let found = Discovery {
        address: address.clone(),
        pid: 1,
        epoch: "e".to_owned(),
        proof_key: Some("a key of the test".to_owned()),
        version: None,
    };
    let folder = home.path().join(".harness");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("service.json");
    std::fs::write(&file, serde_json::to_string(&found).unwrap()).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();

    let looking = "harness: looking for the service…";
    let said = format!("harness: the service at {address} does not answer");
    let mut screens = [&["attach"][..], &["--demo"]].map(|arguments| {
        // Of both, nothing is on the screen but these lines.
        Screen::start(home.path(), arguments, &[])
    });
    for screen in &mut screens {
        screen.shows(looking).await;
        assert_eq!(screen.ended().await, 1);
        screen.shows(&said).await;
    }
    let (code, _, err) = output(command(home.path()).args(["attach", "--plain"]));
    assert_eq!((code, err), (1, said + "\n"));
}

/// Spec: [CLI-810]
#[tokio::test]
async fn at_the_first_start_with_a_key_and_no_model_the_models_are_shown_to_choose_from() {
    let (standin, script) = Standin::scripted().unwrap();
    script.set_models(
        ["claude-haiku-5-5", "claude-opus-5-5"]
            .map(Model::new)
            .to_vec(),
    );
    let service = Service::start(&standin.base_url(), &[]).await;
    let mut screen = Screen::start(service.home.path(), &[], &[]);
    screen.shows("No model is set: choose one").await;
    screen.shows("claude-haiku-5-5").await;
    screen.keys("opus");
    screen.hides("claude-haiku-5-5").await;
    screen.keys("\r");
    screen
        .shows("model = \"claude-opus-5-5\" in config.toml")
        .await;
    screen.keys("\x04");
    assert_eq!(screen.ended().await, 0);
    let listed = service.get("/v1/conversations").await;
    let conversations = listed["conversations"].as_array().unwrap();
    let mut models = Vec::new();
    for conversation in conversations {
        let id = conversation["id"].as_str().unwrap().to_owned();
        let talk = Talk {
            service: &service,
            id,
        };
        let settings = service.get(&talk.path("/settings")).await;
        models.extend(settings["settings"]["model"].as_str().map(str::to_owned));
    }
    assert_eq!(models, ["claude-opus-5-5"]);

    // It is set now. In another conversation Esc leaves the default.
    let opens = async |flags: &[&str], expected: bool| {
        let mut screen = Screen::start(service.home.path(), flags, &[]);
        screen.shows("? help").await;
        if expected {
            screen.shows("No model is set: choose one").await;
            screen.keys("\x1b");
            screen.hides("No model is set").await;
        }
        screen.keys("\x04");
        assert_eq!(screen.ended().await, 0);
        let seen = String::from_utf8_lossy(&screen.bytes()).into_owned();
        assert_eq!(seen.contains("Esc leaves the default"), expected, "{seen}");
    };
    opens(&[], false).await;
    opens(&["--new"], true).await;
    script.push(harness_standin::Reply::text("Yes."));
    Talk::with(&service).say("hello").await;
    opens(&["--new"], false).await;
}
