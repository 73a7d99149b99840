//! The command of a file that tells people of a completion, a pause and a gate.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::client::within;
use crate::eventually::eventually;
use crate::workflow_ground::{Bench, Turn, file};

/// A receiver of notices by a file's command.
struct Told(TcpListener);

impl Told {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// A command that passes its input on, and ends with the code that it is answered.
    fn table(&self) -> String {
        let port = self.0.local_addr().unwrap().port();
        format!(
            "[notify]\nnetwork = true\nshell = '''exec 3<>/dev/tcp/127.0.0.1/{port}; cat >&3; echo >&3; \
             read -r code <&3; echo said; exit $code'''\n"
        )
    }

    /// The next event, and who waits for the answer.
    async fn next(&self) -> (Value, TcpStream) {
        let told = async {
            let (mut stream, _) = self.0.accept().await.unwrap();
            let mut line = Vec::new();
            while !line.ends_with(b"\n") {
                line.push(stream.read_u8().await.unwrap());
            }
            (serde_json::from_slice(&line).unwrap(), stream)
        };
        within("an event", told).await
    }
}

async fn answer(mut stream: TcpStream, code: &str) {
    stream
        .write_all(format!("{code}\n").as_bytes())
        .await
        .unwrap();
}

async fn told_of(bench: &Bench, count: usize) -> Vec<Value> {
    eventually("the record", async || {
        let past = bench.past("notified").await;
        (past.len() >= count).then_some(past)
    })
    .await
}

/// Spec: [FLOW-103]
#[tokio::test]
async fn people_are_told_of_the_end_and_what_fails_is_only_on_record() {
    let told = Told::new().await;
    let text = file("strict", &told.table(), &["one"]);
    let bench = Bench::start(&text, &[], Turn::right).await;
    // What nobody approved tells nobody anything, also not of the gate.
    let made = bench.post(&bench.making(&json!({}))).await;
    assert_eq!(made.status, 201, "{made:?}");
    bench.run().await;
    bench.until("waiting_for_approval").await;
    let approved = bench
        .order("gates/plan-1", &json!({"answer": "approve"}))
        .await;
    assert_eq!(approved.status, 200, "{approved:?}");
    bench.until("ready").await;
    bench.run().await;
    let (event, stream) = told.next().await;
    let now = bench.look().await;
    let wanted = json!({"event": "completed", "id": "w1/2", "workflow": "w1", "name": "words",
        "state": "completed", "folder": now["folder"], "commit": now["head"]});
    assert_eq!(event, wanted);
    answer(stream, "3").await;
    let past = told_of(&bench, 1).await;
    assert_eq!(
        past[0],
        json!({"number": 2, "failed": "it ended with code 3: said"})
    );
    assert_eq!(bench.look().await["state"], "completed");
}

/// Spec: [FLOW-103]
#[tokio::test]
async fn what_a_crash_interrupts_is_told_again_with_the_same_id_and_then_no_more() {
    let told = Told::new().await;
    let sick = "\n[[health]]\nid = \"well\"\ncmd = [\"false\"]\n";
    let text = file("strict", &(told.table() + sick), &["one"]);
    let mut bench = Bench::ready(&text, &[], Turn::right).await;
    bench.run().await;
    let (event, stream) = told.next().await;
    assert_eq!(
        (&event["event"], &event["reason"]),
        (&json!("paused"), &json!("health"))
    );
    assert!(
        event["detail"].as_str().unwrap().contains("well"),
        "{event}"
    );
    bench.service.kill();
    drop(stream);
    bench.service.revive().await;
    let (again, stream) = told.next().await;
    assert_eq!(again["id"], event["id"]);
    answer(stream, "0").await;
    let past = told_of(&bench, 1).await;
    assert_eq!(past[0], json!({"number": 1}));
    bench.service.kill();
    bench.service.revive().await;
    // The next thing that is told is another one.
    let resumed = bench.order("resume", &json!({})).await;
    assert_eq!(resumed.status, 200, "{resumed:?}");
    let (next, stream) = told.next().await;
    assert_eq!(
        (&next["id"], &next["reason"]),
        (&json!("w1/2"), &json!("health"))
    );
    answer(stream, "0").await;
    told_of(&bench, 2).await;
}
