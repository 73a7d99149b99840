//! Changing settings: a patch comes in, and the settings as a whole are put on record.

use harness_protocol::{RenewTools, Settings, SettingsAnswer, WEB_TOOLS, are_no_tools};

use super::Machine;
use super::order::{ConversationOrder, OrderResult};
use crate::conversation::messages::{
    ChangeConversationSettings, ChangeError, GivenOrder, SubmitError,
};
use crate::journal::Record;
use crate::tool::defined_name;

impl ConversationOrder for ChangeConversationSettings {
    type Answer = SettingsAnswer;
    type Refusal = ChangeError;

    fn brings(&self, _: &Machine) -> Result<Option<usize>, SubmitError> {
        let bytes = serde_json::to_vec(&self.patch).map_or(0, |patch| patch.len());
        Ok(Some(bytes))
    }

    /// Changes settings from the next run on.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        let Self { patch, by } = self;
        if machine.stopping {
            return Err(ChangeError::Order(SubmitError::Stopping));
        }
        // Names that were taken before may be gone since; they stay, in case they come back.
        let changed = patch.clone().apply(&Settings::default());
        machine.check_tools(changed.active_tools.as_deref().unwrap_or_default())?;
        let mut settings = patch.apply(machine.settings());
        // Where the service offers a part of them, no names stand for all.
        let offers_all = machine.planner.defaults.settings.active_tools.is_empty();
        let is_default = |names: &mut Vec<String>| names.is_empty() && offers_all;
        settings.active_tools.take_if(is_default);
        let mut effects = Vec::new();
        if settings != *machine.settings() {
            effects.push(machine.note(Record::SettingsChanged {
                settings,
                by: by.clone(),
            }));
            effects.extend(machine.reconsider(by));
        }
        Ok((machine.settings_view(), effects))
    }
}

impl ConversationOrder for GivenOrder<RenewTools> {
    type Answer = SettingsAnswer;
    type Refusal = SubmitError;

    fn brings(&self, machine: &Machine) -> Result<Option<usize>, SubmitError> {
        let tools = machine.planner.new_tools(machine.settings());
        let bytes = serde_json::to_vec(&tools).map_or(0, |tools| tools.len());
        Ok(Some(bytes))
    }

    /// Offers the tools that there are now, from the next run on.
    fn apply(self, machine: &mut Machine) -> OrderResult<Self> {
        if machine.stopping {
            return Err(SubmitError::Stopping);
        }
        let tools = machine.planner.new_tools(machine.settings());
        let is_new = *machine.tool_list() != *tools;
        let by = self.0.by;
        let renewed = is_new.then(|| machine.note(Record::ToolsRenewed { tools, by }));
        Ok((machine.settings_view(), renewed.into_iter().collect()))
    }
}

impl Machine {
    fn check_tools(&self, names: &[String]) -> Result<(), ChangeError> {
        if are_no_tools(names) {
            return Ok(());
        }
        let list = self.tool_list();
        let mut known: Vec<&str> = list.iter().map(defined_name).collect();
        for of_web in WEB_TOOLS {
            if !known.contains(&of_web) {
                known.push(of_web);
            }
        }
        let mut names = names.iter();
        match names.find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(ChangeError::UnknownTool {
                name: name.clone(),
                tools: known.join(", "),
            }),
        }
    }

    /// The settings for clients.
    #[must_use]
    pub fn settings_view(&self) -> SettingsAnswer {
        let tools = self.tool_list();
        let names = tools.iter().map(defined_name).map(str::to_owned);
        self.planner.view(self.settings(), names.collect())
    }
}
