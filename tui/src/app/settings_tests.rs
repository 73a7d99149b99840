//! Commands that set something, ask for something, or send what the service makes.

use harness_protocol::{AnyOrder, CompactAnswer, RenewTools, SettingsAnswer, ThinkingLevel};
use serde_json::json;

use super::testing::*;
use super::*;
use crate::conversation::PartKind;
use crate::conversation::testing::event;
use crate::link::{ConversationView, News, Offer, OfferKind, Recipe, SettingChange};
use crate::terminal::Key;

fn command(app: &mut App, line: &str) -> Vec<ClientOrder> {
    control(app, 'u');
    app.update(Msg::Paste(line.to_owned()), app.now);
    let effects = key(app, Key::Enter);
    orders(&effects).into_iter().cloned().collect()
}

fn conversation() -> String {
    "c".to_owned()
}

fn offers(names: &[&str]) -> Vec<Offer> {
    let offer = |name: &&str| Offer {
        name: (*name).to_owned(),
        description: format!("about {name}"),
    };
    names.iter().map(offer).collect()
}

fn offered(kind: OfferKind, names: &[&str]) -> News {
    News::Offered {
        kind,
        folder: None,
        offers: offers(names),
        problems: Vec::new(),
    }
}

fn change(change: SettingChange) -> ClientOrder {
    ClientOrder::Change {
        conversation: conversation(),
        change,
    }
}

/// Spec: [TUI-61]
#[test]
fn the_model_and_its_thinking_are_set_by_name() {
    let mut app = attached(&[]);
    let model = |name: &str| change(SettingChange::Model(Some(name.to_owned())));
    let level = |level| change(SettingChange::Thinking(Some(level)));
    for (line, expected) in [
        ("/model claude-x", model("claude-x")),
        ("/model default", change(SettingChange::Model(None))),
        ("/thinking off", level(ThinkingLevel::Off)),
        ("/thinking xhigh", level(ThinkingLevel::XHigh)),
        ("/thinking default", change(SettingChange::Thinking(None))),
    ] {
        let ordered = command(&mut app, line);
        assert!(ordered.contains(&expected), "{line}: {ordered:?}");
        assert!(app.composer.is_empty());
    }
    for line in ["/thinking", "/thinking much"] {
        assert_eq!(command(&mut app, line), []);
        assert!(toast(&app).contains("xhigh"), "{}", toast(&app));
        assert_eq!(app.composer.text(), line);
    }
    let conversation = conversation();
    tell(&mut app, News::SettingsChanged { conversation });
    assert!(toast(&app).contains("all clients"));
}

/// Spec: [TUI-62]
#[test]
fn without_a_name_the_service_says_what_there_is_to_choose() {
    let mut app = attached(&[]);
    let kind = OfferKind::Models;
    assert_eq!(
        command(&mut app, "/model"),
        [ClientOrder::Offers { kind, folder: None }]
    );
    assert!(matches!(&app.overlay, Some(Overlay::Chooser(open)) if open.is_loading()));
    tell(&mut app, offered(kind, &["claude-a", "claude-b", "other"]));
    write(&mut app, "claude");
    key(&mut app, Key::Down);
    let chosen = key(&mut app, Key::Enter);
    let expected = change(SettingChange::Model(Some("claude-b".to_owned())));
    assert_eq!(orders(&chosen), [&expected]);
    assert!(app.overlay.is_none());
    // What was told just now is not asked for again.
    assert_eq!(command(&mut app, "/model"), []);
    assert!(matches!(&app.overlay, Some(Overlay::Chooser(open)) if open.count() == 3));
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none());

    // A skill waits for what is written behind it.
    let kind = OfferKind::Skills;
    assert_eq!(
        command(&mut app, "/skill"),
        [ClientOrder::Offers { kind, folder: None }]
    );
    tell(&mut app, offered(kind, &["review"]));
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(app.composer.text(), "/skill review ");

    // What cannot be had is said, and may be asked for again.
    let kind = OfferKind::Templates;
    for _ in 0..2 {
        assert_eq!(
            command(&mut app, "/template"),
            [ClientOrder::Offers { kind, folder: None }]
        );
        let reason = "no".to_owned();
        tell(&mut app, News::NotOffered { kind, reason });
        assert_eq!(toast(&app), "the templates cannot be had: no");
        assert!(app.overlay.is_none());
    }
}

/// Spec: [CLI-810]
#[test]
fn at_the_first_start_the_models_are_shown_once_and_not_over_what_is_typed() {
    let mut app = new();
    app.offers_models = true;
    let asked = open_in(&mut app, "c", None);
    let kind = OfferKind::Models;
    assert_eq!(
        orders(&asked),
        [&ClientOrder::Offers { kind, folder: None }]
    );
    assert!(matches!(&app.overlay, Some(Overlay::Chooser(open)) if open.is_first));
    tell(&mut app, News::Up);
    tell(&mut app, offered(kind, &["claude-a"]));
    let chosen = key(&mut app, Key::Enter);
    let expected = change(SettingChange::Model(Some("claude-a".to_owned())));
    assert_eq!(orders(&chosen), [&expected]);
    let conversation = conversation();
    tell(&mut app, News::SettingsChanged { conversation });
    assert_eq!(
        toast(&app),
        "model = \"claude-a\" in config.toml is for all conversations"
    );
    open_in(&mut app, "c", None);
    assert!(app.overlay.is_none());

    let mut typing = new();
    typing.offers_models = true;
    write(&mut typing, "Hi");
    open_in(&mut typing, "c", None);
    assert!(typing.overlay.is_none());
}

/// Spec: [TUI-63]
#[test]
fn names_of_the_service_complete_what_is_written() {
    let mut app = attached(&[]);
    write(&mut app, "/model");
    let asked = key(&mut app, Key::Char(' '));
    let kind = OfferKind::Models;
    assert_eq!(
        orders(&asked),
        [&ClientOrder::Offers { kind, folder: None }]
    );
    tell(
        &mut app,
        offered(kind, &["a-sonnet", "sonnet-5", "sonnet-6"]),
    );
    let labels = |app: &App| -> Vec<String> {
        let completions = app.completions().into_iter();
        completions.map(|completion| completion.label).collect()
    };
    write(&mut app, "son");
    assert_eq!(labels(&app), ["sonnet-5", "sonnet-6", "a-sonnet"]);
    key(&mut app, Key::Down);
    key(&mut app, Key::Tab);
    assert_eq!(app.composer.text(), "/model sonnet-6");
    assert!(labels(&app).is_empty());
    // Enter completes a beginning, and nothing else.
    for (line, name) in [
        ("/model sonnet", "sonnet-5"),
        ("/model onnet", "onnet"),
        ("/model a-sonnet", "a-sonnet"),
    ] {
        let expected = change(SettingChange::Model(Some(name.to_owned())));
        assert_eq!(command(&mut app, line), [expected], "{line}");
    }
    write(&mut app, "/thinking x");
    assert_eq!(labels(&app), ["xhigh", "max"]);
    control(&mut app, 'u');
    // Behind the first word nothing is completed.
    write(&mut app, "/template");
    key(&mut app, Key::Char(' '));
    let kind = OfferKind::Templates;
    tell(&mut app, offered(kind, &["fix", "fi\u{1b}[2Jx\nit"]));
    assert_eq!(labels(&app).len(), 2);
    write(&mut app, "fix ");
    assert!(labels(&app).is_empty());
}

/// Spec: [TUI-302]
#[test]
fn the_clients_own_words_complete_what_is_written() {
    let mut app = attached(&[]);
    let mut labels = |text: &str| -> Vec<String> {
        control(&mut app, 'u');
        app.update(Msg::Paste(text.to_owned()), app.now);
        let completions = app.completions().into_iter();
        completions.map(|completion| completion.label).collect()
    };
    assert_eq!(labels("/theme "), ["dark", "light", "terminal"]);
    assert_eq!(labels("/theme li"), ["light"]);
    assert_eq!(labels("/fold "), ["all", "none", "tools"]);
    let all = labels("/settings ");
    assert!(all.contains(&"theme".to_owned()) && all.contains(&"notify".to_owned()));
    assert_eq!(labels("/settings notify "), ["unfocused", "always", "off"]);
    assert_eq!(labels("/settings notify alw"), ["always"]);
    for text in [
        "/settings nothing ",
        "/theme dark x",
        "/settings bell true x",
    ] {
        assert_eq!(labels(text), [""; 0], "{text}");
    }
    labels("/settings noti");
    key(&mut app, Key::Tab);
    assert_eq!(app.composer.text(), "/settings notify ");
    key(&mut app, Key::Tab);
    assert_eq!(app.composer.text(), "/settings notify unfocused");
    // A name alone is not made into another by Enter.
    assert!(matches!(
        command(&mut app, "/settings ").as_slice(),
        [ClientOrder::Settings { .. }]
    ));
}

/// Spec: [TUI-64]
#[test]
fn a_skill_is_sent_as_a_prompt_and_comes_back_when_it_is_refused() {
    let mut app = attached(&[]);
    let expand = |recipe, number: u64, name: &str, text: &str| ClientOrder::Expand {
        conversation: conversation(),
        recipe,
        name: name.to_owned(),
        text: text.to_owned(),
        key: format!("k-{number}"),
    };
    let ordered = command(&mut app, "/skill review  the diff \n now");
    let expected = expand(Recipe::Skill, 1, "review", "the diff \n now");
    assert!(ordered.contains(&expected), "{ordered:?}");
    assert!(app.composer.is_empty());
    assert!(matches!(
        &last(&app).unwrap().kind,
        PartKind::User {
            is_pending: true,
            ..
        }
    ));
    let (own, reason) = ("k-1".to_owned(), "there is no such skill".to_owned());
    tell(&mut app, News::NotAccepted { key: own, reason });
    assert_eq!(app.composer.text(), "/skill review  the diff \n now");
    assert_eq!(app.conversation.len(), 0);
    let ordered = command(&mut app, "/template fix 12");
    assert!(ordered.contains(&expand(Recipe::Template, 2, "fix", "12")));
    // The echo has what it was made into.
    let echo =
        json!({"type": "user", "content": "Fix issue 12.", "run_id": 1, "key": "k-2", "by": "ana"});
    tell(&mut app, told(1, event(echo)));
    assert_eq!(app.conversation.len(), 1);
    assert!(app.sent.is_empty());

    // While a run is going it stays written.
    let mut app = attached(&running());
    let ordered = command(&mut app, "/skill review");
    let sent = |order: &ClientOrder| matches!(order, ClientOrder::Expand { .. });
    assert!(!ordered.iter().any(sent));
    assert_eq!(app.composer.text(), "/skill review");
}

/// Spec: [TUI-65]
#[test]
fn a_conversation_goes_on_is_compacted_and_shows_its_settings() {
    let mut app = attached(&[]);
    for (line, is_retry) in [("/continue", false), ("/retry", true)] {
        let conversation = conversation();
        let expected = ClientOrder::GoOn {
            conversation,
            is_retry,
        };
        assert_eq!(command(&mut app, line), [expected]);
    }
    for (line, instructions) in [
        ("/compact", None),
        ("/compact the tests", Some("the tests")),
    ] {
        let expected = ClientOrder::Compact {
            conversation: conversation(),
            instructions: instructions.map(str::to_owned),
        };
        assert_eq!(command(&mut app, line), [expected]);
    }
    let answer = CompactAnswer::default();
    let conversation = conversation();
    tell(
        &mut app,
        News::Compacted {
            conversation: conversation.clone(),
            answer,
        },
    );
    assert_eq!(toast(&app), "there is nothing to compact");
    let view = ConversationView::Settings;
    let asked = ClientOrder::Settings {
        conversation: conversation.clone(),
        view,
    };
    assert_eq!(command(&mut app, "/settings"), [asked]);
    let answer = json!({"settings": {"model": "claude-x"}, "tools": ["read", "bash"],
        "effective": {"model": "claude-x", "max_turns": 9}, "active_tools": ["read"]});
    let answer: SettingsAnswer = serde_json::from_value(answer).unwrap();
    let answer = Box::new(answer);
    tell(
        &mut app,
        News::Settings {
            conversation,
            view,
            answer,
        },
    );
    let Some(Overlay::Facts(lines)) = &app.overlay else {
        panic!("nothing is shown");
    };
    let expected = [
        "* model: claude-x",
        "  max turns: 9",
        "  tools offered, of 2: read",
        "* differs from what the service has",
        "this client, by /settings NAME VALUE or in client.toml:",
    ];
    assert_eq!(lines[..expected.len()], expected);

    // A run that is going is not begun, and nothing is asked of a service that is gone.
    let mut app = attached(&running());
    assert_eq!(command(&mut app, "/retry"), []);
    assert_eq!(app.composer.text(), "/retry");
    let mut app = attached(&[]);
    lose(&mut app, "gone", 1, 5);
    for line in ["/continue", "/compact", "/settings", "/model claude-x"] {
        assert_eq!(command(&mut app, line), []);
        assert_eq!(toast(&app), "the service is not connected");
    }
}

/// Spec: [TUI-93]
#[test]
fn the_tools_that_are_offered_are_shown_and_renewed() {
    let mut app = attached(&[]);
    let (conversation, view) = (conversation(), ConversationView::Tools);
    let asked = ClientOrder::Settings {
        conversation: conversation.clone(),
        view,
    };
    assert_eq!(command(&mut app, "/tools"), [asked]);
    let answer = json!({"settings": {}, "effective": {}, "tools": ["read", "bash", "grep"],
        "active_tools": ["read", "grep"]});
    let answer = Box::new(serde_json::from_value(answer).unwrap());
    tell(
        &mut app,
        News::Settings {
            conversation: conversation.clone(),
            view,
            answer,
        },
    );
    let Some(Overlay::Facts(lines)) = &app.overlay else {
        panic!("nothing is shown");
    };
    let expected = [
        "offered      read, grep",
        "not offered  bash",
        "/tools renew offers those that there are now, for all clients",
    ];
    assert_eq!(lines[..], expected);
    key(&mut app, Key::Escape);
    let renew = SettingChange::Order(AnyOrder::from_order(&RenewTools::default()).unwrap());
    assert_eq!(command(&mut app, "/tools renew"), [change(renew.clone())]);
    tell(&mut app, News::SettingsChanged { conversation });
    assert!(toast(&app).contains("all clients"));
    assert_eq!(command(&mut app, "/tools new"), []);
    assert_eq!(toast(&app), "say /tools or /tools renew");
    assert_eq!(app.composer.text(), "/tools new");
}
