//! Settings: who sees a change, when it counts, and what the API is sent for it.

use harness_standin::{Gate, Hold, Listing, Message, Model, Reply, Turns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::bash::run;
use crate::cancel::children;
use crate::changing::Changing;
use crate::client::within;
use crate::eventually::eventually;
use crate::program::{Service, slow_search};
use crate::talk::{Talk, asked, bare, last_texts, model, serving};

const OTHER: &str = "claude-other";

/// Every setting with a value that the service does not have by itself.
fn every_setting() -> Value {
    json!({
        "model": OTHER,
        "max_tokens": 1234,
        "max_turns": 3,
        "system_prompt": "Be brief.",
        "thinking": "medium",
        "active_tools": ["read", "list_dir"],
        "tool_execution": "parallel",
        "mode": "edits",
        "approval_timeout": 60,
        "steering_mode": "all",
        "follow_up_mode": "all",
        "key_source": "team",
        "context_window": 150_000,
        "auto_compact": false,
        "reserve_tokens": 9_000,
        "keep_tokens": 8_000,
        "compaction_model": OTHER,
        "context_files": false,
        "wake": true,
    })
}

/// Spec: [CONV-123] [HTTP-64]
#[tokio::test]
async fn every_setting_is_seen_by_everybody_and_kept() {
    let config = "[key_sources]\nteam = 'env:NOT_SET_ANYWHERE'\n";
    let (service, _standin, _script) = Service::configured(config, &[]).await;
    let talk = Talk::with(&service);
    let mut ann = talk.follow("ann").await;
    let mut bob = talk.follow("bob").await;
    let before = service.get(&talk.path("/settings")).await;
    let mut own = json!({});
    for (name, value) in every_setting().as_object().unwrap() {
        own[name] = value.clone();
        let order = json!({"settings": {name: value}, "by": "cid"});
        let answer = talk.order("PATCH", "/settings", &order).await;
        assert_eq!(answer["settings"], own);
        assert_eq!(answer["effective"][name], *value);
        assert_ne!(before["effective"].get(name), Some(value), "{name}");
        let event = bare(ann.until("settings_changed").await);
        assert_eq!(event["settings"], own);
        assert_eq!(event["by"], "cid");
        assert_eq!(bare(bob.until("settings_changed").await), event);
        assert_eq!(talk.snapshot().await["settings"], own);
    }
    // What is the same already is no change.
    let records = talk.past().await.len();
    talk.set(&every_setting()).await;
    assert_eq!(talk.past().await.len(), records);

    let service = service.restart().await;
    let talk = Talk::with(&service);
    assert_eq!(talk.snapshot().await["settings"], own);
    let kept = service.get(&talk.path("/settings")).await;
    assert_eq!(kept["settings"], own);
    assert_eq!(kept["active_tools"], json!(["read", "list_dir"]));
    // Null takes each back to what the service has.
    let mut nothing = every_setting();
    for value in nothing.as_object_mut().unwrap().values_mut() {
        *value = Value::Null;
    }
    let answer = talk.set(&nothing).await;
    assert_eq!(answer, before);
}

/// Spec: [CONV-124]
#[tokio::test]
async fn a_change_counts_from_the_next_run_on() {
    let gate = Gate::new();
    let turns = Turns::new(2, |turn, _| {
        let look = json!({"path": "."});
        Message::new().tool_use(format!("t{turn}"), "list_dir", look)
    });
    let turns = turns.hold(0, Hold::Head, &gate);
    let (service, standin, catalogue) = serving(turns, model(200_000), &[]).await;
    std::fs::write(service.home.path().join("AGENTS.md"), "Be kind.").unwrap();
    catalogue.set(vec![model(200_000), Model::new(OTHER)]);
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the request", gate.reached()).await;
    let mut settings = every_setting();
    settings["key_source"] = Value::Null;
    talk.set(&settings).await;
    gate.open();
    talk.idle().await;
    talk.say("next").await;
    let asked = asked(&standin);
    assert_eq!(asked.len(), 4);
    for request in &asked[1..3] {
        for part in ["model", "max_tokens", "system", "tools", "thinking"] {
            assert_eq!(request[part], asked[0][part], "{part}");
        }
    }
    let next = &asked[3];
    assert_eq!(next["model"], OTHER);
    assert_eq!(next["max_tokens"], 1234);
    assert_eq!(next["system"][0]["text"], "Be brief.");
    assert_eq!(next["thinking"]["type"], "adaptive");
    assert_eq!(next["output_config"]["effort"], "medium");
    let names: Vec<&Value> = next["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    // In the order of the registry.
    assert_eq!(names, ["read", "list_dir"]);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-124]
#[tokio::test]
async fn the_limit_of_turns_and_the_context_files_are_those_of_the_run() {
    let turns = Turns::new(20, |turn, _| {
        let look = json!({"path": "."});
        Message::new().tool_use(format!("t{turn}"), "list_dir", look)
    });
    let (service, standin, _) = serving(turns, model(200_000), &[]).await;
    std::fs::write(service.home.path().join("AGENTS.md"), "Be kind.").unwrap();
    let service = service.restart().await;
    let talk = Talk::with(&service);
    talk.set(&json!({"max_turns": 2})).await;
    talk.say("go").await;
    assert!(talk.outcome().await.1.contains("max_turns (2)"));
    talk.set(&json!({"max_turns": 4, "context_files": false}))
        .await;
    talk.say("go").await;
    assert!(talk.outcome().await.1.contains("max_turns (4)"));
    let asked = asked(&standin);
    assert_eq!(asked.len(), 6);
    assert!(asked[0]["system"].to_string().contains("Be kind."));
    assert_eq!(asked[2]["system"], Value::Null);
}

/// Spec: [CONV-125]
#[tokio::test]
async fn no_level_of_thinking_is_refused_by_any_model() {
    let all = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
    let listings = [
        (Listing::Full, &all[..]),
        (
            Listing::WithoutCapabilities,
            &["off", "low", "xhigh", "max"],
        ),
        (Listing::NamesOnly, &["off", "max"]),
    ];
    // A call behind signed thinking, and then a text.
    let responder = |request: &harness_standin::MessagesRequest| {
        let message = Message::new();
        let thinks = request.body["thinking"]["type"] != "disabled";
        let message = if thinks && !request.body["thinking"].is_null() {
            message.signed_thinking("hm")
        } else {
            message
        };
        let last = request.last_content();
        let is_answer = last.iter().any(|block| block["type"] == "tool_result");
        if is_answer {
            return Reply::from(message.text("done"));
        }
        let id = format!("t{}", request.messages().len());
        message
            .tool_use(id, "list_dir", json!({"path": "."}))
            .into()
    };
    let (service, standin, catalogue) = serving(responder, model(200_000), &[]).await;
    for (listing, levels) in listings {
        let models: Vec<Model> = Model::current()
            .into_iter()
            .map(|model| model.listed(listing))
            .collect();
        catalogue.set(models.clone());
        // What is remembered of the models is from before.
        let service = Service::start(&standin.base_url(), &["--model", &models[0].id]).await;
        for model in &models {
            let id = service
                .create(&json!({"settings": {"model": model.id}}))
                .await;
            let talk = Talk {
                service: &service,
                id,
            };
            for (number, level) in levels.iter().enumerate() {
                let max_tokens = [64, 1500, 4096, 20_000][number % 4];
                talk.set(&json!({"thinking": level, "max_tokens": max_tokens}))
                    .await;
                talk.say(level).await;
            }
            let ended = talk.past_of("run_ended").await;
            assert_eq!(ended.len(), levels.len());
            for (level, ended) in levels.iter().zip(ended) {
                assert_eq!(
                    ended["outcome"], "completed",
                    "{} {level}: {ended}",
                    model.id
                );
            }
        }
    }
    assert_eq!(standin.violations(), [""; 0]);
    // The levels arrive, each generation in its own words.
    let requests = asked(&standin);
    let sent = |model: &str, part: fn(&Value) -> &Value, value: &str| {
        let mut of_model = requests.iter().filter(|request| request["model"] == model);
        of_model.any(|request| *part(request) == *value)
    };
    let effort: fn(&Value) -> &Value = |request| &request["output_config"]["effort"];
    let kind: fn(&Value) -> &Value = |request| &request["thinking"]["type"];
    assert!(sent("claude-sonnet-4-5", kind, "enabled"));
    assert!(!sent("claude-sonnet-4-5", kind, "adaptive"));
    assert!(sent("claude-opus-4-7", effort, "xhigh"));
    assert!(sent("claude-opus-4-6", effort, "max") && !sent("claude-opus-4-6", effort, "xhigh"));
    assert!(!sent("claude-opus-5-5", kind, "disabled"));
    assert!(sent("claude-sonnet-5", kind, "disabled") && sent("claude-sonnet-5", kind, "adaptive"));
    drop(service);
}

/// Spec: [CONV-89]
#[tokio::test]
async fn only_tools_that_there_are_can_be_made_active() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    talk.set(&json!({"active_tools": ["grep"]})).await;
    let before = service.get(&talk.path("/settings")).await;
    let wrong = json!({"settings": {"active_tools": ["read", "hammer"], "max_turns": 2}});
    let answer = talk.send("PATCH", "/settings", &wrong).await;
    assert_eq!(answer.status, 400);
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for name in ["hammer", "read", "list_dir", "grep"] {
        assert!(detail.contains(name), "{detail}");
    }
    assert_eq!(service.get(&talk.path("/settings")).await, before);
    assert_eq!(talk.past_of("settings_changed").await.len(), 1);
    // A call of a tool that is not active is answered as failed, and the run goes on.
    script.push(Reply::tool_calls([("t", "read", json!({"path": "x"}))]));
    script.push(Reply::text("done"));
    talk.say("go").await;
    let result = talk.past_of("tool_result").await.pop().unwrap();
    assert_eq!(result["isError"], true);
    let all = talk.set(&json!({"active_tools": []})).await;
    assert_eq!(all["active_tools"], all["tools"]);
    script.push(Reply::text("done"));
    talk.say("go").await;
    let asked = asked(&standin);
    assert_eq!(asked[0]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        asked.last().unwrap()["tools"].as_array().unwrap().len(),
        all["tools"].as_array().unwrap().len()
    );
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-127]
#[tokio::test]
async fn each_mode_runs_the_calls_of_a_reply_in_its_way() {
    for (mode, errors) in [
        ("sequential_fail_fast", [false, true, true]),
        ("sequential", [false, true, false]),
        ("parallel", [false, true, false]),
    ] {
        let (service, standin, script) = Service::scripted(&[]).await;
        let talk = Talk::with(&service);
        talk.set(&json!({"tool_execution": mode})).await;
        script.push(Reply::tool_calls([
            ("a", "list_dir", json!({"path": "."})),
            ("b", "read", json!({"path": "nowhere"})),
            ("c", "list_dir", json!({"path": "."})),
        ]));
        script.push(Reply::text("done"));
        talk.say("go").await;
        let results = &asked(&standin)[1]["messages"][2]["content"];
        for (place, (id, is_error)) in ["a", "b", "c"].iter().zip(errors).enumerate() {
            assert_eq!(results[place]["tool_use_id"], *id, "{mode}");
            assert_eq!(results[place]["is_error"] == true, is_error, "{mode} {id}");
        }
        let shown = talk.past_of("tool_result").await.len();
        assert_eq!(
            shown,
            if mode == "sequential_fail_fast" { 2 } else { 3 },
            "{mode}"
        );
        assert_eq!(standin.violations(), [""; 0]);
    }
}

/// Spec: [CONV-127]
#[tokio::test]
async fn parallel_calls_run_at_once_and_their_results_come_in_order() {
    let (service, standin, script) = Service::scripted(&["--tool-execution", "parallel"]).await;
    let talk = Talk::with(&service);
    let (name, content, pattern) = slow_search();
    std::fs::write(service.home.path().join(name), &content).unwrap();
    let search = json!({"path": name, "pattern": pattern});
    script.push(Reply::tool_calls([
        ("a", "grep", search.clone()),
        ("b", "list_dir", json!({"path": "."})),
        ("c", "grep", search),
    ]));
    script.push(Reply::text("done"));
    let run = talk.prompt("go").await;
    let searches = eventually("two searches", async || {
        let of_grep = |id: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{id}/comm"));
            name.is_ok_and(|name| name.trim() == "grep")
        };
        let searches: Vec<u32> = children(&service).into_iter().filter(of_grep).collect();
        (searches.len() == 2).then_some(searches)
    })
    .await;
    // The first call still runs, so nothing is shown of the others.
    assert_eq!(talk.past_of("tool_result").await, [Value::Null; 0]);
    for id in searches {
        kill(Pid::from_raw(i32::try_from(id).unwrap()), Signal::SIGKILL).unwrap();
    }
    talk.idle().await;
    let results = talk.past_of("tool_result").await;
    let ids: Vec<&Value> = results.iter().map(|result| &result["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(run, 1);
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CONV-123]
#[tokio::test]
async fn changes_of_two_clients_at_once_are_both_kept() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let talk = Talk::with(&service);
    for number in 1..=20 {
        let (turns, tokens) = (json!({"max_turns": number}), json!({"max_tokens": number}));
        tokio::join!(talk.set(&turns), talk.set(&tokens));
        let settings = &talk.snapshot().await["settings"];
        assert_eq!(
            *settings,
            json!({"max_tokens": number, "max_turns": number})
        );
    }
    assert_eq!(talk.past_of("settings_changed").await.len(), 40);
}

/// Spec: [CONV-470]
#[tokio::test]
async fn the_end_of_a_job_begins_a_run_of_an_idle_conversation_that_wakes() {
    let here = Changing::in_mode("ask").await;
    run(&here, json!({"command": "mkfifo fifo"})).await;
    here.talk().set(&json!({"wake": true})).await;
    let input = json!({"command": "read x <fifo; exit 4", "background": true});
    let (started, _) = run(&here, input).await;
    assert!(started.contains("[job 1 started"), "{started}");
    let mut follower = here.service.follow(&here.id, "", "").await;
    here.script.push(Reply::text("woken"));
    std::fs::write(here.at("fifo"), "x\n").unwrap();
    assert_eq!(follower.until("run_started").await["by"], "job 1");
    assert_eq!(follower.until("run_ended").await["outcome"], "completed");
    let sent = asked(&here.standin).pop().unwrap();
    let told = "[Jobs that ended since: job 1 (read x <fifo; exit 4): exit 4]";
    assert_eq!(last_texts(&sent).1, [told]);
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [CONV-124]
#[tokio::test]
async fn what_was_changed_in_a_run_that_died_counts_after_it() {
    let gate = Gate::new();
    let turns = Turns::new(1, |_, _| Message::new().text("never")).hold(0, Hold::Head, &gate);
    let (service, standin, _) = serving(turns, model(200_000), &[]).await;
    let talk = Talk::with(&service);
    talk.prompt("go").await;
    within("the request", gate.reached()).await;
    talk.set(&json!({"system_prompt": "Be brief."})).await;
    let service = service.restart().await;
    let talk = Talk::with(&service);
    let kept = &talk.snapshot().await["settings"];
    assert_eq!(*kept, json!({"system_prompt": "Be brief."}));
    talk.order("POST", "/continue", &json!({})).await;
    talk.idle().await;
    let last = asked(&standin).pop().unwrap();
    assert_eq!(last["system"][0]["text"], "Be brief.");
}
