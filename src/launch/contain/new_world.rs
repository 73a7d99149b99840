//! Makes the world that all commands of one conversation share, in a process that lives only for that: it hands
//! descriptors over.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::CloneFlags;
use nix::unistd::{chdir, pivot_root};

use super::error::{ContainError, at_path, system};
use super::mounting::{
    NOTHING, PLAIN, attach, find, folder_like, lay_layers, make_temporary, named, tree,
};
use super::world::{CALLS, CommandKind, HOMES, KINDS, MEMORY, NUMBER, TEMPORARY, namespace};
use super::{namespaces, network};

/// All files in it together may take a quarter of the memory.
const OPTIONS: &str = "mode=0755,size=25%";
/// The folder that it is mounted on while it is made.
const GROUND: &str = "/dev";
/// The place of a trial mount, before it counts as made.
const TRIAL: &str = "/trial";
/// The files that each kind of commands has written in the home folder.
const LAYERS: &str = "/layers";
const WORK: &str = "/work";

/// Makes a world and tells its descriptors. The process is in it afterwards, and has to end. `home` is the home folder,
/// by its real path.
///
/// # Errors
/// The step that failed.
pub(crate) fn new_world(home: Option<&Path>) -> Result<[OwnedFd; NUMBER], ContainError> {
    namespaces::make(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    network::raise_loopback()?;
    let spaces = ["user", "net", "mnt"].map(namespace);
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(NOTHING, "/", NOTHING, private, NOTHING).map_err(system("separate the mounts"))?;
    // Nobody's home folder is out of reach, but for that of another user.
    let home = home.and_then(|home| find(home).ok());
    let memory = Some("tmpfs");
    mount(memory, GROUND, memory, PLAIN, Some(OPTIONS))
        .map_err(at_path("mount memory on", Path::new(GROUND)))?;
    fill().map_err(at_path::<io::Error>(
        "make the folders in",
        Path::new(GROUND),
    ))?;
    try_out()?;
    if let Some(home) = &home {
        for kind in KINDS {
            // Without it the home folder is read-only.
            if lay_over(home, kind).is_err() {
                let folder = on_ground(HOMES).join(kind.name());
                fs::remove_dir(&folder).map_err(at_path("remove", &folder))?;
            }
        }
    }
    leave_machine()?;
    let [users, network, mounts] = spaces;
    Ok([users?, network?, mounts?, find(Path::new("/"))?])
}

/// The present path of something that will have another path in the world.
fn on_ground(path: &str) -> PathBuf {
    Path::new(GROUND).join(path.trim_start_matches('/'))
}

fn fill() -> io::Result<()> {
    let temporary = TEMPORARY.map(|(_, folder)| folder);
    for folder in temporary.into_iter().chain([MEMORY]) {
        make_temporary(&on_ground(folder))?;
    }
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o755);
    for folder in [CALLS, TRIAL] {
        folders.create(on_ground(folder))?;
    }
    for folder in [HOMES, WORK] {
        for kind in KINDS {
            folders.create(on_ground(folder).join(kind.name()))?;
        }
    }
    folders.create(on_ground(LAYERS))
}

/// Does once what each command does: where the system refuses it, there is no world.
fn try_out() -> Result<(), ContainError> {
    let (tree, target) = (tree(&on_ground(MEMORY))?, find(&on_ground(TRIAL))?);
    attach(&tree, &target, Path::new(TRIAL))
}

/// Lays over the home folder what commands of a kind have written, above what those have that may reach more.
fn lay_over(home: &OwnedFd, kind: CommandKind) -> Result<(), ContainError> {
    let folder = |above: &str, kind: CommandKind| on_ground(above).join(kind.name());
    for each in KINDS {
        let layer = folder(LAYERS, each);
        if !layer.exists() {
            folder_like(&layer, home).map_err(at_path::<io::Error>("make", &layer))?;
        }
    }
    let mut below: Vec<PathBuf> = kind.below().map(|kind| folder(LAYERS, kind)).collect();
    below.push(named(home));
    let below: Vec<String> = below
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        below.join(":"),
        folder(LAYERS, kind).display(),
        folder(WORK, kind).display()
    );
    let target = folder(HOMES, kind);
    lay_layers(&layers, &target).map_err(at_path("lay an overlay on", &target))
}

/// Leaves nothing in sight but what is in memory, so that no disk of the machine is kept busy but that of the home
/// folder.
fn leave_machine() -> Result<(), ContainError> {
    let failed = "leave the mounts of the machine";
    chdir(GROUND).map_err(system(failed))?;
    // The new root is laid over the old one, which is then taken away (pivot_root(2)).
    pivot_root(".", ".").map_err(system(failed))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(system(failed))?;
    chdir("/").map_err(system(failed))
}
