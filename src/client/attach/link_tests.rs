use serde_json::json;

use super::*;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::attach::testing::*;
use crate::client::testing::{Home, Part, Server, answer, summary};
use std::time::Duration;

const PROMPT: &str = "/v1/conversations/c/prompt";
const CANCEL: &str = "/v1/conversations/c/cancel";
const HISTORY: &str = "/v1/conversations/c/history";

/// A client that is attached to `c`, whose stream stays open.
async fn attached(pace: LinkTimeouts) -> (Server, Home, Client) {
    let server = service(vec![open(4, &[])]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, pace);
    assert_eq!(client.tell(2).await, ["snapshot c e-4-0", "up"]);
    (server, home, client)
}

fn accepted(key: &str, run_id: u64) -> News {
    News::Accepted {
        key: key.to_owned(),
        run_id,
    }
}

/// The bodies of the requests for this path.
fn bodies(server: &Server, path: &str) -> Vec<String> {
    let requests = server.requests().into_iter();
    requests
        .filter(|request| request.contains(&format!(" {path} ")))
        .map(|request| request.split_once("\r\n\r\n").unwrap().1.to_owned())
        .collect()
}

/// Spec: [LINK-11]
#[actix::test]
async fn opening_another_conversation_drops_the_stream_and_the_questions_of_the_first() {
    let (server, _home, mut client) = attached(hasty()).await;
    server.say(HISTORY, vec![vec![Part::Hang]]);
    client.order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 3,
    });
    server.until_asked(HISTORY).await;
    let of_d = "/v1/conversations/d";
    server.on(of_d, vec![answer(200, &snapshot("d", "e-7-0"))]);
    server.say("/v1/conversations/d/events", vec![open(7, &[])]);
    client.open("d");
    assert_eq!(client.tell(2).await, ["snapshot d e-7-0", "up"]);
    server.until_left(EVENTS).await;
    server.until_left(HISTORY).await;

    // The same one is opened anew too: the client missed something.
    server.on(of_d, vec![answer(200, &snapshot("d", "e-9-0"))]);
    server.say("/v1/conversations/d/events", vec![open(9, &[])]);
    client.open("d");
    assert_eq!(client.tell(2).await, ["snapshot d e-9-0", "up"]);
}

/// Spec: [LINK-12]
#[actix::test]
async fn a_slow_question_delays_no_cancel_and_orders_of_a_kind_keep_their_sequence() {
    let (server, _home, mut client) = attached(hasty()).await;
    let page = answer(200, &json!({"events": []}));
    server.say(HISTORY, vec![vec![Part::Await(CANCEL), page.into()]]);
    let stopped = answer(200, &json!({"cancelled": true}));
    server.on(CANCEL, vec![stopped]);
    client.order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 3,
    });
    server.until_asked(HISTORY).await;
    client.order(ClientOrder::Cancel {
        conversation: "c".to_owned(),
        run_id: Some(7),
        clear_queue: false,
    });
    let mut told = [client.next().await, client.next().await];
    told.sort_by_key(|news| matches!(news, News::Older { .. }));
    let [
        News::CancelAnswered { cancelled: true },
        News::Older { page: Some(_), .. },
    ] = told
    else {
        panic!("{told:?}");
    };

    let run = |run: u64| Part::from(answer(200, &json!({"run_id": run})));
    server.say(PROMPT, vec![vec![Part::Await("/v1/conversations"), run(1)]]);
    server.say(PROMPT, vec![vec![run(2)]]);
    let list = answer(200, &json!({"conversations": []}));
    server.on("/v1/conversations", vec![list]);
    client.submit("k1");
    client.submit("k2");
    server.until_asked(PROMPT).await;
    client.order(ClientOrder::List { folder: None });
    let mut told = vec![];
    while told.len() < 2 {
        match client.next().await {
            News::Listed(_) => {}
            news => told.push(news),
        }
    }
    assert_eq!(told, [accepted("k1", 1), accepted("k2", 2)]);
}

/// Spec: [LINK-13]
#[actix::test]
async fn a_prompt_whose_answer_is_lost_is_sent_again_with_its_key() {
    let (server, _home, mut client) = attached(hasty()).await;
    server.on(
        PROMPT,
        vec![
            vec![],
            problem(503, "the service is stopping"),
            answer(200, &json!({"run_id": 3})),
        ],
    );
    client.submit("k");
    assert_eq!(client.next().await, accepted("k", 3));
    let body = r#"{"content":"hi","key":"k","by":"ana@pts/3"}"#;
    assert_eq!(bodies(&server, PROMPT), [body; 3]);
    assert_eq!(LinkTimeouts::default().resending, Duration::from_secs(10));
}

/// Spec: [LINK-13]
#[actix::test]
async fn a_prompt_that_is_not_taken_is_told_with_the_reason() {
    let (server, home, mut client) = attached(hasty()).await;
    let not_accepted = |reason: &str| News::NotAccepted {
        key: "k".to_owned(),
        reason: reason.to_owned(),
    };
    for (status, reason) in [
        (409, "a run is going; wait for its end or cancel it"),
        (400, "content must not be blank"),
        (422, "the key was used for another prompt"),
        (507, "the disk is full"),
    ] {
        server.on(PROMPT, vec![problem(status, reason)]);
        client.submit("k");
        assert_eq!(client.next().await, not_accepted(reason));
    }
    assert_eq!(bodies(&server, PROMPT).len(), 4);
    std::fs::remove_file(home.config.home.join("service.json")).unwrap();
    client.submit("k");
    let News::NotAccepted { reason, .. } = client.next().await else {
        panic!("nobody can have taken it");
    };
    assert!(reason.starts_with("no service runs"), "{reason}");
}

/// Spec: [LINK-14]
#[actix::test]
async fn a_cancel_names_its_run_and_who_cancels() {
    let (server, _home, mut client) = attached(hasty()).await;
    server.on(
        CANCEL,
        vec![
            answer(200, &json!({"cancelled": true})),
            answer(200, &json!({"cancelled": false})),
        ],
    );
    for cancelled in [true, false] {
        client.order(ClientOrder::Cancel {
            conversation: "c".to_owned(),
            run_id: Some(7),
            clear_queue: false,
        });
        let answered = News::CancelAnswered { cancelled };
        assert_eq!(client.next().await, answered);
    }
    let body = r#"{"run_id":7,"by":"ana@pts/3"}"#;
    assert_eq!(bodies(&server, CANCEL), [body; 2]);
}

/// Every order that is answered with what went wrong.
fn orders() -> Vec<(&'static str, ClientOrder)> {
    let conversation = "c".to_owned();
    vec![
        (
            CANCEL,
            ClientOrder::Cancel {
                conversation: "c".to_owned(),
                run_id: Some(7),
                clear_queue: false,
            },
        ),
        (
            HISTORY,
            ClientOrder::Whole {
                conversation: "c".to_owned(),
                seq: 7,
            },
        ),
        ("/v1/conversations", ClientOrder::List { folder: None }),
        (
            "/v1/conversations",
            ClientOrder::Create {
                title: None,
                folder: None,
            },
        ),
        (
            "/v1/conversations/c/fork",
            ClientOrder::Fork {
                conversation: "c".to_owned(),
                seq: None,
            },
        ),
        (
            SNAPSHOT,
            ClientOrder::Rename {
                conversation: conversation.clone(),
                title: String::new(),
            },
        ),
        (SNAPSHOT, ClientOrder::Delete { conversation }),
    ]
}

/// Spec: [LINK-14]
#[actix::test]
async fn every_order_that_fails_is_told_and_the_stream_stays() {
    let (server, _home, mut client) = attached(hasty()).await;
    for (path, order) in orders() {
        server.on(path, vec![problem(400, "no")]);
        client.order(order.clone());
        let reason = "no".to_owned();
        let failed = match order {
            ClientOrder::Cancel { .. } => News::NotCancelled { reason },
            _ => News::Failed { reason },
        };
        assert_eq!(client.next().await, failed, "{order:?}");
    }
    server.on(HISTORY, vec![problem(400, "no")]);
    client.order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 7,
    });
    let nothing = News::Older {
        conversation: "c".to_owned(),
        before: 7,
        page: None,
    };
    assert_eq!(client.next().await, nothing);
    // The other answers to a question for one event.
    server.on(HISTORY, vec![answer(200, &json!({"events": []}))]);
    client.order(ClientOrder::Whole {
        conversation: "c".to_owned(),
        seq: 7,
    });
    assert!(matches!(client.next().await, News::Failed { .. }));
    assert_eq!(bodies(&server, EVENTS).len(), 0);
}

/// Spec: [LINK-21]
#[actix::test]
async fn an_order_goes_to_its_conversation_whatever_is_open() {
    let (server, _home, mut client) = attached(hasty()).await;
    client.open("d");
    server.on(CANCEL, vec![answer(200, &json!({"cancelled": true}))]);
    server.on(PROMPT, vec![answer(200, &json!({"run_id": 8}))]);
    client.order(ClientOrder::Cancel {
        conversation: "c".to_owned(),
        run_id: Some(7),
        clear_queue: false,
    });
    client.submit("k");
    // What is told of `d` is a refusal: there is none.
    let told = client.tell(3).await.join("\n");
    assert!(
        told.contains("CancelAnswered") && told.contains("Accepted"),
        "{told}"
    );
    assert_eq!(bodies(&server, CANCEL).len(), 1);
    assert_eq!(bodies(&server, PROMPT).len(), 1);
}

/// Spec: [LINK-18]
#[actix::test]
async fn pages_events_and_lists_are_had() {
    let (server, _home, mut client) = attached(hasty()).await;
    let past = |seq: u64| json!({"seq": seq, "id": format!("e-{seq}-0"), "event": status("a")});
    server.on(
        HISTORY,
        vec![
            answer(200, &json!({"events": [past(5), past(6)], "before": 5})),
            answer(200, &json!({"events": [past(5)]})),
        ],
    );
    client.order(ClientOrder::Older {
        conversation: "c".to_owned(),
        before: 7,
    });
    let News::Older {
        page: Some(page), ..
    } = client.next().await
    else {
        panic!("no page");
    };
    assert_eq!((page.events.len(), page.before), (2, Some(5)));
    client.order(ClientOrder::Whole {
        conversation: "c".to_owned(),
        seq: 5,
    });
    let News::Whole { seq: 5, event, .. } = client.next().await else {
        panic!("no event");
    };
    assert_eq!(serde_json::to_value(*event).unwrap(), status("a"));
    let first = json!({"conversations": [summary("c1")], "next": "n"});
    let last = json!({"conversations": [summary("c2")]});
    server.on(
        "/v1/conversations",
        vec![answer(200, &first), answer(200, &last)],
    );
    client.order(ClientOrder::List { folder: None });
    let News::Listed(listed) = client.next().await else {
        panic!("no list");
    };
    let ids: Vec<&str> = listed.iter().map(|summary| &*summary.id).collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert_eq!(
        asked(&server)[2..],
        [
            "GET /v1/conversations/c/history?before=7&limit=200",
            "GET /v1/conversations/c/history?after=4&limit=1",
            "GET /v1/conversations?limit=200",
            "GET /v1/conversations?limit=200&cursor=n",
        ]
    );
}

/// Spec: [LINK-19]
#[actix::test]
async fn what_is_made_is_opened_and_what_is_deleted_is_told() {
    let (server, _home, mut client) = attached(hasty()).await;
    for (path, order, id) in [
        (
            "/v1/conversations",
            ClientOrder::Create {
                title: Some("Ideas".to_owned()),
                folder: None,
            },
            "n",
        ),
        (
            "/v1/conversations/n/fork",
            ClientOrder::Fork {
                conversation: "n".to_owned(),
                seq: None,
            },
            "f",
        ),
    ] {
        server.on(path, vec![answer(201, &summary(id))]);
        let of_it = format!("/v1/conversations/{id}");
        server.on(&of_it, vec![answer(200, &snapshot(id, "e-1-0"))]);
        server.say(&format!("{of_it}/events"), vec![open(1, &[])]);
        client.order(order);
        let snapshot = format!("snapshot {id} e-1-0");
        assert_eq!(client.tell(2).await, [snapshot.as_str(), "up"]);
    }
    let body = r#"{"title":"Ideas","settings":{}}"#;
    assert_eq!(bodies(&server, "/v1/conversations"), [body]);
    assert_eq!(bodies(&server, "/v1/conversations/n/fork"), ["{}"]);

    server.on(
        SNAPSHOT,
        vec![
            answer(200, &summary("c")),
            answer(200, &json!({"trash": "/t"})),
        ],
    );
    let conversation = "c".to_owned();
    client.order(ClientOrder::Rename {
        conversation: conversation.clone(),
        title: "New".to_owned(),
    });
    while bodies(&server, SNAPSHOT).is_empty() {
        tokio::task::yield_now().await;
    }
    let body = r#"{"title":"New","by":"ana@pts/3"}"#;
    assert_eq!(bodies(&server, SNAPSHOT), [body]);
    client.order(ClientOrder::Delete {
        conversation: conversation.clone(),
    });
    let trash = "/t".to_owned();
    let deleted = News::Deleted {
        conversation,
        trash,
    };
    assert_eq!(client.next().await, deleted);
}

/// Spec: [LINK-19]
#[actix::test]
async fn what_is_made_is_not_opened_when_another_was_chosen_in_the_meantime() {
    let (server, _home, mut client) = attached(hasty()).await;
    let made = Part::from(answer(201, &summary("n")));
    let answered = "/v1/conversations/d/events";
    server.say("/v1/conversations", vec![vec![Part::Await(answered), made]]);
    server.on(
        "/v1/conversations/d",
        vec![answer(200, &snapshot("d", "e-7-0"))],
    );
    server.say(answered, vec![open(7, &[])]);
    client.order(ClientOrder::Create {
        title: None,
        folder: None,
    });
    server.until_asked("/v1/conversations").await;
    client.open("d");
    assert_eq!(client.tell(2).await, ["snapshot d e-7-0", "up"]);
    // The next of its kind is answered when the first is done.
    server.on("/v1/conversations", vec![problem(400, "no")]);
    client.order(ClientOrder::Create {
        title: None,
        folder: None,
    });
    assert!(matches!(client.next().await, News::Failed { .. }));
    assert!(!asked(&server).iter().any(|line| line.contains("/n")));
}

/// Spec: [LINK-16]
#[actix::test]
async fn a_client_that_leaves_closes_the_stream_and_what_it_ordered_last_is_sent() {
    let (server, _home, client) = attached(hasty()).await;
    server.on(PROMPT, vec![answer(200, &json!({"run_id": 3}))]);
    client.submit("k");
    let Client {
        orders,
        mut news,
        link,
    } = client;
    drop(orders);
    server.until_left(EVENTS).await;
    assert_eq!(news.recv().await, Some(accepted("k", 3)));
    assert_eq!(news.recv().await, None);
    link.await.unwrap();

    // The stream does not wait for that.
    let (server, _home, client) = attached(hasty()).await;
    server.say(PROMPT, vec![vec![Part::Hang]]);
    client.submit("k");
    server.until_asked(PROMPT).await;
    drop(client.orders);
    server.until_left(EVENTS).await;
    assert!(!client.link.is_finished());

    // Also one that does not want to know what became of it.
    let (server, _home, client) = attached(hasty()).await;
    server.on(PROMPT, vec![answer(200, &json!({"run_id": 3}))]);
    client.submit("k");
    let Client { orders, news, link } = client;
    drop((orders, news));
    link.await.unwrap();
    assert_eq!(bodies(&server, PROMPT).len(), 1);
}

/// Spec: [LINK-16]
#[actix::test]
async fn a_client_that_leaves_is_not_held_up() {
    let pace = LinkTimeouts {
        farewell: Duration::from_millis(20),
        ..hasty()
    };
    let (server, _home, client) = attached(pace).await;
    server.say(PROMPT, vec![vec![Part::Hang]]);
    client.submit("k");
    server.until_asked(PROMPT).await;
    // It may also stop listening before it stops ordering.
    let Client { orders, news, link } = client;
    drop(news);
    tokio::time::timeout(Duration::from_secs(10), link)
        .await
        .unwrap()
        .unwrap();
    server.until_left(EVENTS).await;
    drop(orders);
    assert_eq!(LinkTimeouts::default().farewell, Duration::from_secs(1));
}
