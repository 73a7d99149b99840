//! `harness conversations show`: one conversation and its last events.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_actors::Clock;
use harness_protocol::{ConversationSnapshot, OWN_LIMIT, PastEvent, Settings, words};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::commands::conversations::list::ago;
use crate::client::commands::queue::waiting;
use crate::client::error::CommandError;
use crate::client::event_line::event_line;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

/// How many of the last events are shown.
const TAIL: usize = 20;

/// The flags of `harness conversations show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The conversation, by its id or title or the beginning of one; the last one of this folder if
    /// left out, or a new one if it has none
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: Option<String>,
    /// Print the snapshot as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints a snapshot.
///
/// # Errors
/// If it cannot be had or printed.
pub(crate) async fn run(
    show: &ShowArgs,
    service: &ServiceConnection,
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    let conversation = folder::conversation(show.id.as_deref(), service).await?;
    let route = routes::snapshot(&conversation, TAIL);
    let lines = |snapshot| lines(&snapshot, clock.unix_seconds());
    common::show(route, show.json, service, output, lines).await
}

/// The snapshot as lines to read.
fn lines(snapshot: &ConversationSnapshot, now: u64) -> Vec<String> {
    let summary = &snapshot.summary;
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("{name:10}{}", visible::line(&value)));
        }
    };
    row("id", summary.id.clone());
    row("title", summary.title.clone().unwrap_or_default());
    row("state", state(snapshot));
    row("error", summary.error.clone().unwrap_or_default());
    if let Some(damage) = &snapshot.damage {
        let (parts, bytes, file) = (damage.parts, damage.bytes, &damage.file);
        row(
            "damage",
            format!("{bytes} bytes in {parts} places cannot be read; a copy is in {file}"),
        );
    }
    let (prompts, turns, records) = (summary.prompts, summary.turns, summary.records);
    row(
        "length",
        format!("{prompts} prompts, {turns} turns, {records} records"),
    );
    let usage = &summary.usage;
    row(
        "tokens",
        format!(
            "{} in, {} out, {} written to the cache, {} read from it",
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens
        ),
    );
    row("made", ago(now, summary.created_at));
    row("active", ago(now, summary.active_at));
    row("settings", settings(&snapshot.settings));
    if let Some((origin, seq)) = &snapshot.forked_from {
        row("forked", format!("from {origin} behind record {seq}"));
    }
    row("attached", snapshot.attached.to_string());
    for file in &snapshot.context_files {
        row("told", format!("{} ({} bytes)", file.path, file.bytes));
    }
    for item in &snapshot.queue {
        row("waiting", waiting(item));
    }
    row("position", snapshot.position.clone());
    if !snapshot.history.events.is_empty() {
        lines.push(String::new());
    }
    let event = |past: &PastEvent| event_line(&past.event);
    lines.extend(snapshot.history.events.iter().map(event));
    lines
}

fn state(snapshot: &ConversationSnapshot) -> String {
    let mut text = words::conversation_state(&snapshot.summary).to_owned();
    if let Some(run) = snapshot.summary.run_id {
        text += &format!(", run {run}");
    }
    let doing = words::state(snapshot.state);
    if doing != text && snapshot.summary.failure.is_none() {
        text += &format!(", {doing}");
    }
    if !snapshot.message.is_empty() {
        text += &format!(": {}", snapshot.message);
    }
    text
}

fn settings(settings: &Settings) -> String {
    let told = |(name, value): (String, String)| match name.as_str() {
        "max_tokens" if value == OWN_LIMIT.to_string() => {
            "replies as long as the model can make them".to_owned()
        }
        "max_tokens" => format!("at most {value} tokens a reply"),
        "max_turns" => format!("at most {value} turns a run"),
        "system_prompt" => format!("system prompt {value:?}"),
        "active_tools" => format!("tools {}", value.replace(", ", " ")),
        name => format!("{} {value}", name.replace('_', " ")),
    };
    let told: Vec<String> = words::named_settings(settings)
        .into_iter()
        .map(told)
        .collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::testing::{Server, answer, clock, recorded, summary};

    fn snapshot() -> Value {
        json!({
            "summary": summary("c-2"),
            "state": "thinking",
            "message": "again in 2 s\x07",
            "settings": {"model": "m", "max_turns": 3, "thinking": "xhigh",
                "active_tools": ["read", "grep"]},
            "queue": [{"item": 4, "queue": "steer", "content": "Stop\nthat", "by": "ana"},
                {"item": 3, "queue": "follow_up", "content": "Then test"}],
            "context_files": [{"path": "/w/AGENTS.md", "bytes": 12}],
            "forked_from": ["default", 12],
            "attached": 2,
            "history": {"events": [{"seq": 1, "id": "e-1-0", "event":
                {"type": "user", "content": "Hi\nyou", "timestamp": 1_763_760_000}}]},
            "position": "e-1-0",
            "damage": {"parts": 1, "bytes": 130, "file": "/s/c-2.damaged"},
            "later": true,
        })
    }

    async fn show(json: bool) -> String {
        let server = Server::start().await;
        server.on("/v1/conversations/c-2", vec![answer(200, &snapshot())]);
        let connection = ServiceConnection::new(server.named(), None);
        let (mut output, record) = recorded();
        let show = ShowArgs {
            id: Some("c-2".to_owned()),
            json,
        };
        run(&show, &connection, clock(), &mut output).await.unwrap();
        record.out()
    }

    /// Spec: [CLI-22] [CLI-10] [CLI-80]
    #[actix::test]
    async fn a_snapshot_is_readable_and_names_the_copy_of_what_is_damaged() {
        assert_eq!(
            show(false).await,
            "id        c-2\n\
             title     Title\n\
             state     idle, thinking: again in 2 s\\u{7}\n\
             damage    130 bytes in 1 places cannot be read; a copy is in /s/c-2.damaged\n\
             length    2 prompts, 3 turns, 40 records\n\
             tokens    812 in, 64 out, 0 written to the cache, 0 read from it\n\
             made      16 min ago\n\
             active    5 min ago\n\
             settings  model m, at most 3 turns a run, thinking xhigh, tools read grep\n\
             forked    from default behind record 12\n\
             attached  2\n\
             told      /w/AGENTS.md (12 bytes)\n\
             waiting   4 steering  (ana) Stop\\nthat\n\
             waiting   3 follow-up Then test\n\
             position  e-1-0\n\
             \n\
             21:20:00Z user               Hi\\nyou\n"
        );
    }

    /// Spec: [CLI-22]
    #[actix::test]
    async fn the_snapshot_as_json_is_what_the_service_sent() {
        let shown: Value = serde_json::from_str(&show(true).await).unwrap();
        assert_eq!(shown, snapshot());
    }

    /// Spec: [CLI-634]
    #[actix::test]
    async fn without_a_name_it_is_the_conversation_that_other_commands_mean() {
        let server = Server::start().await;
        let default = "/v1/conversations/default";
        server.on(default, vec![answer(200, &snapshot())]);
        let connection = ServiceConnection::new(server.named(), None);
        let (mut output, record) = recorded();
        let show = ShowArgs {
            id: None,
            json: false,
        };
        run(&show, &connection, clock(), &mut output).await.unwrap();
        assert!(record.out().starts_with("id        c-2\n"));
        let request = server.requests().pop().unwrap();
        assert!(request.starts_with(&format!("GET {default}?")), "{request}");
    }
}
