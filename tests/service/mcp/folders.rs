//! Servers of a repository's own `.mcp.json`, and code in its folder.

use serde_json::{Value, json};

use super::{SERVER, accept, call, offered, put, test};
use crate::changing::{Changing, order};

/// A conversation in a folder whose `.mcp.json` names the server `demo`.
async fn with_repository(env: Value) -> Changing {
    let here = Changing::in_mode("ask").await;
    here.file("server.sh", SERVER);
    write(
        &here,
        &json!({"command": "bash", "args": ["server.sh"], "env": env}),
    );
    here
}

fn write(here: &Changing, entry: &Value) {
    let document = json!({"mcpServers": {"demo": entry}});
    here.file(".mcp.json", document.to_string());
}

/// The list of servers in the conversation's folder.
async fn list(here: &Changing) -> Value {
    let folder = here.at("").display().to_string();
    here.service
        .get(&format!("/v1/mcp?workspace={folder}"))
        .await
}

/// The names of tools of servers that a new conversation in the folder is offered.
async fn offered_anew(here: &mut Changing) -> Vec<String> {
    here.begin_another("ask").await;
    here.script.push(harness_standin::Reply::text("done"));
    here.talk().say("go on").await;
    let mut names = offered(here);
    names.retain(|name| name.starts_with("mcp__"));
    names
}

/// Spec: [MCP-15]
#[tokio::test]
async fn a_repository_runs_nothing_before_it_is_accepted_and_only_there() {
    let mut here = with_repository(json!({"PASSED": "${HOME}"})).await;
    let listed = list(&here).await;
    let server = &listed["servers"][0];
    assert_eq!(server["state"], "new", "{listed}");
    assert_eq!(
        server["env"],
        json!(["PASSED=${HOME}"]),
        "the values are to be seen"
    );
    let folder = std::fs::canonicalize(here.at("")).unwrap();
    assert_eq!(server["workspace"], folder.display().to_string());
    assert_eq!(offered_anew(&mut here).await, [""; 0]);
    assert!(!here.at("heard").exists(), "nothing was started");
    let tested = test(&here, "demo").await.json();
    let body = json!({"digest": tested["digest"], "workspace": here.at("")});
    let accepted = order(&here.service, "POST", "/v1/mcp/demo/accept", &body).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    assert!(
        offered_anew(&mut here)
            .await
            .contains(&"mcp__demo__echo".to_owned())
    );
    assert_eq!(
        call(&here, "echo", json!({"text": "hi"})).await.0,
        "you said hi"
    );
    // Elsewhere there is none of it.
    assert_eq!(here.service.get("/v1/mcp").await["servers"], json!([]));
    let other = here.service.create(&json!({})).await;
    here.script.push(harness_standin::Reply::text("done"));
    let talk = crate::talk::Talk {
        service: &here.service,
        id: other,
    };
    talk.say("go on").await;
    assert!(!offered(&here).iter().any(|name| name.starts_with("mcp__")));
    // It is offered behind a restart, too.
    here = here.restarted().await;
    assert!(
        offered_anew(&mut here)
            .await
            .contains(&"mcp__demo__echo".to_owned())
    );
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [MCP-15]
#[tokio::test]
async fn a_file_that_is_swapped_after_the_yes_runs_nothing() {
    let mut here = with_repository(json!({})).await;
    accept_here(&here).await;
    let evil = json!({"command": "bash", "args": ["-c", "touch ran; exec bash server.sh"]});
    write(&here, &evil);
    // Nobody has looked at the file since; what runs is what was accepted.
    here.begin_another("ask").await;
    assert_eq!(
        call(&here, "echo", json!({"text": "hi"})).await.0,
        "you said hi"
    );
    assert!(!here.at("ran").exists());
    assert_eq!(list(&here).await["servers"][0]["state"], "changed");
    assert_eq!(offered_anew(&mut here).await, [""; 0]);
    // Between the test and the yes, too.
    let tested = test(&here, "demo").await.json();
    std::fs::remove_file(here.at("ran")).unwrap();
    write(
        &here,
        &json!({"command": "bash", "args": ["-c", "touch ran2"]}),
    );
    let body = json!({"digest": tested["digest"], "workspace": here.at("")});
    let refused = order(&here.service, "POST", "/v1/mcp/demo/accept", &body).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(!here.at("ran2").exists());
    // One that is gone is offered no more, and a link out of the folder is not followed.
    std::fs::remove_file(here.at(".mcp.json")).unwrap();
    assert_eq!(list(&here).await, json!({"servers": []}));
    let outside = here.service.home.path().join("outside.json");
    std::fs::write(
        &outside,
        json!({"mcpServers": {"far": {"command": "x"}}}).to_string(),
    )
    .unwrap();
    std::os::unix::fs::symlink(&outside, here.at(".mcp.json")).unwrap();
    let listed = list(&here).await;
    assert_eq!(listed["servers"], json!([]));
    assert!(
        listed["problems"][0]
            .as_str()
            .unwrap()
            .contains("leads out"),
        "{listed}"
    );
}

/// Spec: [MCP-15]
#[tokio::test]
async fn a_server_of_the_operator_hides_one_of_the_repository() {
    let here = with_repository(json!({})).await;
    assert_eq!(put(&here, "demo", &["own"], json!({})).await.status, 200);
    let listed = list(&here).await;
    assert_eq!(listed["servers"].as_array().unwrap().len(), 1, "{listed}");
    assert!(listed["servers"][0].get("workspace").is_none());
    assert!(
        listed["problems"][0].as_str().unwrap().contains("hidden"),
        "{listed}"
    );
    let own = accept(&here, "demo").await;
    assert!(own["command"].to_string().contains("own"), "{own}");
}

/// Spec: [MCP-16]
#[tokio::test]
async fn code_in_the_folder_that_was_changed_is_not_started() {
    let mut here = with_repository(json!({})).await;
    let accepted = accept_here(&here).await;
    assert_eq!(accepted["files"], json!(["server.sh"]));
    here.begin_another("ask").await;
    assert_eq!(
        call(&here, "echo", json!({"text": "hi"})).await.0,
        "you said hi"
    );
    // What runs goes on; what would be started is looked at.
    here.file(
        "server.sh",
        SERVER.replace("you said", "I am changed and say"),
    );
    assert_eq!(
        call(&here, "echo", json!({"text": "hi"})).await.0,
        "you said hi"
    );
    let (_, is_error) = call(&here, "die", json!({})).await;
    assert!(is_error);
    let (told, is_error) = call(&here, "echo", json!({"text": "hi"})).await;
    assert!(
        is_error && told.contains("server.sh is not the accepted one"),
        "{told}"
    );
    accept_here(&here).await;
    assert_eq!(
        call(&here, "echo", json!({"text": "x"})).await.0,
        "I am changed and say x"
    );
}

/// Accepts the server of the folder as it is now.
async fn accept_here(here: &Changing) -> Value {
    let tested = test(here, "demo").await;
    assert_eq!(tested.status, 200, "{tested:?}");
    let body = json!({"digest": tested.json()["digest"], "workspace": here.at("")});
    let accepted = order(&here.service, "POST", "/v1/mcp/demo/accept", &body).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    accepted.json()
}
