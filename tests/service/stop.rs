//! The stop of the service.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use harness_standin::{Gate, Message};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::time::Instant;

use crate::bounds::took_at_most;
use crate::client::within;
use crate::eventually::eventually;
use crate::program::{Service, slow_search};

/// Spec: [HTTP-14] [CONV-25]
#[tokio::test]
async fn a_signal_ends_runs_and_streams_and_the_program_in_time() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let (mut service, _standin, script) = Service::scripted(&[]).await;
        let gate = Gate::new();
        script.push(
            Message::new()
                .words_per_delta(1)
                .text("one two three four")
                .gate_after_delta(2, &gate),
        );
        let mut events = service.events().await;
        service.submit("hello").await;
        within("the middle of the reply", gate.reached()).await;
        let asked = Instant::now();
        service.signal(signal);
        let (state, message) = events.end().await;
        assert_eq!(
            (&*state, &*message),
            ("error", "interrupted: the service was stopped")
        );
        let last = events.frame().await.unwrap();
        assert_eq!(last, ": the service is stopping\nretry: 1000");
        assert_eq!(events.frame().await, None);
        assert_eq!(service.ended().await.code(), Some(0));
        took_at_most(Duration::from_secs(5), asked.elapsed());
    }
}

/// Spec: [CONV-25]
#[tokio::test]
async fn no_child_process_is_left_behind() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let (name, content, pattern) = slow_search();
    std::fs::write(service.home.path().join(name), content).unwrap();
    script.push(Message::new().tool_use("t", "grep", json!({"pattern": pattern, "path": name})));
    let mut events = service.events().await;
    service.submit("search").await;
    events.until("tool_call").await;
    let grep = eventually("a running grep", async || process_in(service.home.path()));
    let grep = grep.await;
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended().await.code(), Some(0));
    assert!(!std::path::Path::new(&format!("/proc/{grep}/cmdline")).exists());
}

/// A `grep` that works in that folder.
pub(crate) fn process_in(folder: &std::path::Path) -> Option<u32> {
    let folder = folder.canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.into_iter().find(|id: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        let works_in = std::fs::read_link(format!("/proc/{id}/cwd")).ok();
        name.trim() == "grep" && works_in.as_ref() == Some(&folder)
    })
}

/// Spec: [HTTP-14] [CONF-46]
#[tokio::test]
async fn an_idle_service_with_clients_stops_at_once_and_starts_again_on_its_port() {
    let (mut service, standin, _script) = Service::scripted(&[]).await;
    let _attached = [service.events().await, service.events().await];
    let asked = Instant::now();
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended().await.code(), Some(0));
    took_at_most(Duration::from_secs(3), asked.elapsed());
    let port = service.address.port().to_string();
    let home = tempfile::tempdir().unwrap();
    let again = Service::start_in(home, &standin.base_url(), &["--port", &port]).await;
    assert_eq!(again.address, service.address);
}

/// Spec: [HTTP-97] [HTTP-98]
#[tokio::test]
async fn standard_error_that_nobody_reads_holds_nobody_up_and_the_end_comes_in_time() {
    let home = Arc::new(tempfile::tempdir().unwrap());
    let (mut unread, stderr) = std::io::pipe().unwrap();
    let flags = ["--demo", "--log", "info"];
    let mut service = Service::start_telling(home, "", &flags, &[], stderr).await;
    // A pipe takes 64 KiB.
    let refused = 500;
    for _ in 0..refused {
        let answer = service.send("GET", "/nowhere", "", "").await;
        assert_eq!(answer.status, 404);
    }
    service.submit("hello").await;
    let asked = Instant::now();
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended().await.code(), Some(0));
    took_at_most(Duration::from_secs(5), asked.elapsed());
    let mut told = String::new();
    unread.read_to_string(&mut told).unwrap();
    assert!(told.len() >= 60_000, "{}", told.len());
    // The file has what the terminal did not take.
    let log = service.home.path().join(".harness/logs/serve.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("refused with 404").count(), refused);
    assert!(log.contains("harness::serve: stopped"));
}
