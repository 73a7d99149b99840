//! config.toml as a layer: its keys, its values as text, and its errors without its lines.
//!
//! Invariant: no error repeats a line of the file, because that line may hold a secret.

use std::collections::BTreeMap;

use harness_protocol::{SettingKind, SettingRow};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::SettingError;
use super::key_sources::{self, KeySources};
use super::raw::{RawSetting, SettingSource};
use super::setting::{Key, SETTINGS, nearest};

/// The longest unknown key that an error repeats; a longer one may be a pasted secret.
const MAX_KEY_SHOWN: usize = 32;

/// The settings in the text.
#[derive(Default)]
pub(super) struct InFile {
    pub(super) settings: BTreeMap<Key, RawSetting>,
    pub(super) key_sources: KeySources,
}

/// Reads the settings in the text.
pub(super) fn parse(text: &str) -> Result<InFile, SettingError> {
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(text.len(), |span| span.start);
        let reason = error
            .message()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        SettingError::new(format!(
            "config.toml line {}: {reason}",
            line_at(text, start)
        ))
    })?;
    let mut given = InFile::default();
    for (name, value) in table.get_ref() {
        let line = line_at(text, name.span().start);
        if name.get_ref() == key_sources::NAME {
            given.key_sources = KeySources::parse(value, line, |at| line_at(text, at))?;
            continue;
        }
        let key = known_key(name.get_ref(), line)?;
        if let Some(raw) = raw(key, value, line)? {
            given.settings.insert(key, raw);
        }
    }
    Ok(given)
}

fn known_key(name: &str, line: usize) -> Result<Key, SettingError> {
    let error = |said: String| {
        Err(SettingError::new(format!(
            "config.toml line {line}: {said}"
        )))
    };
    match SETTINGS.iter().find(|setting| setting.name == name) {
        Some(setting) if setting.in_file => return Ok(setting.key),
        Some(setting) => {
            let flag = setting.flag.as_deref().unwrap_or_default();
            return error(format!(
                "{name} cannot be set here; set {} or give --{flag}",
                setting.env
            ));
        }
        None => {}
    }
    // No setting has a digit in its name, and most secrets do.
    let is_plain = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '-' || c == '.';
    if name.len() > MAX_KEY_SHOWN || !name.chars().all(is_plain) {
        return error("unknown setting; `harness serve --help` lists them".to_owned());
    }
    match nearest(name) {
        Some(setting) => error(format!(
            "unknown setting {name:?}; did you mean {:?}?",
            setting.name
        )),
        None => error(format!(
            "unknown setting {name:?}; `harness serve --help` lists them"
        )),
    }
}

/// The value as text. `None` for an empty list, which unsets the setting in a file.
fn raw(
    key: Key,
    value: &Spanned<DeValue<'_>>,
    line: usize,
) -> Result<Option<RawSetting>, SettingError> {
    let raw = |text| RawSetting {
        key,
        text,
        source: SettingSource::File { line },
    };
    let text = match (value.get_ref(), key) {
        (DeValue::Array(list), key) if is_list(key) && list.is_empty() => return Ok(None),
        (DeValue::Array(list), key) if is_list(key) => list_text(list, key),
        (scalar, _) => scalar_text(scalar),
    };
    match text {
        Some(text) => Ok(Some(raw(text))),
        None if is_list(key) => {
            Err(raw(String::new()).refuse_unseen("be a text or a list of texts"))
        }
        None => Err(raw(String::new()).refuse_unseen("be a single value")),
    }
}

/// True if a setting is a list of texts.
fn is_list(key: Key) -> bool {
    let is_list = |kind| {
        matches!(
            kind,
            SettingKind::Names | SettingKind::Texts | SettingKind::Domains
        )
    };
    key == Key::AllowedHosts || kind(key).is_some_and(is_list)
}

/// The kind of a setting of conversations.
fn kind(key: Key) -> Option<SettingKind> {
    let Key::OfConversations(name) = key else {
        return None;
    };
    SettingRow::named(name).ok().map(|setting| setting.kind)
}

fn list_text(list: &DeArray<'_>, key: Key) -> Option<String> {
    let texts: Option<Vec<&str>> = list.iter().map(|item| item.get_ref().as_str()).collect();
    // Commas separate names; other texts may contain commas.
    texts.map(|texts| match kind(key) {
        Some(SettingKind::Texts) => Value::from(texts).to_string(),
        _ => texts.join(","),
    })
}

fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|n| n.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// The number of the line that holds the byte at `offset`, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).err().unwrap().to_string()
    }

    /// Spec: [CONF-07]
    #[test]
    fn an_unknown_key_is_named_with_its_line_and_what_was_meant() {
        for (text, said) in [
            (
                "port = 1\n\nmodell = \"m\"",
                r#"line 3: unknown setting "modell"; did you mean "model"?"#,
            ),
            (
                "max-turns = 5",
                r#"line 1: unknown setting "max-turns"; did you mean "max_turns"?"#,
            ),
            (
                "ANTHROPIC_API_KEY = 'x'",
                r#"line 1: unknown setting "ANTHROPIC_API_KEY"; did you mean "api_key"?"#,
            ),
            (
                "[server]\nport = 1",
                r#"line 1: unknown setting "server"; `harness serve --help` lists them"#,
            ),
            (
                "sk-SEEN-1234 = 1",
                "line 1: unknown setting; `harness serve --help` lists them",
            ),
            (
                "sk-ant-0123456789012345678901234567890123456789 = 1",
                "line 1: unknown setting; `harness serve --help` lists them",
            ),
        ] {
            assert_eq!(error(text), format!("config.toml {said}"));
        }
    }

    /// Spec: [CONF-08]
    #[test]
    fn a_syntax_error_is_one_line_without_the_text_of_the_file() {
        for (text, said) in [
            (
                "port = 1\napi_key = sk-SEEN\n",
                "line 2: string values must be quoted, expected literal string",
            ),
            (
                "\n\napi_key = \"sk-SEEN\n",
                "line 3: invalid basic string, expected `\"`",
            ),
            (
                "api_key = 'SEEN'\napi_key = 'SEEN'",
                "line 2: duplicate key",
            ),
        ] {
            assert_eq!(error(text), format!("config.toml {said}"));
        }
    }
}
