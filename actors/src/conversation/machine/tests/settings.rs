//! Changing settings, tools and the system prompt.

use std::sync::{Arc, Mutex};

use harness_protocol::ThinkingLevel;
use serde_json::{Value, json};

use super::super::plan::{Defaults, TurnInfo};
use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::conversation::messages::{ChangeError, GivenOrder};
use crate::tool::tools;
use harness_protocol::RenewTools;

fn three_tools() -> Registry {
    tools(&[
        ("read", false, false),
        ("list", false, false),
        ("write", true, false),
    ])
}

fn talk() -> Talk {
    Talk::of(Planner {
        tools: three_tools().into(),
        ..planner(10)
    })
}

/// The body of the request that is made now.
fn body(talk: &Talk) -> Value {
    let request = talk.machine.request().unwrap().unwrap();
    let body = request.body(&request.model().id).concat();
    serde_json::from_slice(&body).unwrap()
}

fn offered(talk: &Talk) -> Vec<String> {
    let body = body(talk);
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// Spec: [CONV-86]
#[test]
fn a_change_is_merged_into_the_settings_and_put_on_record() {
    let mut talk = talk();
    let change = json!({"model": "big", "max_turns": 3, "thinking": "high"});
    assert_eq!(talk.change(&change).unwrap(), ["settings"]);
    assert_eq!(
        talk.change(&json!({"max_turns": 4, "model": null}))
            .unwrap(),
        ["settings"]
    );
    let own = talk.machine.settings().clone();
    assert_eq!(own.max_turns, Some(4));
    assert_eq!(own.model, None);
    assert_eq!(own.thinking, Some(ThinkingLevel::High));
    // What changes nothing is not put on record.
    for nothing in [
        json!({}),
        json!({"max_turns": 4}),
        json!({"max_tokens": null}),
    ] {
        assert!(talk.change(&nothing).unwrap().is_empty());
    }
    let again = Talk::revived(planner(10), talk.records);
    assert_eq!(*again.machine.settings(), own);
    let view = again.machine.settings_view();
    assert_eq!(view.settings, own);
    assert_eq!(view.effective.max_turns, Some(4));
    assert_eq!(view.effective.model.as_deref(), Some("m"));
}

/// Spec: [CONV-87]
#[test]
fn a_change_that_cannot_be_says_why_and_changes_nothing() {
    let mut talk = talk();
    talk.change(&json!({"max_turns": 3})).unwrap();
    let before = talk.machine.settings().clone();
    for (patch, parts) in [
        (json!({"max_turn": 1}), ["max_turn", ""]),
        (json!({"max_turn": null}), ["max_turn", ""]),
        (json!({"max_turns": 0}), ["max_turns", "from 1 to"]),
        (json!({"max_turns": -1}), ["max_turns", "-1"]),
        (json!({"max_turns": "many"}), ["max_turns", "many"]),
        (json!({"thinking": "hard"}), ["thinking", "hard"]),
        (json!({"model": " "}), ["model", "blank"]),
        (json!({"key_source": " "}), ["key_source", "blank"]),
        (json!({"key_source": "sk-x"}), ["key_source", "not a key"]),
        (
            json!({"tool_execution": ["parallel"]}),
            ["tool_execution", "parallel"],
        ),
        (
            json!({"max_tokens": 5, "steering_mode": "some"}),
            ["steering_mode", "some"],
        ),
    ] {
        let Err(ChangeError::Invalid(message)) = talk.change(&patch) else {
            panic!("{patch} is taken");
        };
        let tells = |part: &&str| message.contains(*part);
        assert!(parts.iter().all(tells), "{patch}: {message}");
        assert!(!message.contains('\n'), "{message}");
        assert_eq!(*talk.machine.settings(), before);
    }
    // However long the value is.
    let Err(ChangeError::Invalid(message)) = talk.change(&json!({"thinking": "é".repeat(999)}))
    else {
        panic!("it is taken");
    };
    assert!(message.len() < 3000, "{message}");
    talk.handle(Input::StopRequested);
    let stopping = talk.change(&json!({"max_turns": 5}));
    assert_eq!(stopping, Err(ChangeError::Order(SubmitError::Stopping)));
}

/// Spec: [CONV-88]
#[test]
fn a_change_is_of_effect_from_the_next_run_on() {
    let mut talk = talk();
    talk.prompt("hi");
    let before = body(&talk);
    let change = json!({
        "model": "big", "max_tokens": 77, "system_prompt": "be brief", "active_tools": ["read"],
        "max_turns": 1, "tool_execution": "parallel", "steering_mode": "all",
    });
    talk.change(&change).unwrap();
    talk.steer("s1");
    talk.steer("s2");
    let begun = talk.ask_for(&["t", "u"]);
    assert_eq!(begun, ["replied", "run t"]);
    talk.ok(0, "x");
    talk.ok(0, "y");
    let during = body(&talk);
    for field in ["model", "max_tokens", "system", "tools"] {
        assert_eq!(during[field], before[field], "{field}");
    }
    assert_eq!(talk.waiting(), ["s2"]);
    talk.say("a");
    talk.say("b");
    talk.prompt("next");
    let after = body(&talk);
    assert_eq!(after["model"], "big");
    assert_eq!(after["max_tokens"], 77);
    assert!(after["system"].to_string().contains("be brief"));
    assert_eq!(offered(&talk), ["read"]);
    talk.ask_for(&["t2"]);
    let end = talk.ok(0, "x");
    assert!(
        end.contains(&"idle stopped: reached max_turns (1)".to_owned()),
        "{end:?}"
    );
}

/// Spec: [CONV-89]
#[test]
fn active_tools_are_offered_in_the_order_of_all_and_no_names_are_all() {
    let mut talk = talk();
    talk.change(&json!({"active_tools": ["write", "read"]}))
        .unwrap();
    talk.prompt("hi");
    assert_eq!(offered(&talk), ["read", "write"]);
    talk.say("a");
    let view = talk.machine.settings_view();
    assert_eq!(view.tools, ["read", "list", "write"]);
    assert_eq!(view.active_tools, ["read", "write"]);
    let before = talk.machine.settings().clone();
    let unknown = talk.change(&json!({"active_tools": ["read", "rm"], "max_turns": 2}));
    let Err(ChangeError::UnknownTool { name, tools }) = unknown else {
        panic!("{unknown:?}");
    };
    let known = "read, list, write, web_search, web_fetch";
    assert_eq!((name.as_str(), tools.as_str()), ("rm", known));
    assert_eq!(*talk.machine.settings(), before);
    talk.change(&json!({"active_tools": []})).unwrap();
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read", "list", "write"]);
}

/// Spec: [CONV-89]
#[test]
fn no_names_are_all_tools_also_where_the_service_offers_fewer() {
    let mut defaults = Defaults::clone(&planner(10).defaults);
    defaults.settings.active_tools = vec!["read".to_owned()];
    let mut talk = Talk::of(Planner {
        tools: three_tools().into(),
        ..Planner::new(defaults)
    });
    talk.prompt("hi");
    assert_eq!(offered(&talk), ["read"]);
    talk.say("a");
    talk.change(&json!({"active_tools": []})).unwrap();
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read", "list", "write"]);
    talk.say("b");
    talk.change(&json!({"active_tools": null})).unwrap();
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read"]);
}

/// Has the machine offer the tools that there are now; tells their names.
fn renew(talk: &mut Talk) -> Vec<String> {
    let (view, effects) = talk
        .machine
        .obey(GivenOrder(RenewTools {
            by: Some("ana".to_owned()),
        }))
        .unwrap();
    talk.take(effects);
    view.tools
}

/// Spec: [CONV-90]
#[test]
fn the_list_of_tools_stays_until_it_is_renewed_and_calls_find_what_is_there() {
    let mut talk = talk();
    let shelf = talk.machine.planner.tools.clone();
    shelf.set(tools(&[("read", false, false), ("write", true, false)]));
    // Before the first request it is what there is.
    assert_eq!(talk.machine.settings_view().tools, ["read", "write"]);
    talk.prompt("hi");
    let first = body(&talk)["tools"].to_string();
    shelf.set(tools(&[("grep", false, false), ("read", true, true)]));
    talk.ask_for(&["t:write"]);
    let now = talk.machine.tools();
    assert_eq!(
        now.names().collect::<Vec<_>>(),
        ["read"],
        "write is gone, grep not offered"
    );
    assert!(now.runs_alone("read"), "it is looked up as it is");
    talk.ok(0, "x");
    talk.say("a");
    talk.prompt("on");
    assert_eq!(body(&talk)["tools"].to_string(), first);
    assert_eq!(talk.machine.settings_view().tools, ["read", "write"]);
    let refused = talk.change(&json!({"active_tools": ["grep"]}));
    assert!(refused.is_err(), "it is not in the list");
    assert_eq!(renew(&mut talk), ["grep", "read"]);
    assert_eq!(body(&talk)["tools"].to_string(), first, "not in the run");
    talk.say("b");
    talk.prompt("on");
    assert_eq!(offered(&talk), ["grep", "read"]);
    let before = talk.machine.ledger().totals().clone();
    assert_eq!(renew(&mut talk), ["grep", "read"]);
    assert_eq!(*talk.machine.ledger().totals(), before, "nothing is new");
}

/// Spec: [CONV-90]
#[test]
fn active_names_that_are_gone_drop_out_until_they_come_back() {
    let mut talk = talk();
    let shelf = talk.machine.planner.tools.clone();
    talk.change(&json!({"active_tools": ["read", "write"]}))
        .unwrap();
    talk.prompt("hi");
    assert_eq!(offered(&talk), ["read", "write"]);
    talk.say("a");
    shelf.set(tools(&[("read", false, false), ("grep", false, false)]));
    renew(&mut talk);
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read"]);
    talk.say("b");
    // Another change does not stumble over the name that is gone.
    talk.change(&json!({"max_turns": 5})).unwrap();
    shelf.set(tools(&[("grep", false, false)]));
    renew(&mut talk);
    talk.prompt("on");
    assert_eq!(offered(&talk), [""; 0], "none is left");
    assert_eq!(talk.machine.tools().names().count(), 0);
    talk.say("c");
    shelf.set(three_tools());
    renew(&mut talk);
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read", "write"]);
}

/// Spec: [CONV-157]
#[test]
fn a_journal_of_an_earlier_version_has_the_standard_tools_until_they_are_renewed() {
    let run = RunId(1);
    let mut records = vec![
        Record::RunStarted {
            spending_limit_micro_usd: None,
            schema: None,
            run,
            by: None,
            rules: harness_protocol::RunRules::default(),
        },
        Record::TurnStarted {
            run,
            turn: 1,
            head: None,
            tools: None,
            jobs: Vec::new(),
        },
    ];
    let mut ledger = Ledger::default();
    records.iter().for_each(|record| ledger.apply(record));
    records.extend(ledger.closing());
    let planner = Planner {
        tools: three_tools().into(),
        ..planner(10)
    };
    let mut talk = Talk::revived(planner, records);
    assert_eq!(
        talk.machine.settings_view().tools,
        ["read", "list_dir", "grep"]
    );
    talk.prompt("hi");
    assert_eq!(offered(&talk), ["read", "list_dir", "grep"]);
    talk.say("a");
    renew(&mut talk);
    talk.prompt("on");
    assert_eq!(offered(&talk), ["read", "list", "write"]);
}

fn think(talk: &mut Talk) {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    talk.block(block(&thought));
    talk.say("a");
}

/// Spec: [CONV-91]
#[test]
fn signed_thinking_is_left_out_when_what_stands_before_it_changes() {
    let thinks = |talk: &Talk| messages(&talk.machine).to_string().contains("hm");
    for (change, is_kept) in [
        (json!({"model": "big"}), false),
        (json!({"system_prompt": "be brief"}), false),
        (json!({"active_tools": ["read"]}), false),
        (
            json!({"max_turns": 3, "max_tokens": 9, "tool_execution": "parallel"}),
            true,
        ),
    ] {
        let mut talk = talk();
        talk.prompt("hi");
        think(&mut talk);
        talk.prompt("on");
        assert!(thinks(&talk));
        talk.change(&change).unwrap();
        talk.say("b");
        assert!(thinks(&talk), "the change has no effect yet");
        talk.prompt("next");
        assert_eq!(thinks(&talk), is_kept, "{change}");
        // Back again, it stays as it is.
        talk.say("c");
        talk.change(&json!({"model": null, "system_prompt": null, "active_tools": null}))
            .unwrap();
        talk.prompt("back");
        assert_eq!(thinks(&talk), is_kept);
    }
}

type Seen = Arc<Mutex<Vec<(usize, Vec<String>)>>>;

/// A talk whose system prompt is built, and what the builder saw.
fn building() -> (Talk, Seen) {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    let build = move |turn: &TurnInfo<'_>| {
        let said = turn.history.values().len();
        let tools = turn.tools.names().map(str::to_owned).collect();
        let mut noted = noted.lock().unwrap();
        noted.push((said, tools));
        assert!(turn.history.values().len() < 7, "it panics on purpose");
        format!("{} {}", turn.model, noted.len())
    };
    let talk = Talk::of(Planner {
        tools: three_tools().into(),
        system_prompt: Some(Arc::new(build)),
        ..planner(10)
    });
    (talk, seen)
}

/// Spec: [CONV-92]
#[test]
fn a_builder_makes_the_system_prompt_of_every_turn() {
    let (mut talk, seen) = building();
    talk.change(&json!({"system_prompt": "unheard", "active_tools": ["read"]}))
        .unwrap();
    talk.prompt("hi");
    let system = body(&talk)["system"].to_string();
    assert!(
        system.contains("m 1") && !system.contains("unheard"),
        "{system}"
    );
    talk.ask_for(&["t"]);
    talk.ok(0, "x");
    assert!(body(&talk)["system"].to_string().contains("m 2"));
    talk.say("a");
    talk.prompt("on");
    let read = || vec!["read".to_owned()];
    let expected = [(0, read()), (3, read()), (4, read())];
    assert_eq!(
        *seen.lock().unwrap(),
        expected,
        "the prompt of a run is not in its first look"
    );
}

/// Spec: [CONV-92]
#[test]
fn a_builder_that_panics_refuses_the_prompt_or_fails_the_run() {
    let (mut talk, _) = building();
    for _ in 0..3 {
        talk.prompt("hi");
        talk.say("a");
    }
    talk.prompt("hi");
    talk.ask_for(&["t"]);
    let end = talk.ok(0, "x");
    let error = "error the builder of the system prompt panicked";
    assert_eq!(
        end,
        ["result of t", "turn ended", "run ended", error, "end 4"]
    );
    let records = talk.records.len();
    let refused = talk.try_prompt(prompt("on")).unwrap_err();
    let reason = "the builder of the system prompt panicked".to_owned();
    assert_eq!(refused, SubmitError::Prompt(reason));
    assert_eq!(talk.records.len(), records);
    assert_eq!(talk.machine.run(), None);
}

/// Spec: [CONV-93]
#[test]
fn a_projection_changes_what_is_sent_and_nothing_else() {
    let project = |messages: Vec<Value>| {
        assert!(messages.len() < 3, "it panics on purpose");
        vec![user(&json!([text(&format!(
            "{} messages",
            messages.len()
        ))]))]
    };
    let mut talk = Talk::of(Planner {
        projection: Some(Arc::new(project)),
        ..planner(10)
    });
    talk.prompt("hi");
    assert_eq!(
        body(&talk)["messages"][0]["content"][0]["text"],
        "1 messages"
    );
    assert_eq!(talk.all_texts(), ["hi"]);
    talk.say("a");
    talk.prompt("on");
    // One that panics sends nothing.
    assert!(talk.machine.request().unwrap().is_err());
}
