//! The tools that other agents are offered.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// Number of seconds that a tool waits for a run if it is not told. Many clients give up after a minute.
pub(super) const WAIT_S: u64 = 45;
/// Maximum number of seconds that a tool waits for a run.
pub(super) const MAX_WAIT_S: u64 = 600;
/// Number of events that are read if it is not told.
pub(super) const LAST_EVENTS: usize = 20;
/// Maximum number of events that are read.
pub(super) const MAX_EVENTS: usize = 200;

/// The input of `prompt`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptInput {
    pub(super) text: String,
    #[serde(default)]
    pub(super) conversation: Option<String>,
    #[serde(default)]
    pub(super) folder: Option<String>,
    #[serde(default)]
    pub(super) wait_s: Option<u64>,
}

/// The input of tools about a conversation.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConversationInput {
    pub(super) conversation: String,
    #[serde(default)]
    pub(super) wait_s: Option<u64>,
    #[serde(default)]
    pub(super) last: Option<usize>,
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// The input of `list_conversations`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {
    #[serde(default)]
    pub(super) folder: Option<String>,
}

/// The tools.
pub(super) fn conversation_tools() -> Vec<Tool> {
    let reads = || ToolAnnotations::new().read_only(true);
    let changes = || ToolAnnotations::new().read_only(false).destructive(true);
    let conversation = || json!({"type": "string", "description": "The id of the conversation"});
    let wait = || {
        let help = format!(
            "Seconds to wait for the end of the run, at most {MAX_WAIT_S}; {WAIT_S} if left out"
        );
        json!({"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S, "description": help})
    };
    let prompt = json!({
        "text": {"type": "string", "description": "The task or question"},
        "conversation": {
            "type": "string",
            "description": "The id of the conversation to continue; a new one is made if left out",
        },
        "folder": {
            "type": "string",
            "description": "The absolute path of the folder that a new conversation works in; the one that this server was started in if left out",
        },
        "wait_s": wait(),
    });
    let last = json!({
        "type": "integer", "minimum": 1, "maximum": MAX_EVENTS,
        "description": format!("Number of the last events; {LAST_EVENTS} if left out"),
    });
    vec![
        tool(
            "prompt",
            "Gives a task to the coding agent Harness and waits for its reply. It works in a folder with its own tools; \
             changes and commands may wait for the answer of an operator, which you cannot give. Returns the \
             conversation's id, its state and the reply so far.",
            (prompt, &["text"]),
            changes(),
        ),
        tool(
            "wait",
            "Waits for the end of the run in a conversation. Returns its state and the reply so far.",
            (
                json!({"conversation": conversation(), "wait_s": wait()}),
                &["conversation"],
            ),
            reads(),
        ),
        tool(
            "read",
            "Reads the last events of a conversation: prompts, replies, calls of tools and their results.",
            (
                json!({"conversation": conversation(), "last": last}),
                &["conversation"],
            ),
            reads(),
        ),
        tool(
            "steer",
            "Tells the coding agent something while its run is going. It is read before the next request to its model.",
            (
                json!({
                    "conversation": conversation(),
                    "text": {"type": "string", "description": "The message"},
                }),
                &["conversation", "text"],
            ),
            changes(),
        ),
        tool(
            "cancel",
            "Cancels the run in a conversation. What it has done stays.",
            (json!({"conversation": conversation()}), &["conversation"]),
            changes(),
        ),
        tool(
            "list_conversations",
            "Lists the conversations that were active last, with their state.",
            (
                json!({
                    "folder": {
                        "type": "string",
                        "description": "The absolute path of the folder that they work in; any if left out",
                    },
                }),
                &[],
            ),
            reads(),
        ),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    (properties, required): (Value, &[&str]),
    annotations: ToolAnnotations,
) -> Tool {
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(required)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    Tool::new(name, description, schema).with_annotations(annotations.open_world(true))
}
