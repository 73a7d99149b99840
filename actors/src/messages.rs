//! The messages of all rooms by their old path, until everything names the rooms.

pub use crate::broadcast::messages::*;
pub use crate::conversation::messages::*;
pub use crate::directory::messages::*;
pub use crate::model::messages::*;
pub use crate::send::{tell as publish, tell as reply};
pub use crate::tool::messages::*;
