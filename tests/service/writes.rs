//! Writing to files while the service is killed, and while others write to them too.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness_standin::{Catalogue, Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::changing::{edit_of, left_in, put_by_hand};
use crate::checker::{Checked, check};
use crate::client::within;
use crate::program::{MODEL, Service};
use crate::talk::{Talk, model, serving};

/// Number of times that the service is killed; `HARNESS_WRITE_KILLS` sets another number.
const KILLS: u64 = 10;
/// Size of the file that is changed, in bytes.
const SIZE: usize = 4 * 1024 * 1024;

/// The file with a number in its first line.
fn numbered(number: u64) -> Vec<u8> {
    let mut content = format!("mark {number}\n").into_bytes();
    let line = "0123456789abcdef".repeat(1024) + "\n";
    while content.len() < SIZE {
        content.extend_from_slice(line.as_bytes());
    }
    content
}

/// The number in the first line of a file.
fn number_of(content: &[u8]) -> u64 {
    let line = content.split(|byte| *byte == b'\n').next().unwrap();
    let number = std::str::from_utf8(line).unwrap().strip_prefix("mark ");
    number.unwrap().parse().unwrap()
}

/// A model that counts the file's first line up until the prompt is `stop`.
fn counting(file: PathBuf) -> impl Fn(&MessagesRequest) -> Reply {
    let calls = AtomicUsize::new(0);
    move |request| {
        let last = request.last_content();
        let said = last.last().and_then(|block| block["text"].as_str());
        if said == Some("stop") {
            return Reply::text("stopped");
        }
        let number = number_of(&std::fs::read(&file).unwrap());
        let (old, new) = (format!("mark {number}\n"), format!("mark {}\n", number + 1));
        let id = format!("call_{}", calls.fetch_add(1, Ordering::Relaxed));
        let path = file.to_str().unwrap();
        Message::new()
            .tool_use(id, "edit", edit_of(path, &old, &new))
            .into()
    }
}

fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The last change that was begun, and whether its call has a result.
fn last_effect(checked: &Checked) -> (Value, bool) {
    let records = checked.records.iter().map(|(_, record)| record);
    let mut last = (Value::Null, true);
    for record in records {
        match record["type"].as_str().unwrap() {
            "effect_began" => last = (record["data"]["change"].clone(), false),
            "tool_result" => last.1 = true,
            _ => {}
        }
    }
    last
}

/// Waits until there is a file beside the one that is changed, or none any more.
async fn until_left(folder: &Path, is_there: bool) {
    within("a temporary file", async {
        while left_in(folder).is_empty() == is_there {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Spec: [TOOL-58] [TOOL-63] [APPR-08]
#[tokio::test]
async fn f09_whenever_the_service_dies_a_file_is_the_old_or_the_new_one() {
    let kills = std::env::var("HARNESS_WRITE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {kills} kills");
    let mut random = fastrand::Rng::with_seed(seed);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("f");
    std::fs::write(&file, numbered(0)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let models = Catalogue::new(vec![model(10_000_000)]);
    let standin = Standin::serving(counting(file.clone()), models).unwrap();
    let flags = ["--model", MODEL, "--mode", "edits", "--max-turns", "100000"];
    let mut service = Service::start_in(home, &standin.base_url(), &flags).await;
    let (mut old, mut new, mut left) = (0, 0, 0);
    let mut takes = Default::default();
    for kill in 0..kills {
        let mut events = service.follow("default", "", "").await;
        service.submit("count").await;
        events.until("effect_began").await;
        if kill == 0 {
            let begun = Instant::now();
            until_left(&folder, true).await;
            let beside = Instant::now();
            until_left(&folder, false).await;
            takes = (begun.elapsed(), beside.elapsed());
        }
        // At any moment of a change, or while the new file lies beside the old one.
        let longest = if random.bool() {
            takes.0
        } else {
            until_left(&folder, true).await;
            takes.1
        };
        let longest = u64::try_from(longest.as_micros()).unwrap();
        let wait = random.u64(..longest.max(1));
        tokio::time::sleep(Duration::from_micros(wait)).await;
        service.kill();

        let content = std::fs::read(&file).unwrap();
        assert_eq!(
            content,
            numbered(number_of(&content)),
            "neither the old nor the new"
        );
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
        let (change, is_told) = last_effect(&check(&service.journal("default")));
        let hash = sha256(&content);
        let is_new = change["after"] == hash.as_str();
        assert!(
            is_new || (!is_told && change["before"] == hash.as_str()),
            "{change}"
        );
        old += u64::from(!is_told && !is_new);
        new += u64::from(!is_told && is_new);
        left += left_in(&folder).len();

        service = service.restart().await;
        service.submit("stop").await;
        service.idle("default").await;
        assert_eq!(
            left_in(&folder),
            [""; 0],
            "a crash left files, and the next run did not remove them"
        );
        if !is_told {
            let results = Talk::with(&service).past_of("tool_result").await;
            let told = results.last().unwrap()["result"].to_string();
            let expected = if is_new {
                "was changed"
            } else {
                "was not changed"
            };
            assert!(told.contains(expected), "{told}");
        }
    }
    let last = number_of(&std::fs::read(&file).unwrap());
    println!(
        "{kills} kills, a change takes {:?}, and {:?} with two files; killed in a change: {old} with the old \
         file, {new} with the new one; {left} temporary files were left and removed; {last} changes",
        takes.0, takes.1
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Number of lines that each conversation adds.
const LINES: u64 = 40;
/// Number of lines that each editor adds: a change that is planned again and again succeeds at last.
const BY_EDITOR: u64 = 300;

/// A model that adds lines to `f`, one a call, each behind the one before; who they are of is the
/// prompt. What failed is tried again.
fn adding() -> impl Fn(&MessagesRequest) -> Reply {
    let calls = AtomicUsize::new(0);
    move |request| {
        let content = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
        let blocks: Vec<Value> = request.messages().iter().flat_map(content).collect();
        let who = blocks[0]["text"].as_str().unwrap();
        let is_done = |block: &&Value| block["type"] == "tool_result" && block["is_error"] != true;
        let number = blocks.iter().filter(is_done).count() as u64;
        if number == LINES {
            return Reply::text("done");
        }
        let (last, next) = (
            format!("{who} {number}\n"),
            format!("{who} {}\n", number + 1),
        );
        let id = format!("call_{}", calls.fetch_add(1, Ordering::Relaxed));
        let mut input = edit_of("f", &last, &(last.clone() + &next));
        // An editor may have taken in a line that was not kept, and it comes once more.
        input["replace_all"] = true.into();
        Message::new().tool_use(id, "edit", input).into()
    }
}

/// Lets the others have their turn: an editor is no faster than this.
async fn pause() {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(1_000..15_000))).await;
}

/// An editor that puts new files in the place of the old ones.
async fn exchanging(file: PathBuf) {
    for number in 1..=BY_EDITOR {
        put_by_hand(&file, &format!("c {number}\n"));
        pause().await;
    }
}

/// An editor that adds to the file in place. Tells how many lines went into a file that was not replaced
/// meanwhile.
async fn in_place(file: PathBuf) -> u64 {
    let mut kept = 0;
    for number in 1..=BY_EDITOR {
        let mut opened = File::options().append(true).open(&file).unwrap();
        let line = format!("d {number}\n");
        opened.write_all(line.as_bytes()).unwrap();
        let written = opened.metadata().unwrap().ino();
        kept += u64::from(std::fs::metadata(&file).unwrap().ino() == written);
        pause().await;
    }
    kept
}

/// Spec: [TOOL-58]
#[tokio::test]
async fn f18_two_conversations_and_two_editors_of_one_file_lose_no_change() {
    let flags = ["--mode", "edits", "--max-turns", "100000"];
    let (service, standin, _) = serving(adding(), model(10_000_000), &flags).await;
    let folder = service.home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("f");
    std::fs::write(&file, "a 0\nb 0\n").unwrap();
    let mut ids = Vec::new();
    for who in ["a", "b"] {
        let id = service.create(&json!({"workspace": folder})).await;
        let talk = Talk {
            service: &service,
            id,
        };
        talk.prompt(who).await;
        ids.push(talk.id);
    }
    let by_exchange = tokio::spawn(exchanging(file.clone()));
    let by_place = tokio::spawn(in_place(file.clone()));
    let (mut failed, mut begun) = (0, 0);
    for id in ids {
        let path = format!("/v1/conversations/{id}?tail=0");
        tokio::time::timeout(Duration::from_secs(120), async {
            while service.get(&path).await["summary"]["state"] == "running" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .unwrap();
        let talk = Talk {
            service: &service,
            id,
        };
        let results = talk.past_of("tool_result").await;
        let errors = results.iter().filter(|result| result["isError"] == true);
        failed += errors.count();
        let journal = std::fs::read_to_string(service.journal(&talk.id)).unwrap();
        begun += journal.matches(r#""type":"effect_began""#).count() - results.len();
        assert_eq!(talk.outcome().await.0, "completed");
    }
    by_exchange.await.unwrap();
    let kept = by_place.await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: BTreeSet<&str> = text.lines().collect();
    let lacks = |who: &str, count: u64| {
        let lines =
            (1..=count).filter(|number| !lines.contains(format!("{who} {number}").as_str()));
        lines.count()
    };
    println!(
        "{LINES} lines each by conversations, {failed} calls failed, {begun} changes were planned again; {BY_EDITOR} by each editor; of those \
         in place {kept} went into the file, and {} are lost",
        lacks("d", BY_EDITOR)
    );
    let is_line = |line: &str| {
        let (who, number) = line.split_once(' ').unwrap_or_default();
        ["a", "b", "c", "d"].contains(&who) && number.parse::<u64>().is_ok()
    };
    assert!(lines.iter().all(|line| is_line(line)), "{text}");
    assert_eq!((lacks("a", LINES), lacks("b", LINES)), (0, 0), "{text}");
    assert_eq!(lacks("c", BY_EDITOR), 0, "{text}");
    assert_eq!(left_in(&folder), [""; 0]);
    assert_eq!(standin.violations(), [""; 0]);
}
