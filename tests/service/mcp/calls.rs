//! Calls of tools: what is offered, asked about, and answered.

use serde_json::json;

use super::{accept, call, offered, put, server, with_demo};
use crate::bash::{marked, none_left, processes};
use crate::changing::{Changing, order};
use crate::contained::contains_commands;
use crate::eventually::eventually;
use crate::program::API_KEY;
use crate::talk::asked;

/// Spec: [MCP-05] [MCP-09]
#[tokio::test]
async fn a_tool_of_an_accepted_server_is_asked_about_and_called() {
    let here = with_demo("ask", json!({})).await;
    assert_eq!(
        server(&here, "demo").await["running"],
        0,
        "nothing called it"
    );
    let id = here.begin("mcp__demo__echo", json!({"text": "hi"})).await;
    let approval = here.asked().await.unwrap();
    let subject = &approval["mcp_call"];
    assert_eq!(subject["server"], "demo", "{approval}");
    assert_eq!(subject["tool"], "echo");
    assert_eq!(subject["input"], "{\n  \"text\": \"hi\"\n}");
    assert_eq!(
        (&subject["access"], &subject["network"]),
        (&json!("write"), &json!(true))
    );
    assert_eq!(approval["rule"], "mcp(demo.echo *)");
    assert_eq!(
        server(&here, "demo").await["running"],
        0,
        "nobody allowed it"
    );
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    assert_eq!(here.result(&id).await, ("you said hi".to_owned(), false));
    let now = server(&here, "demo").await;
    assert_eq!(now["running"], 1);
    assert_eq!(now["version"], "demo 1.2");
    // The same process answers again, and says also what did not work.
    let failed = json!({"error": "it did not work"}).to_string();
    assert_eq!(call(&here, "fail", json!({})).await, (failed, true));
    let heard = String::from_utf8(here.read("heard")).unwrap();
    assert_eq!(
        heard.matches("\"method\":\"initialize\"").count(),
        2,
        "the test, and this one"
    );
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [MCP-03] [MCP-04]
#[tokio::test]
async fn tools_have_names_of_their_server_and_what_the_api_refuses_is_left_out() {
    let here = with_demo("ask", json!({"disabled_tools": ["h*"]})).await;
    here.script.push(harness_standin::Reply::text("done"));
    here.talk().say("go on").await;
    let names = offered(&here);
    for name in [
        "bash",
        "mcp__demo__bash",
        "mcp__demo__echo",
        "mcp__demo__where",
    ] {
        assert!(
            names.iter().any(|offered| offered == name),
            "{name}: {names:?}"
        );
    }
    let own: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("mcp__"))
        .collect();
    assert!(own.is_sorted());
    assert_eq!(
        own.iter().filter(|name| name.contains("list_more")).count(),
        1
    );
    for name in ["hang", "huge", "broken"] {
        assert!(!own.iter().any(|offered| offered.ends_with(name)), "{name}");
    }
    let server = server(&here, "demo").await;
    let tools = server["tools"].as_array().unwrap();
    let reason = |tool: &str| {
        let found = tools.iter().find(|it| it["tool"] == tool).unwrap();
        assert_eq!(found["state"], "left_out", "{found}");
        found["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("hang"), "the configuration leaves it out");
    assert!(reason("broken").contains("object"), "{}", reason("broken"));
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [MCP-12]
#[tokio::test]
async fn a_server_that_is_accepted_later_changes_no_byte_of_a_conversation_that_runs() {
    let here = Changing::in_mode("ask").await;
    let say = async |text: &str| {
        here.script.push(harness_standin::Reply::text("done"));
        here.talk().say(text).await;
        let requests = asked(&here.standin);
        let last = requests.last().unwrap();
        (last["tools"].to_string(), last["system"].to_string())
    };
    let before = say("one").await;
    assert_eq!(put(&here, "demo", &[], json!({})).await.status, 200);
    accept(&here, "demo").await;
    assert_eq!(say("two").await, before);
    assert!(!before.0.contains("mcp__demo__echo"));
    // An operator can renew the list.
    assert_eq!(here.order("POST", "/tools", &json!({})).await.status, 200);
    assert!(say("three").await.0.contains("mcp__demo__echo"));
}

/// Spec: [MCP-09]
#[tokio::test]
async fn rules_and_modes_hold_for_calls() {
    let here = with_demo("plan", json!({"network": false})).await;
    let (refused, _) = call(&here, "echo", json!({"text": "x"})).await;
    assert!(refused.contains("the mode is plan"), "{refused}");
    here.set_mode("ask").await;
    let rules = json!({"add": [
        {"action": "allow", "rule": "mcp(demo.echo *)"},
        {"action": "deny", "rule": "mcp(*.wh*)"},
    ]});
    let changed = here.order("PATCH", "/rules", &rules).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let said = here.call("mcp__demo__echo", json!({"text": "x"})).await;
    assert_eq!(said, ("you said x".to_owned(), false));
    let (refused, _) = here.call("mcp__demo__where", json!({})).await;
    assert!(
        refused.contains("the rule mcp(*.wh*) denies it"),
        "{refused}"
    );
    here.set_mode("locked").await;
    let (refused, _) = here.call("mcp__demo__bash", json!({})).await;
    assert!(refused.contains("the mode is locked"), "{refused}");
    let too_wide = json!({"add": [{"action": "allow", "rule": "mcp(*.echo)"}]});
    assert_eq!(here.order("PATCH", "/rules", &too_wide).await.status, 400);
}

/// Spec: [MCP-05]
#[tokio::test]
async fn a_server_works_in_the_folder_of_the_conversation_and_reaches_what_it_may() {
    let more = json!({"env": {"PASSED": "${NOT_SET:-by default}"}});
    let here = with_demo("ask", more).await;
    let (told, _) = call(&here, "where", json!({})).await;
    let folder = std::fs::canonicalize(here.at("")).unwrap();
    assert_eq!(told, format!("{} no key by default", folder.display()));
    assert!(!told.contains(API_KEY));
    assert_eq!(
        call(&here, "write", json!({})).await,
        ("made it".to_owned(), false)
    );
    assert_eq!(here.read("made.txt"), b"made\n");
    std::fs::remove_file(here.at("made.txt")).unwrap();
    if contains_commands() {
        let reads = json!({"access": "read"});
        assert_eq!(put(&here, "demo", &[], reads).await.status, 200);
        accept(&here, "demo").await;
        let (refused, is_error) = call(&here, "write", json!({})).await;
        assert!(is_error && refused.contains("cannot write"), "{refused}");
    }
}

/// Spec: [MCP-13]
#[tokio::test]
async fn a_call_is_cancelled_at_the_server_which_answers_the_next_one() {
    let here = with_demo("ask", json!({})).await;
    let id = here.begin("mcp__demo__hang", json!({})).await;
    let approval = here.asked().await.unwrap();
    assert_eq!(here.answer(&approval, "allow").await.status, 200);
    let heard = || String::from_utf8(here.read("heard")).unwrap();
    eventually("the call", async || heard().contains("\"name\":\"hang\"")).await;
    assert_eq!(here.order("POST", "/cancel", &json!({})).await.status, 200);
    let (told, is_error) = here.result(&id).await;
    assert!(is_error && told.contains("cancelled by user"), "{told}");
    eventually("the word to the server", async || {
        heard().contains("notifications/cancelled")
    })
    .await;
    // What the model would have said next.
    here.talk().say("go on").await;
    let said = call(&here, "echo", json!({"text": "still here"})).await;
    assert_eq!(said.0, "you said still here");
    assert_eq!(heard().matches("\"method\":\"initialize\"").count(), 2);
}

/// Spec: [MCP-02] [MCP-05]
#[tokio::test]
async fn what_was_accepted_outlives_the_service_and_its_servers_do_not() {
    let mut here = with_demo("ask", json!({"env": {"STAYS": marked(801)}})).await;
    let script = here.at("server.sh").display().to_string();
    assert_eq!(call(&here, "leave", json!({})).await.0, "left something");
    assert!(!processes(&script).is_empty());
    here = here.restarted().await;
    none_left(&script, std::time::Duration::from_secs(5)).await;
    none_left(&marked(801), std::time::Duration::from_secs(5)).await;
    let now = server(&here, "demo").await;
    assert_eq!(
        (&now["state"], &now["running"]),
        (&json!("accepted"), &json!(0))
    );
    here.begin_another("ask").await;
    assert_eq!(
        call(&here, "echo", json!({"text": "again"})).await.0,
        "you said again"
    );
    let gone = order(&here.service, "DELETE", "/v1/mcp/demo", &json!({})).await;
    assert!(gone.status < 300, "{gone:?}");
    none_left(&script, std::time::Duration::from_secs(5)).await;
}
