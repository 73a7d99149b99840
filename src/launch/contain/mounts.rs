//! Carries out the plan of the mounts.
//!
//! Every path is looked up without following a link, and what was found is then named by its descriptor: a
//! command that still runs in the same folder cannot put a link in its way.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::error::{ContainError, at_path, system};
use super::plan::{self, Cover, MountStep, SCRATCH};
use super::view::{Kind, View};
use crate::launch::policy::Containment;

/// The flags that all file systems that are made here have in common.
const PLAIN: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);
/// All that is written outside of the workspace is in memory, and may take a quarter of it.
const SCRATCH_OPTIONS: &str = "mode=0755,size=25%";
/// Those that hold nothing and lead nowhere.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links that every program expects.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Gives this process mounts of its own. Returns why the home folder cannot be thrown away, if it cannot; it
/// is read-only then.
pub(super) fn build(containment: &Containment) -> Result<Option<String>, ContainError> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(system("make a mount namespace"))?;
    let view = View::of(plan::paths(containment))
        .map_err(at_path("read", Path::new("/proc/self/mountinfo")))?;
    let mut builder = Builder {
        devices: hold_devices()?,
        held: BTreeMap::new(),
        covers: 0,
        home_is_read_only: None,
    };
    for step in plan::steps(containment, &view) {
        builder.carry_out(&step)?;
    }
    // The folder before may be one that is covered now.
    nix::unistd::chdir(Path::new("/")).map_err(system("go to the root folder"))?;
    Ok(builder.home_is_read_only)
}

struct Builder {
    devices: Vec<(&'static str, OwnedFd)>,
    held: BTreeMap<PathBuf, OwnedFd>,
    covers: u32,
    home_is_read_only: Option<String>,
}

impl Builder {
    fn carry_out(&mut self, step: &MountStep) -> Result<(), ContainError> {
        match step {
            MountStep::Separate => {
                let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
                mount(NOTHING, "/", NOTHING, private, NOTHING)
                    .map_err(system("separate the mounts"))
            }
            MountStep::Own(path) => bind(&find(path)?, path),
            MountStep::Hold(path) => {
                self.held.insert(path.clone(), find(path)?);
                Ok(())
            }
            MountStep::ReadOnly(path, flags) => read_only(path, *flags),
            MountStep::Scratch => make_scratch(),
            MountStep::ThrowAway(home) => {
                let refused = throw_away(home).err();
                self.home_is_read_only = refused.map(|error| error.to_string());
                Ok(())
            }
            MountStep::Cover(path, cover) => self.cover(path, cover),
            MountStep::Restore(path) => match self.held.get(path) {
                Some(held) => bind(held, path),
                None => Err(at_path("restore", path)(Errno::ENOENT)),
            },
            MountStep::Processes { read_only } => show_processes(*read_only),
            MountStep::Release => umount2(SCRATCH, MntFlags::MNT_DETACH)
                .map_err(system("take the scratch folder away")),
        }
    }

    fn cover(&mut self, path: &Path, cover: &Cover) -> Result<(), ContainError> {
        let made = match cover {
            Cover::File => scratch("nothing"),
            Cover::Folder { .. } | Cover::Temporary { .. } | Cover::Devices { .. } => {
                self.covers += 1;
                scratch(&self.covers.to_string())
            }
        };
        let fill = || match cover {
            Cover::File => Ok(()),
            Cover::Folder { places, links } => {
                DirBuilder::new().mode(0o755).create(&made)?;
                make_places(&made, path, places)?;
                for (link, target) in links {
                    symlink(target, beside(&made, path, link))?;
                }
                fs::set_permissions(&made, Permissions::from_mode(0o555))
            }
            Cover::Temporary { places } => {
                make_temporary(&made)?;
                make_places(&made, path, places)
            }
            Cover::Devices { .. } => {
                DirBuilder::new().mode(0o755).create(&made)?;
                make_devices(&made)
            }
        };
        fill().map_err(at_path::<io::Error>("make the cover of", path))?;
        if let Cover::Devices { places } = cover {
            self.mount_devices(&made)?;
            make_places(&made, path, places).map_err(at_path("make the cover of", path))?;
        }
        match find_covered(path)? {
            // Who cannot reach it here cannot reach it later, with fewer capabilities.
            None => return Ok(()),
            Some(target) => bind_at(&find(&made)?, &target, path)?,
        }
        match cover {
            Cover::File | Cover::Folder { .. } | Cover::Devices { .. } => read_only(path, PLAIN),
            Cover::Temporary { .. } => Ok(()),
        }
    }

    /// Mounts what `made`, the folder of devices, has places for.
    fn mount_devices(&self, made: &Path) -> Result<(), ContainError> {
        for (name, device) in &self.devices {
            bind(device, &made.join(name))?;
        }
        let shared = scratch("shm");
        make_temporary(&shared).map_err(at_path("make", &shared))?;
        bind(&find(&shared)?, &made.join("shm"))?;
        let pts = made.join("pts");
        let options = Some("newinstance,ptmxmode=0666,mode=0600");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        mount(Some("devpts"), &pts, Some("devpts"), flags, options)
            .map_err(at_path("mount new terminals on", &pts))
    }
}

const NOTHING: Option<&str> = None;

fn scratch(name: &str) -> PathBuf {
    Path::new(SCRATCH).join(name)
}

/// Where something below a covered folder is in what covers it.
fn beside(made: &Path, covered: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(covered)
        .map_or_else(|_| made.to_owned(), |rest| made.join(rest))
}

/// Looks a path up, with no link in it.
fn find(path: &Path) -> Result<OwnedFd, ContainError> {
    look_up(path).map_err(at_path("find", path))
}

fn look_up(path: &Path) -> nix::Result<OwnedFd> {
    let links = ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(links);
    openat2(AT_FDCWD, path, how)
}

/// Looks up what is to be covered or closed; nothing if it is out of reach.
fn find_covered(path: &Path) -> Result<Option<OwnedFd>, ContainError> {
    match look_up(path) {
        Ok(found) => Ok(Some(found)),
        // Another user's folder, what vanished meanwhile, and a server of files that is gone.
        Err(Errno::EACCES | Errno::ENOENT | Errno::ENOTCONN | Errno::ESTALE) => Ok(None),
        Err(errno) => Err(at_path("find", path)(errno)),
    }
}

/// The name of what a descriptor is of.
fn named(descriptor: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}

/// Lays something, with all that is mounted below it, over a path.
fn bind(source: &OwnedFd, path: &Path) -> Result<(), ContainError> {
    bind_at(source, &find(path)?, path)
}

fn bind_at(source: &OwnedFd, target: &OwnedFd, path: &Path) -> Result<(), ContainError> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(
        Some(&named(source)),
        &named(target),
        NOTHING,
        flags,
        NOTHING,
    )
    .map_err(at_path("mount on", path))
}

fn read_only(path: &Path, flags: MsFlags) -> Result<(), ContainError> {
    let Some(target) = find_covered(path)? else {
        return Ok(());
    };
    let flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(NOTHING, &named(&target), NOTHING, flags, NOTHING)
        .map_err(at_path("make read-only", path))
}

fn hold_devices() -> Result<Vec<(&'static str, OwnedFd)>, ContainError> {
    let held = DEVICES.map(|name| Ok((name, find(&Path::new("/dev").join(name))?)));
    held.into_iter().collect()
}

fn make_scratch() -> Result<(), ContainError> {
    let failed = at_path("make the scratch folder", Path::new(SCRATCH));
    mount(
        Some("tmpfs"),
        SCRATCH,
        Some("tmpfs"),
        PLAIN,
        Some(SCRATCH_OPTIONS),
    )
    .map_err(failed)?;
    let nothing = scratch("nothing");
    let made = File::create(&nothing)
        .and_then(|_| fs::set_permissions(&nothing, Permissions::from_mode(0o444)));
    made.map_err(at_path("make", &nothing))
}

/// A folder that everybody may write in.
fn make_temporary(made: &Path) -> io::Result<()> {
    DirBuilder::new().create(made)?;
    fs::set_permissions(made, Permissions::from_mode(0o1777))
}

/// Makes the places for what is laid over them, and the folders above them.
fn make_places(made: &Path, covered: &Path, places: &[(PathBuf, Kind)]) -> io::Result<()> {
    for (path, kind) in places {
        let place = beside(made, covered, path);
        if *kind == Kind::Folder {
            fs::create_dir_all(place)?;
        } else {
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            drop(File::create(place)?);
        }
    }
    Ok(())
}

fn make_devices(made: &Path) -> io::Result<()> {
    for name in DEVICES {
        drop(File::create(made.join(name))?);
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, made.join(name))?;
    }
    DirBuilder::new().create(made.join("pts"))?;
    DirBuilder::new().create(made.join("shm"))
}

/// Lays a folder in memory over the home folder that shows what is in it until something else is written.
fn throw_away(home: &Path) -> Result<(), ContainError> {
    let lower = find(home)?;
    let (upper, work) = (scratch("upper"), scratch("work"));
    let make = || {
        DirBuilder::new().create(&upper)?;
        DirBuilder::new().create(&work)?;
        let old = fs::metadata(named(&lower))?;
        // Only root may give the folder away, and only root's home folder can be somebody else's.
        drop(std::os::unix::fs::chown(
            &upper,
            Some(old.uid()),
            Some(old.gid()),
        ));
        fs::set_permissions(&upper, Permissions::from_mode(old.mode() & 0o7777))
    };
    make().map_err(at_path::<io::Error>("make the layers of", home))?;
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        named(&lower).display(),
        upper.display(),
        work.display()
    );
    let lay = |options: &str| {
        let overlay = Some("overlay");
        mount(overlay, &named(&lower), overlay, PLAIN, Some(options))
    };
    // Marks of the overlay that need no right on the whole machine; older kernels do not know the word.
    lay(&format!("{layers},userxattr"))
        .or_else(|_| lay(&layers))
        .map_err(at_path("lay an overlay over", home))
}

fn show_processes(is_read_only: bool) -> Result<(), ContainError> {
    let path = Path::new("/proc");
    let flags = PLAIN | MsFlags::MS_NOEXEC;
    mount(Some("proc"), path, Some("proc"), flags, NOTHING)
        .map_err(at_path("mount a view of the processes on", path))?;
    if is_read_only {
        read_only(path, flags)?;
    }
    Ok(())
}
