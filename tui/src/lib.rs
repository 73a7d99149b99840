//! The terminal client: several people on one live conversation.
//!
//! ```text
//! terminal --Input--> ┐                       ┌--> screen (reads only) --> ratatui --> terminal
//! service  --News---> ├─ Msg --> App::update ─┤
//! timers   ---------> ┘     (no IO, no clock) └--> Effect --> Order to the service, clipboard, files
//! ```
//!
//! Invariant: nothing here speaks HTTP. The program that runs the client passes it a link: the client's orders go out
//! as [`ClientOrder`], the service's news come in as [`News`].

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

pub use app::{App, AppEffect, AppStart, Missing, Msg};
pub use board::{BoardNews, BoardOrder, PauseAt, WorkflowOrder};
pub use highlight::{ParsedColours, Request};
pub use link::{
    ClientOrder, ConversationView, FactKind, News, Offer, OfferKind, PromptFile, Recipe,
    SettingChange,
};
pub use plain::CallOutput;
pub use prompt_history::PromptHistory;
pub use runtime::{ClientOptions, RunError, run, takes_screen};
pub use screen::draw;
pub use service::{Service, ServiceDifference};
pub use terminal::{Button, Key, KeyPress, Mouse, MouseAction};
pub use text::below_home;
pub use theme::{Depth, Scheme, Theme};
