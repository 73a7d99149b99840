//! The demo's answers.

use serde_json::json;

use super::*;
use crate::cache::InputUsage;
use crate::reply::Step;

fn request(messages: &Value, tools: &[&str]) -> MessagesRequest {
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({"name": name, "input_schema": {"type": "object"}}))
        .collect();
    let body = json!({"model": "any", "max_tokens": 9, "messages": messages, "tools": tools});
    MessagesRequest {
        headers: Vec::new(),
        body,
        input: InputUsage::default(),
    }
}

/// The blocks of the demo's answer and its stop reason.
fn reply(request: &MessagesRequest) -> (Vec<Value>, Value) {
    let wire = Demo
        .respond(request)
        .render(Some(request), "req_1")
        .framed();
    let bytes: Vec<u8> = wire
        .steps
        .filter_map(|step| {
            if let Step::Send(bytes) = step {
                Some(bytes)
            } else {
                None
            }
        })
        .flatten()
        .collect();
    let text = String::from_utf8(bytes).unwrap();
    let document = text.lines().find(|line| line.starts_with('{')).unwrap();
    let message: Value = serde_json::from_str(document).unwrap();
    (
        message["content"].as_array().unwrap().clone(),
        message["stop_reason"].clone(),
    )
}

#[test]
fn a_prompt_becomes_calls_of_the_offered_tools() {
    let messages = json!([{"role": "user", "content": "think about list src, read a.rs"}]);
    let (blocks, stop) = reply(&request(&messages, &["list_dir"]));
    let kinds: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["type"].as_str())
        .collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(stop, "tool_use");
    assert_eq!(blocks[2]["name"], "list_dir");
    assert_eq!(blocks[2]["input"], json!({"path": "src"}));
    assert!(
        blocks[1]["text"]
            .as_str()
            .unwrap()
            .contains("no tool `read`")
    );
}

#[test]
fn ids_differ_and_are_valid() {
    let ids = [new_id(), new_id()];
    assert_ne!(ids[0], ids[1]);
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    assert!(ids.iter().all(|id| id.chars().all(valid)), "{ids:?}");
}

#[test]
fn anything_else_gets_help() {
    let messages = json!([{"role": "user", "content": "hello there"}]);
    let (blocks, stop) = reply(&request(&messages, &["read"]));
    assert_eq!(stop, "end_turn");
    assert!(
        blocks[0]["text"]
            .as_str()
            .unwrap()
            .contains("ANTHROPIC_API_KEY")
    );
}

#[test]
fn results_are_summed_up_and_end_the_run() {
    let messages = json!([
        {"role": "user", "content": "list src and read x"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "list_dir", "input": {"path": "src"}},
            {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "x"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "total 4\n. x\n.. x\nmain.rs"},
            {"type": "tool_result", "tool_use_id": "b", "content": "file not found", "is_error": true},
        ]},
    ]);
    let (blocks, stop) = reply(&request(&messages, &["list_dir", "read"]));
    assert_eq!(stop, "end_turn");
    let text = blocks[0]["text"].as_str().unwrap();
    assert!(text.contains("file not found"), "{text}");
}

fn text_of(blocks: &[Value]) -> String {
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect()
}

#[test]
fn words_behind_results_are_answered_too() {
    let after_results = |steering: &str| {
        json!([
            {"role": "user", "content": "list src"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "list_dir", "input": {"path": "src"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "main.rs",
                    "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": steering},
            ]},
        ])
    };
    let (blocks, stop) = reply(&request(&after_results("now read a.rs"), &["read"]));
    assert_eq!(stop, "tool_use");
    assert_eq!(blocks[1]["input"], json!({"path": "a.rs"}));
    assert!(text_of(&blocks).starts_with("The tools have answered."));
    let (blocks, stop) = reply(&request(&after_results("dance with me"), &["read"]));
    assert_eq!(stop, "end_turn");
    let text = text_of(&blocks);
    assert!(
        text.contains("`src` has 1 entry") && text.contains("dance with me"),
        "{text}"
    );
    let (blocks, _) = reply(&request(&after_results("tell me a long story"), &[]));
    assert!(text_of(&blocks).contains("Hour 60"));
}

#[test]
fn a_summary_has_its_sections_and_no_help() {
    let prompt = "Sum up. Read a.rs.\n<conversation>\nUser:\nlist src\nAssistant: done\n\
                  </conversation>";
    let (blocks, stop) = reply(&request(&json!([{"role": "user", "content": prompt}]), &[]));
    assert_eq!(stop, "end_turn");
    let text = text_of(&blocks);
    for part in ["## Goal\nlist src", "## Progress", "## Next steps"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_earlier_summary_is_no_prompt() {
    for summary in [
        "<summary>\nread old.rs\n</summary>",
        "Summary of what was said before:\n\nread old.rs\n\n---",
    ] {
        let content = json!([
            {"type": "text", "text": summary},
            {"type": "text", "text": "read new.rs"},
        ]);
        let messages = json!([{"role": "user", "content": content}]);
        let (blocks, _) = reply(&request(&messages, &["read"]));
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[1]["input"], json!({"path": "new.rs"}));
    }
}

#[test]
fn images_and_documents_are_counted() {
    let image = json!({"type": "image", "source": {}});
    let content = json!([image, image, {"type": "document"}, {"type": "text", "text": "look"}]);
    let (blocks, _) = reply(&request(
        &json!([{"role": "user", "content": content}]),
        &[],
    ));
    let text = text_of(&blocks);
    assert!(text.contains("I got 2 images and 1 document"), "{text}");
}

#[test]
fn it_thinks_when_the_request_wants_it() {
    let messages = json!([{"role": "user", "content": "think about list src"}]);
    let rows = [
        (
            json!({"type": "adaptive", "display": "summarized"}),
            Some(false),
        ),
        (json!({"type": "adaptive"}), Some(true)),
        (json!({"type": "disabled"}), None),
        (Value::Null, Some(false)),
    ];
    for (thinking, is_quiet) in rows {
        let mut request = request(&messages, &["list_dir"]);
        request.body["model"] = json!("claude-opus-5");
        request.body["thinking"] = thinking.clone();
        request.body["system"] = json!([{"type": "text", "text": "be brief"}]);
        let (blocks, _) = reply(&request);
        let thought = blocks.iter().find(|block| block["type"] == "thinking");
        let quiet = thought.map(|block| block["thinking"] == "");
        assert_eq!(quiet, is_quiet, "{thinking}");
        if let Some(thought) = thought {
            assert!(thought["signature"].as_str().unwrap().len() > 20);
        }
    }
}

#[test]
fn of_a_skill_only_its_content_and_what_is_said_besides_are_heard() {
    let skill = "<skill name=\"release\" location=\"/w/release/SKILL.md\">\n\
        Paths in this skill start at /w/release.\n\nread CHANGELOG.md\n</skill>\n\nlist src";
    let messages = json!([{"role": "user", "content": skill}]);
    let (content, _) = reply(&request(&messages, &["read", "list_dir"]));
    assert_eq!(
        text_of(&content),
        "This is Harness's built-in demo: rules, no model behind it. I will read `CHANGELOG.md`, \
         then list `src`."
    );
}

#[test]
fn the_feature_of_a_workflow_is_done_and_what_it_cannot_do_is_said() {
    let prompt = |wanted: &str| {
        let text = format!(
            "You work on one feature of a larger task. These rules hold:\n- No more.\n\n# The task\n\n\
             list src\n\n# The feature `a`\n\n{wanted}\n\n# The commands that decide\n\n- a.1: `run x`"
        );
        json!({"role": "user", "content": text})
    };
    let tools = ["write", "edit", "bash", "list_dir"];
    let wanted = "write \"hello\" to a.txt\n- change hello to goodbye in a.txt";
    let (blocks, stop) = reply(&request(&json!([prompt(wanted)]), &tools));
    let names: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["name"].as_str())
        .collect();
    assert_eq!(
        (names, stop),
        (vec!["write", "edit"], json!("tool_use")),
        "{blocks:?}"
    );
    let again = "What you left was not accepted. The files are as they were at the beginning again.\n\n\
                 - check_failed by `a.1`: it ended with 1\n```text\nlist src\n```";
    let messages = json!([
        prompt("write hello to a.txt"),
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": again},
    ]);
    let (blocks, _) = reply(&request(&messages, &tools));
    assert_eq!(
        blocks[1]["input"],
        json!({"path": "a.txt", "content": "hello\n"})
    );
    let (blocks, stop) = reply(&request(&json!([prompt("parse XML")]), &tools));
    let text = text_of(&blocks);
    assert!(
        text.starts_with("BLOCKED: ") && text.contains("\"parse XML\""),
        "{text}"
    );
    assert_eq!(stop, "end_turn");
}
