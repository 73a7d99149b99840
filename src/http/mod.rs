//! The HTTP surface: the routes, who may use them, and errors that say what to do.

mod access;
mod attachable;
mod attachments;
mod body;
mod compaction;
mod connection;
mod conversations;
mod door;
mod dues;
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
mod service;
mod settings;
mod snapshot;
mod socket;
mod start;
mod token;
mod usage;

pub(crate) use access::{Access, AllowedHosts, Token};
pub(crate) use attachable::Attachable;
pub(crate) use door::Door;
pub(crate) use server::{Shared, bind, serve};
pub(crate) use service::About;
