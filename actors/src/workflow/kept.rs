//! The ratchet of a check: the names of passing tests that its `keep` finds in an output.

use regex::Regex;

use super::facts::TestNames;

/// The names in an output: the first group of each line that matches, or all that matches if the
/// expression has no group.
///
/// # Errors
///
/// The problem of the expression.
pub fn names(keep: &str, output: &str) -> Result<TestNames, String> {
    let keep = Regex::new(keep).map_err(|error| format!("`keep` cannot be used: {error}"))?;
    let found = output.lines().filter_map(|line| {
        let captures = keep.captures(line)?;
        let name = captures.get(1).or_else(|| captures.get(0))?;
        Some(name.as_str().to_owned())
    });
    Ok(found.collect())
}

/// Those that were there and are not.
#[must_use]
pub fn lost(before: &TestNames, now: &TestNames) -> TestNames {
    before.difference(now).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBTEST: &str = r"^test (\S+) \.\.\. ok$";
    const UNITTEST: &str = r"^(\S+ \(\S+\)) \.\.\. ok$";

    fn set(names: &[&str]) -> TestNames {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Spec: [FLOW-24]
    #[test]
    fn case_16_a_deleted_renamed_or_skipped_test_is_lost_by_its_name() {
        let before = "test a ... ok\ntest b ... ok\ntest c ... ok\ntest d ... FAILED\n";
        let after = "test a ... ok\r\ntest b2 ... ok\ntest c ... ignored\ntest d ... ok\n";
        let before = names(LIBTEST, before).unwrap();
        let now = names(LIBTEST, after).unwrap();
        assert_eq!(lost(&before, &now), set(&["b", "c"]));
        assert_eq!(lost(&before, &before), set(&[]));
    }

    /// Spec: [FLOW-24]
    #[test]
    fn the_name_is_the_first_group_or_all_that_matches() {
        let output = "test_x (tests.T) ... ok\ntest_y (tests.T) ... FAIL\n";
        assert_eq!(names(UNITTEST, output).unwrap(), set(&["test_x (tests.T)"]));
        assert_eq!(
            names("^ok .*", "ok 1 - a\nnot ok 2").unwrap(),
            set(&["ok 1 - a"])
        );
        assert!(names("(", "").is_err());
    }
}
