//! The betas of the API that a request may use: each is a header, a field, and perhaps a block in later requests. They go
//! together or not at all, so that a server that refuses a beta is asked without every part of it.
//!
//! Source: the API's documentation of beta headers, of refusals and fallback, and of context editing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ModelError;
use super::web_tools::is_thinking;

/// A beta of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiBeta {
    /// The API asks another model in the same request, if the first one declines.
    RefusalFallback,
    /// The API leaves the oldest results of tools out of a long request.
    ToolResultClearing,
}

/// Some betas.
pub(super) type BetaSet = BTreeSet<ApiBeta>;

/// The parts of a beta.
struct BetaRow {
    beta: ApiBeta,
    /// Its name in the header `anthropic-beta`, with the date at its end.
    header: &'static str,
    /// Its field of a request.
    field: &'static str,
    /// The type of the blocks that it adds to a reply, which later requests repeat.
    block: Option<&'static str>,
    /// The words for a request without it, as they follow "asking again".
    without: &'static str,
}

/// All betas, in the order of [`ApiBeta`].
const BETAS: [BetaRow; 2] = [
    BetaRow {
        beta: ApiBeta::RefusalFallback,
        header: "server-side-fallback-2026-07-01",
        field: "fallbacks",
        block: Some("fallback"),
        without: "without another model for refusals",
    },
    BetaRow {
        beta: ApiBeta::ToolResultClearing,
        header: "context-management-2025-06-27",
        field: "context_management",
        block: None,
        without: "without clearing results of tools",
    },
];

/// Number of tokens that a clearing takes out at least: each one costs the API's cache of the request.
const CLEAR_AT_LEAST: u32 = 20_000;

impl BetaRow {
    /// The name without its date.
    fn name(&self) -> &'static str {
        let date = self.header.len().saturating_sub("-2026-01-01".len());
        &self.header[..date]
    }

    fn value(&self) -> Value {
        match self.beta {
            ApiBeta::RefusalFallback => json!("default"),
            ApiBeta::ToolResultClearing => json!({"edits": [{
                "type": "clear_tool_uses_20250919",
                "clear_at_least": {"type": "input_tokens", "value": CLEAR_AT_LEAST},
            }]}),
        }
    }

    /// True if a refusal, in small letters, names one of the parts.
    ///
    /// Source: the API names the header or the path of the field, and a block by its tag; gateways that leave the header
    /// out get the other two.
    fn is_named(&self, message: &str) -> bool {
        let has_block = |block: &str| {
            ['\'', '"', '`']
                .iter()
                .any(|quote| message.contains(&format!("{quote}{block}{quote}")))
        };
        message.contains(self.name())
            || has_word(message, self.field)
            || self.block.is_some_and(has_block)
    }
}

fn rows(betas: &BetaSet) -> impl Iterator<Item = &'static BetaRow> {
    BETAS.iter().filter(|row| betas.contains(&row.beta))
}

/// The value of the header `anthropic-beta` for these betas. `None` for none.
#[cfg(any(feature = "client", test))]
pub(super) fn header(betas: &BetaSet) -> Option<String> {
    let names: Vec<&str> = rows(betas).map(|row| row.header).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// The fields of a request with these betas, each with a comma in front.
pub(super) fn fields(betas: &BetaSet) -> String {
    let field = |row: &BetaRow| format!(",\"{}\":{}", row.field, row.value());
    rows(betas).map(field).collect()
}

/// The betas that an error refuses, of those that a request had: the ones that it names, or all of them where it refuses
/// betas and names none.
pub(super) fn refused(error: &ModelError, sent: &BetaSet) -> BetaSet {
    let ModelError::Api {
        status: 400 | 403 | 404 | 415 | 422 | 501,
        message,
        ..
    } = error
    else {
        return BetaSet::new();
    };
    // A quoted body has its quotes escaped.
    let message = message.to_ascii_lowercase().replace('\\', "");
    let named: BetaSet = rows(sent)
        .filter(|row| row.is_named(&message))
        .map(|row| row.beta)
        .collect();
    let is_about_betas = ["anthropic-beta", "anthropic_beta"]
        .iter()
        .any(|name| message.contains(name))
        || has_word(&message, "beta")
        || has_word(&message, "betas");
    if named.is_empty() && is_about_betas {
        sent.clone()
    } else {
        named
    }
}

/// The words for a request without these betas, as they follow "asking again".
pub(super) fn without(betas: &BetaSet) -> String {
    let words: Vec<&str> = rows(betas).map(|row| row.without).collect();
    words.join(", ")
}

/// True if a text has the word, and not only as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let behind = text[start + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !behind.is_some_and(is_of_word)
    })
}

/// A body without what is only taken with the beta for refusals: the marks of a change of the model, and the thinking of
/// the replies with one, which was signed beside it.
pub(super) fn without_fallbacks(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let Some(blocks) = message["content"].as_array_mut() else {
            continue;
        };
        if blocks.iter().any(is_fallback) {
            blocks.retain(|block| !is_fallback(block) && !is_thinking(block));
        }
    }
}

fn is_fallback(block: &Value) -> bool {
    block["type"] == "fallback"
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [ApiBeta; 2] = [ApiBeta::RefusalFallback, ApiBeta::ToolResultClearing];

    fn error(status: u16, message: &str) -> ModelError {
        ModelError::Api {
            status,
            kind: "invalid_request_error".to_owned(),
            message: message.to_owned(),
            request_id: None,
        }
    }

    /// Spec: [MODEL-801]
    #[test]
    fn the_header_and_the_fields_go_together() {
        assert_eq!(
            (header(&BetaSet::new()), fields(&BetaSet::new())),
            (None, String::new())
        );
        let betas = BetaSet::from(BOTH);
        let expected = "server-side-fallback-2026-07-01,context-management-2025-06-27";
        assert_eq!(header(&betas).as_deref(), Some(expected));
        let body: Value = serde_json::from_str(&format!("{{\"a\":1{}}}", fields(&betas))).unwrap();
        assert_eq!(body["fallbacks"], "default");
        assert_eq!(
            body["context_management"]["edits"][0]["clear_at_least"]["value"],
            20_000
        );
        for row in BETAS {
            let one = BetaSet::from([row.beta]);
            assert!(
                header(&one).unwrap().starts_with(row.name()) && fields(&one).contains(row.field)
            );
        }
    }

    /// Spec: [MODEL-802]
    #[test]
    fn a_refusal_names_betas_or_means_all() {
        let both = BetaSet::from(BOTH);
        for (message, left) in [
            (
                "context_management: Extra inputs are not permitted",
                &BOTH[1..],
            ),
            (
                "[{'type': 'extra_forbidden', 'loc': ('body', 'context_management')}]",
                &BOTH[1..],
            ),
            (
                "Unsupported beta header: context-management-2025-06-27",
                &BOTH[1..],
            ),
            ("fallbacks: Extra inputs are not permitted", &BOTH[..1]),
            (
                "messages.1.content.1: Input tag 'fallback' found using 'type' does not match",
                &BOTH[..1],
            ),
            (
                "unknown variant `fallback`, expected one of `text`",
                &BOTH[..1],
            ),
            ("fallbacks and context_management are not supported", &BOTH),
            ("invalid beta flag", &BOTH),
            (
                "Unexpected value(s) `x` for the `anthropic-beta` header",
                &BOTH,
            ),
            ("This organization has no access to beta features", &BOTH),
        ] {
            let left: BetaSet = left.iter().copied().collect();
            for status in [400, 404, 422] {
                assert_eq!(refused(&error(status, message), &both), left, "{message}");
            }
            assert_eq!(
                refused(&error(401, message), &both),
                BetaSet::new(),
                "{message}"
            );
            assert_eq!(
                refused(&error(529, message), &both),
                BetaSet::new(),
                "{message}"
            );
        }
        for message in [
            "prompt is too long: 215000 tokens > 200000 maximum",
            "max_tokens: 128000 > 64000",
            "no fallback is configured for this alphabet",
        ] {
            assert_eq!(
                refused(&error(400, message), &both),
                BetaSet::new(),
                "{message}"
            );
        }
        let detail = br#"{"detail":[{"type":"union_tag","msg":"Input tag 'fallback' found"}]}"#;
        let quoted = ModelError::of_answer(422, detail, None);
        assert_eq!(
            refused(&quoted, &both),
            BetaSet::from([ApiBeta::RefusalFallback])
        );
        // What was not sent cannot be left out.
        let one = BetaSet::from([ApiBeta::RefusalFallback]);
        let of_other = error(400, "context_management: Extra inputs are not permitted");
        assert_eq!(refused(&of_other, &one), BetaSet::new());
        assert_eq!(
            refused(&error(400, "invalid beta flag"), &BetaSet::new()),
            BetaSet::new()
        );
    }

    /// Spec: [MODEL-803]
    #[test]
    fn without_the_beta_neither_the_mark_nor_the_thinking_beside_it_is_sent() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let thought = json!({"type": "thinking", "thinking": "t", "signature": "s"});
        let hidden = json!({"type": "redacted_thinking", "data": "x"});
        let hop = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
        let mut body = json!({"messages": [
            {"role": "user", "content": [text("hi")]},
            {"role": "assistant", "content": [text("Part."), hop, thought, hidden, text("Rest.")]},
            {"role": "user", "content": [text("more")]},
            {"role": "assistant", "content": [thought, text("Yes.")]},
        ]});
        without_fallbacks(&mut body);
        assert_eq!(
            body["messages"][1]["content"],
            json!([text("Part."), text("Rest.")])
        );
        assert_eq!(
            body["messages"][3]["content"],
            json!([thought, text("Yes.")])
        );
    }
}
