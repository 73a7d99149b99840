//! One row a rule for thinking and effort.

use serde_json::{Value, json};

use super::tests::{body, check_rows, verdict};

/// A request of this model that asks for this kind of thinking.
fn thinking(model: &str, kind: &str) -> Value {
    let mut thinking = json!({"type": kind});
    if kind == "enabled" {
        thinking["budget_tokens"] = 1024.into();
    }
    body(json!({"model": model, "thinking": thinking}))
}

fn format(schema: &Value) -> Value {
    let format = json!({"type": "json_schema", "schema": schema});
    body(json!({"output_config": {"format": format}}))
}

fn effort(model: &str, effort: &str) -> Value {
    body(json!({"model": model, "output_config": {"effort": effort}}))
}

#[test]
fn each_generation_takes_its_own_thinking() {
    let rows = [
        ("claude-haiku-4-5-20251001", [false, true, true]),
        ("claude-sonnet-4-5", [false, true, true]),
        ("claude-sonnet-4-6", [true, true, true]),
        ("claude-opus-4-7", [true, false, true]),
        ("claude-fable-5-1", [true, false, false]),
        ("claude-opus-5-5", [true, false, false]),
        ("claude-sonnet-5-5", [true, false, false]),
        ("claude-sonnet-5", [true, false, true]),
        ("claude-haiku-5-5", [true, false, true]),
        ("claude-test", [true, true, true]),
    ];
    for (model, taken) in rows {
        for (kind, taken) in ["adaptive", "enabled", "disabled"].into_iter().zip(taken) {
            let verdict = verdict(&thinking(model, kind));
            let refused = verdict.starts_with("thinking.type: ");
            assert!(
                taken == (verdict == "valid") && taken != refused,
                "{model} {kind}: {verdict}"
            );
        }
    }
}

#[test]
fn the_highest_efforts_of_some_do_not_go_without_thinking() {
    for (model, level, is_taken) in [
        ("claude-opus-5", "high", true),
        ("claude-opus-5", "xhigh", false),
        ("claude-haiku-5-5", "max", false),
        ("claude-opus-4-8", "max", true),
    ] {
        let mut asked = thinking(model, "disabled");
        asked["output_config"] = json!({"effort": level});
        let verdict = verdict(&asked);
        assert_eq!(verdict == "valid", is_taken, "{model} {level}: {verdict}");
    }
    assert_eq!(
        verdict(&thinking("claude-sonnet-5-5", "between_tools")),
        "valid"
    );
}

#[test]
fn each_generation_takes_its_own_efforts() {
    let rows = [
        ("claude-haiku-4-5-20251001", ""),
        ("claude-opus-4-5", "low medium high"),
        ("claude-sonnet-4-6", "low medium high max"),
        ("claude-opus-4-6", "low medium high max"),
        ("claude-opus-4-7", "low medium high xhigh max"),
        ("claude-sonnet-5-5", "low medium high xhigh max"),
    ];
    for (model, taken) in rows {
        for level in ["low", "medium", "high", "xhigh", "max"] {
            let verdict = verdict(&effort(model, level));
            let is_taken = taken.split(' ').any(|name| name == level);
            assert_eq!(verdict == "valid", is_taken, "{model} {level}: {verdict}");
        }
    }
}

#[test]
fn the_fields_of_thinking_and_effort_are_checked() {
    let with = |thinking: Value| body(json!({"model": "claude-test", "thinking": thinking}));
    check_rows(vec![
        (
            with(json!({"type": "adaptive", "display": "omitted"})),
            "valid",
        ),
        (
            with(json!({"type": "adaptive", "display": "loud"})),
            "thinking.adaptive.display:",
        ),
        (
            with(json!({"type": "adaptive", "budget_tokens": 2000})),
            "thinking.adaptive.budget",
        ),
        (with(json!({"type": "deep"})), "thinking.type:"),
        (with(json!("adaptive")), "thinking:"),
        (
            with(json!({"type": "enabled", "budget_tokens": 1023})),
            "greater than or equal to 1024",
        ),
        (
            with(json!({"type": "enabled", "budget_tokens": 1999})),
            "valid",
        ),
        (
            with(json!({"type": "enabled", "budget_tokens": 2000})),
            "`max_tokens` must be greater",
        ),
        (
            effort("claude-test", "extreme"),
            "output_config.effort: Input should be",
        ),
        (
            effort("claude-sonnet-4-5", "low"),
            "does not support the effort parameter",
        ),
        (
            effort("claude-opus-4-5", "max"),
            "Supported levels: low, medium, high.",
        ),
        (
            body(json!({"output_config": {"depth": 1}})),
            "output_config.depth: Extra",
        ),
        (
            format(&json!({"type": "object"})),
            "output_config.format.schema: For 'object' type",
        ),
        (
            format(&json!({"type": "array", "items": {"type": "integer", "minimum": 1}})),
            "output_config.format.schema.items: For this type, property 'minimum'",
        ),
        (
            body(json!({"max_tokens": 128_001})),
            "max_tokens: 128001 > 128000",
        ),
    ]);
}

#[test]
fn with_a_budget_the_last_tool_round_begins_with_thinking() {
    let call = json!({"type": "tool_use", "id": "a", "name": "read", "input": {}});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    let hidden = json!({"type": "redacted_thinking", "data": "x"});
    let round = |reply: Value, kind: Value| {
        let results = json!([{"type": "tool_result", "tool_use_id": "a", "content": "x"}]);
        body(
            json!({"model": "claude-test", "thinking": kind, "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": reply},
                {"role": "user", "content": results},
            ]}),
        )
    };
    let enabled = json!({"type": "enabled", "budget_tokens": 1024});
    let found = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but \
                 found `tool_use`";
    check_rows(vec![
        (round(json!([call]), enabled.clone()), found),
        (round(json!([thought, call]), enabled.clone()), "valid"),
        (round(json!([hidden, call]), enabled), "valid"),
        (round(json!([call]), json!({"type": "adaptive"})), "valid"),
    ]);
}
