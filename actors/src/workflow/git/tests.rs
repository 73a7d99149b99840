//! Git as it is, in repositories of the tests' own.

mod place;
mod refs;
mod tamper;
mod work;
mod worktrees;
