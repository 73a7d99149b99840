//! The actor of one workflow: a client inside, which uses conversations as HTTP does.

mod actor;
mod alarm;
mod conversing;
mod files;
mod found;
mod idle;
mod notifying;
mod outbox;
mod parts;
mod resting;
mod room;
mod run_end;
mod show;
mod showing;
mod site;
mod site_checks;
mod site_git;
mod view;
mod watched;

pub(super) use actor::{
    Counts, EndWorkflow, FollowQuery, OrderWorkflow, Where, WorkflowActor, WorkflowStateQuery,
};
pub use files::WorkflowFiles;
pub(super) use found::revive;
pub use parts::{Directory, WorkflowParts};
pub(super) use resting::RestQuery;
pub use room::WorkSlots;
pub(super) use site::Site;
pub(super) use site_checks::{end_of, end_text};
