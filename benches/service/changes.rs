//! The cost of a change that a rule allows, beside reading the same file in the same run; and the cost of
//! a thousand past approvals for a client that attaches.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};

use crate::process::{Service, follow_to};

/// Number of rounds of each sort.
const ROUNDS: usize = 300;
/// Number of approvals in the past.
const PAST: usize = 1000;
/// Number of times that a client attaches.
const ATTACHES: usize = 101;
/// The longest time that a change may add, without flushes.
const MOST: Duration = Duration::from_millis(2);

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // In memory a flush costs nothing.
    let in_memory = Path::new("/dev/shm");
    if in_memory.is_dir() {
        let home = tempfile::tempdir_in(in_memory).unwrap();
        let added = runtime.block_on(rounds(home, "in memory"));
        assert!(added <= MOST, "a change adds {added:.2?}");
    }
    runtime.block_on(rounds(tempfile::tempdir().unwrap(), "on the disk"));
    runtime.block_on(attaches());
}

/// A conversation in a folder of its own with a file in it, and its path.
async fn conversation(service: &Service) -> String {
    let folder = service.folder("work");
    let lines = "a line\n".repeat(1000);
    std::fs::write(folder.join("file"), format!("0 the line\n{lines}")).unwrap();
    let order = json!({"workspace": folder});
    let made = service.order("POST", "/v1/conversations", &order).await;
    let at = format!("/v1/conversations/{}", made["id"].as_str().unwrap());
    let settings = json!({"settings": {"max_turns": 1_000_000}});
    service
        .order("PATCH", &format!("{at}/settings"), &settings)
        .await;
    at
}

/// Reads and changes the file in turn; how much longer a change takes.
async fn rounds(home: tempfile::TempDir, place: &str) -> Duration {
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let reply = move |_: &MessagesRequest| -> Reply {
        let mut asked = noted.lock().unwrap();
        asked.push(Instant::now());
        let round = asked.len() - 1;
        let change = round / 2;
        let tool = format!("t{round}");
        match (round < 2 * ROUNDS, round % 2) {
            (false, _) => Message::new().text("Done."),
            (true, 0) => {
                let input = json!({"path": "file", "start_line": 1, "end_line": 1});
                Message::new().tool_use(tool, "read", input)
            }
            (true, _) => {
                let line = |number: usize| format!("{number} the line");
                let input = json!({"path": "file", "old_string": line(change),
                    "new_string": line(change + 1)});
                Message::new().tool_use(tool, "edit", input)
            }
        }
        .into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start_in(home, &upstream.base_url());
    let at = conversation(&service).await;
    let rules = json!({"add": [{"rule": "edit(**)"}]});
    service.order("PATCH", &format!("{at}/rules"), &rules).await;
    let client = tokio::spawn(follow_to(
        service.address,
        format!("{at}/events?after=0"),
        "run_ended",
    ));
    let prompt = json!({"content": "change it"});
    service
        .order("POST", &format!("{at}/prompt"), &prompt)
        .await;
    let events = client.await.unwrap();
    let changed = events
        .iter()
        .filter(|event| event["type"] == "files_changed");
    assert_eq!(changed.count(), ROUNDS);
    let asked = asked.lock().unwrap();
    let took: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let of = |sort: usize| median(took.iter().copied().skip(sort).step_by(2).collect());
    let (read, edit) = (of(0), of(1));
    let added = edit.saturating_sub(read);
    println!(
        "a turn that reads {place}: {read:.2?}, one that changes: {edit:.2?}: {added:.2?} more"
    );
    if place == "on the disk" {
        println!(
            "a flush of a small file there: {:.2?}",
            flush(&service.folder("flush"))
        );
    }
    added
}

/// The time that writing and flushing a small file takes.
fn flush(folder: &Path) -> Duration {
    use std::io::Write as _;

    let mut file = std::fs::File::create(folder.join("file")).unwrap();
    let once = || {
        let begun = Instant::now();
        file.write_all(b"a line\n").unwrap();
        file.sync_data().unwrap();
        begun.elapsed()
    };
    median(std::iter::repeat_with(once).take(101).collect())
}

/// Attaches to a conversation with many past approvals, and to one with none.
async fn attaches() {
    let replies = Arc::new(Mutex::new(0));
    let reply = move |request: &MessagesRequest| -> Reply {
        let mut replies = replies.lock().unwrap();
        let wants_changes = request.body["messages"][0].to_string().contains("ask");
        if !wants_changes || *replies == PAST {
            return Message::new().text("Done.").into();
        }
        *replies += 1;
        let input = json!({"path": "file", "old_string": "0 the line", "new_string": "1"});
        Message::new()
            .tool_use(format!("t{replies}"), "edit", input)
            .into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start(&upstream.base_url());
    let (many, none) = (conversation(&service).await, conversation(&service).await);
    for (at, content) in [(&many, "ask"), (&none, "hi")] {
        let prompt = json!({ "content": content });
        service
            .order("POST", &format!("{at}/prompt"), &prompt)
            .await;
    }
    let mut denied = 0;
    while denied < PAST {
        let waiting = service
            .order("GET", &format!("{many}/approvals"), &Value::Null)
            .await;
        if let Some(id) = waiting["approvals"][0]["id"].as_u64() {
            let path = format!("{many}/approvals/{id}");
            service
                .order("POST", &path, &json!({"answer": "deny"}))
                .await;
            denied += 1;
        }
    }
    let mut took = [vec![], vec![]];
    for _ in 0..ATTACHES {
        for (place, at) in [&many, &none].into_iter().enumerate() {
            let begun = Instant::now();
            service
                .order("GET", &format!("{at}?tail=20"), &Value::Null)
                .await;
            follow_to(service.address, format!("{at}/events?tail=20"), "attached").await;
            took[place].push(begun.elapsed());
        }
    }
    let [many, none] = took.map(median);
    let ratio = many.as_secs_f64() / none.as_secs_f64();
    println!(
        "a client attaches behind {PAST} approvals: {many:.2?}, behind none: {none:.2?}: {ratio:.2} x"
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
