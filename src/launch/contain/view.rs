//! The facts of the file system that the plan of the mounts needs: the mounts that there are, and of what
//! kind the paths are that it is about.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountedKind {
    Folder,
    /// Whatever is no folder and no link.
    File,
    Link,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) id: u64,
    /// The mount that it is on.
    pub(super) parent: u64,
    pub(super) path: PathBuf,
    pub(super) is_read_only: bool,
    /// The flags that have to be repeated when something is changed, since they may not be taken
    /// back.
    pub(super) flags: MsFlags,
}

/// The file system as the plan sees it.
#[derive(Debug, Default)]
pub(super) struct FileSystemView {
    /// Those that a path leads to.
    pub(super) mounts: Vec<Mount>,
    /// The paths that the plan is about and that exist.
    pub(super) kinds: BTreeMap<PathBuf, MountedKind>,
    /// The links right below `/run`, and where each leads.
    pub(super) run_links: Vec<(PathBuf, PathBuf)>,
    /// The file that names the servers for names, if `/etc/resolv.conf` leads below `/run`.
    pub(super) resolver: Option<PathBuf>,
}

impl FileSystemView {
    /// Looks at the machine.
    pub(super) fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) -> io::Result<Self> {
        let mounts = fs::read("/proc/self/mountinfo")?;
        let kinds = paths.into_iter();
        let kinds = kinds.filter_map(|path| Some((path.to_owned(), kind_of(path)?)));
        let links = fs::read_dir("/run").into_iter().flatten().flatten();
        let links =
            links.filter_map(|entry| Some((entry.path(), fs::read_link(entry.path()).ok()?)));
        let resolver = fs::canonicalize("/etc/resolv.conf").ok();
        Ok(Self {
            mounts: in_sight(&parse(&mounts)),
            kinds: kinds.collect(),
            run_links: links.collect(),
            resolver: resolver.filter(|path| path.starts_with("/run")),
        })
    }

    /// The flags of the mount that a path is on.
    pub(super) fn flags_at(&self, path: &Path) -> MsFlags {
        let around = self.mounts.iter();
        let around = around.filter(|mount| path.starts_with(&mount.path));
        let nearest = around.max_by_key(|mount| mount.path.components().count());
        nearest.map_or(MsFlags::empty(), |mount| mount.flags)
    }
}

/// The kind, without following a link.
pub(super) fn kind_of(path: &Path) -> Option<MountedKind> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    Some(if kind.is_symlink() {
        MountedKind::Link
    } else if kind.is_dir() {
        MountedKind::Folder
    } else {
        MountedKind::File
    })
}

/// The mounts that a path leads to: those that another one covers are left out.
fn in_sight(mounts: &[Mount]) -> Vec<Mount> {
    let by_id: HashMap<u64, &Mount> = mounts.iter().map(|mount| (mount.id, mount)).collect();
    let places: HashSet<(u64, &Path)> = mounts
        .iter()
        .map(|mount| (mount.parent, mount.path.as_path()))
        .collect();
    let is_reached = |mount: &Mount| {
        let mut mount = mount;
        loop {
            let mut above = mount.path.ancestors().skip(1);
            if above.any(|outer| places.contains(&(mount.parent, outer))) {
                return false;
            }
            match by_id.get(&mount.parent) {
                Some(parent) if parent.id != mount.id => mount = parent,
                Some(_) | None => return true,
            }
        }
    };
    let is_on_top = |mount: &Mount| !places.contains(&(mount.id, mount.path.as_path()));
    let in_sight = mounts
        .iter()
        .filter(|mount| is_reached(mount) && is_on_top(mount));
    in_sight.cloned().collect()
}

/// Reads `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`); lines that are none are passed over.
fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n')
        .filter_map(mount)
        .collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    // The device and the folder of it that is shown.
    let path = unescape(fields.nth(2)?);
    let options = std::str::from_utf8(fields.next()?).ok()?;
    let has = |name: &str| options.split(',').any(|option| option == name);
    let kept = [
        ("nosuid", MsFlags::MS_NOSUID),
        ("nodev", MsFlags::MS_NODEV),
        ("noexec", MsFlags::MS_NOEXEC),
    ];
    let kept = kept.into_iter().filter(|(name, _)| has(name));
    Some(Mount {
        id,
        parent,
        path: PathBuf::from(OsString::from_vec(path)),
        is_read_only: has("ro"),
        flags: kept.map(|(_, flag)| flag).collect(),
    })
}

/// Blanks and backslashes are three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:5 / /proc rw,nosuid,nodev,noexec - proc proc rw
23 21 0:6 / /a ro,nosuid - tmpfs tmpfs rw
24 23 0:7 / /a/in\\040ner rw,noatime - tmpfs tmpfs rw
25 23 0:8 / /a rw,nodev - tmpfs tmpfs rw
26 25 0:9 / /a/top rw - tmpfs tmpfs rw
27 21 0:10 / /b/below rw - tmpfs tmpfs rw
28 21 0:11 / /b rw,noexec - tmpfs tmpfs rw
not a mount
";

    /// Spec: [BOX-09]
    #[test]
    fn mounts_that_others_cover_are_out_of_sight() {
        let all = parse(TABLE.as_bytes());
        assert_eq!(all.len(), 8);
        assert_eq!(all[3].path, Path::new("/a/in ner"));
        assert!(all[2].is_read_only);
        assert_eq!(all[2].flags, MsFlags::MS_NOSUID);
        let view = FileSystemView {
            mounts: in_sight(&all),
            ..FileSystemView::default()
        };
        let ids: Vec<u64> = view.mounts.iter().map(|mount| mount.id).collect();
        assert_eq!(ids, [21, 22, 25, 26, 28]);
        let all = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        assert_eq!(view.flags_at(Path::new("/proc/self")), all);
        assert_eq!(view.flags_at(Path::new("/a/x")), MsFlags::MS_NODEV);
        assert_eq!(view.flags_at(Path::new("/c")), MsFlags::empty());
    }
}
