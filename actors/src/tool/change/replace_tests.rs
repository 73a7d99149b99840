use std::os::unix::fs::symlink;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::*;
use crate::tool::testing::as_nobody;

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
    let notes = replace(&known.path, Some(&known), b"new", true).unwrap();
    assert_eq!(notes, [""; 0]);
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
        replace(&file, Some(&known), b"new", true),
        Err(EffectError::Changed)
    );
    assert_eq!(fs::read(&file).unwrap(), b"another");
    fs::remove_file(&file).unwrap();
    assert_eq!(
        replace(&file, Some(&known), b"new", true),
        Err(EffectError::Changed)
    );
    assert_eq!(replace(&file, None, b"new", true), Ok(vec![]));
    assert_eq!(
        replace(&file, None, b"newer", true),
        Err(EffectError::Changed)
    );
    assert_eq!(names(&folder), ["file"]);
    assert_eq!(fs::read(&file).unwrap(), b"new");
    // A folder that has become a link is another place.
    let (real, link) = (folder.join("real"), folder.join("sub"));
    fs::create_dir(&real).unwrap();
    symlink("real", &link).unwrap();
    assert_eq!(
        replace(&link.join("x"), None, b"new", true),
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
    let notes = replace(&file, Some(&known), b"new", true).unwrap();
    assert!(notes[0].contains("hard links"), "{notes:?}");
    assert_eq!(
        (fs::read(&file).unwrap(), fs::read(&other).unwrap()),
        (b"new".into(), b"old".into())
    );
}

/// Spec: [TOOL-445]
#[test]
fn a_file_in_a_folder_that_lets_nothing_be_made_is_written_in_place() {
    let (_home, folder) = home();
    let (closed, mode) = (folder.join("closed"), fs::Permissions::from_mode);
    fs::create_dir(&closed).unwrap();
    let (file, other) = (closed.join("file"), closed.join("other"));
    fs::write(&file, "old and long").unwrap();
    fs::set_permissions(&file, mode(0o666)).unwrap();
    fs::hard_link(&file, &other).unwrap();
    fs::set_permissions(&folder, mode(0o755)).unwrap();
    fs::set_permissions(&closed, mode(0o555)).unwrap();
    let known = read_file(&file).unwrap().unwrap();
    let inode = fs::metadata(&file).unwrap().ino();
    let notes = as_nobody(|| replace(&file, Some(&known), b"new", true)).unwrap();
    let reason = "its folder lets no file be replaced";
    assert_eq!(notes, [format!("written in place, since {reason}")]);
    assert_eq!(fs::read(&other).unwrap(), b"new");
    assert_eq!(fs::metadata(&file).unwrap().ino(), inode);
    // The compare is the same, and nothing can be made there.
    let again = as_nobody(|| replace(&file, Some(&known), b"newer", true));
    assert_eq!(again, Err(EffectError::Changed));
    let unkept = as_nobody(|| replace(&file, Some(&known), b"newer", false));
    let refused = unkept.unwrap_err().to_string();
    assert!(refused.contains("could not be kept"), "{refused}");
    let made = as_nobody(|| replace(&closed.join("none"), None, b"new", true));
    assert_eq!(made.unwrap_err().to_string(), "permission denied");
    assert_eq!(names(&closed), ["file", "other"]);
    fs::set_permissions(&closed, mode(0o755)).unwrap();
}

/// An access list as the kernel has it: the owner and one more user may write, the group may read.
const ACCESS_LIST: [(u16, u16, u32); 5] = [
    (0x01, 6, u32::MAX),
    (0x02, 6, 1234),
    (0x04, 4, u32::MAX),
    (0x10, 6, u32::MAX),
    (0x20, 0, u32::MAX),
];

/// Spec: [TOOL-446]
#[test]
fn a_file_that_is_replaced_keeps_its_access_list_and_its_attributes() {
    let (_home, folder) = home();
    let path = folder.join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (kind, rights, id) in ACCESS_LIST {
        list.extend(kind.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let file = File::open(&path).unwrap();
    let wanted = [
        ("user.note", b"keep me".to_vec()),
        ("system.posix_acl_access", list),
    ];
    // Not every file system has both.
    let set = |(name, value): &&(&str, Vec<u8>)| {
        fsetxattr(&file, *name, value, XattrFlags::empty()).is_ok()
    };
    let had: Vec<_> = wanted.iter().filter(set).collect();
    assert!(!had.is_empty(), "this file system has no attributes");
    let mode = fs::metadata(&path).unwrap().mode();
    let known = read_file(&path).unwrap().unwrap();
    assert_eq!(replace(&path, Some(&known), b"new", true).unwrap(), [""; 0]);
    assert_eq!(fs::metadata(&path).unwrap().mode(), mode);
    let file = File::open(&path).unwrap();
    for (name, value) in had {
        let mut found = vec![0_u8; 100];
        let length = fgetxattr(&file, *name, found.as_mut_slice()).unwrap();
        assert_eq!(&found[..length], value.as_slice(), "{name}");
    }
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
