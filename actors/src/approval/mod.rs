//! What decides whether a tool may change something: rules, then the mode.

mod approver;
mod book;
mod policy;
mod rule;

pub use approver::{Approver, ApproverAnswer, ApproverFuture, DenyAll, Operators};
pub use book::{FolderRules, RuleBook};
pub use policy::{Decision, Policy};
pub use rule::{Rule, RuleError};
