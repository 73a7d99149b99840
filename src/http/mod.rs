//! The HTTP surface: the routes, who may use them, and errors that say what to do.

mod access;
mod attachments;
mod body;
mod compaction;
mod connection;
mod conversations;
mod events;
mod guard;
mod guidance;
mod lent;
mod models;
mod peer;
mod problem;
mod queue;
mod rest;
mod server;
mod settings;
mod snapshot;
mod start;
mod usage;

pub(crate) use access::{Access, AllowedHosts};
pub(crate) use server::{Shared, bind, serve};
