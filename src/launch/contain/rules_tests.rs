use super::*;
use harness_protocol::Backend;

fn containment() -> Containment {
    Containment {
        backend: Backend::Landlock,
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

/// A small machine.
fn tree(folder: &Path) -> Vec<(PathBuf, MountedKind)> {
    let entries: &[(&str, MountedKind)] = match folder.to_str().unwrap() {
        "/" => &[
            ("bin", MountedKind::Link),
            ("dev", MountedKind::Folder),
            ("etc", MountedKind::Folder),
            ("home", MountedKind::Folder),
        ],
        "/home" => &[("u", MountedKind::Folder), ("v", MountedKind::Folder)],
        "/home/u" => &[
            (".bashrc", MountedKind::File),
            (".ssh", MountedKind::Folder),
            (".state", MountedKind::Folder),
            ("link", MountedKind::Link),
            ("work", MountedKind::Folder),
        ],
        other => panic!("{other} needs not be listed"),
    };
    let entries = entries.iter();
    entries
        .map(|(name, kind)| (folder.join(name), *kind))
        .collect()
}

fn with(grants: &[Grant], right: Right) -> Vec<&str> {
    let grants = grants.iter().filter(|grant| grant.right == right);
    grants.map(|grant| grant.path.to_str().unwrap()).collect()
}

fn hiding() -> Containment {
    Containment {
        hidden: ["/home/u/.ssh", "/home/u/.state"].map(PathBuf::from).into(),
        ..containment()
    }
}

/// Spec: [BOX-10]
#[test]
fn what_is_hidden_gets_no_right_and_all_around_it_does() {
    let containment = Containment {
        writable: ["/home/u/work", "/home/u/.state/tmp"]
            .map(PathBuf::from)
            .into(),
        ..hiding()
    };
    let grants = alone(&containment, &tree);
    let read = ["/etc", "/home/u/.bashrc", "/home/u/work", "/home/v"];
    assert_eq!(with(&grants, Right::Read), read);
    assert_eq!(with(&grants, Right::List), ["/"]);
    let written = ["/home/u/work", "/home/u/.state/tmp"];
    assert_eq!(with(&grants, Right::Write), written);
    assert!(with(&grants, Right::Device).contains(&"/dev/null"));
}

/// Spec: [BOX-10]
#[test]
fn what_is_hidden_in_the_workspace_cannot_be_written_either() {
    let containment = Containment {
        writable: vec![PathBuf::from("/home/u")],
        ..hiding()
    };
    let grants = alone(&containment, &tree);
    assert_eq!(
        with(&grants, Right::Write),
        ["/home/u/.bashrc", "/home/u/work"]
    );
}

/// Spec: [BOX-10], [BOX-13]
#[test]
fn full_access_is_to_all_but_what_is_hidden() {
    let containment = Containment {
        full: true,
        ..hiding()
    };
    let grants = alone(&containment, &tree);
    let written = ["/dev", "/etc", "/home/u/.bashrc", "/home/u/work", "/home/v"];
    assert_eq!(with(&grants, Right::Write), written);
    assert_eq!(with(&grants, Right::Read), [""; 0]);
}

/// Spec: [BOX-01]
#[test]
fn on_top_of_the_mounts_only_what_they_let_write_is_written() {
    let containment = Containment {
        writable: vec![PathBuf::from("/home/u/work")],
        ..hiding()
    };
    let own = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/home/u/work"];
    let grants = within_namespaces(&containment, None);
    assert_eq!(with(&grants, Right::Write), own);
    assert_eq!(with(&grants, Right::Read), ["/"]);
    let grants = within_namespaces(&containment, Some(Path::new("/home/u")));
    assert_eq!(with(&grants, Right::Write).last(), Some(&"/home/u"));
}
