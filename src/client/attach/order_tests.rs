//! Queues, settings, summaries and what there is to choose from.

use std::time::Duration;

use harness_protocol::{AnyOrder, Queue, RenewTools, ThinkingLevel};
use harness_tui::{ConversationView, Offer, OfferKind, Recipe, SettingChange};
use serde_json::{Value, json};

use super::*;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::attach::testing::*;
use crate::client::testing::{Home, Part, Server, answer};

const STEER: &str = "/v1/conversations/c/steer";
const SETTINGS: &str = "/v1/conversations/c/settings";
const COMPACT: &str = "/v1/conversations/c/compact";

/// A client that is attached to `c`, whose stream stays open.
async fn attached() -> (Server, Home, Client) {
    let server = service(vec![open(4, &[])]).await;
    let home = Home::of(&server);
    let mut client = Client::attached(&home.config, hasty());
    assert_eq!(client.tell(2).await, ["snapshot c e-4-0", "up"]);
    (server, home, client)
}

fn c() -> String {
    "c".to_owned()
}

/// The requests since: method, target and body.
fn sent(server: &Server) -> Vec<String> {
    let requests = server.requests().into_iter().skip(2);
    requests
        .map(|request| {
            let line = request.lines().next().unwrap_or_default();
            let line = line.trim_end_matches(" HTTP/1.1").to_owned();
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            format!("{line} {body}").trim_end().to_owned()
        })
        .collect()
}

/// Spec: [LINK-22]
#[actix::test]
async fn a_message_for_a_queue_is_sent_as_a_prompt_is() {
    let (server, _home, mut client) = attached().await;
    let queue = |queue, key: &str| ClientOrder::Queue {
        conversation: c(),
        queue,
        key: key.to_owned(),
        content: "hi".to_owned(),
        files: Vec::new(),
    };
    let item = |item: u64| answer(200, &json!({"item": item}));
    // Its answer is lost at first.
    server.on(STEER, vec![vec![], item(7)]);
    server.on("/v1/conversations/c/follow-up", vec![item(8)]);
    client.order(queue(Queue::Steer, "k1"));
    client.order(queue(Queue::FollowUp, "k2"));
    for (key, item) in [("k1", 7), ("k2", 8)] {
        let key = key.to_owned();
        assert_eq!(client.next().await, News::Queued { key, item });
    }
    server.on(STEER, vec![problem(409, "the queue is full")]);
    client.order(queue(Queue::Steer, "k3"));
    let refused = News::NotAccepted {
        key: "k3".to_owned(),
        reason: "the queue is full".to_owned(),
    };
    assert_eq!(client.next().await, refused);
    let of = |of_it: &str, key: &str| {
        format!(
            r#"POST /v1/conversations/c/{of_it} {{"content":"hi","key":"{key}","by":"ana@pts/3"}}"#
        )
    };
    let expected = [
        of("steer", "k1"),
        of("steer", "k1"),
        of("follow-up", "k2"),
        of("steer", "k3"),
    ];
    assert_eq!(sent(&server), expected);
}

/// Spec: [LINK-22]
#[actix::test]
async fn skills_and_templates_are_sent_with_what_was_written_behind_their_names() {
    let (server, _home, mut client) = attached().await;
    for (recipe, of_it, text, rest) in [
        (Recipe::Skill, "skill", "a b", r#""instructions":["a b"],"#),
        (Recipe::Skill, "skill", "", ""),
        (Recipe::Template, "template", "1 2", r#""line":"1 2","#),
    ] {
        let route = format!("/v1/conversations/c/{of_it}");
        server.on(&route, vec![answer(200, &json!({"run_id": 3}))]);
        client.order(ClientOrder::Expand {
            conversation: c(),
            recipe,
            name: "x".to_owned(),
            text: text.to_owned(),
            key: "k".to_owned(),
        });
        let accepted = News::Accepted {
            key: "k".to_owned(),
            run_id: 3,
        };
        assert_eq!(client.next().await, accepted);
        let expected = format!(r#"POST {route} {{"name":"x",{rest}"key":"k","by":"ana@pts/3"}}"#);
        assert_eq!(sent(&server).pop(), Some(expected));
    }
}

/// Spec: [LINK-23]
#[actix::test]
async fn what_waits_is_withdrawn_one_by_one_or_as_a_whole() {
    let (server, _home, mut client) = attached().await;
    for (of_it, item, gone) in [("/queue/7", Some(7), vec![7]), ("/queue", None, vec![8, 9])] {
        let route = format!("/v1/conversations/c{of_it}");
        server.on(&route, vec![answer(200, &json!({"withdrawn": gone}))]);
        server.on(&route, vec![problem(404, "nothing of that name waits")]);
        let conversation = c();
        client.order(ClientOrder::Withdraw { conversation, item });
        let withdrawn = News::Withdrawn {
            conversation: c(),
            item,
            withdrawn: gone,
        };
        assert_eq!(client.next().await, withdrawn);
        let conversation = c();
        client.order(ClientOrder::Withdraw { conversation, item });
        let refused = News::NotWithdrawn {
            conversation: c(),
            item,
            reason: "nothing of that name waits".to_owned(),
        };
        assert_eq!(client.next().await, refused);
        let expected = format!("DELETE {route}?by=ana%40pts%2F3");
        assert_eq!(sent(&server).pop(), Some(expected));
    }
}

/// Spec: [LINK-23]
#[actix::test]
async fn a_conversation_goes_on_and_its_settings_are_changed() {
    let (server, _home, mut client) = attached().await;
    for (of_it, is_retry) in [("continue", false), ("retry", true)] {
        let route = format!("/v1/conversations/c/{of_it}");
        server.on(&route, vec![answer(200, &json!({"run_id": 5}))]);
        let conversation = c();
        client.order(ClientOrder::GoOn {
            conversation,
            is_retry,
        });
        assert_eq!(client.next().await, News::GoesOn { run_id: 5 });
        let expected = format!(r#"POST {route} {{"by":"ana@pts/3"}}"#);
        assert_eq!(sent(&server).pop(), Some(expected));
    }
    let set = json!({"settings": {}, "effective": {"model": "m"}, "tools": [], "active_tools": []});
    let name = "claude-x".to_owned();
    for (change, patch) in [
        (SettingChange::Model(Some(name)), r#"{"model":"claude-x"}"#),
        (SettingChange::Model(None), r#"{"model":null}"#),
        (
            SettingChange::Thinking(Some(ThinkingLevel::XHigh)),
            r#"{"thinking":"xhigh"}"#,
        ),
    ] {
        server.on(SETTINGS, vec![answer(200, &set)]);
        client.order(ClientOrder::Change {
            conversation: c(),
            change,
        });
        let conversation = c();
        assert_eq!(client.next().await, News::SettingsChanged { conversation });
        let expected = format!(r#"PATCH {SETTINGS} {{"settings":{patch},"by":"ana@pts/3"}}"#);
        assert_eq!(sent(&server).pop(), Some(expected));
    }
    server.on(SETTINGS, vec![answer(200, &set)]);
    let conversation = c();
    let view = ConversationView::Settings;
    client.order(ClientOrder::Settings { conversation, view });
    let News::Settings { answer, .. } = client.next().await else {
        panic!("no settings");
    };
    assert_eq!(answer.effective.model.as_deref(), Some("m"));
}

/// Spec: [LINK-23]
#[actix::test]
async fn a_past_that_takes_long_to_summarize_keeps_nothing_else_waiting() {
    let (server, _home, mut client) = attached().await;
    let done = json!({"compacted": true, "tokens_before": 9, "tokens_after": 2});
    let done = Part::from(answer(200, &done));
    server.say(COMPACT, vec![vec![Part::Await(STEER), done]]);
    server.on(STEER, vec![answer(200, &json!({"item": 1}))]);
    client.order(ClientOrder::Compact {
        conversation: c(),
        instructions: Some("tests".to_owned()),
    });
    server.until_asked(COMPACT).await;
    client.order(ClientOrder::Queue {
        conversation: c(),
        queue: Queue::Steer,
        key: "k".to_owned(),
        content: "hi".to_owned(),
        files: Vec::new(),
    });
    let mut news = [client.next().await, client.next().await];
    news.sort_by_key(|news| matches!(news, News::Compacted { .. }));
    let [News::Queued { item: 1, .. }, News::Compacted { answer, .. }] = news else {
        panic!("{news:?}");
    };
    assert_eq!((answer.compacted, answer.tokens_after), (true, 2));
    let expected =
        format!(r#"POST {COMPACT} {{"force":true,"instructions":"tests","by":"ana@pts/3"}}"#);
    assert_eq!(sent(&server)[0], expected);
    assert_eq!(LinkTimeouts::default().summarizing, Duration::from_mins(15));
}

/// Spec: [LINK-23]
#[actix::test]
async fn what_fails_is_told_in_the_words_of_the_service() {
    let (server, _home, mut client) = attached().await;
    let conversation = c();
    for (route, order) in [
        (
            "/v1/conversations/c/retry",
            ClientOrder::GoOn {
                conversation: c(),
                is_retry: true,
            },
        ),
        (
            SETTINGS,
            ClientOrder::Settings {
                conversation: c(),
                view: ConversationView::Settings,
            },
        ),
        (
            SETTINGS,
            ClientOrder::Change {
                conversation: c(),
                change: SettingChange::Model(None),
            },
        ),
        (
            COMPACT,
            ClientOrder::Compact {
                conversation,
                instructions: None,
            },
        ),
    ] {
        server.on(route, vec![problem(409, "no")]);
        client.order(order.clone());
        let reason = "no".to_owned();
        assert_eq!(client.next().await, News::Failed { reason }, "{order:?}");
    }
}

/// Spec: [LINK-24]
#[actix::test]
async fn models_skills_and_templates_are_had() {
    let (server, _home, mut client) = attached().await;
    let offer = |name: &str, description: &str| Offer {
        name: name.to_owned(),
        description: description.to_owned(),
    };
    let models = json!({"models": [
        {"id": "m1", "display_name": "M 1", "max_input_tokens": 200_000, "max_tokens": 9},
        {"id": "m2"},
    ]});
    let skills = json!({"skills": [{"name": "s", "description": "d", "hidden": true, "path": "/s"}],
        "problems": ["one"]});
    let templates = json!({"templates": [{"name": "t"}], "problems": []});
    type Known = (OfferKind, &'static str, Value, Vec<Offer>, Vec<String>);
    let kinds: [Known; 3] = [
        (
            OfferKind::Models,
            "/v1/models",
            models,
            vec![offer("m1", "M 1 · 200k tokens"), offer("m2", "")],
            vec![],
        ),
        (
            OfferKind::Skills,
            "/v1/skills",
            skills,
            vec![offer("s", "d")],
            vec!["one".to_owned()],
        ),
        (
            OfferKind::Templates,
            "/v1/templates",
            templates,
            vec![offer("t", "")],
            vec![],
        ),
    ];
    for (kind, route, body, offers, problems) in kinds {
        server.on(route, vec![answer(200, &body), problem(502, "no")]);
        client.order(ClientOrder::Offers { kind, folder: None });
        let offered = News::Offered {
            kind,
            folder: None,
            offers,
            problems,
        };
        assert_eq!(client.next().await, offered);
        client.order(ClientOrder::Offers { kind, folder: None });
        let reason = "no".to_owned();
        assert_eq!(client.next().await, News::NotOffered { kind, reason });
    }
}

/// Spec: [TUI-90] [TUI-92]
#[actix::test]
async fn a_list_names_the_folder_that_it_is_of() {
    let (server, _home, mut client) = attached().await;
    let folder = Some("/src/a b".to_owned());
    let page = json!({"conversations": [], "next": "n"});
    let last = json!({"conversations": []});
    let conversations = "/v1/conversations";
    server.on(conversations, vec![answer(200, &page), answer(200, &last)]);
    server.on("/v1/skills", vec![answer(200, &json!({"skills": []}))]);
    server.on(
        "/v1/templates",
        vec![answer(200, &json!({"templates": []}))],
    );
    client.order(ClientOrder::List {
        folder: folder.clone(),
    });
    assert_eq!(client.next().await, News::Listed(Vec::new()));
    for kind in [OfferKind::Skills, OfferKind::Templates] {
        let folder = folder.clone();
        client.order(ClientOrder::Offers { kind, folder });
        assert!(
            matches!(client.next().await, News::Offered { folder: Some(it), .. } if it == "/src/a b")
        );
    }
    let expected = [
        "GET /v1/conversations?limit=200&workspace=%2Fsrc%2Fa%20b",
        "GET /v1/conversations?limit=200&cursor=n&workspace=%2Fsrc%2Fa%20b",
        "GET /v1/skills?workspace=%2Fsrc%2Fa%20b",
        "GET /v1/templates?workspace=%2Fsrc%2Fa%20b",
    ];
    assert_eq!(sent(&server), expected);
}

/// Spec: [TUI-794]
#[actix::test]
async fn the_end_of_a_conversation_is_read_and_the_time_comes_before_a_list() {
    let (server, _home, mut client) = attached().await;
    let past = json!({"seq": 7, "id": "e-7-0", "event": status("idle")});
    let page = answer(200, &json!({"events": [past]}));
    let history = "/v1/conversations/d/history";
    server.on(
        history,
        vec![page, problem(404, "there is no conversation d")],
    );
    for is_there in [true, false] {
        client.order(ClientOrder::Preview {
            conversation: "d".to_owned(),
            records: 7,
        });
        let News::Previewed {
            conversation,
            events,
        } = client.next().await
        else {
            panic!("no end");
        };
        let count = is_there.then_some(1);
        assert_eq!((&*conversation, events.map(|it| it.len())), ("d", count));
    }
    let list = answer(200, &json!({"conversations": []}));
    server.on("/v1/conversations", vec![list]);
    client.order(ClientOrder::List { folder: None });
    assert!(matches!(client.next_of_all().await, News::Time { unix_s } if unix_s > 1_700_000_000));
    assert_eq!(client.next_of_all().await, News::Listed(Vec::new()));
    assert_eq!(
        sent(&server)[..2],
        ["GET /v1/conversations/d/history?before=8&limit=40"; 2]
    );
}

/// Spec: [TUI-91]
#[actix::test]
async fn only_a_service_that_knows_folders_is_told_one() {
    let (server, _home, mut client) = attached().await;
    for (features, told) in [
        (json!(["workspaces"]), r#""workspace":"/src/a","#),
        (json!([]), ""),
    ] {
        let info = json!({
            "version": "9", "protocol": {"min": 1, "max": 1}, "epoch": "e1", "pid": 1,
            "address": "127.0.0.1:1", "home": "/h", "workspace": "/work",
            "upstream": {"kind": "demo"}, "model": "m", "sandbox": "none", "started_at": 1,
            "clients": 0, "runs": 0, "features": features,
        });
        server.on("/v1/service", vec![answer(200, &info)]);
        server.on("/v1/conversations", vec![problem(400, "no")]);
        client.order(ClientOrder::Create {
            title: None,
            folder: Some("/src/a".to_owned()),
        });
        let reason = "no".to_owned();
        assert_eq!(client.next().await, News::Failed { reason });
        let expected = format!(r#"POST /v1/conversations {{{told}"settings":{{}}}}"#);
        assert_eq!(sent(&server).pop(), Some(expected));
    }
}

/// Spec: [TUI-93]
#[actix::test]
async fn tools_are_renewed_in_the_name_of_the_client() {
    let (server, _home, mut client) = attached().await;
    let route = "/v1/conversations/c/tools";
    let set = json!({"settings": {}, "effective": {}, "tools": ["a"], "active_tools": ["a"]});
    server.on(route, vec![answer(200, &set), problem(409, "no")]);
    let renew = || ClientOrder::Change {
        conversation: c(),
        change: SettingChange::Order(AnyOrder::from_order(&RenewTools::default()).unwrap()),
    };
    client.order(renew());
    let conversation = c();
    assert_eq!(client.next().await, News::SettingsChanged { conversation });
    let expected = format!(r#"POST {route} {{"by":"ana@pts/3"}}"#);
    assert_eq!(sent(&server), [expected]);
    client.order(renew());
    let reason = "no".to_owned();
    assert_eq!(client.next().await, News::Failed { reason });
}
