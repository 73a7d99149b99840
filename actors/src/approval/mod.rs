//! Decides whether a tool may change something, run a command or call an MCP server: rules, then the mode.

mod approver;
mod book;
mod command_line;
mod command_pattern;
mod command_policy;
mod glob;
mod loose;
mod mcp_pattern;
mod mcp_policy;
mod policy;
mod programs;
mod removal;
mod rule;
#[cfg(test)]
mod table;

pub use approver::{Approver, ApproverAnswer, ApproverFuture, DenyAll, Operators};
pub use book::{FolderRules, NO_INODE, RuleBook};
pub(crate) use command_line::{PlainLine, plain_line};
#[cfg(feature = "mcp")]
pub(crate) use glob::covers_with_stars;
pub use policy::{ApprovalPolicy, Decision};
pub(crate) use rule::covers_path;
pub use rule::{COMMAND_TOOL, MAX_RULE, MCP_NAMES, MCP_TOOL, Rule, RuleError};
