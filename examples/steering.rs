//! A conversation that is steered while it runs, against the built-in stand-in for the API.
//!
//! `cargo run --example steering`

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use harness_actors::{Config, EventHandler, Harness, Object, Options, standard_tools};
use harness_protocol::Event;
use harness_standin::Standin;
use serde_json::Value;
use tokio::sync::oneshot;

/// Prints what happens, and tells when the first tool is called.
struct Printer(Mutex<Option<oneshot::Sender<()>>>);

impl Printer {
    fn line(line: &str) {
        // Nobody may be reading any more, and that is fine.
        drop(writeln!(std::io::stdout(), "{line}"));
    }
}

impl EventHandler for Printer {
    fn event(&self, event: &Event) {
        if let Event::Queued { content, .. } = event {
            Self::line(&format!("+ {content}"));
        }
    }

    fn user(&self, content: &str) {
        Self::line(&format!("you: {content}"));
    }

    fn text(&self, text: &str) {
        Self::line(text);
    }

    fn tool_call(&self, _: &str, name: &str, input: &Object) {
        Self::line(&format!("> {name} {}", Value::Object(input.clone())));
        let first = self.0.lock().ok().and_then(|mut first| first.take());
        if let Some(first) = first {
            // Whoever waited for it may be gone.
            first.send(()).unwrap_or_default();
        }
    }

    fn tool_result(&self, _: &str, result: &str, _: bool) {
        Self::line(&format!("< {} bytes", result.len()));
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = Standin::demo()?;
    let mut config = Config::new("a real key goes here");
    config.api.base_url = api.base_url();
    let harness = Harness::start(Options {
        tools: standard_tools(),
        ..Options::new(config)
    })?;
    let (called, is_called) = oneshot::channel();
    let _printing = harness.subscribe(Arc::new(Printer(Mutex::new(Some(called)))));

    let run = harness.clone();
    let run = actix::spawn(async move { run.prompt("read Cargo.toml lines 1-3").await });
    // The model has asked for a tool, and its result is on the way.
    is_called.await?;
    harness.steer("read README.md lines 1-3").await?;
    harness.follow_up("list examples").await?;
    run.await??;

    let snapshot = harness.snapshot().await?;
    Printer::line(&format!(
        "{} prompts, {} tokens",
        snapshot.totals.prompts, snapshot.usage.output_tokens
    ));
    Ok(())
}
