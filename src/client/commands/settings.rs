//! `harness settings`: what the next run of a conversation has.

use clap::{Args, Subcommand};
use harness_protocol::NO_TOOLS;
use harness_protocol::words::named_settings;
use harness_protocol::{ChangeSettings, FullSettings, SETTINGS, SettingRow, SettingsAnswer};
use serde_json::{Map, Value};

use crate::cli::before_subcommand::WithoutSubcommand;
use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{ChangingArgs, CommonArgs};
use crate::client::error::CommandError;
use crate::client::known_models;
use crate::client::output::Output;
use crate::visible;

const SETTINGS_HELP: &str = "\
Examples:
  harness settings                             what the next run has
  harness settings set model=claude-opus-5-5 thinking=high
  harness settings set tools=read,grep         offer only these tools
  harness settings unset thinking tools        as the service has it again

Changes hold from the next run on, for this conversation. `harness settings set --help` lists the
settings.";

const FAILED: &str = "failed, a value cannot be, or no service runs";

/// The help of `harness settings set`, with the table of settings.
fn set_help() -> String {
    let row = |setting: &SettingRow| {
        let name = match setting.name {
            "active_tools" => "tools",
            name => name,
        };
        format!("  {name:16}  {}\n", setting.help)
    };
    let settings: String = SETTINGS.iter().map(row).collect();
    let examples = format!(
        "\
Examples:
  harness settings set model=claude-opus-5-5 thinking=high
  harness settings set -c ID tools=read,grep

Settings:
{}",
        settings.trim_end()
    );
    exits(&examples, "done", FAILED, None)
}

const UNSET_HELP: &str = "\
Examples:
  harness settings unset thinking tools";

/// How many characters of a value are shown.
const MAX_SHOWN: usize = 200;

/// The flags of `harness settings`.
#[derive(Debug, Args)]
#[command(after_help = exits(SETTINGS_HELP, "done", FAILED, None))]
pub(crate) struct SettingsArgs {
    /// The flags of all commands.
    #[command(flatten)]
    pub(super) common: WithoutSubcommand<CommonArgs>,
    /// The action; shows them if left out.
    #[command(subcommand)]
    pub(super) action: Option<SettingsAction>,
}

/// The actions on settings.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingsAction {
    /// Show what the next run has
    Show(CommonArgs),
    /// Change settings of this conversation
    Set(SetArgs),
    /// Take settings as the service has them
    Unset(UnsetArgs),
}

/// The flags of `harness settings set`.
#[derive(Debug, Args)]
#[command(after_help = set_help())]
pub(crate) struct SetArgs {
    /// Settings and their values, such as `thinking=high`; a list has commas
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub(super) settings: Vec<String>,
    /// The name of the client that changes it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// The flags of `harness settings unset`.
#[derive(Debug, Args)]
#[command(after_help = exits(UNSET_HELP, "done", "failed, there is no such setting, or no service runs", None))]
pub(crate) struct UnsetArgs {
    /// Settings
    #[arg(value_name = "NAME", required = true)]
    pub(super) settings: Vec<String>,
    /// The name of the client that changes it, and the conversation.
    #[command(flatten)]
    pub(super) changing: ChangingArgs,
}

/// Shows or changes settings.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    order: &SettingsArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let lines = |answer| lines(&answer);
    let (settings, ChangingArgs { caller, common }) = match &order.action {
        None => {
            return order
                .common
                .show(routes::settings, service, output, lines)
                .await;
        }
        Some(SettingsAction::Show(it)) => {
            return it.show(routes::settings, service, output, lines).await;
        }
        Some(SettingsAction::Set(it)) => (values(&it.settings)?, &it.changing),
        Some(SettingsAction::Unset(it)) => {
            let taken_back = |name: &String| (key(name), Value::Null);
            let settings = it.settings.iter().map(taken_back).collect();
            (settings, &it.changing)
        }
    };
    known_models::warn(&settings, service, output).await;
    let by = caller.name();
    let change = ChangeSettings { settings, by };
    let route = |conversation: &str| routes::change(conversation, &change);
    common.show(route, service, output, lines).await
}

/// The settings that were given as `name=value`, in the wire format.
///
/// # Errors
/// If one has no `=`.
pub(super) fn values(given: &[String]) -> Result<Map<String, Value>, CommandError> {
    let mut settings = Map::new();
    for text in given {
        let Some((name, text)) = text.split_once('=') else {
            return Err(CommandError::Usage {
                reason: format!("{text:?} is not NAME=VALUE; see `harness settings --help`"),
            });
        };
        let name = key(name);
        let value = value(&name, text);
        settings.insert(name, value);
    }
    Ok(settings)
}

/// The name of a setting as the service has it; people also write it like a flag.
fn key(name: &str) -> String {
    match name.trim().replace('-', "_").as_str() {
        "tools" => "active_tools".to_owned(),
        name => name.to_owned(),
    }
}

/// The value of a setting. What it cannot be, the service says in its words.
fn value(name: &str, text: &str) -> Value {
    SettingRow::named(name).map_or_else(|_| text.into(), |setting| setting.kind.read(text))
}

/// The settings, each with its value and whether it is this conversation's own.
fn lines(answer: &SettingsAnswer) -> Vec<String> {
    let own = named_settings(&answer.settings);
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    let mut rows = named_settings(&answer.effective);
    rows.retain(|(name, _)| name != "active_tools");
    let marked = |(name, value): &(String, String)| {
        let mark = if is_own(name) { "  (own)" } else { "" };
        let value = match value.as_str() {
            "" => "(none)".to_owned(),
            value => visible::short(value, MAX_SHOWN),
        };
        format!("{name:16}  {value}{mark}")
    };
    let mut lines: Vec<String> = rows.iter().map(marked).collect();
    let tools = match answer.active_tools.join(", ") {
        names if names.is_empty() => NO_TOOLS.to_owned(),
        names => names,
    };
    let shown = ("active_tools".to_owned(), tools);
    lines.push(marked(&shown));
    let rest = |tool: &&String| !answer.active_tools.contains(tool);
    let others: Vec<&str> = answer
        .tools
        .iter()
        .filter(rest)
        .map(String::as_str)
        .collect();
    // Without a default, they are as the model, the API or the service has them.
    let with_default = named_settings(&FullSettings::default().into());
    let told = |name: &str| {
        rows.iter()
            .chain(&with_default)
            .any(|(told, _)| told == name)
    };
    let names = SETTINGS.iter().map(|setting| setting.name);
    let unset: Vec<&str> = names.filter(|name| !told(name)).collect();
    for (title, names) in [("other tools", others), ("not set", unset)] {
        if !names.is_empty() {
            let names = visible::short(&names.join(", "), MAX_SHOWN);
            lines.push(format!("{title:16}  {names}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    /// Spec: [CONF-70]
    #[test]
    fn the_help_lists_every_setting_with_what_it_does() {
        let help = ["harness", "settings", "set", "--help"];
        let help = Cli::try_parse_from(help).unwrap_err().to_string();
        for setting in SETTINGS {
            let row = help.lines().find(|line| line.ends_with(setting.help));
            let name = row.and_then(|row| row.split_whitespace().next());
            let alias = (setting.name == "active_tools").then_some("tools");
            assert_eq!(name, alias.or(Some(setting.name)));
        }
    }
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

    fn given(texts: &[&str]) -> Value {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        values(&texts).unwrap().into()
    }

    /// Spec: [CLI-74]
    #[test]
    fn values_have_the_types_of_their_settings_and_what_they_cannot_be_is_sent_as_it_is() {
        assert_eq!(
            given(&[
                "max-turns=3",
                "model=a=b",
                "tools=read, grep",
                "auto_compact=false"
            ]),
            json!({"max_turns": 3, "model": "a=b", "active_tools": ["read", "grep"],
                "auto_compact": false})
        );
        assert_eq!(
            given(&[
                "max_turns=many",
                "context_files=yes",
                "later=1",
                "tools=",
                "steering-mode=one-at-a-time"
            ]),
            json!({"steering_mode": "one_at_a_time", "max_turns": "many", "context_files": "yes", "later": "1",
                "active_tools": []})
        );
        let error = values(&["model".to_owned()]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }

    /// Spec: [CLI-73] [CLI-74]
    #[actix::test]
    async fn settings_are_shown_with_what_is_their_own_and_changed() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let settings = json!({
            "settings": {"thinking": "high", "active_tools": ["read"]},
            "effective": {"model": "m\u{7}", "thinking": "high", "active_tools": ["read"]},
            "tools": ["read", "grep", "list_dir"], "active_tools": ["read"],
        });
        let answers = [(); 4].map(|()| answer(200, &settings));
        server.on("/v1/conversations/c/settings", answers.into());
        let shown = "model             m\\u{7}\n\
            thinking          high  (own)\n\
            active_tools      read  (own)\n\
            other tools       grep, list_dir\n\
            not set           temperature, approval_timeout, key_source, context_window, compaction_model\n";
        let json = format!("{settings}\n").replace('\u{7}', "\\u0007");
        for (arguments, method, sent, printed) in [
            (&["settings", "-c", "c"][..], "GET", "", shown),
            (&["settings", "show", "-c", "c"], "GET", "", shown),
            (
                &[
                    "settings",
                    "set",
                    "-c",
                    "c",
                    "thinking=high",
                    "--name",
                    "ana",
                ],
                "PATCH",
                r#"{"settings":{"thinking":"high"},"by":"ana"}"#,
                shown,
            ),
            (
                &[
                    "settings",
                    "unset",
                    "-c",
                    "c",
                    "max-turns",
                    "tools",
                    "--json",
                ],
                "PATCH",
                r#"{"settings":{"max_turns":null,"active_tools":null}}"#,
                &json,
            ),
        ] {
            let line = ["harness"].iter().chain(arguments);
            let Some(ProgramCommand::Client(ClientCommand::Settings(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&order, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert!(request.starts_with(method), "{request}");
            assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
        }
    }
}
