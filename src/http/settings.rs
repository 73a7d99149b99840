//! The settings of a conversation: looking at them and changing them.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::journal::Settings as KeptSettings;
use harness_actors::messages::{ChangeError, ChangeSettings as Change, GetSettings, SettingsView};
use harness_protocol::{ChangeSettings, Settings, SettingsAnswer, ToolEntry};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::ask::{Name, ask_conversation, refuse_submit};
use super::body;
use super::problem::{Answer, Kind, Refusal};
use super::said::name_of;
use super::shared::Shared;

/// How many characters of a value that cannot be are repeated.
const MAX_SHOWN: usize = 100;

/// The settings, and what they add up to.
pub(super) async fn read(id: Name, shared: web::Data<Shared>) -> Answer {
    let (_, view) = ask_conversation(&shared, &id, GetSettings).await?;
    let view = view.map_err(|error| Kind::Unreadable.refuse(error.to_string()))?;
    Ok(HttpResponse::Ok().json(answer(view)))
}

/// Changes settings, from the next run on.
pub(super) async fn change(
    request: HttpRequest,
    payload: web::Payload,
    id: Name,
    shared: web::Data<Shared>,
) -> Answer {
    let order: ChangeSettings = body::json(&request, payload).await?;
    check_patch(&order.settings, &shared.key_sources)
        .map_err(|reason| Kind::BadRequest.refuse(reason))?;
    let change = Change {
        patch: order.settings,
        by: name_of(order.by),
    };
    let (_, view) = ask_conversation(&shared, &id, change).await?;
    let view = view.map_err(|error| refuse_change(&error))?;
    Ok(HttpResponse::Ok().json(answer(view)))
}

fn answer(view: SettingsView) -> SettingsAnswer {
    SettingsAnswer {
        settings: view.own.into(),
        effective: view.effective.into(),
        tools: view.tools,
        active_tools: view.active_tools,
    }
}

fn refuse_change(error: &ChangeError) -> Refusal {
    match error {
        ChangeError::Invalid(_) | ChangeError::UnknownTool { .. } => {
            Kind::BadRequest.refuse(error.to_string())
        }
        ChangeError::Order(error) => refuse_submit(error),
    }
}

/// The settings that a conversation is made with.
///
/// # Errors
/// The answer, if one of them cannot be.
pub(super) fn first(
    given: Map<String, Value>,
    tools: &[ToolEntry],
    key_sources: &[String],
) -> Result<KeptSettings, Refusal> {
    let refuse = |reason: String| Kind::BadRequest.refuse(reason);
    check_patch(&given, key_sources).map_err(refuse)?;
    let settings = Settings::deserialize(Value::from(given));
    let settings = settings.map_err(|error| refuse(error.to_string()))?;
    let is_tool = |name: &&String| tools.iter().any(|tool| tool.name == **name);
    let unknown = settings
        .active_tools
        .iter()
        .flatten()
        .find(|name| !is_tool(name));
    if let Some(name) = unknown {
        let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(refuse_change(&ChangeError::UnknownTool {
            name: name.clone(),
            tools: tools.join(", "),
        }));
    }
    Ok(settings.into())
}

/// Whether each value can be, by itself. The conversation looks at them again, as a whole.
///
/// # Errors
/// One line that names the setting, its value and what it can be.
fn check_patch(patch: &Map<String, Value>, key_sources: &[String]) -> Result<(), String> {
    for (name, value) in patch {
        let Some(allowed) = allowed(name) else {
            let names = NAMES.join(", ");
            return Err(format!("there is no setting {name:?}; there are: {names}"));
        };
        // Null takes the setting back.
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        let settings = Settings::deserialize(Value::from(alone))
            .map_err(|_| refusal(name, value, &format!("it is {allowed}")))?;
        if let Some(source) = &settings.key_source
            && !key_sources.contains(source)
        {
            return Err(refusal(name, value, &key_source_rule(key_sources)));
        }
        KeptSettings::from(settings)
            .check()
            .map_err(|reason| refusal(name, value, &reason))?;
    }
    Ok(())
}

/// What the source of a key can be. Clients do not say where keys are: they would have any file or
/// variable of the operator sent to the API.
fn key_source_rule(names: &[String]) -> String {
    let names = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    format!(
        "it is a name that an operator gave to a key in config.toml, such as \
         [key_sources] team = \"env:TEAM_KEY\" or \"file:/path\"; there are: {names}"
    )
}

/// The settings that there are.
const NAMES: [&str; 16] = [
    "model",
    "max_tokens",
    "max_turns",
    "system_prompt",
    "thinking",
    "active_tools",
    "tool_execution",
    "steering_mode",
    "follow_up_mode",
    "key_source",
    "context_window",
    "auto_compact",
    "reserve_tokens",
    "keep_tokens",
    "compaction_model",
    "context_files",
];

/// What a setting can be; nothing if there is no such setting.
fn allowed(name: &str) -> Option<&'static str> {
    Some(match name {
        "model" | "compaction_model" => "the id of a model",
        "system_prompt" => "a text",
        "max_tokens" | "max_turns" => "a whole number from 1 to 4294967295",
        "context_window" | "keep_tokens" => "a whole number from 1 on",
        "reserve_tokens" => "a whole number from 0 on",
        "thinking" => "off, minimal, low, medium, high, xhigh or max",
        "active_tools" => "a list of names of tools",
        "tool_execution" => "sequential_fail_fast, sequential or parallel",
        "steering_mode" | "follow_up_mode" => "one_at_a_time or all",
        "key_source" => "the name of a key source of config.toml",
        "auto_compact" | "context_files" => "true or false",
        _ => return None,
    })
}

fn refusal(name: &str, value: &Value, reason: &str) -> String {
    if name == "key_source" {
        // It may be a key that was put in the wrong place.
        return format!("the setting {name:?} cannot be that: {reason}");
    }
    let value = value.to_string();
    let mut shown: String = value.chars().take(MAX_SHOWN).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    format!("the setting {name:?} cannot be {shown}: {reason}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(patch: &Value) -> Result<(), String> {
        let key_sources = ["team".to_owned(), "mine".to_owned()];
        check_patch(patch.as_object().unwrap(), &key_sources)
    }

    /// Spec: [HTTP-65]
    #[test]
    fn a_value_that_cannot_be_is_named_with_what_it_can_be() {
        for (patch, parts) in [
            (
                json!({"thinking": "lots"}),
                &[
                    "\"thinking\" cannot be \"lots\": it is off, minimal, ",
                    "xhigh or max",
                ][..],
            ),
            (
                json!({"max_turns": 0}),
                &["\"max_turns\" cannot be 0", "at least 1"],
            ),
            (
                json!({"max_tokens": "many"}),
                &["\"max_tokens\" cannot be \"many\"", "a whole number from 1"],
            ),
            (
                json!({"colour": null}),
                &[
                    "no setting \"colour\"; there are: model, ",
                    ", context_files",
                ],
            ),
            (
                json!({"key_source": "secret"}),
                &["\"key_source\" cannot be that", "there are: team, mine"],
            ),
            (
                json!({"active_tools": "read"}),
                &["\"active_tools\" cannot be \"read\"", "a list of names"],
            ),
            (
                json!({"auto_compact": "yes"}),
                &["\"auto_compact\" cannot be \"yes\": it is true or false"],
            ),
            (
                json!({"key_source": "env:HOME"}),
                &["\"key_source\" cannot be that", "[key_sources] team ="],
            ),
            (
                json!({"key_source": 7}),
                &["\"key_source\"", "the name of a key source"],
            ),
        ] {
            let error = check(&patch).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{part} is not in {error}");
            }
        }
        let long = "x".repeat(5000);
        let error = check(&json!({"model": long})).unwrap_err();
        assert!(error.len() < 300 && error.contains("x…"), "{error}");
    }

    /// Spec: [HTTP-65]
    #[test]
    fn every_setting_says_what_it_can_be() {
        for name in NAMES {
            assert!(allowed(name).is_some(), "{name}");
        }
        // The names that the wire format has.
        let unknown = Settings::deserialize(json!({"colour": 1})).unwrap_err();
        let told = unknown.to_string();
        let names: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
        assert_eq!(names, NAMES);
    }

    /// Spec: [HTTP-65]
    #[test]
    fn a_conversation_is_made_only_with_what_can_be() {
        let tools = [ToolEntry {
            name: "read".to_owned(),
            description: String::new(),
        }];
        let told = |given: Value| {
            let Value::Object(given) = given else {
                panic!("{given}");
            };
            first(given, &tools, &[]).map_err(|refusal| refusal.to_string())
        };
        let made = told(json!({"max_turns": 3, "active_tools": ["read"], "model": null})).unwrap();
        assert_eq!((made.max_turns, made.model), (Some(3), None));
        for (given, part) in [
            (json!({"max_turns": 0}), "\"max_turns\" cannot be 0"),
            (json!({"key_source": "team"}), "there are: none"),
            (
                json!({"active_tools": ["read", "raed"]}),
                "there is no tool \"raed\"; the tools are read",
            ),
        ] {
            let refusal = told(given).unwrap_err();
            assert!(refusal.contains(part), "{refusal}");
        }
    }

    /// Spec: [HTTP-64]
    #[test]
    fn values_that_can_be_and_null_are_taken() {
        check(&json!({"model": "m", "thinking": "xhigh", "max_turns": null})).unwrap();
        check(&json!({"active_tools": ["read"], "auto_compact": false})).unwrap();
        check(&json!({"key_source": "team"})).unwrap();
        check(&json!({"key_source": null})).unwrap();
        check(&json!({})).unwrap();
    }
}
