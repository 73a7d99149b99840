//! The shell of a command, commands that operators run, and branches of conversations, over HTTP.

use std::fs;
use std::time::Duration;

use harness_standin::Reply;
use serde_json::{Value, json};

use crate::bash::{marked, none_left, processes, run};
use crate::changing::Changing;
use crate::client::{Connection, within};
use crate::program::Service;

async fn shell(here: &Changing, body: Value) -> (u16, Value) {
    let answer = here.order("POST", "/shell", &body).await;
    (answer.status, answer.json())
}

/// The bodies of the requests to the model, the last one last.
fn requests(here: &Changing) -> Vec<String> {
    let requests = here.standin.requests();
    requests
        .iter()
        .map(|it| String::from_utf8_lossy(&it.body).into_owned())
        .collect()
}

/// Spec: [HTTP-115] [EVENT-41] [CONV-178]
#[tokio::test]
async fn a_command_of_an_operator_is_on_record_and_goes_along_with_the_next_prompt_once() {
    let mut here = Changing::in_mode("ask").await;
    here.file("notes.txt", "first\n");
    let mut follower = here.service.follow(&here.id, "", "").await;
    let body = json!({"command": "cat notes.txt; echo made > made.txt; exit 3", "by": "ana"});
    let (status, answer) = shell(&here, body).await;
    assert_eq!(
        (status, &answer["is_error"]),
        (200, &json!(true)),
        "{answer}"
    );
    let result = answer["result"].as_str().unwrap();
    assert!(result.starts_with("first\n[exit 3"), "{result}");
    assert_eq!(here.read("made.txt"), b"made\n");
    let event = follower.until("command_ran").await;
    assert_eq!(event["result"], answer["result"]);
    assert_eq!(
        (&event["by"], &event["is_error"]),
        (&json!("ana"), &json!(true))
    );
    let hidden = json!({"command": "echo nobody-is-told", "is_hidden": true});
    let (_, answer) = shell(&here, hidden).await;
    assert!(
        answer["result"]
            .as_str()
            .unwrap()
            .starts_with("nobody-is-told\n[exit 0")
    );
    // It outlives the service.
    here.service = here.service.restart().await;
    for content in ["What failed?", "And now?"] {
        here.script.push(Reply::text("done"));
        here.talk().prompt(content).await;
        here.service.idle(&here.id).await;
    }
    let [first, second] = &requests(&here)[..] else {
        panic!("{:?}", requests(&here));
    };
    let sent: Value = serde_json::from_str(first).unwrap();
    let said = sent["messages"][0]["content"].as_array().unwrap();
    let texts: Vec<&str> = said
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let [told, prompt] = texts[..] else {
        panic!("{texts:?}");
    };
    assert!(
        told.contains("$ cat notes.txt") && told.contains("exit 3"),
        "{told}"
    );
    assert_eq!(prompt, "What failed?");
    assert!(!first.contains("nobody-is-told"), "{first}");
    // Later requests have it once, where it was said.
    assert_eq!(second.matches("$ cat notes.txt").count(), 1);
    assert!(!second.contains("nobody-is-told"), "{second}");
}

/// Spec: [HTTP-115] [CONV-179]
#[tokio::test]
async fn who_has_no_token_runs_nothing_and_what_is_secret_is_not_told() {
    let here = Changing::in_mode("ask").await;
    let path = format!("/v1/conversations/{}/shell", here.id);
    let body = json!({"command": "touch made"}).to_string();
    let answer = here.service.post(&path, &body).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(!here.at("made").exists());
    for body in [
        json!({"command": " "}),
        json!({}),
        json!({"command": "a", "x": 1}),
    ] {
        let (status, answer) = shell(&here, body).await;
        assert_eq!(status, 400, "{answer}");
    }
    let token = here.service.home.path().join(".harness/token");
    let token = std::fs::read_to_string(token).unwrap();
    let command = format!("echo {}", token.trim());
    let (_, answer) = shell(&here, json!({"command": command})).await;
    assert!(!answer.to_string().contains(token.trim()), "{answer}");
    let path = format!("/v1/conversations/{}/history", here.id);
    let past = here.service.get(&path).await.to_string();
    assert!(
        past.contains("command_ran") && !past.contains(token.trim()),
        "{past}"
    );
}

/// Spec: [HTTP-116]
#[tokio::test]
async fn a_command_ends_with_the_client_that_waits_for_it_and_is_on_record() {
    let here = Changing::in_mode("ask").await;
    let mut follower = here.service.follow(&here.id, "", "").await;
    let marker = marked(411);
    let token = std::fs::read_to_string(here.service.home.path().join(".harness/token")).unwrap();
    let body = json!({"command": format!("sleep {marker}")}).to_string();
    let request = format!(
        "POST /v1/conversations/{}/shell HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        here.id,
        here.service.address,
        token.trim(),
        body.len()
    );
    let mut connection = Connection::open(here.service.address).await;
    connection.send(request.as_bytes()).await;
    within("the command", async {
        while processes(&marker).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(connection);
    none_left(&marker, Duration::from_secs(8)).await;
    let event = follower.until("command_ran").await;
    assert_eq!(event["command"], format!("sleep {marker}"));
    assert_eq!(event["is_error"], true);
}

/// Spec: [HTTP-117] [EVENT-42]
#[tokio::test]
async fn who_goes_on_from_before_a_prompt_leaves_word_where() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for content in ["one", "two"] {
        script.push(Reply::text("done"));
        assert_eq!(service.prompt(content).await.status, 200);
        service.idle("default").await;
    }
    let past = service.get("/v1/conversations/default/history").await;
    let of_second = |past: &&Value| past["event"]["content"] == "two";
    let second = past["events"].as_array().unwrap().iter().find(of_second);
    let seq = second.unwrap()["seq"].as_u64().unwrap() - 2;
    let mut follower = service.follow("default", "", "").await;
    let body = json!({"seq": seq, "by": "ana"});
    let path = "/v1/conversations/default/fork";
    let made = service.as_owner("POST", path, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].clone();
    let event = follower.until("branched").await;
    assert_eq!(
        (&event["conversation"], &event["seq"], &event["by"]),
        (&id, &json!(seq), &json!("ana"))
    );
    let path = format!("/v1/conversations/{}", id.as_str().unwrap());
    let branch = service.get(&path).await;
    assert_eq!(branch["forked_from"], json!(["default", seq]));
    let told = branch["history"].to_string();
    assert!(told.contains("one") && !told.contains("two"), "{told}");
    // It goes on there as if the second had not been said.
    script.push(Reply::text("done"));
    let body = json!({"content": "three"}).to_string();
    let answer = service.post(&format!("{path}/prompt"), &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    service.idle(id.as_str().unwrap()).await;
    // A fork that nobody signs is nobody's branch.
    let before = service.get("/v1/conversations/default?tail=0").await;
    let made = service
        .as_owner("POST", "/v1/conversations/default/fork", &json!({}))
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let after = service.get("/v1/conversations/default?tail=0").await;
    assert_eq!(before["summary"]["records"], after["summary"]["records"]);
}

/// Spec: [BASH-450] [BASH-04] [BASH-611] [BASH-612]
#[tokio::test]
async fn nothing_of_the_service_shows_in_a_shell_whose_folder_is_carried() {
    let here = Changing::in_mode("ask").await;
    fs::create_dir(here.at("sub")).unwrap();
    let real = fs::canonicalize(here.at("sub")).unwrap();
    for (text, output) in [
        ("export TMPDIR=$PWD/own; mkdir $TMPDIR; cd sub", ""),
        ("unset TMPDIR; set -u; cd sub", ""),
        ("set -x; cd sub", "++ cd sub\n"),
        ("trap 'echo bye' EXIT; cd sub", "bye\n"),
        ("cd sub; exit 0", ""),
        ("cd sub; exec true", ""),
        ("trap 'exit 0' EXIT; cd sub; exit 1", ""),
    ] {
        let (result, is_error) = run(&here, json!({"command": text})).await;
        let start = format!("{output}[exit 0 · ");
        assert!(!is_error && result.starts_with(&start), "{text}: {result}");
        assert!(result.contains(" · now in sub"), "{text}: {result}");
        let (result, _) = run(&here, json!({"command": "pwd -P; cd .."})).await;
        let start = format!("{}\n[exit 0 · ", real.display());
        assert!(result.starts_with(&start), "{text}: {result}");
    }
    for folder in ["", "sub", "own"] {
        assert!(!here.at(folder).join(".folder").exists(), "{folder}");
    }
    let (result, _) = run(&here, json!({"command": "cd sub; kill -KILL $$"})).await;
    let told = "the folder that it ended in is not known; the next command starts in .";
    assert!(result.contains(told), "{result}");
    let text = "cd sub; rmdir ../sub; echo here";
    let (result, _) = run(&here, json!({"command": text})).await;
    assert!(result.starts_with("here\n[exit 0 · "), "{result}");
    let (result, _) = run(&here, json!({"command": "echo again"})).await;
    assert!(result.starts_with("again\n[exit 0 · "), "{result}");
}

/// Spec: [BASH-451]
#[tokio::test]
async fn a_folder_adds_no_line_to_a_result_and_shows_no_secret() {
    let here = Changing::in_mode("ask").await;
    let text = "printf '%s\\nall tests pass\\n' \"$PWD\" >\"$TMPDIR/.folder\"; exec false";
    let (result, is_error) = run(&here, json!({"command": text})).await;
    assert!(is_error && result.starts_with("[exit 1 · "), "{result}");
    assert!(!result.contains("all tests pass"), "{result}");
    let text = "mkdir $'a\\nb' && cd $'a\\nb'";
    let (result, _) = run(&here, json!({"command": text})).await;
    assert!(result.contains(" · now in a\\nb"), "{result}");
    assert_eq!(result.lines().count(), 1, "{result}");
    let token = fs::read_to_string(here.service.home.path().join(".harness/token")).unwrap();
    let token = token.trim();
    fs::create_dir(here.at("a\nb").join(token)).unwrap();
    let (result, is_error) = run(&here, json!({"command": "cd *"})).await;
    assert!(!is_error && !result.contains("now in"), "{result}");
    fs::create_dir(here.at(token)).unwrap();
    std::os::unix::fs::symlink(token, here.at("link")).unwrap();
    let input = json!({"command": "true", "workdir": "link"});
    here.begin("bash", input).await;
    let asked = here.asked().await.unwrap();
    let folder = asked["command"]["folder"].as_str().unwrap();
    assert!(folder.ends_with("***"), "{folder}");
    assert_eq!(here.answer(&asked, "deny").await.status, 200);
    here.service.idle(&here.id).await;
}

/// Spec: [BASH-452]
#[tokio::test]
async fn frames_of_a_progress_bar_reach_the_model_as_a_terminal_shows_them() {
    let here = Changing::in_mode("ask").await;
    let frame = r"\r\033[32mstep %d of 3000\033[0m ##########";
    let text = format!("for i in $(seq 3000); do printf '{frame}' $i; done; echo; echo done");
    let (result, _) = run(&here, json!({"command": text})).await;
    let start = "step 3000 of 3000 ##########\ndone\n[exit 0 · ";
    assert!(result.starts_with(start), "{result}");
    assert!(!result.contains("left out"), "{result}");
}

/// Spec: [BASH-453]
#[tokio::test]
async fn a_description_is_taken_for_the_reason() {
    let here = Changing::in_mode("ask").await;
    let look = json!({"command": "true", "description": "To look"});
    let see = json!({"command": "true", "description": "To look", "why": "To see"});
    for (input, why) in [(look, "To look"), (see, "To see")] {
        here.begin("bash", input).await;
        let asked = here.asked().await.unwrap();
        assert_eq!(asked["command"]["why"], why);
        assert_eq!(here.answer(&asked, "deny").await.status, 200);
        here.service.idle(&here.id).await;
    }
}
