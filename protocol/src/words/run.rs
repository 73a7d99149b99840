//! The line that ends a run.

use super::counts::{counted, short_count};
use super::time::took;
use crate::TokenUsage;

/// The duration of a run and the tokens that it used: `12 s · 3.1k in, 0.8k out`; empty if neither is known. Tokens
/// that the API had in its cache count as sent.
#[must_use]
pub fn run_facts(duration_ms: Option<u64>, usage: &TokenUsage) -> String {
    let sent = usage
        .input_tokens
        .saturating_add(usage.cache_creation_input_tokens)
        .saturating_add(usage.cache_read_input_tokens);
    let mut facts: Vec<String> = duration_ms.map(took).into_iter().collect();
    if sent > 0 || usage.output_tokens > 0 {
        let (sent, replied) = (short_count(sent), short_count(usage.output_tokens));
        facts.push(format!("{sent} in, {replied} out"));
    }
    if usage.web_search_requests > 0 {
        facts.push(counted(usage.web_search_requests, "search", "searches"));
    }
    facts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [VIEW-266]
    #[test]
    fn a_run_ends_with_what_is_known_of_it() {
        let usage = TokenUsage {
            input_tokens: 1_100,
            output_tokens: 812,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 2_000,
            ..TokenUsage::default()
        };
        let none = TokenUsage::default();
        assert_eq!(run_facts(Some(12_300), &usage), "12 s · 3.1k in, 812 out");
        assert_eq!(run_facts(None, &usage), "3.1k in, 812 out");
        let searched = TokenUsage {
            web_search_requests: 2,
            ..usage
        };
        assert_eq!(run_facts(None, &searched), "3.1k in, 812 out · 2 searches");
        assert_eq!(run_facts(Some(40), &none), "40 ms");
        assert_eq!(run_facts(None, &none), "");
    }
}
