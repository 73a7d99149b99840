use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;

use harness_protocol::{ChangeAction, FilePlace, PathKind, UndoOutcome, UndoneFile};

use super::super::copies::FileCopies;
use super::super::listing::MAX_ENTRIES;
use super::super::own_repository::OwnRepository;
use super::*;
use crate::tool::PlainLauncher;
use crate::tool::change::{BeforeStore, FileUndo};
use crate::tool::{Cancellation, ToolContext};

struct Home {
    home: tempfile::TempDir,
    context: ToolContext,
}

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().canonicalize().unwrap().join("work");
        fs::create_dir(&work).unwrap();
        let context = ToolContext {
            folder: work.into(),
            before: Some(BeforeStore::at(home.path(), Clock::system())),
            ..ToolContext::new(Cancellation::new())
        };
        Self { home, context }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.context.folder.join(name)
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The state of the folder, with copies of these files alone.
    fn inventory(&self, seen: &[&str]) -> Inventory {
        let seen: Vec<PathBuf> = seen.iter().map(|name| self.at(name)).collect();
        self.inventory_with(&FileCopies::bounded(None, seen.len() as u64 * 4096), &seen)
    }

    fn inventory_with(&self, copies: &FileCopies, seen: &[PathBuf]) -> Inventory {
        let mut inventory = Inventory::take(&self.context.folder);
        inventory.hold_contents(&ContentSources {
            repository: OwnRepository::find_all(&self.context.folder).first(),
            copies,
            seen,
            closed: &self.context.closed,
        });
        inventory
    }

    fn compare(&self, before: Inventory) -> FoundChanges {
        let git = GitReader {
            launcher: &PlainLauncher,
            workspace: &self.context.folder,
            repositories: &[],
            closed: &self.context.closed,
        };
        before.compare(&self.context, git, false)
    }

    /// The changes found for a command that does this, in a conversation that has seen those files.
    fn changed(&self, seen: &[&str], command: impl FnOnce()) -> FoundChanges {
        let before = self.inventory(seen);
        command();
        self.compare(before)
    }

    /// Takes the changes of a command back that does this, with copies of all files that get one.
    fn taken_back(&self, command: impl FnOnce()) -> Vec<UndoneFile> {
        let before = self.inventory_with(&FileCopies::default(), &[]);
        command();
        let found = self.compare(before);
        let dry = self.undo().take_back(&found.changes, true);
        let undone = self.undo().take_back(&found.changes, false);
        let outcome = |file: &UndoneFile| (file.path.clone(), file.outcome);
        let outcomes = |files: &[UndoneFile]| files.iter().map(outcome).collect::<Vec<_>>();
        assert_eq!(outcomes(&dry), outcomes(&undone));
        undone
    }

    /// Checks that undo takes back all that a command does.
    fn goes_back(&self, command: impl FnOnce()) {
        let before = self.state();
        let undone = self.taken_back(command);
        let left: Vec<_> = undone.iter().filter(|file| file.reason.is_some()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(self.state(), before);
    }

    /// All that is in the folder but for git's own: kinds, permissions and contents.
    fn state(&self) -> Vec<(PathBuf, u32, Vec<u8>)> {
        let mut state = Vec::new();
        let mut waiting = vec![self.context.folder.to_path_buf()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let (path, found) = (entry.path(), entry.metadata().unwrap());
                let content = match (found.is_dir(), found.is_symlink()) {
                    (true, _) => Vec::new(),
                    (_, true) => fs::read_link(&path).unwrap().into_os_string().into_vec(),
                    _ => fs::read(&path).unwrap(),
                };
                if found.is_dir() && entry.file_name() != ".git" {
                    waiting.push(path.clone());
                }
                state.push((path, found.mode(), content));
            }
        }
        state.sort();
        state
    }

    fn git(&self, words: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(&*self.context.folder).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.status().unwrap().success(), "{words:?}");
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn undo(&self) -> FileUndo {
        FileUndo {
            before: Some(BeforeStore::at(self.home.path(), Clock::system())),
            closed: std::sync::Arc::default(),
            redaction: crate::Redaction::default(),
        }
    }

    /// The names of changed files with what happened to them and how many lines.
    fn told(&self, found: &FoundChanges) -> Vec<(String, ChangeAction, u64, u64)> {
        let each = found.changes.iter();
        let name = |change: &FileChange| {
            let path = Path::new(&change.path).strip_prefix(&self.context.folder);
            path.unwrap().display().to_string()
        };
        each.map(|change| (name(change), change.action, change.added, change.removed))
            .collect()
    }
}

/// Spec: [BASH-18] [UNDO-05]
#[test]
fn what_a_command_did_to_files_is_found_and_goes_back_as_far_as_it_is_known() {
    use ChangeAction::{Changed, Made, Removed};
    let home = Home::new();
    for name in ["seen", "unseen", "deep/er/gone", "same", "touched", "mode"] {
        home.put(name, "one\ntwo\n");
    }
    fs::set_permissions(home.at("deep/er/gone"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(home.changed(&["seen"], || ()), FoundChanges::default());
    let all = ["seen", "deep/er/gone", "same", "touched"];
    let found = home.changed(&all, || {
        home.put("seen", "one\n2\n");
        home.put("unseen", "one\n2\n");
        fs::remove_dir_all(home.at("deep")).unwrap();
        home.put("new/folder/made", "x\n");
        // The same bytes again, which is no change of a file that is known.
        home.put("touched", "one\ntwo\n");
        fs::set_permissions(home.at("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert_eq!(found.note, None);
    let expected = [
        ("deep/er/gone", Removed, 0, 2),
        ("mode", Changed, 0, 0),
        ("new/folder/made", Made, 1, 0),
        ("seen", Changed, 1, 1),
        ("unseen", Changed, 0, 0),
    ];
    let expected =
        expected.map(|(name, action, plus, minus)| (name.to_owned(), action, plus, minus));
    assert_eq!(home.told(&found), expected);
    assert!(found.changes.iter().all(|change| change.by_command));
    assert!(
        found
            .changes
            .iter()
            .all(|change| change.place == FilePlace::Workspace)
    );
    assert_eq!(found.changes[0].mode, Some(0o750));

    let undone = home.undo().take_back(&found.changes, false);
    let outcomes: Vec<_> = undone.iter().map(|file| file.outcome).collect();
    use UndoOutcome::{Conflict, Restored};
    assert_eq!(
        outcomes,
        [Restored, Conflict, UndoOutcome::Removed, Restored, Conflict]
    );
    let reason = Some("a command changed it, and its content is not known");
    assert_eq!(undone[4].reason.as_deref(), reason);
    assert_eq!(fs::read(home.at("deep/er/gone")).unwrap(), b"one\ntwo\n");
    let mode = fs::metadata(home.at("deep/er/gone"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert!(!home.at("new").exists());
    assert_eq!(fs::read(home.at("seen")).unwrap(), b"one\ntwo\n");
    assert_eq!(fs::read(home.at("unseen")).unwrap(), b"one\n2\n");
}

/// Spec: [UNDO-05]
#[test]
fn what_was_removed_does_not_come_back_through_a_link() {
    let home = Home::new();
    home.put("folder/gone", "text");
    let found = home.changed(&["folder/gone"], || {
        fs::remove_dir_all(home.at("folder")).unwrap();
    });
    let elsewhere = home.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, home.at("folder")).unwrap();
    let undone = home.undo().take_back(&found.changes, false);
    assert_eq!(undone[0].outcome, UndoOutcome::Conflict);
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

/// Spec: [BASH-18]
#[test]
fn a_change_that_hides_its_time_is_found_and_output_folders_are_passed_over() {
    let home = Home::new();
    home.put("file", "1");
    home.put("target/old", "1");
    home.put(
        "target/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    let was = fs::metadata(home.at("file")).unwrap().modified().unwrap();
    let found = home.changed(&[], || {
        home.put("file", "2");
        let file = fs::File::options()
            .write(true)
            .open(home.at("file"))
            .unwrap();
        file.set_modified(was).unwrap();
        home.put("target/old", "2");
        home.put(".git/index", "2");
        home.put("venv/pyvenv.cfg", "");
        home.put("venv/lib/x", "");
        home.put("node_modules/x/index.js", "");
        symlink("file", home.at("link")).unwrap();
    });
    let names: Vec<String> = home.told(&found).into_iter().map(|told| told.0).collect();
    assert_eq!(names, ["file", "link"]);
    // A link is named with its target, and what it leads to is not read.
    assert_eq!(found.changes[1].kind, PathKind::Link);
    assert_eq!(found.changes[1].after, Some(sha256(b"file")));
}

/// Spec: [BASH-18]
#[test]
fn more_files_than_are_named_are_counted_and_a_closed_one_is_not_read() {
    let mut home = Home::new();
    home.context.closed = [home.at("closed")].into();
    let found = home.changed(&[], || {
        home.put("closed", "secret");
        for number in 0..MAX_NAMED + 2 {
            home.put(&format!("many/{number:04}"), "line\n");
        }
    });
    assert_eq!(found.changes.len(), MAX_NAMED);
    let note = "the command changed 3 more files";
    assert_eq!(found.note.as_deref(), Some(note));
    let closed = &found.changes[0];
    assert!(closed.path.ends_with("/closed") && closed.after.is_none());
    assert_eq!(closed.diff, "");
}

/// Spec: [BASH-18]
#[test]
fn of_a_folder_that_is_too_large_the_files_that_were_seen_are_compared() {
    let home = Home::new();
    home.put("seen", "one\n");
    home.put("removed", "one\n");
    for number in 0..MAX_ENTRIES {
        fs::File::create(home.at(&format!("{number}"))).unwrap();
    }
    let found = home.changed(&["seen", "removed"], || {
        home.put("seen", "two\n");
        home.put("unseen", "two\n");
        fs::remove_file(home.at("removed")).unwrap();
    });
    let expected = [
        ("removed".to_owned(), ChangeAction::Removed, 0, 1),
        ("seen".to_owned(), ChangeAction::Changed, 1, 1),
    ];
    assert_eq!(home.told(&found), expected);
    let note = "the folder has too many files to tell all that the command changed";
    assert_eq!(found.note.as_deref(), Some(note));
}

/// Spec: [UNDO-640]
#[test]
fn what_a_command_moved_goes_back_though_no_content_was_seen() {
    let home = Home::new();
    for (name, content) in [
        ("a", "1\n"),
        ("deep/b", "2\n"),
        ("over", "3\n"),
        ("edited", "4\n"),
    ] {
        home.put(name, content);
    }
    let found = home.changed(&[], || {
        for (from, to) in [
            ("a", "x"),
            ("deep/b", "y"),
            ("over", "z"),
            ("edited", "edited.bak"),
        ] {
            fs::rename(home.at(from), home.at(to)).unwrap();
        }
        fs::remove_dir(home.at("deep")).unwrap();
        // As `sed -i.bak` does.
        home.put("edited", "5\n");
    });
    let undone = home.undo().take_back(&found.changes, false);
    assert!(
        undone.iter().all(|file| file.reason.is_none()),
        "{undone:?}"
    );
    for (name, content) in [
        ("a", "1\n"),
        ("deep/b", "2\n"),
        ("over", "3\n"),
        ("edited", "4\n"),
    ] {
        assert_eq!(
            fs::read_to_string(home.at(name)).unwrap(),
            content,
            "{name}"
        );
    }
    for name in ["x", "y", "z", "edited.bak"] {
        assert!(!home.at(name).exists(), "{name}");
    }
}

/// Spec: [UNDO-640]
#[test]
fn what_a_command_moved_over_another_file_goes_back() {
    let home = Home::new();
    home.put("over", "3\n");
    home.put("onto", "4\n");
    let found = home.changed(&[], || {
        fs::rename(home.at("over"), home.at("onto")).unwrap();
    });
    let undone = home.undo().take_back(&found.changes, false);
    let reasons: Vec<_> = undone.iter().map(|file| file.reason.as_deref()).collect();
    // What was there is lost, as the command wanted.
    let lost = "a command changed it, and its content is not known";
    assert_eq!(reasons, [Some(lost), None]);
    assert_eq!(fs::read_to_string(home.at("over")).unwrap(), "3\n");
    assert_eq!(fs::read_to_string(home.at("onto")).unwrap(), "3\n");
}

/// Spec: [UNDO-640]
#[test]
fn what_a_command_made_stays_while_it_may_be_the_only_copy_of_a_file() {
    const REMOVED: &str =
        "a command also removed files whose content is not known, and this may be one of them";
    const LOST: &str = "a command changed it, and its content is not known";
    for (is_removed, reason) in [(true, REMOVED), (false, LOST)] {
        let home = Home::new();
        home.put("mine", "1\n");
        // Another inode: nothing tells that it is a copy but its size.
        let found = home.changed(&[], || {
            fs::copy(home.at("mine"), home.at("kept")).unwrap();
            home.put("other", "another size\n");
            match is_removed {
                true => fs::remove_file(home.at("mine")).unwrap(),
                false => home.put("mine", "new\n"),
            }
        });
        for is_dry in [true, false] {
            let undone = home.undo().take_back(&found.changes, is_dry);
            let reasons: Vec<_> = undone.iter().map(|file| file.reason.as_deref()).collect();
            let other = is_removed.then_some(REMOVED);
            assert_eq!(reasons, [Some(reason), Some(LOST), other]);
        }
        assert_eq!(fs::read_to_string(home.at("kept")).unwrap(), "1\n");
    }
}

/// Spec: [UNDO-770]
#[test]
fn a_file_that_came_from_an_unknown_place_is_never_overwritten_or_removed_by_undo() {
    let home = Home::new();
    home.put("known", "1\n");
    home.put("target/CACHEDIR.TAG", "");
    home.put("target/only", "2\n");
    home.put("target/other", "3\n");
    let outside = home.home.path().join("outside");
    fs::write(&outside, "4\n").unwrap();
    let mut before = home.inventory(&["known"]);
    // As if the files had been there for longer.
    before.begun += RESOLUTION + Duration::from_secs(1);
    fs::rename(home.at("target/only"), home.at("known")).unwrap();
    fs::rename(&outside, home.at("new")).unwrap();
    // One that has another name is no only copy.
    fs::hard_link(home.at("target/other"), home.at("linked")).unwrap();
    let found = home.compare(before);
    let noted = |name: &str| {
        let path = home.at(name).display().to_string();
        let change = found.changes.iter().find(|it| it.path == path).unwrap();
        change.notes == [FROM_ELSEWHERE]
    };
    assert!(noted("known") && noted("new") && !noted("linked"));
    let undone = home.undo().take_back(&found.changes, false);
    let outcomes: Vec<_> = undone.iter().map(|file| file.outcome).collect();
    let expected = [
        UndoOutcome::Conflict,
        UndoOutcome::Removed,
        UndoOutcome::Conflict,
    ];
    assert_eq!(outcomes, expected, "{undone:?}");
    for (name, content) in [("known", "2\n"), ("new", "4\n")] {
        assert_eq!(fs::read_to_string(home.at(name)).unwrap(), content);
    }
}

/// Spec: [UNDO-770]
#[test]
fn a_file_whose_own_path_cannot_get_it_back_stays_at_its_new_name() {
    let home = Home::new();
    home.put("f", "1\n");
    let found = home.changed(&["f"], || {
        fs::rename(home.at("f"), home.at("g")).unwrap();
    });
    fs::create_dir(home.at("f")).unwrap();
    home.undo().take_back(&found.changes, false);
    assert_eq!(fs::read_to_string(home.at("g")).unwrap(), "1\n");
    assert!(home.at("f").is_dir());
}

/// Spec: [BASH-18]
#[test]
fn changes_are_found_in_folders_whose_names_are_known_from_before() {
    let home = Home::new();
    for name in [
        "same/content",
        "same/mode",
        "same/deep/x",
        "names/stays",
        "names/goes",
    ] {
        home.put(name, "1\n");
    }
    symlink("content", home.at("same/link")).unwrap();
    let stamp = |folder: &str| {
        let found = fs::symlink_metadata(home.at(folder)).unwrap();
        FileStamp::from_metadata(&found)
    };
    let is_settled = |folder: &&str| stamp(folder).is_settled_at(Clock::system().now());
    // Names that changed within the resolution of times are read again.
    while !["same", "same/deep", "names"].iter().all(&is_settled) {}
    let before = home.inventory(&["same/content"]);
    fs::write(home.at("same/content"), "2\n").unwrap();
    fs::set_permissions(home.at("same/mode"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(home.at("same/deep"), fs::Permissions::from_mode(0o700)).unwrap();
    let listed = stamp("same");
    fs::rename(home.at("names/goes"), home.at("names/new")).unwrap();
    home.put("names/inside/made", "1\n");
    assert_eq!(stamp("same"), listed);
    let found = home.compare(before);
    let told = found.changes.iter().map(|it| {
        let path = Path::new(&it.path).strip_prefix(&home.context.folder);
        (path.unwrap().to_str().unwrap(), it.action)
    });
    let expected = [
        ("names/goes", ChangeAction::Removed),
        ("names/inside/made", ChangeAction::Made),
        ("names/new", ChangeAction::Made),
        ("same/content", ChangeAction::Changed),
        ("same/deep", ChangeAction::Changed),
        ("same/mode", ChangeAction::Changed),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Spec: [UNDO-782]
#[test]
fn what_was_made_where_something_else_was_goes_first() {
    let home = Home::new();
    home.put("file", "1\n");
    home.put("moved", "2\n");
    home.put("linked", "3\n");
    home.put("folder/deep/file", "4\n");
    fs::create_dir(home.at("empty")).unwrap();
    home.goes_back(|| {
        fs::remove_file(home.at("file")).unwrap();
        home.put("file/is/now/a folder", "x\n");
        fs::rename(home.at("moved"), home.at("m")).unwrap();
        fs::create_dir(home.at("moved")).unwrap();
        fs::rename(home.at("m"), home.at("moved/m")).unwrap();
        fs::rename(home.at("linked"), home.at("l")).unwrap();
        symlink("l", home.at("linked")).unwrap();
        fs::remove_dir_all(home.at("folder")).unwrap();
        home.put("folder", "a file now\n");
    });
    for name in ["a/b/empty", "c/deep/er", "d/empty", "e/empty"] {
        fs::create_dir_all(home.at(name)).unwrap();
    }
    home.put("d/file", "5\n");
    home.put("e/file", "6\n");
    let mode = fs::Permissions::from_mode(0o750);
    fs::set_permissions(home.at("c/deep"), mode).unwrap();
    home.goes_back(|| {
        for name in ["a/b", "c", "d", "e"] {
            fs::remove_dir_all(home.at(name)).unwrap();
        }
        home.put("a/b", "a file now\n");
        symlink("a", home.at("c")).unwrap();
        home.put("d", "a file now\n");
        home.put("e", "a file now\n");
    });
}

/// Spec: [UNDO-782]
#[test]
fn a_folder_stays_away_while_what_is_in_its_place_stays() {
    let home = Home::new();
    fs::create_dir_all(home.at("folder/empty")).unwrap();
    let found = home.changed(&[], || {
        fs::remove_dir_all(home.at("folder")).unwrap();
        home.put("folder", "a file now\n");
    });
    home.put("folder", "of a person\n");
    for is_dry in [true, false] {
        let undone = home.undo().take_back(&found.changes, is_dry);
        let conflicts = undone.iter().filter(|file| file.reason.is_some());
        assert_eq!(conflicts.count(), 3, "{undone:?}");
    }
    assert_eq!(
        fs::read_to_string(home.at("folder")).unwrap(),
        "of a person\n"
    );
}

/// Spec: [UNDO-780]
#[test]
fn own_changes_and_untracked_files_go_back_and_ignored_ones_stay() {
    let home = Home::new();
    home.git(&["init", "-q"]);
    home.put(".gitignore", "*.o\n");
    for name in ["clean", "dirty", "staged", "kept.o"] {
        home.put(name, "one\n");
    }
    home.git(&["add", ".gitignore", "clean", "dirty"]);
    home.git(&["add", "-f", "kept.o"]);
    for name in [
        "dirty",
        "staged",
        "kept.o",
        "untracked",
        "deep/untracked",
        "ignored.o",
    ] {
        home.put(name, "mine\n");
    }
    home.git(&["add", "staged"]);
    let before = home.state();
    let undone = home.taken_back(|| {
        for name in ["clean", "dirty", "staged", "untracked", "kept.o"] {
            home.put(name, "command\n");
        }
        fs::remove_dir_all(home.at("deep")).unwrap();
        home.put("made/x", "command\n");
        fs::write(home.at("ignored.o"), "command\n").unwrap();
    });
    let conflicts: Vec<_> = undone.iter().filter(|file| file.reason.is_some()).collect();
    assert_eq!(conflicts.len(), 1, "{undone:?}");
    assert!(conflicts[0].path.ends_with("/ignored.o"));
    fs::write(home.at("ignored.o"), "mine\n").unwrap();
    assert_eq!(home.state(), before);
}

/// Spec: [BASH-18] [UNDO-778] [UNDO-785]
#[test]
fn of_many_files_those_go_back_that_are_others_and_ignored_ones_take_no_room() {
    const CHANGED: usize = 300;
    let home = Home::new();
    home.git(&["init", "-q"]);
    home.put(".gitignore", "*.o\n");
    for number in 0..CHANGED {
        home.put(&format!("src/{number:04}"), "one\n");
        home.put(&format!("same/{number:04}"), "one\n");
    }
    // The index would be as old as the files.
    let is_settled = || {
        let found = fs::symlink_metadata(home.at("same/0299")).unwrap();
        FileStamp::from_metadata(&found).is_settled_at(Clock::system().now())
    };
    while !is_settled() {
        std::thread::yield_now();
    }
    home.git(&["add", "."]);
    let before = home.state();
    let inventory = home.inventory(&[]);
    for number in 0..CHANGED {
        home.put(&format!("src/{number:04}"), "two\n");
        home.put(&format!("same/{number:04}"), "one\n");
        home.put(&format!("ignored/{number:04}.o"), "made\n");
    }
    let found = home.compare(inventory);
    assert_eq!(found.changes.len(), CHANGED + MAX_IGNORED);
    let note = "the command changed 44 more files";
    assert_eq!(found.note.as_deref(), Some(note));
    let undone = home.undo().take_back(&found.changes, false);
    assert!(
        undone.iter().all(|file| file.reason.is_none()),
        "{undone:?}"
    );
    fs::remove_dir_all(home.at("ignored")).unwrap();
    assert_eq!(home.state(), before);
}

/// Spec: [UNDO-640]
#[test]
fn what_has_the_content_of_a_file_that_is_not_named_stays() {
    let home = Home::new();
    home.git(&["init", "-q"]);
    home.put(".gitignore", "*.o\n");
    home.put("existing", "mine\n");
    let names: Vec<String> = (0..=MAX_IGNORED + 1)
        .map(|number| format!("{number:04}.o"))
        .collect();
    for name in &names {
        home.put(name, "one\n");
    }
    let (copied, moved) = (&names[MAX_IGNORED], &names[MAX_IGNORED + 1]);
    home.put(copied, "the copied one\n");
    home.put(moved, "the moved one\n");
    let undone = home.taken_back(|| {
        fs::copy(home.at(copied), home.at("copy")).unwrap();
        fs::rename(home.at(moved), home.at("existing")).unwrap();
        for name in &names {
            home.put(name, "other\n");
        }
        home.put("made", "made\n");
    });
    let content = |name: &str| fs::read_to_string(home.at(name)).ok();
    assert_eq!(content("copy").as_deref(), Some("the copied one\n"));
    assert_eq!(content("existing").as_deref(), Some("the moved one\n"));
    assert_eq!(content("made"), None, "{undone:?}");
}

/// Spec: [BASH-18] [UNDO-787]
#[test]
fn folders_of_packages_and_caches_and_a_moved_head_are_told() {
    let home = Home::new();
    home.git(&["init", "-q", "-b", "main"]);
    home.put("target/CACHEDIR.TAG", "");
    for name in [
        "node_modules/a/x.js",
        "web/node_modules/b/y.js",
        "app/node_modules/z.js",
    ] {
        home.put(name, "");
    }
    let found = home.changed(&[], || {
        fs::remove_dir_all(home.at("target")).unwrap();
        fs::remove_dir_all(home.at("web")).unwrap();
        // It is there still.
        fs::remove_dir_all(home.at("app/node_modules/z.js")).unwrap_err();
        fs::remove_file(home.at("node_modules/a/x.js")).unwrap();
        for number in 0..5 {
            home.put(&format!("{number}/node_modules/x.js"), "");
        }
    });
    let note = "the command made 0/node_modules, 1/node_modules, 2/node_modules, 2 more such folders \
                and removed web/node_modules, target";
    assert_eq!(found.note.as_deref(), Some(note));
    let found = home.changed(&[], || {
        let user = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        let commit = ["commit", "-q", "--allow-empty", "-m", "one"];
        home.git(&[&user[..], &commit].concat());
    });
    let note = found.note.unwrap();
    assert!(
        note.starts_with("the command moved HEAD from main (no commit) to main ("),
        "{note}"
    );
    assert_eq!(found.changes, []);
}

/// Spec: [UNDO-781]
#[test]
fn links_and_folders_go_back() {
    let home = Home::new();
    home.put("file", "text\n");
    home.put("private/file", "text\n");
    home.set_mode("private", 0o700);
    home.put("closed/file", "text\n");
    for (target, name) in [
        ("file", "link"),
        ("nowhere", "dead"),
        ("private", "to folder"),
        ("x", "gone"),
    ] {
        symlink(target, home.at(name)).unwrap();
    }
    for name in ["empty/inside", "mode", "stays"] {
        fs::create_dir_all(home.at(name)).unwrap();
    }
    home.set_mode("empty/inside", 0o750);
    home.goes_back(|| {
        for name in ["link", "dead", "gone", "to folder", "file"] {
            fs::remove_file(home.at(name)).unwrap();
        }
        symlink("private/file", home.at("link")).unwrap();
        home.put("dead", "a file now\n");
        symlink("link", home.at("file")).unwrap();
        symlink("file", home.at("new link")).unwrap();
        for name in ["private", "empty"] {
            fs::remove_dir_all(home.at(name)).unwrap();
        }
        fs::create_dir_all(home.at("new/folders/here")).unwrap();
        home.put("new/folders/file", "x\n");
        home.set_mode("mode", 0o500);
        home.put("closed/made", "x\n");
        home.set_mode("closed", 0o555);
    });
}

/// Spec: [UNDO-781]
#[test]
fn links_and_folders_that_were_changed_since_stay() {
    let home = Home::new();
    symlink("one", home.at("link")).unwrap();
    fs::create_dir(home.at("mode")).unwrap();
    let before = home.inventory(&[]);
    fs::remove_file(home.at("link")).unwrap();
    symlink("two", home.at("link")).unwrap();
    symlink("two", home.at("made link")).unwrap();
    fs::create_dir(home.at("made")).unwrap();
    home.set_mode("mode", 0o700);
    let found = home.compare(before);
    for name in ["link", "made link"] {
        fs::remove_file(home.at(name)).unwrap();
        symlink("three", home.at(name)).unwrap();
    }
    home.put("made/mine", "x");
    home.set_mode("mode", 0o711);
    let since = home.state();
    let undone = home.undo().take_back(&found.changes, false);
    let told = undone
        .iter()
        .map(|file| file.reason.as_deref().unwrap_or("went back"));
    let told: Vec<_> = told.collect();
    let changed = "it was changed since";
    assert_eq!(told, [changed, "other files are in it", changed, changed]);
    assert_eq!(home.state(), since);
}
