//! The rows of the conversation that are on the screen.

mod anchor;
mod cache;
mod folds;
mod place;
mod rows;
mod travel;
mod view;

#[cfg(test)]
pub(crate) use cache::Lay;
pub(crate) use folds::can_fold;
pub(crate) use place::SourcePlace;
pub(crate) use rows::{is_bare, visible_range};
pub(crate) use travel::{Standing, TravelStep};
pub(crate) use view::{ShownRows, Viewport};

#[cfg(test)]
pub(crate) mod testing;
