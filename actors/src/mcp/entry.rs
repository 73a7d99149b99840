//! The entry of a server in the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use harness_protocol::Access;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::covers_with_stars;
use crate::nearest::nearest;
use crate::secret::{is_secret_name, is_url, may_be_secret, url_passwords};

/// The keys of an entry.
const KEYS: [&str; 9] = [
    "command",
    "args",
    "env",
    "timeout",
    "access",
    "network",
    "enabled_tools",
    "disabled_tools",
    "disabled",
];
/// The keys of other programs that mean nothing here.
const FOREIGN_KEYS: [&str; 4] = [
    "description",
    "alwaysAllow",
    "autoApprove",
    "startup_timeout_sec",
];
/// The keys by which other programs name a server over HTTP.
const URL_KEYS: [&str; 3] = ["url", "httpUrl", "serverUrl"];
/// The types by which other programs name a server over HTTP.
const HTTP_TYPES: [&str; 5] = [
    "http",
    "sse",
    "streamable-http",
    "streamable_http",
    "streamableHttp",
];
const NO_HTTP: &str = "servers over HTTP are not supported yet; name a command";
/// Maximum time of a call.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum length of a value in an error, in characters.
const MAX_PREVIEW: usize = 60;
/// The text in place of a secret.
const MASK: &str = "***";
/// Minimum length of the path of an address that is a secret, in bytes.
const MIN_PATH: usize = 8;

/// A server in the configuration: how it is started, and which of its tools are offered. Variables are not filled in.
///
/// It is stored in the form in which it is read.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct ServerEntry {
    /// The program.
    pub command: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The variables that it gets besides those of every command.
    pub env: BTreeMap<String, String>,
    /// Maximum time of one call. `None` without a limit of the entry.
    pub timeout: Option<Duration>,
    /// Its access to files.
    pub access: Access,
    /// True if it may use the network.
    pub network: bool,
    /// The patterns of the tools that are offered; empty for all tools.
    pub enabled_tools: Vec<String>,
    /// The patterns of tools that are not offered, even if they are enabled.
    pub disabled_tools: Vec<String>,
    /// True if the server is switched off.
    pub is_disabled: bool,
}

/// An entry with the variables of the environment filled in, ready for a start.
#[derive(Clone, PartialEq, Eq)]
pub struct ExpandedEntry {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The variables that it gets besides those of every command, by name.
    pub environment: Vec<(String, String)>,
    /// The texts in them that no result may show.
    pub secrets: Vec<String>,
}

impl ServerEntry {
    /// Reads an entry, in the form that other programs know, too.
    ///
    /// # Errors
    /// One line that names the key, its value and the fix.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            let value = preview(value);
            return Err(format!(
                "an entry is an object such as {{\"command\": \"uvx\", \"args\": [\"mcp-server-git\"]}}, not {value}"
            ));
        };
        check_transport(members)?;
        check_keys(members)?;
        let entry = Self {
            command: read_command(members)?,
            args: read_texts(members, "args")?.unwrap_or_default(),
            env: read_env(members)?,
            timeout: read_timeout(members)?,
            access: read_access(members)?,
            network: read_switch(members, "network")?.unwrap_or(true),
            enabled_tools: read_texts(members, "enabled_tools")?.unwrap_or_default(),
            disabled_tools: read_texts(members, "disabled_tools")?.unwrap_or_default(),
            is_disabled: read_switch(members, "disabled")?.unwrap_or(false),
        };
        // An empty list means all tools in some programs, and none in others.
        if members.contains_key("enabled_tools") && entry.enabled_tools.is_empty() {
            return Err(
                "enabled_tools is empty; leave it out for all tools, or name some, such as [\"get_*\"]"
                    .to_owned(),
            );
        }
        Ok(entry)
    }

    /// The program, its arguments and its variables, with `${NAME}` and `${NAME:-default}` filled in. `variable`
    /// returns the value of a variable of the service's environment, if it is set.
    ///
    /// # Errors
    /// A variable that is not set and has no default, with its place.
    pub fn expanded(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ExpandedEntry, String> {
        let mut filler = VariableFiller {
            variable,
            secrets: BTreeSet::new(),
        };
        let mut program = vec![filler.filled(&self.command, "command")?];
        if program[0].trim().is_empty() {
            return Err(
                "command is empty once its variables are filled in; set them to a program"
                    .to_owned(),
            );
        }
        for (index, arg) in self.args.iter().enumerate() {
            program.push(filler.filled(arg, &format!("args[{index}]"))?);
        }
        let mut environment = Vec::with_capacity(self.env.len());
        for (name, text) in &self.env {
            let value = filler.filled(text, &format!("env.{name}"))?;
            if is_secret_name(name) {
                filler.add_secret(&value);
                filler.add_secret_url(&value);
            }
            environment.push((name.clone(), value));
        }
        let texts = program
            .iter()
            .chain(environment.iter().map(|(_, value)| value));
        let passwords: Vec<String> = texts.flat_map(|text| url_passwords(text)).collect();
        filler.secrets.extend(passwords);
        Ok(ExpandedEntry {
            program,
            environment,
            secrets: filler.secrets.into_iter().collect(),
        })
    }

    /// The program and its arguments, as everybody may see them: without passwords in addresses and without the values of
    /// flags that are named like secrets.
    #[must_use]
    pub fn shown_command(&self) -> Vec<String> {
        let mut shown = vec![without_password(&self.command)];
        let mut is_value = false;
        for arg in &self.args {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (arg.as_str(), None),
            };
            let is_secret = flag.starts_with('-') && is_secret_name(flag);
            shown.push(
                match (is_value && !arg.starts_with('-'), is_secret, value) {
                    (true, _, _) if !arg.starts_with("${") => MASK.to_owned(),
                    (_, true, Some(value)) if !value.starts_with("${") => format!("{flag}={MASK}"),
                    (_, _, _) => without_password(arg),
                },
            );
            is_value = is_secret && value.is_none();
        }
        shown
    }

    /// True if the entry lets a tool be offered.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        let is_in = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| covers_with_stars(pattern, tool))
        };
        (self.enabled_tools.is_empty() || is_in(&self.enabled_tools))
            && !is_in(&self.disabled_tools)
    }

    /// The entry as JSON with sorted keys, without variables filled in: what an operator accepts. Entries that mean the
    /// same have the same text.
    #[must_use]
    pub fn canonical(&self) -> String {
        let sorted = |patterns: &[String]| -> Vec<String> {
            let patterns: BTreeSet<&String> = patterns.iter().collect();
            patterns.into_iter().cloned().collect()
        };
        let mut value = Value::from(Self {
            enabled_tools: sorted(&self.enabled_tools),
            disabled_tools: sorted(&self.disabled_tools),
            ..self.clone()
        });
        value.sort_all_objects();
        value.to_string()
    }
}

impl From<ServerEntry> for Value {
    fn from(entry: ServerEntry) -> Self {
        let access = match entry.access {
            Access::Read => "read",
            // No entry that was read has an unknown access.
            Access::Write | Access::Unknown => "write",
            Access::Full => "full",
        };
        let mut value = json!({
            "command": entry.command,
            "args": entry.args,
            "env": entry.env,
            "access": access,
            "network": entry.network,
        });
        if let Some(timeout) = entry.timeout {
            value["timeout"] = json!(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        }
        for (key, patterns) in [
            ("enabled_tools", entry.enabled_tools),
            ("disabled_tools", entry.disabled_tools),
        ] {
            if !patterns.is_empty() {
                value[key] = json!(patterns);
            }
        }
        if entry.is_disabled {
            value["disabled"] = json!(true);
        }
        value
    }
}

impl TryFrom<Value> for ServerEntry {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Self::read(&value)
    }
}

impl fmt::Debug for ServerEntry {
    /// Leaves out the values of variables, which can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEntry")
            .field("command", &self.command)
            .field("env", &self.env.keys())
            .field("access", &self.access)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ExpandedEntry {
    /// Leaves out all values, which can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("ExpandedEntry")
            .field("environment", &names)
            .finish_non_exhaustive()
    }
}

/// Checks that the server is one over standard input and output.
fn check_transport(members: &Map<String, Value>) -> Result<(), String> {
    if URL_KEYS.iter().any(|key| members.contains_key(*key)) {
        return Err(NO_HTTP.to_owned());
    }
    match members.get("type") {
        None => Ok(()),
        Some(kind) if kind == "stdio" => Ok(()),
        Some(kind) if HTTP_TYPES.iter().any(|http| kind == http) => Err(NO_HTTP.to_owned()),
        Some(kind) => Err(must_be("type", "\"stdio\" or left out", kind)),
    }
}

/// Refuses keys that an operator has most likely mistyped.
fn check_keys(members: &Map<String, Value>) -> Result<(), String> {
    let is_known = |key: &str| {
        KEYS.contains(&key)
            || FOREIGN_KEYS.contains(&key)
            || matches!(key, "type" | "tool_timeout_sec")
    };
    if members.contains_key("cwd") {
        return Err(
            "cwd cannot be set: the server works in the conversation's folder; leave it out"
                .to_owned(),
        );
    }
    let Some(key) = members.keys().find(|key| !is_known(key)) else {
        return Ok(());
    };
    let way_out = match nearest(key, KEYS.into_iter()) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("the keys here are {}", KEYS.join(", ")),
    };
    let key = preview(&Value::from(key.as_str()));
    Err(format!("unknown key {key}; {way_out}"))
}

fn read_command(members: &Map<String, Value>) -> Result<String, String> {
    let command = match members.get("command") {
        None => return Err("command is missing; name a program, such as \"uvx\"".to_owned()),
        Some(Value::String(command)) => command,
        Some(other) => {
            return Err(must_be(
                "command",
                "the name of a program, with its arguments in args",
                other,
            ));
        }
    };
    if command.trim().is_empty() {
        return Err("command is empty; name a program, such as \"uvx\"".to_owned());
    }
    no_nul("command", command)?;
    Ok(command.clone())
}

/// The texts of a list. `None` without the key.
fn read_texts(members: &Map<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let Some(value) = members.get(key) else {
        return Ok(None);
    };
    let Value::Array(items) = value else {
        return Err(must_be(
            key,
            "a list of texts, such as [\"a\", \"b\"]",
            value,
        ));
    };
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = format!("{key}[{index}]");
        let Value::String(text) = item else {
            return Err(must_be(&place, "a text in quotes", item));
        };
        no_nul(&place, text)?;
        texts.push(text.clone());
    }
    Ok(Some(texts))
}

fn read_env(members: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let Some(value) = members.get("env") else {
        return Ok(BTreeMap::new());
    };
    let Value::Object(variables) = value else {
        return Err(format!(
            "env must be an object such as {{\"NAME\": \"value\"}}, not {}",
            kind_of(value)
        ));
    };
    let mut env = BTreeMap::new();
    for (name, value) in variables {
        if !is_variable_name(name) {
            let name = preview(&Value::from(name.as_str()));
            return Err(format!(
                "env has {name}; the name of a variable has letters, digits and _, and does not start with a digit"
            ));
        }
        let place = format!("env.{name}");
        let Value::String(text) = value else {
            // The value itself can be a secret.
            let kind = kind_of(value);
            return Err(format!("{place} must be a text in quotes, not {kind}"));
        };
        no_nul(&place, text)?;
        env.insert(name.clone(), text.clone());
    }
    Ok(env)
}

/// The time of a call: `timeout` in milliseconds, else the key of another program, in seconds.
fn read_timeout(members: &Map<String, Value>) -> Result<Option<Duration>, String> {
    let is_allowed = |time: &Duration| *time >= Duration::from_millis(1) && *time <= MAX_TIMEOUT;
    let seconds = match members.get("tool_timeout_sec") {
        None => None,
        Some(value) => {
            let time = value.as_f64().map(Duration::try_from_secs_f64);
            let time = time.and_then(Result::ok).filter(is_allowed);
            let wanted = "a number of seconds from 0.001 to 86400 (24 h)";
            Some(time.ok_or_else(|| must_be("tool_timeout_sec", wanted, value))?)
        }
    };
    let milliseconds = match members.get("timeout") {
        None => None,
        Some(value) => {
            let time = value.as_u64().map(Duration::from_millis);
            let wanted = "a whole number of milliseconds from 1 to 86400000 (24 h)";
            let time = time.filter(is_allowed);
            Some(time.ok_or_else(|| must_be("timeout", wanted, value))?)
        }
    };
    // An entry is stored in milliseconds.
    let whole = |time: Duration| u64::try_from(time.as_millis()).map(Duration::from_millis);
    Ok(milliseconds.or(seconds).and_then(|time| whole(time).ok()))
}

fn read_access(members: &Map<String, Value>) -> Result<Access, String> {
    let Some(value) = members.get("access") else {
        return Ok(Access::Write);
    };
    match value.as_str() {
        Some("read") => Ok(Access::Read),
        Some("write") => Ok(Access::Write),
        Some("full") => Ok(Access::Full),
        Some(_) | None => Err(must_be("access", "\"read\", \"write\" or \"full\"", value)),
    }
}

fn read_switch(members: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match members.get(key) {
        None => Ok(None),
        Some(Value::Bool(switch)) => Ok(Some(*switch)),
        Some(other) => Err(must_be(key, "true or false", other)),
    }
}

fn must_be(place: &str, wanted: &str, value: &Value) -> String {
    format!("{place} must be {wanted}, not {}", preview(value))
}

/// Refuses text that no program can be started with.
fn no_nul(place: &str, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!("{place} holds a NUL character; take it out"));
    }
    Ok(())
}

/// The beginning of a value, as JSON.
fn preview(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_PREVIEW) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The word for the kind of a value.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_in_name)
}

/// True if the name of a variable can have the character.
fn is_in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Fills variables in, and collects the secrets among their values.
struct VariableFiller<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    secrets: BTreeSet<String>,
}

impl VariableFiller<'_> {
    /// A text with its variables filled in. Values are not searched for variables.
    fn filled(&mut self, text: &str, place: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let Some(reference) = VariableReference::read(after) else {
                filled.push_str("${");
                rest = after;
                continue;
            };
            let name = reference.name;
            match ((self.variable)(name), reference.default) {
                (Some(value), _) => {
                    no_nul(&format!("the variable {name} for {place}"), &value)?;
                    self.add_secret(&value);
                    filled.push_str(&value);
                }
                (None, Some(default)) => filled.push_str(default),
                (None, None) => {
                    return Err(format!(
                        "{place} needs the variable {name}, which is not set for the service; set it, or give a \
                         default: ${{{name}:-default}}"
                    ));
                }
            }
            rest = reference.rest;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Adds a URL that is more than a place, such as that of a hook: to have it is enough to use it.
    fn add_secret_url(&mut self, value: &str) {
        let value = value.trim();
        let path = value.split_once("://").map(|(_, rest)| rest);
        let path = path.and_then(|rest| rest.split_once('/'));
        if is_url(value) && path.is_some_and(|(_, path)| path.len() >= MIN_PATH) {
            self.secrets.insert(value.to_owned());
        }
    }

    /// Adds a value, unless masking it would garble other text.
    fn add_secret(&mut self, value: &str) {
        let value = value.trim();
        if may_be_secret(value) {
            self.secrets.insert(value.to_owned());
        }
    }
}

/// A variable in a text.
struct VariableReference<'a> {
    name: &'a str,
    default: Option<&'a str>,
    /// The text after it.
    rest: &'a str,
}

impl<'a> VariableReference<'a> {
    /// Reads `NAME}` or `NAME:-default}`. `None` for other text.
    fn read(text: &'a str) -> Option<Self> {
        let end = text.find(|c: char| !is_in_name(c))?;
        let (name, after) = text.split_at(end);
        let (default, rest) = match after.strip_prefix('}') {
            Some(rest) => (None, rest),
            None => {
                let (default, rest) = after.strip_prefix(":-")?.split_once('}')?;
                (Some(default), rest)
            }
        };
        is_variable_name(name).then_some(Self {
            name,
            default,
            rest,
        })
    }
}

/// A text without the users and passwords in its URLs.
fn without_password(text: &str) -> String {
    let mut shown = text.to_owned();
    for password in url_passwords(text) {
        shown = shown.replace(&password, MASK);
    }
    shown
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
