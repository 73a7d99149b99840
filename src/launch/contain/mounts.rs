//! Carries out the plan of the mounts.
//!
//! Every path is looked up without following a link, and what was found is then named by its descriptor: a
//! command that still runs in the same folder cannot put a link in its way.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::error::{ContainError, at_path, system};
use super::mounting::{
    NOTHING, PLAIN, attach, find, folder_like, lay_layers, link_tree, look_up, make_temporary,
    named,
};
use super::places;
use super::plan::{self, Cover, MountStep, SCRATCH};
use super::view::{FileSystemView, MountedKind};
use super::world::{SharedMounts, SharedWorld};
use crate::launch::policy::Containment;

/// The bound of what is written outside of the workspace: it is in memory, and may take a quarter of it.
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

/// The reason for a read-only home folder in a world without layers for it.
const NO_LAYER: &str =
    "no layer could be laid over it when the first command of the conversation started";

/// Gives this process mounts of its own; where it is part of a world, temporary folders and what is written in the home
/// folder are of that. Returns why the home folder cannot be thrown away, if it cannot; it is read-only then.
pub(super) fn build(
    containment: &Containment,
    world: Option<&SharedWorld>,
) -> Result<Option<String>, ContainError> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(system("make a mount namespace"))?;
    let shared = world.map(|world| world.trees(containment)).transpose()?;
    let view = FileSystemView::read(plan::paths(containment))
        .map_err(at_path("read", Path::new("/proc/self/mountinfo")))?;
    let mut builder = Builder {
        devices: hold_devices()?,
        held: BTreeMap::new(),
        covers: 0,
        home_is_read_only: None,
        shared,
    };
    for step in plan::steps(containment, &view) {
        builder.carry_out(&step)?;
    }
    if let Some((path, tree)) = builder
        .shared
        .as_ref()
        .and_then(|shared| shared.call.as_ref())
    {
        attach(tree, &find(path)?, path)?;
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
    shared: Option<SharedMounts>,
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
                self.home_is_read_only = match &self.shared {
                    None => throw_away(home).err().map(|error| error.to_string()),
                    Some(SharedMounts { home: None, .. }) => Some(NO_LAYER.to_owned()),
                    Some(SharedMounts {
                        home: Some(tree), ..
                    }) => {
                        attach(tree, &find(home)?, home)?;
                        None
                    }
                };
                Ok(())
            }
            MountStep::Cover(path, cover) => self.cover(path, cover),
            MountStep::Restore(path) => match self.held.get(path) {
                Some(held) => bind(held, path),
                None => Err(at_path("restore", path)(Errno::ENOENT)),
            },
            MountStep::Link { place, target } => self.link(place, target),
            MountStep::Processes { read_only } => show_processes(*read_only),
            MountStep::Release => umount2(SCRATCH, MntFlags::MNT_DETACH)
                .map_err(system("take the scratch folder away")),
        }
    }

    fn cover(&mut self, path: &Path, cover: &Cover) -> Result<(), ContainError> {
        let shared = self.shared.as_ref();
        if let Cover::Temporary { places } = cover
            && let Some(tree) = shared.and_then(|shared| shared.temporary(path))
        {
            return cover_by_shared(tree, path, places);
        }
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

    /// Lays a link over a file, which stays read-only where the kernel does not let links be mounted.
    fn link(&mut self, place: &Path, target: &Path) -> Result<(), ContainError> {
        self.covers += 1;
        let made = scratch(&self.covers.to_string());
        symlink(target, &made).map_err(at_path("make the link over", place))?;
        let laid = link_tree(&made).and_then(|tree| attach(&tree, &find(place)?, place));
        laid.or(Ok(()))
    }

    /// Mounts what `made`, the folder of devices, has places for.
    fn mount_devices(&self, made: &Path) -> Result<(), ContainError> {
        for (name, device) in &self.devices {
            bind(device, &made.join(name))?;
        }
        let place = made.join("shm");
        if let Some(shared) = &self.shared {
            attach(&shared.memory, &find(&place)?, &place)?;
        } else {
            let own = scratch("shm");
            make_temporary(&own).map_err(at_path("make", &own))?;
            bind(&find(&own)?, &place)?;
        }
        let pts = made.join("pts");
        let options = Some("newinstance,ptmxmode=0666,mode=0600");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        mount(Some("devpts"), &pts, Some("devpts"), flags, options)
            .map_err(at_path("mount new terminals on", &pts))
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(SCRATCH).join(name)
}

/// Where something below a covered folder is in what covers it.
fn beside(made: &Path, covered: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(covered)
        .map_or_else(|_| made.to_owned(), |rest| made.join(rest))
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

/// Lays a folder that all commands of the conversation share over a path, with places in it.
fn cover_by_shared(
    tree: &OwnedFd,
    path: &Path,
    places: &[(PathBuf, MountedKind)],
) -> Result<(), ContainError> {
    for (place, kind) in places {
        let rest = place.strip_prefix(path).unwrap_or(place);
        places::make(tree, rest, *kind).map_err(at_path("make the place of", place))?;
    }
    match find_covered(path)? {
        None => Ok(()),
        Some(target) => attach(tree, &target, path),
    }
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

/// Makes the places for what is laid over them, and the folders above them.
fn make_places(made: &Path, covered: &Path, places: &[(PathBuf, MountedKind)]) -> io::Result<()> {
    for (path, kind) in places {
        let place = beside(made, covered, path);
        if *kind == MountedKind::Folder {
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
        DirBuilder::new().create(&work)?;
        folder_like(&upper, &lower)
    };
    make().map_err(at_path::<io::Error>("make the layers of", home))?;
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        named(&lower).display(),
        upper.display(),
        work.display()
    );
    lay_layers(&layers, &named(&lower)).map_err(at_path("lay an overlay over", home))
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
