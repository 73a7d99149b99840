//! Finds in the prompt of a workflow what its feature asks for: all else in it is about the work as a whole,
//! or is output of programs.

use serde_json::Value;

use crate::messages_request::list;

/// The opening of the first prompt of an iteration.
const FIRST: &str = "You work on one feature of a larger task.";
/// The opening of the prompt that answers a rejected attempt.
const AGAIN: &str = "What you left was not accepted.";
/// The heading of the part about the feature.
const FEATURE: &str = "# The feature";
/// The headings of the parts that may follow it.
const BEHIND: [&str; 4] = [
    "# The commands that decide",
    "# What has happened so far",
    "# The last commits",
    "# Why the last attempt at this feature was rejected",
];

/// True if a text is a workflow's prompt.
pub(super) fn is_prompt(text: &str) -> bool {
    text.starts_with(FIRST) || text.starts_with(AGAIN)
}

/// The description and the steps of the feature that a workflow's prompt is about, a line each. The prompt after a
/// rejected attempt does not repeat them: they are in an earlier message.
pub(super) fn wanted(prompt: &str, messages: &[Value]) -> String {
    let earlier = messages.iter().rev().flat_map(texts);
    let mut prompts = std::iter::once(prompt).chain(earlier);
    let first = prompts.find(|text| text.starts_with(FIRST));
    let lines = first.into_iter().flat_map(str::lines);
    let behind_title = lines.skip_while(|line| !line.starts_with(FEATURE)).skip(1);
    let part = behind_title.take_while(|line| !BEHIND.contains(line));
    let plain = part.map(|line| line.strip_prefix("- ").unwrap_or(line));
    plain.collect::<Vec<_>>().join("\n")
}

/// The texts of a message.
fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let content = &message["content"];
    let blocks = list(content).iter();
    let plain = content.as_str().into_iter();
    plain.chain(blocks.filter_map(|block| block["text"].as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROMPT: &str = "You work on one feature of a larger task. These rules hold:\n\
        - Work on this one feature and on nothing else.\n\n# The task\n\nread everything\n\n\
        # The feature `greeting`\n\nwrite \"hello\" to a.txt\n- run `cat a.txt`\n\n\
        # The commands that decide\n\n- greeting.1: `run tests`\n\n# What has happened so far\n\n\
        ```text\n1 -: list src\n```";
    const WANTED: &str = "\nwrite \"hello\" to a.txt\nrun `cat a.txt`\n";

    #[test]
    fn only_the_feature_of_a_workflows_prompt_is_heard() {
        assert!(is_prompt(PROMPT) && !is_prompt("list src"));
        assert_eq!(wanted(PROMPT, &[]), WANTED);
    }

    #[test]
    fn a_rejected_attempt_is_done_anew() {
        let again =
            "What you left was not accepted. The files are as they were.\n\n- no_change: read it";
        let steered = json!({"role": "user", "content": "list src"});
        for content in [json!(PROMPT), json!([{"type": "text", "text": PROMPT}])] {
            let messages = [json!({"role": "user", "content": content}), steered.clone()];
            assert!(is_prompt(again));
            assert_eq!(wanted(again, &messages), WANTED);
        }
        assert_eq!(wanted(again, &[steered]), "");
    }
}
