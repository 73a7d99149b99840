//! The extras of a request: parts of the API that a server may not take. Each is a header of a beta, a field and perhaps a
//! block in later requests, or some of these. They go together or not at all, so that a server that refuses one is asked
//! without every part of it.
//!
//! Source: the API's documentation of beta headers, of refusals and fallback, of context editing, and of structured
//! outputs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ModelError;
use super::web_tools::is_thinking;

/// A part of a request that a server may not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestExtra {
    /// The API asks another model in the same request, if the first one declines.
    RefusalFallback,
    /// The API leaves the oldest results of tools out of a long request.
    ToolResultClearing,
    /// The reply is a JSON document that fits a schema.
    ReplySchema,
    /// The API streams long inputs of tools before it knows that they are JSON.
    EagerInput,
}

/// The field of a tool whose inputs are streamed so.
pub(crate) const EAGER_INPUT: &str = "eager_input_streaming";

/// Some extras.
pub(super) type ExtraSet = BTreeSet<RequestExtra>;

/// The parts of an extra.
struct ExtraRow {
    extra: RequestExtra,
    /// The name of its beta in the header `anthropic-beta`, with the date at its end. `None` if it is part of the API for
    /// all.
    header: Option<&'static str>,
    /// The words by which a refusal names its field.
    field: &'static [&'static str],
    /// The type of the blocks that it adds to a reply, which later requests repeat.
    block: Option<&'static str>,
    /// The words for a request without it, as they follow "asking again".
    without: &'static str,
}

/// All extras, in the order of [`RequestExtra`].
const EXTRAS: [ExtraRow; 4] = [
    ExtraRow {
        extra: RequestExtra::RefusalFallback,
        header: Some("server-side-fallback-2026-07-01"),
        field: &["fallbacks"],
        block: Some("fallback"),
        without: "without another model for refusals",
    },
    ExtraRow {
        extra: RequestExtra::ToolResultClearing,
        header: Some("context-management-2025-06-27"),
        field: &["context_management"],
        block: None,
        without: "without clearing results of tools",
    },
    ExtraRow {
        extra: RequestExtra::ReplySchema,
        header: None,
        field: &[
            "output_config",
            "json_schema",
            "structured output",
            "structured outputs",
        ],
        block: None,
        without: "without the schema of the reply",
    },
    ExtraRow {
        extra: RequestExtra::EagerInput,
        header: None,
        field: &[EAGER_INPUT],
        block: None,
        without: "without the early stream of inputs",
    },
];

/// Number of tokens that a clearing takes out at least: each one costs the API's cache of the request.
const CLEAR_AT_LEAST: u32 = 20_000;

impl ExtraRow {
    /// The name of the beta without its date.
    fn name(&self) -> Option<&'static str> {
        let header = self.header?;
        header.get(..header.len().checked_sub("-2026-01-01".len())?)
    }

    /// The field with a comma in front. The schema is part of a field that has more than it, and inputs are of tools.
    fn field(&self) -> String {
        match self.extra {
            RequestExtra::RefusalFallback => r#","fallbacks":"default""#.to_owned(),
            RequestExtra::ToolResultClearing => {
                let value = json!({"edits": [{
                    "type": "clear_tool_uses_20250919",
                    "clear_at_least": {"type": "input_tokens", "value": CLEAR_AT_LEAST},
                }]});
                format!(r#","context_management":{value}"#)
            }
            RequestExtra::ReplySchema | RequestExtra::EagerInput => String::new(),
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
        // The effort is in the same field as the schema.
        let is_of_other = self.extra == RequestExtra::ReplySchema && has_word(message, "effort");
        self.name().is_some_and(|name| message.contains(name))
            || (!is_of_other && self.field.iter().any(|word| has_word(message, word)))
            || self.block.is_some_and(has_block)
    }
}

fn rows(extras: &ExtraSet) -> impl Iterator<Item = &'static ExtraRow> {
    EXTRAS.iter().filter(|row| extras.contains(&row.extra))
}

/// The value of the header `anthropic-beta` for these extras. `None` if none is of a beta.
#[cfg(any(feature = "client", test))]
pub(super) fn header(extras: &ExtraSet) -> Option<String> {
    let names: Vec<&str> = rows(extras).filter_map(|row| row.header).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// The extras that need no header.
pub(super) fn without_header(mut extras: ExtraSet) -> ExtraSet {
    let with_header = rows(&extras).filter(|row| row.header.is_some());
    let with_header: ExtraSet = with_header.map(|row| row.extra).collect();
    extras.retain(|extra| !with_header.contains(extra));
    extras
}

/// The fields of a request with these extras, each with a comma in front, but for the schema and what is in the tools.
pub(super) fn fields(extras: &ExtraSet) -> String {
    rows(extras).map(ExtraRow::field).collect()
}

/// The extras that an error refuses, of those that a request had: the ones that it names, or all betas where it refuses
/// betas and names none.
pub(super) fn refused(error: &ModelError, sent: &ExtraSet) -> ExtraSet {
    let Some(message) = refusal(error) else {
        return ExtraSet::new();
    };
    let named: ExtraSet = rows(sent)
        .filter(|row| row.is_named(&message))
        .map(|row| row.extra)
        .collect();
    let is_about_betas = ["anthropic-beta", "anthropic_beta"]
        .iter()
        .any(|name| message.contains(name))
        || has_word(&message, "beta")
        || has_word(&message, "betas");
    if named.is_empty() && is_about_betas {
        let betas = rows(sent).filter(|row| row.header.is_some());
        betas.map(|row| row.extra).collect()
    } else {
        named
    }
}

/// True if an error refuses a schema for what is in it or beside it in the request, so that others may be taken.
pub(super) fn is_about_this_schema(error: &ModelError) -> bool {
    let reasons = ["format.schema", "citation", "prefill"];
    refusal(error).is_some_and(|message| reasons.iter().any(|reason| message.contains(reason)))
}

/// The text of an error by which a server can refuse a part of a request, in small letters.
fn refusal(error: &ModelError) -> Option<String> {
    let ModelError::Api {
        status: 400 | 403 | 404 | 415 | 422 | 501,
        message,
        ..
    } = error
    else {
        return None;
    };
    // A quoted body has its quotes escaped.
    Some(message.to_ascii_lowercase().replace('\\', ""))
}

/// The words for a request without these extras, as they follow "asking again".
pub(super) fn without(extras: &ExtraSet) -> String {
    let words: Vec<&str> = rows(extras).map(|row| row.without).collect();
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

    const BOTH: [RequestExtra; 2] = [
        RequestExtra::RefusalFallback,
        RequestExtra::ToolResultClearing,
    ];

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
            (header(&ExtraSet::new()), fields(&ExtraSet::new())),
            (None, String::new())
        );
        let extras = ExtraSet::from(BOTH);
        let expected = "server-side-fallback-2026-07-01,context-management-2025-06-27";
        assert_eq!(header(&extras).as_deref(), Some(expected));
        let body: Value = serde_json::from_str(&format!("{{\"a\":1{}}}", fields(&extras))).unwrap();
        assert_eq!(body["fallbacks"], "default");
        assert_eq!(
            body["context_management"]["edits"][0]["clear_at_least"]["value"],
            20_000
        );
        for row in &EXTRAS[..2] {
            let one = ExtraSet::from([row.extra]);
            assert!(header(&one).unwrap().starts_with(row.name().unwrap()));
            assert!(fields(&one).contains(row.field[0]));
        }
        let schema = ExtraSet::from([RequestExtra::ReplySchema]);
        assert_eq!((header(&schema), fields(&schema)), (None, String::new()));
        let all = EXTRAS.iter().map(|row| row.extra).collect();
        let plain = ExtraSet::from([RequestExtra::ReplySchema, RequestExtra::EagerInput]);
        assert_eq!(without_header(all), plain);
    }

    /// Spec: [MODEL-802]
    #[test]
    fn a_refusal_names_betas_or_means_all() {
        let both = ExtraSet::from(BOTH);
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
            let left: ExtraSet = left.iter().copied().collect();
            for status in [400, 404, 422] {
                assert_eq!(refused(&error(status, message), &both), left, "{message}");
            }
            assert_eq!(
                refused(&error(401, message), &both),
                ExtraSet::new(),
                "{message}"
            );
            assert_eq!(
                refused(&error(529, message), &both),
                ExtraSet::new(),
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
                ExtraSet::new(),
                "{message}"
            );
        }
        let detail = br#"{"detail":[{"type":"union_tag","msg":"Input tag 'fallback' found"}]}"#;
        let quoted = ModelError::of_answer(422, detail, None);
        assert_eq!(
            refused(&quoted, &both),
            ExtraSet::from([RequestExtra::RefusalFallback])
        );
        // What was not sent cannot be left out.
        let one = ExtraSet::from([RequestExtra::RefusalFallback]);
        let of_other = error(400, "context_management: Extra inputs are not permitted");
        assert_eq!(refused(&of_other, &one), ExtraSet::new());
        assert_eq!(
            refused(&error(400, "invalid beta flag"), &ExtraSet::new()),
            ExtraSet::new()
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

    /// Spec: [MODEL-808]
    #[test]
    fn a_schema_is_refused_by_its_field_and_not_with_the_betas() {
        let all: ExtraSet = EXTRAS.iter().map(|row| row.extra).collect();
        let schema = ExtraSet::from([RequestExtra::ReplySchema]);
        for message in [
            "output_config.format: Extra inputs are not permitted",
            "output_config: Extra inputs are not permitted",
            "[{'type': 'extra_forbidden', 'loc': ('body', 'output_config', 'format')}]",
            "This model does not support structured outputs.",
            "unknown format `json_schema`",
        ] {
            assert_eq!(refused(&error(400, message), &all), schema, "{message}");
        }
        assert_eq!(
            refused(&error(400, "invalid beta flag"), &all),
            ExtraSet::from(BOTH)
        );
        for message in [
            "output_config.effort: Input should be 'low'",
            "This model does not support the effort parameter.",
        ] {
            assert_eq!(
                refused(&error(400, message), &all),
                ExtraSet::new(),
                "{message}"
            );
        }
        let eager = "tools.4.custom.eager_input_streaming: Extra inputs are not permitted";
        assert_eq!(
            refused(&error(400, eager), &all),
            ExtraSet::from([RequestExtra::EagerInput])
        );
        let of_this = "output_config.format.schema: too many optional fields";
        assert!(is_about_this_schema(&error(400, of_this)));
        assert!(!is_about_this_schema(&error(
            400,
            "output_config.format: Extra inputs are not permitted"
        )));
    }
}
