//! The past, and its sum: the one fold over a journal.

mod approvals;
mod changes;
mod digest;
mod history;
mod jobs;
mod ledger;
mod proposals;
mod read_back;
mod rewrite;
mod unknown_changes;

pub(super) use approvals::ApprovalEnd;
pub(super) use changes::{Changes, Meant};
pub(super) use history::Dropped;
pub use history::{History, first_violation};
pub(super) use ledger::add;
pub use ledger::{INTERRUPTED, Keyed, KeyedState, Ledger};
pub(super) use proposals::{ReturnedCall, decision};
pub use read_back::{Glance, glance, revive, transcript};
pub(crate) use read_back::{Reading, glance_at};
pub(super) use rewrite::{Rewritten, rewrite};
