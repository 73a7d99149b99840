//! A conversation with a tool of its own and a model from a script, followed while it goes on.

use std::sync::Arc;

use futures_util::StreamExt;
use harness_actors::model::{ScriptedReply, ScriptedTransport};
use harness_actors::{Cancellation, Config, ConfigError, Extensions, Harness, Object, Options};
use harness_actors::{Tool, ToolFuture, protocol::Event};
use serde_json::{Value, json};

struct Shout;

impl Tool for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn description(&self) -> &'static str {
        "Returns a text in capitals."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    }

    fn execute(&self, input: Object, _: Cancellation) -> ToolFuture<'_> {
        let text = input.get("text").and_then(Value::as_str);
        let shouted = text.map(str::to_uppercase).ok_or("text is required".into());
        Box::pin(async move { shouted })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without the feature `client` there is no way to the model but one's own, and that is said.
    let options = Options::new(Config::for_model("any")).with_tools(vec![Arc::new(Shout)]);
    let refused = Harness::start(options.clone()).err();
    assert_eq!(refused, Some(ConfigError::NoTransport));

    let (model, input) = (ScriptedTransport::default(), json!({"text": "hey"}));
    let shout = ScriptedReply::tool_use("t1", "shout", input.as_object().unwrap());
    model.push(shout);
    model.push(ScriptedReply::text("HEY it is."));
    let extensions = Extensions::default().with_transport(model);
    let harness = Harness::start(options.with_extensions(extensions))?;
    let (asked, mut events) = (harness.clone(), harness.events());
    let run = tokio::spawn(async move { asked.prompt("Shout hey.").await });
    while let Some(event) = events.next().await {
        match event {
            Event::ToolResult { result, .. } => assert_eq!(result, "HEY"),
            Event::RunEnded { .. } => break,
            other => println!("{}", other.type_name()),
        }
    }
    let (reply, messages) = (run.await??, harness.messages().await?);
    assert!(reply.outcome.is_completed() && messages.len() == 4);
    println!("{}: {}", reply.run.0, reply.text);
    Ok(())
}
