//! Commands that run in the background, over HTTP: how they start, are read, and end.

use std::time::Duration;

use harness_standin::{MessagesRequest, Reply, Responder};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bash::{marked, none_left, processes, run};
use crate::bounds::took_at_most;
use crate::changing::{Changing, Result, open, order};
use crate::client::within;
use crate::eventually::eventually;
use crate::program::{Service, command, output};
use crate::talk::{Talk, asked, last_texts, model, serving};

/// Lets the model start a command in the background, and allows it.
async fn start(here: &Changing, command: &str) -> Result {
    run(here, json!({"command": command, "background": true})).await
}

/// The same with a command that ends at once, repeated until its result is that of a command that ended: a busy machine
/// may not have started it by the time at which a running command becomes a job.
async fn start_short(here: &mut Changing, command: &str) -> Result {
    within("the end of a short command", async {
        loop {
            let (result, is_error) = start(here, command).await;
            if !result.contains("[job 1 started") {
                return (result, is_error);
            }
            here.begin_another("ask").await;
        }
    })
    .await
}

/// Lets the model look at a job, until the result contains the text.
async fn look(here: &Changing, job: u64, wanted: &str) -> String {
    within(wanted, async {
        loop {
            let (told, is_error) = here.call("job", json!({"id": job})).await;
            assert!(!is_error, "{told}");
            if told.contains(wanted) {
                return told;
            }
        }
    })
    .await
}

/// Spec: [BASH-13]
#[tokio::test]
async fn b11_a_job_runs_on_and_is_read_while_it_does() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(41));
    let text = format!("echo begun; read x <fifo; echo more $x; {sleep}");
    let (made, _) = run(&here, json!({"command": "mkfifo fifo"})).await;
    assert!(made.starts_with("[exit 0"), "{made}");
    let before = Instant::now();
    let call = here
        .begin("bash", json!({"command": text, "background": true}))
        .await;
    let approval = here.asked().await.unwrap();
    assert_eq!(approval["command"]["background"], true);
    assert_eq!(approval["command"]["timeout_s"], 0);
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let (result, is_error) = here.result(&call).await;
    assert!(!is_error, "{result}");
    // A busy machine may have started it and not more.
    let started = "[job 1 started in the background; read it with job]";
    assert!(result.ends_with(started), "{result}");
    took_at_most(Duration::from_secs(5), before.elapsed());
    look(&here, 1, "begun").await;
    let told = look(&here, 1, "nothing new").await;
    assert!(told.starts_with("begun\n[job 1: running for "), "{told}");
    // Another call goes on meanwhile, and what it leaves is ended, but not the job.
    let (result, _) = run(&here, json!({"command": "echo now >fifo"})).await;
    assert!(result.starts_with("[exit 0"), "{result}");
    let told = look(&here, 1, "more now").await;
    assert!(told.starts_with("begun\nmore now\n[job 1: running for "));
    // All of it is in a file from the first byte on.
    let path = json!({"path": format!("output:{call}")});
    let (read, is_error) = here.call("read", path).await;
    assert!(!is_error && read.contains("begun\\nmore now\\n"), "{read}");
    let (told, is_error) = here.call("job", json!({"id": 1, "action": "stop"})).await;
    assert!(
        !is_error && told.contains("[job 1: stopped by the model after "),
        "{told}"
    );
    none_left(&sleep, Duration::from_millis(500)).await;
    let (again, is_error) = here.call("job", json!({"id": 1, "action": "stop"})).await;
    assert!(
        !is_error && again.contains("stopped by the model"),
        "{again}"
    );
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-13]
#[tokio::test]
async fn b11_what_ends_at_once_is_told_like_any_other_command() {
    let mut here = Changing::in_mode("ask").await;
    let (result, is_error) = start_short(&mut here, "echo no >&2; exit 3").await;
    assert!(is_error && result.starts_with("no\n[exit 3 · "), "{result}");
    let (result, is_error) = start_short(&mut here, "true").await;
    assert!(!is_error && result.starts_with("[exit 0 · "), "{result}");
    let (told, is_error) = here.call("job", json!({"id": 1})).await;
    assert!(
        is_error && told.contains("there is no job 1; there are none"),
        "{told}"
    );
    let limited = json!({"command": "sleep 1", "background": true, "timeout_s": 5});
    let (result, is_error) = run(&here, limited).await;
    assert!(
        is_error && result.contains("timeout_s cannot be"),
        "{result}"
    );
}

/// Spec: [BASH-15]
#[tokio::test]
async fn b11_a_job_tells_how_it_ended_and_which_there_are() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(42));
    run(&here, json!({"command": "mkfifo fifo"})).await;
    start(&here, "read x <fifo; echo last; exit 5").await;
    std::fs::write(here.at("fifo"), "x\n").unwrap();
    let told = look(&here, 1, "exit 5").await;
    assert!(told.starts_with("last\n[job 1: exit 5 after "), "{told}");
    start(&here, &sleep).await;
    for id in [0, 3, -1] {
        let (told, is_error) = here.call("job", json!({"id": id})).await;
        let known = format!(
            "there is no job {id}; there are: 1 (read x <fifo; echo last; exit 5): exit 5, 2 ({sleep}): running"
        );
        assert!(is_error && told.contains(&known), "{told}");
    }
    for (input, wanted) in [
        (json!({"id": 2, "tail": 24577}), "0 to 24576"),
        (json!({"id": 2, "tail": -1}), "0 to 24576"),
        (json!({"id": 2, "action": "start"}), "output or stop"),
    ] {
        let (told, is_error) = here.call("job", input).await;
        assert!(is_error && told.contains(wanted), "{told}");
    }
    // Jobs are those of their conversation.
    let mut here = here;
    here.begin_another("plan").await;
    let (told, is_error) = here.call("job", json!({"id": 2})).await;
    assert!(is_error && told.contains("there are none"), "{told}");
}

/// Spec: [BASH-14]
#[tokio::test]
async fn b11_a_ninth_job_is_refused_by_name_before_anybody_is_asked() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(43));
    for number in 1..=8 {
        let (result, _) = start(&here, &sleep).await;
        let started = format!("[job {number} started");
        assert!(result.starts_with(&started), "{result}");
    }
    let input = json!({"command": sleep, "background": true});
    let (result, is_error) = here.call("bash", input).await;
    assert!(
        is_error && result.contains("at most 8 jobs at once; stop one with job: 1 (sleep "),
        "{result}"
    );
    // All end with the service, killed or not.
    eventually("the jobs", async || processes(&sleep).len() >= 8).await;
    let mut here = here;
    here.service.kill();
    none_left(&sleep, Duration::from_secs(1)).await;
}

/// Spec: [BASH-17]
#[tokio::test]
async fn b11_jobs_end_with_their_conversation_and_with_the_service() {
    let mut here = Changing::in_mode("ask").await;
    let (gone, stays) = (marked(44), marked(45));
    start(&here, &format!("trap '' TERM; sleep {gone}; sleep {gone}")).await;
    let first = here.id.clone();
    here.begin_another("ask").await;
    let (result, _) = start(&here, &format!("sleep {stays}")).await;
    assert!(result.starts_with("[job 1 started"), "{result}");
    let path = format!("/v1/conversations/{first}");
    let deleted = here.service.send("DELETE", &path, "", "").await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    none_left(&format!("sleep {gone}"), Duration::from_secs(3)).await;
    assert!(!processes(&format!("sleep {stays}")).is_empty());
    let before = Instant::now();
    here.service.signal(Signal::SIGTERM);
    here.service.ended().await;
    took_at_most(Duration::from_secs(4), before.elapsed());
    none_left(&format!("sleep {stays}"), Duration::from_millis(100)).await;
}

/// Spec: [BASH-15]
#[tokio::test]
async fn b11_a_job_is_looked_at_in_mode_plan() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(46));
    start(&here, &format!("echo x; {sleep}")).await;
    here.set_mode("plan").await;
    let told = look(&here, 1, "x\n").await;
    assert!(told.starts_with("x\n[job 1: running for "), "{told}");
    let call = Reply::tool_calls([
        ("a", "job", json!({"id": 1, "action": "stop"})),
        ("b", "job", json!({"id": 1})),
    ]);
    here.script.extend([call, Reply::text("done")]);
    here.talk().prompt("go on").await;
    let (told, _) = here.result("b").await;
    assert!(told.contains("stopped by the model"), "{told}");
}

/// The events of the conversation of those types, with what is said of jobs.
async fn recorded(here: &Changing) -> Vec<String> {
    let path = format!("/v1/conversations/{}?tail=200", here.id);
    let snapshot = here.service.get(&path).await;
    let events = snapshot["history"]["events"].as_array().unwrap().iter();
    let jobs = events.map(|past| &past["event"]).filter_map(|event| {
        let kind = event["type"].as_str().unwrap();
        let how = event["how"].as_str().unwrap_or_default();
        kind.starts_with("job_")
            .then(|| format!("{kind} {} {how}", event["job"]))
    });
    jobs.collect()
}

/// The last request to the model.
fn sent(here: &Changing) -> String {
    here.standin.requests().last().unwrap().json().to_string()
}

/// Spec: [EVENT-40] [JRNL-120]
#[tokio::test]
async fn b11_a_jobs_start_and_end_are_events_also_while_no_run_goes() {
    let here = Changing::in_mode("ask").await;
    run(&here, json!({"command": "mkfifo fifo"})).await;
    let mut follower = here.service.follow(&here.id, "", "").await;
    let (result, _) = start(&here, "read x <fifo; exit 4").await;
    assert!(result.contains("[job 1 started"), "{result}");
    let began = follower.until("job_started").await;
    assert_eq!(
        (&began["job"], &began["command"]),
        (&json!(1), &json!("read x <fifo; exit 4"))
    );
    std::fs::write(here.at("fifo"), "x\n").unwrap();
    let ended = follower.until("job_ended").await;
    assert_eq!(
        (&ended["job"], &ended["how"], &ended["code"]),
        (&json!(1), &json!("exited"), &json!(4))
    );
    // The model is told with the next run, once.
    let (told, _) = here.call("job", json!({"id": 1})).await;
    assert!(told.contains("[job 1: exit 4 after "), "{told}");
    assert!(sent(&here).contains("[Jobs that ended since: job 1 (read x <fifo; exit 4): exit 4]"));
    here.call("job", json!({"id": 1})).await;
    assert_eq!(sent(&here).matches("[Jobs that ended since").count(), 1);
    assert_eq!(
        recorded(&here).await,
        ["job_started 1 ", "job_ended 1 exited"]
    );
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-790] [UNDO-790]
#[tokio::test]
async fn what_changed_while_a_job_ran_is_told_at_each_look_and_at_its_end() {
    let here = Changing::in_mode("ask").await;
    std::fs::write(here.at("notes"), "one\n").unwrap();
    run(&here, json!({"command": "mkfifo first second"})).await;
    let mut follower = here.service.follow(&here.id, "", "").await;
    // A pipe each: the second reading would end with the writer of the first.
    let text = "read x <first; echo two >>notes; echo said; read x <second; touch made";
    let (result, _) = start(&here, text).await;
    assert!(result.contains("[job 1 started"), "{result}");
    let (told, _) = here.call("job", json!({"id": 1})).await;
    assert!(!told.contains("changed while it ran"), "{told}");
    std::fs::write(here.at("first"), "x\n").unwrap();
    let told = look(&here, 1, "said").await;
    let (notes, made) = (here.at("notes"), here.at("made"));
    let (notes, made) = (notes.display(), made.display());
    let first = format!(" · 1 file changed while it ran: changed {notes}]");
    assert!(told.ends_with(&first), "{told}");
    // A file of another call is not told as one of the job.
    let (result, _) = run(&here, json!({"command": "touch other"})).await;
    assert!(result.starts_with("[exit 0"), "{result}");
    std::fs::write(here.at("second"), "x\n").unwrap();
    let ended = follower.until("job_ended").await;
    let changes = json!({"files": [
        {"path": made.to_string(), "action": "made"},
        {"path": notes.to_string(), "action": "changed"},
    ]});
    assert_eq!(ended["changes"], changes);
    let told = look(&here, 1, "exit 0").await;
    let all = format!("2 files changed while it ran: made {made}, changed {notes}");
    assert!(told.ends_with(&format!(" · {all}]")), "{told}");
    assert!(sent(&here).contains(&format!("): exit 0 · {all}]")));
    // Undo leaves them, and says so.
    let undone = here.order("POST", "/undo", &json!({})).await.json();
    assert!(undone["notes"].to_string().contains(&all), "{undone}");
    assert!(here.at("made").exists() && !here.at("other").exists());
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-790] [UNDO-790]
#[tokio::test]
async fn a_job_that_commits_says_where_head_was_and_a_call_beside_it_is_not_the_job() {
    let here = Changing::in_mode("ask").await;
    let outside = |line: &str| {
        let mut git = std::process::Command::new("sh");
        git.args(["-c", line]).current_dir(here.at(""));
        let (code, out, err) = output(&mut git);
        assert_eq!(code, 0, "{out}{err}");
        out
    };
    outside(
        "git init -q -b main . && git config user.name a && git config user.email a@b && \
         mkfifo first second && git commit -q --allow-empty -m one",
    );
    let one = outside("git rev-parse HEAD");
    let mut follower = here.service.follow(&here.id, "", "").await;
    let text = "read x <first; git commit -q --allow-empty -m two; echo said; read x <second";
    let (result, _) = start(&here, text).await;
    assert!(result.contains("[job 1 started"), "{result}");
    // Another call reports its own commit.
    let commit = "git commit -q --allow-empty -m call";
    let (result, _) = run(&here, json!({ "command": commit })).await;
    assert!(result.starts_with("[exit 0"), "{result}");
    let call = outside("git rev-parse HEAD");
    assert_ne!(one, call);
    let (told, _) = here.call("job", json!({"id": 1})).await;
    assert!(!told.contains("HEAD moved"), "{told}");
    std::fs::write(here.at("first"), "x\n").unwrap();
    let told = look(&here, 1, "said").await;
    let moved = format!("HEAD moved while it ran from main ({})", &call[..10]);
    assert!(told.contains(&moved), "{told}");
    std::fs::write(here.at("second"), "x\n").unwrap();
    let ended = follower.until("job_ended").await;
    let head = ended["changes"]["head"].as_str().unwrap();
    let back = format!("`git reset {}` moves it back", &call[..10]);
    assert!(head.contains(&back), "{head}");
    let undone = here.order("POST", "/undo", &json!({})).await.json();
    assert!(undone["notes"].to_string().contains(&moved), "{undone}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [BASH-791]
#[tokio::test]
async fn what_a_command_in_the_background_changed_goes_back_if_it_ended_at_once() {
    let mut here = Changing::in_mode("ask").await;
    within("the end of a short command", async {
        loop {
            std::fs::write(here.at("notes"), "one\n").unwrap();
            let (result, _) = start(&here, "mv notes other").await;
            if result.starts_with("[exit 0") {
                return;
            }
            // A busy machine has not started it by the time at which a running command becomes a job.
            look(&here, 1, "exit 0").await;
            here.begin_another("ask").await;
        }
    })
    .await;
    let undone = here.order("POST", "/undo", &json!({})).await.json();
    assert_eq!(undone["notes"], Value::Null, "{undone}");
    assert_eq!(here.read("notes"), b"one\n");
    assert!(!here.at("other").exists());
}

/// Spec: [JRNL-121] [BASH-15]
#[tokio::test]
async fn b11_jobs_end_with_a_service_that_is_killed_and_looking_writes_nothing() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(47));
    start(&here, &format!("echo kept; {sleep}")).await;
    look(&here, 1, "kept").await;
    let journal = here.service.journal(&here.id);
    let here = here.restarted().await;
    none_left(&sleep, Duration::from_secs(1)).await;
    let before = std::fs::read(&journal).unwrap();
    assert_eq!(recorded(&here).await, ["job_started 1 "]);
    assert!(std::fs::read(&journal).unwrap() == before);
    let (told, is_error) = here.call("job", json!({"id": 1})).await;
    assert!(
        !is_error && told.starts_with("kept\n[job 1: ended with the service · all of it"),
        "{told}"
    );
    assert!(sent(&here).contains("ended with the service]"));
    let expected = ["job_started 1 ", "job_ended 1 with_service"];
    assert_eq!(recorded(&here).await, expected);
    // Numbers are not used again.
    let (result, _) = start(&here, &sleep).await;
    assert!(result.contains("[job 2 started"), "{result}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// A model that starts jobs one after the other until it has started so many.
fn starting_jobs(count: usize) -> impl Responder {
    move |request: &MessagesRequest| {
        let messages = json!(request.messages()).to_string();
        if messages.matches(" started in the background").count() >= count {
            return Reply::text("done");
        }
        let id = format!("call_{}", request.messages().len());
        let input = json!({"command": "sleep 0.6", "background": true});
        Reply::tool_calls([(id.as_str(), "bash", input)])
    }
}

fn talk_with<'a>(service: &'a Service, id: &str) -> Talk<'a> {
    Talk {
        service,
        id: id.to_owned(),
    }
}

/// Number of records of a type in a conversation's journal.
fn recorded_of(service: &Service, id: &str, kind: &str) -> usize {
    let journal = std::fs::read_to_string(service.journal(id)).unwrap();
    journal.matches(&format!("\"{kind}\"")).count()
}

/// Allows what is asked until each conversation has started so many jobs.
async fn until_started(service: &Service, ids: &[String], count: usize) {
    for slow in ids {
        eventually("the start of jobs", async || {
            for id in ids {
                if let Some(asked) = open(service, id).await {
                    let path = format!("/v1/conversations/{id}/approvals/{}", asked["id"]);
                    let body = json!({"answer": "allow", "digest": asked["digest"]});
                    order(service, "POST", &path, &body).await;
                }
            }
            recorded_of(service, slow, "job_started") >= count
        })
        .await;
    }
}

/// Spec: [JRNL-470]
#[tokio::test]
async fn each_of_200_ends_of_jobs_is_sent_once_though_the_service_is_killed() {
    let flags = ["--max-turns", "1000"];
    let (service, standin, _) = serving(starting_jobs(50), model(1_000_000), &flags).await;
    let folder = service.home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = service.create(&json!({"workspace": folder})).await;
        let talk = talk_with(&service, &id);
        talk.set(&json!({"mode": "sandbox"})).await;
        talk.prompt(&format!("start {id}")).await;
        ids.push(id);
    }
    for count in [8, 16, 25] {
        until_started(&service, &ids, count).await;
    }
    let service = service.restart().await;
    for id in &ids {
        talk_with(&service, id).prompt("go on").await;
    }
    for count in [33, 41, 50] {
        until_started(&service, &ids, count).await;
    }
    for id in &ids {
        let talk = talk_with(&service, id);
        talk.idle().await;
        let count = |kind| recorded_of(&service, id, kind);
        let is_over = async || count("job_started") == count("job_ended");
        eventually("the ends of the jobs", is_over).await;
        talk.say("more").await;
        let requests = asked(&standin);
        let of_id = |request: &&Value| request.to_string().contains(&**id);
        let last = requests.iter().rfind(of_id).unwrap().to_string();
        for job in 1..=count("job_started") {
            let end = format!("job {job} (sleep 0.6): ");
            assert_eq!(last.matches(&end).count(), 1, "{job}: {last}");
        }
    }
    // More than the first requests of the runs have some.
    let texts = |request: &Value| last_texts(request).1.concat();
    let has_ends = |request: &&Value| texts(request).contains("[Jobs that ended since: ");
    let count = asked(&standin).iter().filter(has_ends).count();
    assert!(count > 3 * ids.len(), "{count}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [JRNL-121]
#[tokio::test]
async fn b11_the_end_with_a_service_that_stops_is_on_record_and_a_fork_has_no_jobs() {
    let mut here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(48));
    start(&here, &sleep).await;
    let fork = here.order("POST", "/fork", &json!({})).await.json();
    let origin = std::mem::replace(&mut here.id, fork["id"].as_str().unwrap().to_owned());
    assert_eq!(
        recorded(&here).await,
        ["job_started 1 ", "job_ended 1 forked"]
    );
    here.id = origin;
    assert!(!processes(&sleep).is_empty());
    let journal = here.service.journal(&here.id);
    here.service.signal(Signal::SIGTERM);
    here.service.ended().await;
    let past = std::fs::read_to_string(journal).unwrap();
    let last = past.lines().last().unwrap();
    assert!(
        last.contains(r#""job_ended""#) && last.contains(r#""with_service""#),
        "{last}"
    );
    assert!(processes(&sleep).is_empty());
}

/// Spec: [HTTP-109] [HTTP-110]
#[tokio::test]
async fn b11_what_runs_is_listed_and_stopped_over_http() {
    let here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(49));
    let at = format!("/v1/conversations/{}", here.id);
    let nothing = here.service.get(&format!("{at}/jobs")).await;
    assert_eq!(nothing, json!({"jobs": []}));
    start(&here, &format!("echo one; {sleep}")).await;
    start(&here, &sleep).await;
    let jobs = here.service.get(&format!("{at}/jobs")).await["jobs"].clone();
    assert_eq!(jobs.as_array().unwrap().len(), 2);
    assert_eq!(
        (&jobs[0]["job"], &jobs[1]["command"]),
        (&json!(1), &json!(sleep))
    );
    assert!(jobs[0]["since"].as_u64().unwrap() > 1_700_000_000);
    let snapshot = here.service.get(&at).await;
    assert_eq!(
        (&snapshot["jobs"], &snapshot["summary"]["jobs"]),
        (&jobs, &json!(2))
    );
    let rows = here.service.get("/v1/conversations").await["conversations"].clone();
    let row = rows.as_array().unwrap().iter();
    let row = row.clone().find(|row| row["id"] == here.id).unwrap();
    assert_eq!(row["jobs"], 2);
    // Stopping needs no token.
    let mut follower = here.service.follow(&here.id, "", "").await;
    let path = format!("{at}/jobs/2/stop");
    for by in ["ana", "ben"] {
        let body = json!({"by": by}).to_string();
        let stopped = here.service.post(&path, &body).await;
        assert_eq!(stopped.status, 200, "{stopped:?}");
        let expected = json!({"job": 2, "how": "stopped", "by": "ana"});
        assert_eq!(stopped.json(), expected);
    }
    let listed = here.service.get(&format!("{at}/jobs")).await;
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1);
    for (path, kind) in [
        (format!("{at}/jobs/9/stop"), "no-job"),
        (format!("{at}/jobs/x/stop"), "no-job"),
        (
            "/v1/conversations/none/jobs/1/stop".to_owned(),
            "no-conversation",
        ),
    ] {
        let answer = here.service.post(&path, "").await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["type"].as_str().unwrap().ends_with(kind));
    }
    // The model is told who stopped it.
    assert_eq!(follower.until("job_ended").await["by"], "ana");
    here.call("job", json!({"id": 1})).await;
    assert!(sent(&here).contains("stopped by ana]"));
}

/// Spec: [HTTP-111]
#[tokio::test]
async fn b11_the_whole_output_of_a_call_is_read_over_http() {
    let here = Changing::in_mode("ask").await;
    let call = here.begin("bash", json!({"command": "seq 1 20000"})).await;
    let approval = here.asked().await.unwrap();
    here.answer(&approval, "allow").await;
    here.result(&call).await;
    let at = format!("/v1/conversations/{}/calls/{call}/output", here.id);
    let read = async |query: &str| {
        let answer = here
            .service
            .send("GET", &format!("{at}{query}"), "", "")
            .await;
        (answer.status, answer.body.clone())
    };
    let whole: String = (1..=20_000).map(|line| format!("{line}\n")).collect();
    let (status, all) = read("").await;
    assert!(status == 200 && all == whole, "{status}");
    assert_eq!(read("?lines=3-4").await, (200, "3\n4\n".to_owned()));
    assert_eq!(read("?bytes=0-3").await, (200, "1\n2\n".to_owned()));
    assert_eq!(read("?lines=30000-").await, (200, String::new()));
    for wrong in ["?lines=0-1", "?bytes=x", "?lines=1-2&bytes=1-2"] {
        assert_eq!(read(wrong).await.0, 400, "{wrong}");
    }
    let other = at.replace(&call, "other");
    let answer = here.service.send("GET", &other, "", "").await;
    assert_eq!(answer.status, 404);
    let (short, _) = run(&here, json!({"command": "echo short"})).await;
    assert!(short.starts_with("short"), "{short}");
}

/// Spec: [CLI-636] [CLI-637]
#[tokio::test]
async fn jobs_are_told_with_their_output_and_a_stop_does_not_end_them_unasked() {
    let mut here = Changing::in_mode("ask").await;
    let sleep = format!("sleep {}", marked(50));
    let (result, is_error) = start(&here, &format!("echo begun; {sleep}")).await;
    assert!(!is_error, "{result}");
    look(&here, 1, "begun").await;
    let home = here.service.home.path().to_owned();
    let harness = async |line: &[&str]| {
        let mut command = command(&home);
        command.args(line);
        let running = tokio::task::spawn_blocking(move || output(&mut command));
        within("the end of the command", running).await.unwrap()
    };
    let (code, out, _) = harness(&["jobs", "-c", &here.id]).await;
    assert_eq!(code, 0);
    assert!(
        out.starts_with(&format!("1 echo begun; {sleep} (")) && out.ends_with(" s, output)\n"),
        "{out}"
    );
    let (code, out, err) = harness(&["stop"]).await;
    let told = "harness: 1 job runs in the background; nothing was stopped: wait for the end, or \
                `harness stop --force`\n";
    assert_eq!((code, &*out, &*err), (1, "", told));
    let (code, _, _) = harness(&["stop", "--force"]).await;
    assert_eq!(code, 0);
    none_left(&sleep, Duration::from_millis(500)).await;
    assert_eq!(here.service.ended().await.code(), Some(0));
}
