//! Paths below the root of a workspace, and the names of branches, by their text alone.

/// Maximum length of the name of a branch, in bytes. It becomes a file, with a lock beside it.
const MAX_BRANCH: usize = 200;
/// The placeholder for the workflow's name.
const NAME: &str = "{name}";

/// Checks that a text is a path below the root.
///
/// # Errors
/// Fails with the fault.
pub(super) fn check(path: &str) -> Result<(), String> {
    let reason = if path.starts_with('/') {
        "is absolute"
    } else if path.contains('\0') {
        "has a character that no path has"
    } else if path.split('/').any(|name| name == "..") {
        "goes out with .."
    } else {
        return Ok(());
    };
    Err(format!("{path:?} {reason}; write a path below the root"))
}

/// Checks that a text is the path of a file below the root, and not of one of git's own.
///
/// # Errors
/// Fails with the fault.
pub(super) fn check_file(path: &str) -> Result<(), String> {
    check(path)?;
    if path.split('/').any(|name| matches!(name, "" | ".")) {
        return Err(format!(
            "{path:?} has an empty name or .; write the path of a file"
        ));
    }
    if path
        .split('/')
        .any(|name| name.eq_ignore_ascii_case(".git"))
    {
        return Err(format!("{path:?} is git's own; leave it out"));
    }
    Ok(())
}

/// Checks that a text is a glob of paths below the root.
///
/// # Errors
/// Fails with the fault.
pub(super) fn check_glob(glob: &str) -> Result<(), String> {
    check(glob)?;
    if let Some(folder) = glob.strip_suffix('/') {
        return Err(format!(
            "{glob:?} matches no file; write {:?}",
            format!("{folder}/**")
        ));
    }
    if glob.split('/').any(|name| matches!(name, "" | ".")) {
        return Err(format!(
            "{glob:?} has an empty name or .; write it like src/**"
        ));
    }
    Ok(())
}

/// Checks that git takes a text as the name of a branch, once the workflow's name replaces its placeholder.
///
/// # Errors
/// Fails with the fault.
pub(super) fn check_branch(branch: &str) -> Result<(), String> {
    let name = branch.replace(NAME, "name");
    if name.contains(['{', '}']) && !name.contains("@{") {
        return Err(format!(
            "{branch:?} has braces; only {NAME} stands for something"
        ));
    }
    match wrong_in_branch(&name) {
        Some(reason) => Err(format!(
            "git takes no branch {branch:?}: {reason}; write it like harness/{NAME}"
        )),
        None => Ok(()),
    }
}

/// git's objection to the name of a branch; see `git help check-ref-format`.
fn wrong_in_branch(name: &str) -> Option<&'static str> {
    let any_part = |wrong: fn(&str) -> bool| name.split('/').any(wrong);
    let is_refused = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let rules = [
        (
            name == "HEAD" || name == "@",
            "the name has a meaning of its own",
        ),
        (name.starts_with('-'), "it begins with -"),
        (name.len() > MAX_BRANCH, "it is too long"),
        (any_part(str::is_empty), "a part of it is empty"),
        (
            any_part(|part| part.starts_with('.')),
            "a part of it begins with .",
        ),
        (
            any_part(|part| part.ends_with(".lock")),
            "a part of it ends with .lock",
        ),
        (name.ends_with('.'), "it ends with ."),
        (name.contains(".."), "it has .."),
        (name.contains("@{"), "it has @{"),
        (
            name.contains(is_refused),
            "it has a blank, a control character or one of ~^:?*[\\",
        ),
    ];
    let wrong = rules.into_iter().find(|(is_wrong, _)| *is_wrong);
    wrong.map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-04]
    #[test]
    fn a_path_stays_below_the_root() {
        for path in ["a", "a/b", ".env", "a..b", "..a", "a b", "./a"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        for path in ["/", "/a", "..", "../a", "a/..", "a/../b", "a\0"] {
            assert!(check(path).is_err(), "{path}");
        }
        for path in ["a/", "./a", "a//b", ".git/hooks/x", "a/.GIT/b", ""] {
            assert!(check_file(path).is_err(), "{path}");
        }
        for glob in ["tests/**", "**", "*.rs", "a/*/b?"] {
            assert_eq!(check_glob(glob), Ok(()), "{glob}");
        }
        for glob in ["tests/", "a//b", "/a/**", "../**", "./a"] {
            assert!(check_glob(glob).is_err(), "{glob}");
        }
    }

    /// Spec: [FLOW-05]
    #[test]
    fn a_branch_is_one_that_git_takes() {
        for branch in [
            "harness/{name}",
            "a",
            "a-b/c.d",
            "ü",
            "a@b",
            "x{name}",
            "a/HEAD",
            "refs",
        ] {
            assert_eq!(check_branch(branch), Ok(()), "{branch}");
        }
        for branch in [
            "-a", "HEAD", "@", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b",
            "a\u{7f}", "a\n", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a@{b",
            "{id}", "a}",
        ] {
            assert!(check_branch(branch).is_err(), "{branch}");
        }
        assert!(check_branch(&"a".repeat(201)).is_err());
    }
}
