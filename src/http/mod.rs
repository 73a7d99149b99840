//! The HTTP surface: the routes, who may use them, and errors that say what to do.

mod attachable;
mod attachments;
mod body;
mod compaction;
mod connection;
mod conversations;
mod events;
mod guard;
mod lent;
mod models;
mod problem;
mod queue;
mod said;
mod server;
mod service;
mod settings;
mod skills;
mod snapshot;
mod start;
mod usage;

pub(crate) use attachable::Attachable;
pub(crate) use connection::Door;
pub(crate) use guard::{Access, AllowedHosts, Token};
pub(crate) use server::{Shared, bind, serve};
pub(crate) use service::About;
