//! The log of the service and of the commands.

pub(crate) mod log_file;
pub(crate) mod log_queue;
pub(crate) mod log_setup;
pub(crate) mod service_log;
pub(crate) mod utc;
