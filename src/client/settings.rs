//! `harness settings`: what the next run of a conversation has.

use harness_protocol::words::named_settings;
use harness_protocol::{ChangeSettings, SettingsAnswer};
use hyper::Method;
use serde_json::{Map, Value};

use super::command::CommandError;
use super::connection::path;
use super::order_arguments::{Common, Settings as Order, SettingsAction};
use super::output::Output;
use super::show::parsed;
use super::{discovery, visible};
use crate::config::ClientConfig;

/// How many characters of a value are shown.
const MAX_SHOWN: usize = 200;

/// The settings that may have no value: then it is as the model, the API or the service has it.
const WITHOUT_DEFAULT: [&str; 4] = [
    "thinking",
    "key_source",
    "context_window",
    "compaction_model",
];

/// Shows or changes settings.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    order: &Order,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let change = match &order.action {
        None | Some(SettingsAction::Show(_)) => None,
        Some(SettingsAction::Set(set)) => Some(ChangeSettings {
            settings: values(&set.settings)?,
            by: set.caller.name(),
        }),
        Some(SettingsAction::Unset(unset)) => {
            let taken_back = |name: &String| (key(name), Value::Null);
            Some(ChangeSettings {
                settings: unset.settings.iter().map(taken_back).collect(),
                by: unset.caller.name(),
            })
        }
    };
    let connection = discovery::find(config).await?;
    let Common { which, json, .. } = order.common();
    let to = path(&which.conversation, "/settings");
    let raw: Value = match change {
        None => connection.get(&to, &[]).await?,
        Some(change) => connection.order(Method::PATCH, &to, &change).await?,
    };
    if *json {
        return Ok(output.json(&raw)?);
    }
    for line in lines(&parsed(raw)?) {
        output.line(&line)?;
    }
    Ok(())
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
    match name {
        "active_tools" => text
            .split(',')
            .map(str::trim)
            .filter(|tool| !tool.is_empty())
            .collect(),
        "max_tokens" | "max_turns" | "context_window" | "reserve_tokens" | "keep_tokens" => text
            .trim()
            .parse::<u64>()
            .map_or_else(|_| text.into(), Value::from),
        "auto_compact" | "context_files" => text
            .trim()
            .parse::<bool>()
            .map_or_else(|_| text.into(), Value::from),
        "tool_execution" | "steering_mode" | "follow_up_mode" => {
            text.trim().replace('-', "_").into()
        }
        _ => text.into(),
    }
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
    let tools = answer.active_tools.join(", ");
    let shown = ("active_tools".to_owned(), tools);
    lines.push(marked(&shown));
    let rest = |tool: &&String| !answer.active_tools.contains(tool);
    let others: Vec<&str> = answer
        .tools
        .iter()
        .filter(rest)
        .map(String::as_str)
        .collect();
    let unset = |name: &&&str| rows.iter().all(|(set, _)| set != **name);
    let unset: Vec<&str> = WITHOUT_DEFAULT.iter().filter(unset).copied().collect();
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
    use crate::cli::{Cli, Command};
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
            not set           key_source, context_window, compaction_model\n";
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
            let Some(Command::Client(ClientCommand::Settings(order))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("{arguments:?}");
            };
            let (mut output, record) = recorded();
            run(&order, &home.config, &mut output).await.unwrap();
            assert_eq!(record.out(), printed);
            let request = server.requests().pop().unwrap();
            assert!(request.starts_with(method), "{request}");
            assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
        }
    }
}
