//! The prices of the API's models: a table with its date, and one of the operator over it.
//!
//! Source: the API's documentation of prices; `prices.json` has what it says, in US dollars for a
//! million tokens. A model that is in neither table has no price here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use derive_more::{Display, Error};
use harness_actors::budget::{PriceList, TokenPrices};
use harness_actors::journal::ModelTotals;
use harness_protocol::TokenUsage;
use serde::Deserialize;

use crate::serve::folder_rules::state_file;

/// How many tokens a price is for.
const TOKENS_A_PRICE: f64 = 1_000_000.0;
/// How many parts of a dollar differ: a price for one token has that many digits.
const PARTS_OF_A_DOLLAR: f64 = 1e9;

/// The table of the operator, in the state folder.
const FILE: &str = "prices.json";

/// The prices of all models that are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    as_of: String,
    /// The price of one search of the web, whatever the model.
    web_search: f64,
    models: BTreeMap<String, Price>,
}

/// The reason why the prices of the operator cannot be used.
#[derive(Debug, Display, Error)]
#[display("cannot use the prices in {}: {reason}", path.display())]
pub(crate) struct PricesFileError {
    path: PathBuf,
    #[error(not(source))]
    reason: String,
}

/// A table of prices, as a file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    as_of: String,
    web_search: Option<f64>,
    #[serde(default)]
    models: BTreeMap<String, GivenPrice>,
}

/// The price of a model, as a file has it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenPrice {
    prices: Rates,
    long: Option<Long>,
}

/// The price of a model.
#[derive(Debug, Clone, Copy)]
struct Price {
    prices: Rates,
    /// Of requests that are longer than [`ModelTotals::LONG`].
    long: Long,
}

/// The price of long requests.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Long {
    Own(Rates),
    AsOthers(Comparison),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Comparison {
    Same,
    Unknown,
}

/// Prices of a million tokens, by what is done with them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(from = "GivenRates")]
struct Rates {
    input: f64,
    output: f64,
    write_5m: f64,
    write_1h: f64,
    read: f64,
}

/// The prices that a file names. Those of the cache follow from the price of the input.
///
/// Source: the API's documentation of prompt caching.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenRates {
    input: f64,
    output: f64,
    write_5m: Option<f64>,
    write_1h: Option<f64>,
    read: Option<f64>,
}

impl From<GivenRates> for Rates {
    fn from(given: GivenRates) -> Self {
        let input = given.input;
        Self {
            input,
            output: given.output,
            write_5m: given.write_5m.unwrap_or(input * 1.25),
            write_1h: given.write_1h.unwrap_or(input * 2.0),
            read: given.read.unwrap_or(input * 0.1),
        }
    }
}

/// How long the API keeps what is written to its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum KeptFor {
    /// 5 minutes.
    #[default]
    FiveMinutes,
    /// An hour, for a higher price.
    OneHour,
}

impl Prices {
    /// The table that comes with the program; without any model if it cannot be read, which a
    /// test excludes.
    pub(crate) fn built_in() -> Self {
        let table: Option<PriceTable> = serde_json::from_str(include_str!("prices.json")).ok();
        table.map_or_else(Self::default, |table| Self::default().with(table))
    }

    /// The table that comes with the program, and over it that of the operator, if there is one.
    ///
    /// # Errors
    /// When the operator's cannot be read, or has a price that is none.
    pub(crate) fn within(home: &Path) -> Result<Self, PricesFileError> {
        let path = home.join(FILE);
        let text = match state_file(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::built_in()),
            Err(error) => {
                let reason = error.to_string();
                return Err(PricesFileError { path, reason });
            }
        };
        match own_table(&text) {
            Ok(table) => {
                let built_in = Self::built_in();
                if table.as_of < built_in.as_of {
                    log::warn!(
                        "the prices in {} are of {}, those of the program of {}; the older ones hold for the models that \
                         they name",
                        path.display(),
                        table.as_of,
                        built_in.as_of
                    );
                }
                Ok(built_in.with(table))
            }
            Err(reason) => Err(PricesFileError { path, reason }),
        }
    }

    /// These prices with those of a table over them.
    fn with(mut self, table: PriceTable) -> Self {
        self.as_of = self.as_of.max(table.as_of);
        self.web_search = table.web_search.unwrap_or(self.web_search);
        for (model, given) in table.models {
            let known = self.price(&model).map(|known| known.long);
            // Where long requests cost something else, a table that does not name their price leaves it open.
            let long = given.long.unwrap_or(match known {
                None | Some(Long::AsOthers(Comparison::Same)) => Long::AsOthers(Comparison::Same),
                Some(Long::Own(_) | Long::AsOthers(Comparison::Unknown)) => {
                    Long::AsOthers(Comparison::Unknown)
                }
            });
            let prices = given.prices;
            self.models.insert(model, Price { prices, long });
        }
        self
    }

    /// The day that they are of.
    pub(crate) fn as_of(&self) -> &str {
        &self.as_of
    }

    /// The price of a model's tokens, in US dollars, if that is known. No tokens cost nothing.
    pub(crate) fn cost(&self, model: &str, counts: &ModelTotals, kept: KeptFor) -> Option<f64> {
        let none = TokenUsage::default();
        if counts.usage == none && counts.long == none {
            return Some(0.0);
        }
        let price = self.price(model)?;
        let of_long = if counts.long == none {
            0.0
        } else {
            price.long()?.cost(&counts.long, kept)
        };
        let prices = price.prices;
        let searches = counts.usage.plus(counts.long).web_search_requests;
        let cost = prices.cost(&counts.usage, kept) + of_long + self.searches(searches);
        Some(rounded(cost))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "no conversation has 2^53 searches, and a cost is rounded anyway"
    )]
    fn searches(&self, number: u64) -> f64 {
        number as f64 * self.web_search
    }

    /// Whether the model has a price here.
    pub(crate) fn knows(&self, model: &str) -> bool {
        self.price(model).is_some()
    }

    /// The price of a model, whose id may end with the day of its release.
    fn price(&self, model: &str) -> Option<Price> {
        let dated = || {
            let (name, day) = model.rsplit_once('-')?;
            let is_day = day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit());
            self.models.get(name).filter(|_| is_day)
        };
        self.models.get(model).or_else(dated).copied()
    }
}

/// The table of an operator, if all that it says can be.
fn own_table(text: &[u8]) -> Result<PriceTable, String> {
    let table: PriceTable = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let is_day = table.as_of.len() == 10
        && table
            .as_of
            .bytes()
            .enumerate()
            .all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    if !is_day {
        return Err(format!(
            "`as_of` is {:?}; it is a day, such as \"2026-11-25\"",
            table.as_of
        ));
    }
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    if !table.web_search.is_none_or(is_price) {
        return Err("the price `web_search` is below 0".to_owned());
    }
    for (model, price) in &table.models {
        let long = match price.long {
            Some(Long::Own(rates)) => Some(rates),
            Some(Long::AsOthers(Comparison::Same | Comparison::Unknown)) | None => None,
        };
        let all = [Some(price.prices), long];
        let all = all.iter().flatten().flat_map(|rates| {
            [
                rates.input,
                rates.output,
                rates.write_5m,
                rates.write_1h,
                rates.read,
            ]
        });
        if !all.into_iter().all(is_price) {
            return Err(format!("a price of {model:?} is below 0"));
        }
    }
    Ok(table)
}

/// A sum of dollars without what adding fractions leaves.
pub(crate) fn rounded(dollars: f64) -> f64 {
    // A sum of nothing is a negative zero; adding a zero takes its sign.
    (dollars * PARTS_OF_A_DOLLAR).round() / PARTS_OF_A_DOLLAR + 0.0
}

impl Price {
    /// The prices of long requests, if they are known.
    fn long(&self) -> Option<Rates> {
        match self.long {
            Long::Own(rates) => Some(rates),
            Long::AsOthers(Comparison::Same) => Some(self.prices),
            Long::AsOthers(Comparison::Unknown) => None,
        }
    }
}

/// The prices that the budgets of workflows are held with.
pub(crate) struct BudgetPrices {
    pub(crate) prices: Arc<Prices>,
    pub(crate) kept: KeptFor,
}

impl PriceList for BudgetPrices {
    fn cost(&self, model: &str, used: &ModelTotals) -> Option<u64> {
        let dollars = self.prices.cost(model, used, self.kept)?;
        Some(micro_usd(dollars))
    }

    fn highest(&self, model: &str, input_tokens: u64) -> Option<TokenPrices> {
        let price = self.prices.price(model)?;
        let long = match input_tokens > ModelTotals::LONG {
            true => price.long()?,
            false => price.prices,
        };
        let both = [price.prices, long];
        let highest = |of: fn(&Rates) -> f64| both.iter().map(of).fold(0.0, f64::max);
        let input = [
            highest(|own| own.input),
            highest(|own| own.write_5m),
            highest(|own| own.read),
        ];
        let kept = match self.kept {
            KeptFor::FiveMinutes => 0.0,
            KeptFor::OneHour => highest(|own| own.write_1h),
        };
        Some(TokenPrices {
            input: micro_usd(input.into_iter().fold(kept, f64::max)),
            output: micro_usd(highest(|own| own.output)),
        })
    }
}

/// Dollars in millionths, rounded up.
fn micro_usd(dollars: f64) -> u64 {
    let billionths = (dollars * PARTS_OF_A_DOLLAR).round() as u64;
    billionths.div_ceil(1_000)
}

impl Rates {
    fn cost(&self, usage: &TokenUsage, kept: KeptFor) -> f64 {
        let write = match kept {
            KeptFor::FiveMinutes => self.write_5m,
            KeptFor::OneHour => self.write_1h,
        };
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_creation_input_tokens, write),
            (usage.cache_read_input_tokens, self.read),
        ];
        parts
            .into_iter()
            .map(|(tokens, price)| dollars(tokens, price))
            .sum()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no conversation has 2^53 tokens, and a cost is rounded anyway"
)]
fn dollars(tokens: u64, price: f64) -> f64 {
    tokens as f64 * price / TOKENS_A_PRICE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(usage: [u64; 4], long: [u64; 4]) -> ModelTotals {
        let usage_of = |[input, output, written, read]: [u64; 4]| TokenUsage {
            input_tokens: input,
            output_tokens: output,
            cache_creation_input_tokens: written,
            cache_read_input_tokens: read,
            web_search_requests: 0,
        };
        ModelTotals {
            usage: usage_of(usage),
            long: usage_of(long),
        }
    }

    fn cost(model: &str, usage: [u64; 4], long: [u64; 4]) -> Option<f64> {
        let counts = counts(usage, long);
        Prices::built_in().cost(model, &counts, KeptFor::FiveMinutes)
    }

    const MILLION: u64 = 1_000_000;

    /// Spec: [HTTP-69]
    #[test]
    fn the_table_can_be_read_and_its_prices_go_together() {
        let prices = Prices::built_in();
        assert_eq!(prices.as_of().len(), "2026-10-24".len());
        assert!(prices.models.len() >= 10);
        for (model, price) in &prices.models {
            let mut all = vec![price.prices];
            if let Long::Own(rates) = price.long {
                all.push(rates);
            }
            for rates in all {
                let is_near = |one: f64, other: f64| (one - other).abs() < 1e-9;
                assert!(is_near(rates.write_5m, rates.input * 1.25), "{model}");
                assert!(is_near(rates.write_1h, rates.input * 2.0), "{model}");
                assert!(is_near(rates.output, rates.input * 5.0), "{model}");
                assert!(rates.read <= rates.input * 0.1 + 1e-9, "{model}");
                assert!(rates.read > 0.0, "{model}");
            }
        }
    }

    /// Spec: [HTTP-69]
    #[test]
    fn each_kind_of_token_has_its_price() {
        let none = [0; 4];
        for (kind, dollars) in [4.0, 20.0, 5.0, 0.2].into_iter().enumerate() {
            let mut usage = none;
            usage[kind] = MILLION;
            assert_eq!(cost("claude-opus-5-5", usage, none), Some(dollars));
            // Long requests cost the same.
            assert_eq!(cost("claude-opus-5-5", none, usage), Some(dollars));
        }
        let an_hour = Prices::built_in().cost(
            "claude-opus-5-5",
            &counts([0, 0, MILLION, 0], none),
            KeptFor::OneHour,
        );
        assert_eq!(an_hour, Some(8.0));
        // What adding fractions leaves is not shown.
        assert_eq!(
            cost("claude-haiku-5-5", [1, 1, 0, 1], none),
            Some(0.000_000_61)
        );
    }

    /// Spec: [HTTP-69] [WEB-06]
    #[test]
    fn a_search_has_a_price_of_its_own() {
        let searched = ModelTotals::of_reply(&TokenUsage {
            web_search_requests: 3,
            ..TokenUsage::default()
        });
        let cost = |model| Prices::built_in().cost(model, &searched, KeptFor::FiveMinutes);
        assert_eq!(cost("claude-opus-5-5"), Some(0.03));
        assert_eq!(cost("some-model"), None);
    }

    /// Spec: [HTTP-68]
    #[test]
    fn nothing_costs_nothing_and_not_less() {
        let nothing: f64 = std::iter::empty::<f64>().sum();
        assert_eq!(format!("${:.4}", rounded(nothing)), "$0.0000");
    }

    /// Spec: [HTTP-69]
    #[test]
    fn long_requests_have_the_price_of_long_ones_or_none() {
        let (short, long) = ([MILLION, 0, 0, 0], [0, MILLION, 0, 0]);
        assert_eq!(cost("claude-haiku-5-5", short, long), Some(2.6));
        assert_eq!(cost("claude-sonnet-4-5", short, [0; 4]), Some(3.0));
        assert_eq!(cost("claude-sonnet-4-5", short, long), None);
    }

    /// Spec: [HTTP-69]
    #[test]
    fn a_model_is_known_by_its_name_with_or_without_a_day() {
        let usage = [MILLION, 0, 0, 0];
        assert_eq!(cost("claude-haiku-4-5-20251001", usage, [0; 4]), Some(1.0));
        assert_eq!(cost("claude-haiku-4-5", usage, [0; 4]), Some(1.0));
        for unknown in [
            "claude-haiku-4-5-2025",
            "claude-haiku-4-5-latest-1",
            "claude-haiku",
            "claude-3-haiku-20240307",
            "",
        ] {
            assert_eq!(cost(unknown, usage, [0; 4]), None, "{unknown}");
            assert_eq!(cost(unknown, [0; 4], [0; 4]), Some(0.0), "{unknown}");
        }
    }

    /// Spec: [BUDGET-06] [BUDGET-09]
    #[test]
    fn a_budget_reckons_with_the_highest_price_of_a_token() {
        let highest = |model: &str, tokens: u64, kept| {
            let prices = BudgetPrices {
                prices: Arc::new(Prices::built_in()),
                kept,
            };
            let found = prices.highest(model, tokens)?;
            Some((found.input, found.output))
        };
        let five_minutes = |model, tokens| highest(model, tokens, KeptFor::FiveMinutes);
        let of_opus = Some((6_250_000, 25_000_000));
        assert_eq!(five_minutes("claude-opus-5", 1), of_opus);
        assert_eq!(five_minutes("claude-opus-5-20260101", 900_000), of_opus);
        let for_an_hour = highest("claude-opus-5", 1, KeptFor::OneHour);
        assert_eq!(for_an_hour, Some((10_000_000, 25_000_000)));
        // The price of longer requests of this one is not known.
        let of_sonnet = Some((3_750_000, 15_000_000));
        assert_eq!(five_minutes("claude-sonnet-4-5", 100_000), of_sonnet);
        assert_eq!(five_minutes("claude-sonnet-4-5", 100_001), None);
        assert_eq!(five_minutes("some-model", 1), None);
    }

    /// Spec: [BUDGET-01]
    #[test]
    fn no_usage_costs_more_than_the_highest_prices_say() {
        let table = Prices::built_in();
        for (model, kept) in table.models.keys().flat_map(|model| {
            [KeptFor::FiveMinutes, KeptFor::OneHour].map(|kept| (model.clone(), kept))
        }) {
            let prices = BudgetPrices {
                prices: Arc::new(Prices::built_in()),
                kept,
            };
            for input in [1, 99_999, 100_001, 900_000] {
                let Some(highest) = prices.highest(&model, input) else {
                    continue;
                };
                let most = input * highest.input + 777 * highest.output;
                for place in 0..3 {
                    let mut usage = [0, 777, 0, 0];
                    usage[[0, 2, 3][place]] = input;
                    let [input_tokens, output_tokens, written, read] = usage;
                    let counted = ModelTotals::of_reply(&TokenUsage {
                        input_tokens,
                        output_tokens,
                        cache_creation_input_tokens: written,
                        cache_read_input_tokens: read,
                        web_search_requests: 0,
                    });
                    let cost = prices.cost(&model, &counted).unwrap();
                    assert!(cost <= most.div_ceil(1_000_000), "{model} {usage:?}");
                }
            }
        }
    }

    /// Spec: [HTTP-810]
    #[test]
    fn the_prices_of_the_operator_are_over_those_of_the_program() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE);
        let with = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Prices::within(home.path())
        };
        let cost = |prices: &Prices, model: &str| {
            let million = counts([MILLION, MILLION, MILLION, MILLION], [0; 4]);
            prices.cost(model, &million, KeptFor::FiveMinutes)
        };
        let built_in = Prices::within(home.path()).unwrap();
        assert_eq!(cost(&built_in, "own"), None);
        let own = with(
            r#"{"as_of": "2031-01-01", "web_search": 0.5,
                "models": {"own": {"prices": {"input": 2, "output": 8}},
                           "claude-opus-5-5": {"prices": {"input": 1, "output": 1, "read": 0}, "long": "unknown"}}}"#,
        );
        let own = own.unwrap();
        assert_eq!((own.as_of(), own.web_search), ("2031-01-01", 0.5));
        assert_eq!(cost(&own, "own"), Some(2.0 + 8.0 + 2.5 + 0.2));
        assert_eq!(cost(&own, "claude-opus-5-5"), Some(1.0 + 1.0 + 1.25));
        assert_eq!(
            cost(&own, "claude-opus-5"),
            cost(&built_in, "claude-opus-5")
        );
        // Long requests of this one cost something else, and the table does not say what.
        let short = with(
            r#"{"as_of": "2031-01-01", "models": {"claude-haiku-5-5": {"prices": {"input": 1, "output": 1}}}}"#,
        );
        let short = short.unwrap();
        let long = counts([0; 4], [MILLION, 0, 0, 0]);
        let long_cost = |model| short.cost(model, &long, KeptFor::FiveMinutes);
        assert_eq!(long_cost("claude-haiku-5-5"), None);
        assert_eq!(long_cost("claude-opus-5-5"), Some(4.0));
        // What an older one says holds, too: who wrote it has prices of their own.
        let older = with(
            r#"{"as_of": "2020-01-01", "models": {"claude-opus-5": {"prices": {"input": 0, "output": 0}}}}"#,
        );
        let older = older.unwrap();
        assert_eq!(older.as_of(), built_in.as_of());
        assert_eq!(cost(&older, "claude-opus-5"), Some(0.0));
        for (text, reason) in [
            ("{", "EOF while parsing"),
            (r#"{"models": {}}"#, "missing field `as_of`"),
            (r#"{"as_of": "today"}"#, "`as_of` is \"today\"; it is a day"),
            (
                r#"{"as_of": "2026-12-01", "model": {}}"#,
                "unknown field `model`",
            ),
            (
                r#"{"as_of": "2026-12-01", "models": {"a": {"prices": {"input": -1, "output": 1}}}}"#,
                "a price of \"a\" is below 0",
            ),
        ] {
            let told = with(text).unwrap_err().to_string();
            let expected = format!("cannot use the prices in {}: {reason}", file.display());
            assert!(told.starts_with(&expected), "{told}");
        }
    }
}
