//! The terminal client: several people on one live conversation.
//!
//! ```text
//! terminal --Input--> ┐                       ┌--> screen (reads only) --> ratatui --> terminal
//! service  --News---> ├─ Msg --> App::update ─┤
//! timers   ---------> ┘     (no IO, no clock) └--> Effect --> Order to the service, clipboard, files
//! ```
//!
//! Invariant: nothing here speaks HTTP. The program that runs the client passes it a link: the client's orders go out
//! as [`Order`], the service's news come in as [`News`].

mod app;
mod asked;
mod board;
mod client_settings;
mod composer;
mod conversation;
mod diff;
mod highlight;
mod keys;
mod layout;
mod link;
mod markdown;
mod output;
mod part_view;
mod plain;
mod prompt_history;
mod runtime;
mod screen;
mod search;
mod selection;
mod service;
mod terminal;
mod text;
mod theme;
mod viewport;
mod whole_file;

pub use app::{App, Effect, Missing, Msg, Start};
pub use board::{BoardNews, BoardOrder, PauseAt, WorkflowOrder};
pub use highlight::{Answer, Request};
pub use link::{Change, FactKind, News, Offer, OfferKind, Order, PromptFile, Recipe, View};
pub use plain::CallOutput;
pub use prompt_history::PromptHistory;
pub use runtime::{Options, RunError, run, takes_screen};
pub use screen::draw;
pub use service::{Difference, Service};
pub use terminal::{Button, Key, KeyPress, Mouse, MouseAction};
pub use text::below_home;
pub use theme::{Depth, Scheme, Theme};
