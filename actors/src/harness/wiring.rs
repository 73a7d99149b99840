//! The actors that all conversations share.

use std::path::Path;
use std::sync::Arc;

use actix::prelude::*;

use super::config::{Config, ConfigError};
use crate::clock::Clock;
use crate::conversation::Defaults;
use crate::directory::{DirectoryParts, Extensions};
use crate::model::{Credential, ModelActor, ModelExtensions};
use crate::tool::{Registry, Tool, ToolActor};

/// Starts what all conversations share, on this thread's arbiter.
///
/// # Errors
/// A setting or tool that cannot work.
///
/// # Panics
/// Outside of an actix system, in which the actors live. [`super::Harness`] and [`super::WorkflowRuntime`] bring one of
/// their own.
pub fn parts(
    config: Config,
    tools: Vec<Arc<dyn Tool>>,
    extensions: Extensions,
    workspace: Arc<Path>,
    clock: Clock,
    broadcasting: ArbiterHandle,
) -> Result<DirectoryParts, ConfigError> {
    config.check(&extensions)?;
    let registry = Registry::new(tools)?;
    let redaction = extensions.redaction.clone();
    let (Credential::ApiKey(key) | Credential::Bearer(key)) = &config.api.credential;
    redaction.add_all(config.secrets.into_iter().chain([key.clone()]));
    let tools = ToolActor::new(config.tool_timeout, redaction.clone())
        .closing(Arc::clone(&extensions.closed))
        .keeping(extensions.before.clone())
        .keeping_outputs(extensions.outputs.clone())
        .launching(extensions.launcher.clone())
        .start();
    let model_extensions = ModelExtensions {
        attachments: Arc::clone(&extensions.attachments),
        transport: extensions.transport.clone(),
        keys: extensions.keys.clone(),
        redaction,
    };
    let is_vendor = extensions.transport.is_none() && config.api.is_vendor();
    let model = ModelActor::with_extensions(config.api, clock, model_extensions).start();
    Ok(DirectoryParts {
        start_model_call: model.clone().recipient(),
        cancel_model_call: model.clone().recipient(),
        describe_model: model.clone().recipient(),
        list_models: model.recipient(),
        run_tool: tools.clone().recipient(),
        cancel_tool: tools.recipient(),
        tools: registry.into(),
        workspace,
        defaults: Arc::new(Defaults {
            settings: config.settings,
            caching: config.caching,
            is_vendor,
        }),
        extensions,
        lives: Arc::default(),
        clock,
        broadcasting,
    })
}
