//! `harness usage` and `harness models`: tables of numbers.

use harness_protocol::{ModelEntry, ModelList, ThinkingLevel, Usage, UsageAnswer};
use serde_json::Value;

use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::commands::CommandError;
use crate::client::commands::conversations::show::parsed;
use crate::client::commands::order_arguments::Models;
use crate::client::commands::order_arguments::Used;
use crate::client::output::Output;
use crate::client::visible;
use crate::config::ClientConfig;

/// How many characters of a name are shown.
const MAX_SHOWN: usize = 64;

/// Prints what a conversation has used.
///
/// # Errors
/// If that cannot be had or printed.
pub(crate) async fn run(
    used: &Used,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let from = path(&used.common.which.conversation, "/usage");
    let raw: Value = connection.get(&from, &[]).await?;
    if used.common.json {
        return Ok(output.json(&raw)?);
    }
    for line in usage_lines(&parsed(raw)?) {
        output.line(&line)?;
    }
    Ok(())
}

/// Prints the models that there are.
///
/// # Errors
/// If they cannot be had or printed.
pub(crate) async fn models(
    models: &Models,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<(), CommandError> {
    let connection = discovery::find(config).await?;
    let raw: Value = connection.get("/v1/models", &[]).await?;
    if models.json {
        return Ok(output.json(&raw)?);
    }
    for line in model_lines(&parsed::<ModelList>(raw)?.models) {
        output.line(&line)?;
    }
    Ok(())
}

fn usage_lines(answer: &UsageAnswer) -> Vec<String> {
    let header = ["MODEL", "INPUT", "OUTPUT", "WRITTEN", "READ", "COST"].map(str::to_owned);
    let mut rows = vec![header];
    for model in &answer.models {
        let name = match model.model.as_str() {
            "" => "(unknown)".to_owned(),
            name => visible::short(name, MAX_SHOWN),
        };
        rows.push(row(name, &model.usage, cost(model.cost_usd)));
    }
    rows.push(row("all".to_owned(), &answer.usage, cost(answer.cost_usd)));
    if let Some(last) = &answer.last_run {
        let name = format!("run {}", last.run_id);
        rows.push(row(name, &last.usage, String::new()));
    }
    let mut lines = table(&rows);
    lines.push(format!(
        "Tokens; WRITTEN and READ are the cache's. Prices of {}.",
        visible::short(&answer.prices_as_of, MAX_SHOWN)
    ));
    lines
}

fn row(name: String, usage: &Usage, cost: String) -> [String; 6] {
    [
        name,
        usage.input_tokens.to_string(),
        usage.output_tokens.to_string(),
        usage.cache_creation_input_tokens.to_string(),
        usage.cache_read_input_tokens.to_string(),
        cost,
    ]
}

fn cost(dollars: Option<f64>) -> String {
    dollars.map_or_else(|| "unknown".to_owned(), |dollars| format!("${dollars:.4}"))
}

fn model_lines(models: &[ModelEntry]) -> Vec<String> {
    let header = ["ID", "WINDOW", "OUTPUT", "NAME", "THINKING"].map(str::to_owned);
    let count = |tokens: Option<u64>| tokens.map_or_else(String::new, |count| count.to_string());
    let rows = models.iter().map(|model| {
        let levels: Vec<&str> = model.thinking.iter().copied().map(level_name).collect();
        [
            visible::short(&model.id, MAX_SHOWN),
            count(model.max_input_tokens),
            count(model.max_tokens),
            visible::short(&model.display_name, MAX_SHOWN),
            levels.join(" "),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    table(&rows)
}

/// What a level of thinking is called.
fn level_name(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "off",
        ThinkingLevel::Minimal => "minimal",
        ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::XHigh => "xhigh",
        ThinkingLevel::Max => "max",
    }
}

/// Lines of equal columns; columns of numbers and costs end together.
fn table<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let is_number = |text: &str| {
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        text.trim_start_matches('$').chars().all(is_digit)
    };
    let columns: Vec<(usize, bool)> = (0..N)
        .map(|column| {
            let cells = || rows.iter().map(|row| row[column].as_str());
            let width = cells().map(|cell| cell.chars().count()).max();
            let numbers = cells()
                .skip(1)
                .all(|cell| is_number(cell) || cell == "unknown");
            (width.unwrap_or_default(), numbers)
        })
        .collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&columns).map(|(cell, (width, numbers))| {
            if *numbers {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::client::ClientCommand;
    use crate::client::testing::Home;
    use crate::client::testing::Server;
    use crate::client::testing::answer;
    use crate::client::testing::recorded;

    fn counts(input: u64, output: u64) -> Value {
        json!({"input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 4})
    }

    /// Spec: [CLI-76]
    #[actix::test]
    async fn usage_is_a_table_with_costs_where_prices_are_known() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let usage = json!({
            "models": [
                {"model": "claude-opus-5-5", "usage": counts(1000, 20), "cost_usd": 0.00453},
                {"model": "m\u{7}", "usage": counts(1, 2), "cost_usd": null},
            ],
            "usage": counts(1001, 22), "cost_usd": null, "prices_as_of": "2026-10-24",
            "last_run": {"run_id": 3, "usage": counts(5, 6)},
        });
        server.on(
            "/v1/conversations/c/usage",
            vec![answer(200, &usage), answer(200, &usage)],
        );
        let mut printed = Vec::new();
        for flags in [&[][..], &["--json"]] {
            let line = ["harness", "usage", "-c", "c"].iter().chain(flags);
            let Some(Command::Client(ClientCommand::Usage(used))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("no usage");
            };
            let (mut output, record) = recorded();
            run(&used, &home.config, &mut output).await.unwrap();
            printed.push(record.out());
        }
        assert_eq!(
            printed[0],
            "MODEL            INPUT  OUTPUT  WRITTEN  READ     COST\n\
             claude-opus-5-5   1000      20       30     4  $0.0045\n\
             m\\u{7}               1       2       30     4  unknown\n\
             all               1001      22       30     4  unknown\n\
             run 3                5       6       30     4\n\
             Tokens; WRITTEN and READ are the cache's. Prices of 2026-10-24.\n"
        );
        assert_eq!(serde_json::from_str::<Value>(&printed[1]).unwrap(), usage);
    }

    /// Spec: [CLI-77]
    #[actix::test]
    async fn models_are_a_table() {
        let server = Server::start().await;
        let home = Home::of(&server);
        let models = json!({"models": [
            {"id": "claude-opus-5-5", "display_name": "Claude Opus 5.5", "max_input_tokens": 1_000_000,
                "max_tokens": 128_000, "thinking": ["low", "xhigh"]},
            {"id": "x"},
        ]});
        server.on("/v1/models", vec![answer(200, &models)]);
        let line = ["harness", "models"];
        let Some(Command::Client(ClientCommand::Models(order))) =
            Cli::try_parse_from(line).unwrap().command
        else {
            panic!("no models");
        };
        let (mut output, record) = recorded();
        super::models(&order, &home.config, &mut output)
            .await
            .unwrap();
        assert_eq!(
            record.out(),
            "ID                WINDOW  OUTPUT  NAME             THINKING\n\
             claude-opus-5-5  1000000  128000  Claude Opus 5.5  low xhigh\n\
             x\n"
        );
    }
}
