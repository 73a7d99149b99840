//! `harness usage`: the tokens that a conversation used, and what they cost.

use harness_protocol::{TokenUsage, UsageAnswer, words};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::CommonArgs;
use crate::client::commands::table::{MAX_NAME, table};
use crate::client::error::CommandError;
use crate::client::output::Output;
use crate::visible;

pub(super) const USAGE_HELP: &str = "\
Examples:
  harness usage                                tokens by model, and what they cost
  harness usage --json -c ID | jq .cost_usd

A cost is shown only where the price of the model is known.";

/// Prints what a conversation has used.
///
/// # Errors
/// If that cannot be had or printed.
pub(super) async fn run(
    used: &CommonArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let lines = |answer| lines(&answer);
    used.show(routes::usage, service, output, lines).await
}

fn lines(answer: &UsageAnswer) -> Vec<String> {
    let header = ["MODEL", "INPUT", "OUTPUT", "WRITTEN", "READ", "COST"].map(str::to_owned);
    let mut rows = vec![header];
    for model in &answer.models {
        let name = match model.model.as_str() {
            "" => "(unknown)".to_owned(),
            name => visible::short(name, MAX_NAME),
        };
        rows.push(row(name, &model.usage, cost(model.cost_usd)));
    }
    rows.push(row("all".to_owned(), &answer.usage, cost(answer.cost_usd)));
    if let Some(last) = &answer.last_run {
        let name = format!("run {}", last.run_id);
        rows.push(row(name, &last.usage, String::new()));
    }
    let mut lines = table(&rows, &[1, 2, 3, 4, 5]);
    let searches = answer.usage.web_search_requests;
    if searches > 0 {
        let searches = words::counted(searches, "search", "searches");
        lines.push(format!("{searches} of the web."));
    }
    lines.push(format!(
        "Tokens; WRITTEN and READ are the cache's. Prices of {}.",
        visible::short(&answer.prices_as_of, MAX_NAME)
    ));
    lines
}

fn row(name: String, usage: &TokenUsage, cost: String) -> [String; 6] {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{Cli, ProgramCommand};
    use crate::client::ClientCommand;
    use crate::client::testing::{Home, Server, answer, recorded};

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
            let Some(ProgramCommand::Client(ClientCommand::Usage(used))) =
                Cli::try_parse_from(line).unwrap().command
            else {
                panic!("no usage");
            };
            let (mut output, record) = recorded();
            run(&used, &home.service().await, &mut output)
                .await
                .unwrap();
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
}
