use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;

use nix::libc::ENOSPC;

use super::super::super::testing::wait;
use super::super::contents::UNFINISHED;
use super::super::simulated::{Fault, Loss, SimulatedDisk};
use super::*;
use crate::attachment::{is_missing, sha256};

fn put(store: &FolderAttachments, content: &[u8]) -> Result<String, StorageError> {
    wait(store.put(Bytes::copy_from_slice(content)))
}

fn get(store: &FolderAttachments, sha256: &str) -> Result<Bytes, StorageError> {
    wait(store.get(sha256))
}

fn path(home: &Path, sha256: &str) -> PathBuf {
    home.join("attachments").join(&sha256[..2]).join(sha256)
}

/// Spec: [ATT-01] [ATT-06]
#[test]
fn a_content_is_one_private_file_that_the_next_store_finds() {
    let home = tempfile::tempdir().unwrap();
    let store = FolderAttachments::at(home.path());
    let sha256 = put(&store, b"content").unwrap();
    let path = path(home.path(), &sha256);
    let kept = fs::metadata(&path).unwrap();
    assert_eq!(kept.mode() & 0o777, 0o600);
    let folders = [path.parent().unwrap(), &home.path().join("attachments")];
    for folder in folders {
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }
    assert_eq!(put(&store, b"content").unwrap(), sha256);
    assert_eq!(fs::metadata(&path).unwrap().ino(), kept.ino());
    drop(store);
    let store = FolderAttachments::at(home.path());
    assert_eq!(get(&store, &sha256).unwrap(), "content");
}

/// Spec: [ATT-02]
#[test]
fn only_a_hash_leads_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let store = FolderAttachments::at(home.path());
    fs::write(home.path().join("token"), "secret").unwrap();
    for name in ["../token", "", "a", "/etc/passwd", &"0".repeat(64)] {
        let error = get(&store, name).unwrap_err();
        assert!(is_missing(&error), "{name}: {error}");
    }
    // A link is not followed, even if it leads to the content.
    let sha256 = sha256(b"secret");
    let path = path(home.path(), &sha256);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(home.path().join("token"), &path).unwrap();
    assert!(get(&store, &sha256).is_err());
    assert_eq!(put(&store, b"secret").unwrap(), sha256);
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
}

/// Spec: [ATT-07] [ATT-08]
#[test]
fn a_content_that_was_changed_is_not_used_and_is_mended_when_it_comes_again() {
    let home = tempfile::tempdir().unwrap();
    let store = FolderAttachments::at(home.path());
    let inspect = || FolderAttachments::inspect(home.path()).unwrap();
    let (good, bad) = (put(&store, b"good").unwrap(), put(&store, b"bad").unwrap());
    fs::write(home.path().join("attachments/notes"), "not ours").unwrap();
    let sound = AttachmentsReport {
        kept: 2,
        damaged: Vec::new(),
    };
    assert_eq!(inspect(), sound);
    for change in ["bAd", "", "bad and more"] {
        fs::write(path(home.path(), &bad), change).unwrap();
        let error = get(&store, &bad).unwrap_err();
        let expected = "its content was changed since it was kept";
        assert_eq!(error.reason, expected);
        assert!(!is_missing(&error));
        let damaged = vec![(bad.clone(), error)];
        assert_eq!(inspect(), AttachmentsReport { kept: 2, damaged });
        assert_eq!(get(&store, &good).unwrap(), "good");
        assert_eq!(put(&store, b"bad").unwrap(), bad);
        assert_eq!(get(&store, &bad).unwrap(), "bad");
    }
    assert_eq!(inspect(), sound);
    let none = FolderAttachments::inspect(&home.path().join("none"));
    assert_eq!(none.unwrap(), AttachmentsReport::default());
}

/// Spec: [ATT-06]
#[test]
fn what_a_crash_left_unfinished_is_removed_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("attachments");
    drop(FolderAttachments::at(home.path()));
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let (left, going) = (folder.join(".0.tmp"), folder.join(".1.tmp"));
    fs::write(&left, "half").unwrap();
    let going_on = fs::File::create(&going).unwrap();
    going_on.lock().unwrap();
    drop(FolderAttachments::at(home.path()));
    assert!(!left.exists());
    assert!(going.exists(), "somebody is writing it");
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
}

/// Spec: [ATT-06]
#[test]
fn whatever_fails_a_content_that_was_taken_outlives_a_power_cut_and_no_part_of_one_is_shown() {
    let home = Path::new("/h");
    let losses = [Loss::Nothing, Loss::AllUnflushed, Loss::Some, Loss::Some];
    let mut random = fastrand::Rng::with_seed(7);
    let mut crashed = 0;
    for fault in [
        Fault::Crash,
        Fault::Error(ENOSPC),
        Fault::Short(3, ENOSPC),
        Fault::Short(0, ENOSPC),
    ] {
        for at in 0..24 {
            for loss in losses {
                let disk = SimulatedDisk::default();
                let store = FolderAttachments::on(home, Arc::new(disk.clone()));
                disk.fail(at, fault);
                let taken: Vec<_> = [&b"first content"[..], b"second content"]
                    .into_iter()
                    .map(|content| (content, put(&store, content)))
                    .collect();
                drop(store);
                crashed += usize::from(disk.is_dead());
                let disk = disk.after(loss, &mut random);
                let store = FolderAttachments::on(home, Arc::new(disk.clone()));
                for (content, taken) in taken {
                    let name = sha256(content);
                    match get(&store, &name) {
                        Ok(read) => assert_eq!(read, content),
                        Err(error) => {
                            assert!(taken.is_err(), "{fault:?} {at} {loss:?}: {error}");
                            assert!(is_missing(&error), "{fault:?} {at} {loss:?}: {error}");
                        }
                    }
                    assert_eq!(put(&store, content).unwrap(), name);
                    assert_eq!(get(&store, &name).unwrap(), content);
                }
                let is_left = |path: &PathBuf| path.to_string_lossy().ends_with(UNFINISHED);
                assert!(!disk.paths().iter().any(is_left), "{:?}", disk.paths());
            }
        }
    }
    assert!(crashed > 20, "the faults hit something");
}
