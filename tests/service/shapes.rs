//! The output of commands with `--json`, held to the schemas in `specs/schemas`.

use std::collections::BTreeSet;
use std::path::Path;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::client::within;
use crate::program::{Service, command, output};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/schemas");

fn schema(name: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(FOLDER).join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// True if a value is of a type of JSON Schema.
fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("the schemas have no type {other}"),
    }
}

/// The faults of a value by the keywords that the schemas use: types, enums, fields, items and references.
fn faults(value: &Value, schema: &Value, place: &str) -> Vec<String> {
    let Some(fields) = schema.as_object() else {
        panic!("{place}: no schema");
    };
    let mut found = Vec::new();
    for (keyword, rule) in fields {
        match keyword.as_str() {
            "$schema" | "title" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_suffix(".json").unwrap();
                found.extend(faults(value, &self::schema(name), place));
            }
            "type" => {
                let kinds: Vec<&str> = match rule {
                    Value::String(kind) => vec![kind],
                    kinds => kinds
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|it| it.as_str().unwrap())
                        .collect(),
                };
                if !kinds.iter().any(|kind| is_of(value, kind)) {
                    found.push(format!("{place} is not {kinds:?}: {value}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{place} is none of {rule}: {value}"));
                }
            }
            "required" => {
                let names = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap());
                let missing = names.filter(|name| value.get(name).is_none());
                found.extend(missing.map(|name| format!("{place}.{name} is missing: {value}")));
            }
            "properties" => {
                for (name, of_it) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        found.extend(faults(value, of_it, &format!("{place}.{name}")));
                    }
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(faults(item, rule, &format!("{place}[{number}]")));
                }
            }
            other => panic!("the schemas have no keyword {other}"),
        }
    }
    found
}

/// Holds values to the schemas, and notes which were held.
#[derive(Default)]
struct Held(BTreeSet<String>);

impl Held {
    fn hold(&mut self, value: &Value, name: &str) {
        let faults = faults(value, &schema(name), name);
        assert!(faults.is_empty(), "{faults:#?}");
        self.0.insert(name.to_owned());
    }
}

/// Runs a command; its output.
async fn ran(home: &Path, line: &[&str]) -> String {
    let mut command = command(home);
    command.args(line);
    let running = tokio::task::spawn_blocking(move || output(&mut command));
    let (code, out, err) = within("the end of the command", running).await.unwrap();
    assert_eq!(code, 0, "{line:?}: {err}");
    out
}

/// One JSON value on one line.
async fn one(home: &Path, line: &[&str]) -> Value {
    let out = ran(home, line).await;
    assert_eq!(out.lines().count(), 1, "{line:?}: {out}");
    serde_json::from_str(&out).unwrap()
}

/// The items of a list, each held to its shape.
async fn items(held: &mut Held, home: &Path, line: &[&str], name: &str) -> Vec<Value> {
    let list = one(home, line).await;
    held.hold(&list, "list");
    let items = list["items"].as_array().unwrap().clone();
    for item in &items {
        held.hold(item, name);
    }
    items
}

/// Events of a conversation, one a line.
async fn events(held: &mut Held, home: &Path, line: &[&str]) -> Vec<Value> {
    let out = ran(home, line).await;
    let events = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = events.collect();
    assert!(!events.is_empty(), "{line:?}");
    for event in &events {
        held.hold(event, "event");
    }
    events
}

/// Spec: [CLI-346] [CLI-347] [CLI-348]
#[tokio::test]
async fn what_commands_print_as_json_is_of_the_documented_shapes() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let home = service.home.path().to_owned();
    let home = home.as_path();
    let mut held = Held::default();
    empty_lists(&mut held, home).await;
    script.extend(["One.", "Two."].map(Reply::text));
    let id = conversations(&mut held, home).await;
    events_of(&mut held, home, &id).await;
    orders(&mut held, home, &id).await;
    of_the_service(&mut held, home).await;

    let version = one(home, &["version", "--json"]).await;
    held.hold(&version, "version");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));

    let stopped = one(home, &["stop", "--json"]).await;
    held.hold(&stopped, "stopped");
    assert_eq!(stopped["stopped"], true);
    let again = one(home, &["stop", "--json"]).await;
    held.hold(&again, "stopped");
    assert_eq!(again["stopped"], false);
    service.ended().await;

    // Those that need more than a scripted reply: an approval, a job, a start in the background.
    held.0
        .extend(["approval", "job", "restarted"].map(str::to_owned));
    let files = std::fs::read_dir(FOLDER).unwrap();
    let names = files.map(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".json").unwrap().to_owned()
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), held.0);
}

async fn empty_lists(held: &mut Held, home: &Path) {
    for line in [
        &["skills", "--json"][..],
        &["templates", "--json"],
        &["queue", "--json"],
        &["approvals", "--json"],
        &["approvals", "--all", "--json"],
        &["jobs", "--json"],
        &["rules", "--json"],
        &["mcp", "--json"],
        &["workflow", "list", "--all", "--json"],
    ] {
        let list = one(home, line).await;
        held.hold(&list, "list");
        assert_eq!(list["items"], json!([]), "{line:?}");
    }
}

/// Makes, copies, renames, deletes and lists conversations; the id of one with a title.
async fn conversations(held: &mut Held, home: &Path) -> String {
    let new = ["conversations", "new", "--title", "Ideas", "--json"];
    let new = one(home, &new).await;
    held.hold(&new, "conversation");
    let id = new["id"].as_str().unwrap();
    let show = ["conversations", "show", id, "--json"];
    held.hold(&one(home, &show).await, "snapshot");
    let forked = one(home, &["conversations", "fork", id, "--json"]).await;
    held.hold(&forked, "conversation");
    let fork = forked["id"].as_str().unwrap();
    let rename = ["conversations", "rename", fork, "Other", "--json"];
    let renamed = one(home, &rename).await;
    held.hold(&renamed, "conversation");
    assert_eq!(renamed["title"], "Other");
    let delete = ["conversations", "delete", fork, "--json"];
    held.hold(&one(home, &delete).await, "deleted");
    let trashed = items(held, home, &["trash", "--json"], "trashed").await;
    assert_eq!(trashed[0]["title"], "Other");
    let restore = ["trash", "restore", "Other", "--json"];
    let restored = one(home, &restore).await;
    held.hold(&restored, "restored");
    assert_eq!(restored["id"], fork);
    held.hold(&one(home, &delete).await, "deleted");
    let empty = ["trash", "empty", "--yes", "--json"];
    held.hold(&one(home, &empty).await, "emptied");
    let listed = items(held, home, &["conversations", "--json"], "conversation").await;
    assert!(listed.iter().any(|it| it["id"] == id));
    id.to_owned()
}

/// One envelope: the same event is the same line wherever it is printed.
async fn events_of(held: &mut Held, home: &Path, id: &str) {
    let prompt = ["prompt", "-c", "Ideas", "--json", "Hi"];
    let prompted = events(held, home, &prompt).await;
    let past = ["events", "-c", id, "--no-follow", "--json"];
    let past = events(held, home, &past).await;
    let export = ["conversations", "export", &id[..20]];
    assert_eq!(past, events(held, home, &export).await);
    let user = |events: &[Value]| {
        let user = events.iter().find(|event| event["type"] == "user");
        user.unwrap().clone()
    };
    assert_eq!(user(&prompted), user(&past));
    let made = events(held, home, &["prompt", "--new", "--json", "Hi"]).await;
    assert_eq!(made[0]["type"], "attached");
    assert_ne!(made[0]["conversation"], json!(id));
}

async fn orders(held: &mut Held, home: &Path, id: &str) {
    for said in ["steer", "follow-up"] {
        let line = [said, "-c", id, "--json", "Then this"];
        held.hold(&one(home, &line).await, "item");
    }
    let queue = ["queue", "-c", id, "--json"];
    assert_eq!(items(held, home, &queue, "queued").await.len(), 2);
    for (line, name) in [
        (&["queue", "clear", "-c", id, "--json"][..], "withdrawn"),
        (&["cancel", "-c", id, "--json"], "cancelled"),
        (&["settings", "-c", id, "--json"], "settings"),
        (
            &["settings", "set", "-c", id, "max-turns=3", "--json"],
            "settings",
        ),
        (&["tools", "-c", id, "--json"], "settings"),
        (&["compact", "-c", id, "--json"], "compacted"),
        (&["usage", "-c", id, "--json"], "usage"),
    ] {
        held.hold(&one(home, line).await, name);
    }
    let allow = ["rules", "-c", id, "--allow", "edit(docs/**)", "--json"];
    assert_eq!(items(held, home, &allow, "rule").await.len(), 1);
}

async fn of_the_service(held: &mut Held, home: &Path) {
    let models = one(home, &["models", "--json"]).await;
    held.hold(&models, "list");
    for model in models["items"].as_array().unwrap() {
        held.hold(model, "model");
    }
    assert!(models["default"].is_string());
    items(held, home, &["config", "--json"], "setting").await;
    held.hold(&one(home, &["status", "--json"]).await, "status");
    let logged = ran(home, &["logs", "-n", "3", "--json"]).await;
    for line in logged.lines() {
        held.hold(&serde_json::from_str(line).unwrap(), "log-line");
    }
    items(held, home, &["doctor", "--json"], "journal").await;
    let skill = home.join(".agents/skills/x");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: x\ndescription: For x.\n---\nDo it.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    let skills = items(held, home, &["skills", "--json"], "guidance").await;
    assert_eq!(skills[0]["name"], "x");
    let entry = json!({"command": "true", "env": {"A": "b"}, "access": "read"});
    let servers = json!({"mcpServers": {"x": entry}});
    std::fs::write(home.join(".harness/mcp.json"), servers.to_string()).unwrap();
    let servers = items(held, home, &["mcp", "--json"], "mcp-server").await;
    assert_eq!(servers[0]["state"], "new");
    items(held, home, &["mcp", "remove", "x", "--json"], "mcp-server").await;
}

/// Spec: [CLI-346]
#[test]
fn a_value_of_another_shape_is_seen() {
    let item = json!({"item": "1", "queue": "later"});
    assert_eq!(
        faults(&item, &schema("queued"), "it"),
        [
            "it.content is missing: {\"item\":\"1\",\"queue\":\"later\"}",
            "it.item is not [\"integer\"]: \"1\"",
            "it.queue is none of [\"steer\",\"follow_up\"]: \"later\"",
        ]
    );
    let list = json!({"items": [1]});
    assert_eq!(
        faults(&list, &schema("list"), "it"),
        ["it.items[0] is not [\"object\"]: 1"]
    );
}
