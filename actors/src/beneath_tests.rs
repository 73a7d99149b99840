//! Tests of what is opened below a folder, both as the kernel finds it and as the walk does.

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

use super::*;

/// A folder `work` with files, beside a file that lies outside of it.
fn place() -> (TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let work = outer.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(work.join("sub/deep")).unwrap();
    fs::create_dir(work.join("state")).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    fs::write(work.join("sub/note"), "note").unwrap();
    fs::write(work.join("state/token"), "token").unwrap();
    for (target, name) in [
        ("sub/note", "inner"),
        ("sub", "folder"),
        ("folder/note", "two"),
        ("../sub/note", "sub/up"),
        ("deep/../../sub/note", "sub/round"),
        ("../secret", "outer"),
        ("..", "up"),
        ("sub/../../secret", "tricky"),
        ("loop", "loop"),
        ("gone", "dangling"),
        ("/etc/passwd", "absolute"),
        ("/proc/self/environ", "environment"),
        ("state", "to-state"),
        ("state/token", "to-token"),
    ] {
        symlink(target, work.join(name)).unwrap();
    }
    symlink(work.join("sub"), work.join("back")).unwrap();
    nix::unistd::mkfifo(&work.join("pipe"), Mode::S_IRWXU).unwrap();
    (outer, work)
}

/// The content there; else the error.
fn read(folder: &FolderHandle, path: &str, links: LinkPolicy) -> Result<String, String> {
    let mut file = folder
        .open_file(Path::new(path), links)
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    Ok(text)
}

/// The same by the walk alone, as where the kernel cannot be asked.
fn walked(folder: &FolderHandle, path: &str, links: LinkPolicy) -> Result<String, String> {
    let path = folder.relative(Path::new(path));
    let found = path.and_then(|path| folder.walk(path, links, LOOK));
    let file = found.and_then(|found| {
        regular(&found)?;
        Ok(readable(found)?)
    });
    let mut text = String::new();
    file.map_err(|error| error.to_string())?
        .read_to_string(&mut text)
        .unwrap();
    Ok(text)
}

/// Spec: [SEC-40] [SEC-41]
#[test]
fn what_lies_below_is_opened_and_nothing_else() {
    let (_outer, work) = place();
    let folder = FolderHandle::open(&work).unwrap();
    let absolute = work.join("sub/note");
    for path in [
        "sub/note",
        "./sub/../sub/note",
        "folder/../sub/note",
        "inner",
        "two",
        "sub/up",
        "sub/round",
        "back/note",
        "back/../sub/note",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(
            read(&folder, path, LinkPolicy::Inside).unwrap(),
            "note",
            "{path}"
        );
        assert_eq!(
            walked(&folder, path, LinkPolicy::Inside).unwrap(),
            "note",
            "{path}"
        );
    }
    for (path, reason) in [
        ("../secret", "it leads out of the folder"),
        ("sub/../../secret", "it leads out of the folder"),
        ("outer", "it leads out of the folder"),
        ("up/secret", "it leads out of the folder"),
        ("tricky", "it leads out of the folder"),
        ("absolute", "it leads out of the folder"),
        ("environment", "it leads out of the folder"),
        ("/etc/passwd", "it leads out of the folder"),
        ("sub", "it is not a file"),
        ("", "it is not a file"),
        (".", "it is not a file"),
        ("pipe", "it is not a file"),
        ("none", "No such file"),
        ("dangling", "No such file"),
        ("loop", "Too many levels of symbolic links"),
        ("sub/note/x", "Not a directory"),
    ] {
        for told in [
            read(&folder, path, LinkPolicy::Inside).unwrap_err(),
            walked(&folder, path, LinkPolicy::Inside).unwrap_err(),
        ] {
            assert!(told.contains(reason), "{path}: {told}");
        }
    }
}

/// Spec: [SEC-40]
#[test]
fn where_links_are_refused_none_is_followed() {
    let (_outer, work) = place();
    let folder = FolderHandle::open(&work).unwrap();
    assert_eq!(
        read(&folder, "sub/note", LinkPolicy::Refused).unwrap(),
        "note"
    );
    for path in ["inner", "folder/note", "outer", "dangling", "loop", "back"] {
        for told in [
            read(&folder, path, LinkPolicy::Refused).unwrap_err(),
            walked(&folder, path, LinkPolicy::Refused).unwrap_err(),
        ] {
            assert_eq!(told, "it is a link", "{path}");
        }
    }
}

/// Spec: [SEC-40]
#[test]
fn a_part_that_is_left_out_is_reached_by_no_name_or_link() {
    let (outer, work) = place();
    symlink(&work, outer.path().join("alias")).unwrap();
    let alias = outer.path().join("alias");
    for state in [work.join("state"), alias.join("state")] {
        let folder = FolderHandle::open(&work).unwrap().without(&state);
        assert_eq!(
            read(&folder, "back/note", LinkPolicy::Inside).unwrap(),
            "note"
        );
        let moved = work.join("moved");
        for path in [
            "state/token",
            "sub/../state/token",
            "to-state/token",
            "to-token",
            "state",
        ] {
            let told = read(&folder, path, LinkPolicy::Inside).unwrap_err();
            assert!(told.contains("is left out"), "{path}: {told}");
        }
        // Its name is not what counts.
        fs::rename(work.join("state"), &moved).unwrap();
        let told = read(&folder, "moved/token", LinkPolicy::Inside).unwrap_err();
        assert!(told.contains("is left out"), "{told}");
        fs::rename(&moved, work.join("state")).unwrap();
    }
    // The folder may be left out whole; one that lies elsewhere changes nothing.
    let none = FolderHandle::open(&work).unwrap().without(&alias);
    assert!(read(&none, "sub/note", LinkPolicy::Inside).is_err());
    for other in [outer.path().join("none"), outer.path().to_owned()] {
        let folder = FolderHandle::open(&work).unwrap().without(&other);
        assert_eq!(
            read(&folder, "sub/note", LinkPolicy::Inside).unwrap(),
            "note"
        );
    }
}

/// Spec: [SEC-40]
#[test]
fn a_folder_below_is_listed_and_holds_its_own_in() {
    let (_outer, work) = place();
    let folder = FolderHandle::open(&work).unwrap();
    let sub = folder.open_folder(Path::new("folder"), LinkPolicy::Inside);
    let sub = sub.unwrap();
    let mut names: Vec<OsString> = sub.list().unwrap().map(Result::unwrap).collect();
    names.sort();
    assert_eq!(names, ["deep", "note", "round", "up"]);
    assert_eq!(read(&sub, "note", LinkPolicy::Inside).unwrap(), "note");
    let told = read(&sub, "up", LinkPolicy::Inside).unwrap_err();
    assert_eq!(told, "it leads out of the folder");
    for (path, reason) in [("up", "leads out"), ("sub/note", "Not a directory")] {
        let told = folder.open_folder(Path::new(path), LinkPolicy::Inside);
        let told = told.unwrap_err().to_string();
        assert!(told.contains(reason), "{path}: {told}");
    }
    // The handle is the folder, whatever its name leads to.
    fs::rename(work.join("sub"), work.join("other")).unwrap();
    assert_eq!(read(&sub, "note", LinkPolicy::Inside).unwrap(), "note");
}

/// Spec: [SEC-41]
#[test]
fn no_device_is_opened() {
    let devices = FolderHandle::open(Path::new("/dev")).unwrap();
    for path in ["null", "tty", "zero"] {
        let told = read(&devices, path, LinkPolicy::Inside).unwrap_err();
        assert!(told == "it is not a file", "{path}: {told}");
        let told = open_anywhere(&Path::new("/dev").join(path)).unwrap_err();
        assert_eq!(told.to_string(), "it is not a file");
    }
}

/// Spec: [SEC-41]
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_kernels_processes_is_none() {
    // What such a file says is not for the log of a test either.
    let reason = |folder: &FolderHandle, path: &str| read(folder, path, LinkPolicy::Inside).err();
    let processes = FolderHandle::open(Path::new("/proc")).unwrap();
    for path in ["self/environ", "self/mem", "version"] {
        let told = reason(&processes, path);
        assert_eq!(told.as_deref(), Some("it is not a file"), "{path}");
    }
    // The kernel's own links lead anywhere.
    for path in ["self/root/etc/passwd", "self/cwd/Cargo.toml"] {
        let told = reason(&processes, path);
        assert_eq!(
            told.as_deref(),
            Some("it leads out of the folder"),
            "{path}"
        );
    }
    let all = FolderHandle::open(Path::new("/")).unwrap();
    assert!(reason(&all, "proc/self/environ").is_some());
    assert!(open_anywhere(Path::new("/proc/self/environ")).is_err());
}

/// Spec: [SEC-40]
#[test]
fn an_exchange_of_names_leads_nowhere_else() {
    let (outer, work) = place();
    fs::create_dir(outer.path().join("outside")).unwrap();
    fs::write(outer.path().join("outside/note"), "secret").unwrap();
    symlink("../outside", work.join("link")).unwrap();
    let (stop, at) = (Arc::new(AtomicBool::new(false)), work.clone());
    let stopping = Arc::clone(&stop);
    let exchanging = thread::spawn(move || {
        let name = |name: &str| at.join(name);
        while !stopping.load(Ordering::Relaxed) {
            for (from, to) in [("sub", "x"), ("link", "sub"), ("sub", "link"), ("x", "sub")] {
                fs::rename(name(from), name(to)).unwrap();
            }
        }
    });
    let folder = FolderHandle::open(&work).unwrap();
    let began = Instant::now();
    let (mut rounds, mut found) = (0, 0);
    // The folder may be there rarely, if a single processor does both.
    while rounds < 20_000 || (found == 0 && began.elapsed() < Duration::from_secs(30)) {
        rounds += 1;
        for text in [
            read(&folder, "sub/note", LinkPolicy::Inside),
            walked(&folder, "sub/note", LinkPolicy::Inside),
        ]
        .into_iter()
        .flatten()
        {
            assert_eq!(text, "note");
            found += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert!(found > 0, "the folder was there now and then");
}
