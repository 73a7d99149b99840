//! The cost of starting a program through a tool, beside starting the same program from here; and that of the
//! stage that contains the programs of `grep` and `list_dir`: two conversations of this process that differ in
//! nothing else, by turns. The bound of the latter is asserted.
//!
//! Spec: [TOOL-200]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_actors::directory::Extensions;
use harness_actors::tool::{Contained, Launch, LaunchOrder, Launcher, Launching};
use harness_actors::{Config, Harness, Options, standard_tools};
use harness_protocol::Access;
use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};

use crate::process::Service;

/// Number of calls of each sort.
const CALLS: usize = 30;
/// Maximum additional time of a program with the stage, in the median.
const MOST_OF_STAGE: Duration = Duration::from_millis(5);
/// Maximum number of measurements: other work of the machine adds time, and never removes any.
const TRIES: usize = 3;

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
    actix::System::new().block_on(calls());
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
    let own = |launcher| own_conversation(&upstream.base_url(), &folder, launcher);
    let with_stage = own(Launching(Some(Arc::new(OnlyTheStage))));
    let without_stage = own(Launching::default());
    let last_two = || {
        let asked = asked.lock().unwrap();
        let [.., first, second] = asked[..] else {
            panic!("the model was not asked twice");
        };
        (first, second)
    };
    for sort in &SORTS {
        let (mut took, mut started) = (Vec::new(), Vec::new());
        // By turns, so that what else the machine does is in all of them.
        for _ in 0..CALLS {
            let allowed = begin(&service, &at, sort.tool).await;
            let (first, second) = last_two();
            // What waited for an answer runs since then.
            took.push(second - allowed.unwrap_or(first));
            started.push(bare(sort.bare, &folder));
        }
        let (tool, bare) = (median(took), median(started));
        let beside = sort.bare.join(" ");
        let more = tool.saturating_sub(bare);
        println!(
            "{:>8}: {tool:>8.2?} from its call to the next request, {more:.2?} more than {beside} ({bare:.2?})",
            sort.tool
        );
        if sort.tool == "bash" {
            continue;
        }
        let mut costs = Vec::new();
        while costs.len() < TRIES {
            let (mut with, mut without) = (Vec::new(), Vec::new());
            for _ in 0..CALLS {
                for (conversation, times) in
                    [(&with_stage, &mut with), (&without_stage, &mut without)]
                {
                    conversation.prompt(sort.tool).await.unwrap();
                    let (first, second) = last_two();
                    times.push(second - first);
                }
            }
            let (with, without) = (median(with), median(without));
            let more = with.saturating_sub(without);
            println!(
                "{:>8}: {more:.2?} more with the stage ({with:.2?}) than without it ({without:.2?})",
                sort.tool
            );
            costs.push(more);
            if more <= MOST_OF_STAGE {
                break;
            }
        }
        let least = costs.into_iter().min().unwrap_or_default();
        assert!(
            least <= MOST_OF_STAGE,
            "the stage costs {} {least:.2?}, of at most {MOST_OF_STAGE:?}",
            sort.tool
        );
    }
}

/// Starts programs of tools that only look by the stage of the built service, and no commands.
struct OnlyTheStage;

impl Launcher for OnlyTheStage {
    fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
        Err("no command is run here".to_owned())
    }

    fn looking(&self) -> Option<Command> {
        let mut starter = Command::new(crate::process::program());
        starter.args(["__launch", "looking", &std::process::id().to_string()]);
        Some(starter)
    }

    fn launch(&self, _: &LaunchOrder) -> std::io::Result<Launch> {
        Err(std::io::Error::other("no command is run here"))
    }
}

/// A conversation of this process, whose tools start programs by that launcher.
fn own_conversation(base_url: &str, folder: &Path, launcher: Launching) -> Harness {
    let mut config = Config::new("sk-ant-of-the-bench");
    config.api.base_url = base_url.to_owned();
    let mut extensions = Extensions::default();
    extensions.launcher = launcher;
    let options = Options::new(config)
        .with_tools(standard_tools())
        .with_workspace(folder)
        .with_extensions(extensions);
    Harness::start(options).unwrap()
}

/// Lets the model call a tool, and allows it if it asks. Returns the time of that. Polls rarely: the measured work runs
/// meanwhile.
pub(crate) async fn begin(service: &Service, at: &str, tool: &str) -> Option<Instant> {
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

/// The duration of a program that this process starts, with pipes like those of a tool.
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
