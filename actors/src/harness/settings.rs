//! The settings that can be changed from the next run on.

use std::sync::Arc;

use harness_protocol::{RenewTools, SettingsAnswer, SettingsPatch, ThinkingLevel};
use serde_json::{Value, json};

use super::{Harness, HarnessError};
use crate::conversation::messages::{
    ChangeConversationSettings, ChangeError, GetSettings, GivenOrder,
};
use crate::reply::Object;
use crate::tool::{Registry, Tool, ToolShelf};

impl Harness {
    /// The settings.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn settings(&self) -> Result<SettingsAnswer, HarnessError> {
        Ok(self.conversation.send(GetSettings).await??)
    }

    /// Changes settings from the next run on. They are kept with the conversation, in place of those
    /// that it was started with. `patch` is a JSON merge patch (RFC 7396) of
    /// [`harness_protocol::Settings`]: what is null is as the service
    /// has it, which here is what the harness was started with.
    ///
    /// # Errors
    /// A value that cannot be changes nothing.
    pub async fn change_settings(&self, patch: Object) -> Result<SettingsAnswer, HarnessError> {
        let patch = SettingsPatch::parse(patch).map_err(ChangeError::Invalid)?;
        let order = ChangeConversationSettings { patch, by: None };
        Ok(self.conversation.send(order).await??)
    }

    async fn set(&self, name: &str, value: Value) -> Result<(), HarnessError> {
        let mut patch = Object::new();
        patch.insert(name.to_owned(), value);
        self.change_settings(patch).await?;
        Ok(())
    }

    /// Asks another model from the next run on. Summaries are written by the
    /// compaction model of [`super::Config::settings`], if there is one, as before.
    ///
    /// # Errors
    /// A blank name.
    pub async fn set_model(&self, id: &str) -> Result<(), HarnessError> {
        self.set("model", json!(id)).await
    }

    /// Changes how much the model thinks, from the next run on; with none, it is as the harness was
    /// started with.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub async fn set_thinking_level(
        &self,
        level: Option<ThinkingLevel>,
    ) -> Result<(), HarnessError> {
        self.set("thinking", json!(level)).await
    }

    /// Changes the system prompt, from the next run on. A builder of system prompts takes precedence, see
    /// [`crate::directory::Extensions::system_prompt`].
    ///
    /// # Errors
    /// One that is too large.
    pub async fn set_system_prompt(&self, prompt: &str) -> Result<(), HarnessError> {
        self.set("system_prompt", json!(prompt)).await
    }

    /// Replaces the tools. The model is offered them from the next run on; a call of a removed tool fails at once.
    /// Names of [`Self::set_active_tools`] that no tool has are ignored until a tool has them.
    ///
    /// # Errors
    /// Tools that the API would refuse change nothing; or when that cannot be kept.
    pub async fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Result<(), HarnessError> {
        self.tools.set(Registry::new(tools)?);
        self.renew_tools().await?;
        Ok(())
    }

    /// Offers the model the tools that there are now, from the next run on, in place of those that
    /// it was offered first.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub async fn renew_tools(&self) -> Result<SettingsAnswer, HarnessError> {
        Ok(self
            .conversation
            .send(GivenOrder(RenewTools::default()))
            .await??)
    }

    /// The tools, to add and remove some while the conversation continues. The model's list follows with
    /// [`Self::renew_tools`].
    #[must_use]
    pub fn tool_shelf(&self) -> &ToolShelf {
        &self.tools
    }

    /// Offers the model only the tools of these names, from the next run on; all of them if there
    /// are no names.
    ///
    /// # Errors
    /// A name that no tool has changes nothing.
    pub async fn set_active_tools(&self, names: &[&str]) -> Result<(), HarnessError> {
        self.set("active_tools", json!(names)).await
    }

    /// The tools that there are, in their order.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.get().iter().cloned().collect()
    }

    /// The tools that the model is offered in the next run, in their order.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn active_tools(&self) -> Result<Vec<Arc<dyn Tool>>, HarnessError> {
        let names = self.settings().await?.active_tools;
        let mut tools = self.tools();
        tools.retain(|tool| names.iter().any(|name| name == tool.name()));
        Ok(tools)
    }
}
