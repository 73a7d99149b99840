//! A conversation from Rust, with a tool of one's own, against the built-in stand-in for the API.
//!
//! `cargo run --example own_tool`

use std::io::Write as _;
use std::sync::Arc;

use harness_actors::{
    Cancellation, Config, EventHandler, Harness, Object, Tool, ToolFuture, standard_tools,
};
use harness_standin::Standin;
use serde_json::{Value, json};

/// Counts the words of a text.
struct CountWords;

impl Tool for CountWords {
    fn name(&self) -> &'static str {
        "count_words"
    }

    fn description(&self) -> &'static str {
        "Counts the words of a text."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        })
    }

    fn execute(&self, input: Object, _: Cancellation) -> ToolFuture<'_> {
        Box::pin(async move {
            let text = input.get("text").and_then(Value::as_str);
            let words = text.ok_or("text is required")?.split_whitespace().count();
            Ok(words.to_string())
        })
    }
}

/// Prints what happens.
struct Printer;

impl Printer {
    fn line(line: &str) {
        // Nobody may be reading any more, and that is fine.
        drop(writeln!(std::io::stdout(), "{line}"));
    }
}

impl EventHandler for Printer {
    fn text(&self, text: &str) {
        Self::line(text);
    }

    fn tool_call(&self, _: &str, name: &str, input: &Object) {
        Self::line(&format!("> {name} {}", Value::Object(input.clone())));
    }

    fn tool_result(&self, _: &str, result: &str, _: bool) {
        Self::line(&format!("< {result}"));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = Standin::demo()?;
    let config = Config::new("a real key goes here").with_base_url(&api.base_url());
    let mut tools = standard_tools();
    tools.push(Arc::new(CountWords));
    let harness = Harness::new(config, tools, Some(Arc::new(Printer)))?;
    let reply = harness.prompt("read Cargo.toml lines 1-3").await?;
    Printer::line(&format!("{} tokens", reply.usage.output_tokens));
    Ok(())
}
