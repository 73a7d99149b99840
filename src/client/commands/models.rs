//! `harness models`: the models that can be chosen.

use clap::Args;
use harness_protocol::words::thinking;
use harness_protocol::{ModelEntry, ModelList};

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common;
use crate::client::commands::table::{MAX_NAME, table};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::exit_codes::asks;
use crate::visible;

const MODELS_HELP: &str = "\
Examples:
  harness models                               what `harness settings set model=ID` can choose
  harness models --json | jq -r '.models[].id'";

/// The flags of `harness models`.
#[derive(Debug, Args)]
#[command(after_help = asks(MODELS_HELP))]
pub(crate) struct Models {
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints the models that there are.
///
/// # Errors
/// If they cannot be had or printed.
pub(super) async fn run(
    models: &Models,
    service: &Connection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let lines = |list: ModelList| lines(&list.models);
    common::show(routes::models(), models.json, service, output, lines).await
}

fn lines(models: &[ModelEntry]) -> Vec<String> {
    let header = ["ID", "WINDOW", "OUTPUT", "NAME", "THINKING"].map(str::to_owned);
    let count = |tokens: Option<u64>| tokens.map_or_else(String::new, |count| count.to_string());
    let rows = models.iter().map(|model| {
        let levels: Vec<&str> = model.thinking.iter().copied().map(thinking).collect();
        [
            visible::short(&model.id, MAX_NAME),
            count(model.max_input_tokens),
            count(model.max_tokens),
            name(model),
            levels.join(" "),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    table(&rows, &[1, 2])
}

/// What a model is called, with a mark where it is on its way out.
fn name(model: &ModelEntry) -> String {
    let name = visible::short(&model.display_name, MAX_NAME);
    match model.lifecycle.as_deref() {
        None | Some("" | "active") => name,
        Some(word) => format!("{name} ({})", visible::short(word, MAX_NAME))
            .trim_start()
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, Command};
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
            {"id": "x", "lifecycle": "deprecated"},
        ]});
        server.on("/v1/models", vec![answer(200, &models)]);
        let line = ["harness", "models"];
        let Some(Command::Client(ClientCommand::Models(order))) =
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
            "ID                WINDOW  OUTPUT  NAME             THINKING\n\
             claude-opus-5-5  1000000  128000  Claude Opus 5.5  low xhigh\n\
             old                               Old (retired)\n\
             x                                 (deprecated)\n"
        );
    }
}
