//! Tools of MCP servers, over HTTP and by the client's commands, with a server that is a script.

mod attacks;
mod calls;
mod faults;
mod folders;
mod serve;
mod servers;

use serde_json::{Value, json};

use crate::changing::{Changing, Result, order};
use crate::client::Answer;

/// The script of the server.
const SERVER: &str = include_str!("server.sh");

/// Puts a server in the configuration whose script is in the conversation's folder.
async fn put(here: &Changing, name: &str, arguments: &[&str], more: Value) -> Answer {
    let script = here.file("server.sh", SERVER).display().to_string();
    let args: Vec<&str> = [&*script]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let mut entry = json!({"command": "bash", "args": args});
    let members = more.as_object().unwrap().clone();
    entry.as_object_mut().unwrap().extend(members);
    order(&here.service, "PUT", &format!("/v1/mcp/{name}"), &entry).await
}

/// Starts a server in the conversation's folder to see its tools.
async fn test(here: &Changing, name: &str) -> Answer {
    let folder = json!({"workspace": here.at("")});
    order(
        &here.service,
        "POST",
        &format!("/v1/mcp/{name}/test"),
        &folder,
    )
    .await
}

/// Accepts a server as it is now.
async fn accept(here: &Changing, name: &str) -> Value {
    let tested = test(here, name).await;
    assert_eq!(tested.status, 200, "{tested:?}");
    let digest = json!({"digest": tested.json()["digest"], "workspace": here.at("")});
    let path = format!("/v1/mcp/{name}/accept");
    let accepted = order(&here.service, "POST", &path, &digest).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    accepted.json()
}

/// A conversation in that mode, with the accepted server `demo`.
async fn with_demo(mode: &str, more: Value) -> Changing {
    let mut here = Changing::in_mode(mode).await;
    let answer = put(&here, "demo", &[], more).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    accept(&here, "demo").await;
    here.begin_another(mode).await;
    here
}

/// The server of that name in the list.
async fn server(here: &Changing, name: &str) -> Value {
    let list = here.service.get("/v1/mcp").await;
    let servers = list["servers"].as_array().unwrap();
    let found = servers.iter().find(|server| server["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {list}"))
        .clone()
}

/// Lets the model call a tool of `demo`, and allows that.
async fn call(here: &Changing, tool: &str, input: Value) -> Result {
    let call = here.begin(&format!("mcp__demo__{tool}"), input).await;
    if let Some(approval) = here.asked().await {
        let answer = here.answer(&approval, "allow").await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    here.result(&call).await
}

/// The names of the tools in the last request.
fn offered(here: &Changing) -> Vec<String> {
    let requests = crate::talk::asked(&here.standin);
    let tools = requests.last().unwrap()["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}
