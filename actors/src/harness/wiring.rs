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
    let tools = ToolActor::new(config.tool_timeout, redaction.clone()).start();
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
            model: config.model,
            max_tokens: config.max_tokens,
            max_turns: config.max_turns,
            system_prompt: config.system_prompt,
            thinking: config.thinking,
            active_tools: config.active_tools,
            tool_execution: config.tool_execution,
            steering_mode: config.steering_mode,
            follow_up_mode: config.follow_up_mode,
            context_window: config.context_window,
            compaction: config.compaction.or_default(),
            compaction_model: config.compaction_model,
            context_files: config.context_files,
            caching: config.caching,
        }),
        seams,
        lives: Arc::default(),
        clock,
        broadcasting,
    })
}
