//! Every rule of a workflow, as plain calls of its machine.

use super::*;

mod crashes;
mod limits;
mod operators;
mod prompts;
mod random;
mod runs;
mod scheduled;
mod verdicts;
mod waiting;
mod world;
