use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::*;
use crate::client::testing::recorded;
use crate::state_dir::StateFolder;
use crate::state_dir::lock;

fn hasty() -> StopWaits {
    StopWaits {
        named: Duration::from_millis(50),
        stop: Duration::from_millis(100),
        again: Duration::from_millis(100),
        kill: Duration::from_secs(10),
        look: Duration::from_millis(5),
    }
}

struct Folder {
    config: ClientConfig,
    _temp: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("state");
        StateFolder::open(&home).unwrap();
        Self {
            config: ClientConfig {
                home,
                token: None,
                secrets: Vec::new(),
            },
            _temp: temp,
        }
    }

    fn name(&self, pid: u32) {
        let file = json!({"address": "127.0.0.1:1", "pid": pid, "epoch": "e"});
        std::fs::write(self.config.home.join("service.json"), file.to_string()).unwrap();
    }

    /// A process that has the lock and takes no notice of SIGTERM.
    fn stubborn(&self) -> Child {
        let child = Command::new("/bin/sh")
            .args(["-c", "trap '' TERM; exec flock -F \"$0\" sleep 60"])
            .arg(self.config.home.join("lock"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        while !lock::is_held(&self.config.home).unwrap() {
            std::thread::yield_now();
        }
        child
    }
}

/// Spec: [CLI-94]
#[actix::test]
async fn a_process_is_stopped_only_if_it_has_the_lock_and_is_named() {
    let folder = Folder::new();
    let home = &folder.config.home;
    let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
    // A file that is stale names a process that is none of ours.
    folder.name(stranger.id());
    assert_eq!(target(&folder.config, hasty()).await.unwrap(), None);

    let lock = StateFolder::open(home).unwrap().lock().unwrap();
    let own = std::process::id();
    let refused = target(&folder.config, hasty()).await.unwrap_err();
    let said = format!(
        "process {own} uses {}, and service.json names process {}; nothing was stopped",
        home.display(),
        stranger.id()
    );
    assert!(refused.to_string().starts_with(&said), "{refused}");
    std::fs::remove_file(home.join("service.json")).unwrap();
    let refused = target(&folder.config, hasty()).await.unwrap_err();
    assert!(refused.to_string().contains("names none"), "{refused}");
    folder.name(own);
    assert_eq!(target(&folder.config, hasty()).await.unwrap(), Some(own));
    drop(lock);
    assert_eq!(target(&folder.config, hasty()).await.unwrap(), None);
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// Spec: [CLI-95]
#[actix::test]
async fn what_does_not_stop_is_said_and_killed_only_by_force() {
    let folder = Folder::new();
    let home = &folder.config.home;
    let mut child = folder.stubborn();
    folder.name(child.id());
    let pid = target(&folder.config, hasty()).await.unwrap().unwrap();
    assert_eq!(pid, child.id());
    let (mut output, record) = recorded();
    let asked = stop(home, pid, Insistence::Ask, hasty(), &mut output).await;
    let said =
        format!("process {pid} has not stopped within 100ms; `harness stop --force` kills it");
    assert_eq!(asked.unwrap_err().to_string(), said);
    assert!(child.try_wait().unwrap().is_none());
    let forced = stop(home, pid, Insistence::Kill, hasty(), &mut output).await;
    forced.unwrap();
    assert!(record.err().contains("is killed"), "{}", record.err());
    child.wait().unwrap();
}
