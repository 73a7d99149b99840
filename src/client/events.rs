//! `harness events`: follows a conversation.

use super::arguments::Events;
use super::command::CommandError;
use super::event_line::event_line;
use super::follower::{Follower, Patience, Start};
use super::output::Output;
use super::stream::Arrival;
use crate::config::ClientConfig;

/// How the other clients see this command.
const NAME: &str = "harness-events";

/// Prints events until the service is gone for good.
///
/// # Errors
/// Why there are no more.
pub(super) async fn run(
    events: &Events,
    config: &ClientConfig,
    patience: Patience,
    output: &mut Output,
) -> Result<(), CommandError> {
    let start = match (&events.after, events.tail) {
        (Some(place), _) => Start::After(place.clone()),
        (None, Some(count)) => Start::Tail(count),
        (None, None) => Start::Now,
    };
    let conversation = &events.which.conversation;
    let mut follower = Follower::attach(config, patience, conversation, NAME, start).await?;
    loop {
        let arrival = if events.no_reconnect {
            follower.next_unmended().await?
        } else {
            follower.next(output).await?
        };
        if events.json {
            output.json(&with_position(arrival))?;
        } else {
            output.line(&event_line(&arrival.event))?;
        }
    }
}

/// The event as the service sent it, with its position.
pub(super) fn with_position(arrival: Arrival) -> serde_json::Map<String, serde_json::Value> {
    let mut line = arrival.raw;
    if let Some(position) = arrival.position {
        // Not `id`, which is the field of a call or a result that names the call.
        line.insert("position".to_owned(), position.as_ref().into());
    }
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Part, Server, frames, impatient, opening, recorded};

    async fn follow(flags: &[&str]) -> (String, String, String) {
        let server = Server::start().await;
        let home = Home::of(&server);
        let call = json!({"type": "tool_call", "id": "toolu_1", "name": "read", "input": {},
            "timestamp": 1_763_760_002});
        let events = [(5, call), (0, json!({"type": "discarded", "later": 1}))];
        let parts: Vec<Part> = vec![opening(4).into(), frames(&events).into()];
        server.say("/v1/conversations/c/events", vec![parts]);
        let line = ["harness", "events", "-c", "c", "--no-reconnect"];
        let cli = Cli::try_parse_from(line.iter().chain(flags)).unwrap();
        let Some(Command::Client(ClientCommand::Events(events))) = cli.command else {
            panic!("{flags:?}");
        };
        let (mut output, record) = recorded();
        let error = run(&events, &home.config, impatient(), &mut output)
            .await
            .unwrap_err();
        assert_eq!((error.exit_code(), record.err()), (1, String::new()));
        let target = server.requests()[0].split(' ').nth(1).unwrap().to_owned();
        (record.out(), target, error.to_string())
    }

    /// Spec: [CLI-32] [CLI-33]
    #[actix::test]
    async fn events_are_lines_until_the_first_break_if_so_asked() {
        let (out, target, error) = follow(&["--tail", "3"]).await;
        assert_eq!(
            out,
            "21:20:02Z tool call          read {}\n          discarded\n"
        );
        assert!(
            target.ends_with("/events?name=harness-events&tail=3"),
            "{target}"
        );
        assert_eq!(error, "the service ended the event stream");
    }

    /// Spec: [CLI-33] [CLI-34]
    #[actix::test]
    async fn json_lines_are_what_the_service_sent_with_positions() {
        let (out, target, _) = follow(&["--json", "--after", "e-4-0"]).await;
        let lines: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["id"], "toolu_1");
        assert_eq!(lines[0]["position"], "e-5-0");
        assert_eq!(lines[1], json!({"type": "discarded", "later": 1}));
        assert!(target.ends_with("&after=e-4-0"), "{target}");
    }
}
