use serde_json::{Value, json};

use super::*;
use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off as No, XHigh};

const LEVELS: [ThinkingLevel; 7] = [No, Minimal, Low, Medium, High, XHigh, Max];

/// The outcome of a level, in short: nothing is `-`, adaptive thinking its effort, a budget its
/// number of tokens with the effort behind it.
fn short(level: ThinkingLevel, info: Option<&ModelInfo>, model: &str, max_tokens: u32) -> String {
    let fields = match thinking_fields(level, info, model, max_tokens, false) {
        Ok(fields) => fields,
        Err("how it thinks is not known") => return "unknown".to_owned(),
        Err("it does not think" | "max_tokens leaves no room to think") if level != No => {
            return "-".to_owned();
        }
        Err(other) => panic!("{other}"),
    };
    let effort = fields.effort.unwrap_or_default();
    let fields: Value =
        serde_json::from_str(&format!(r#"{{"x":0{}}}"#, fields.thinking())).unwrap();
    let mut fields = fields.as_object().unwrap().clone();
    fields.remove("x");
    let thinking = fields.remove("thinking").unwrap_or_default();
    assert!(fields.is_empty(), "{fields:?}");
    if thinking.is_null() {
        assert_eq!(effort, "", "an effort without thinking");
        return "-".to_owned();
    }
    if let Some(budget) = thinking["budget_tokens"].as_u64() {
        assert_eq!(
            thinking,
            json!({"type": "enabled", "budget_tokens": budget})
        );
        return format!("{budget}{effort}");
    }
    match thinking["type"].as_str().unwrap() {
        "adaptive" => {
            let expected = json!({"type": "adaptive", "display": "summarized"});
            assert_eq!(thinking, expected);
            format!("~{effort}")
        }
        kind => {
            assert_eq!((thinking.as_object().unwrap().len(), effort), (1, ""));
            kind.to_owned()
        }
    }
}

fn row(info: Option<&ModelInfo>, model: &str) -> String {
    LEVELS
        .map(|level| short(level, info, model, 100_000))
        .join(" ")
}

const NEVER: &str = "- - - - - - -";
const BUDGET: &str = "- 1024 2048 8192 16384 16384 16384";
const UNKNOWN: &str = "unknown unknown unknown unknown unknown unknown unknown";

/// Spec: [MODEL-38] [MODEL-39] [MODEL-40] [MODEL-41]
#[test]
fn each_generation_is_told_in_its_own_words() {
    let adaptive = |off: &str| format!("{off} ~low ~low ~medium ~high ~xhigh ~max");
    let asked = adaptive("-");
    let disabled = adaptive("disabled");
    let always = adaptive("~low");
    let opus_4_5 = "- 1024low 2048low 8192medium 16384high 16384high 16384high";
    let without_xhigh = "- ~low ~low ~medium ~high ~max ~max";
    for (model, expected) in [
        ("claude-3-haiku-20240307", NEVER),
        ("claude-3-5-sonnet-20241022", NEVER),
        ("claude-3-5-haiku-latest", NEVER),
        ("claude-3-7-sonnet-20250219", BUDGET),
        ("claude-sonnet-4-20250514", BUDGET),
        ("claude-opus-4-1-20250805", BUDGET),
        ("claude-haiku-4-5-20251001", BUDGET),
        ("claude-haiku-4-5", BUDGET),
        ("claude-sonnet-4-5-20250929", BUDGET),
        ("claude-opus-4-5-20251101", opus_4_5),
        ("claude-opus-4-6", without_xhigh),
        ("claude-sonnet-4-6", without_xhigh),
        ("claude-opus-4-7", &asked),
        ("claude-opus-4-8", &asked),
        ("claude-opus-5", &disabled),
        ("claude-sonnet-5", &disabled),
        ("claude-haiku-5-5", &disabled),
        ("claude-opus-5-5", &always),
        ("claude-sonnet-5-5", &always),
        ("claude-fable-5", &always),
        ("claude-fable-5-1", &always),
        ("claude-opus-6", UNKNOWN),
        ("claude-something-5", UNKNOWN),
        ("claude-haiku", UNKNOWN),
        ("claude-haiku-4-6", UNKNOWN),
        ("claude-opus-4-5-1-1", UNKNOWN),
        ("gpt-x", UNKNOWN),
        ("anthropic/claude-opus-4.5", UNKNOWN),
        ("", UNKNOWN),
    ] {
        assert_eq!(row(None, model), expected, "{model}");
        // The API may say nothing of it.
        assert_eq!(row(Some(&ModelInfo::default()), model), expected, "{model}");
    }
}

fn info(capabilities: &Value) -> ModelInfo {
    serde_json::from_value(json!({"id": "m", "capabilities": capabilities})).unwrap()
}

/// Spec: [MODEL-38] [MODEL-41]
#[test]
fn what_the_api_reports_goes_before_the_generation() {
    let yes = json!({"supported": true});
    let no = json!({"supported": false});
    let thinking = |adaptive: &Value, enabled: &Value| json!({"supported": true, "types": {"adaptive": adaptive, "enabled": enabled}});
    let some = json!({"supported": true, "medium": yes, "xhigh": null, "max": yes, "low": no});
    for (model, capabilities, expected) in [
        // Upwards first, then downwards.
        (
            "third-party",
            json!({"thinking": thinking(&yes, &no), "effort": some}),
            "~medium ~medium ~medium ~medium ~max ~max ~max",
        ),
        (
            "third-party",
            json!({
                "thinking": thinking(&yes, &yes),
                "effort": {"supported": true, "low": yes, "medium": yes},
            }),
            "~low ~low ~low ~medium ~medium ~medium ~medium",
        ),
        (
            "third-party",
            json!({"thinking": thinking(&yes, &no), "effort": no}),
            "~ ~ ~ ~ ~ ~ ~",
        ),
        (
            "third-party",
            json!({"thinking": thinking(&yes, &no)}),
            "~ ~ ~ ~ ~ ~ ~",
        ),
        (
            "third-party",
            json!({"thinking": thinking(&no, &yes)}),
            BUDGET,
        ),
        (
            "third-party",
            json!({"thinking": thinking(&no, &no)}),
            NEVER,
        ),
        ("third-party", json!({"thinking": no}), NEVER),
        ("third-party", json!({"thinking": yes}), UNKNOWN),
        ("third-party", json!({"effort": some}), UNKNOWN),
        ("claude-opus-5-5", json!({"thinking": no}), NEVER),
        (
            "claude-opus-4-5",
            json!({"thinking": thinking(&no, &yes), "effort": no}),
            BUDGET,
        ),
        // What it leaves out, the generation tells.
        (
            "claude-haiku-5-5",
            json!({"thinking": yes, "effort": null}),
            "disabled ~low ~low ~medium ~high ~xhigh ~max",
        ),
        (
            "claude-opus-4-8",
            json!({"thinking": thinking(&yes, &no), "effort": some}),
            "- ~medium ~medium ~medium ~max ~max ~max",
        ),
        (
            "claude-opus-4-8",
            json!({"thinking": {"types": {"adaptive": no}}}),
            NEVER,
        ),
    ] {
        let info = info(&capabilities);
        assert_eq!(row(Some(&info), model), expected, "{model} {capabilities}");
    }
}

/// Spec: [MODEL-39]
#[test]
fn a_budget_leaves_room_for_the_reply_or_is_not_sent() {
    let budget = |level, max_tokens| short(level, None, "claude-haiku-4-5", max_tokens);
    for (level, max_tokens, expected) in [
        (Max, 4096, "3072"),
        (Low, 3072, "2048"),
        (Low, 3071, "2047"),
        (Minimal, 1500, "1024"),
        (Max, 2048, "1024"),
        (Max, 1025, "1024"),
        (Max, 1024, "-"),
        (Max, 1, "-"),
        (High, u32::MAX, "16384"),
    ] {
        assert_eq!(
            budget(level, max_tokens),
            expected,
            "{level:?} {max_tokens}"
        );
    }
    // Adaptive thinking has no such limit.
    assert_eq!(short(Max, None, "claude-opus-5-5", 1), "~max");
}

/// Spec: [MODEL-39]
#[test]
fn calls_without_thinking_before_them_are_answered_without_a_budget() {
    let fields = |model, lacks| thinking_fields(High, None, model, 9000, lacks);
    let reason = "the reply that goes on began without";
    assert_eq!(fields("claude-haiku-4-5", true), Err(reason));
    assert!(fields("claude-haiku-4-5", false).unwrap().thinks());
    let adaptive = fields("claude-opus-5-5", true);
    assert!(adaptive.is_ok());
    assert_eq!(adaptive, fields("claude-opus-5-5", false));
}

/// Spec: [MODEL-66]
#[test]
fn a_temperature_is_for_generations_that_take_one_and_for_models_of_others() {
    for model in [
        "claude-3-haiku-20240307",
        "claude-haiku-4-5-20251001",
        "claude-opus-4-6",
        "claude-opus",
        "llama-3.3",
        "",
    ] {
        assert!(takes_temperature(model), "{model}");
    }
    for model in [
        "claude-opus-4-7",
        "claude-sonnet-5",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "claude-new-6",
        "anthropic/claude-opus-4-8",
    ] {
        assert!(!takes_temperature(model), "{model}");
    }
    let off = |model| thinking_fields(No, None, model, 9000, false).unwrap();
    assert!(!off("claude-opus-4-7").thinks() && !off("claude-sonnet-5").thinks());
}
