//! The places that a server may write which works in a folder, for as long as it runs.

use std::path::{Path, PathBuf};

use super::inventory::Inventory;
use super::reach;
use super::search_path::{SearchPath, changeable_places};

/// The reach of a program that runs in a folder for longer than one call.
#[derive(Debug)]
pub(crate) struct ServerReach {
    /// The folders besides its own that it may write.
    pub(crate) writable: Vec<PathBuf>,
    /// The places that it may not change, of those that are there.
    pub(crate) protected: Vec<PathBuf>,
}

/// The reach of a server in a folder; `more` are folders that commands may write, too. Blocks.
pub(crate) fn server_reach(workspace: &Path, more: &[PathBuf]) -> ServerReach {
    let mut reach = reach::find(workspace, more);
    reach.add_contents(workspace, Inventory::take(workspace).content_places());
    // A folder that is among both may be written, and not be moved away.
    let writable = reach.writable.iter().chain(&reach.pinned);
    let protected = reach.held(false).into_iter().chain(reach.pinned.clone());
    ServerReach {
        writable: writable.cloned().collect(),
        protected: protected.collect(),
    }
}

/// Leaves the folders out of the search path of an environment in which contained commands can make programs: for a
/// server that reaches further than they. Blocks.
pub(crate) fn keep_search_path(
    environment: &mut [(String, String)],
    workspace: &Path,
    more: Vec<PathBuf>,
) {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or_else(String::new, |(_, path)| path.clone());
    let changeable = changeable_places(workspace, more);
    SearchPath::outside(&path, &changeable).put_into(environment);
}
