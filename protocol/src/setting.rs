//! One setting of a conversation: what it can be, and how a value that it cannot have is refused.

use serde_json::{Number, Value};

use crate::settings::SETTINGS;

/// Maximum length of a text such as a system prompt, in bytes.
const MAX_TEXT: usize = 1024 * 1024;
/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 4096;
/// Maximum length of a domain, in bytes.
const MAX_DOMAIN: usize = 253;
/// Maximum number of texts in a list.
const MAX_TEXTS: usize = 64;
/// Maximum number of characters of a refused value that an error repeats.
const MAX_SHOWN: usize = 100;

/// One row of the table of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingRow {
    /// Its name on the wire, in journals and in `config.toml`.
    pub name: &'static str,
    /// Its kind of value.
    pub kind: SettingKind,
    /// Its effect, in one line.
    pub help: &'static str,
}

/// The kind of value that a setting has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// The id of a model.
    Model,
    /// Any text.
    Text,
    /// A whole number.
    Whole {
        /// The word for the value in the help.
        called: &'static str,
        /// The least and the greatest that a conversation can have.
        own: (u64, u64),
        /// The least and the greatest that a service can have for all of them.
        of_services: (u64, u64),
    },
    /// A number that need not be whole: what the help calls it, the least and the greatest.
    Decimal(&'static str, u64, u64),
    /// True or false.
    Switch,
    /// One of these names; the first text is what the help calls it.
    OneOf(&'static str, &'static [&'static str]),
    /// Names of tools.
    Names,
    /// Texts that are not blank, with the blanks at their ends.
    Texts,
    /// Domains of the web, all of them with `-` in front or none.
    Domains,
    /// The name that an operator gave to a key. Only conversations have it.
    KeySource,
}

impl SettingKind {
    /// A whole number from the first to the second.
    #[must_use]
    pub const fn integer(called: &'static str, from: u64, to: u64) -> Self {
        Self::Whole {
            called,
            own: (from, to),
            of_services: (from, to),
        }
    }

    /// The same, with narrower bounds for what a service has, which find slips.
    #[must_use]
    pub const fn of_services(self, from: u64, to: u64) -> Self {
        match self {
            Self::Whole { called, own, .. } => Self::Whole {
                called,
                own,
                of_services: (from, to),
            },
            other => other,
        }
    }

    /// The word for the value in the help of a service. `None` if a service does not have such a setting.
    #[must_use]
    pub const fn called(self) -> Option<&'static str> {
        match self {
            Self::Model => Some("MODEL"),
            Self::Text => Some("TEXT"),
            Self::Whole { called, .. } | Self::Decimal(called, ..) | Self::OneOf(called, _) => {
                Some(called)
            }
            Self::Switch => Some("BOOL"),
            Self::Names => Some("NAMES"),
            Self::Texts => Some("TEXTS"),
            Self::Domains => Some("DOMAINS"),
            Self::KeySource => None,
        }
    }

    /// The value that a text on a command line means. A text of the wrong kind stays a text, which the service refuses.
    #[must_use]
    pub fn read(self, text: &str) -> Value {
        let word = text.trim();
        match self {
            Self::Names | Self::Domains => between_commas(word),
            // As JSON a text can hold anything, commas and line ends too.
            Self::Texts => match serde_json::from_str::<Vec<String>>(word) {
                Ok(texts) => texts.into(),
                Err(_) => between_commas(word),
            },
            Self::Decimal(..) => {
                let number = word.parse::<f64>().ok().and_then(Number::from_f64);
                number.map_or_else(|| text.into(), Value::Number)
            }
            Self::Whole { .. } => word
                .parse::<u64>()
                .map_or_else(|_| text.into(), Value::from),
            Self::Switch => word
                .parse::<bool>()
                .map_or_else(|_| text.into(), Value::from),
            Self::OneOf(..) => word.replace('-', "_").into(),
            Self::Model | Self::Text | Self::KeySource => text.into(),
        }
    }

    /// The rule for values, as it follows "it is".
    #[must_use]
    pub fn rule(self) -> String {
        match self {
            Self::Model => {
                format!("the id of a model: one line, not blank, of at most {MAX_NAME} bytes")
            }
            Self::Text => format!("a text of at most {MAX_TEXT} bytes"),
            Self::Whole {
                own: (from, to), ..
            } => format!("a whole number from {from} to {to}"),
            Self::Decimal(_, from, to) => format!("a number from {from} to {to}"),
            Self::Switch => "true or false".to_owned(),
            Self::Texts => format!(
                "a list of at most {MAX_TEXTS} texts, none of them blank or longer than {MAX_NAME} bytes"
            ),
            Self::OneOf(_, names) => match names {
                [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                names => names.concat(),
            },
            Self::Domains => format!(
                "a list of at most {MAX_TEXTS} domains such as docs.rs, without https:// and without a \
                 path, all of them with - in front or none"
            ),
            Self::Names => {
                "a list of names of tools; empty for all, and [\"none\"] for no tool".to_owned()
            }
            Self::KeySource => {
                "the name of a key source of config.toml; not blank, and not a key".to_owned()
            }
        }
    }

    /// True if a setting of this kind can have this value.
    #[must_use]
    pub fn takes(self, value: &Value) -> bool {
        let text = value.as_str();
        let is_name = |text: &str| {
            !text.trim().is_empty() && text.len() <= MAX_NAME && !text.contains(char::is_control)
        };
        match self {
            Self::Model => text.is_some_and(is_name),
            Self::Text => text.is_some_and(|text| text.len() <= MAX_TEXT),
            Self::Whole {
                own: (from, to), ..
            } => value
                .as_u64()
                .is_some_and(|number| (from..=to).contains(&number)),
            Self::Decimal(_, from, to) => value
                .as_f64()
                .is_some_and(|number| (from as f64..=to as f64).contains(&number)),
            Self::Switch => value.is_boolean(),
            Self::Texts => value.as_array().is_some_and(|texts| {
                let says_something = |text: &Value| {
                    let text = text.as_str().unwrap_or_default();
                    !text.trim().is_empty() && text.len() <= MAX_NAME
                };
                texts.len() <= MAX_TEXTS && texts.iter().all(says_something)
            }),
            Self::OneOf(_, names) => text.is_some_and(|text| names.contains(&text)),
            Self::Domains => value.as_array().is_some_and(|domains| are_domains(domains)),
            Self::Names => value
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string)),
            Self::KeySource => text.is_some_and(|text| is_name(text) && !text.starts_with("sk-")),
        }
    }
}

/// True if these are domains that the API takes, and all are to be reached or none. A path, which the API's search
/// would take and its fetch would ignore, is none.
///
/// Source: the API's documentation of web search and web fetch: no scheme, ASCII.
fn are_domains(domains: &[Value]) -> bool {
    let texts: Option<Vec<&str>> = domains.iter().map(Value::as_str).collect();
    let Some(domains) = texts else {
        return false;
    };
    let blocked = domains.iter().filter(|domain| domain.starts_with('-'));
    let blocked = blocked.count();
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '-';
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    let is_domain = |domain: &&str| {
        let domain = domain.strip_prefix('-').unwrap_or(domain);
        let is_short = domain.len() <= MAX_DOMAIN && !domain.starts_with('-');
        is_short && domain.contains('.') && domain.split('.').all(is_name)
    };
    domains.len() <= MAX_TEXTS
        && (blocked == 0 || blocked == domains.len())
        && domains.iter().all(is_domain)
}

/// The texts between the commas of a text.
fn between_commas(text: &str) -> Value {
    let texts = text.split(',').map(str::trim);
    texts.filter(|text| !text.is_empty()).collect()
}

impl SettingRow {
    /// The setting of that name.
    ///
    /// # Errors
    /// One line that names those that there are.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let found = SETTINGS.iter().find(|setting| setting.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            format!(
                "there is no setting {name:?}; there are: {}",
                names.join(", ")
            )
        })
    }

    /// Checks that the setting can have this value.
    ///
    /// # Errors
    /// One line that names the setting, the value and what it can be.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.kind.takes(value) {
            return Ok(());
        }
        Err(self.refuse(value))
    }

    /// The line that refuses a value.
    #[must_use]
    pub fn refuse(&self, value: &Value) -> String {
        let rule = self.kind.rule();
        let name = self.name;
        if self.kind == SettingKind::KeySource {
            // It may be a key that was put in the wrong place.
            return format!("the setting {name:?} cannot be that: it is {rule}");
        }
        let value = value.to_string();
        let mut shown: String = value.chars().take(MAX_SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        format!("the setting {name:?} cannot be {shown}: it is {rule}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [HTTP-65]
    #[test]
    fn a_value_that_cannot_be_is_named_with_what_it_can_be() {
        let key = "sk-SEEN";
        let long = "x".repeat(5000);
        for (name, value, parts) in [
            (
                "thinking",
                json!("lots"),
                [
                    "\"thinking\" cannot be \"lots\": it is off, minimal, ",
                    "xhigh or max",
                ],
            ),
            (
                "max_turns",
                json!(0),
                [
                    "\"max_turns\" cannot be 0",
                    "a whole number from 1 to 4294967295",
                ],
            ),
            (
                "max_tokens",
                json!("many"),
                [
                    "\"max_tokens\" cannot be \"many\"",
                    "a whole number from 0 to",
                ],
            ),
            (
                "max_tokens",
                json!(4_294_967_296_u64),
                ["4294967296", "to 4294967295"],
            ),
            ("max_tokens", json!(1.5), ["1.5", "a whole number"]),
            (
                "keep_tokens",
                json!(1_000_000_001),
                ["1000000001", "from 1 to 1000000000"],
            ),
            (
                "active_tools",
                json!("read"),
                ["\"active_tools\" cannot be \"read\"", "a list of names"],
            ),
            (
                "active_tools",
                json!([1]),
                ["cannot be [1]", "a list of names"],
            ),
            (
                "temperature",
                json!(1.1),
                ["\"temperature\" cannot be 1.1", "a number from 0 to 1"],
            ),
            (
                "temperature",
                json!("warm"),
                ["cannot be \"warm\"", "a number from 0 to 1"],
            ),
            (
                "stop_sequences",
                json!(["END", " "]),
                ["cannot be [\"END\",\" \"]", "none of them blank"],
            ),
            (
                "auto_compact",
                json!("yes"),
                [
                    "\"auto_compact\" cannot be \"yes\": it is true or false",
                    "",
                ],
            ),
            ("model", json!(" "), ["cannot be \" \"", "not blank"]),
            ("model", json!("a\nb"), ["one line", ""]),
            ("model", json!(long), ["x…", ""]),
            (
                "key_source",
                json!(key),
                [
                    "\"key_source\" cannot be that",
                    "the name of a key source of config.toml",
                ],
            ),
            (
                "key_source",
                json!(7),
                ["\"key_source\"", "the name of a key source"],
            ),
        ] {
            let error = SettingRow::named(name).unwrap().check(&value).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
            assert!(error.len() < 300 && !error.contains("SEEN"), "{error}");
        }
        let unknown = SettingRow::named("colour").unwrap_err();
        let expected = "there is no setting \"colour\"; there are: model, max_tokens, ";
        assert!(unknown.starts_with(expected), "{unknown}");
        assert!(unknown.ends_with(", wake"), "{unknown}");
    }

    /// Spec: [WEB-01] [WEB-03]
    #[test]
    fn domains_are_all_to_be_reached_or_none_of_them() {
        let domains = SettingRow::named("web_domains").unwrap();
        for taken in [
            json!([]),
            json!(["docs.rs", "a.b.example"]),
            json!(["-docs.rs", "-a-b.example"]),
        ] {
            assert_eq!(domains.check(&taken), Ok(()), "{taken}");
        }
        for refused in [
            json!(["https://docs.rs"]),
            json!(["docs.rs", "-a.example"]),
            json!(["dücs.rs"]),
            json!(["localhost"]),
            json!(["a.example/b"]),
            json!(["a..example"]),
            json!(["--a.example"]),
            json!([""]),
            json!(["a.example ."]),
            json!([7]),
            json!("docs.rs"),
        ] {
            let error = domains.check(&refused).unwrap_err();
            assert!(error.contains("without https://"), "{error}");
        }
        let searches = SettingRow::named("web_search").unwrap();
        assert!(searches.check(&json!(true)).is_err());
    }

    /// Spec: [CLI-74]
    #[test]
    fn a_text_of_a_command_line_is_a_value_of_the_kind_or_stays_a_text() {
        for (name, text, value) in [
            ("thinking", " high ", json!("high")),
            ("follow_up_mode", "one-at-a-time", json!("one_at_a_time")),
            ("max_turns", " 3 ", json!(3)),
            ("max_turns", "many", json!("many")),
            ("auto_compact", "false", json!(false)),
            ("auto_compact", "no", json!("no")),
            ("active_tools", "read, ,grep", json!(["read", "grep"])),
            ("active_tools", "", json!([])),
            ("temperature", " 0.3 ", json!(0.3)),
            ("temperature", "NaN", json!("NaN")),
            ("stop_sequences", "END, STOP", json!(["END", "STOP"])),
            (
                "stop_sequences",
                r#"["a,b", "\n- "]"#,
                json!(["a,b", "\n- "]),
            ),
            ("stop_sequences", "[END]", json!(["[END]"])),
            ("stop_sequences", "", json!([])),
            (
                "web_domains",
                "-a.example, -b.example",
                json!(["-a.example", "-b.example"]),
            ),
            ("active_tools", "none", json!(["none"])),
            ("system_prompt", " as it is ", json!(" as it is ")),
        ] {
            let kind = SettingRow::named(name).unwrap().kind;
            assert_eq!(kind.read(text), value, "{name}={text}");
        }
    }
}
