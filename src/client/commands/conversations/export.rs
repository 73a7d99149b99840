//! `harness conversations export`: the whole history of a conversation.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use harness_protocol::{ConversationSummary, DeltaKind, Event, WebSource, words};
use serde::Deserialize;
use serde_json::Value;

use crate::client::api::connection::{RequestError, ServiceConnection};
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::client::named;
use crate::client::output::Output;

/// How many events are asked for at once.
const PAGE: usize = 100;

/// A page as the service sent it, with what this version does not know.
#[derive(Deserialize)]
struct ExportPage {
    events: Vec<Value>,
    #[serde(default)]
    after: Option<u64>,
}

/// The flags of `harness conversations export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The conversation, by its id or title or the beginning of one
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: String,
    /// How to write it
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(super) format: ExportFormat,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line, as `harness events --json` prints it
    Jsonl,
    /// A document to read
    Markdown,
}

/// Prints every event from the first on.
///
/// # Errors
/// If they cannot be had or printed.
pub(crate) async fn run(
    export: &ExportArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let id = named::conversation(&export.id, service).await?;
    let snapshot = service.ask(&routes::snapshot(&id, 1)).await?;
    if export.format == ExportFormat::Markdown {
        let ConversationSummary { id, title, .. } = snapshot.summary;
        output.text(&format!("# {}\n\n", title.unwrap_or(id)))?;
    }
    let mut after = 0;
    loop {
        let page = routes::history_after(&id, after, PAGE).answered_as();
        let page: ExportPage = service.ask(&page).await?;
        for past in page.events {
            match export.format {
                ExportFormat::Jsonl => output.json(&with_position(past))?,
                ExportFormat::Markdown => output.text(&section(&event(&past)?))?,
            }
        }
        match page.after {
            None => break,
            Some(next) if next > after => after = next,
            Some(_) => {
                return Err(CommandError::SAME_PAGE);
            }
        }
    }
    for event in &snapshot.unfinished {
        match export.format {
            ExportFormat::Jsonl => output.json(event)?,
            ExportFormat::Markdown => output.text(&cut_short(event))?,
        }
    }
    Ok(())
}

/// An event of the past as the stream has it: with its position in it.
fn with_position(mut past: Value) -> Value {
    let position = past["id"].take();
    let mut event = past["event"].take();
    if let Some(event) = event.as_object_mut() {
        event.insert("position".to_owned(), position);
    }
    event
}

/// The part of the document for a block that a crash left unfinished.
fn cut_short(event: &Event) -> String {
    match event {
        Event::Delta {
            kind: DeltaKind::Text,
            text,
            ..
        } => format!("{}\n\n*(cut short)*\n\n", text.trim_end()),
        _ => String::new(),
    }
}

fn event(past: &Value) -> Result<Event, RequestError> {
    Event::deserialize(&past["event"]).map_err(|error| RequestError::Malformed {
        reason: error.to_string(),
    })
}

/// A source of a text, on a line of its own.
fn link(source: &WebSource) -> String {
    format!(
        "{}\n\n",
        fenced(&format!("{}\n{}", source.title, source.url), "")
    )
}

/// The part of the document for an event; nothing for most.
fn section(event: &Event) -> String {
    match event {
        Event::User { content, .. } => format!("## Prompt\n\n{}\n\n", content.trim_end()),
        Event::Text {
            content,
            partial,
            sources,
            ..
        } => {
            let cut = if *partial { "\n\n*(cut short)*" } else { "" };
            let sources: String = sources.iter().map(link).collect();
            format!("{}{cut}\n\n{sources}", content.trim_end())
        }
        Event::Block {
            web: Some(step), ..
        } => format!("{}\n\n", fenced(&words::web_step(step), "")),
        Event::Block {
            fallback: Some(change),
            ..
        } => format!("{}\n\n", fenced(&words::fallback(change), "")),
        Event::ToolCall { name, input, .. } => {
            let input = Value::Object(input.clone());
            format!(
                "**{name}**\n\n{}\n\n",
                fenced(&format!("{input:#}"), "json")
            )
        }
        Event::ToolResult {
            result, is_error, ..
        } => {
            let heading = if *is_error { "Error" } else { "Result" };
            format!("{heading}:\n\n{}\n\n", fenced(result, ""))
        }
        Event::ReplyLeftOut { .. } => "*The last reply was asked for again.*\n\n".to_owned(),
        Event::Compacted { summary, .. } => {
            let summary = summary.trim_end();
            format!("*From here on the model received this in place of the past:*\n\n{summary}\n\n")
        }
        Event::Checkpoint { summary, .. } => {
            format!(
                "## Summary of what was before\n\n{}\n\n",
                summary.trim_end()
            )
        }
        Event::RunEnded {
            outcome, message, ..
        } if !message.is_empty() => {
            format!("*{}: {message}*\n\n", words::outcome(*outcome))
        }
        _ => String::new(),
    }
}

/// A block of code, in a fence that its text cannot close.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat((longest.unwrap_or_default() + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::testing::{Server, answer, recorded, summary};

    fn past(seq: u64, event: &Value) -> Value {
        json!({"seq": seq, "id": format!("e-{seq}-0"), "event": event})
    }

    async fn export(format: ExportFormat) -> (String, Server) {
        let server = Server::start().await;
        let user = json!({"type": "user", "content": "Hi", "timestamp": 1});
        let later = json!({"type": "later", "x": 1});
        let result = json!({"type": "tool_result", "id": "t", "result": "a\n```\nb", "isError": false, "timestamp": 1});
        let first = json!({"events": [past(1, &user), past(2, &later)], "before": 1, "after": 2});
        let second = json!({"events": [past(3, &result)]});
        server.on(
            "/v1/conversations/c/history",
            vec![answer(200, &first), answer(200, &second)],
        );
        let snapshot = json!({"summary": summary("c"), "state": "idle", "message": "",
            "settings": {}, "queue": [], "attached": 0, "history": {"events": []},
            "position": "e-3-0"});
        server.on("/v1/conversations/c", vec![answer(200, &snapshot)]);
        let connection = ServiceConnection::new(server.named(), None);
        let (mut output, record) = recorded();
        let export = ExportArgs {
            id: "c".to_owned(),
            format,
        };
        run(&export, &connection, &mut output).await.unwrap();
        (record.out(), server)
    }

    /// Spec: [CLI-24]
    #[actix::test]
    async fn json_lines_hold_every_event_of_every_page() {
        let (out, server) = export(ExportFormat::Jsonl).await;
        let lines: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let places: Vec<_> = lines
            .iter()
            .map(|line| line["position"].as_str().unwrap())
            .collect();
        assert_eq!(places, ["e-1-0", "e-2-0", "e-3-0"]);
        assert_eq!(
            lines[1],
            json!({"type": "later", "x": 1, "position": "e-2-0"})
        );
        let paths: Vec<_> = server
            .requests()
            .iter()
            .map(|r| r.lines().next().unwrap().to_owned())
            .collect();
        assert_eq!(
            paths,
            [
                "GET /v1/conversations/c?tail=1 HTTP/1.1",
                "GET /v1/conversations/c/history?after=0&limit=100 HTTP/1.1",
                "GET /v1/conversations/c/history?after=2&limit=100 HTTP/1.1"
            ]
        );
    }

    /// Spec: [CLI-24]
    #[actix::test]
    async fn a_document_holds_what_was_said_and_done() {
        let (out, _) = export(ExportFormat::Markdown).await;
        assert_eq!(
            out,
            "# Title\n\n## Prompt\n\nHi\n\nResult:\n\n````\na\n```\nb\n````\n\n"
        );
    }
}
