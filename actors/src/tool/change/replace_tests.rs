use std::os::unix::fs::symlink;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(home.path()).unwrap();
    (home, real)
}

/// Spec: [TOOL-58]
#[test]
fn a_file_is_replaced_with_its_mode_and_a_link_stays() {
    let (_home, folder) = home();
    let (file, link) = (folder.join("file"), folder.join("link"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("file", &link).unwrap();
    let known = read_file(&link).unwrap().unwrap();
    assert_eq!(known.path, file);
    assert_eq!(replace(&known.path, Some(&known), b"new").unwrap(), [""; 0]);
    assert_eq!(fs::read(&link).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o751);
    assert_eq!(names(&folder), ["file", "link"]);
}

/// Spec: [TOOL-58]
#[test]
fn what_is_there_by_now_is_not_lost() {
    let (_home, folder) = home();
    let file = folder.join("file");
    fs::write(&file, "old").unwrap();
    let known = read_file(&file).unwrap().unwrap();
    fs::write(&file, "another").unwrap();
    assert_eq!(
        replace(&file, Some(&known), b"new"),
        Err(EffectError::Changed)
    );
    assert_eq!(fs::read(&file).unwrap(), b"another");
    fs::remove_file(&file).unwrap();
    assert_eq!(
        replace(&file, Some(&known), b"new"),
        Err(EffectError::Changed)
    );
    assert_eq!(replace(&file, None, b"new"), Ok(vec![]));
    assert_eq!(replace(&file, None, b"newer"), Err(EffectError::Changed));
    assert_eq!(names(&folder), ["file"]);
    assert_eq!(fs::read(&file).unwrap(), b"new");
    // A folder that has become a link is another place.
    let (real, link) = (folder.join("real"), folder.join("sub"));
    fs::create_dir(&real).unwrap();
    symlink("real", &link).unwrap();
    assert_eq!(
        replace(&link.join("x"), None, b"new"),
        Err(EffectError::Changed)
    );
    assert_eq!(names(&real), [""; 0]);
}

/// Spec: [TOOL-58]
#[test]
fn a_hard_link_keeps_the_old_content_and_that_is_said() {
    let (_home, folder) = home();
    let (file, other) = (folder.join("file"), folder.join("other"));
    fs::write(&file, "old").unwrap();
    fs::hard_link(&file, &other).unwrap();
    let known = read_file(&file).unwrap().unwrap();
    let notes = replace(&file, Some(&known), b"new").unwrap();
    assert!(notes[0].contains("hard links"), "{notes:?}");
    assert_eq!(
        (fs::read(&file).unwrap(), fs::read(&other).unwrap()),
        (b"new".into(), b"old".into())
    );
}

/// Spec: [TOOL-59]
#[test]
fn what_cannot_be_edited_is_refused_by_name() {
    let (_home, folder) = home();
    let at = |name: &str| folder.join(name);
    fs::write(at("nul"), b"a\0b").unwrap();
    fs::write(at("utf16"), b"\xff\xfea\0").unwrap();
    fs::write(at("large"), vec![b'x'; 9 * 1024 * 1024]).unwrap();
    fs::write(at("read_only"), "x").unwrap();
    fs::set_permissions(at("read_only"), fs::Permissions::from_mode(0o444)).unwrap();
    nix::unistd::mkfifo(&at("fifo"), Mode::S_IRUSR).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    for (name, reason) in [
        ("nul", "NUL bytes"),
        ("utf16", "UTF-16"),
        ("large", "9437184 bytes"),
        ("read_only", "read-only"),
        ("fifo", "not a regular file"),
        ("dangling", "leads to nothing"),
        ("", "directory"),
    ] {
        let refused = read_file(&at(name)).unwrap_err().to_string();
        assert!(refused.contains(reason), "{name}: {refused}");
    }
    assert_eq!(
        read_file(Path::new("/dev/null")).unwrap_err().to_string(),
        "not a regular file"
    );
    assert_eq!(read_file(&at("none")), Ok(None));
}
