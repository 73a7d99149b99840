//! What starting a program through a tool costs, beside starting the same program from here.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};

use crate::process::Service;

/// How many calls of each sort.
const CALLS: usize = 30;

/// A tool's call, and the program that does the same.
struct Sort {
    tool: &'static str,
    input: fn() -> Value,
    bare: &'static [&'static str],
}

const SORTS: [Sort; 3] = [
    Sort {
        tool: "bash",
        input: || json!({"command": "true"}),
        bare: &["bash", "-c", "true"],
    },
    Sort {
        tool: "grep",
        input: || json!({"pattern": "the line", "path": "."}),
        bare: &["grep", "-rn", "the line", "."],
    },
    Sort {
        tool: "list_dir",
        input: || json!({"path": "."}),
        bare: &["ls", "-la", "."],
    },
];

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(calls());
}

async fn calls() {
    // When the model was asked.
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let reply = move |request: &MessagesRequest| -> Reply {
        noted.lock().unwrap().push(Instant::now());
        let content = request.last_content();
        let text = content.last().and_then(|block| block["text"].as_str());
        let sort = SORTS.iter().find(|sort| Some(sort.tool) == text);
        let Some(sort) = sort else {
            return Message::new().text("Done.").into();
        };
        let call = format!("t{}", request.messages().len());
        Message::new()
            .tool_use(call, sort.tool, (sort.input)())
            .into()
    };
    let upstream = Standin::start(reply).unwrap();
    let service = Service::start(&upstream.base_url());
    let folder = service.folder("work");
    std::fs::write(folder.join("file"), "the line\n").unwrap();
    let made = json!({"workspace": folder});
    let made = service.order("POST", "/v1/conversations", &made).await;
    let at = format!("/v1/conversations/{}", made["id"].as_str().unwrap());
    for sort in &SORTS {
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let allowed = begin(&service, &at, sort.tool).await;
            let asked = asked.lock().unwrap();
            let [.., first, second] = asked[..] else {
                panic!("the model was not asked twice");
            };
            // What waited for an answer runs since then.
            took.push(second - allowed.unwrap_or(first));
        }
        let (tool, bare) = (
            median(took),
            median((0..CALLS).map(|_| bare(sort.bare, &folder)).collect()),
        );
        println!(
            "{:>8}: {tool:>8.2?} from its call to the next request, beside {bare:.2?} for {}: {:.2?} more",
            sort.tool,
            sort.bare.join(" "),
            tool.saturating_sub(bare)
        );
    }
}

/// Lets the model call a tool, and allows it if it asks; tells when it did. Looks from time to time only:
/// what is measured goes on meanwhile.
async fn begin(service: &Service, at: &str, tool: &str) -> Option<Instant> {
    let prompt = json!({ "content": tool });
    service
        .order("POST", &format!("{at}/prompt"), &prompt)
        .await;
    let mut allowed = None;
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let state = service.order("GET", at, &Value::Null).await["summary"]["state"].clone();
        match state.as_str().unwrap() {
            "running" => {}
            "waiting_approval" => {
                let path = format!("{at}/approvals");
                let waiting = service.order("GET", &path, &Value::Null).await;
                let approval = &waiting["approvals"][0];
                let answer = json!({"answer": "allow", "digest": approval["digest"]});
                let path = format!("{path}/{}", approval["id"]);
                allowed = Some(Instant::now());
                service.order("POST", &path, &answer).await;
            }
            _ => return allowed,
        }
    }
}

/// How long a program takes that is started from here, with pipes as a tool has them.
fn bare(words: &[&str], folder: &Path) -> Duration {
    let began = Instant::now();
    let done = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success());
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
