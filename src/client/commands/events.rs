//! `harness events`: follows a conversation.

use clap::Args;
use harness_actors::journal::Position;
use harness_protocol::Event;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::follower::{EventFollower, FollowFrom};
use crate::client::api::patience::{GivesUp, Patience};
use crate::client::commands::common::ConversationArg;
use crate::client::commands::follow::next_event;
use crate::client::error::CommandError;
use crate::client::event_line::event_line;
use crate::client::output::Output;
use crate::config::ClientConfig;

/// How the other clients see this command.
const NAME: &str = "harness-events";

/// Before the first record.
const BEGINNING: &str = "0";

const EVENTS_HELP: &str = "\
Examples:
  harness events                               follow the last conversation of this folder
  harness events -c ID --tail 20               its last 20 events first
  harness events --json --after 0 | jq .type   everything, as JSON Lines
  harness events --tail 20 --no-follow         the last 20 events, and no more

A line of --json is the event as the service sent it, with the field `position` added where it
has one; `--after` takes a position. After a break it resumes there, so that nothing is missing.

Exit codes:
    0  all was printed, with --no-follow
    1  failed, no service runs, or the stream broke with --no-reconnect
    2  wrong use: a flag or a setting cannot be used
  130  stopped with Ctrl-C";

/// The flags of `harness events`.
#[derive(Debug, Args)]
#[command(after_help = EVENTS_HELP)]
pub(crate) struct EventsArgs {
    /// The conversation.
    #[command(flatten)]
    pub(super) which: ConversationArg,
    /// Begin right behind this position or record number; 0 is the beginning
    #[arg(long, value_name = "POSITION", value_parser = place, conflicts_with = "tail")]
    pub(super) after: Option<String>,
    /// Begin with the last N events
    #[arg(long, value_name = "N")]
    pub(super) tail: Option<u64>,
    /// Print what has happened, from --after or --tail on or all of it, and end
    #[arg(long)]
    pub(super) no_follow: bool,
    /// End at the first break of the stream
    #[arg(long)]
    pub(super) no_reconnect: bool,
    /// Print JSON Lines, one event a line
    #[arg(long)]
    pub(super) json: bool,
}

/// The number of a record, or a position.
fn place(text: &str) -> Result<String, &'static str> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || text.parse::<Position>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("it is neither the number of a record nor a position of the form <epoch>-<seq>-<sum>")
}

/// Prints events until the service is gone for good.
///
/// # Errors
/// Why there are no more.
pub(super) async fn run(
    events: &EventsArgs,
    service: &ServiceConnection,
    config: &ClientConfig,
    mut patience: Patience,
    output: &mut Output,
) -> Result<(), CommandError> {
    let start = match (&events.after, events.tail) {
        (Some(place), _) => FollowFrom::After(place.clone()),
        (None, Some(count)) => FollowFrom::Tail(count),
        (None, None) if events.no_follow => FollowFrom::After(BEGINNING.to_owned()),
        (None, None) => FollowFrom::Now,
    };
    if events.no_reconnect {
        patience.gives_up = GivesUp::AtOnce;
    }
    let conversation = &events.which.find(service).await?;
    let follower = EventFollower::new(config, patience, conversation, NAME, start);
    let mut follower = follower.open().await?;
    loop {
        let arrival = next_event(&mut follower, output).await?;
        // What has happened comes before it.
        if events.no_follow && matches!(arrival.event, Event::Attached { .. }) {
            return Ok(());
        }
        if events.json {
            output.json(&arrival.with_position())?;
        } else {
            output.event_line(&event_line(&arrival.event))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Part, Server, frames, impatient, opening, recorded};

    const PLACE: &str = "0f6a31c29be44d07-4-9b1f00c3";

    /// Spec: [CLI-344]
    #[actix::test]
    async fn without_following_it_ends_where_the_past_does() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let user = json!({"type": "user", "content": "Hi", "timestamp": 1_763_760_002});
        let attached = json!({"type": "attached", "conversation": "c", "position": "e-1-0",
            "state": "idle", "message": "", "clients": 1});
        let parts: Vec<Part> = vec![
            opening(0).into(),
            frames(&[(1, user), (0, attached)]).into(),
            Part::Hang,
        ];
        server.say("/v1/conversations/c/events", vec![parts]);
        let line = ["harness", "events", "-c", "c", "--no-follow"];
        let Some(ProgramCommand::Client(ClientCommand::Events(events))) =
            Cli::try_parse_from(line).unwrap().command
        else {
            panic!("no events");
        };
        let (mut output, record) = recorded();
        let service = home.service().await;
        run(&events, &service, &home.config, impatient(), &mut output)
            .await
            .unwrap();
        assert_eq!(record.out(), "21:20:02Z user               Hi\n");
        let target = server.requests()[0].split(' ').nth(1).unwrap().to_owned();
        assert!(target.ends_with("&after=0"), "{target}");
    }

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
        let Some(ProgramCommand::Client(ClientCommand::Events(events))) = cli.command else {
            panic!("{flags:?}");
        };
        let (mut output, record) = recorded();
        let error = run(
            &events,
            &home.service().await,
            &home.config,
            impatient(),
            &mut output,
        )
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
            "21:20:02Z tool call          read\n          discarded\n"
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
        let (out, target, _) = follow(&["--json", "--after", PLACE]).await;
        let lines: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["id"], "toolu_1");
        assert_eq!(lines[0]["position"], "e-5-0");
        assert_eq!(lines[1], json!({"type": "discarded", "later": 1}));
        assert!(target.ends_with(&format!("&after={PLACE}")), "{target}");
    }
}
