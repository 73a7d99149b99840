use super::*;
use harness_actors::tool::FileCopy;
use harness_protocol::Backend;

use super::super::view::Mount;

fn containment() -> Containment {
    Containment {
        backend: Backend::Namespaces,
        full: false,
        writable: vec![],
        visible: vec![],
        protected: vec![],
        hidden: vec![],
        throw_away: None,
        network: false,
        overrides_owners: false,
        copies: vec![],
    }
}

fn paths_of(texts: &[&str]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

/// A machine with one disk, where the paths of the containment exist; a name with a dot at its end is a file.
fn view(containment: &Containment, mounts: &[(&str, MsFlags)]) -> FileSystemView {
    let kind = |path: &Path| {
        let is_file = path.extension().is_some();
        (
            path.to_owned(),
            if is_file {
                MountedKind::File
            } else {
                MountedKind::Folder
            },
        )
    };
    let root = Mount {
        id: 1,
        parent: 0,
        path: PathBuf::from("/"),
        is_read_only: false,
        flags: MsFlags::empty(),
    };
    let others = mounts.iter().zip(2..).map(|((path, flags), id)| Mount {
        id,
        parent: 1,
        path: PathBuf::from(path),
        is_read_only: false,
        flags: *flags,
    });
    FileSystemView {
        mounts: std::iter::once(root).chain(others).collect(),
        kinds: paths(containment).map(kind).collect(),
        run_links: vec![],
        resolver: None,
    }
}

fn own(path: &str) -> MountStep {
    MountStep::Own(PathBuf::from(path))
}

fn hold(path: &str) -> MountStep {
    MountStep::Hold(PathBuf::from(path))
}

fn restore(path: &str) -> MountStep {
    MountStep::Restore(PathBuf::from(path))
}

fn closed(path: &str) -> MountStep {
    MountStep::ReadOnly(PathBuf::from(path), MsFlags::empty())
}

fn cover(path: &str, cover: Cover) -> MountStep {
    MountStep::Cover(PathBuf::from(path), cover)
}

fn empty() -> Cover {
    folder(&[])
}

fn places(folders: &[&str]) -> Vec<(PathBuf, MountedKind)> {
    folders
        .iter()
        .map(|path| (PathBuf::from(path), MountedKind::Folder))
        .collect()
}

fn folder(folders: &[&str]) -> Cover {
    Cover::Folder {
        places: places(folders),
        links: vec![],
    }
}

fn temporary(folders: &[&str]) -> Cover {
    Cover::Temporary {
        places: places(folders),
    }
}

fn devices() -> MountStep {
    cover("/dev", Cover::Devices { places: vec![] })
}

const VIEW_OF_ITS_OWN: MountStep = MountStep::Processes { read_only: true };

/// Spec: [BOX-01], [BOX-02], [BOX-03], [BOX-04]
#[test]
fn the_workspace_stays_and_the_rest_is_closed_covered_or_thrown_away() {
    let containment = Containment {
        writable: paths_of(&["/home/u/work"]),
        protected: paths_of(&["/home/u/work/.git/hooks", "/home/u/work/AGENTS.md"]),
        hidden: paths_of(&["/home/u/.ssh", "/home/u/.aws.ini"]),
        throw_away: Some(PathBuf::from("/home/u")),
        ..containment()
    };
    let view = view(&containment, &[]);
    assert_eq!(
        steps(&containment, &view),
        [
            MountStep::Separate,
            own("/home/u/work"),
            closed("/"),
            hold("/home/u/work"),
            MountStep::Scratch,
            MountStep::ThrowAway(PathBuf::from("/home/u")),
            cover("/home/u/.aws.ini", Cover::File),
            cover("/home/u/.ssh", empty()),
            restore("/home/u/work"),
            cover("/run", empty()),
            cover("/tmp", temporary(&[])),
            cover("/var/tmp", temporary(&[])),
            own("/home/u/work/.git"),
            own("/home/u/work/.git/hooks"),
            own("/home/u/work/AGENTS.md"),
            closed("/home/u/work/.git/hooks"),
            closed("/home/u/work/AGENTS.md"),
            devices(),
            VIEW_OF_ITS_OWN,
        ]
    );
}

/// Spec: [BASH-620]
#[test]
fn a_file_with_a_copy_is_protected_and_seen_as_a_link() {
    let file = |place: &str, copy: &str| FileCopy {
        place: PathBuf::from(place),
        copy: PathBuf::from(copy),
    };
    let containment = Containment {
        writable: paths_of(&["/work", "/tmp/copies"]),
        protected: paths_of(&["/work/.git/config.x"]),
        copies: vec![
            file("/work/.git/config.x", "/tmp/copies/0"),
            // A folder has no copy.
            file("/work/.git/hooks", "/tmp/copies/1"),
        ],
        ..containment()
    };
    let view = view(&containment, &[]);
    let steps = steps(&containment, &view);
    assert_eq!(
        steps[steps.len() - 6..],
        [
            own("/work/.git"),
            own("/work/.git/config.x"),
            closed("/work/.git/config.x"),
            MountStep::Link {
                place: PathBuf::from("/work/.git/config.x"),
                target: PathBuf::from("/tmp/copies/0"),
            },
            devices(),
            VIEW_OF_ITS_OWN,
        ]
    );
    let folders = containment.folders_of_copies();
    assert_eq!(folders, paths_of(&["/tmp/copies"]));
}

/// Spec: [BOX-04]
#[test]
fn what_may_be_seen_below_a_replaced_folder_is_put_there_again() {
    let containment = Containment {
        visible: paths_of(&["/tmp/a/work"]),
        writable: paths_of(&["/state/tmp/7", "/dev/shm/x"]),
        hidden: paths_of(&["/state"]),
        ..containment()
    };
    let view = view(&containment, &[]);
    let steps = steps(&containment, &view);
    let over = steps.iter().skip_while(|step| **step != MountStep::Scratch);
    assert_eq!(
        over.cloned().collect::<Vec<_>>(),
        [
            MountStep::Scratch,
            cover("/run", empty()),
            cover("/state", folder(&["/state/tmp/7"])),
            restore("/state/tmp/7"),
            cover("/tmp", temporary(&["/tmp/a/work"])),
            restore("/tmp/a/work"),
            cover("/var/tmp", temporary(&[])),
            cover(
                "/dev",
                Cover::Devices {
                    places: places(&["/dev/shm/x"])
                }
            ),
            restore("/dev/shm/x"),
            VIEW_OF_ITS_OWN,
        ]
    );
    assert!(steps.contains(&hold("/tmp/a/work")));
    assert!(!steps.contains(&own("/tmp/a/work")), "it is only read");
}

/// Spec: [BOX-02]
#[test]
fn what_is_hidden_stays_so_below_what_is_put_there_again() {
    let containment = Containment {
        writable: paths_of(&["/tmp/work"]),
        hidden: paths_of(&["/tmp/work/state", "/tmp/other"]),
        ..containment()
    };
    let steps = steps(&containment, &view(&containment, &[]));
    let at = |wanted: &MountStep| steps.iter().position(|step| step == wanted);
    let restored = at(&restore("/tmp/work")).unwrap();
    assert!(at(&cover("/tmp/work/state", empty())).unwrap() > restored);
    let is_covered = |path: &str| {
        let mut steps = steps.iter();
        steps.any(|step| matches!(step, MountStep::Cover(covered, _) if covered == Path::new(path)))
    };
    assert!(!is_covered("/tmp/other"), "there is nothing to cover");
}

/// Spec: [BOX-02]
#[test]
fn a_mount_in_a_hidden_folder_of_the_home_folder_is_not_put_there_again() {
    let containment = Containment {
        hidden: paths_of(&["/home/u/.ssh"]),
        throw_away: Some(PathBuf::from("/home/u")),
        ..containment()
    };
    let mounts = [
        ("/home/u/.ssh/disk", MsFlags::empty()),
        ("/home/u/disk", MsFlags::MS_NOEXEC),
    ];
    let steps = steps(&containment, &view(&containment, &mounts));
    assert!(steps.contains(&restore("/home/u/disk")));
    assert!(!steps.contains(&restore("/home/u/.ssh/disk")));
}

/// Spec: [BOX-01], [BOX-09]
#[test]
fn every_mount_but_what_may_be_written_is_closed_with_its_flags() {
    let containment = Containment {
        writable: paths_of(&["/data/work"]),
        ..containment()
    };
    let fixed = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    let mounts = [
        ("/data", fixed),
        ("/data/work/disk", fixed),
        ("/proc/x", fixed),
        ("/sys/a", fixed),
    ];
    let steps = steps(&containment, &view(&containment, &mounts));
    let closed: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            MountStep::ReadOnly(path, flags) => Some((path.to_str().unwrap(), *flags)),
            _ => None,
        })
        .collect();
    let none = MsFlags::empty();
    assert_eq!(closed, [("/", none), ("/data", fixed)]);
    assert!(steps.contains(&cover("/sys/a", empty())));
}

/// Spec: [BOX-04], [BOX-09]
#[test]
fn what_is_put_back_to_be_read_is_closed_and_what_is_out_of_sight_is_left_alone() {
    let containment = Containment {
        visible: paths_of(&["/run/media/disk/work"]),
        ..containment()
    };
    let none = MsFlags::empty();
    let mounts = [
        ("/run/media/disk", none),
        ("/run/media/disk/work/inner", none),
        ("/run/other", none),
        ("/dev/shm", none),
    ];
    let steps = steps(&containment, &view(&containment, &mounts));
    let is_closed = |path: &str| steps.contains(&closed(path));
    assert!(is_closed("/run/media/disk") && is_closed("/run/media/disk/work/inner"));
    assert!(!is_closed("/run/other") && !is_closed("/dev/shm"));
    assert!(steps.contains(&restore("/run/media/disk/work")));
}

/// Spec: [BOX-03]
#[test]
fn a_folder_that_may_be_written_in_a_protected_one_may_be_written() {
    let containment = Containment {
        writable: paths_of(&["/work", "/work/.git/worktrees/a"]),
        protected: paths_of(&["/work/.git", "/elsewhere/.git"]),
        ..containment()
    };
    let steps = steps(&containment, &view(&containment, &[]));
    let owned: Vec<_> = steps
        .iter()
        .filter(|step| matches!(step, MountStep::Own(_)))
        .collect();
    assert_eq!(
        owned,
        [
            &own("/work"),
            &own("/work/.git/worktrees/a"),
            &own("/work/.git")
        ]
    );
    assert!(steps.contains(&closed("/work/.git")));
    assert!(!steps.contains(&closed("/elsewhere/.git")));
}

/// Spec: [BOX-03]
#[test]
fn no_folder_of_git_above_a_protected_place_can_be_moved_away() {
    let containment = Containment {
        writable: paths_of(&["/work"]),
        protected: paths_of(&["/work/.git/modules/a/hooks"]),
        ..containment()
    };
    let steps = steps(&containment, &view(&containment, &[]));
    for path in ["/work/.git", "/work/.git/modules", "/work/.git/modules/a"] {
        assert!(steps.contains(&own(path)), "{path}");
        assert!(!steps.contains(&closed(path)), "{path}");
    }
}

/// Spec: [BASH-580]
#[test]
fn a_protected_folder_that_may_be_written_cannot_be_moved_away() {
    let containment = Containment {
        writable: paths_of(&["/work", "/work/gd"]),
        protected: paths_of(&["/work/gd", "/work/gd/hooks"]),
        ..containment()
    };
    let steps = steps(&containment, &view(&containment, &[]));
    assert!(steps.contains(&own("/work/gd")) && !steps.contains(&closed("/work/gd")));
    assert!(steps.contains(&closed("/work/gd/hooks")));
}

/// Spec: [BOX-13]
#[test]
fn full_access_covers_what_is_hidden_and_nothing_else() {
    let containment = Containment {
        full: true,
        writable: paths_of(&["/home/u/work", "/home/u/.state/tmp"]),
        protected: paths_of(&["/home/u/work/.git"]),
        hidden: paths_of(&["/home/u/.state"]),
        throw_away: Some(PathBuf::from("/home/u")),
        ..containment()
    };
    assert_eq!(
        steps(
            &containment,
            &view(&containment, &[("/data", MsFlags::empty())])
        ),
        [
            MountStep::Separate,
            hold("/home/u/.state/tmp"),
            MountStep::Scratch,
            cover("/home/u/.state", folder(&["/home/u/.state/tmp"])),
            restore("/home/u/.state/tmp"),
            MountStep::Release,
            MountStep::Processes { read_only: false },
        ]
    );
}

/// Spec: [BOX-01]
#[test]
fn where_everything_may_be_written_nothing_is_closed() {
    let containment = Containment {
        writable: paths_of(&["/"]),
        hidden: paths_of(&["/state"]),
        ..containment()
    };
    let steps = steps(
        &containment,
        &view(&containment, &[("/data", MsFlags::empty())]),
    );
    assert!(
        !steps
            .iter()
            .any(|step| matches!(step, MountStep::ReadOnly(..) | MountStep::Own(_)))
    );
    assert!(steps.contains(&cover("/state", empty())));
    assert!(!steps.contains(&cover("/tmp", temporary(&[]))));
}

/// Spec: [BOX-06]
#[test]
fn with_the_network_the_file_that_names_the_servers_for_names_stays_in_sight() {
    let file = PathBuf::from("/run/resolve/stub.conf");
    for network in [true, false] {
        let containment = Containment {
            network,
            ..containment()
        };
        let mut view = view(&containment, &[]);
        view.resolver = Some(file.clone());
        view.run_links = vec![(PathBuf::from("/run/shm"), PathBuf::from("/dev/shm"))];
        let kept = if network {
            vec![(file.clone(), MountedKind::File)]
        } else {
            vec![]
        };
        let run = Cover::Folder {
            places: kept,
            links: view.run_links.clone(),
        };
        let steps = steps(&containment, &view);
        assert!(steps.contains(&cover("/run", run)));
        assert_eq!(steps.contains(&MountStep::Restore(file.clone())), network);
    }
}

/// Spec: [BOX-04]
#[test]
fn a_home_folder_in_a_replaced_folder_is_thrown_away_there() {
    let containment = Containment {
        throw_away: Some(PathBuf::from("/tmp/u")),
        writable: paths_of(&["/tmp/u/work"]),
        hidden: paths_of(&["/tmp/u/state"]),
        ..containment()
    };
    let view = view(&containment, &[]);
    let steps = steps(&containment, &view);
    let over = steps.iter().skip_while(|step| **step != MountStep::Scratch);
    let of_temporary = over
        .skip_while(|step| !matches!(step, MountStep::Cover(path, _) if path == Path::new("/tmp")));
    assert_eq!(
        of_temporary.take(5).cloned().collect::<Vec<_>>(),
        [
            cover("/tmp", temporary(&["/tmp/u"])),
            restore("/tmp/u"),
            MountStep::ThrowAway(PathBuf::from("/tmp/u")),
            cover("/tmp/u/state", empty()),
            restore("/tmp/u/work"),
        ]
    );
    assert!(steps.contains(&hold("/tmp/u")));
}
