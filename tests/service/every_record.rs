//! A crash behind every record of a run that changes a file: what is asked has one end, what is changed is
//! changed once at most, and the records say which.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::change_records::{Records, adding};
use crate::changing::{left_in, open, order};
use crate::checker::check;
use crate::client::LIMIT;
use crate::program::Service;
use crate::talk::{Talk, model, serving};

/// The answers to the approvals of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// There are none: the mode allows.
    None,
    Allow,
    Deny,
    Cancel,
}

/// The state of a conversation when a service finds its journal cut after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing: its run has ended, or it has none.
    Idle,
    /// It waits for the answer.
    Waits,
    /// It continues, since the allowed change had not begun.
    GoesOn,
    /// Its run ends as interrupted.
    Interrupted,
}

/// A run, its journal by lines, and the file before each change and behind the last one.
struct Run {
    service: Service,
    id: String,
    file: PathBuf,
    lines: Vec<String>,
    contents: Vec<String>,
}

impl Run {
    fn talk(&self) -> Talk<'_> {
        Talk {
            service: &self.service,
            id: self.id.clone(),
        }
    }

    async fn state(&self) -> Value {
        let path = format!("/v1/conversations/{}?tail=0", self.id);
        self.service.get(&path).await["summary"]["state"].clone()
    }

    /// Answers until nothing runs any longer. Returns the answers that were given.
    async fn finish(&self, answers: Answers) -> BTreeMap<u64, String> {
        let mut told = BTreeMap::new();
        let end = async {
            loop {
                match self.state().await.as_str().unwrap() {
                    "running" => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
                    "waiting_approval" => {
                        let Some(approval) = open(&self.service, &self.id).await else {
                            continue;
                        };
                        let path = format!("/v1/conversations/{}", self.id);
                        if answers == Answers::Cancel {
                            self.service.post(&(path + "/cancel"), "{}").await;
                            continue;
                        }
                        let verdict = if answers == Answers::Deny {
                            "deny"
                        } else {
                            "allow"
                        };
                        let body = json!({"answer": verdict, "digest": approval["digest"]});
                        let path = format!("{path}/approvals/{}", approval["id"]);
                        let answer = order(&self.service, "POST", &path, &body).await;
                        assert_eq!(answer.status, 200, "{answer:?}");
                        told.insert(approval["id"].as_u64().unwrap(), verdict.to_owned());
                    }
                    _ => return,
                }
            }
        };
        let came = tokio::time::timeout(4 * LIMIT, end).await;
        came.expect("the end of the run");
        told
    }

    /// The state that a service finds after the records up to one.
    fn expected(&self, records: usize) -> Found {
        let mut found = Found::Idle;
        for line in &self.lines[1..=records] {
            let record: Value = serde_json::from_str(line).unwrap();
            found = match record["type"].as_str().unwrap() {
                "approval_asked" => Found::Waits,
                "approval_answered" if record["data"]["answer"] == "allow" => Found::GoesOn,
                "run_started" | "approval_answered" | "approval_withdrawn" | "effect_began" => {
                    Found::Interrupted
                }
                "run_ended" => Found::Idle,
                _ => found,
            };
        }
        found
    }

    /// The contents that the file may have had behind a record.
    fn may_be(&self, records: usize) -> Vec<&str> {
        let count = |kind: &str| {
            let kind = format!(r#""type":"{kind}""#);
            let lines = self.lines[1..=records].iter();
            lines.filter(|line| line.contains(&kind)).count()
        };
        let (began, made) = (count("effect_began"), count("files_changed"));
        let contents = self.contents[made..=began].iter();
        contents.map(String::as_str).collect()
    }
}

/// Makes a run with two changes in one reply.
async fn run(service: Service, answers: Answers) -> Run {
    let folder = service.home.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("f");
    let before = "begin\nend\n".to_owned();
    std::fs::write(&file, &before).unwrap();
    let id = service.create(&json!({"workspace": folder})).await;
    if answers == Answers::None {
        let settings = json!({"settings": {"mode": "edits"}});
        let path = format!("/v1/conversations/{id}/settings");
        assert_eq!(order(&service, "PATCH", &path, &settings).await.status, 200);
    }
    let mut run = Run {
        service,
        id,
        file,
        lines: Vec::new(),
        contents: vec![before],
    };
    run.talk().prompt("go 1 2").await;
    run.finish(answers).await;
    let journal = std::fs::read_to_string(run.service.journal(&run.id)).unwrap();
    run.lines = journal.lines().map(str::to_owned).collect();
    let after = std::fs::read_to_string(&run.file).unwrap();
    let calls: Vec<&str> = after
        .lines()
        .filter(|line| line.starts_with("call_"))
        .collect();
    for made in 1..=calls.len() {
        let content = format!("begin\n{}\nend\n", calls[..made].join("\n"));
        run.contents.push(content);
    }
    run
}

/// Kills the service behind each record, with the file as it may have been, and looks what the next makes
/// of it.
async fn behind_every_record(answers: Answers) {
    let (service, standin, _) = serving(adding(), model(10_000_000), &[]).await;
    let mut run = run(service, answers).await;
    let changes = run.contents.len() - 1;
    assert_eq!(
        changes,
        if matches!(answers, Answers::None | Answers::Allow) {
            2
        } else {
            0
        }
    );
    let mut found = BTreeMap::new();
    for records in 0..run.lines.len() {
        let may_be: Vec<String> = run
            .may_be(records)
            .iter()
            .map(ToString::to_string)
            .collect();
        for content in &may_be {
            let at = format!("{answers:?}, behind record {records}, {content:?}");
            run.service.kill();
            let kept = run.lines[..=records].join("\n") + "\n";
            // A line that was cut is none.
            let next = run
                .lines
                .get(records + 1)
                .map_or("", |line| &line[..line.len() / 2]);
            std::fs::write(run.service.journal(&run.id), kept + next).unwrap();
            std::fs::write(&run.file, content).unwrap();
            if may_be.len() > 1 {
                // A change was under way.
                let beside = run.file.with_file_name(".harness-0123456789abcdef");
                std::fs::write(beside, "part of").unwrap();
            }
            run.service.revive().await;

            let expected = run.expected(records);
            *found.entry(format!("{expected:?}")).or_insert(0) += 1;
            let state = run.state().await;
            match expected {
                Found::Idle => assert_eq!(state, "idle", "{at}"),
                Found::Waits => assert_eq!(state, "waiting_approval", "{at}"),
                Found::Interrupted => assert_eq!(state, "interrupted", "{at}"),
                // It goes on as soon as it is opened.
                Found::GoesOn => {
                    let refused = run.talk().send("POST", "/continue", &json!({})).await;
                    assert_eq!(refused.status, 409, "{at}: {refused:?}");
                }
            }
            let told = run.finish(answers).await;
            if expected == Found::Interrupted {
                let journal = check(&run.service.journal(&run.id));
                assert!(journal.open_run.is_some(), "{at}: looking wrote something");
                run.talk().say("finish").await;
            }
            run.talk().say("finish").await;
            let checked = check(&run.service.journal(&run.id));
            assert_eq!(checked.open_run, None, "{at}");
            let records = Records::of(&checked);
            println!("{at}: {expected:?}, then {:?}", records.results);
            let (happened, unknown) = records.check(&told, &run.file, 1);
            assert_eq!(unknown, 0, "{at}");
            let goes_on = matches!(expected, Found::Waits | Found::GoesOn | Found::Idle);
            if goes_on && !records.results.is_empty() {
                assert_eq!(happened, changes as u64, "{at}");
            }
            assert_eq!(left_in(run.file.parent().unwrap()), [""; 0], "{at}");
            assert_eq!(standin.violations(), [""; 0], "{at}");
        }
    }
    println!("{answers:?}: {} records, {found:?}", run.lines.len() - 1);
}

/// Spec: [APPR-01] [APPR-08]
#[tokio::test]
async fn a_crash_behind_any_record_of_an_allowed_change() {
    behind_every_record(Answers::Allow).await;
}

/// Spec: [APPR-04] [APPR-08]
#[tokio::test]
async fn a_crash_behind_any_record_of_a_denied_change() {
    behind_every_record(Answers::Deny).await;
}

/// Spec: [APPR-05] [APPR-08]
#[tokio::test]
async fn a_crash_behind_any_record_of_a_change_that_is_cancelled() {
    behind_every_record(Answers::Cancel).await;
}

/// Spec: [APPR-07] [APPR-08]
#[tokio::test]
async fn a_crash_behind_any_record_of_a_change_that_the_mode_allows() {
    behind_every_record(Answers::None).await;
}
