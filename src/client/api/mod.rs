//! The way to the running service.

pub(super) mod connection;
pub(super) mod discovery;
pub(super) mod error;
pub(super) mod follower;
pub(super) mod opened;
mod own_file;
pub(super) mod patience;
pub(super) mod reading;
pub(super) mod route;
pub(super) mod routes;
pub(super) mod stream;
