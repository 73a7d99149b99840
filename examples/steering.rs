//! A conversation that is steered while it runs, against the built-in stand-in for the API.
//!
//! `cargo run --example steering`

use std::io::Write as _;

use futures_util::StreamExt as _;
use harness_actors::protocol::Event;
use harness_actors::{Config, Harness, Options, standard_tools};
use harness_standin::Standin;
use serde_json::Value;

fn line(line: &str) {
    // Nobody may be reading any more, and that is fine.
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// Prints what happened.
fn print(event: &Event) {
    match event {
        Event::Queued { content, .. } => line(&format!("+ {content}")),
        Event::User { content, .. } => line(&format!("you: {content}")),
        Event::Text { content, .. } => line(content),
        Event::ToolCall { name, input, .. } => {
            line(&format!("> {name} {}", Value::Object(input.clone())));
        }
        Event::ToolResult { result, .. } => line(&format!("< {} bytes", result.len())),
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = Standin::demo()?;
    let config = Config::new("a real key goes here").with_base_url(&api.base_url());
    let harness = Harness::start(Options::new(config).with_tools(standard_tools()))?;
    let mut events = harness.events();
    let mut run = std::pin::pin!(harness.prompt("read Cargo.toml lines 1-3"));
    let mut is_steered = false;
    let reply = loop {
        tokio::select! {
            biased;
            Some(event) = events.next() => {
                print(&event);
                // The model has asked for a tool, and its result is on the way.
                if matches!(event, Event::ToolCall { .. }) && !is_steered {
                    is_steered = true;
                    harness.steer("read README.md lines 1-3").await?;
                    harness.follow_up("list examples").await?;
                }
            }
            reply = &mut run => break reply?,
        }
    };
    let snapshot = harness.snapshot().await?;
    line(&format!(
        "{} prompts, {} tokens; the last word: {}",
        snapshot.totals.prompts, reply.usage.output_tokens, reply.text
    ));
    Ok(())
}
