//! The HTTP surface: the routes, who may use them, and errors that say what to do.

mod ask;
mod attachable;
mod attachments;
mod body;
mod compaction;
mod connection;
mod conversations;
mod events;
mod given;
mod guard;
mod history;
mod lent;
mod models;
mod problem;
mod prompt;
mod queue;
mod routes;
mod run;
mod said;
mod server;
mod service;
mod settings;
mod shared;
mod skills;
mod snapshot;
mod start;
mod summary;
mod tools;
mod upload;
mod usage;
mod while_connected;
mod workspace;

pub(crate) use connection::Door;
pub(crate) use guard::{Access, AllowedHosts, Token};
pub(crate) use server::{bind, serve};
pub(crate) use shared::{About, Shared};
