//! A disk in memory that knows what a power cut would take, and whose every operation can fail.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use nix::libc::{EEXIST, EIO, ENOENT};

use super::disk::{Disk, DiskFile, DiskFolder, FileKind, OpenMode, Stat};
use super::pool::lock;

/// Kind of failure of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Fault {
    /// It fails with this error number.
    Error(i32),
    /// It writes only so many bytes; the rest fails with this error number.
    Short(usize, i32),
    /// The process dies: this and everything later fails, and changes nothing.
    Crash,
}

/// The loss that a disk suffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Loss {
    /// Nothing is lost: the process was killed.
    Nothing,
    /// Everything is lost that was not flushed.
    AllUnflushed,
    /// Any part of what was not flushed is lost.
    Some,
}

#[derive(Clone)]
enum DiskChange {
    Append(Vec<u8>),
    Truncate(u64),
}

#[derive(Clone, Default)]
struct Inode {
    content: Vec<u8>,
    flushed: Vec<u8>,
    unflushed: Vec<DiskChange>,
    locked_by: Option<u64>,
    changed_at: u64,
}

#[derive(Clone)]
enum NameChange {
    Add(PathBuf, u64),
    Remove(PathBuf),
    Move(PathBuf, PathBuf),
}

type FileNames = BTreeMap<PathBuf, u64>;

impl NameChange {
    fn touches(&self, folder: &Path) -> bool {
        match self {
            Self::Add(path, _) | Self::Remove(path) => path.parent() == Some(folder),
            Self::Move(from, to) => from.parent() == Some(folder) || to.parent() == Some(folder),
        }
    }

    fn apply(&self, names: &mut FileNames) {
        match self {
            Self::Add(path, inode) => drop(names.insert(path.clone(), *inode)),
            Self::Remove(path) => drop(names.remove(path)),
            Self::Move(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }
}

#[derive(Clone, Default)]
struct World {
    inodes: BTreeMap<u64, Inode>,
    names: FileNames,
    durable_names: FileNames,
    namings: Vec<NameChange>,
    operations: Vec<&'static str>,
    fault: Option<(usize, Fault)>,
    /// Fails every write, or every write and flush, until it is taken away.
    failing: Option<(&'static [&'static str], i32)>,
    /// Fails one operation of these names, after so many others.
    failing_nth: Option<(&'static [&'static str], usize, i32)>,
    is_dead: bool,
    counter: u64,
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Default)]
pub(in super::super) struct SimulatedDisk(Arc<Mutex<World>>, Gate);

/// Holds flushes up.
type Gate = Arc<(Mutex<bool>, Condvar)>;

struct SimulatedFile {
    world: Arc<Mutex<World>>,
    gate: Gate,
    inode: u64,
    handle: u64,
}

struct SimulatedFolder {
    world: Arc<Mutex<World>>,
    path: PathBuf,
}

fn number(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

impl World {
    /// Counts an operation that changes something, and fails it if it is its turn. Tells how
    /// many bytes may be written.
    fn operate(&mut self, name: &'static str) -> io::Result<Option<(usize, i32)>> {
        if self.is_dead {
            return Err(number(EIO));
        }
        self.operations.push(name);
        self.count_down(name)?;
        if let Some((names, errno)) = self.failing
            && names.contains(&name)
        {
            return Err(number(errno));
        }
        match self.fault {
            Some((at, fault)) if self.operations.len() > at => match fault {
                Fault::Error(errno) => {
                    self.fault = None;
                    Err(number(errno))
                }
                Fault::Short(bytes, errno) => {
                    self.fault = (bytes > 0).then_some((at, Fault::Error(errno)));
                    Ok(Some((bytes, errno)))
                }
                Fault::Crash => {
                    self.is_dead = true;
                    Err(number(EIO))
                }
            },
            _ => Ok(None),
        }
    }

    fn count_down(&mut self, name: &'static str) -> io::Result<()> {
        match &mut self.failing_nth {
            Some((names, left, errno)) if names.contains(&name) => {
                let errno = *errno;
                if let Some(fewer) = left.checked_sub(1) {
                    *left = fewer;
                    return Ok(());
                }
                self.failing_nth = None;
                Err(number(errno))
            }
            _ => Ok(()),
        }
    }

    /// An operation that changes nothing is not counted; it fails by its name only.
    fn read(&mut self, name: &'static str) -> io::Result<()> {
        self.count_down(name)?;
        match self.failing {
            _ if self.is_dead => Err(number(EIO)),
            Some((names, errno)) if names.contains(&name) => Err(number(errno)),
            _ => Ok(()),
        }
    }

    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn name(&mut self, naming: NameChange) {
        naming.apply(&mut self.names);
        self.namings.push(naming);
    }

    fn inode(&mut self, path: &Path) -> io::Result<u64> {
        self.names.get(path).copied().ok_or(number(ENOENT))
    }

    fn stat(&self, inode: u64) -> Stat {
        let file = &self.inodes[&inode];
        Stat {
            kind: FileKind::File,
            inode: (1, inode),
            length: file.content.len() as u64,
            links: self.names.values().filter(|&&other| other == inode).count() as u64,
            changed_at: file.changed_at,
        }
    }
}

impl SimulatedDisk {
    /// Makes the operation after `at` others go wrong.
    pub(in super::super) fn fail(&self, at: usize, fault: Fault) {
        let mut world = lock(&self.0);
        world.operations.clear();
        world.fault = Some((at, fault));
    }

    /// Makes all operations of these names fail. `None` ends that.
    pub(in super::super) fn fail_all(&self, failing: Option<(&'static [&'static str], i32)>) {
        lock(&self.0).failing = failing;
    }

    /// Makes one operation of these names fail, after `at` others of them.
    pub(in super::super) fn fail_nth(&self, names: &'static [&'static str], at: usize, errno: i32) {
        lock(&self.0).failing_nth = Some((names, at, errno));
    }

    /// True if the failure of [`SimulatedDisk::fail_nth`] has happened.
    pub(in super::super) fn has_failed(&self) -> bool {
        lock(&self.0).failing_nth.is_none()
    }

    /// The operations since [`SimulatedDisk::fail`] that change something.
    pub(in super::super) fn operations(&self) -> Vec<&'static str> {
        lock(&self.0).operations.clone()
    }

    /// Holds flushes, or lets them continue.
    pub(in super::super) fn hold_syncs(&self, is_held: bool) {
        *lock(&self.1.0) = is_held;
        self.1.1.notify_all();
    }

    /// True if the process that used the disk died.
    pub(in super::super) fn is_dead(&self) -> bool {
        lock(&self.0).is_dead
    }

    /// The content of a file.
    pub(in super::super) fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let mut world = lock(&self.0);
        let inode = world.inode(path).ok()?;
        Some(world.inodes[&inode].content.clone())
    }

    /// Puts a durable file there.
    pub(in super::super) fn put(&self, path: &Path, content: &[u8]) {
        let mut world = lock(&self.0);
        let inode = world.next();
        world.inodes.insert(
            inode,
            Inode {
                content: content.to_vec(),
                flushed: content.to_vec(),
                ..Inode::default()
            },
        );
        world.names.insert(path.to_owned(), inode);
        world.durable_names.insert(path.to_owned(), inode);
    }

    /// All paths.
    pub(in super::super) fn paths(&self) -> Vec<PathBuf> {
        lock(&self.0).names.keys().cloned().collect()
    }

    /// The disk as the next process finds it.
    pub(in super::super) fn after(&self, loss: Loss, random: &mut fastrand::Rng) -> Self {
        let mut world = lock(&self.0).clone();
        let mut names = world.durable_names.clone();
        let kept = match loss {
            Loss::Nothing => world.namings.len(),
            Loss::AllUnflushed => 0,
            Loss::Some => random.usize(..=world.namings.len()),
        };
        world.namings[..kept]
            .iter()
            .for_each(|naming| naming.apply(&mut names));
        for inode in world.inodes.values_mut() {
            inode.locked_by = None;
            inode.content = match loss {
                Loss::Nothing => std::mem::take(&mut inode.content),
                Loss::AllUnflushed => inode.flushed.clone(),
                Loss::Some => some_of(inode, random),
            };
            inode.flushed = inode.content.clone();
            inode.unflushed.clear();
        }
        world.names = names.clone();
        world.durable_names = names;
        world.namings.clear();
        world.fault = None;
        world.failing = None;
        world.failing_nth = None;
        world.is_dead = false;
        Self(Arc::new(Mutex::new(world)), Gate::default())
    }
}

/// The flushed content with some of the later changes: a write may be missing, which leaves
/// zeros if a later one is there, or be there in part.
fn some_of(inode: &Inode, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut content = inode.flushed.clone();
    let mut end = content.len();
    for change in &inode.unflushed {
        match change {
            DiskChange::Append(bytes) => {
                let kept = random.usize(..=bytes.len());
                let from = random.usize(..=kept);
                let part = match random.u8(..4) {
                    0 => 0..0,
                    1 => 0..bytes.len(),
                    2 => 0..kept,
                    _ => from..bytes.len(),
                };
                if !part.is_empty() {
                    content.resize(content.len().max(end + part.end), 0);
                    content[end + part.start..end + part.end].copy_from_slice(&bytes[part]);
                }
                end += bytes.len();
            }
            DiskChange::Truncate(length) => {
                end = usize::try_from(*length).unwrap();
                content.truncate(end);
            }
        }
    }
    content
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path, opening: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut world = lock(&self.0);
        if opening == OpenMode::Read {
            world.read("open")?;
        } else {
            world.operate("open")?;
        }
        let inode = match (world.inode(path), opening) {
            (Ok(_), OpenMode::New) => return Err(number(EEXIST)),
            (Err(_), OpenMode::New | OpenMode::AppendOrNew) => {
                let inode = world.next();
                world.inodes.insert(inode, Inode::default());
                world.name(NameChange::Add(path.to_owned(), inode));
                inode
            }
            (found, _) => found?,
        };
        let handle = world.next();
        Ok(Arc::new(SimulatedFile {
            world: Arc::clone(&self.0),
            gate: Arc::clone(&self.1),
            inode,
            handle,
        }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let mut world = lock(&self.0);
        if world.is_dead {
            return Err(number(EIO));
        }
        if world.names.keys().any(|name| name.parent() == Some(path)) {
            return Ok(Stat {
                kind: FileKind::Folder,
                inode: (1, 0),
                length: 0,
                links: 1,
                changed_at: 0,
            });
        }
        let inode = world.inode(path)?;
        Ok(world.stat(inode))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let world = lock(&self.0);
        let inside = world.names.keys().filter_map(|path| {
            let inside = path.strip_prefix(folder).ok()?;
            inside.iter().next()?.to_str().map(str::to_owned)
        });
        let mut names: Vec<String> = inside.collect();
        names.dedup();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = lock(&self.0);
        world.operate("rename")?;
        world.inode(from)?;
        world.name(NameChange::Move(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if lock(&self.0).names.contains_key(to) {
            return Err(number(EEXIST));
        }
        self.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = lock(&self.0);
        world.operate("link")?;
        let inode = world.inode(from)?;
        if world.names.contains_key(to) {
            return Err(number(EEXIST));
        }
        world.name(NameChange::Add(to.to_owned(), inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = lock(&self.0);
        world.operate("remove")?;
        world.inode(path)?;
        world.name(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn make_folder(&self, _: &Path) -> io::Result<()> {
        lock(&self.0).operate("make folder").map(drop)
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Arc<dyn DiskFolder>> {
        lock(&self.0).operate("open folder")?;
        Ok(Arc::new(SimulatedFolder {
            world: Arc::clone(&self.0),
            path: folder.to_owned(),
        }))
    }
}

impl DiskFolder for SimulatedFolder {
    fn sync(&self) -> io::Result<()> {
        let mut world = lock(&self.world);
        world.operate("sync folder")?;
        let world = &mut *world;
        let durable = &mut world.durable_names;
        world.namings.retain(|naming| {
            let is_done = naming.touches(&self.path);
            if is_done {
                naming.apply(durable);
            }
            !is_done
        });
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn stat(&self) -> io::Result<Stat> {
        Ok(lock(&self.world).stat(self.inode))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = lock(&self.world);
        if world.is_dead {
            return Err(number(EIO));
        }
        let content = &world.inodes[&self.inode].content;
        let from = usize::try_from(offset).unwrap().min(content.len());
        let read = bytes.len().min(content.len() - from);
        bytes[..read].copy_from_slice(&content[from..from + read]);
        Ok(read)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = lock(&self.world);
        let allowed = match world.operate("append")? {
            Some((0, errno)) => return Err(number(errno)),
            Some((short, _)) => short.min(bytes.len()),
            None => bytes.len(),
        };
        let changed_at = world.next();
        let inode = world.inodes.get_mut(&self.inode).unwrap();
        inode.content.extend_from_slice(&bytes[..allowed]);
        inode
            .unflushed
            .push(DiskChange::Append(bytes[..allowed].to_vec()));
        inode.changed_at = changed_at;
        Ok(allowed)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut world = lock(&self.world);
        world.operate("truncate")?;
        let inode = world.inodes.get_mut(&self.inode).unwrap();
        inode.content.truncate(usize::try_from(length).unwrap());
        inode.unflushed.push(DiskChange::Truncate(length));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let (held, told) = &*self.gate;
        drop(told.wait_while(lock(held), |held| *held).unwrap());
        let mut world = lock(&self.world);
        let synced = world.operate("sync");
        let is_dead = world.is_dead;
        let inode = world.inodes.get_mut(&self.inode).unwrap();
        if synced.is_ok() {
            inode.flushed = inode.content.clone();
        }
        if !is_dead {
            // After a failed flush a system forgets what it could not write.
            inode.unflushed.clear();
        }
        synced.map(drop)
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut world = lock(&self.world);
        if world.is_dead {
            return Err(number(EIO));
        }
        let inode = world.inodes.get_mut(&self.inode).unwrap();
        let holder = *inode.locked_by.get_or_insert(self.handle);
        Ok(holder == self.handle)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut world = lock(&self.world);
        if let Some(inode) = world.inodes.get_mut(&self.inode)
            && inode.locked_by == Some(self.handle)
        {
            inode.locked_by = None;
        }
    }
}
