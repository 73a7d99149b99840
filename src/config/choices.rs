//! Values that are one of a few names.

use harness_actors::model::{ApiVersion, Caching};
use harness_actors::standard_tools;
use harness_actors::tool::{COMMAND_TOOLS, Registry};
use harness_protocol::{NO_TOOLS, SettingKind, WEB_TOOLS};
use serde_json::Value;

use super::error::SettingError;
use super::raw::RawSetting;
use super::value::{header_text, switch, whole_number};

/// The names of values.
pub(super) type ChoiceNames<T, const N: usize> = [(&'static str, T); N];

/// The time for which the API caches a request.
pub(super) const PROMPT_CACHE: ChoiceNames<Caching, 3> = [
    ("off", Caching::Off),
    ("5m", Caching::FiveMinutes),
    ("1h", Caching::OneHour),
];

/// The version of the API; without one, the service finds out which one the server takes.
pub(super) const API_VERSION: ChoiceNames<Option<ApiVersion>, 3> = [
    ("auto", None),
    ("2023-06-01", Some(ApiVersion::June2023)),
    ("2026-10-21", Some(ApiVersion::October2026)),
];

/// The setting for the containment of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxSetting {
    /// The best means that the machine has.
    Auto,
    /// The best means that the machine has; without any, no command is run.
    Required,
    /// Nothing.
    Off,
}

/// The names of what contains commands.
pub(super) const SANDBOX: ChoiceNames<SandboxSetting, 3> = [
    ("auto", SandboxSetting::Auto),
    ("required", SandboxSetting::Required),
    ("off", SandboxSetting::Off),
];

/// Names of environment variables, with commas between.
pub(super) fn variables(raw: &RawSetting) -> Result<Vec<String>, SettingError> {
    let names = raw.text.split(',').map(str::trim);
    let names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &String| {
        name.chars().all(is_of_name) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    if !names.iter().all(is_name) {
        return Err(raw.refuse("be names of environment variables with commas between"));
    }
    Ok(names)
}

/// The value of that name.
pub(super) fn choice<T: Copy, const N: usize>(
    raw: &RawSetting,
    names: &ChoiceNames<T, N>,
) -> Result<T, SettingError> {
    let name = one_of(raw, &names.map(|(name, _)| name))?;
    let named = names.iter().find(|(known, _)| *known == name);
    named
        .map(|(_, value)| *value)
        .ok_or_else(|| raw.refuse("be left out"))
}

/// The name, which is one of these.
fn one_of(raw: &RawSetting, names: &[&str]) -> Result<String, SettingError> {
    let text = raw.text.trim();
    let is_meant = |name: &&&str| **name == text || **name == text.replace('-', "_");
    if let Some(name) = names.iter().find(is_meant) {
        return Ok((*name).to_owned());
    }
    let (last, rest) = names.split_last().unwrap_or((&"left out", &[]));
    Err(raw.refuse(&format!("be {} or {last}", rest.join(", "))))
}

/// The default of a setting of conversations.
pub(super) fn of_kind(raw: &RawSetting, kind: SettingKind) -> Result<Value, SettingError> {
    Ok(match kind {
        SettingKind::Whole {
            of_services: (from, to),
            ..
        } => whole_number::<u64>(raw, from..=to)?.into(),
        SettingKind::Switch => switch(raw)?.into(),
        SettingKind::Decimal(..) | SettingKind::Texts | SettingKind::Domains => checked(raw, kind)?,
        SettingKind::OneOf(_, names) => one_of(raw, names)?.into(),
        SettingKind::Model | SettingKind::KeySource => header_text(raw)?.into(),
        SettingKind::Text => kind.read(&raw.text),
        SettingKind::Names => names_of_tools(raw, kind)?,
    })
}

/// A value of whose kind a conversation can have any.
fn checked(raw: &RawSetting, kind: SettingKind) -> Result<Value, SettingError> {
    let value = kind.read(&raw.text);
    if kind.takes(&value) {
        return Ok(value);
    }
    Err(raw.refuse(&format!("be {}", kind.rule())))
}

/// Names of tools that a service has, or `none` alone.
fn names_of_tools(raw: &RawSetting, kind: SettingKind) -> Result<Value, SettingError> {
    let given = kind.read(&raw.text);
    let tools = Registry::new(standard_tools()).unwrap_or_default();
    let is_tool = |name: &str| {
        tools.get(name).is_some() || COMMAND_TOOLS.contains(&name) || WEB_TOOLS.contains(&name)
    };
    let is_known = |name: &Value| name.as_str().is_some_and(is_tool);
    match given.as_array().map(Vec::as_slice) {
        Some([name]) if name == NO_TOOLS => Ok(given),
        Some(names) if names.iter().all(is_known) => Ok(given),
        _ => {
            let tools: Vec<&str> = tools
                .names()
                .chain(COMMAND_TOOLS)
                .chain(WEB_TOOLS)
                .collect();
            let rule = format!(
                "be names of tools with commas, of {}, or {NO_TOOLS}",
                tools.join(", ")
            );
            Err(raw.refuse(&rule))
        }
    }
}

/// The name of a value.
pub(super) fn name_of<T: Copy + PartialEq, const N: usize>(
    value: T,
    names: &ChoiceNames<T, N>,
) -> String {
    let named = names.iter().find(|(_, named)| *named == value);
    named.map_or_else(String::new, |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::raw::SettingSource;
    use crate::config::setting::Key;

    fn raw(text: &str) -> RawSetting {
        RawSetting {
            key: Key::OfConversations("thinking"),
            text: text.to_owned(),
            source: SettingSource::Flag("thinking"),
        }
    }

    /// Spec: [CONF-50] [CONF-74] [CONF-77]
    #[test]
    fn a_choice_is_one_of_its_names() {
        let read = |text: &str, name: &str| {
            of_kind(
                &raw(text),
                harness_protocol::SettingRow::named(name).unwrap().kind,
            )
        };
        assert_eq!(read(" xhigh ", "thinking").unwrap(), "xhigh");
        assert_eq!(
            read("one-at-a-time", "steering_mode").unwrap(),
            "one_at_a_time"
        );
        assert_eq!(
            read("High", "thinking").unwrap_err().to_string(),
            "thinking must be off, minimal, low, medium, high, xhigh or max, got \"High\" \
             (from --thinking)"
        );
        assert_eq!(
            read(" grep, read", "active_tools").unwrap(),
            json!(["grep", "read"])
        );
        assert_eq!(read("none", "active_tools").unwrap(), json!(["none"]));
        assert_eq!(read(" 0.7", "temperature").unwrap(), json!(0.7));
        assert_eq!(read("a, b", "stop_sequences").unwrap(), json!(["a", "b"]));
        for wrong in ["1.5", "-0.1", "warm", "inf"] {
            let refused = read(wrong, "temperature").unwrap_err().to_string();
            assert!(
                refused.contains("must be a number from 0 to 1"),
                "{refused}"
            );
        }
        for wrong in ["raed", "none,read", "None"] {
            let refused = read(wrong, "active_tools").unwrap_err().to_string();
            let rule =
                "active_tools must be names of tools with commas, of read, grep, list_dir, or none";
            assert!(
                refused.contains("must be names of tools with commas, of "),
                "{rule} {refused}"
            );
        }
        assert_eq!(name_of(Caching::OneHour, &PROMPT_CACHE), "1h");
        let newest = choice(&raw("2026-10-21"), &API_VERSION).unwrap();
        assert_eq!(newest, Some(ApiVersion::October2026));
        assert_eq!(choice(&raw("auto"), &API_VERSION).unwrap(), None);
        let refused = choice(&raw("2024-01-01"), &API_VERSION).unwrap_err();
        let rule = "must be auto, 2023-06-01 or 2026-10-21, got \"2024-01-01\"";
        assert!(refused.to_string().contains(rule), "{refused}");
    }

    /// Spec: [CONF-81]
    #[test]
    fn what_contains_commands_and_what_they_get_is_named() {
        for (text, chosen) in SANDBOX {
            assert_eq!(choice(&raw(text), &SANDBOX).unwrap(), chosen);
        }
        let refused = choice(&raw("none"), &SANDBOX).unwrap_err().to_string();
        assert!(
            refused.contains("must be auto, required or off"),
            "{refused}"
        );
        assert_eq!(variables(&raw(" A, B_2 ,")).unwrap(), ["A", "B_2"]);
        assert_eq!(variables(&raw("")).unwrap(), [""; 0]);
        for wrong in ["A=1", "A B", "1A", "$A"] {
            let refused = variables(&raw(wrong)).unwrap_err().to_string();
            assert!(
                refused.contains("names of environment variables"),
                "{refused}"
            );
        }
    }
}
