//! What all conversations of a service share, and how the actors of one are started.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::prelude::*;
use serde_json::Value;

use super::conversation::Conversation;
use crate::broadcast::{Attendance, BroadcastActor, Now};
use crate::clock::Clock;
use crate::conversation::{ConversationActor, Downstream, Glance, INTERRUPTED, Limits, state};
use crate::journal::{Journal, Settings};
use crate::messages::{CancelModelCall, CancelTool, Publish, RunTool, StartModelCall};
use crate::model::{ModelChoice, RequestHead};

/// How far the calls of two actors are apart, in numbers.
const CALLS_OF_A_LIFE: u64 = 1_000_000;

/// What all conversations share.
#[derive(Clone)]
pub struct Parts {
    /// Asks the model.
    pub start_model_call: Recipient<StartModelCall>,
    /// Drops a call of the model.
    pub cancel_model_call: Recipient<CancelModelCall>,
    /// Runs tools.
    pub run_tool: Recipient<RunTool>,
    /// Stops a tool.
    pub cancel_tool: Recipient<CancelTool>,
    /// The tools in the API's format.
    pub tools: Arc<[Value]>,
    /// The tools that change nothing.
    pub harmless_tools: Arc<HashSet<String>>,
    /// The settings of a conversation that says nothing else.
    pub defaults: Defaults,
    /// How many actors of conversations were started.
    pub lives: Arc<AtomicU64>,
    /// Tells the time.
    pub clock: Clock,
    /// The thread that broadcasters run on, so that fanning out to many clients never delays the
    /// reading of a reply.
    pub broadcasting: ArbiterHandle,
}

/// The settings of a conversation that says nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// Which model to ask.
    pub model: ModelChoice,
    /// How many tokens one reply may have.
    pub max_tokens: u32,
    /// How many model requests one run may make.
    pub max_turns: u32,
    /// What the model is told before the conversation; empty for nothing.
    pub system_prompt: String,
}

impl Parts {
    /// Starts the actors of a conversation on this thread's arbiter.
    #[must_use]
    pub fn start(&self, journal: Arc<dyn Journal>, glance: &Glance) -> Conversation {
        let attendance = Attendance::default();
        let broadcaster = BroadcastActor::new(
            journal.header().conversation,
            glance.position,
            now(glance),
            attendance.clone(),
        );
        let broadcast = BroadcastActor::start_in_arbiter(&self.broadcasting, move |_| broadcaster);
        let actor = self
            .conversation(
                Arc::clone(&journal),
                attendance.clone(),
                broadcast.clone().recipient(),
            )
            .start();
        Conversation {
            actor,
            broadcast,
            journal,
            attendance,
        }
    }

    /// The actor of a conversation that publishes there.
    pub(crate) fn conversation(
        &self,
        journal: Arc<dyn Journal>,
        attendance: Attendance,
        publish: Recipient<Publish>,
    ) -> ConversationActor {
        let Settings {
            model,
            max_tokens,
            max_turns,
            system_prompt,
        } = journal.header().settings;
        let defaults = &self.defaults;
        let model = model.map_or_else(
            || defaults.model.clone(),
            |id| ModelChoice {
                id: id.into(),
                chosen: true,
            },
        );
        let head = RequestHead::new(
            model,
            max_tokens.unwrap_or(defaults.max_tokens),
            system_prompt.as_ref().unwrap_or(&defaults.system_prompt),
            &self.tools,
        );
        let limits = Limits {
            max_turns: max_turns.unwrap_or(defaults.max_turns),
        };
        let downstream = Downstream {
            start_model_call: self.start_model_call.clone(),
            cancel_model_call: self.cancel_model_call.clone(),
            run_tool: self.run_tool.clone(),
            cancel_tool: self.cancel_tool.clone(),
            publish,
            journal,
            harmless_tools: Arc::clone(&self.harmless_tools),
        };
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let calls = life * CALLS_OF_A_LIFE;
        ConversationActor::new(head, limits, downstream, self.clock, attendance, calls)
    }
}

/// What the end of a journal says to those who attach before anything happens.
fn now(glance: &Glance) -> Now {
    let status = glance.ledger.status();
    let interrupted = glance.ledger.run().is_some();
    let (state, message) = if interrupted {
        (harness_protocol::State::Error, INTERRUPTED.to_owned())
    } else {
        (state(status.activity), status.message.clone())
    };
    Now {
        state,
        message,
        timestamp: glance.active_at / 1000,
        run_id: None,
        interrupted,
    }
}
