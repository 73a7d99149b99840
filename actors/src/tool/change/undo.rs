//! Taking changes back: a file gets the content from before, if it is as the changes left it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use harness_protocol::{ChangeAction, FileChange, PathKind, UndoOutcome, UndoneFile};

use super::before::BeforeStore;
use super::diff::diff;
use super::entry::{NewPathEntry, PathEntry, put_entry};
use super::folders::{make_folders, remove_folders};
use super::replace::{KnownFile, read_known, read_writable, remove, replace_with_mode, set_mode};
use super::sweep::sweep_at;
use super::threads::for_each;
use super::undo_folders::{IN_ITS_PLACE, UndoneFolders};
use crate::secret::Redaction;
use crate::tool::{EffectError, closed};

/// The means to take changes back.
#[derive(Debug, Clone)]
pub struct FileUndo {
    /// The contents from before.
    pub before: Option<BeforeStore>,
    /// Files and folders that are closed.
    pub closed: std::sync::Arc<[PathBuf]>,
    /// Secrets that no diff may show.
    pub redaction: Redaction,
}

/// The reason why a file stays that may be the only copy of another one.
const MAYBE_MOVED: &str =
    "a command also removed files whose content is not known, and this may be one of them";

/// The reason why a file stays whose path has become another.
const ELSEWHERE: &str = "the path leads elsewhere now";
/// The line in place of a diff, or of the rest of one.
const NOT_SHOWN: &str = "the diff is too long to be shown as a whole\n";
/// The permissions of a file whose permissions from before are not known.
const NEW_FILE: u32 = 0o644;
/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

/// Maximum size of the diffs of a dry run, in bytes.
const MAX_DIFFS: usize = 4 * 1024 * 1024;

/// The changes of a file or link, the oldest first.
struct ChangedPath<'c> {
    path: &'c str,
    changes: Vec<&'c FileChange>,
}

/// An undo that only tells what it would do.
struct DryRun {
    /// Number of bytes of diffs that may still be shown.
    room: Cell<usize>,
}

/// The contents that files of an undo had before, by which it tells whether a file that goes away may be the only copy of
/// another one.
#[derive(Default)]
struct PossibleCopies<'c> {
    /// True if a content that is not known may be lost.
    has_lost: bool,
    /// The hashes of contents that went back.
    restored: HashSet<&'c str>,
    /// Those of contents that did not.
    missed: HashSet<&'c str>,
    /// Those of contents that go back later.
    later: HashSet<&'c str>,
}

/// The file or link that a path has to get, or the reason why it gets none.
type Aim = Result<Option<NewPathEntry>, String>;

impl FileUndo {
    /// Takes changes back, the oldest first in the list, or tells what that would do. Blocks.
    pub(crate) fn take_back(&self, changes: &[FileChange], is_dry: bool) -> Vec<UndoneFile> {
        let dry = is_dry.then(DryRun::default);
        let dry = dry.as_ref();
        let in_the_way = made_paths(changes);
        if !is_dry {
            // Of an undo that was cut off.
            let above = changes.iter().filter_map(|it| Path::new(&it.path).parent());
            above
                .collect::<BTreeSet<_>>()
                .into_iter()
                .for_each(sweep_at);
        }
        let mut folders = UndoneFolders::begin(changes, &in_the_way, &self.closed, is_dry);
        let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
        for change in changes.iter().filter(|it| it.kind != PathKind::Folder) {
            by_path.entry(&change.path).or_default().push(change);
        }
        let by_path = by_path.into_iter();
        let by_path = by_path.map(|(path, changes)| ChangedPath { path, changes });
        let by_path: Vec<ChangedPath<'_>> = by_path.collect();
        let mut copies = PossibleCopies::new(&by_path);
        let (was_there, was_made): (Vec<_>, Vec<_>) =
            by_path.into_iter().partition(ChangedPath::was_there);
        let is_behind = |changed: &ChangedPath<'_>| {
            let mut above = Path::new(changed.path).ancestors();
            above.any(|it| in_the_way.contains(it))
        };
        let (behind, was_there): (Vec<_>, Vec<_>) = was_there.into_iter().partition(is_behind);
        let mut undone = each(&was_there, dry, |changed, dry| {
            self.file(changed, self.look(changed), false, dry)
        });
        for (changed, undone) in was_there.iter().zip(&undone) {
            copies.add(changed, undone.outcome);
        }
        for changed in &behind {
            copies.add_later(changed);
        }
        undone.extend(each(&was_made, dry, |changed, dry| {
            let may_be_copy = copies.may_have(changed, |hash| self.keeps(hash));
            self.file(changed, self.look(changed), may_be_copy, dry)
        }));
        folders.remove_made();
        let left = undone
            .iter()
            .filter(|file| file.outcome == UndoOutcome::Conflict);
        let left: HashSet<String> = left.map(|file| file.path.clone()).collect();
        let is_left = |path: &Path| path.to_str().is_some_and(|path| left.contains(path));
        folders.begin_behind(is_left);
        // One may be the folder of another.
        for changed in behind {
            let now = match Path::new(changed.path).ancestors().any(is_left) {
                true => Err(IN_ITS_PLACE.to_owned()),
                // What is there goes before.
                false if is_dry => Ok(None),
                false => self.look(&changed),
            };
            undone.push(self.file(&changed, now, false, dry));
        }
        undone.extend(folders.end());
        undone.sort_by(|one, other| one.path.cmp(&other.path));
        undone
    }

    /// True if the content with that hash is kept.
    fn keeps(&self, hash: &str) -> bool {
        let store = self.before.as_ref();
        store.is_some_and(|store| store.get(hash).is_some())
    }

    /// Takes the changes of one file back. `may_be_copy` is true if the file may be the only copy of one that a command
    /// has removed.
    fn file(
        &self,
        changed: &ChangedPath<'_>,
        now: Result<Option<PathEntry>, String>,
        may_be_copy: bool,
        dry: Option<&DryRun>,
    ) -> UndoneFile {
        let ChangedPath { path, changes } = changed;
        let path = *path;
        let is_dry = dry.is_some();
        let conflict = |reason: String| UndoneFile {
            path: path.to_owned(),
            outcome: UndoOutcome::Conflict,
            reason: Some(reason),
            replaced: None,
            diff: None,
        };
        let now = match now {
            Ok(now) => now,
            Err(reason) => return conflict(reason),
        };
        let aim = match self.aim(changes, now.as_ref()) {
            Ok(aim) => aim,
            Err(reason) => return conflict(reason),
        };
        let is_there = now.as_ref().map(|now| (now.kind(), now.bytes()))
            == aim.as_ref().map(|aim| (aim.kind, &*aim.content));
        let is_file = aim
            .as_ref()
            .is_some_and(|aim| aim.kind == PathKind::Regular);
        let known = now.as_ref().and_then(PathEntry::file);
        let mode = match mode_before(changes, known) {
            Ok(mode) => mode.filter(|_| is_file),
            Err(reason) => return conflict(reason),
        };
        if may_be_copy && aim.is_none() && !is_there && changes.iter().any(|it| it.by_command) {
            return conflict(MAYBE_MOVED.to_owned());
        }
        let outcome = match aim {
            Some(_) => UndoOutcome::Restored,
            None => UndoOutcome::Removed,
        };
        let mut replaced = None;
        if !is_dry && !is_there {
            let put = self.keep_replaced(known, changes);
            let put = put.and_then(|kept| {
                replaced = kept;
                self::put(path, now.as_ref(), aim.as_ref(), changes)
            });
            if let Err(reason) = put {
                return conflict(reason);
            }
        }
        if !is_dry && aim.is_none() {
            remove_folders(folders_with(changes, ChangeAction::Made));
        }
        if let Some(mode) = mode.filter(|_| !is_dry)
            && let Err(error) = set_mode(Path::new(path), mode)
        {
            return conflict(error.to_string());
        }
        let diff = dry.map(|dry| {
            let now = now.as_ref().map_or(&[][..], PathEntry::bytes);
            let aim = aim.as_ref().map_or(&[][..], |aim| &aim.content);
            dry.diff(now, aim, &self.redaction)
        });
        UndoneFile {
            path: path.to_owned(),
            outcome,
            reason: None,
            replaced,
            diff,
        }
    }

    /// Keeps the content that a command left: a person may have written into it meanwhile. Returns its hash.
    fn keep_replaced(
        &self,
        now: Option<&KnownFile>,
        changes: &[&FileChange],
    ) -> Result<Option<String>, String> {
        let by_command = changes.iter().any(|change| change.by_command);
        let (Some(now), Some(store)) = (now.filter(|_| by_command), &self.before) else {
            return Ok(None);
        };
        let kept = store.put(&now.hash, &now.bytes);
        kept.map_err(|error| {
            format!("the content that would be replaced cannot be kept: {error}")
        })?;
        Ok(Some(now.hash.clone()))
    }

    /// The file or link that is there, which these changes have changed. A file may be read-only unless it is to be
    /// written.
    fn look(&self, changed: &ChangedPath<'_>) -> Result<Option<PathEntry>, String> {
        let ChangedPath { path, changes } = changed;
        let place = Path::new(path);
        let is_made = changes.first().is_some_and(|first| first.before.is_none());
        // Of a content that stays, only the permissions go back.
        let is_written = !is_made && changes.iter().any(|it| state_before(it) != state_after(it));
        let link = PathEntry::link_at(place).map_err(|error| match error {
            EffectError::Changed => ELSEWHERE.to_owned(),
            EffectError::Failed(error) => error.to_string(),
        });
        if let Some(link) = link? {
            let folder = place.parent().unwrap_or(Path::new("/"));
            closed::check_path(folder, &self.closed).map_err(|error| error.to_string())?;
            return Ok(Some(link));
        }
        closed::check_path(place, &self.closed).map_err(|error| error.to_string())?;
        let now = match is_written {
            true => read_writable(place),
            false => read_known(place),
        };
        let now = now.map_err(|error| error.to_string())?;
        if now.as_ref().is_some_and(|now| now.path != place) {
            return Err(ELSEWHERE.to_owned());
        }
        Ok(now.map(PathEntry::File))
    }

    /// The file or link from before the changes; none if there was nothing.
    fn aim(&self, changes: &[&FileChange], now: Option<&PathEntry>) -> Aim {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Err("nothing of it was changed".to_owned());
        };
        let hash = now.map(PathEntry::hash);
        let state = now.map(PathEntry::kind).zip(hash.as_deref());
        let before = state_before(first);
        let is_back = state == before;
        if let Some(unknown) = changes.iter().find(|change| !is_known(change)) {
            return Err(match unknown.by_command {
                true => "a command changed it, and its content is not known".to_owned(),
                false => "its content is not known".to_owned(),
            });
        }
        if !is_back && state != state_after(last) {
            let is_link = now.is_some_and(|now| now.kind() == PathKind::Link);
            return Err(match is_link && last.kind != PathKind::Link {
                true => ELSEWHERE.to_owned(),
                false => "it was changed since".to_owned(),
            });
        }
        let mut pairs = changes.windows(2);
        if !is_back && pairs.any(|pair| state_before(pair[1]) != state_after(pair[0])) {
            return Err("another program changed it in between".to_owned());
        }
        let Some((kind, hash)) = before else {
            return Ok(None);
        };
        let held = now.filter(|_| is_back).map(|now| now.bytes().to_vec());
        let kept = || self.before.as_ref().and_then(|store| store.get(hash));
        let content = held.or_else(kept);
        let content = content.ok_or("the content from before is not kept any more")?;
        Ok(Some(NewPathEntry { kind, content }))
    }
}

impl ChangedPath<'_> {
    fn was_there(&self) -> bool {
        self.changes.first().is_some_and(|it| it.before.is_some())
    }
}

impl Default for DryRun {
    fn default() -> Self {
        Self {
            room: Cell::new(MAX_DIFFS),
        }
    }
}

impl DryRun {
    /// The change that an undo would make, cut to the room that is left.
    fn diff(&self, now: &[u8], aim: &[u8], redaction: &Redaction) -> String {
        if now.contains(&0) || aim.contains(&0) {
            return "the content is no text\n".to_owned();
        }
        let room = self.room.get();
        if room == 0 && now != aim {
            return NOT_SHOWN.to_owned();
        }
        let diff = diff(now, aim, redaction).cut(room);
        self.room.set(room - diff.text.len());
        match diff.is_cut {
            true => diff.text + NOT_SHOWN,
            false => diff.text,
        }
    }
}

impl<'c> PossibleCopies<'c> {
    fn new(changed: &[ChangedPath<'c>]) -> Self {
        let mut changes = changed.iter().flat_map(|changed| &changed.changes);
        Self {
            has_lost: changes.any(|change| is_lost(change)),
            ..Self::default()
        }
    }

    /// Adds a file with its outcome.
    fn add(&mut self, changed: &ChangedPath<'c>, outcome: UndoOutcome) {
        let by_command = changed.changes.iter().filter(|it| it.by_command);
        match outcome {
            UndoOutcome::Restored => self.restored.extend(hashes_before(changed)),
            UndoOutcome::Conflict if by_command.clone().count() > 0 => {
                self.missed.extend(hashes_before(changed));
                // The content that does not go back may be that of a file that was made.
                let mut by_command = by_command;
                self.has_lost |= by_command.any(|it| it.action == ChangeAction::Removed);
            }
            UndoOutcome::Conflict | UndoOutcome::Removed | UndoOutcome::Unknown => {}
        }
    }

    /// Adds a file that gets its content later.
    fn add_later(&mut self, changed: &ChangedPath<'c>) {
        self.later.extend(hashes_before(changed));
    }

    /// True if a file that was made may be the only copy of another one. A content that goes back to that is not lost with
    /// this file.
    fn may_have(&self, made: &ChangedPath<'_>, keeps: impl Fn(&str) -> bool) -> bool {
        let Some(after) = made.changes.last().and_then(|last| last.after.as_deref()) else {
            return self.has_lost;
        };
        let is_kept = self.restored.contains(after) || (self.later.contains(after) && keeps(after));
        (self.has_lost || self.missed.contains(after)) && !is_kept
    }
}

/// The hashes of the contents that a file had before each change.
fn hashes_before<'c>(changed: &ChangedPath<'c>) -> impl Iterator<Item = &'c str> {
    let changes = changed.changes.iter();
    changes.filter_map(|change| change.before.as_deref())
}

/// Takes each of these paths back, several at the same time, or tells what that would do, one after the other.
fn each(
    changed: &[ChangedPath<'_>],
    dry: Option<&DryRun>,
    undo: impl Fn(&ChangedPath<'_>, Option<&DryRun>) -> UndoneFile + Sync,
) -> Vec<UndoneFile> {
    match dry {
        Some(_) => changed.iter().map(|changed| undo(changed, dry)).collect(),
        None => for_each(changed, |changed| undo(changed, None)),
    }
}

/// The paths of files and folders that were made.
fn made_paths(changes: &[FileChange]) -> HashSet<&Path> {
    let made = changes.iter().filter(|it| it.action == ChangeAction::Made);
    let paths = made.flat_map(|it| it.folders.iter().chain([&it.path]));
    paths.map(Path::new).collect()
}

/// The kind of what was at the path before a change, and the hash of its content. `None` if there was nothing.
fn state_before(change: &FileChange) -> Option<(PathKind, &str)> {
    let hash = change.before.as_deref()?;
    Some((change.kind_before.unwrap_or(change.kind), hash))
}

/// The kind of what was at the path after a change, and the hash of its content. `None` if there was nothing.
fn state_after(change: &FileChange) -> Option<(PathKind, &str)> {
    Some((change.kind, change.after.as_deref()?))
}

/// The permissions from before the changes, if commands changed them and the file has others now.
fn mode_before(changes: &[&FileChange], now: Option<&KnownFile>) -> Result<Option<u32>, String> {
    let modes = changes.iter().filter_map(|it| it.mode.zip(it.mode_after));
    let modes: Vec<(u32, u32)> = modes.collect();
    let (Some((before, _)), Some((_, after)), Some(now)) = (modes.first(), modes.last(), now)
    else {
        return Ok(None);
    };
    match now.mode & PERMISSIONS {
        mode if mode == *before => Ok(None),
        mode if mode == *after => Ok(Some(*before)),
        _ => Err("its permissions were changed since".to_owned()),
    }
}

/// True if a command has removed a file whose content is not known: a file that it made may have that content.
fn is_lost(change: &FileChange) -> bool {
    change.by_command
        && change.action == ChangeAction::Removed
        && change.kind == PathKind::Regular
        && change.before.is_none()
}

/// Whether both contents of a change are known, or that there was or is none.
fn is_known(change: &FileChange) -> bool {
    let has = (change.before.is_some(), change.after.is_some());
    match change.action {
        ChangeAction::Made => has == (false, true),
        ChangeAction::Removed => has == (true, false),
        ChangeAction::Changed | ChangeAction::Unknown => has == (true, true),
    }
}

/// Puts that at the path, or removes what is there.
fn put(
    path: &str,
    now: Option<&PathEntry>,
    aim: Option<&NewPathEntry>,
    changes: &[&FileChange],
) -> Result<(), String> {
    let place = Path::new(path);
    let mode = changes.iter().find_map(|change| change.mode);
    if now.is_none() && aim.is_some() {
        make_folders(folders_with(changes, ChangeAction::Removed))
            .map_err(|error| error.to_string())?;
    }
    let has_link = matches!(now, Some(PathEntry::Link(_)))
        || aim.is_some_and(|aim| aim.kind == PathKind::Link);
    let done = match (now.and_then(PathEntry::file), aim) {
        _ if has_link => put_entry(place, now, aim, mode.unwrap_or(NEW_FILE)),
        (Some(now), Some(aim)) => {
            let mode = mode_before(changes, Some(now))?;
            replace_with_mode(place, Some(now), &aim.content, true, mode).map(drop)
        }
        (None, Some(aim)) => replace_with_mode(place, None, &aim.content, true, mode).map(drop),
        (Some(now), None) => remove(place, now),
        (None, None) => Ok(()),
    };
    done.map_err(|error| error.to_string())
}

/// The folders that came or went with changes of that kind.
fn folders_with<'c>(
    changes: &'c [&FileChange],
    action: ChangeAction,
) -> impl Iterator<Item = &'c String> {
    let those = changes.iter().filter(move |change| change.action == action);
    those.flat_map(|change| &change.folders)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use harness_protocol::FilePlace;

    use super::*;
    use crate::attachment::sha256;
    use crate::clock::Clock;

    struct Home {
        home: tempfile::TempDir,
        undo: FileUndo,
    }

    impl Home {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let undo = FileUndo {
                before: Some(BeforeStore::at(home.path(), Clock::system())),
                closed: std::sync::Arc::default(),
                redaction: Redaction::default(),
            };
            Self { home, undo }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.home.path().canonicalize().unwrap().join(name)
        }

        /// Changes a file as a tool does.
        fn change(&self, name: &str, after: &str) -> FileChange {
            let before = fs::read(self.at(name)).ok();
            if let Some(bytes) = &before {
                let store = self.undo.before.as_ref().unwrap();
                store.put(&sha256(bytes), bytes).unwrap();
            }
            fs::write(self.at(name), after).unwrap();
            FileChange {
                path: self.at(name).display().to_string(),
                asked: None,
                action: match before {
                    Some(_) => ChangeAction::Changed,
                    None => ChangeAction::Made,
                },
                before: before.map(|bytes| sha256(&bytes)),
                after: Some(sha256(after.as_bytes())),
                by_command: false,
                mode: None,
                mode_after: None,
                kind: PathKind::Regular,
                kind_before: None,
                added: 0,
                removed: 0,
                diff: String::new(),
                diff_cut: false,
                place: FilePlace::Workspace,
                folders: vec![],
                notes: vec![],
            }
        }

        fn content(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.at(name)).ok()
        }
    }

    /// Spec: [UNDO-779]
    #[test]
    fn permissions_that_a_command_changed_go_back() {
        use std::os::unix::fs::PermissionsExt as _;

        use UndoOutcome::{Conflict, Restored};
        let home = Home::new();
        let mode = |name: &str| fs::metadata(home.at(name)).unwrap().permissions().mode() & 0o777;
        let set = |name: &str, mode: u32| {
            fs::set_permissions(home.at(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        let mut changes = Vec::new();
        for name in ["same", "written", "since"] {
            fs::write(home.at(name), "old").unwrap();
            set(name, 0o644);
            let content = if name == "written" { "new" } else { "old" };
            let change = home.change(name, content);
            set(name, 0o555);
            changes.push(FileChange {
                by_command: true,
                mode: Some(0o644),
                mode_after: Some(0o555),
                ..change
            });
        }
        // Nobody has to write into it for its permissions.
        set("written", 0o755);
        changes[1].mode_after = Some(0o755);
        set("since", 0o700);
        let reason = Some("its permissions were changed since");
        let expected = [
            ("same", Restored, None),
            ("since", Conflict, reason),
            ("written", Restored, None),
        ];
        for is_dry in [true, false, false] {
            assert_eq!(told(&home.undo.take_back(&changes, is_dry)), expected);
        }
        assert_eq!(
            (mode("same"), mode("written"), mode("since")),
            (0o644, 0o644, 0o700)
        );
        assert_eq!(home.content("written").as_deref(), Some("old"));
    }

    /// Spec: [UNDO-786]
    #[test]
    fn the_diffs_of_a_dry_run_are_bounded_together() {
        let home = Home::new();
        let lines = |word: &str| format!("{word} and more of it\n").repeat(3000);
        let changes: Vec<FileChange> = (0..100)
            .map(|number| {
                let name = format!("{number:03}");
                fs::write(home.at(&name), lines("old")).unwrap();
                home.change(&name, &lines("new"))
            })
            .collect();
        let dry = home.undo.take_back(&changes, true);
        let diffs: Vec<&str> = dry.iter().map(|it| it.diff.as_deref().unwrap()).collect();
        assert!(diffs[0].starts_with("@@ ") && diffs[99] == NOT_SHOWN);
        let bytes: usize = diffs.iter().map(|diff| diff.len()).sum();
        assert!(bytes <= MAX_DIFFS + 100 * NOT_SHOWN.len(), "{bytes}");
        assert!(bytes > MAX_DIFFS / 4 * 3, "{bytes}");
    }

    /// Spec: [UNDO-774]
    #[test]
    fn a_file_without_write_permission_is_removed_but_not_overwritten() {
        use UndoOutcome::{Conflict, Removed};
        let home = Home::new();
        fs::write(home.at("old"), "old").unwrap();
        let changes = [home.change("made", "made"), home.change("old", "new")];
        for name in ["made", "old"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o444);
            fs::set_permissions(home.at(name), mode).unwrap();
        }
        let reason = Some("permission denied: the file is read-only");
        let expected = [("made", Removed, None), ("old", Conflict, reason)];
        for is_dry in [true, false] {
            let done = home.undo.take_back(&changes, is_dry);
            assert_eq!(told(&done), expected);
        }
        assert_eq!(home.content("made"), None);
        assert_eq!(home.content("old").as_deref(), Some("new"));
    }

    fn told(files: &[UndoneFile]) -> Vec<(&str, UndoOutcome, Option<&str>)> {
        let told = |file: &'_ UndoneFile| {
            let name = file.path.rfind('/').unwrap() + 1;
            (name, file.outcome)
        };
        let each = files.iter().map(|file| (told(file), file));
        each.map(|((name, outcome), file)| (&file.path[name..], outcome, file.reason.as_deref()))
            .collect()
    }

    /// Spec: [UNDO-02]
    #[test]
    fn f16_what_is_as_it_was_left_goes_back_and_the_rest_is_named() {
        use UndoOutcome::{Conflict, Removed, Restored};
        let home = Home::new();
        for name in ["a", "b", "c", "d"] {
            fs::write(home.at(name), "old").unwrap();
        }
        let mut changes = vec![
            home.change("a", "one"),
            home.change("a", "two"),
            home.change("b", "one"),
            home.change("c", "one"),
            home.change("d", "one"),
            home.change("new", "made"),
        ];
        // Others have changed these: behind ours, in between, and by a link in its place.
        fs::write(home.at("b"), "theirs").unwrap();
        fs::write(home.at("c"), "theirs").unwrap();
        changes.push(home.change("c", "two"));
        fs::remove_file(home.at("d")).unwrap();
        std::os::unix::fs::symlink(home.at("a"), home.at("d")).unwrap();
        let dry = home.undo.take_back(&changes, true);
        assert_eq!(home.content("a").as_deref(), Some("two"));
        assert!(dry[0].diff.as_ref().unwrap().contains("-two"), "{dry:?}");
        let expected = [
            ("a", Restored, None),
            ("b", Conflict, Some("it was changed since")),
            ("c", Conflict, Some("another program changed it in between")),
            ("d", Conflict, Some("the path leads elsewhere now")),
            ("new", Removed, None),
        ];
        assert_eq!(told(&dry), expected);
        let done = home.undo.take_back(&changes, false);
        assert_eq!(told(&done), expected);
        assert_eq!(home.content("a").as_deref(), Some("old"));
        assert_eq!(home.content("b").as_deref(), Some("theirs"));
        assert_eq!(home.content("c").as_deref(), Some("two"));
        assert_eq!(home.content("new"), None);
        // As after a crash in between: what is back already is so.
        assert_eq!(told(&home.undo.take_back(&changes, false)), expected);
        // Without the content it stays.
        let changes = [home.change("a", "three")];
        fs::remove_dir_all(home.at("before")).unwrap();
        let left = home.undo.take_back(&changes, false);
        let reason = Some("the content from before is not kept any more");
        assert_eq!(told(&left), [("a", Conflict, reason)]);
    }
}
