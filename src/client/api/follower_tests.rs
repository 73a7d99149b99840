use serde_json::{Value, json};

use super::*;
use crate::client::commands::follow::next_event;
use crate::client::error::CommandError;
use crate::client::testing::{Home, Part, Server, answer, frames, impatient, opening, recorded};

const EVENTS: &str = "/v1/conversations/c/events";

fn status(message: &str) -> Value {
    json!({"type": "status", "state": "idle", "message": message, "timestamp": 1})
}

fn stream(seq: u64, events: &[(u64, Value)]) -> Vec<Part> {
    vec![opening(seq).into(), frames(events).into()]
}

/// Follows until it ends: the positions of the events, the remarks, and why.
async fn follow(server: &Server, start: FollowFrom) -> (Vec<Option<String>>, String, CommandError) {
    let home = Home::of(server);
    follow_from(&home.config, start).await
}

async fn follow_from(
    config: &ClientConfig,
    start: FollowFrom,
) -> (Vec<Option<String>>, String, CommandError) {
    let (mut output, record) = recorded();
    let mut positions = vec![];
    let follower = EventFollower::new(config, impatient(), "c", "test", start);
    let mut follower = match follower.open().await {
        Ok(follower) => follower,
        Err(error) => return (positions, record.err(), error.into()),
    };
    loop {
        match next_event(&mut follower, &mut output).await {
            Ok(arrival) => positions.push(arrival.position.map(|id| id.to_string())),
            Err(error) => return (positions, record.err(), error.into()),
        }
    }
}

fn refusal() -> Vec<Part> {
    let problem = json!({"type": "x", "title": "gone", "status": 404,
        "detail": "there is no conversation c", "request_id": "r"});
    vec![answer(404, &problem).into()]
}

/// Spec: [CLI-31]
#[actix::test]
async fn a_broken_stream_is_resumed_where_it_was() {
    let server = Server::start().await;
    let passing = json!({"type": "discarded"});
    let reset = json!({"type": "reset", "reason": "x", "snapshot": {"summary":
        crate::client::testing::summary("c"), "state": "idle", "message": "", "settings": {},
        "queue": [], "attached": 1, "history": {"events": []}, "position": "f-9-0"}});
    server.say(
        EVENTS,
        vec![
            stream(4, &[(5, status("a")), (0, passing)]),
            // Nothing but the opening, and a service that is overloaded for a moment.
            stream(5, &[]),
            vec![answer(503, &json!({})).into()],
            stream(5, &[(6, status("b")), (0, reset)]),
            refusal(),
        ],
    );
    let (positions, remarks, error) = follow(&server, FollowFrom::Tail(7)).await;
    let at = |position: &str| Some(position.to_owned());
    assert_eq!(positions, [at("e-5-0"), None, at("e-6-0"), None]);
    assert_eq!(error.to_string(), "there is no conversation c");
    assert_eq!(remarks.lines().count(), 4, "{remarks}");
    let asked: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let id = request
                .lines()
                .find_map(|line| line.strip_prefix("last-event-id: "));
            let target = request.split(' ').nth(1).unwrap_or_default();
            format!(
                "{} {}",
                target.rsplit('/').next().unwrap(),
                id.unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            "events?name=test&tail=7 -",
            "events?name=test e-5-0",
            "events?name=test e-5-0",
            "events?name=test e-5-0",
            "events?name=test f-9-0",
        ]
    );
}

/// Spec: [CLI-31]
#[actix::test]
async fn a_service_that_is_gone_for_good_is_told_and_left() {
    let server = Server::start().await;
    let home = Home::of(&server);
    let discovery = home.config.home.join("service.json");
    let events = stream(4, &[(5, status("a"))]);
    server.say(EVENTS, vec![events]);
    // Taken away once the client is attached.
    let following = follow_from(&home.config, FollowFrom::Now);
    let stopping = async {
        server.until_asked(EVENTS).await;
        std::fs::remove_file(discovery).unwrap();
    };
    let ((positions, remarks, error), ()) = tokio::join!(following, stopping);
    assert_eq!(positions.len(), 1);
    assert!(
        error.to_string().starts_with("no service runs for "),
        "{error}"
    );
    assert_eq!(remarks.lines().count(), 3, "{remarks}");
}

/// Spec: [CLI-02]
#[actix::test]
async fn a_service_that_was_never_there_is_not_waited_for() {
    let server = Server::start().await;
    let home = Home::of(&server);
    home.write_discovery(&server.address.to_string(), "another");
    let (_, remarks, error) = follow_from(&home.config, FollowFrom::Now).await;
    assert_eq!((&*remarks, error.exit_code()), ("", 1));
}

/// Spec: [CLI-107]
#[actix::test]
async fn what_the_service_cannot_do_now_is_asked_for_again_and_a_refusal_is_not() {
    for (status, tries) in [
        (408, 3),
        (429, 3),
        (500, 3),
        (503, 3),
        (400, 2),
        (401, 2),
        (404, 2),
    ] {
        let server = Server::start().await;
        let no = answer(status, &json!({}));
        let first = stream(4, &[(5, self::status("a"))]);
        server.say(EVENTS, vec![first, vec![no.into()], refusal()]);
        let (_, remarks, _) = follow(&server, FollowFrom::Now).await;
        assert_eq!(server.requests().len(), tries, "{status}");
        assert_eq!(remarks.lines().count(), tries - 1, "{remarks}");
    }
}

/// Spec: [CLI-108]
#[actix::test]
async fn what_is_not_an_event_is_told_and_left_out_and_the_stream_goes_on() {
    let server = Server::start().await;
    let wrong = "id: e-5-0\ndata: no JSON\n\n";
    let wrong = format!("{:x}\r\n{wrong}\r\n", wrong.len()).into_bytes();
    let parts = vec![
        opening(4).into(),
        wrong.into(),
        frames(&[(6, status("b"))]).into(),
    ];
    server.say(EVENTS, vec![parts, refusal()]);
    let (positions, remarks, _) = follow(&server, FollowFrom::Now).await;
    assert_eq!(positions, [Some("e-6-0".to_owned())]);
    let remarks: Vec<&str> = remarks.lines().collect();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(
        remarks[0].starts_with(
            "harness: the event stream contains something that is not an event: expected"
        ),
        "{remarks:?}"
    );
    assert_eq!(server.requests().len(), 2);
}
