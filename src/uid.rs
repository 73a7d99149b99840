//! Whether a user id tells who somebody is.
//!
//! In a user namespace the kernel shows one and the same id, the overflow id, for everybody whom
//! the namespace does not know: several people then look like one.

use std::sync::OnceLock;

/// The overflow id where the system does not say another.
const USUAL_OVERFLOW: u32 = 65_534;
/// How many ids there are, which is what a namespace without bounds maps.
const ALL: u64 = 4_294_967_295;

/// Whether an id that the kernel shows stands for one user.
pub(crate) fn can_be_told(uid: u32) -> bool {
    static AMBIGUOUS: OnceLock<Option<u32>> = OnceLock::new();
    let ambiguous = AMBIGUOUS.get_or_init(|| {
        if !cfg!(target_os = "linux") {
            return None; // There are no namespaces of users elsewhere.
        }
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        ambiguous(
            &read("/proc/self/uid_map"),
            &read("/proc/sys/kernel/overflowuid"),
        )
    });
    *ambiguous != Some(uid)
}

/// The id that stands for several users; none where the map has all ids. A map that cannot be read
/// has none.
fn ambiguous(map: &str, overflow: &str) -> Option<u32> {
    let counts = map.lines().filter_map(|line| {
        let count = line.split_ascii_whitespace().nth(2)?;
        count.parse::<u64>().ok()
    });
    if counts.sum::<u64>() >= ALL {
        return None;
    }
    Some(overflow.trim().parse().unwrap_or(USUAL_OVERFLOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-43]
    #[test]
    fn the_overflow_id_tells_nobody_unless_all_ids_are_mapped() {
        let whole = "         0          0 4294967295\n";
        let halves = "0 0 2147483647\n2147483647 2147483647 2147483648\n";
        for map in [whole, halves] {
            assert_eq!(ambiguous(map, "65534\n"), None, "{map}");
        }
        for map in ["0 1000 1\n", "0 1000 1\n1 100000 65536\n", "", "odd\n"] {
            assert_eq!(ambiguous(map, "65534\n"), Some(65_534), "{map}");
            assert_eq!(ambiguous(map, "99\n"), Some(99), "{map}");
            assert_eq!(ambiguous(map, ""), Some(65_534), "{map}");
        }
    }

    /// Spec: [SEC-43]
    #[test]
    fn root_and_ourselves_can_be_told() {
        assert!(can_be_told(0));
        let own = nix::unistd::Uid::effective().as_raw();
        assert!(own == USUAL_OVERFLOW || can_be_told(own));
    }
}
