//! Changing settings: a merge patch comes in, and the settings as a whole are put on record.

use serde_json::Value;

use super::Machine;
use super::effect::Effect;
use crate::conversation::messages::{ChangeError, SettingsView, SubmitError};
use crate::journal::{Record, Settings};
use crate::reply::Object;
use crate::tool::defined_name;

impl Machine {
    /// Changes settings from the next run on. `patch` is a JSON merge patch (RFC 7396) of the
    /// settings in their wire format.
    ///
    /// # Errors
    /// A patch that cannot be changes nothing and shows nothing.
    pub fn change(
        &mut self,
        patch: Object,
        by: Option<String>,
    ) -> Result<Vec<Effect>, ChangeError> {
        if self.stopping {
            return Err(ChangeError::Order(SubmitError::Stopping));
        }
        let settings = self.patched(patch)?;
        if settings == *self.settings() {
            return Ok(vec![]);
        }
        Ok(vec![self.note(Record::SettingsChanged { settings, by })])
    }

    fn patched(&self, patch: Object) -> Result<Settings, ChangeError> {
        let own = harness_protocol::Settings::from(self.settings().clone());
        // Names that were taken before may be gone since; they stay, in case they come back.
        let names_tools = patch.contains_key("active_tools");
        let invalid = |error: serde_json::Error| ChangeError::Invalid(error.to_string());
        let mut merged = serde_json::to_value(own).map_err(invalid)?;
        if let Value::Object(merged) = &mut merged {
            for (name, value) in patch {
                if value.is_null() {
                    // A name that there is not is to be told even when it is to be unset.
                    check_name(&name)?;
                    merged.shift_remove(&name);
                } else {
                    check_value(&name, &value)?;
                    merged.insert(name, value);
                }
            }
        }
        let merged: harness_protocol::Settings = serde_json::from_value(merged).map_err(invalid)?;
        let mut settings = Settings::from(merged);
        settings.check().map_err(ChangeError::Invalid)?;
        if names_tools {
            self.check_tools(settings.active_tools.as_deref().unwrap_or_default())?;
        }
        // Where the service offers a part of them, no names stand for all.
        let offers_all = self.planner.defaults.active_tools.is_empty();
        let is_default = |names: &mut Vec<String>| names.is_empty() && offers_all;
        settings.active_tools.take_if(is_default);
        Ok(settings)
    }

    fn check_tools(&self, names: &[String]) -> Result<(), ChangeError> {
        let list = self.tool_list();
        let known: Vec<&str> = list.iter().map(defined_name).collect();
        let mut names = names.iter();
        match names.find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(ChangeError::UnknownTool {
                name: name.clone(),
                tools: known.join(", "),
            }),
        }
    }

    /// Offers the tools that there are now, from the next run on. Tells all their names.
    ///
    /// # Errors
    /// [`SubmitError::Stopping`].
    pub fn renew_tools(
        &mut self,
        by: Option<String>,
    ) -> Result<(Vec<String>, Vec<Effect>), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        let tools = self.planner.tools.get().definitions();
        let names = tools.iter().map(defined_name).map(str::to_owned).collect();
        let is_new = *self.tool_list() != *tools;
        let renewed = is_new.then(|| self.note(Record::ToolsRenewed { tools, by }));
        Ok((names, renewed.into_iter().collect()))
    }

    /// The settings as they are shown.
    #[must_use]
    pub fn settings_view(&self) -> SettingsView {
        let tools = self.tool_list();
        let names = tools.iter().map(defined_name).map(str::to_owned);
        self.planner.view(self.settings(), names.collect())
    }
}

/// Whether there is a setting of that name.
fn check_name(name: &str) -> Result<(), ChangeError> {
    let Err(error) = parse(name, &Value::Null) else {
        return Ok(());
    };
    Err(ChangeError::Invalid(error.to_string()))
}

/// Whether the setting can have that value; the error names both.
fn check_value(name: &str, value: &Value) -> Result<(), ChangeError> {
    check_name(name)?;
    match parse(name, value) {
        Ok(_) => Ok(()),
        Err(error) => Err(ChangeError::Invalid(format!(
            "{name} cannot be {}: {error}",
            shortened(value)
        ))),
    }
}

fn parse(name: &str, value: &Value) -> Result<harness_protocol::Settings, serde_json::Error> {
    let mut object = Object::new();
    object.insert(name.to_owned(), value.clone());
    serde_json::from_value(Value::Object(object))
}

/// A value, not longer than is good for one line.
fn shortened(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > 80 {
        text.truncate(text.floor_char_boundary(80));
        text.push('…');
    }
    text
}
