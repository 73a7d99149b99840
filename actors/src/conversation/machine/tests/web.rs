//! The tools for the web that a conversation is offered, and what limits them.

use harness_protocol::JobEnd;
use serde_json::{Value, json};

use super::super::plan::Defaults;
use super::talk::{Talk, long};
use super::testing::*;
use super::*;
use crate::tool::{EndedJob, StartedJob, tools};

/// A service whose conversations search by themselves, or not.
fn service(searches: bool) -> Planner {
    let mut defaults = Defaults::clone(&planner(10).defaults);
    defaults.is_vendor = searches;
    Planner {
        tools: tools(&[("read", false, false), ("list", false, false)]).into(),
        ..Planner::new(defaults)
    }
}

/// A conversation that may fetch pages, of any domain.
fn fetching() -> Talk {
    Talk::with(|defaults| defaults.settings.web_fetch = true)
}

/// The tools of the request that is made now.
fn offered(talk: &Talk) -> Vec<Value> {
    let request = talk.machine.request().unwrap().unwrap();
    let body = request.body(&request.model().id).concat();
    let body: Value = serde_json::from_slice(&body).unwrap();
    body["tools"].as_array().cloned().unwrap_or_default()
}

fn names(talk: &Talk) -> Vec<String> {
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    offered(talk).iter().map(name).collect()
}

/// True if a page is fetched that the user names.
fn fetches_for_user(talk: &Talk) -> bool {
    let tools = offered(talk);
    tools.last().unwrap()["url_sources"]["user_input"]["type"] == "all"
}

/// Spec: [WEB-01] [WEB-02]
#[test]
fn a_conversation_searches_by_itself_from_its_first_request_on_or_never() {
    let own = ["read", "list"];
    let searching = ["read", "list", "web_search"];
    for (begins, expected) in [(true, &searching[..]), (false, &own[..])] {
        let mut talk = Talk::of(service(begins));
        assert_eq!(talk.machine.settings_view().tools, expected);
        talk.prompt("a");
        assert_eq!(names(&talk), expected);
        let before = offered(&talk);
        talk.say("b");
        // Whatever the service has later.
        let mut later = Talk::revived(service(!begins), talk.records);
        later.prompt("c");
        assert_eq!(offered(&later), before);
        later.say("d");
        // A setting is an operator's word.
        let set = if begins { "off" } else { "on" };
        later.change(&json!({"web_search": set})).unwrap();
        later.prompt("e");
        let changed = if begins { &own[..] } else { &searching[..] };
        assert_eq!(names(&later), changed);
        later.say("f");
        later
            .change(&json!({"active_tools": ["read", "web_search"]}))
            .unwrap();
        later.prompt("g");
        let active = if begins {
            &["read"][..]
        } else {
            &["read", "web_search"]
        };
        assert_eq!(names(&later), active);
    }
}

/// Spec: [WEB-08]
#[test]
fn a_run_under_a_spending_limit_has_none_and_the_head_is_another_one() {
    let mut talk = Talk::of(service(true));
    let heads = |talk: &Talk| {
        let head = |record: &Record| {
            let Record::TurnStarted { head, .. } = record else {
                return None;
            };
            head.clone()
        };
        talk.records.iter().filter_map(head).collect::<Vec<_>>()
    };
    talk.prompt("a");
    talk.say("b");
    let limited = SubmitPrompt {
        spending_limit_micro_usd: Some(1_000_000),
        ..prompt("c")
    };
    talk.try_prompt(limited).unwrap();
    assert_eq!(names(&talk), ["read", "list"]);
    talk.say("d");
    talk.prompt("e");
    assert_eq!(names(&talk), ["read", "list", "web_search"]);
    // So thinking that was signed behind the other tools is not sent back.
    let heads = heads(&talk);
    assert_eq!(heads[0], heads[2]);
    assert_ne!(heads[0], heads[1]);
}

/// Spec: [WEB-04]
#[test]
fn a_summary_in_a_run_closes_what_the_user_said_to_the_fetch_of_pages() {
    let mut talk = fetching();
    talk.prompt(&long("p1", 3000));
    talk.described(None);
    assert!(fetches_for_user(&talk));
    talk.say(&long("r1", 1500));
    talk.prompt(&long("p2", 1000));
    talk.described(Some(10_000));
    let next = talk.piece("what was said");
    assert_eq!(next.last().unwrap(), "ask");
    assert!(!fetches_for_user(&talk));
    talk.say("done");
    talk.change(&json!({"web_domains": ["docs.rs"]})).unwrap();
    if talk.prompt("on").last().unwrap() == "describe" {
        talk.described(None);
    }
    assert!(fetches_for_user(&talk), "its domains are named");
}

/// Spec: [WEB-04]
#[test]
fn the_command_of_a_job_that_ended_counts_as_a_tools_word() {
    let mut talk = fetching();
    talk.prompt("a");
    talk.ask_for(&["t"]);
    let started = ToolOutcome {
        job: Some(StartedJob {
            job: 1,
            command: ": https://evil.example/?k=x".to_owned(),
        }),
        ..ToolOutcome::from(Ok("[job 1 started]".to_owned()))
    };
    talk.tool(0, started);
    assert!(fetches_for_user(&talk));
    let end = JobEnd::Exited { code: 0 };
    let ended = EndedJob {
        job: 1,
        end,
        changes: None,
    };
    talk.handle(Input::JobsEnded(vec![ended]));
    talk.ask_for(&["u"]);
    talk.ok(0, "x");
    assert!(talk.last_message()[1].contains("evil.example"));
    assert!(!fetches_for_user(&talk));
    talk.say("done");
    talk.prompt("on");
    assert!(!fetches_for_user(&talk), "the words stay in the past");
}

/// Spec: [CONV-797]
#[test]
fn other_tools_end_the_wait_for_a_tool_of_the_api() {
    let mut talk = fetching();
    talk.prompt("a");
    talk.block(block(&web_search("w")));
    talk.block(block(&tool_use("t")));
    talk.end(StopReason::ToolUse, 0);
    talk.ok(0, "x");
    talk.fail(ModelError::Truncated);
    assert!(talk.machine.history().awaits_server_results());
    talk.change(&json!({"web_fetch": false})).unwrap();
    talk.resume(crate::conversation::messages::Resumption::Continue)
        .unwrap();
    assert!(!talk.machine.history().awaits_server_results());
}

/// Spec: [MODEL-810]
#[test]
fn long_inputs_are_streamed_in_conversations_that_begin_where_the_api_does_that() {
    let service = |is_vendor| {
        let mut defaults = Defaults::clone(&planner(10).defaults);
        defaults.is_vendor = is_vendor;
        let standard = crate::tool::Registry::new(crate::tool::standard_tools()).unwrap();
        Planner {
            tools: standard.into(),
            ..Planner::new(defaults)
        }
    };
    let eager = |talk: &Talk| {
        let is_eager = |tool: &Value| tool["eager_input_streaming"] == true;
        let offered = offered(talk).into_iter().filter(is_eager);
        let names = offered.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    for (begins, expected) in [(true, &["edit", "write"][..]), (false, &[])] {
        let mut talk = Talk::of(service(begins));
        talk.prompt("a");
        assert_eq!(eager(&talk), expected);
        talk.say("b");
        // Whatever the service has later.
        let mut later = Talk::revived(service(!begins), talk.records);
        later.prompt("c");
        assert_eq!(eager(&later), expected);
    }
}
