//! The HTTP surface: the routes, who may use them, and errors that say what to do.

mod access;
mod body;
mod connection;
mod conversations;
mod events;
mod guard;
mod peer;
mod problem;
mod rest;
mod server;
mod snapshot;
mod start;

pub(crate) use access::{Access, AllowedHosts};
pub(crate) use server::{Shared, bind, serve};
