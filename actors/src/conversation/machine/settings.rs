//! Changing settings: a patch comes in, and the settings as a whole are put on record.

use harness_protocol::{Settings, SettingsPatch};

use super::Machine;
use super::effect::Effect;
use crate::conversation::messages::{ChangeError, SettingsView, SubmitError};
use crate::journal::Record;
use crate::tool::defined_name;

impl Machine {
    /// Changes settings from the next run on.
    ///
    /// # Errors
    /// A patch that cannot be changes nothing and shows nothing.
    pub fn change(
        &mut self,
        patch: SettingsPatch,
        by: Option<String>,
    ) -> Result<Vec<Effect>, ChangeError> {
        if self.stopping {
            return Err(ChangeError::Order(SubmitError::Stopping));
        }
        // Names that were taken before may be gone since; they stay, in case they come back.
        let changed = patch.clone().apply(&Settings::default());
        self.check_tools(changed.active_tools.as_deref().unwrap_or_default())?;
        let mut settings = patch.apply(self.settings());
        // Where the service offers a part of them, no names stand for all.
        let offers_all = self.planner.defaults.settings.active_tools.is_empty();
        let is_default = |names: &mut Vec<String>| names.is_empty() && offers_all;
        settings.active_tools.take_if(is_default);
        if settings == *self.settings() {
            return Ok(vec![]);
        }
        Ok(vec![self.note(Record::SettingsChanged { settings, by })])
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

    /// Offers the tools that there are now, from the next run on.
    ///
    /// # Errors
    /// [`SubmitError::Stopping`].
    pub fn renew_tools(
        &mut self,
        by: Option<String>,
    ) -> Result<(SettingsView, Vec<Effect>), SubmitError> {
        if self.stopping {
            return Err(SubmitError::Stopping);
        }
        let tools = self.planner.tools.get().definitions();
        let is_new = *self.tool_list() != *tools;
        let renewed = is_new.then(|| self.note(Record::ToolsRenewed { tools, by }));
        Ok((self.settings_view(), renewed.into_iter().collect()))
    }

    /// The settings as they are shown.
    #[must_use]
    pub fn settings_view(&self) -> SettingsView {
        let tools = self.tool_list();
        let names = tools.iter().map(defined_name).map(str::to_owned);
        self.planner.view(self.settings(), names.collect())
    }
}
