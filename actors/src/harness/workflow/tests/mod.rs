//! Workflows as a value: what their users can rely on. Each test of a case is named after its number.

mod bench;
mod hooks;
mod phases;
mod place;
mod runs;
