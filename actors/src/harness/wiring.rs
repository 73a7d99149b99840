//! The actors that all conversations share.

use std::path::Path;
use std::sync::Arc;

use actix::prelude::*;

use super::config::{Config, ConfigError};
use crate::clock::Clock;
use crate::conversation::Defaults;
use crate::directory::{Parts, Seams};
use crate::model::{Credential, ModelActor, ModelSeams};
use crate::tool::{Registry, Tool, ToolActor};

/// Starts what all conversations share, on this thread's arbiter.
///
/// # Errors
/// A setting or tool that cannot work.
pub fn parts(
    config: Config,
    tools: Vec<Arc<dyn Tool>>,
    seams: Seams,
    workspace: Arc<Path>,
    clock: Clock,
    broadcasting: ArbiterHandle,
) -> Result<Parts, ConfigError> {
    config.check(&seams)?;
    let registry = Registry::new(tools)?;
    let redaction = seams.redaction.clone();
    let (Credential::ApiKey(key) | Credential::Bearer(key)) = &config.api.credential;
    redaction.add_all(config.secrets.into_iter().chain([key.clone()]));
    let tools = ToolActor::new(config.tool_timeout, redaction.clone())
        .closing(Arc::clone(&seams.closed))
        .keeping(seams.before.clone())
        .keeping_outputs(seams.outputs.clone())
        .launching(seams.launcher.clone())
        .start();
    let model_seams = ModelSeams {
        attachments: Arc::clone(&seams.attachments),
        transport: seams.transport.clone(),
        keys: seams.keys.clone(),
        redaction,
    };
    let model = ModelActor::with_seams(config.api, clock, model_seams).start();
    Ok(Parts {
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
        }),
        seams,
        lives: Arc::default(),
        clock,
        broadcasting,
    })
}
