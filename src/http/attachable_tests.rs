//! Tests of which files can be attached by their path.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::stat::Mode;
use tokio::time::Instant;

use super::*;

fn read(workspace: &Path, path: &str) -> Result<Bytes, String> {
    Attachable::new(workspace, Path::new("/nowhere"), &Arc::default()).read(path)
}

/// Spec: [ATT-10]
#[test]
fn a_path_leads_to_a_file_in_the_working_folder_or_nowhere() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::create_dir(outer.path().join("workshop")).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    fs::write(outer.path().join("workshop/x"), "secret").unwrap();
    fs::write(folder.join("sub/note"), "note").unwrap();
    symlink("sub/note", folder.join("inner")).unwrap();
    symlink(folder.join("sub"), folder.join("back")).unwrap();
    symlink("../secret", folder.join("outer")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    symlink(&folder, outer.path().join("alias")).unwrap();
    nix::unistd::mkfifo(&folder.join("pipe"), Mode::S_IRWXU).unwrap();
    let absolute = folder.join("sub/note");
    let inside = [
        "sub/note",
        "./sub/../sub/note",
        "inner",
        "back/note",
        absolute.to_str().unwrap(),
    ];
    for path in inside {
        assert_eq!(read(&folder, path).unwrap(), "note", "{path}");
    }
    // Both the folder's own path and the one that it was given by lead there.
    let alias = outer.path().join("alias");
    let by_alias = alias.join("sub/note");
    for path in [&absolute.canonicalize().unwrap(), &by_alias] {
        let path = path.to_str().unwrap();
        assert_eq!(read(&alias, path).unwrap(), "note", "{path}");
    }
    let outside = outer.path().join("secret");
    for (path, reason) in [
        ("../secret", "outside of the working folder"),
        ("../workshop/x", "outside of the working folder"),
        ("sub/../../secret", "outside of the working folder"),
        (outside.to_str().unwrap(), "outside of the working folder"),
        ("outer", "outside of the working folder"),
        ("up/secret", "outside of the working folder"),
        ("/etc/passwd", "outside of the working folder"),
        ("pipe", "is not a file"),
        ("sub", "is not a file"),
        ("", "is not a file"),
        ("none", "No such file"),
        ("loop", "symbolic link"),
        ("sub/note/x", "Not a directory"),
        ("a\0b", "cannot be read at a\\0b"),
    ] {
        let told = read(&folder, path).unwrap_err();
        assert!(told.contains(reason), "{path}: {told}");
        assert_eq!(told.lines().count(), 1);
    }
}

/// Spec: [ATT-22]
#[test]
fn a_folder_that_is_exchanged_for_a_link_leads_nowhere_else() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    fs::create_dir_all(folder.join("in")).unwrap();
    fs::create_dir(outer.path().join("outside")).unwrap();
    fs::write(folder.join("in/x"), "inside").unwrap();
    fs::write(outer.path().join("outside/x"), "outside").unwrap();
    symlink("../outside", folder.join("link")).unwrap();
    let (stop, at) = (Arc::new(AtomicBool::new(false)), folder.clone());
    let stopping = Arc::clone(&stop);
    let exchanging = thread::spawn(move || {
        let name = |name: &str| at.join(name);
        while !stopping.load(Ordering::Relaxed) {
            for (from, to) in [("in", "x"), ("link", "in"), ("in", "link"), ("x", "in")] {
                fs::rename(name(from), name(to)).unwrap();
            }
        }
    });
    let began = Instant::now();
    let (mut rounds, mut found) = (0, 0);
    // The file may be there rarely, if a single processor does both.
    while rounds < 40_000 || (found == 0 && began.elapsed() < Duration::from_secs(30)) {
        rounds += 1;
        if let Ok(content) = read(&folder, "in/x") {
            assert_eq!(content, "inside");
            found += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert!(found > 0, "the file was there now and then");
}

/// Spec: [ATT-23]
#[test]
fn nothing_in_the_state_folder_is_attached() {
    let outer = tempfile::tempdir().unwrap();
    let (folder, home) = (
        outer.path().join("work"),
        outer.path().join("work/.harness"),
    );
    fs::create_dir_all(home.join("conversations")).unwrap();
    fs::write(home.join("token"), "0123456789abcdef").unwrap();
    fs::write(home.join("conversations/x.jsonl"), "{}").unwrap();
    fs::write(folder.join("note"), "note").unwrap();
    symlink(".harness/token", folder.join("token")).unwrap();
    symlink(".harness", folder.join("state")).unwrap();
    let attachable = Attachable::new(&folder, &home, &Arc::default());
    assert_eq!(attachable.read("note").unwrap(), "note");
    let absolute = home.join("token");
    for path in [
        ".harness/token",
        ".harness/conversations/x.jsonl",
        "./.harness/../.harness/token",
        "token",
        "state/conversations/x.jsonl",
        absolute.to_str().unwrap(),
    ] {
        let told = attachable.read(path).unwrap_err();
        assert!(
            told.contains("in the service's state folder"),
            "{path}: {told}"
        );
    }
    // Nor if it is the working folder.
    let inside = Attachable::new(&home, &home, &Arc::default());
    let told = inside.read("token").unwrap_err();
    assert!(told.contains("in the service's state folder"), "{told}");
}

/// Spec: [ATT-510]
#[test]
fn nothing_that_is_closed_to_tools_is_attached() {
    let outer = tempfile::tempdir().unwrap();
    let at = |name: &str| outer.path().join(name);
    for (name, content) in [
        ("work/keys/one", "secret"),
        ("work/netrc", "secret"),
        ("work/note", "note"),
    ] {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), content).unwrap();
    }
    symlink("keys", at("work/link")).unwrap();
    fs::hard_link(at("work/netrc"), at("work/second")).unwrap();
    let closed: Arc<[PathBuf]> = ["work/keys", "work/netrc", "none"].map(at).into();
    let read = |folder: &str, path: &str| {
        Attachable::new(&at(folder), Path::new("/nowhere"), &closed).read(path)
    };
    assert_eq!(read("work", "note").unwrap(), "note");
    for (folder, path) in [
        ("work", "keys/one"),
        ("work", "link/one"),
        ("work", "netrc"),
        ("work", "second"),
        // A conversation in a closed folder is made with the token, and opens no file there either.
        ("work/keys", "one"),
    ] {
        let refused = read(folder, path).unwrap_err();
        assert_eq!(
            refused,
            format!("cannot be read at {path}: permission denied: it is closed to tools")
        );
    }
}
