//! The parts that the tests of workflows share: a launcher that contains nothing.

pub(super) use crate::tool::PlainLauncher as Plain;
