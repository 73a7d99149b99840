//! Servers of the Model Context Protocol: other people's tools, in processes of their own.
//!
//! An [`AcceptedServer`] is what an operator has said yes to: how the server is started, and its tools. [`McpPool`] starts
//! it when one of the tools is called, in the folder of the conversation, and keeps it while it is used.
//!
//! Source: the specification of the Model Context Protocol, <https://modelcontextprotocol.io/specification>.

mod accepted;
mod call;
mod connection;
mod definition;
mod entry;
mod folder_files;
mod log_tail;
mod names;
mod pool;
mod process;
mod schema;
mod text;
mod tool;
mod transport;

pub use accepted::{AcceptedServer, ServerId};
pub use call::McpCallError;
pub use definition::{OfferedTool, ToolDefinition, list_digest};
pub use entry::{ExpandedEntry, ServerEntry};
pub use names::{is_server_name, tool_names};
pub use pool::{McpPool, PoolParts, ServerFacts, TestedServer};
pub use tool::{LeftOutTool, OfferedTools, offered_tools};
