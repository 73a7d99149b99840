//! A service without clients uses no processor time.

use std::path::PathBuf;
use std::time::Duration;

use crate::program::Service;

/// Duration of the observation.
const LOOK: Duration = Duration::from_secs(4);
/// Maximum number of wake-ups meanwhile.
const MOST: u64 = 4;
/// The time within which a look without more must come.
const ENOUGH: Duration = Duration::from_secs(60);

/// Number of times that the threads of a process have waited for something so far.
fn waits(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let status = |task: PathBuf| std::fs::read_to_string(task.join("status")).unwrap_or_default();
    tasks
        .map(|task| {
            let status = status(task.unwrap().path());
            let count = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            count.map_or(0, |count| count.trim().parse::<u64>().unwrap())
        })
        .sum()
}

/// Spec: [HTTP-108]
#[tokio::test]
async fn a_service_that_nobody_is_connected_to_is_hardly_ever_woken_up() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    // Each worker has had clients.
    let clients = [service.events().await, service.events().await];
    drop(clients);
    service.get("/v1/service").await;
    let quiet = async {
        loop {
            let before = waits(service.id());
            tokio::time::sleep(LOOK).await;
            // A thread of the start may end meanwhile, and its count with it.
            let Some(woken) = waits(service.id()).checked_sub(before) else {
                continue;
            };
            println!("woken {woken} times in {LOOK:?}");
            if woken <= MOST {
                return;
            }
        }
    };
    let came = tokio::time::timeout(ENOUGH, quiet).await;
    came.expect("a quiet service");
    // It is there for the next one.
    service.submit("hello").await;
}
