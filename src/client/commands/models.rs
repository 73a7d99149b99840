//! `harness models`: the models that can be chosen.

use clap::Args;
use harness_protocol::words::thinking;
use harness_protocol::{ModelEntry, ModelList};

use crate::cli::exit_codes::asks;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::commands::table::{MAX_NAME, table};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

const MODELS_HELP: &str = "\
Examples:
  harness models                               what `harness settings set model=ID` can choose
  harness models --json | jq -r '.items[].id'";

/// The mark of the default where the API does not list it.
const NOT_LISTED: &str = "not listed by the API";

/// The flags of `harness models`.
#[derive(Debug, Args)]
#[command(after_help = asks(MODELS_HELP))]
pub(crate) struct ModelsArgs {
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints the models that there are.
///
/// # Errors
/// If they cannot be had or printed.
pub(super) async fn run(
    models: &ModelsArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let default = service.info().map(|info| info.model.as_str());
    let raw = service.ask(&routes::models().answered_as()).await?;
    if models.json {
        let mut list = common::items(raw, "models");
        if let Some(default) = default {
            list["default"] = default.into();
        }
        return Ok(output.json(&list)?);
    }
    let lines = |list: ModelList| lines(list.models, default);
    common::print(raw, false, output, lines)
}

fn lines(mut models: Vec<ModelEntry>, default: Option<&str>) -> Vec<String> {
    let is_listed = |id: &str| models.iter().any(|model| model.id == id);
    let unlisted = default.filter(|id| !is_listed(id));
    models.extend(unlisted.map(|id| ModelEntry {
        id: id.to_owned(),
        lifecycle: Some(NOT_LISTED.to_owned()),
        ..ModelEntry::default()
    }));
    let header = ["ID", "WINDOW", "OUTPUT", "NAME", "THINKING"].map(str::to_owned);
    let count = |tokens: Option<u64>| tokens.map_or_else(String::new, |count| count.to_string());
    let rows = models.iter().map(|model| {
        let levels: Vec<&str> = model.thinking.iter().copied().map(thinking).collect();
        [
            visible::short(&model.id, MAX_NAME),
            count(model.max_input_tokens),
            count(model.max_tokens),
            name(model, default == Some(model.id.as_str())),
            levels.join(" "),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    table(&rows, &[1, 2])
}

/// The name of a model, with a mark where it is the default or on its way out.
fn name(model: &ModelEntry, is_default: bool) -> String {
    let mut marks = Vec::new();
    if is_default {
        marks.push("default".to_owned());
    }
    match model.lifecycle.as_deref() {
        None | Some("" | "active") => {}
        Some(word) => marks.push(visible::short(word, MAX_NAME)),
    }
    let end = model.retires_at.as_deref().and_then(|time| time.get(..10));
    marks.extend(end.map(|day| format!("until {}", visible::short(day, MAX_NAME))));
    let name = visible::short(&model.display_name, MAX_NAME);
    match marks[..] {
        [] => name,
        _ => format!("{name} ({})", marks.join(", "))
            .trim_start()
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

    /// Spec: [CLI-77] [HTTP-106]
    #[actix::test]
    async fn models_are_a_table() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let models = json!({"models": [
            {"id": "claude-opus-5-5", "display_name": "Claude Opus 5.5", "max_input_tokens": 1_000_000,
                "max_tokens": 128_000, "thinking": ["low", "xhigh"]},
            {"id": "old", "display_name": "Old", "lifecycle": "retired"},
            {"id": "x", "lifecycle": "deprecated", "retires_at": "2026-11-30T00:00:00Z"},
        ]});
        server.on("/v1/models", vec![answer(200, &models)]);
        let line = ["harness", "models"];
        let Some(ProgramCommand::Client(ClientCommand::Models(order))) =
            Cli::try_parse_from(line).unwrap().command
        else {
            panic!("no models");
        };
        let (mut output, record) = recorded();
        run(&order, &home.service().await, &mut output)
            .await
            .unwrap();
        assert_eq!(
            record.out(),
            "ID                WINDOW  OUTPUT  NAME                              THINKING\n\
             claude-opus-5-5  1000000  128000  Claude Opus 5.5                   low xhigh\n\
             old                               Old (retired)\n\
             x                                 (deprecated, until 2026-11-30)\n\
             m                                 (default, not listed by the API)\n"
        );
    }

    /// Spec: [CLI-354]
    #[actix::test]
    async fn the_default_is_marked() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let models = json!({"models": [{"id": "m", "display_name": "M", "lifecycle": "retired"}]});
        server.on("/v1/models", vec![answer(200, &models); 2]);
        for (json, printed) in [
            (
                false,
                "ID  WINDOW  OUTPUT  NAME                  THINKING\n\
                 m                   M (default, retired)\n"
                    .to_owned(),
            ),
            (
                true,
                format!("{}\n", json!({"items": models["models"], "default": "m"})),
            ),
        ] {
            let (mut output, record) = recorded();
            run(&ModelsArgs { json }, &home.service().await, &mut output)
                .await
                .unwrap();
            assert_eq!(record.out(), printed);
        }
    }
}
