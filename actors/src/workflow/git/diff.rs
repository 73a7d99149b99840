//! The changes of a candidate, for people.

use super::program::Session;
use super::{GitError, refs};

/// Maximum size of a diff, in bytes.
const MAX_DIFF: usize = 1024 * 1024;

/// The changes from one commit to another, and true if they were cut. `None` if a commit is missing. Blocks.
pub(super) fn diff(
    session: &Session,
    base: &str,
    commit: &str,
) -> Result<Option<(String, bool)>, GitError> {
    if refs::tip(session, base)?.is_none() || refs::tip(session, commit)?.is_none() {
        return Ok(None);
    }
    let words = [
        "diff-tree",
        "-r",
        "--patch",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--end-of-options",
        base,
        commit,
    ];
    let call = session.call(&words).attributes_of(base);
    let mut output = call.at_most(MAX_DIFF + 1).run()?.output;
    let is_cut = output.len() > MAX_DIFF;
    output.truncate(MAX_DIFF);
    Ok(Some((
        String::from_utf8_lossy(&output).into_owned(),
        is_cut,
    )))
}
