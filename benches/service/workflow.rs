//! The cost of a workflow besides the model and its checks: the time of an iteration beside the same steps by
//! bare git, the memory after many of them, and what a long past costs to look at, to attach to and to open.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness_standin::{Message, MessagesRequest, Reply, Standin};
use serde_json::{Value, json};

use crate::process::{Client, Service, seq_of};

/// Number of iterations, each with a separate feature.
const ITERATIONS: usize = 600;
/// Number of iterations that are compared at the beginning and at the end.
const PART: usize = 50;
/// Number of records of a long past.
const RECORDS: u64 = 10_000;
/// Number of repetitions of a look at it.
const LOOKS: usize = 15;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(workflows());
}

async fn workflows() {
    let upstream = Standin::start(reply).unwrap();
    let mut service = Service::start(&upstream.base_url());
    let (small, _) = finished(&service, "small", 3).await;
    let before = service.kilobytes("VmRSS");
    let (long, early) = finished(&service, "long", ITERATIONS).await;
    let after = service.kilobytes("VmRSS");
    iterations(&service);
    let bare = bare(&service);
    println!("  the same steps by bare git: {bare:.2?}");
    let megabytes = |kilobytes: u64| kilobytes as f64 / 1e3;
    println!(
        "  RSS {:.1} MB before, {:.1} MB after the first {PART} iterations, {:.1} MB after {ITERATIONS}, {:.1} MB at most",
        megabytes(before),
        megabytes(early),
        megabytes(after),
        megabytes(service.kilobytes("VmHWM"))
    );
    println!("a workflow of {long} records beside one of {small}:");
    assert!(long > RECORDS, "{long}");
    looks(&service, long, small).await;
    service.start_again(&upstream.base_url());
    let (one, other) = (open(&service, "long").await, open(&service, "small").await);
    println!("  opened in {one:.2?} beside {other:.2?}");
}

/// Writes the file of the requested feature, then reports that it is done.
fn reply(request: &MessagesRequest) -> Reply {
    let messages = request.messages();
    let is_first = messages.len() == 1;
    let text = messages[0].to_string();
    let feature = text.split("# The feature `").nth(1);
    let feature = feature.and_then(|rest| rest.split('`').next());
    match feature.filter(|_| is_first) {
        Some(feature) => {
            let file = json!({"path": format!("{feature}.txt"), "content": "right\n"});
            Message::new().tool_use("toolu_1", "write", file).into()
        }
        None => Message::new().text("done").into(),
    }
}

fn file(features: usize) -> String {
    let mut text = String::from(
        "[workflow]\nobjective = \"The files say what is right\"\nmode = \"unlimited\"\n\n\
         [permissions]\nmode = \"edits\"\nasks = \"deny\"\n\n\
         [policy]\nmax_iterations = 1000\nregression = \"global\"\n\n\
         [budget]\ntokens = \"unlimited\"\nactive = \"24h\"\n",
    );
    for feature in 1..=features {
        text += &format!(
            "\n[[feature]]\nid = \"f{feature}\"\ndescription = \"its file says right\"\nsteps = [\"write it\"]\n\
             [[feature.check]]\ncmd = [\"grep\", \"right\", \"f{feature}.txt\"]\n"
        );
    }
    text
}

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.org"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs a workflow to its end. How many records it has, and the memory after the first iterations.
async fn finished(service: &Service, id: &str, features: usize) -> (u64, u64) {
    let folder = service.folder(id);
    let name = ".harness/workflows/bench.toml";
    std::fs::create_dir_all(folder.join(".harness/workflows")).unwrap();
    std::fs::write(folder.join(name), file(features)).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message=begin"]);
    let mut order = json!({"folder": folder, "path": name, "id": id, "dry_run": true});
    let judged = service.order("POST", "/v1/workflows", &order).await;
    order["approve"] = judged["hash"].clone();
    order["dry_run"] = false.into();
    service.order("POST", "/v1/workflows", &order).await;
    let at = format!("/v1/workflows/{id}");
    let mut early = None;
    for state in ["ready", "completed"] {
        let run = format!("{at}/run");
        service.order("POST", &run, &json!({})).await;
        loop {
            // Rarely: what is measured goes on meanwhile.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = service.order("GET", &at, &Value::Null).await;
            if early.is_none() && now["iterations"].as_u64() > u64::try_from(PART).ok() {
                early = Some(service.kilobytes("VmRSS"));
            }
            if now["state"] == state {
                break;
            }
            let is_going = ["initializing", "running"].contains(&now["state"].as_str().unwrap());
            assert!(is_going, "{now:#}");
        }
    }
    let records = records(service, id).len();
    (u64::try_from(records).unwrap(), early.unwrap_or_default())
}

/// The records of a workflow, with their times in milliseconds.
fn records(service: &Service, id: &str) -> Vec<(u64, Value)> {
    let path = service.state().join(format!("workflows/{id}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().skip(1).map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        (line["at"].as_u64().unwrap(), line["data"].take())
    });
    lines.collect()
}

/// The time of each iteration by the kinds of its steps, from its records.
fn iterations(service: &Service) {
    let mut steps: Vec<BTreeMap<String, u64>> = Vec::new();
    let mut began = 0;
    let mut last = 0;
    let mut open: Option<String> = None;
    for (at, record) in records(service, "long") {
        let (kind, data) = (record["type"].as_str().unwrap(), &record["data"]);
        if kind == "step_started" && data["step"] == "prepare" {
            (began, last, open) = (at, at, None);
            steps.push(BTreeMap::new());
        }
        let Some(now) = steps.last_mut() else {
            continue;
        };
        let name = open.take().unwrap_or_else(|| "between".to_owned());
        *now.entry(name).or_default() += at - last;
        last = at;
        if kind == "step_started" {
            let step = data["step"].as_str().unwrap();
            open = Some(step.split(':').next().unwrap().to_owned());
        } else if kind == "conversation_linked" {
            open = Some("converse".to_owned());
        } else if kind == "check_ended" {
            *now.entry("command".to_owned()).or_default() += data["ms"].as_u64().unwrap();
        } else if kind == "iteration_ended" {
            now.insert("whole".to_owned(), at - began);
        }
    }
    steps.retain(|step| step.contains_key("whole"));
    assert_eq!(steps.len(), ITERATIONS);
    let mean = |part: &[BTreeMap<String, u64>], name: &str| {
        let sum: u64 = part.iter().filter_map(|step| step.get(name)).sum();
        sum as f64 / part.len() as f64
    };
    let outside = |part: &[BTreeMap<String, u64>]| {
        mean(part, "whole") - mean(part, "converse") - mean(part, "command")
    };
    let (first, latest) = (&steps[1..=PART], &steps[ITERATIONS - PART..]);
    println!(
        "an iteration outside of its conversation and its check's command: {:.0} ms in the first {PART}, {:.0} ms in the last of {ITERATIONS} (ratio {:.2})",
        outside(first),
        outside(latest),
        outside(latest) / outside(first)
    );
    for (part, when) in [(first, "first"), (latest, "last")] {
        let names = [
            "prepare", "converse", "snapshot", "check", "command", "accept", "between", "whole",
        ];
        let of = |name: &&str| format!("{name} {:.1}", mean(part, name));
        let of: Vec<String> = names.iter().map(of).collect();
        println!("  {when}, in ms: {}", of.join(", "));
    }
}

/// The time that git alone needs for an iteration: a candidate of a worktree's content, a worktree of its own for the
/// check, and the move of the branch.
fn bare(service: &Service) -> Duration {
    let folder = service.folder("long");
    let (work, fresh) = (
        service.folder("bare").join("work"),
        service.folder("bare").join("fresh"),
    );
    git(
        &folder,
        &["worktree", "add", "--quiet", "--detach", text(&work)],
    );
    let mut times = Vec::new();
    for number in 0..PART {
        std::fs::write(work.join(format!("bare{number}.txt")), "right\n").unwrap();
        let began = Instant::now();
        git(&work, &["status", "--porcelain"]);
        git(&work, &["add", "--all"]);
        let tree = git(&work, &["write-tree"]);
        let commit = git(&work, &["commit-tree", "-p", "HEAD", "-m", "bare", &tree]);
        git(
            &folder,
            &[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                text(&fresh),
                &commit,
            ],
        );
        git(&fresh, &["status", "--porcelain"]);
        git(&work, &["update-ref", "refs/heads/bare", &commit]);
        git(&work, &["reset", "--quiet", "--hard", &commit]);
        git(&folder, &["worktree", "remove", "--force", text(&fresh)]);
        times.push(began.elapsed());
    }
    times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The work of clients with a long past beside a short one.
async fn looks(service: &Service, long: u64, small: u64) {
    for (what, of) in [
        ("looked at", Look::Snapshot),
        ("attached with the last 20 records", Look::Tail),
    ] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..LOOKS {
            for (time, (id, records)) in times.iter_mut().zip([("long", long), ("small", small)]) {
                time.push(look(service, of, id, records).await);
            }
        }
        let [one, other] = times.map(median);
        println!(
            "  {what} in {one:.2?} beside {other:.2?} (ratio {:.2})",
            one.as_secs_f64() / other.as_secs_f64()
        );
    }
    let whole = look(service, Look::Whole, "long", long).await;
    println!(
        "  attached with all records in {whole:.2?}, {:.0} records a ms",
        long as f64 / whole.as_secs_f64() / 1e3
    );
}

/// The wishes of a client.
#[derive(Clone, Copy)]
enum Look {
    Snapshot,
    Tail,
    Whole,
}

async fn look(service: &Service, of: Look, id: &str, records: u64) -> Duration {
    let at = format!("/v1/workflows/{id}");
    let began = Instant::now();
    let query = match of {
        Look::Snapshot => {
            service.order("GET", &at, &Value::Null).await;
            return began.elapsed();
        }
        Look::Tail => "?tail=20",
        Look::Whole => "?after=0",
    };
    let path = format!("{at}/events{query}");
    let mut client = Client::attach_to(service.address, &path, "").await;
    while seq_of(&client.next_id().await.unwrap()) < records {}
    began.elapsed()
}

/// The duration of the first look at a workflow that is not open.
async fn open(service: &Service, id: &str) -> Duration {
    look(service, Look::Snapshot, id, 0).await
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
