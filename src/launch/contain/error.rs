//! Why a command cannot be contained.

use std::io;
use std::path::{Path, PathBuf};

use derive_more::{Display, Error};
use nix::errno::Errno;

/// Why a command cannot be contained. The command is not started then.
#[derive(Debug, Display, Error)]
pub(crate) enum ContainError {
    /// The operating system refused.
    #[display("cannot {step}: {source}")]
    System {
        /// The attempt, as a verb.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The operating system refused it for a file or folder.
    #[display("cannot {step} {}: {source}", path.display())]
    AtPath {
        /// The attempt, as a verb.
        step: &'static str,
        /// For which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another reason.
    #[display("cannot {step}: {reason}")]
    Refused {
        /// The attempt, as a verb.
        step: &'static str,
        /// The obstacle.
        reason: String,
    },
}

impl ContainError {
    /// A backend of a later version.
    pub(super) fn unknown() -> Self {
        Self::refused("contain", "the backend is not known".to_owned())
    }

    pub(super) const fn refused(step: &'static str, reason: String) -> Self {
        Self::Refused { step, reason }
    }
}

/// Says what the system refused.
pub(super) fn system(step: &'static str) -> impl FnOnce(Errno) -> ContainError {
    move |errno| ContainError::System {
        step,
        source: errno.into(),
    }
}

/// Says what the system refused, and for what.
pub(super) fn at_path<E: Into<io::Error>>(
    step: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> ContainError {
    let path = path.to_owned();
    move |error| ContainError::AtPath {
        step,
        path,
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BOX-17]
    #[test]
    fn an_error_names_the_step_the_path_and_what_the_system_said() {
        let error = at_path("make read-only", Path::new("/a b"))(Errno::EPERM);
        let words = "cannot make read-only /a b: Operation not permitted (os error 1)";
        assert_eq!(error.to_string(), words);
        let error = system("make namespaces")(Errno::ENOSPC);
        let words = "cannot make namespaces: No space left on device (os error 28)";
        assert_eq!(error.to_string(), words);
        let error = ContainError::unknown();
        assert_eq!(
            error.to_string(),
            "cannot contain: the backend is not known"
        );
    }
}
