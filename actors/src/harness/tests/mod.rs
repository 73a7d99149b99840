//! A conversation as a value: what its users can rely on.

use super::*;
use crate::clock::Clock;
use crate::ids::ConversationId;
use crate::journal::{Header, MemoryJournal};
use crate::tool::Tool;

mod door;
mod extensions;
mod journal;
mod run;
mod settings;
mod standin;
mod testing;
