//! Approvals in any order of what operators, crashes and other programs do: each has one end, and each
//! change happens once or not at all, as the records say.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::change_records::{Records, adding};
use crate::changing::{left_in, open, order, put_by_hand};
use crate::checker::check;
use crate::client::LIMIT;
use crate::crash::exchange;
use crate::eventually::eventually;
use crate::program::Service;
use crate::talk::{model, serving};

/// Number of schedules; `HARNESS_SCHEDULES` sets another number.
const SCHEDULES: u64 = 50;
/// Number of operators that answer.
const CLIENTS: usize = 3;

/// The answer that an operator got: the verdict that counts, by the number of the approval.
type Told = Option<(u64, String)>;

/// A conversation under one schedule.
struct Schedule<'r> {
    random: &'r mut Rng,
    id: String,
    folder: PathBuf,
    file: PathBuf,
    by_hand: u64,
    /// Number of times that the service was killed.
    kills: u64,
    asked: Vec<JoinHandle<Told>>,
    told: BTreeMap<u64, String>,
}

/// The next action.
#[derive(Debug, Clone, Copy)]
enum Action {
    Wait,
    Answer,
    AnswerAndKill,
    Cancel,
    Steer,
    Kill,
    ByHand,
    Prompt,
}

const ACTIONS: [Action; 12] = [
    Action::Wait,
    Action::Wait,
    Action::Answer,
    Action::Answer,
    Action::Answer,
    Action::Answer,
    Action::AnswerAndKill,
    Action::Cancel,
    Action::Steer,
    Action::Kill,
    Action::ByHand,
    Action::Prompt,
];

impl Schedule<'_> {
    fn path(&self, what: &str) -> String {
        format!("/v1/conversations/{}{what}", self.id)
    }

    async fn state(&self, service: &Service) -> String {
        let snapshot = service.get(&self.path("?tail=0")).await;
        snapshot["summary"]["state"].as_str().unwrap().to_owned()
    }

    /// Starts a run, if none is going.
    async fn prompt(&mut self, service: &Service) {
        let content = format!("go {} {}", self.random.u8(1..3), self.random.u8(1..4));
        let answer = service
            .post(
                &self.path("/prompt"),
                &json!({"content": content}).to_string(),
            )
            .await;
        assert!([200, 409].contains(&answer.status), "{answer:?}");
    }

    /// The operators answer what is open, at the same time and not the same. Some look too early.
    async fn answer(&mut self, service: &Service) {
        if self.random.bool() {
            eventually("a pause or the end", async || {
                self.state(service).await != "running"
            })
            .await;
        }
        let Some(approval) = open(service, &self.id).await else {
            return;
        };
        let token = std::fs::read_to_string(service.home.path().join(".harness/token")).unwrap();
        let path = self.path(&format!("/approvals/{}", approval["id"]));
        for client in 0..self.random.usize(1..=CLIENTS) {
            let mut body = json!({
                "answer": if self.random.u8(..4) > 0 { "allow" } else { "deny" },
                "digest": approval["digest"],
                "by": format!("client {client}"),
            });
            if self.random.u8(..6) == 0 {
                body["digest"] = json!("0".repeat(64));
            }
            if body["answer"] == "deny" && self.random.u8(..6) == 0 {
                body["stop"] = json!(true);
            }
            let send = send(service.address, path.clone(), token.clone(), body);
            self.asked.push(tokio::spawn(send));
        }
    }

    /// Takes in what operators were answered: one verdict for all.
    async fn collect(&mut self) {
        for asked in self.asked.drain(..) {
            if let Some((id, verdict)) = asked.await.unwrap() {
                let first = self.told.entry(id).or_insert(verdict.clone());
                assert_eq!(
                    *first, verdict,
                    "two operators were told another answer to {id}"
                );
            }
        }
    }

    async fn step(&mut self, action: Action, service: &mut Service) {
        match action {
            Action::Wait => {
                let wait = Duration::from_micros(self.random.u64(..20_000));
                tokio::time::sleep(wait).await;
            }
            Action::Answer => {
                self.answer(service).await;
                self.collect().await;
            }
            Action::AnswerAndKill => {
                self.answer(service).await;
                self.kill(service).await;
            }
            Action::Cancel => drop(service.post(&self.path("/cancel"), "{}").await),
            Action::Steer => {
                let queue = ["/steer", "/follow-up"][self.random.usize(..2)];
                let answer = service
                    .post(&self.path(queue), r#"{"content":"mind"}"#)
                    .await;
                assert_eq!(answer.status, 200, "{answer:?}");
            }
            Action::Kill => self.kill(service).await,
            Action::ByHand => self.change_by_hand(),
            Action::Prompt => self.prompt(service).await,
        }
    }

    fn change_by_hand(&mut self) {
        self.by_hand += 1;
        put_by_hand(&self.file, &format!("hand {}\n", self.by_hand));
    }

    async fn kill(&mut self, service: &mut Service) {
        let wait = Duration::from_micros(self.random.u64(..15_000));
        tokio::time::sleep(wait).await;
        service.kill();
        self.kills += 1;
        self.collect().await;
        check(&service.journal(&self.id));
        // While it is gone, too.
        if self.random.u8(..4) == 0 {
            self.change_by_hand();
        }
        service.revive().await;
    }

    /// Answers open approvals until nothing runs any longer.
    async fn finish(&mut self, service: &Service) {
        let end = async {
            loop {
                match self.state(service).await.as_str() {
                    "waiting_approval" => {
                        self.answer(service).await;
                        self.collect().await;
                    }
                    "running" => tokio::time::sleep(Duration::from_millis(2)).await,
                    "interrupted" => {
                        let body = json!({"content": "finish"}).to_string();
                        service.post(&self.path("/prompt"), &body).await;
                    }
                    _ => return,
                }
            }
        };
        let came = tokio::time::timeout(4 * LIMIT, end).await;
        came.expect("the end of it");
    }
}

/// Sends an answer; tells what it was answered with, unless it was refused or the service died.
async fn send(address: SocketAddr, path: String, token: String, body: Value) -> Told {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    let (status, answer) = exchange(address, &request).await?;
    match status {
        200 => Some((
            answer["id"].as_u64()?,
            answer["answer"].as_str()?.to_owned(),
        )),
        // Another came first, it was withdrawn, or another service has the port by now.
        _ => None,
    }
}

/// Spec: [APPR-01] [APPR-03] [APPR-05] [APPR-08]
#[tokio::test]
async fn in_any_order_each_approval_has_one_end_and_each_change_happens_once_at_most() {
    let schedules = std::env::var("HARNESS_SCHEDULES");
    let schedules = schedules.map_or(SCHEDULES, |schedules| schedules.parse().unwrap());
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}, {schedules} schedules");
    let mut random = Rng::with_seed(seed);
    let (mut service, standin, _) = serving(adding(), model(10_000_000), &[]).await;
    let (mut approvals, mut happened, mut unknown, mut kills) = (0, 0, 0, 0);
    for number in 0..schedules {
        let folder = service.home.path().join(format!("work{number}"));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("f");
        std::fs::write(&file, "begin\nend\n").unwrap();
        let id = service.create(&json!({"workspace": folder})).await;
        let mode = if random.u8(..5) == 0 { "edits" } else { "ask" };
        let path = format!("/v1/conversations/{id}/settings");
        let settings = json!({"settings": {"mode": mode}});
        let answer = order(&service, "PATCH", &path, &settings).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let actions = random.usize(3..10);
        let mut schedule = Schedule {
            random: &mut random,
            id,
            folder,
            file,
            by_hand: 0,
            kills: 0,
            asked: Vec::new(),
            told: BTreeMap::new(),
        };
        schedule.prompt(&service).await;
        let mut done = Vec::new();
        for _ in 0..actions {
            let action = ACTIONS[schedule.random.usize(..ACTIONS.len())];
            done.push(action);
            schedule.step(action, &mut service).await;
        }
        schedule.finish(&service).await;
        println!("{number}: {mode} {done:?}");
        let records = Records::of(&check(&service.journal(&schedule.id)));
        let (of_it, of_none) = records.check(&schedule.told, &schedule.file, schedule.kills);
        approvals += records.approvals.len();
        (happened, unknown) = (happened + of_it, unknown + of_none);
        kills += schedule.kills;
        assert_eq!(standin.violations(), [""; 0]);
        assert_eq!(left_in(&schedule.folder), [""; 0]);
        let text = std::fs::read_to_string(&schedule.file).unwrap();
        for number in 1..=schedule.by_hand {
            assert!(text.contains(&format!("hand {number}\n")), "{text}");
        }
        let path = schedule.path("");
        let removed = order(&service, "DELETE", &path, &json!({})).await;
        assert!([200, 204].contains(&removed.status), "{removed:?}");
    }
    println!(
        "{schedules} schedules, {kills} kills, {approvals} approvals with one end each, {happened} changes, \
         {unknown} of which nobody can know"
    );
}
