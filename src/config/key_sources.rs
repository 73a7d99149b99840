//! The table `key_sources` of config.toml: names that conversations choose, and where the keys are.
//!
//! Invariant: no error repeats a value, because it may be a key that was put in the wrong place.

use std::collections::BTreeMap;

use harness_actors::model::KeyOrigin;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::SettingError;
use super::setting::Key;

/// The key of the table in config.toml.
pub(super) const NAME: &str = "key_sources";
/// Maximum length of a name.
const MAX_NAME: usize = 32;

/// The sources that are named.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeySources {
    pub(crate) origins: BTreeMap<String, KeyOrigin>,
    /// The line of config.toml where the table begins, if it has one.
    pub(super) line: Option<usize>,
}

impl KeySources {
    /// The names, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.origins.keys().cloned().collect()
    }

    /// The variables of the environment that keys are in.
    pub(crate) fn variables(&self) -> Vec<String> {
        let variable = |origin: &KeyOrigin| match origin {
            KeyOrigin::Environment(name) => Some(name.clone()),
            KeyOrigin::File(_) => None,
        };
        self.origins.values().filter_map(variable).collect()
    }

    /// Reads the table. `line` is the line of a place of the file.
    pub(super) fn parse(
        value: &Spanned<DeValue<'_>>,
        first: usize,
        line: impl Fn(usize) -> usize,
    ) -> Result<Self, SettingError> {
        let error = |line: usize, said: String| {
            Err(SettingError::new(format!(
                "config.toml line {line}: {said}"
            )))
        };
        let DeValue::Table(table) = value.get_ref() else {
            let said = format!(
                "{NAME} must be a table of names, such as [{NAME}] team = \"env:TEAM_KEY\""
            );
            return error(first, said);
        };
        let mut origins = BTreeMap::new();
        for (name, value) in table_in_order(table) {
            let at = line(name.span().start);
            let name: &str = name.get_ref();
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !(1..=MAX_NAME).contains(&name.len())
                || !name.chars().all(is_letter)
                || name.starts_with("sk-")
            {
                return error(
                    at,
                    format!(
                        "a name in {NAME} must be 1 to {MAX_NAME} letters, digits, - or _, and no key"
                    ),
                );
            }
            let origin = match value.get_ref() {
                DeValue::String(text) => text.trim().parse::<KeyOrigin>(),
                _ => Err("a source is env:NAME or file:PATH".to_owned()),
            };
            let origin = match origin {
                Ok(origin) => origin,
                Err(reason) => {
                    return error(
                        at,
                        format!(
                            "{NAME}.{name} must be \"env:NAME\" or \"file:PATH\", and not the key \
                             itself ({reason})"
                        ),
                    );
                }
            };
            if is_own_token(&origin) {
                return error(
                    at,
                    format!(
                        "{NAME}.{name} must not be the service's own token, which is sent nowhere"
                    ),
                );
            }
            origins.insert(name.to_owned(), origin);
        }
        Ok(Self {
            origins,
            line: Some(first),
        })
    }
}

fn is_own_token(origin: &KeyOrigin) -> bool {
    let token = &Key::Token.setting().env;
    matches!(origin, KeyOrigin::Environment(name) if name == token)
}

/// The table in the order of the file, so that the error names the first mistake.
fn table_in_order<'a, 'b>(
    table: &'a DeTable<'b>,
) -> Vec<(
    &'a Spanned<std::borrow::Cow<'b, str>>,
    &'a Spanned<DeValue<'b>>,
)> {
    let mut rows: Vec<_> = table.iter().collect();
    rows.sort_by_key(|(name, _)| name.span().start);
    rows
}
