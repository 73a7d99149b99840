//! Workflows over HTTP: what is refused, what bounds them, what operators order, and what a crash changes.
//! Each test is named after its case.

mod crash;
mod in_place;
mod limits;
mod operators;
mod output;
mod people;
mod refusals;
mod room;
mod scheduled;
mod spending;
mod trouble;
