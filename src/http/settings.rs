//! The settings of a conversation: looking at them and changing them.

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::conversation::messages::{
    ChangeConversationSettings as Change, ChangeError, GetSettings,
};
use harness_actors::tool::Registry;
use harness_protocol::{ChangeSettings, Settings, SettingsPatch, are_no_tools};
use serde_json::{Map, Value};

use super::ask::{Late, Name, ask_conversation, order_to, refuse_read, refuse_submit};
use super::body;
use super::guard::require_token;
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::name_of;
use super::shared::HttpShared;

/// The settings, and what they add up to.
pub(super) async fn read(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let (_, view) = ask_conversation(&shared, &id, GetSettings).await?;
    let view = view.map_err(|error| refuse_read(&error))?;
    Ok(HttpResponse::Ok().json(view))
}

/// Changes settings, from the next run on.
pub(super) async fn change(it: Received) -> HandlerResult {
    let order: ChangeSettings = body::json(&it.request, it.payload).await?;
    check_authority(&it.request, &order.settings, &it.shared.tools.get())?;
    let change = Change {
        patch: parse(order.settings, &it.shared.key_sources)?,
        by: name_of(order.by),
    };
    let (_, view) = order_to(&it.shared, &it.id, change, Late::Order).await?;
    let view = view.map_err(|error| refuse_change(&error))?;
    Ok(HttpResponse::Ok().json(view))
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
    tools: &Registry,
    key_sources: &[String],
) -> Result<Settings, Refusal> {
    let settings = parse(given, key_sources)?.apply(&Settings::default());
    let is_tool = |name: &&String| tools.get(name).is_some();
    let unknown = settings
        .active_tools
        .iter()
        .filter(|names| !are_no_tools(names))
        .flatten()
        .find(|name| !is_tool(name));
    if let Some(name) = unknown {
        let tools: Vec<&str> = tools.names().collect();
        return Err(refuse_change(&ChangeError::UnknownTool {
            name: name.clone(),
            tools: tools.join(", "),
        }));
    }
    Ok(settings)
}

/// Lets only those who have shown the token set what lets the model change more: the mode, and tools that
/// change something.
///
/// # Errors
/// The answer to all others.
pub(super) fn check_authority(
    request: &HttpRequest,
    given: &Map<String, Value>,
    tools: &Registry,
) -> Result<(), Refusal> {
    if given.contains_key("mode") {
        require_token(request, "to set the mode")?;
    }
    let has_effects = |names: &Value| match names.as_array() {
        // All tools.
        None => true,
        Some(names) if names.is_empty() => true,
        Some(names) => names
            .iter()
            .filter_map(Value::as_str)
            .any(|name| tools.get(name).is_some() && !tools.is_harmless(name)),
    };
    if given.get("active_tools").is_some_and(has_effects) {
        require_token(request, "to offer the model tools that change something")?;
    }
    Ok(())
}

/// Reads a patch.
///
/// # Errors
/// The answer, if a value cannot be.
fn parse(given: Map<String, Value>, key_sources: &[String]) -> Result<SettingsPatch, Refusal> {
    let refuse = |reason: String| Kind::BadRequest.refuse(reason);
    if let Some(Value::String(source)) = given.get("key_source")
        && !key_sources.contains(source)
    {
        let rule = key_source_rule(key_sources);
        return Err(refuse(format!(
            "the setting \"key_source\" cannot be that: {rule}"
        )));
    }
    SettingsPatch::parse(given).map_err(refuse)
}

/// The sources that a key can have. Clients do not say where keys are: they would have any file or
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

#[cfg(test)]
mod tests {
    use harness_actors::standard_tools;
    use harness_protocol::SettingRow;
    use serde_json::json;

    use super::*;

    fn object(settings: Value) -> Map<String, Value> {
        let Value::Object(settings) = settings else {
            panic!("{settings}");
        };
        settings
    }

    fn check(patch: Value) -> Result<(), String> {
        let key_sources = ["team".to_owned(), "mine".to_owned()];
        let parsed = parse(object(patch), &key_sources);
        parsed.map(drop).map_err(|refusal| refusal.to_string())
    }

    /// Spec: [HTTP-65] [CONF-69]
    #[test]
    fn a_value_that_cannot_be_is_refused_in_the_words_of_the_table() {
        for (name, value) in [("max_turns", json!(0)), ("thinking", json!("lots"))] {
            let refused = check(json!({ name: value })).unwrap_err();
            let words = SettingRow::named(name).unwrap().refuse(&value);
            assert!(refused.contains(&words), "{refused}");
        }
        let refused = check(json!({"colour": null})).unwrap_err();
        assert!(refused.contains("there is no setting \"colour\"; there are: model, "));
    }

    /// Spec: [HTTP-65]
    #[test]
    fn a_source_of_keys_is_one_that_an_operator_named() {
        for (source, parts) in [
            (
                json!("secret"),
                ["\"key_source\" cannot be that", "there are: team, mine"],
            ),
            (
                json!("env:HOME"),
                ["\"key_source\" cannot be that", "[key_sources] team ="],
            ),
            (json!(7), ["\"key_source\"", "the name of a key source"]),
        ] {
            let error = check(json!({"max_turns": 1, "key_source": source})).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    /// Spec: [HTTP-65]
    #[test]
    fn a_conversation_is_made_only_with_what_can_be() {
        let mut tools = standard_tools();
        tools.truncate(1);
        let tools = Registry::new(tools).unwrap();
        let told =
            |given: Value| first(object(given), &tools, &[]).map_err(|refusal| refusal.to_string());
        let made = told(json!({"max_turns": 3, "active_tools": ["read"], "model": null})).unwrap();
        assert_eq!((made.max_turns, made.model), (Some(3), None));
        let made = told(json!({"active_tools": ["none"]})).unwrap();
        assert_eq!(made.active_tools, Some(vec!["none".to_owned()]));
        for (given, part) in [
            (
                json!({"active_tools": ["none", "read"]}),
                "there is no tool \"none\"; the tools are read",
            ),
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
        check(json!({"model": "m", "thinking": "xhigh", "max_turns": null})).unwrap();
        check(json!({"active_tools": ["read"], "auto_compact": false})).unwrap();
        check(json!({"key_source": "team"})).unwrap();
        check(json!({"key_source": null})).unwrap();
        check(json!({})).unwrap();
    }
}
