//! Tests of what is no file on each of the grounds.

use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;

use super::*;

/// Spec: [GUIDE-25]
#[test]
fn what_is_no_file_is_neither_opened_nor_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (origin, name) in [
        (FileOrigin::StateFolder, "home"),
        (FileOrigin::Workspace, "work"),
    ] {
        let at = |file: &str| root.join(name).join(file);
        fs::create_dir_all(at("folder")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("gone", at("dangling")).unwrap();
        fs::write(at("file"), "text").unwrap();
        let grounds = Grounds::open(&root.join("home"), &root.join("work"));
        for (file, reason) in [
            ("folder", "it is not a file"),
            ("pipe", "it is not a file"),
            ("loop", "it cannot be read: "),
            ("dangling", "it is a link that leads nowhere"),
        ] {
            let told = grounds.look(origin, &at(file)).unwrap_err();
            assert!(told.starts_with(reason), "{file}: {told}");
            let told = grounds.read(origin, &at(file)).unwrap_err();
            assert!(told.starts_with(reason), "{file}: {told}");
        }
        assert_eq!(grounds.look(origin, &at("none")), Ok(None));
        assert_eq!(grounds.look(origin, &at("none/none")), Ok(None));
        assert_eq!(grounds.look(origin, &at("file/none")), Ok(None));
        assert!(grounds.look(origin, &at("file")).unwrap().is_some());
        // It may have gone since it was looked at.
        let told = grounds.read(origin, &at("none")).unwrap_err();
        assert_eq!(told, "it is there no more");
    }
}

/// Spec: [GUIDE-24]
#[test]
fn a_working_folder_that_is_gone_is_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let work = root.join("gone");
    let grounds = Grounds::open(&root.join("home"), &work);
    assert_eq!(
        grounds.look(FileOrigin::Workspace, &work.join("x")),
        Ok(None)
    );
    assert!(
        grounds
            .names(FileOrigin::Workspace, &work)
            .unwrap()
            .is_none()
    );
}
