//! The names of features and checks: their form, and that no name is used twice.

use std::collections::BTreeMap;

use super::problem::FileProblem;
use super::spot::ValueSpot;

/// Maximum length of a name, in bytes.
pub(in crate::workflow) const MAX_NAME: usize = 64;
/// The name of the repair of a base that fails its health checks.
const REPAIR: &str = "workspace.health";

/// Checks that a text can be a name.
///
/// # Errors
/// Fails with the fault.
pub(super) fn check(name: &str) -> Result<(), String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.chars().all(is_of_name) {
        return Err(format!(
            "{name:?} is no name; use letters a to z, digits, -, _ and ."
        ));
    }
    if name.len() > MAX_NAME {
        let length = name.len();
        return Err(format!(
            "the name has {length} characters; the most is {MAX_NAME}"
        ));
    }
    Ok(())
}

/// The names that were given, with where each was given first.
#[derive(Debug, Default)]
pub(super) struct TakenNames(BTreeMap<String, String>);

impl TakenNames {
    /// Notes a name.
    pub(super) fn take(
        &mut self,
        name: &str,
        spot: &ValueSpot<'_>,
        problems: &mut Vec<FileProblem>,
    ) {
        if let Some(first) = self.0.get(name) {
            problems.push(spot.problem(format!(
                "{name:?} is the name of {first} already; give each its own"
            )));
            return;
        }
        self.0.insert(name.to_owned(), spot.place().to_owned());
    }
}

/// Reports a problem if a feature may not have that name.
pub(super) fn check_feature(name: &str, spot: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) {
    if name == REPAIR {
        problems.push(spot.problem(format!(
            "{name:?} is the service's own feature; choose another name"
        )));
    }
}
