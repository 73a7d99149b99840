//! Asking the model: one request, its retries, its stream of events, its finished blocks.

mod actor;
mod answer;
mod assemble;
mod attempt;
mod call;
mod catalog;
mod client;
mod describe;
mod error;
mod extensions;
mod extras;
mod files;
#[cfg(feature = "client")]
mod http;
#[cfg(not(feature = "client"))]
#[path = "no_http.rs"]
mod http;
mod info;
mod key_origin;
mod keys;
mod learned;
mod left_out;
mod live_models;
pub mod messages;
mod named_keys;
mod no_tools;
mod overflow;
mod private;
mod properties;
mod reply_maximum;
mod reply_schema;
mod request;
mod retry;
mod scripted;
mod settings;
mod spent;
mod sse;
mod surrogates;
mod thinking;
mod tool_input;
mod transport;
mod version;
mod web_tools;

pub use actor::ModelActor;
pub use assemble::{AssembledStep, Assembler};
pub use error::{ModelError, ModelFailure};
pub use extensions::ModelExtensions;
pub(crate) use extras::EAGER_INPUT;
pub use extras::RequestExtra;
pub use files::MAX_REQUEST_BYTES;
pub use info::{
    EffortSupport, ModelCapabilities, ModelInfo, Support, ThinkingSupport, ThinkingTypes,
};
pub use key_origin::KeyOrigin;
pub use keys::{Credential, EnvOrFileKeys, KeyResolver};
pub use named_keys::NamedKeys;
pub use private::is_private;
pub use reply_schema::{ReplySchema, SchemaError};
pub use request::{
    Caching, CountedBeginning, DEFAULT_MODEL, HeadSettings, ModelChoice, ModelRequest,
    PastFallbacks, RequestHead, RequestPiece,
};
pub use retry::RetryPolicy;
pub use scripted::{ScriptedReply, ScriptedTransport};
pub use settings::ModelSettings;
pub use sse::{MAX_EVENT_BYTES, SseLines};
pub use transport::{Transport, TransportRequest, TransportStream};
pub use version::ApiVersion;
pub(crate) use web_tools::{WebLimits, is_search, is_server_tool, web_tools};

#[cfg(test)]
mod extensions_tests;
