//! Commands whose stages are killed at any moment: nothing that they have started is left.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use harness_standin::{Catalogue, Message, MessagesRequest, Reply, Standin};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tokio::time::Instant;

use crate::bash::{marked, none_left, processes};
use crate::bounds::stretched;
use crate::changing::{open, order};
use crate::checker::check;
use crate::client::within;
use crate::eventually::eventually;
use crate::program::{MODEL, Service};
use crate::talk::model;

/// Number of kills; `HARNESS_COMMAND_KILLS` sets another number.
const KILLS: u32 = 25;
/// Number of kills in one conversation: their results are sent with each request.
const OF_ONE_CONVERSATION: u32 = 20;
/// Time after which nothing of a command may be left.
const LEFT_FOR: Duration = Duration::from_secs(1);

/// The commands, with a number for `@` that no other process has. None has more than 60 processes.
const COMMANDS: [&str; 9] = [
    "sleep @",
    "for i in $(seq 30); do sleep @ & done; wait",
    "for i in $(seq 10); do setsid sleep @ & setsid -f sleep @; done; sleep @",
    "(setsid nohup sh -c 'sleep @ & sleep @' &); (sleep @ &); sleep @",
    "trap '' TERM HUP INT; for i in $(seq 10); do (setsid sh -c 'sleep @; sleep @') & done; wait",
    "yes @ & yes @ >&2 & setsid yes @",
    // Something that is never the same process for long.
    "hop() { if [ $1 -gt 0 ]; then (hop $(($1 - 1)) &); fi; }; hop 2000 & sleep @",
    "(kill -STOP $BASHPID; sleep @) & setsid sleep @ & sleep @",
    // One that is at its end, with something behind it that stays.
    "setsid sleep @ & (trap '' TERM; sleep @; sleep @) & sleep 0.05",
];
/// The command that ends by itself.
const ENDS: &str = "sleep 0.05";
/// The result for a command that was not started.
const NOT_RUN: &str = "the command was not run";

/// The process to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Service,
    Warden,
    Init,
    Shell,
}

const VICTIMS: [Victim; 4] = [Victim::Service, Victim::Warden, Victim::Init, Victim::Shell];

impl Victim {
    /// The beginning of its processes' command lines after the program. `None` for the service.
    fn words(self) -> Option<&'static str> {
        match self {
            Self::Service => None,
            Self::Warden => Some(" __launch warden "),
            Self::Init => Some(" __launch init "),
            Self::Shell => Some("bash --norc "),
        }
    }
}

/// A model that runs the command in the prompt, and then reports that it did.
fn obeying() -> impl Fn(&MessagesRequest) -> Reply {
    let calls = AtomicUsize::new(0);
    move |request| {
        let last = request.last_content();
        let Some(text) = last.last().and_then(|block| block["text"].as_str()) else {
            return Reply::text("done");
        };
        let id = format!("call_{}", calls.fetch_add(1, Ordering::Relaxed));
        let input = json!({ "command": text });
        Message::new().tool_use(id, "bash", input).into()
    }
}

/// The processes that a process has started, with those that they have: nearest first, each with
/// its command line.
fn descendants(of: u32) -> Vec<(u32, String)> {
    let (mut found, mut next) = (Vec::new(), VecDeque::from([of]));
    while let Some(pid) = next.pop_front() {
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let children = children.split_ascii_whitespace();
            for child in children.map(|child| child.parse::<u32>().unwrap()) {
                let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push((child, line));
                next.push_back(child);
            }
        }
    }
    found
}

/// One service, and the conversation in which commands run now.
struct Running {
    service: Service,
    standin: Standin,
    id: String,
    /// The folder with the temporary folders of commands.
    temp: PathBuf,
}

impl Running {
    async fn start() -> Self {
        let models = Catalogue::new(vec![model(10_000_000)]);
        let standin = Standin::serving(obeying(), models).unwrap();
        let home = tempfile::tempdir().unwrap();
        let temp = home.path().join("tmp");
        fs::create_dir(&temp).unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let variables = [("TMPDIR".to_owned(), temp.to_str().unwrap().to_owned())];
        let flags = ["--model", MODEL, "--max-turns", "100000"];
        let base_url = standin.base_url();
        let service = Service::start_with(home, &base_url, &flags, &variables).await;
        Self {
            service,
            standin,
            id: String::new(),
            temp,
        }
    }

    async fn begin_conversation(&mut self) {
        let workspace = json!({"workspace": self.service.home.path().join("work")});
        self.id = self.service.create(&workspace).await;
    }

    fn path(&self, what: &str) -> String {
        format!("/v1/conversations/{}{what}", self.id)
    }

    async fn state(&self) -> String {
        let snapshot = self.service.get(&self.path("?tail=0")).await;
        snapshot["summary"]["state"].as_str().unwrap().to_owned()
    }

    /// Lets the model run a command, and allows it.
    async fn begin(&self, command: &str) {
        let (service, prompt) = (&self.service, json!({ "content": command }));
        let taken = order(service, "POST", &self.path("/prompt"), &prompt).await;
        assert_eq!(taken.status, 200, "{taken:?}");
        let approval = within("an approval", async {
            loop {
                match open(service, &self.id).await {
                    Some(approval) => return approval,
                    None => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        })
        .await;
        let body = json!({"answer": "allow", "digest": approval["digest"]});
        let path = self.path(&format!("/approvals/{}", approval["id"]));
        let taken = order(service, "POST", &path, &body).await;
        assert_eq!(taken.status, 200, "{taken:?}");
    }

    /// The result of the last command, when its run has ended.
    async fn result(&self) -> String {
        eventually("the end of the run", async || {
            self.state().await != "running"
        })
        .await;
        let snapshot = self.service.get(&self.path("?tail=20")).await;
        let events = snapshot["history"]["events"].as_array().unwrap();
        let mut events = events.iter().rev().map(|past| &past["event"]);
        let last = events.find(|event| event["type"] == "tool_result").unwrap();
        last["result"].as_str().unwrap().to_owned()
    }

    /// The first process of that sort, when there is one; none if the run has ended before.
    async fn pid_of(&self, victim: Victim) -> Option<u32> {
        let Some(words) = victim.words() else {
            return Some(self.service.id());
        };
        within("the process", async {
            loop {
                for _ in 0..50 {
                    let all = descendants(self.service.id());
                    let found = all.iter().find(|(_, line)| line.contains(words));
                    if let Some((pid, _)) = found {
                        return Some(*pid);
                    }
                    tokio::task::yield_now().await;
                }
                if self.state().await != "running" {
                    return None;
                }
            }
        })
        .await
    }

    /// Starts the service again, and ends the run that it continues: a command that was allowed and had not begun.
    async fn revive(&mut self) {
        self.service.revive().await;
        order(&self.service, "POST", &self.path("/cancel"), &json!({})).await;
        eventually("the end of the run", async || {
            self.state().await != "running"
        })
        .await;
    }
}

/// The end of a command, according to its result.
fn told(result: &str) -> &str {
    if result.contains(NOT_RUN) {
        return NOT_RUN;
    }
    let (_, last) = result
        .rsplit_once("\n[")
        .unwrap_or_else(|| result.split_at(1));
    last.split(" · ").next().unwrap()
}

/// Waits until the stages of commands have ended.
async fn no_stage_left(stages: &[u32]) {
    let end = Instant::now() + stretched(LEFT_FOR);
    let is_stage = |pid: &&u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("__launch")
    };
    while let Some(left) = stages.iter().find(is_stage) {
        assert!(Instant::now() < end, "the stage {left} is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Removes what is in the folder for temporary files.
fn remove_folders(temp: &Path) {
    fs::remove_dir_all(temp).unwrap();
    fs::create_dir(temp).unwrap();
}

/// Waits until no folder for temporary files is left.
async fn no_folder_left(temp: &Path) {
    let end = Instant::now() + stretched(LEFT_FOR);
    loop {
        let mut left = fs::read_dir(temp).unwrap().flatten();
        let Some(left) = left.find(|entry| entry.path().is_dir()) else {
            return;
        };
        assert!(Instant::now() < end, "{} is left", left.path().display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Spec: [BASH-02] [BASH-05]
#[tokio::test]
async fn whoever_of_those_that_hold_a_command_is_killed_nothing_of_it_is_left() {
    let kills = std::env::var("HARNESS_COMMAND_KILLS");
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {kills} kills");
    let mut random = Rng::with_seed(seed);
    let mut here = Running::start().await;
    let mut outcomes: BTreeMap<(Victim, String), u32> = BTreeMap::new();
    let mut longest = Duration::ZERO;
    for number in 0..kills {
        if number % OF_ONE_CONVERSATION == 0 {
            here.begin_conversation().await;
        }
        let marker = marked(1000 + number);
        let victim = VICTIMS[random.usize(..VICTIMS.len())];
        let command = COMMANDS[random.usize(..COMMANDS.len())].replace('@', &marker);
        // While it starts, or while it runs.
        let most = if random.bool() { 5_000 } else { 120_000 };
        let wait = Duration::from_micros(random.u64(..most));
        println!("{number}: {victim:?} after {wait:?}: {command}");

        here.begin(&command).await;
        let pid = here.pid_of(victim).await;
        tokio::time::sleep(wait).await;
        let all = descendants(here.service.id());
        let is_stage = |(_, line): &&(u32, String)| line.contains("__launch");
        let stages = all.iter().filter(is_stage);
        let stages: Vec<u32> = stages.map(|(pid, _)| *pid).collect();
        let running = processes(&marker).len();
        assert!(running <= 60, "{running} processes");
        let outcome = match (victim, pid) {
            (Victim::Service, _) => {
                here.service.kill();
                "killed".to_owned()
            }
            (_, Some(pid)) => {
                // It may have ended by now.
                let pid = Pid::from_raw(i32::try_from(pid).unwrap());
                let killed = kill(pid, Signal::SIGKILL);
                killed.map_or("had ended", |()| "killed").to_owned()
            }
            (_, None) => "had ended".to_owned(),
        };
        let killed = Instant::now();
        none_left(&marker, LEFT_FOR).await;
        longest = longest.max(killed.elapsed());
        no_stage_left(&stages).await;
        if victim != Victim::Service || stages.len() > 1 {
            no_folder_left(&here.temp).await;
        } else {
            // No stage knew of the folder yet.
            remove_folders(&here.temp);
        }
        if victim == Victim::Service {
            check(&here.service.journal(&here.id));
            here.revive().await;
        } else {
            let result = here.result().await;
            let told = told(&result);
            println!("    {outcome}: {told}");
            let expected: &[&str] = match victim {
                Victim::Service => &[],
                // The init may not have been told what to run.
                Victim::Warden => &["ended from outside", NOT_RUN],
                Victim::Init => &["ended from outside"],
                Victim::Shell => &["ended by SIGKILL"],
            };
            let has_ended = command.ends_with(ENDS) && told == "exit 0";
            assert!(has_ended || expected.contains(&told), "{result}");
        }
        none_left(&marker, Duration::ZERO).await;
        *outcomes.entry((victim, outcome)).or_default() += 1;
        here.begin("echo again").await;
        let result = here.result().await;
        assert!(result.starts_with("again\n[exit 0 · "), "{result}");
        check(&here.service.journal(&here.id));
    }
    println!("{kills} kills, nothing was left after {longest:?}: {outcomes:?}");
    assert_eq!(here.standin.violations(), [""; 0]);
}
