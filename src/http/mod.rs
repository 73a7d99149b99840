//! The HTTP surface: three routes, a health check, and errors that say what to do.

mod access;
mod body;
mod connection;
mod events;
mod guard;
mod peer;
mod problem;
mod rest;
mod server;

pub(crate) use access::{Access, AllowedHosts};
pub(crate) use server::{Shared, bind, serve};
