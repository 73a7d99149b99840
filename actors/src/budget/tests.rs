//! Reservations against a limit, and what is left of it.

use harness_protocol::TokenUsage;
use proptest::prelude::*;

use super::*;

const PRICES: TokenPrices = TokenPrices {
    input: 5_000_000,
    output: 25_000_000,
};

fn size(input: u64, output: u32) -> RequestSize {
    RequestSize { input, output }
}

/// Spec: [BUDGET-01] [BUDGET-02]
#[test]
fn a_reply_is_cut_to_the_rest_of_the_limit_and_a_request_that_does_not_fit_is_refused() {
    let reserve = |rest, input, output| {
        let reserved = SpendingReservation::within(rest, PRICES, size(input, output));
        reserved.map(|reserved| (reserved.micro_usd, reserved.output))
    };
    // 10,000 tokens at 5 dollars a million are 5 cents; 32,000 at 25 are 80.
    assert_eq!(reserve(1_000_000, 10_000, 32_000), Ok((850_000, 32_000)));
    assert_eq!(reserve(850_000, 10_000, 32_000), Ok((850_000, 32_000)));
    assert_eq!(reserve(849_999, 10_000, 32_000), Ok((849_975, 31_999)));
    assert_eq!(reserve(100_000, 10_000, 32_000), Ok((100_000, 2_000)));
    assert_eq!(reserve(75_600, 10_000, 32_000), Ok((75_600, 1_024)));
    assert_eq!(reserve(75_599, 10_000, 32_000), Err(75_600));
    // Settings that allow less than the smallest reply do.
    assert_eq!(reserve(52_500, 10_000, 100), Ok((52_500, 100)));
    assert_eq!(reserve(0, u64::MAX, u32::MAX), Err(u64::MAX));
    // What is free of charge fits any limit.
    let free = TokenPrices {
        input: 0,
        output: 0,
    };
    let reserved = SpendingReservation::within(0, free, size(9, 9_000)).unwrap();
    assert_eq!((reserved.micro_usd, reserved.output), (0, 9_000));
}

struct Flat;

impl PriceList for Flat {
    fn cost(&self, model: &str, used: &ModelTotals) -> Option<u64> {
        (model != "unknown").then(|| used.usage.input_tokens + 5 * used.usage.output_tokens)
    }

    fn highest(&self, _: &str, _: u64) -> Option<TokenPrices> {
        Some(TokenPrices {
            input: 1_000_000,
            output: 5_000_000,
        })
    }
}

fn totals(input: u64, output: u64, unsettled: u64) -> Totals {
    let usage = TokenUsage {
        input_tokens: input,
        output_tokens: output,
        ..TokenUsage::default()
    };
    let of_model = ModelTotals {
        usage,
        ..ModelTotals::default()
    };
    Totals {
        models: BTreeMap::from([("m".to_owned(), of_model)]),
        unsettled_micro_usd: unsettled,
        ..Totals::default()
    }
}

/// Spec: [BUDGET-03]
#[test]
fn the_rest_is_the_limit_without_priced_usage_and_reservations_since_the_start() {
    let budget = RunBudget::new(1_000, &totals(7, 7, 100));
    assert_eq!(budget.rest(&totals(7, 7, 100), &Flat), 1_000);
    assert_eq!(budget.rest(&totals(17, 9, 100), &Flat), 1_000 - 10 - 10);
    assert_eq!(budget.rest(&totals(17, 9, 400), &Flat), 1_000 - 20 - 300);
    assert_eq!(budget.rest(&totals(7, 7_000, 100), &Flat), 0);
}

proptest! {
    /// Whatever a request and its reply really have, attempts that are admitted one after the other never cost more
    /// than the limit, also if most of them break off and are charged in full.
    ///
    /// Spec: [BUDGET-01] [BUDGET-03]
    #[test]
    fn admitted_requests_never_cost_more_than_the_limit(
        limit in 0_u64..3_000_000,
        attempts in prop::collection::vec((0_u64..40_000, 1_u32..40_000, any::<bool>(), 0_u32..=100), 0..60),
    ) {
        let start = totals(3, 3, 5);
        let budget = RunBudget::new(limit, &start);
        let (mut now, mut real) = (start, 0_u64);
        for (input, output, breaks, part) in attempts {
            let prices = Flat.highest("m", input).unwrap();
            let rest = budget.rest(&now, &Flat);
            let Ok(reserved) = SpendingReservation::within(rest, prices, size(input, output)) else {
                continue;
            };
            prop_assert!(reserved.micro_usd <= rest && reserved.output <= output);
            now.unsettled_micro_usd += reserved.micro_usd;
            // The API charges what it generated, whether the reply arrived or not.
            let (used_in, used_out) = (input * u64::from(part) / 100, u64::from(reserved.output * part / 100));
            real += used_in + 5 * used_out;
            if !breaks {
                let model = now.models.get_mut("m").unwrap();
                model.usage.input_tokens += used_in;
                model.usage.output_tokens += used_out;
                now.unsettled_micro_usd -= reserved.micro_usd;
            }
        }
        prop_assert!(real <= limit);
    }
}
