//! The limits and facts of the operating system.

pub(crate) mod fd_limits;
pub(crate) mod fsize_limit;
pub(crate) mod hardening;
pub(crate) mod malloc;
pub(crate) mod procfs;
pub(crate) mod user_ns;
