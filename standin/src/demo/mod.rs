//! The demo model: a few rules that really use the tools, for trying Harness without a key.

mod phrases;
mod results;
mod story;
mod tool_wish;
mod words;

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use serde_json::Value;

use crate::message::Message;
use crate::messages_request::MessagesRequest;
use crate::reply::Reply;
use crate::responder::Responder;
use phrases::Prompt;
use tool_wish::ToolWish;

/// How long a word of a long text takes: slow enough to watch and to cancel.
const SLOW_WORD: Duration = Duration::from_millis(30);
/// How long a few words of any other text take.
const QUICK_DELTA: Duration = Duration::from_millis(15);

const HELP: &str = "This is Harness's built-in demo: a few rules with no model behind it. It \
understands phrases like these, alone or joined by \"and\":\n\n\
- list the folder src\n\
- read README.md lines 1-20\n\
- search for \"fn main\" in src\n\
- think about what is in src\n\
- tell me a long story (to watch a text stream, and to cancel it)\n\n\
To talk to a real model, set ANTHROPIC_API_KEY and start the service without --demo.";

/// Answers by rule: it finds phrases such as "list src" or "read README.md" in a prompt, calls
/// the tools for them, and sums up what they gave. It accepts any model's name.
#[derive(Debug, Default)]
pub struct Demo;

impl Responder for Demo {
    fn respond(&self, request: &MessagesRequest) -> Reply {
        let content = request.last_content();
        let summary = results::summarize(request);
        let prompt = Prompt::parse(&fresh_text(&content));
        Reply::message(answer(&prompt, summary, &request.tool_names()))
    }

    fn accepts_model(&self, _id: &str) -> bool {
        true
    }
}

fn answer(prompt: &Prompt, summary: Option<String>, tools: &[&str]) -> Message {
    let mut message = Message::new().delta_pause(QUICK_DELTA);
    if prompt.thinks {
        message = message.thinking(thoughts(prompt), "harness-demo-signature");
    }
    if prompt.wishes.is_empty() {
        return match summary {
            Some(summary) => message.text(summary),
            None if prompt.wants_long => message
                .text(story::tell())
                .words_per_delta(1)
                .delta_pause(SLOW_WORD),
            None => message.text(HELP),
        };
    }
    let (offered, missing): (Vec<&ToolWish>, Vec<&ToolWish>) = prompt
        .wishes
        .iter()
        .partition(|wish| tools.contains(&wish.tool()));
    message = message.text(announcement(prompt, summary, &offered, &missing));
    offered.into_iter().fold(message, |message, wish| {
        message.tool_use(new_id(), wish.tool(), wish.input())
    })
}

/// An id that no other call has, also not in a history from an earlier start.
fn new_id() -> String {
    format!("toolu_demo_{:016x}", RandomState::new().hash_one("call"))
}

/// What the user wrote in the last message.
fn fresh_text(content: &[Value]) -> String {
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn thoughts(prompt: &Prompt) -> String {
    let count = prompt.wishes.len();
    format!(
        "I am the built-in demo, so this is a rule and no reasoning. I looked for phrases that I \
         know and found {count}. {}",
        if count == 0 {
            "I answer in words."
        } else {
            "I call a tool for each, as far as it is offered."
        }
    )
}

/// The text before the tool calls.
fn announcement(
    prompt: &Prompt,
    summary: Option<String>,
    offered: &[&ToolWish],
    missing: &[&ToolWish],
) -> String {
    let mut text = summary.map(|summary| summary + "\n\n").unwrap_or_default();
    text.push_str("This is Harness's built-in demo: rules, no model behind it.");
    let plans: Vec<String> = offered.iter().map(ToString::to_string).collect();
    if !plans.is_empty() {
        text.extend([" I will ", &plans.join(", then "), "."]);
    }
    for wish in missing {
        text.extend([
            " I can not ",
            &wish.to_string(),
            ": there is no tool `",
            wish.tool(),
            "`.",
        ]);
    }
    for skipped in &prompt.skipped {
        text.extend([" I have no rule for \"", skipped, "\" and leave it out."]);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
        }
    }

    /// The blocks of the demo's answer and its stop reason.
    fn reply(request: &MessagesRequest) -> (Vec<Value>, Value) {
        let wire = Demo.respond(request).render(Some(request), "req_1");
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
}
