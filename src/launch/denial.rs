//! Why a command could not write at a place, by the reach that it had.

use std::path::{Path, PathBuf};

use harness_actors::tool::Denial;
use harness_protocol::{Access, Backend};
use nix::unistd::{AccessFlags, access};

use super::policy::Containment;

/// Places that are the conversation's own, or the system's, under `namespaces`: others' are not in its sight.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/dev", "/run"];
/// Places of which files say nothing: what may be written there the system decides.
const OF_THE_SYSTEM: [&str; 2] = ["/proc", "/sys"];

/// Why a command with the reach `own` could not write there; `wider` is its reach if it might write in its
/// folder. Nothing if its user could not either.
pub(super) fn denial(own: &Containment, wider: &Containment, place: &Path) -> Option<Denial> {
    let is_in = |paths: &[PathBuf]| paths.iter().any(|path| place.starts_with(path));
    if matches!(own.backend, Backend::None | Backend::Unknown) {
        return None;
    }
    if is_in(&own.hidden) {
        return Some(Denial::Hidden);
    }
    if own.full {
        return None;
    }
    if is_in(&wider.writable) {
        let may_write = is_in(&own.writable);
        // A folder that may be written is protected from being moved.
        let is_protected = wider
            .protected
            .iter()
            .any(|path| place == path || place.starts_with(path) && !wider.writable.contains(path));
        return match is_protected {
            // By Landlock they can be written, and are put back.
            true if may_write && own.backend == Backend::Landlock => None,
            true => Some(Denial::Protected),
            false if may_write => None,
            false => could_write(place).then_some(Denial::Needs(Access::Write)),
        };
    }
    let is_kept = match own.backend {
        Backend::Namespaces => starts_with_one(place, &OWN) || is_thrown_away(own, place),
        // With `full` it holds what lies right beside something hidden.
        _ => own
            .hidden
            .iter()
            .any(|hidden| is_right_beside(place, hidden)),
    };
    let is_denied = !is_kept && !starts_with_one(place, &OF_THE_SYSTEM) && could_write(place);
    is_denied.then_some(Denial::Needs(Access::Full))
}

fn starts_with_one(place: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| place.starts_with(folder))
}

fn is_thrown_away(own: &Containment, place: &Path) -> bool {
    let mut home = own.throw_away.iter();
    home.any(|home| place.starts_with(home))
}

/// Whether a place is right in a folder that holds something hidden.
fn is_right_beside(place: &Path, hidden: &Path) -> bool {
    place
        .parent()
        .is_some_and(|folder| hidden.starts_with(folder))
}

/// Whether the user of this process could write there: the file, or else a new one in its folder.
fn could_write(place: &Path) -> bool {
    let may = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
    match place.symlink_metadata() {
        Ok(_) => may(place),
        Err(_) => place.parent().is_some_and(may),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Spec: [BASH-203]
    #[test]
    fn s1_the_access_that_is_needed_is_known_by_backend() {
        // The checkout may be in a folder that is the command's own, such as /tmp.
        let home = tempfile::tempdir_in(std::env::home_dir().unwrap()).unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let at = |name: &str| real.join(name);
        for folder in ["work/.git/hooks", "home/.ssh", "home/cache", "out"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let reach = |backend, access| Containment {
            backend,
            full: access == Access::Full,
            writable: match access {
                Access::Write => vec![at("work")],
                _ => vec![],
            },
            protected: vec![at("work/.git/hooks")],
            visible: vec![at("work")],
            hidden: vec![at("home/.ssh")],
            throw_away: Some(at("home")),
            network: false,
            overrides_owners: false,
            copies: vec![],
        };
        let needs = |access| Some(Denial::Needs(access));
        let (protected, hidden) = (Some(Denial::Protected), Some(Denial::Hidden));
        use Access::{Full, Read, Write};
        use Backend::{Landlock, Namespaces};
        for (backend, access, place, expected) in [
            (Namespaces, Write, "work/new", None),
            (Namespaces, Write, "work/.git/hooks/new", protected),
            (Namespaces, Write, "out/new", needs(Full)),
            (Namespaces, Write, "home/new", None),
            (Namespaces, Read, "work/new", needs(Write)),
            (Namespaces, Read, "work/.git/hooks/new", protected),
            (Namespaces, Read, "out", needs(Full)),
            (Namespaces, Full, "out/new", None),
            (Namespaces, Full, "home/.ssh/id", hidden),
            (Landlock, Write, "work/.git/hooks/new", None),
            (Landlock, Write, "out/new", needs(Full)),
            (Landlock, Write, "home/cache/new", needs(Full)),
            // Not even with `full`.
            (Landlock, Write, "home/new", None),
            (Landlock, Read, "work/new", needs(Write)),
            (Landlock, Read, "home/.ssh/id", hidden),
            (Backend::None, Read, "out/new", None),
        ] {
            let (own, wider) = (reach(backend, access), reach(backend, Write));
            let found = denial(&own, &wider, &at(place));
            assert_eq!(found, expected, "{backend:?} {access:?} {place}");
        }
        // Where there is no folder for it, and where the system decides.
        let own = reach(Namespaces, Write);
        for place in [
            &*at("gone/new"),
            Path::new("/proc/sys/kernel/printk"),
            Path::new("/tmp/x"),
        ] {
            assert_eq!(denial(&own, &own, place), None, "{}", place.display());
        }
    }
}
