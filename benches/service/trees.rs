//! The cost of a command's inventory in a tree of 50,000 files that git tracks, beside the same command in an empty
//! folder and two bare looks at all files, in the same run.
//!
//! Spec: [BASH-18]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::json;

use crate::commands::begin;
use crate::process::Service;

/// Number of folders, and of files in each.
const FOLDERS: usize = 1000;
const FILES: usize = 50;
/// Number of commands in each folder.
const COMMANDS: usize = 15;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(commands());
}

async fn commands() {
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let reply = move |request: &MessagesRequest| -> Reply {
        noted.lock().unwrap().push(Instant::now());
        let content = request.last_content();
        if content[0]["type"] == "tool_result" {
            return Message::new().text("Done.").into();
        }
        let call = format!("t{}", request.messages().len());
        let input = json!({"command": "true", "access": "write"});
        Message::new().tool_use(call, "bash", input).into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start(&upstream.base_url());
    let (small, large) = (service.folder("small"), service.folder("large"));
    plant(&large);
    let mut conversations = Vec::new();
    for folder in [&small, &large] {
        git(folder);
        let made = json!({ "workspace": folder });
        let made = service.order("POST", "/v1/conversations", &made).await;
        let at = format!("/v1/conversations/{}", made["id"].as_str().unwrap());
        let rules = json!({"add": [{"rule": "bash(true)"}]});
        service.order("PATCH", &format!("{at}/rules"), &rules).await;
        conversations.push((at, Vec::new()));
    }
    let mut bare = Vec::new();
    for _ in 0..COMMANDS {
        for (at, took) in &mut conversations {
            begin(&service, at, "go").await;
            let asked = asked.lock().unwrap();
            took.push(asked[asked.len() - 1] - asked[asked.len() - 2]);
        }
        let began = Instant::now();
        assert_eq!(look(&large) + look(&large), 2 * FOLDERS * (FILES + 1));
        bare.push(began.elapsed());
    }
    let [small, large] = [0, 1].map(|number: usize| median(conversations[number].1.clone()));
    let (more, bare) = (large.saturating_sub(small), median(bare));
    println!(
        "a command in a tree of {} files: {large:.2?}, {more:.2?} more than in an empty folder ({small:.2?}); two looks of \
         one thread: {bare:.2?}: {:.2} x",
        FOLDERS * FILES,
        more.as_secs_f64() / bare.as_secs_f64()
    );
}

fn plant(folder: &Path) {
    for number in 0..FOLDERS {
        let folder = folder.join(format!("{}/folder-{number}", number / 100));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES {
            fs::write(
                folder.join(format!("file-{file}.txt")),
                format!("{number} {file}\n"),
            )
            .unwrap();
        }
    }
}

/// Makes a repository of what is in a folder.
fn git(folder: &Path) {
    // What is written in the second of the index has to be read again.
    std::thread::sleep(Duration::from_secs(1));
    for words in [&["init", "-q"][..], &["add", "-A"]] {
        let done = Command::new("git")
            .args(words)
            .current_dir(folder)
            .status()
            .unwrap();
        assert!(done.success());
    }
}

/// Number of files and folders below the second level, each looked at.
fn look(folder: &Path) -> usize {
    let mut count = 0;
    for top in fs::read_dir(folder).unwrap() {
        let top = top.unwrap();
        if top.file_name() == ".git" {
            continue;
        }
        for folder in fs::read_dir(top.path()).unwrap() {
            let folder = folder.unwrap();
            let inside = fs::read_dir(folder.path()).unwrap();
            let looked = inside.map(|entry| entry.unwrap().metadata().unwrap());
            count += 1 + looked.count();
        }
    }
    count
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
