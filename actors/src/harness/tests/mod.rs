//! A conversation as a value: what its users can rely on.

use super::*;

mod journal;
mod run;
mod seams;
mod settings;
mod standin;
mod testing;
