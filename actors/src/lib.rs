//! Conversations with a language model as a Rust value, and the actors that they are made of.
//!
//! [`Harness`] is one conversation; [`WorkflowRuntime`] is long work in many of them, which the program's own checks
//! decide about. Both bring the thread that they run on, so they are used under any tokio runtime.
//!
//! ```
//! use std::sync::Arc;
//!
//! use harness_actors::model::{ScriptedReply, ScriptedTransport};
//! use harness_actors::{
//!     Cancellation, Config, Extensions, Harness, Object, Options, Tool, ToolFuture,
//! };
//! use serde_json::{Value, json};
//!
//! /// A tool of your own.
//! struct CountWords;
//!
//! impl Tool for CountWords {
//!     fn name(&self) -> &'static str {
//!         "count_words"
//!     }
//!
//!     fn description(&self) -> &'static str {
//!         "Counts the words of a text."
//!     }
//!
//!     fn input_schema(&self) -> Value {
//!         json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
//!     }
//!
//!     fn execute(&self, input: Object, _: Cancellation) -> ToolFuture<'_> {
//!         Box::pin(async move {
//!             let text = input.get("text").and_then(Value::as_str);
//!             let words = text.ok_or("text is required")?.split_whitespace().count();
//!             Ok(words.to_string())
//!         })
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // A script in place of the model: `Config::new("your key")` alone asks the real one.
//!     let model = ScriptedTransport::default();
//!     let input = json!({"text": "one two three"});
//!     model.push(ScriptedReply::tool_use("t1", "count_words", input.as_object().unwrap()));
//!     model.push(ScriptedReply::text("Three."));
//!
//!     let options = Options::new(Config::for_model("any"))
//!         .with_tools(vec![Arc::new(CountWords)])
//!         .with_extensions(Extensions::default().with_transport(model));
//!     let harness = Harness::start(options)?;
//!     let reply = harness.prompt("How many words?").await?;
//!     assert_eq!(reply.text, "Three.");
//!     assert!(reply.outcome.is_completed());
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! `client` is the client of the Messages API over HTTP, and `journal` the journals in files; both are on by default.
//! A program with a transport of its own and its conversations in memory does without them, and then without an HTTP
//! client, TLS and a C compiler. `mcp` calls tools of servers of the Model Context Protocol. `testing` is the contract for journals of other crates. This crate switches
//! `preserve_order` and `raw_value` of `serde_json` on: what the model says is sent back as it came.
//!
//! # What may change
//!
//! Errors and structs of options may grow and are `#[non_exhaustive]`. [`protocol::Event`] and [`journal::Record`] grow
//! by minor versions, too: inside of this workspace every match on them is to notice that, so they are not marked, and a
//! match of yours needs an arm for the rest.
//!
//! # The actors
//!
//! ```text
//! prompt -> ConversationActor -> ModelActor -> ConversationActor -> ToolActor -> ConversationActor -> ...
//!                 |
//!                 +-- each fact -> journal -> BroadcastActor -> every subscriber
//! ```
//!
//! * [`conversation`] decides, in a pure machine; its actor only maps messages.
//! * [`model`] streams one reply from the Messages API, with retries.
//! * [`tool`] runs tools, a few at once for all conversations.
//! * [`journal`] keeps every fact before a client sees it.
//! * [`broadcast`] fans events out and waits for no client.
//! * [`budget`] keeps a run within its spending limit.
//! * [`directory`] finds conversations, and starts their actors when they are needed.
//!
//! The messages of each of them are in its `messages`, such as [`model::messages`].
//!
//! An order ends with exactly one terminal answer; a late answer is known by its call id and
//! ignored. Fields point downstream, answers go to the `reply_to` of the question, and no handler
//! waits for another actor.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod approval;
pub mod attachment;
pub mod beneath;
pub mod broadcast;
pub mod budget;
mod clock;
pub mod compaction;
pub mod conversation;
pub mod directory;
pub mod event;
pub mod guidance;
mod harness;
mod ids;
pub mod journal;
mod lexical;
mod limit;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
mod nearest;
mod reply;
mod secret;
mod send;
pub mod storage;
mod threads;
pub mod tool;
mod web;
pub mod workflow;

pub use attachment::{AttachmentStore, MemoryAttachments};
pub use clock::Clock;
pub use directory::Extensions;
pub use harness::{
    Cause, Config, ConfigError, Content, EventHandler, EventStream, FeatureRequest, Harness,
    HarnessError, InitializerRequest, InitializerResult, IterationReport, Message, Options, Reply,
    ReplyOutcome, Role, RunPolicy, RuntimeError, RuntimeRunOutcome, RuntimeRunRequest, Snapshot,
    Subscription, TaskIterationRequest, TaskIterationResult, WorkflowBuilder, WorkflowPlan,
    WorkflowRuntime, parts,
};
/// The types of the wire, which handlers and streams get, too: events, queues, settings.
pub use harness_protocol as protocol;
pub use ids::{CallId, ConversationId, ItemId, RunId};
pub use limit::within;
pub use model::DEFAULT_MODEL;
pub use nearest::nearest;
pub use reply::{Block, BlockKind, Object, ReplyEnd, StopReason, Usage};
pub use secret::{Redaction, Secret, is_secret_name, may_be_secret, url_passwords};
pub use send::tell;
pub use threads::{BlockingError, blocking, start_thread};
pub use tool::{Cancellation, Tool, ToolContext, ToolError, ToolFuture, Touched, standard_tools};
pub use workflow::hooks::{
    AcceptAllValidator, CommandHealthChecker, CommandValidator, HealthChecker, NoopHealthChecker,
    OutcomeValidator, OutcomeVerdict,
};
pub use workflow::select::{FeatureSelector, FirstPendingFeatureSelector};
pub use workflow::state::RunErrorKind;

/// The page of the manual on the library, whose Rust blocks are to compile.
///
/// Spec: [LIB-329]
#[cfg(doctest)]
#[doc = include_str!("../../docs/library.md")]
struct Page;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
