//! Workflows over HTTP: their file, their past, and what they leave.

mod delete;
mod iterations;
mod manifest;
mod notify;
mod on_base;
