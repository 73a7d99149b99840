//! What decides whether a tool may change something: rules, then the mode.

mod policy;
mod rule;

pub use policy::{Decision, Policy};
pub use rule::{Rule, RuleError};
