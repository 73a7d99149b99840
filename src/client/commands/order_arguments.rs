//! The command line of what a conversation can be told besides prompts, and the help for it.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use crate::client::commands::arguments::Caller;
use crate::client::commands::arguments::Which;
use crate::config::HomeFlag;

const STEER_HELP: &str = "\
Examples:
  harness steer Look into tests, too           said behind the tools that run now
  git diff | harness steer -c review -

The model is told it with its next request, behind the results of the tools; without a run it
waits for the next one. Prints the number of the message, for `harness queue withdraw`.

Exit codes:
  0  it waits
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const FOLLOW_UP_HELP: &str = "\
Examples:
  harness follow-up Then write the tests       said when the run would end
  harness follow-up --key tests-1 Write tests  running it again does not queue it again

The run goes on with it in place of its end; without a run it waits for the next one. Prints the
number of the message, for `harness queue withdraw`.

Exit codes:
  0  it waits
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const QUEUE_HELP: &str = "\
Examples:
  harness queue                                what waits, in the order in which it is said
  harness queue withdraw 3                     message 3 is not said
  harness queue clear                          nothing waits any more

Exit codes:
  0  done
  1  failed, the message does not wait any more, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const CONTINUE_HELP: &str = "\
Examples:
  harness continue                             go on after a limit, a cancel or a crash
  harness continue --json -c ID

The run is shown as `harness prompt` shows it. Without anything to answer nothing is started.

Exit codes:
    0  the run completed
    1  there was nothing to continue, the run failed or was interrupted, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

const RETRY_HELP: &str = "\
Examples:
  harness retry                                ask again for a reply that failed or was cancelled

What came of that reply is left out of what the model is told. The run is shown as
`harness prompt` shows it.

Exit codes:
    0  the run completed
    1  there was nothing to continue, the run failed or was interrupted, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  the run was cancelled";

const SETTINGS_HELP: &str = "\
Examples:
  harness settings                             what the next run has
  harness settings set model=claude-opus-5-5 thinking=high
  harness settings set tools=read,grep         offer only these tools
  harness settings unset thinking tools        as the service has it again

Changes hold from the next run on, for this conversation. `harness settings set --help` lists the
settings.

Exit codes:
  0  done
  1  failed, a value cannot be, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const SET_HELP: &str = "\
Examples:
  harness settings set model=claude-opus-5-5 thinking=high
  harness settings set -c ID tools=read,grep

Settings:
  model             the model that answers; `harness models` lists them
  max_tokens        the longest reply, in tokens
  max_turns         the most model requests a run
  system_prompt     standing instructions for the model
  thinking          off, minimal, low, medium, high, xhigh or max
  tools             the tools that are offered, with commas between; all if empty
  tool_execution    sequential_fail_fast, sequential or parallel
  steering_mode     one_at_a_time or all
  follow_up_mode    one_at_a_time or all
  key_source        the key to use, by its name in key_sources of config.toml
  context_window    the most tokens of a request, where the API does not say it
  auto_compact      true or false: whether a long past is summarized by itself
  reserve_tokens    how far below the window that is
  keep_tokens       how much of the end is kept as it is
  compaction_model  the model that writes summaries
  context_files     true or false: whether the model is told AGENTS.md files

Exit codes:
  0  done
  1  failed, a value cannot be, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const UNSET_HELP: &str = "\
Examples:
  harness settings unset thinking tools

Exit codes:
  0  done
  1  failed, there is no such setting, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const COMPACT_HELP: &str = "\
Examples:
  harness compact                              summarize the past, if it is long
  harness compact --force --instructions 'Keep every file name'

The journal then begins with the summary; the old one is kept, and where is printed. This can
take minutes. Ctrl-C ends the command and not the compaction; `harness cancel` ends that.

Exit codes:
    0  done, or there was no need
    1  failed, or no service runs
    2  wrong use: a flag or a setting cannot be used
  130  stopped with Ctrl-C";

const USAGE_HELP: &str = "\
Examples:
  harness usage                                tokens by model, and what they cost
  harness usage --json -c ID | jq .cost_usd

A cost is shown only where the price of the model is known.

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

const MODELS_HELP: &str = "\
Examples:
  harness models                               what `harness settings set model=ID` can choose
  harness models --json | jq -r '.models[].id'

Exit codes:
  0  done
  1  failed, or no service runs
  2  wrong use: a flag or a setting cannot be used";

/// What every one of these commands takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}

/// What `harness steer` and `harness follow-up` take.
#[derive(Debug, Args)]
pub(crate) struct Said {
    /// What to say; `-`, or nothing when standard input is not a terminal, reads it from there
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Send this file along: an image, a PDF or a text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Names the message: one that was sent before with this key is not queued again
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: Option<String>,
    /// Who says it.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness steer`.
#[derive(Debug, Args)]
#[command(after_help = STEER_HELP)]
pub(crate) struct Steer {
    /// What to say.
    #[command(flatten)]
    pub(crate) said: Said,
}

/// The flags of `harness follow-up`.
#[derive(Debug, Args)]
#[command(after_help = FOLLOW_UP_HELP)]
pub(crate) struct FollowUp {
    /// What to say.
    #[command(flatten)]
    pub(crate) said: Said,
}

/// The flags of `harness queue`.
#[derive(Debug, Args)]
#[command(after_help = QUEUE_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Queued {
    /// What to do; shows what waits if left out.
    #[command(subcommand)]
    pub(crate) action: Option<QueueAction>,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What can be done with what waits.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueAction {
    /// Withdraw one message
    Withdraw(Withdraw),
    /// Withdraw all messages
    Clear(Clear),
}

/// The flags of `harness queue withdraw`.
#[derive(Debug, Args)]
pub(crate) struct Withdraw {
    /// The number of the message
    #[arg(value_name = "ITEM")]
    pub(crate) item: u64,
    /// Who withdraws it.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness queue clear`.
#[derive(Debug, Args)]
pub(crate) struct Clear {
    /// Who withdraws them.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Queued {
    /// What all commands take, of the one that was given.
    pub(crate) fn common(&self) -> &Common {
        match &self.action {
            None => &self.common,
            Some(QueueAction::Withdraw(withdraw)) => &withdraw.common,
            Some(QueueAction::Clear(clear)) => &clear.common,
        }
    }
}

/// The flags of `harness continue` and `harness retry`, but for the help.
#[derive(Debug, Args)]
pub(crate) struct Resumed {
    /// The conversation.
    #[command(flatten)]
    pub(crate) which: Which,
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

/// The flags of `harness continue`.
#[derive(Debug, Args)]
#[command(after_help = CONTINUE_HELP)]
pub(crate) struct Continue {
    /// The flags.
    #[command(flatten)]
    pub(crate) resumed: Resumed,
}

/// The flags of `harness retry`.
#[derive(Debug, Args)]
#[command(after_help = RETRY_HELP)]
pub(crate) struct Retry {
    /// The flags.
    #[command(flatten)]
    pub(crate) resumed: Resumed,
}

/// The flags of `harness settings`.
#[derive(Debug, Args)]
#[command(after_help = SETTINGS_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Settings {
    /// What to do; shows them if left out.
    #[command(subcommand)]
    pub(crate) action: Option<SettingsAction>,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingsAction {
    /// Show what the next run has
    Show(ShowSettings),
    /// Change settings of this conversation
    Set(Set),
    /// Take settings as the service has them
    Unset(Unset),
}

/// The flags of `harness settings show`.
#[derive(Debug, Args)]
pub(crate) struct ShowSettings {
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness settings set`.
#[derive(Debug, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct Set {
    /// Settings and their values, such as `thinking=high`; a list has commas
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub(crate) settings: Vec<String>,
    /// Who changes them.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness settings unset`.
#[derive(Debug, Args)]
#[command(after_help = UNSET_HELP)]
pub(crate) struct Unset {
    /// Settings
    #[arg(value_name = "NAME", required = true)]
    pub(crate) settings: Vec<String>,
    /// Who changes them.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Settings {
    /// What all commands take, of the one that was given.
    pub(crate) fn common(&self) -> &Common {
        match &self.action {
            None => &self.common,
            Some(SettingsAction::Show(show)) => &show.common,
            Some(SettingsAction::Set(set)) => &set.common,
            Some(SettingsAction::Unset(unset)) => &unset.common,
        }
    }
}

/// The flags of `harness compact`.
#[derive(Debug, Args)]
#[command(after_help = COMPACT_HELP)]
pub(crate) struct Compact {
    /// Summarize even if the conversation is well within the window
    #[arg(long)]
    pub(crate) force: bool,
    /// What the summary is to look at above all
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) instructions: Option<String>,
    /// Who asks for it.
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness usage`.
#[derive(Debug, Args)]
#[command(after_help = USAGE_HELP)]
pub(crate) struct Used {
    /// What all commands take.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The flags of `harness models`.
#[derive(Debug, Args)]
#[command(after_help = MODELS_HELP)]
pub(crate) struct Models {
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder.
    #[command(flatten)]
    pub(crate) home: HomeFlag,
}
