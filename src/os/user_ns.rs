//! Which users can be told apart.
//!
//! In a user namespace the kernel shows each user who has no number there as one and the same, the
//! overflow uid: a stranger then looks like the owner, if the owner has none either.

use std::path::Path;
use std::sync::OnceLock;

/// The overflow uid where the system does not say it: `DEFAULT_OVERFLOWUID` of Linux.
const DEFAULT_OVERFLOW: u32 = 65534;
/// How many numbers there are.
const ALL: u64 = u32::MAX as u64;

/// Whether that number means one user, the same for us and for everybody else.
pub(crate) fn can_be_told(uid: u32) -> bool {
    uid != users().overflow
}

/// Whether every user of the machine has a number of their own here. Where that is not so, even
/// the owner's number may be another user's.
pub(crate) fn all_can_be_told() -> bool {
    users().all_mapped
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Users {
    overflow: u32,
    all_mapped: bool,
}

fn users() -> Users {
    static USERS: OnceLock<Users> = OnceLock::new();
    *USERS.get_or_init(|| read(Path::new("/proc")))
}

/// The users of a system that has its `/proc` there. A system without it knows no namespaces of
/// users.
fn read(proc: &Path) -> Users {
    let text = |path: &str| std::fs::read_to_string(proc.join(path)).ok();
    let overflow = text("sys/kernel/overflowuid").and_then(|text| text.trim().parse().ok());
    let map = text("self/uid_map");
    Users {
        overflow: overflow.unwrap_or(DEFAULT_OVERFLOW),
        all_mapped: map.is_none_or(|map| maps_all(&map)),
    }
}

/// Whether a map, lines of `INSIDE OUTSIDE COUNT` (`user_namespaces(7)`), has every number.
fn maps_all(map: &str) -> bool {
    let count = |line: &str| line.split_ascii_whitespace().nth(2)?.parse::<u64>().ok();
    map.lines().filter_map(count).sum::<u64>() >= ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-19]
    #[test]
    fn users_can_be_told_apart_where_each_has_a_number() {
        assert!(maps_all("         0          0 4294967295\n"));
        assert!(maps_all(
            "0 0 2147483647\n2147483647 2147483647 2147483648\n"
        ));
        for part in ["", "0 1000 1\n", "0 1000 1\n1 100000 65536\n", "x"] {
            assert!(!maps_all(part), "{part}");
        }
        let folder = tempfile::tempdir().unwrap();
        let unknown = Users {
            overflow: 65534,
            all_mapped: true,
        };
        assert_eq!(read(folder.path()), unknown);
        std::fs::create_dir_all(folder.path().join("sys/kernel")).unwrap();
        std::fs::create_dir(folder.path().join("self")).unwrap();
        std::fs::write(folder.path().join("sys/kernel/overflowuid"), "4711\n").unwrap();
        std::fs::write(folder.path().join("self/uid_map"), "0 1000 1\n").unwrap();
        let inside = Users {
            overflow: 4711,
            all_mapped: false,
        };
        assert_eq!(read(folder.path()), inside);
    }
}
