use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A folder with a repository, and the places of it that are protected.
struct Ground {
    home: tempfile::TempDir,
    reach: Reach,
}

const PLACES: [&str; 6] = [
    "work/.git/hooks",
    "work/.git/config",
    "work/.git/info/attributes",
    "work/.envrc",
    "work/.vscode",
    "work/.cargo/config.toml",
];

impl Ground {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in ["work/.git/hooks", "work/.git/info", "work/.cargo", "out"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("work/.git/hooks/old"), "old").unwrap();
        fs::set_permissions(at("work/.git/hooks/old"), Permissions::from_mode(0o755)).unwrap();
        fs::write(at("work/.git/config"), "[core]\n").unwrap();
        fs::write(at("work/.cargo/config.toml"), "old").unwrap();
        fs::write(at("out/config.toml"), "outside").unwrap();
        let reach = Reach {
            protected: PLACES.map(at).to_vec(),
            ..Reach::default()
        };
        Self { home, reach }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn look(&self, are_held: bool) -> CommandGuard {
        CommandGuard::look(&self.at("work"), &self.reach, are_held).unwrap()
    }
}

/// Spec: [BASH-07]
#[test]
fn s13_protected_places_are_as_they_were_after_a_command() {
    let ground = Ground::new();
    assert_eq!(ground.look(false).put_back(), [""; 0]);

    let guard = ground.look(false);
    fs::write(ground.at("work/.git/hooks/pre-commit"), "evil").unwrap();
    fs::remove_file(ground.at("work/.git/hooks/old")).unwrap();
    fs::write(ground.at("work/.git/config"), "[core]\nfsmonitor = evil\n").unwrap();
    fs::write(ground.at("work/.envrc"), "evil").unwrap();
    fs::create_dir(ground.at("work/.vscode")).unwrap();
    fs::remove_dir_all(ground.at("work/.cargo")).unwrap();
    let notes = guard.put_back();
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert_eq!(ground.read("work/.git/config"), "[core]\n");
    assert_eq!(ground.read("work/.git/hooks/old"), "old");
    assert_eq!(ground.read("work/.cargo/config.toml"), "old");
    let mode = fs::metadata(ground.at("work/.git/hooks/old")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o755);
    for name in [".git/hooks/pre-commit", ".envrc", ".vscode"] {
        assert!(!ground.at("work").join(name).exists(), "{name}");
    }
    // The content that the command wrote is kept, outside of git's view for a file of git.
    assert_eq!(ground.read("work/put-aside-1-envrc"), "evil");
    assert_eq!(ground.read("work/.git/put-aside-1-pre-commit"), "evil");

    // A whole folder that was moved away, with a link in its place.
    let guard = ground.look(false);
    fs::rename(ground.at("work/.git/hooks"), ground.at("work/moved")).unwrap();
    symlink("/", ground.at("work/.git/hooks")).unwrap();
    guard.put_back();
    assert_eq!(ground.read("work/.git/hooks/old"), "old");
    let found = fs::symlink_metadata(ground.at("work/.git/hooks")).unwrap();
    assert!(found.is_dir());
}

/// Spec: [BASH-206]
#[test]
fn no_link_that_a_command_leaves_is_followed() {
    for are_held in [false, true] {
        let ground = Ground::new();
        let guard = ground.look(are_held);
        fs::rename(ground.at("work/.cargo"), ground.at("work/c2")).unwrap();
        symlink(ground.at("out"), ground.at("work/.cargo")).unwrap();
        fs::remove_dir_all(ground.at("work/.git/info")).unwrap();
        symlink(ground.at("out"), ground.at("work/.git/info")).unwrap();
        fs::write(ground.at("out/attributes"), "outside").unwrap();
        let notes = guard.put_back();
        assert_eq!(ground.read("out/config.toml"), "outside", "{notes:?}");
        assert_eq!(ground.read("out/attributes"), "outside", "{notes:?}");
        assert_eq!(fs::read_dir(ground.at("out")).unwrap().count(), 2);
        let info = fs::symlink_metadata(ground.at("work/.git/info"));
        assert!(info.is_err(), "{notes:?}");
        if !are_held {
            assert_eq!(ground.read("work/.cargo/config.toml"), "old");
            let found = fs::symlink_metadata(ground.at("work/.cargo")).unwrap();
            assert!(found.is_dir(), "{notes:?}");
        }
    }
}

/// Spec: [BASH-206]
#[test]
fn where_mounts_hold_the_places_another_programs_change_stays() {
    let ground = Ground::new();
    let guard = ground.look(true);
    fs::write(ground.at("work/.git/config"), "[remote \"origin\"]\n").unwrap();
    fs::write(ground.at("work/.git/hooks/pre-push"), "operator").unwrap();
    fs::write(ground.at("work/.cargo/config.toml"), "operator").unwrap();
    assert_eq!(guard.put_back(), [""; 0]);
    assert_eq!(ground.read("work/.git/hooks/pre-push"), "operator");
    assert_eq!(ground.read("work/.cargo/config.toml"), "operator");
    // Nothing can be mounted over a place that does not exist.
    let guard = ground.look(true);
    fs::write(ground.at("work/.envrc"), "evil").unwrap();
    assert_eq!(guard.put_back().len(), 1);
    assert!(!ground.at("work/.envrc").exists());
}

/// Spec: [BASH-206]
#[test]
fn a_link_that_is_protected_leads_where_it_led() {
    let ground = Ground::new();
    symlink("docs/A.md", ground.at("work/AGENTS.md")).unwrap();
    let mut reach = ground.reach.clone();
    reach.protected.push(ground.at("work/AGENTS.md"));
    let guard = CommandGuard::look(&ground.at("work"), &reach, true).unwrap();
    fs::remove_file(ground.at("work/AGENTS.md")).unwrap();
    symlink("evil.md", ground.at("work/AGENTS.md")).unwrap();
    assert_eq!(guard.put_back().len(), 1);
    let target = fs::read_link(ground.at("work/AGENTS.md")).unwrap();
    assert_eq!(target, Path::new("docs/A.md"));
}
