//! Replies that have to fit a schema: what is sent, what is printed, and what takes its place where a server has none.

use std::path::{Path, PathBuf};

use harness_standin::{Message, Reply, Standin};
use serde_json::{Value, json};

use crate::approvals::{answer, open};
use crate::client::within;
use crate::program::{Service, command, output};
use crate::talk::{Talk, asked, last_texts};

fn schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["name", "age"],
           "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}})
}

fn written(home: &Path, json: &Value) -> PathBuf {
    let path = home.join("person.json");
    std::fs::write(&path, json.to_string()).unwrap();
    path
}

/// Runs `harness prompt --schema` with more flags; its exit code, output and errors.
async fn typed(home: &Path, json: &Value, flags: &[&str]) -> (i32, String, String) {
    let file = written(home, json);
    let mut command = command(home);
    command
        .args(["prompt", "--schema", file.to_str().unwrap()])
        .args(flags);
    let running = tokio::task::spawn_blocking(move || output(&mut command));
    within("the end of the command", running).await.unwrap()
}

fn formats(standin: &Standin) -> Vec<Value> {
    let bodies = asked(standin).into_iter();
    bodies
        .map(|body| body["output_config"]["format"].clone())
        .collect()
}

/// Spec: [MODEL-807] [MODEL-808] [CLI-801]
#[tokio::test]
async fn a_schema_goes_with_all_requests_of_its_run_and_no_other() {
    let (mut service, standin, script) = Service::scripted(&["--thinking", "high"]).await;
    let home = service.home.path().to_owned();
    let sent = json!({"type": "json_schema", "schema": schema()});
    // What is said before the last reply is not printed.
    script.push(
        Message::new()
            .text("I look.")
            .tool_use("a", "list_dir", json!({"path": "."})),
    );
    script.push(Reply::text("{\"name\": \"Ada\", \"age\": 36}"));
    let (code, out, err) = typed(&home, &schema(), &["Who?"]).await;
    assert_eq!(
        (code, &*out),
        (0, "{\"name\": \"Ada\", \"age\": 36}\n"),
        "{err}"
    );
    assert_eq!(formats(&standin), [sent.clone(), sent.clone()]);
    assert_eq!(standin.violations(), [""; 0]);

    let talk = Talk::with(&service);
    script.push(Reply::text("Yes."));
    talk.say("Sure?").await;
    assert_eq!(formats(&standin).pop(), Some(Value::Null));

    // An approval that waits when the service is killed: the run goes on with its schema.
    let write = json!({"path": "a.txt", "content": "a"});
    script.push(Message::new().tool_use("b", "write", write));
    script.push(Reply::text("{\"name\": \"Bob\", \"age\": 1}"));
    let order = json!({"content": "Write it", "schema": schema()});
    talk.order("POST", "/prompt", &order).await;
    let approval = open(&service).await;
    service.kill();
    let service = service.restart().await;
    let allowed = answer(&service, &approval, json!({"answer": "allow"})).await;
    assert_eq!(allowed.status, 200);
    Talk::with(&service).idle().await;
    assert_eq!(formats(&standin).pop(), Some(sent));
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [MODEL-807] [CLI-801]
#[tokio::test]
async fn a_schema_that_the_api_does_not_take_is_refused_with_its_place_and_nothing_is_sent() {
    let (service, standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let mut wrong = schema();
    wrong["properties"]["age"]["minimum"] = json!(1);
    let (code, out, err) = typed(home, &wrong, &["Who?"]).await;
    let file = home.join("person.json");
    let reason = "properties.age.minimum: the API takes no `minimum`; leave it out, or say it in a `description`";
    let told = format!("harness: {}: {reason}\n", file.display());
    assert_eq!((code, out, err), (2, String::new(), told));

    let talk = Talk::with(&service);
    let order = json!({"content": "Who?", "schema": wrong});
    let answer = talk.send("POST", "/prompt", &order).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains(reason), "{answer:?}");
    let order = json!({"content": "Who?", "schema": schema()});
    for queue in ["/steer", "/follow-up"] {
        let answer = talk.send("POST", queue, &order).await;
        assert_eq!(answer.status, 400, "{queue}");
    }
    assert_eq!(asked(&standin), [json!(null); 0]);
}

/// Spec: [MODEL-808] [MODEL-809] [CLI-801]
#[tokio::test]
async fn a_server_without_schemas_is_asked_once_more_in_words() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let refusal = "output_config: Extra inputs are not permitted";
    script.push(Reply::error(400, "invalid_request_error", refusal));
    script.push(Reply::text("Ada is 36."));
    script.push(Reply::text(
        "```json\n{\"name\": \"Ada\", \"age\": 36}\n```",
    ));
    let (code, out, err) = typed(home, &schema(), &["--key", "k", "Who?"]).await;
    assert_eq!(
        (code, &*out),
        (0, "{\"name\": \"Ada\", \"age\": 36}\n"),
        "{err}"
    );
    let again = "harness: the reply does not fit the schema, asking once more: the reply is no JSON document";
    assert!(err.contains(again), "{err}");
    assert!(err.contains("asking again without the schema"), "{err}");
    let refused = formats(&standin);
    assert!(refused[0].is_object());
    assert_eq!(refused[1..], [Value::Null, Value::Null]);
    let bodies = asked(&standin);
    let (_, texts) = last_texts(&bodies[2]);
    assert!(texts[0].ends_with(&schema().to_string()), "{texts:?}");

    // A repetition of the command finds both prompts.
    let repeated = typed(home, &schema(), &["--key", "k", "-q", "Who?"]).await;
    let whole = "{\"name\": \"Ada\", \"age\": 36}\n".to_owned();
    assert_eq!(repeated, (0, whole, String::new()));
    assert_eq!(asked(&standin).len(), 3);

    // Twice is enough.
    let file = home.join("out.json");
    script.push(Reply::text("{\"name\": \"Ada\"}"));
    script.push(Reply::text("{\"name\": \"Ada\", \"age\": \"36\"}"));
    let to_file = ["-q", "-o", file.to_str().unwrap(), "Who?"];
    let (code, out, err) = typed(home, &schema(), &to_file).await;
    let told = "harness: the reply does not fit the schema: age: \"36\" is no integer\n";
    assert_eq!((code, &*out, &*err), (1, "", told));
    assert!(!file.exists());
    script.push(Reply::text("{\"name\": \"Ada\", \"age\": 36}"));
    assert_eq!(typed(home, &schema(), &to_file).await.0, 0);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "{\"name\": \"Ada\", \"age\": 36}\n"
    );
}

/// Spec: [CLI-801]
#[tokio::test]
async fn a_reply_that_is_not_whole_is_a_failure_also_where_it_fits() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let whole = "{\"name\": \"Ada\", \"age\": 36}";
    for reason in ["max_tokens", "refusal"] {
        script.push(Message::new().text(whole).stop_reason(reason));
        let (code, out, err) = typed(service.home.path(), &schema(), &["-q", "Who?"]).await;
        assert_eq!((code, &*out), (1, ""), "{reason}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    assert_eq!(asked(&standin).len(), 2);
}

/// Spec: [CLI-801]
#[tokio::test]
async fn what_was_said_before_a_search_is_not_part_of_the_document() {
    let (service, standin, script) = Service::scripted(&["--web-search", "on"]).await;
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                      "input": {"query": "Ada"}});
    let found =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let document = "{\"name\": \"Ada\", \"age\": 36}";
    script.push(
        Message::new()
            .text("I look.")
            .block(call)
            .block(found)
            .text(document),
    );
    let (code, out, err) = typed(service.home.path(), &schema(), &["Who?"]).await;
    assert_eq!((code, out), (0, format!("{document}\n")), "{err}");
    assert_eq!(standin.violations(), [""; 0]);
}

/// Spec: [CLI-801]
#[tokio::test]
async fn after_a_cancel_or_a_cut_reply_nothing_is_asked_again() {
    let (service, standin, script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let write = || Message::new().tool_use("a", "write", json!({"path": "a", "content": "a"}));
    script.push(write());
    let (code, out, err) = typed(home, &schema(), &["-q", "--asks", "stop", "Who?"]).await;
    assert_eq!((code, &*out), (3, ""), "{err}");
    assert_eq!(asked(&standin).len(), 1);

    script.push(write());
    script.push(Message::new().text("{").stop_reason("max_tokens"));
    let (code, out, err) = typed(home, &schema(), &["-q", "--asks", "deny", "Who?"]).await;
    assert_eq!((code, &*out), (1, ""), "{err}");
    assert_eq!(asked(&standin).len(), 3);

    // The code of a denial outlives the second prompt.
    script.push(write());
    script.push(Reply::text("No."));
    script.push(Reply::text("{\"name\": \"Ada\", \"age\": 36}"));
    let (code, _, err) = typed(home, &schema(), &["-q", "--asks", "deny", "Who?"]).await;
    assert_eq!(code, 3, "{err}");
    assert_eq!(asked(&standin).len(), 6);
    let long = "k".repeat(192);
    let (code, _, err) = typed(home, &schema(), &["--key", &long, "Who?"]).await;
    assert_eq!(
        (code, err.contains("at most 191 bytes")),
        (2, true),
        "{err}"
    );
}
