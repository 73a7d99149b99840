//! What can be asked of the running service on the command line, and the help for it.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::client::attach;
use crate::client::attach::Attach;
use crate::client::commands::guidance::Listing;
use crate::client::commands::guidance::SKILLS_HELP;
use crate::client::commands::guidance::Skill;
use crate::client::commands::guidance::TEMPLATES_HELP;
use crate::client::commands::guidance::Template;
use crate::client::commands::life::Logs;
use crate::client::commands::life::Order;
use crate::client::commands::life::Restart;
use crate::client::commands::life::Status;
use crate::client::commands::life::Stop;
use crate::client::commands::order_arguments::Compact;
use crate::client::commands::order_arguments::Continue;
use crate::client::commands::order_arguments::FollowUp;
use crate::client::commands::order_arguments::Models;
use crate::client::commands::order_arguments::Queued;
use crate::client::commands::order_arguments::Retry;
use crate::client::commands::order_arguments::Settings;
use crate::client::commands::order_arguments::Steer;
use crate::client::commands::order_arguments::Used;
use crate::config::HomeFlag;

/// The conversation that the service always has.
const DEFAULT_CONVERSATION: &str = "default";

const CONVERSATIONS_HELP: &str = "\
Examples:
  harness conversations                        list them, the last active first
  id=$(harness conversations new --title Ideas)
  harness conversations show \"$id\"
  harness conversations fork \"$id\" --at 12     a copy of its first 12 records
  harness conversations export \"$id\" --format markdown > ideas.md

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const EVENTS_HELP: &str = "\
Examples:
  harness events                               follow the conversation `default`
  harness events -c ID --tail 20               its last 20 events first
  harness events --json --after 0 | jq .type   everything, as JSON Lines

A line of --json is the event as the service sent it, with the field `position` added where it
has one; `--after` takes a position. After a break it resumes there, so that nothing is missing.

Exit codes:
    1  failed, no service runs, or the stream broke with --no-reconnect
    2  wrong use: a flag or a setting cannot be used
  130  stopped with Ctrl-C";

const PROMPT_HELP: &str = "\
Examples:
  harness prompt What is in src?
  git diff | harness prompt -c review -
  harness prompt --key nightly-1 Summarize the log   running it again does not ask again
  harness prompt --attach plan.png --attach notes.md What is missing in the plan?
  harness prompt -- -v means what?

The reply goes to standard output as it arrives, what the tools do to standard error. Ctrl-C
cancels the run and waits for its end; a second Ctrl-C ends the command at once.

Exit codes:
    0  the run completed
    1  the run failed or was interrupted, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

const CANCEL_HELP: &str = "\
Examples:
  harness cancel                               stop whatever runs in `default`
  harness cancel -c ID --run 3                 stop run 3, if it still runs
  harness cancel --clear-queue                 and say nothing of what waits

Exit codes:
  0  done, whether a run was going or not
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// What can be asked of the running service.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Attach to a conversation in the terminal, beside whoever else is
    #[command(after_help = attach::HELP)]
    Attach(Attach),
    /// List, make, show, rename, delete, fork and export conversations
    Conversations(Conversations),
    /// Follow the events of a conversation
    Events(Events),
    /// Send a prompt and stream the reply
    Prompt(Prompt),
    /// Cancel the run that is going
    Cancel(Cancel),
    /// Tell the model something in the run that is going
    Steer(Steer),
    /// Go on with this when the run would end
    FollowUp(FollowUp),
    /// Show or withdraw what waits to be said
    Queue(Queued),
    /// Go on without a new prompt and stream the reply
    Continue(Continue),
    /// Ask again for a reply that failed and stream it
    Retry(Retry),
    /// Show or change the settings of a conversation
    Settings(Settings),
    /// Replace the past of a conversation by a summary
    Compact(Compact),
    /// Show the tokens that a conversation used, and what they cost
    Usage(Used),
    /// List the models that can be chosen
    Models(Models),
    /// List the skills that there are
    #[command(after_help = SKILLS_HELP)]
    Skills(Listing),
    /// List the prompt templates that there are
    #[command(after_help = TEMPLATES_HELP)]
    Templates(Listing),
    /// Send a skill and stream the reply
    Skill(Skill),
    /// Send a prompt template with arguments and stream the reply
    Template(Template),
    /// Show what service runs, and where it differs from this shell
    Status(Status),
    /// Stop the running service
    Stop(Stop),
    /// Start this version in the place of the running service
    Restart(Restart),
    /// Show the log of the service
    Logs(Logs),
}

impl ClientCommand {
    /// What is asked about the life of the service, if it is that.
    pub(crate) fn life(&self) -> Option<Order<'_>> {
        match self {
            Self::Status(status) => Some(Order::Status(status)),
            Self::Stop(stop) => Some(Order::Stop(stop)),
            Self::Restart(restart) => Some(Order::Restart(restart)),
            Self::Logs(logs) => Some(Order::Logs(logs)),
            _ => None,
        }
    }

    /// Whether it has the model do something, in the folder and with the settings of the service.
    pub(crate) fn is_said_to_the_model(&self) -> bool {
        matches!(
            self,
            Self::Prompt(_)
                | Self::Continue(_)
                | Self::Retry(_)
                | Self::Skill(_)
                | Self::Template(_)
                | Self::Steer(_)
                | Self::FollowUp(_)
        )
    }

    /// Where the state folder is said to be.
    pub(crate) fn home(&self) -> &HomeFlag {
        match self {
            Self::Attach(attach) => &attach.home,
            Self::Conversations(conversations) => match &conversations.action {
                None => &conversations.list.home,
                Some(Action::List(list)) => &list.home,
                Some(Action::New(new)) => &new.home,
                Some(Action::Show(show)) => &show.home,
                Some(Action::Rename(rename)) => &rename.home,
                Some(Action::Delete(delete)) => &delete.home,
                Some(Action::Fork(fork)) => &fork.home,
                Some(Action::Export(export)) => &export.home,
            },
            Self::Events(events) => &events.home,
            Self::Prompt(prompt) => &prompt.home,
            Self::Cancel(cancel) => &cancel.home,
            Self::Steer(Steer { said }) | Self::FollowUp(FollowUp { said }) => &said.common.home,
            Self::Queue(queue) => &queue.common().home,
            Self::Continue(Continue { resumed }) | Self::Retry(Retry { resumed }) => &resumed.home,
            Self::Settings(settings) => &settings.common().home,
            Self::Compact(compact) => &compact.common.home,
            Self::Usage(usage) => &usage.common.home,
            Self::Models(models) => &models.home,
            Self::Skills(listing) | Self::Templates(listing) => &listing.home,
            Self::Skill(skill) => &skill.sending.home,
            Self::Template(template) => &template.sending.home,
            Self::Status(status) => &status.home,
            Self::Stop(stop) => &stop.home,
            Self::Restart(restart) => &restart.home,
            Self::Logs(logs) => &logs.home,
        }
    }
}

/// The flags of `harness conversations`.
#[derive(Debug, Args)]
#[command(after_help = CONVERSATIONS_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Conversations {
    /// What to do; lists them if left out.
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// How to list them.
    #[command(flatten)]
    pub(crate) list: List,
}

/// What can be done with conversations.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List all conversations, the last active first
    List(List),
    /// Make a conversation and print its id
    New(New),
    /// Show a conversation and its last events
    Show(Show),
    /// Give a conversation another title
    Rename(Rename),
    /// Delete a conversation and print where its journal was moved
    Delete(Delete),
    /// Copy a conversation and print the id of the copy
    Fork(Fork),
    /// Print the whole history of a conversation
    Export(Export),
}

/// The flags of `harness conversations list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Print JSON Lines, one conversation a line
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations new`.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// A title of at most 200 characters on one line
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// Model that answers in this conversation
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Standing instructions for the model in this conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system_prompt: Option<String>,
    /// Longest reply in tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// Most model requests a run
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// How much the model thinks: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking: Option<String>,
    /// Tools that the model is offered, separated by commas; all if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Any setting, as for `harness settings set`; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Print the snapshot as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations rename`.
#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// The new title
    #[arg(value_name = "TITLE")]
    pub(crate) title: String,
    /// Who renames it.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations fork`.
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The conversation to copy
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// The last record that the copy has; all of them if left out
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    /// The title of the copy; that of the original if left out
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness conversations export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The conversation
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub(crate) format: Format,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object {seq, id, event} a line
    Jsonl,
    /// A document to read
    Markdown,
}

/// Which conversation a command is about.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The conversation
    #[arg(short, long, value_name = "ID", default_value = DEFAULT_CONVERSATION,
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) conversation: String,
}

/// Who the other clients are told it was.
#[derive(Debug, Args)]
pub(crate) struct Caller {
    /// Your name, as the other clients are told it
    #[arg(long, value_name = "NAME", env = "HARNESS_NAME")]
    name: Option<String>,
}

impl Caller {
    /// The name that was given.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.clone().filter(|name| !name.trim().is_empty())
    }
}

/// The flags of `harness events`.
#[derive(Debug, Args)]
#[command(after_help = EVENTS_HELP)]
pub(crate) struct Events {
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
    /// Begin right behind this position or record number; 0 is the beginning
    #[arg(long, value_name = "POSITION", conflicts_with = "tail")]
    pub(crate) after: Option<String>,
    /// Begin with the last N events
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u64>,
    /// End at the first break of the stream
    #[arg(long)]
    pub(crate) no_reconnect: bool,
    /// Print JSON Lines, one event a line
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness prompt`.
#[derive(Debug, Args)]
#[command(after_help = PROMPT_HELP)]
pub(crate) struct Prompt {
    /// What to ask; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
    /// Names the prompt: one that was sent before with this key is not run again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
    /// Who asks.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// Print every event of the run as JSON Lines in place of the reply's text
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// The flags of `harness cancel`.
#[derive(Debug, Args)]
#[command(after_help = CANCEL_HELP)]
pub(crate) struct Cancel {
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
    /// Cancel this run only
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<u64>,
    /// Withdraw what waits to be said, too
    #[arg(long)]
    pub(crate) clear_queue: bool,
    /// Who cancels it.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(arguments: &[&str]) -> Result<ClientCommand, ErrorKind> {
        match Cli::try_parse_from(["harness"].iter().chain(arguments)) {
            Ok(Cli {
                command: Some(Command::Client(command)),
                ..
            }) => Ok(command),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.kind()),
        }
    }

    /// Spec: [CLI-11]
    #[test]
    fn help_shows_examples_and_exit_codes() {
        for command in [
            "attach",
            "conversations",
            "events",
            "prompt",
            "cancel",
            "steer",
            "follow-up",
            "queue",
            "continue",
            "retry",
            "settings",
            "compact",
            "usage",
            "models",
        ] {
            let error = Cli::try_parse_from(["harness", command, "--help"]).unwrap_err();
            let help = error.to_string();
            for part in ["Examples:", "Exit codes:", "[env: HARNESS_HOME]"] {
                assert!(help.contains(part), "{part} is missing in:\n{help}");
            }
        }
    }

    /// Spec: [CLI-07] [CLI-33]
    #[test]
    fn wrong_use_is_refused_before_anything_is_sent() {
        for (arguments, kind) in [
            (
                &["events", "--after", "3", "--tail", "2"][..],
                ErrorKind::ArgumentConflict,
            ),
            (&["events", "-c", ""], ErrorKind::InvalidValue),
            (&["cancel", "--run", "x"], ErrorKind::ValueValidation),
            (&["prompt", "-v"], ErrorKind::UnknownArgument),
            (&["queue", "withdraw", "x"], ErrorKind::ValueValidation),
            (&["settings", "set"], ErrorKind::MissingRequiredArgument),
            (&["continue", "more"], ErrorKind::UnknownArgument),
            (
                &["conversations", "show"],
                ErrorKind::MissingRequiredArgument,
            ),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), kind, "{arguments:?}");
        }
    }

    /// Spec: [CLI-20] [CLI-40]
    #[test]
    fn what_is_left_out_is_the_list_and_the_default_conversation() {
        let Ok(ClientCommand::Conversations(conversations)) = parse(&["conversations", "--json"])
        else {
            panic!("no list");
        };
        assert!(conversations.action.is_none() && conversations.list.json);
        let Ok(ClientCommand::Prompt(prompt)) = parse(&["prompt", "What", "is", "--", "-v"]) else {
            panic!("no prompt");
        };
        assert_eq!(prompt.which.conversation, "default");
        assert_eq!(prompt.text, ["What", "is", "-v"]);
    }
}
