//! Which mounts a command gets, in their order: a value that `mounts` carries out.
//!
//! The mounts of the machine stay where they are and are made read-only. Over some places something else is
//! laid, and what has to stay in sight below such a place is laid over that again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;

use super::view::{FileSystemView, MountedKind};
use crate::launch::policy::Containment;

/// The folder of the files that covers are made of, until the devices take its place.
pub(super) const SCRATCH: &str = "/dev";
const PROCESSES: &str = "/proc";
const SYSTEM: &str = "/sys";
const RUN: &str = "/run";
/// Folders of everybody, each replaced by one of the command's own.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MountStep {
    /// Ends the exchange of mounts with other namespaces.
    Separate,
    /// Makes the entry at a path, with all below, a mount of its own.
    Own(PathBuf),
    /// Remembers the entry at a path, to put it there again.
    Hold(PathBuf),
    /// Makes this one mount read-only.
    ReadOnly(PathBuf, MsFlags),
    /// Makes room for what covers are made of.
    Scratch,
    /// Anything written in this folder from now on is lost with the command.
    ThrowAway(PathBuf),
    /// Lays something else over a path.
    Cover(PathBuf, Cover),
    /// Puts what was remembered at its path again.
    Restore(PathBuf),
    /// Lays a link to another file over a file.
    Link { place: PathBuf, target: PathBuf },
    /// Lays a view of the command's own processes over the one of all.
    Processes { read_only: bool },
    /// Takes away what `Scratch` made.
    Release,
}

/// The layer over a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cover {
    /// An empty file, read-only.
    File,
    /// A read-only folder with nothing but places for what is put there again, and links.
    Folder {
        places: Vec<(PathBuf, MountedKind)>,
        links: Vec<(PathBuf, PathBuf)>,
    },
    /// A folder that everybody may write in, with such places.
    Temporary { places: Vec<(PathBuf, MountedKind)> },
    /// The few devices that a command needs, with such places.
    Devices { places: Vec<(PathBuf, MountedKind)> },
}

/// The treatment of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Hidden,
    Temporary,
    Run,
    Devices,
    ThrowAway,
    /// It stays visible and unchanged.
    Kept,
}

impl Layer {
    /// Whether nothing of what was there before is left in sight.
    const fn is_empty(self) -> bool {
        match self {
            Self::Hidden | Self::Temporary | Self::Run | Self::Devices => true,
            Self::ThrowAway | Self::Kept => false,
        }
    }
}

/// The paths of whose kind the view has to know.
pub(super) fn paths(containment: &Containment) -> impl Iterator<Item = &Path> {
    let named = [
        &containment.writable,
        &containment.visible,
        &containment.protected,
        &containment.hidden,
    ];
    let fixed = TEMPORARY.into_iter().chain([RUN, SCRATCH, PROCESSES]);
    let named = named.into_iter().flatten();
    let named = named.chain(&containment.throw_away).map(PathBuf::as_path);
    let copied = containment.copies.iter().map(|file| file.place.as_path());
    named.chain(copied).chain(fixed.map(Path::new))
}

/// All steps, in their order.
pub(super) fn steps(containment: &Containment, view: &FileSystemView) -> Vec<MountStep> {
    let layers = layers(containment, view);
    let mut steps = vec![MountStep::Separate];
    if !containment.full {
        let own = own(containment, view);
        steps.extend(own.iter().cloned().map(MountStep::Own));
        steps.extend(read_only(containment, view, &own, &layers));
    }
    let (over, restored) = over(&layers, view);
    steps.extend(restored.iter().cloned().map(MountStep::Hold));
    steps.push(MountStep::Scratch);
    // What is below the scratch comes last.
    let (last, first): (Vec<_>, Vec<_>) = over
        .into_iter()
        .partition(|(path, _)| path.starts_with(SCRATCH));
    steps.extend(first.into_iter().map(|(_, step)| step));
    if containment.full {
        steps.push(MountStep::Release);
    } else {
        steps.extend(protect(containment, view, &layers));
        steps.extend(links(containment, view));
        steps.extend(last.into_iter().map(|(_, step)| step));
    }
    let read_only = !containment.full;
    steps.push(MountStep::Processes { read_only });
    steps
}

fn exists(view: &FileSystemView, path: &Path) -> bool {
    matches!(
        view.kinds.get(path),
        Some(MountedKind::Folder | MountedKind::File)
    )
}

/// The folders that may be written and are not in another one that may, or in a protected place of it.
fn own(containment: &Containment, view: &FileSystemView) -> Vec<PathBuf> {
    let is_within = |inner: &Path, outer: &Path| inner != outer && inner.starts_with(outer);
    let writable = containment
        .writable
        .iter()
        .filter(|path| exists(view, path));
    let outermost = writable.filter(|path| {
        let around = containment
            .writable
            .iter()
            .filter(|other| is_within(path, other));
        around.into_iter().all(|other| {
            let protected = &mut containment.protected.iter();
            protected.any(|between| between.starts_with(other) && is_within(path, between))
        })
    });
    // The root cannot be covered by itself, and is not made read-only then.
    let sorted: BTreeSet<PathBuf> = outermost.cloned().collect();
    sorted
        .into_iter()
        .filter(|path| path != Path::new("/"))
        .collect()
}

/// Every mount of the machine but what may be written and what is out of sight afterwards.
fn read_only(
    containment: &Containment,
    view: &FileSystemView,
    own: &[PathBuf],
    layers: &BTreeMap<PathBuf, Layer>,
) -> Vec<MountStep> {
    if containment
        .writable
        .iter()
        .any(|path| path == Path::new("/"))
    {
        return vec![];
    }
    let is_replaced = |path: &Path| {
        let nearest = path.ancestors().find_map(|outer| layers.get(outer));
        // What is put there again from this mount has its flags.
        let mut kept = layers.iter().filter(|(_, layer)| **layer == Layer::Kept);
        path.starts_with(PROCESSES)
            || nearest.is_some_and(|layer| layer.is_empty())
                && !kept.any(|(kept, _)| kept.starts_with(path))
    };
    let is_writable = |path: &Path| own.iter().any(|outer| path.starts_with(outer));
    let mounts = view.mounts.iter().filter(|mount| {
        !mount.is_read_only && !is_writable(&mount.path) && !is_replaced(&mount.path)
    });
    let steps = mounts.map(|mount| MountStep::ReadOnly(mount.path.clone(), mount.flags));
    steps.collect()
}

/// The treatment of each place, by path, so that a folder comes before its content.
fn layers(containment: &Containment, view: &FileSystemView) -> BTreeMap<PathBuf, Layer> {
    let mut layers = BTreeMap::new();
    let mut lay = |path: &Path, layer| {
        if exists(view, path) {
            layers.insert(path.to_owned(), layer);
        }
    };
    let is_writable = |path: &Path| {
        containment
            .writable
            .iter()
            .any(|outer| path.starts_with(outer))
    };
    if !containment.full {
        lay(Path::new(RUN), Layer::Run);
        lay(Path::new(SCRATCH), Layer::Devices);
        for path in TEMPORARY.map(Path::new) {
            if !is_writable(path) {
                lay(path, Layer::Temporary);
            }
        }
        if let Some(home) = &containment.throw_away {
            lay(home, Layer::ThrowAway);
        }
    }
    for path in containment.visible.iter().chain(&containment.writable) {
        lay(path, Layer::Kept);
    }
    // What hides wins against what shows.
    for path in &containment.hidden {
        lay(path, Layer::Hidden);
    }
    if !containment.full {
        for path in mounts_right_below(view, Path::new(SYSTEM)) {
            layers.insert(path, Layer::Hidden);
        }
        let home = containment.throw_away.iter();
        let mut kept: Vec<PathBuf> = home
            .flat_map(|home| mounts_right_below(view, home))
            .collect();
        kept.extend(view.resolver.clone().filter(|_| containment.network));
        for path in kept {
            let around = path.ancestors().find_map(|outer| layers.get(outer));
            if around != Some(&Layer::Hidden) {
                layers.entry(path).or_insert(Layer::Kept);
            }
        }
    }
    layers
}

/// The mounts below a folder that are in no other one below it.
fn mounts_right_below(view: &FileSystemView, folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let below = view.mounts.iter().map(|mount| &mount.path);
    let below: BTreeSet<_> = below
        .filter(|path| *path != folder && path.starts_with(folder))
        .collect();
    for path in below {
        if !found.iter().any(|outer| path.starts_with(outer)) {
            found.push(path.clone());
        }
    }
    found
}

/// The steps for each layer by its path, and what has to be remembered for them.
fn over(
    layers: &BTreeMap<PathBuf, Layer>,
    view: &FileSystemView,
) -> (Vec<(PathBuf, MountStep)>, Vec<PathBuf>) {
    let mut in_effect: BTreeMap<&Path, Layer> = BTreeMap::new();
    let mut places: BTreeMap<&Path, Vec<(PathBuf, MountedKind)>> = BTreeMap::new();
    let mut restored = Vec::new();
    for (path, layer) in layers {
        let around = path.ancestors().skip(1);
        let around = around.filter_map(|outer| in_effect.get_key_value(outer));
        let around = around.map(|(outer, layer)| (*outer, *layer)).next();
        let is_empty_around = around.is_some_and(|(_, layer)| layer.is_empty());
        if let (Layer::ThrowAway, Some((outer, _)), true) = (layer, around, is_empty_around) {
            // Programs are in the home folder, also where that is in a folder that is replaced.
            let place = (path.clone(), MountedKind::Folder);
            places.entry(outer).or_default().push(place);
            restored.push(path.clone());
            in_effect.insert(path, Layer::ThrowAway);
            continue;
        }
        if *layer != Layer::Kept {
            // In an empty folder there is nothing to cover.
            if !is_empty_around {
                in_effect.insert(path, *layer);
            }
            continue;
        }
        match around {
            // It is below already, but what is written there would be lost.
            Some((_, Layer::ThrowAway)) => restored.push(path.clone()),
            Some((outer, _)) if is_empty_around => {
                let kind = view.kinds.get(path).copied().unwrap_or(MountedKind::File);
                places.entry(outer).or_default().push((path.clone(), kind));
                restored.push(path.clone());
            }
            Some(_) | None => {}
        }
        in_effect.insert(path, Layer::Kept);
    }
    let steps = in_effect.iter().flat_map(|(path, layer)| {
        let places = places.remove(path).unwrap_or_default();
        let path = path.to_path_buf();
        let is_file = view.kinds.get(&path) == Some(&MountedKind::File);
        let step = match layer {
            Layer::Hidden if is_file => MountStep::Cover(path.clone(), Cover::File),
            Layer::Hidden => MountStep::Cover(
                path.clone(),
                Cover::Folder {
                    places,
                    links: vec![],
                },
            ),
            Layer::Run => {
                let links = view.run_links.clone();
                MountStep::Cover(path.clone(), Cover::Folder { places, links })
            }
            Layer::Temporary => MountStep::Cover(path.clone(), Cover::Temporary { places }),
            Layer::Devices => MountStep::Cover(path.clone(), Cover::Devices { places }),
            Layer::ThrowAway if restored.contains(&path) => {
                let steps = [
                    MountStep::Restore(path.clone()),
                    MountStep::ThrowAway(path.clone()),
                ];
                return steps.map(|step| (path.clone(), step)).to_vec();
            }
            Layer::ThrowAway => MountStep::ThrowAway(path.clone()),
            Layer::Kept if restored.contains(&path) => MountStep::Restore(path.clone()),
            Layer::Kept => return vec![],
        };
        vec![(path, step)]
    });
    (steps.collect(), restored)
}

fn has_hidden_name(path: &Path) -> bool {
    let mut names = path.components();
    names.any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Read-only places in what may be written. A hidden folder that holds one, such as those of git and Cargo, is a mount
/// of its own, and so is each folder between: none can be renamed away and made again. A protected folder that may be
/// written is only that.
fn protect(
    containment: &Containment,
    view: &FileSystemView,
    layers: &BTreeMap<PathBuf, Layer>,
) -> Vec<MountStep> {
    let nearest = |path: &Path| path.ancestors().find_map(|outer| layers.get(outer));
    let may_be_written = |path: &&PathBuf| {
        let mut writable = containment.writable.iter();
        writable.any(|outer| path.starts_with(outer)) && nearest(path) == Some(&Layer::Kept)
    };
    let protected = containment
        .protected
        .iter()
        .filter(|path| exists(view, path));
    let protected: BTreeSet<&PathBuf> = protected.filter(may_be_written).collect();
    let is_in_hidden = |path: &Path| {
        let mut writable = containment.writable.iter();
        writable.any(|outer| {
            // The name of a folder that may be written counts: that of a repository is one of git's.
            let below = path.strip_prefix(outer.parent().unwrap_or(outer));
            path.starts_with(outer) && below.is_ok_and(has_hidden_name)
        })
    };
    let mut own: BTreeSet<&Path> = protected.iter().map(|path| path.as_path()).collect();
    for path in &protected {
        let around = path.ancestors().skip(1);
        let hidden = around.take_while(|outer| is_in_hidden(outer));
        own.extend(hidden.filter(|outer| may_be_written(&&outer.to_path_buf())));
    }
    let is_closed = |path: &&&PathBuf| !containment.writable.contains(path);
    let closed: Vec<&PathBuf> = protected.iter().filter(is_closed).copied().collect();
    let own_steps = own.iter().map(|path| MountStep::Own(path.to_path_buf()));
    let inner = view.mounts.iter().filter(|mount| {
        let is_below = |path: &&PathBuf| mount.path != **path && mount.path.starts_with(path);
        !mount.is_read_only && closed.iter().any(is_below)
    });
    let flags = |path: &Path| view.flags_at(path);
    let closed = closed
        .iter()
        .map(|path| MountStep::ReadOnly((*path).clone(), flags(path)));
    let inner = inner.map(|mount| MountStep::ReadOnly(mount.path.clone(), mount.flags));
    own_steps.chain(closed).chain(inner).collect()
}

/// The links over files that have copies. A file over which no link can be laid stays protected.
fn links(containment: &Containment, view: &FileSystemView) -> Vec<MountStep> {
    let is_file = |path: &Path| view.kinds.get(path) == Some(&MountedKind::File);
    let copies = containment.copies.iter();
    let copies = copies.filter(|file| is_file(&file.place));
    let steps = copies.map(|file| MountStep::Link {
        place: file.place.clone(),
        target: file.copy.clone(),
    });
    steps.collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
