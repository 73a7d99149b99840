//! The demo model: a few rules that really use the tools, for trying Harness without a key.

mod feature;
mod phrases;
mod results;
mod retold;
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

/// Pause after each word of a long text: slow enough to watch and to cancel.
const SLOW_WORD: Duration = Duration::from_millis(30);
/// Pause after a few words of any other text.
const QUICK_DELTA: Duration = Duration::from_millis(15);

/// The opening of Harness's summary of messages that it no longer sends.
const SUMMARY: &str = "Summary of what was said before";

/// The answer to a feature that none of its rules does.
const BLOCKED: &str = "BLOCKED: this is Harness's built-in demo: rules, no model behind it.";

/// The opening of Harness's line with the folder of a skill.
const SKILL_FOLDER: &str = "Paths in this skill start at ";

const HELP: &str = "This is Harness's built-in demo: a few rules with no model behind it. It \
understands phrases like these, alone or joined by \"and\":\n\n\
- list the folder src\n\
- read README.md lines 1-20\n\
- search for \"fn main\" in src\n\
- write \"hello world\" to notes.txt\n\
- change hello to goodbye in notes.txt\n\
- run `wc -l notes.txt`\n\
- run `ping localhost` in the background, look at job 1, stop job 1\n\
- think about what is in src\n\
- tell me a long story (to watch a text stream, and to cancel it)\n\n\
To talk to a real model, set ANTHROPIC_API_KEY and start the service without --demo.";

/// Answers by rule: it finds phrases like "list src" or "read README.md" in a prompt, calls the tools for them, and
/// sums up their results. It accepts any model's name.
#[derive(Debug, Default)]
pub struct Demo;

impl Responder for Demo {
    fn respond(&self, request: &MessagesRequest) -> Reply {
        if request.wants_summary() {
            return Reply::text(retold::retell(request));
        }
        let content = request.last_content();
        let heard = Heard {
            results: results::summarize(request),
            files: files(&content),
            is_of_workflow: texts(&content).any(feature::is_prompt),
            prompt: Prompt::parse(&fresh_text(&content, request.messages())),
            // Without a word about it, a model thinks only when it is asked to in words.
            thinks: request.body["thinking"]["type"]
                .as_str()
                .map(|kind| kind != "disabled"),
        };
        Reply::message(answer(&heard, &request.tool_names()))
    }

    fn accepts_model(&self, _id: &str) -> bool {
        true
    }
}

/// The content of the last message.
struct Heard {
    /// The results of the tools, if they gave any.
    results: Option<String>,
    /// The files that came along, if any did.
    files: Option<String>,
    /// The user's text, also after the results of the tools.
    prompt: Prompt,
    /// True if a workflow wrote it.
    is_of_workflow: bool,
    /// True if the request wants thinking. `None` if it does not say.
    thinks: Option<bool>,
}

fn answer(heard: &Heard, tools: &[&str]) -> Message {
    let prompt = &heard.prompt;
    let mut message = Message::new().delta_pause(QUICK_DELTA);
    if heard.thinks.unwrap_or(prompt.thinks) {
        message = message.signed_thinking(thoughts(prompt));
    }
    let told = [&heard.results, &heard.files].into_iter().flatten();
    let mut told: Vec<String> = told.cloned().collect();
    if prompt.wishes.is_empty() {
        let has_news = !told.is_empty();
        if prompt.wants_long {
            told.push(story::tell());
            message = message.words_per_delta(1).delta_pause(SLOW_WORD);
        } else if !has_news && heard.is_of_workflow {
            // Words that a workflow takes for an honest "it cannot be done".
            told.push(format!("{BLOCKED}{}", no_rule(prompt)));
        } else if !has_news {
            told.push(HELP.to_owned());
        } else if !prompt.skipped.is_empty() {
            told.push(format!("You also wrote:{}", no_rule(prompt)));
        }
        return message.text(told.join("\n\n"));
    }
    let (offered, missing): (Vec<&ToolWish>, Vec<&ToolWish>) = prompt
        .wishes
        .iter()
        .partition(|wish| tools.contains(&wish.tool()));
    told.push(announcement(prompt, &offered, &missing));
    message = message.text(told.join("\n\n"));
    offered.into_iter().fold(message, |message, wish| {
        message.tool_use(new_id(), wish.tool(), wish.input())
    })
}

/// An id that no other call has, also not in a history from an earlier start.
fn new_id() -> String {
    format!("toolu_demo_{:016x}", RandomState::new().hash_one("call"))
}

/// The user's text in the last message, and of a workflow's prompt the description of its feature. A
/// summary of earlier messages is not from the user.
fn fresh_text(content: &[Value], messages: &[Value]) -> String {
    let is_summary = |text: &&str| {
        let is_about_all = text.starts_with(SUMMARY) || text.contains("</summary>");
        is_about_all && !feature::is_prompt(text)
    };
    let fresh = texts(content).filter(|text| !is_summary(text));
    let heard = fresh.map(|text| match feature::is_prompt(text) {
        true => feature::wanted(text, messages),
        false => text.to_owned(),
    });
    let heard: Vec<String> = heard.collect();
    let lines = heard.iter().flat_map(|text| text.lines());
    let lines = lines.filter(|line| !is_frame(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The texts of a message's blocks.
fn texts(content: &[Value]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|block| block["text"].as_str())
}

/// True if a line only marks the beginning, the folder or the end of a skill.
fn is_frame(line: &str) -> bool {
    line.starts_with("<skill ") || line == "</skill>" || line.starts_with(SKILL_FOLDER)
}

/// A sentence about the images and documents in the last message, if there are any.
fn files(content: &[Value]) -> Option<String> {
    let number = |kind: &str| content.iter().filter(|block| block["type"] == kind).count();
    let counts = [
        (number("image"), "image", "images"),
        (number("document"), "document", "documents"),
    ];
    let counts = counts.into_iter().filter(|(number, ..)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, one, many)| results::count(number, one, many))
        .collect();
    let counts = counts.join(" and ");
    (!counts.is_empty()).then(|| format!("I got {counts}, and no rule looks inside."))
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
fn announcement(prompt: &Prompt, offered: &[&ToolWish], missing: &[&ToolWish]) -> String {
    let mut text = "This is Harness's built-in demo: rules, no model behind it.".to_owned();
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
    text + &no_rule(prompt)
}

/// A sentence for each part of a prompt that is left out.
fn no_rule(prompt: &Prompt) -> String {
    let skipped = prompt.skipped.iter();
    skipped
        .map(|skipped| format!(" I have no rule for \"{skipped}\" and leave it out."))
        .collect()
}

#[cfg(test)]
#[path = "demo_tests.rs"]
mod tests;
