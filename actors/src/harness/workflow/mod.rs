//! Workflows as a Rust value: the same actors, journals and checks as in the service, with a program's own
//! decisions about health, features and outcomes in place of a person at the gates.

mod builder;
mod error;
mod follow;
mod past;
mod policy;
mod request;
mod result;
mod runtime;

pub use builder::WorkflowBuilder;
pub use error::RuntimeError;
pub use policy::RunPolicy;
pub use request::{
    FeatureRequest, InitializerRequest, RuntimeRunRequest, TaskIterationRequest, WorkflowPlan,
};
pub use result::{InitializerResult, IterationReport, RuntimeRunOutcome, TaskIterationResult};
pub use runtime::WorkflowRuntime;

#[cfg(test)]
mod tests;
