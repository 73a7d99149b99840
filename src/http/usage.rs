//! The tokens that a conversation has used, and their cost.

use actix_web::{HttpResponse, web};
use harness_actors::conversation::messages::GetOverview;
use harness_actors::conversation::usage;
use harness_actors::journal::{Journal, Record, Totals};
use harness_protocol::{ModelUsage, RunUsage, TokenUsage, UsageAnswer};

use super::ask::{Name, ask_conversation, refuse_read};
use super::history::read_page;
use super::problem::{HandlerResult, Refusal};
use super::shared::HttpShared;
use crate::serve::pricing::{KeptFor, Prices, rounded};

/// Number of records that are read at once in the search for the end of the last run.
const PAGE: usize = 64;
/// Maximum number of records that the search covers.
const REACH: u64 = 4096;

/// The token counts by model, with their cost where the price is known.
pub(super) async fn read(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let (conversation, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    let mut answer = sums(&overview.totals, &shared.prices, shared.kept_for);
    answer.last_run = last_run(&*conversation.journal, overview.position.seq).await?;
    Ok(HttpResponse::Ok().json(answer))
}

fn sums(totals: &Totals, prices: &Prices, kept_for: KeptFor) -> UsageAnswer {
    let mut models: Vec<ModelUsage> = Vec::new();
    let mut told_apart = TokenUsage::default();
    for (model, counts) in &totals.models {
        let all = counts.usage.plus(counts.long);
        told_apart = told_apart.plus(all);
        models.push(ModelUsage {
            cost_usd: prices.cost(model, counts, kept_for),
            usage: all,
            model: model.clone(),
        });
    }
    let whole = usage(totals);
    // A journal of an older version does not tell the models of its beginning.
    let is_told = told_apart == whole;
    let costs: Option<Vec<f64>> = models.iter().map(|model| model.cost_usd).collect();
    UsageAnswer {
        cost_usd: costs
            .filter(|_| is_told)
            .map(|costs| rounded(costs.into_iter().sum())),
        models,
        usage: whole,
        prices_as_of: prices.as_of().to_owned(),
        last_run: None,
    }
}

/// The last run that has ended, if that is not long ago.
async fn last_run(journal: &dyn Journal, end: u64) -> Result<Option<RunUsage>, Refusal> {
    let mut before = end;
    while before > 0 && end - before < REACH {
        let after = before.saturating_sub(PAGE as u64);
        let mut last = None;
        let mut read_to = after;
        while read_to < before {
            let page = read_page(journal, read_to, PAGE).await?;
            let Some(reached) = page.last().map(|entry| entry.position.seq) else {
                break;
            };
            for entry in page {
                if entry.position.seq > before {
                    break;
                }
                if let Record::RunEnded { run, run_usage, .. } = entry.record {
                    let (run_id, usage) = (run.0, run_usage);
                    last = Some(RunUsage { run_id, usage });
                }
            }
            read_to = reached;
        }
        if last.is_some() {
            return Ok(last);
        }
        before = after;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use harness_actors::RunId;
    use harness_actors::conversation::Ledger;
    use harness_actors::journal::{
        Durability, Header, MemoryJournal, ModelTotals, NewRecord, Outcome,
    };

    use super::*;

    fn used(input: u64) -> TokenUsage {
        TokenUsage {
            input_tokens: input,
            ..TokenUsage::default()
        }
    }

    fn totals(all: u64, models: &[(&str, u64)]) -> Totals {
        let counted = |(model, input): &(&str, u64)| {
            let counts = ModelTotals {
                usage: used(*input),
                long: TokenUsage::default(),
            };
            ((*model).to_owned(), counts)
        };
        Totals {
            input_tokens: all,
            models: models.iter().map(counted).collect(),
            ..Ledger::default().totals().clone()
        }
    }

    fn cost(all: u64, models: &[(&str, u64)]) -> Option<f64> {
        let totals = totals(all, models);
        sums(&totals, &Prices::built_in(), KeptFor::FiveMinutes).cost_usd
    }

    /// Spec: [HTTP-68]
    #[test]
    fn a_sum_has_a_cost_only_if_every_token_has_a_price() {
        let (opus, haiku) = ("claude-opus-5-5", "claude-haiku-4-5");
        assert_eq!(cost(0, &[]), Some(0.0));
        assert_eq!(
            cost(2_000_000, &[(haiku, 1_000_000), (opus, 1_000_000)]),
            Some(5.0)
        );
        assert_eq!(cost(2, &[("m", 1), (opus, 1)]), None);
        // The models of a part of it are not known.
        assert_eq!(cost(1_000_001, &[(opus, 1_000_000)]), None);
        let both = totals(2, &[("m", 1), (opus, 1)]);
        let answer = sums(&both, &Prices::built_in(), KeptFor::FiveMinutes);
        let costs: Vec<_> = answer.models.iter().map(|model| model.cost_usd).collect();
        assert_eq!(costs, [Some(0.000_004), None]);
        assert_eq!(answer.usage, used(2));
    }

    async fn append(journal: &dyn Journal, after: u64, record: Record) {
        let new = NewRecord { at: 1, record };
        journal
            .append(after, vec![new], Durability::Written)
            .await
            .unwrap();
    }

    /// Spec: [HTTP-68]
    #[actix::test]
    async fn the_last_run_is_found_behind_what_came_later() {
        let journal = MemoryJournal::new(Header::new(harness_actors::ConversationId::new("c"), 0));
        assert_eq!(last_run(&journal, 0).await.unwrap(), None);
        let mut seq = 0;
        for run in 1..=2 {
            let ended = Record::RunEnded {
                duration_ms: None,
                run: RunId(run),
                outcome: Outcome::Completed,
                message: String::new(),
                totals: Totals::default(),
                run_usage: used(run * 10),
                by: None,
            };
            append(&journal, seq, ended).await;
            seq += 1;
            for _ in 0..PAGE + 3 {
                append(&journal, seq, Record::ReplyLeftOut { by: None }).await;
                seq += 1;
            }
        }
        let found = last_run(&journal, seq).await.unwrap().unwrap();
        assert_eq!((found.run_id, found.usage), (2, used(20)));
        // As it was when only the first one had ended.
        let found = last_run(&journal, PAGE as u64).await.unwrap().unwrap();
        assert_eq!(found.run_id, 1);
    }
}
