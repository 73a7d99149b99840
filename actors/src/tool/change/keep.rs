//! Changes that commands made at protected places: proposed to an operator, and made again when one keeps them.

use std::path::{Path, PathBuf};

use harness_protocol::{ChangeAction, FileChange, PathKind, Subject};

use super::diff::diff;
use super::folders::remove_folders;
use super::place;
use super::planned::planned;
use super::replace::{read_known, remove, set_mode};
use crate::attachment::sha256;
use crate::blocking;
use crate::tool::ToolOutcome;
use crate::tool::{EffectError, PlannedAction, ToolContext, ToolError};

/// The error of a change whose file is another by now.
const CHANGED: &str = "the file was changed meanwhile, and stays as it is";
/// The permissions to run a file.
const MAY_RUN: u32 = 0o111;

/// The content that a command gave to a file, and its permissions.
#[derive(Debug)]
pub(in crate::tool) struct CommandVersion {
    pub(in crate::tool) content: Vec<u8>,
    pub(in crate::tool) mode: u32,
}

/// The change that makes the command's version of a file, which has the content `before` again. The version is kept in
/// the store. Blocks.
///
/// # Errors
/// If the change cannot be made, or the version cannot be kept.
pub(in crate::tool) fn proposed(
    path: &Path,
    before: Option<&[u8]>,
    version: &CommandVersion,
    context: &ToolContext,
) -> Result<FileChange, ToolError> {
    let before = before.map(sha256);
    let Subject::Change(change) = plan(path, before.as_deref(), &version.content, context)?.subject
    else {
        return Err("not a change of a file".into());
    };
    if change.path != path.to_string_lossy() || change.asked.is_some() {
        return Err("the path leads elsewhere".into());
    }
    let store = context.before.as_ref().ok_or("no contents are kept")?;
    let hash = change.after.as_deref().unwrap_or_default();
    let kept = store.put(hash, &version.content);
    kept.map_err(|error| ToolError(error.to_string()))?;
    let runs = change.action == ChangeAction::Made && version.mode & MAY_RUN != 0;
    let mut change = FileChange {
        by_command: true,
        mode: runs.then_some(version.mode & 0o777),
        ..change
    };
    if runs {
        change
            .notes
            .push("the file is a program: it may be executed".to_owned());
    }
    Ok(change)
}

/// The change that removes a file again that a command removed, and that was put back. `folders` were removed with it,
/// the uppermost first. Its content is kept in the store. Blocks.
///
/// # Errors
/// If the path leads elsewhere, or the content cannot be kept.
pub(in crate::tool) fn proposed_removal(
    path: &Path,
    before: &CommandVersion,
    folders: &[PathBuf],
    context: &ToolContext,
) -> Result<FileChange, ToolError> {
    let found = place::find(&context.folder, path, &context.closed)?;
    if found.path != path || found.asked.is_some() {
        return Err("the path leads elsewhere".into());
    }
    let store = context.before.as_ref().ok_or("no contents are kept")?;
    let hash = sha256(&before.content);
    let kept = store.put(&hash, &before.content);
    kept.map_err(|error| ToolError(error.to_string()))?;
    let diff = diff(&before.content, &[], &context.redaction);
    Ok(FileChange {
        path: path.to_string_lossy().into_owned(),
        asked: None,
        action: ChangeAction::Removed,
        before: Some(hash),
        after: None,
        by_command: true,
        mode: Some(before.mode & 0o777),
        mode_after: None,
        kind: PathKind::Regular,
        kind_before: None,
        added: diff.added,
        removed: diff.removed,
        notes: diff.remark().map(str::to_owned).into_iter().collect(),
        diff: diff.text,
        diff_cut: diff.is_cut,
        place: found.place,
        folders: folders
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect(),
    })
}

/// Makes a change of a command again, if nothing else changed its file.
///
/// # Errors
/// If nothing was changed.
pub(in crate::tool) async fn keep_change(
    change: FileChange,
    context: ToolContext,
) -> Result<ToolOutcome, ToolError> {
    let failed = |error: &dyn std::fmt::Display| ToolError(format!("changing failed: {error}"));
    if change.action == ChangeAction::Removed {
        let removed = blocking(move || remove_again(change, &context)).await;
        return removed.map_err(|error| failed(&error))?;
    }
    let (wanted, within) = (change.clone(), context.clone());
    let again = blocking(move || plan_again(&wanted, &within)).await;
    let planned = again.map_err(|error| failed(&error))??;
    let outcome = match planned.carry_out().await {
        Ok(outcome) => outcome,
        Err(EffectError::Changed) => return Err(CHANGED.into()),
        Err(EffectError::Failed(error)) => return Err(error),
    };
    let mut outcome = ToolOutcome {
        extent: None,
        ..outcome
    };
    let mut notes = Vec::new();
    if let Some(mode) = change.mode {
        let path = change.path;
        let set = blocking(move || set_mode(Path::new(&path), mode)).await;
        let error = match set {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        notes.extend(error.map(|error| format!("the file may not be executed: {error}")));
    }
    for made in &mut outcome.changes {
        made.by_command = true;
        made.mode = change.mode;
        made.notes.extend(notes.clone());
    }
    Ok(outcome)
}

/// Removes a file again that a command removed, if it has the same content. Blocks.
fn remove_again(change: FileChange, context: &ToolContext) -> Result<ToolOutcome, ToolError> {
    let path = Path::new(&change.path);
    let found = place::find(&context.folder, path, &context.closed)?;
    let known = read_known(path)?.filter(|known| {
        found.path == path && known.path == path && Some(&known.hash) == change.before.as_ref()
    });
    let known = known.ok_or(CHANGED)?;
    remove(path, &known).map_err(|error| match error {
        EffectError::Changed => CHANGED.into(),
        EffectError::Failed(error) => error,
    })?;
    // Those stay that hold something else.
    remove_folders(change.folders.iter());
    context.approved.note_removal(path);
    let result = format!("removed {}", change.path);
    Ok(ToolOutcome {
        changes: vec![change],
        ..ToolOutcome::from(Ok(result))
    })
}

/// Plans a change that was proposed. Blocks.
fn plan_again(change: &FileChange, context: &ToolContext) -> Result<PlannedAction, ToolError> {
    let store = context.before.as_ref();
    let kept = change.after.as_deref().zip(store);
    let content = kept.and_then(|(hash, store)| store.get(hash));
    let content = content.ok_or("the command's version is no longer kept")?;
    let planned = plan(
        Path::new(&change.path),
        change.before.as_deref(),
        &content,
        context,
    )?;
    let found = planned.subject.change();
    let is_same = found.is_some_and(|found| found.path == change.path && found.asked.is_none());
    is_same.then_some(planned).ok_or_else(|| CHANGED.into())
}

/// Plans to give a file a content, if it has the hash `before`.
fn plan(
    path: &Path,
    before: Option<&str>,
    content: &[u8],
    context: &ToolContext,
) -> Result<PlannedAction, ToolError> {
    planned(path, context, |known| {
        let is_as_before = known.map(|known| &*known.hash) == before;
        is_as_before
            .then(|| (content.to_vec(), Vec::new()))
            .ok_or_else(|| CHANGED.into())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::clock::Clock;
    use crate::secret::Redaction;
    use crate::tool::{BeforeStore, Cancellation, FileUndo};

    fn version(content: &str, mode: u32) -> CommandVersion {
        CommandVersion {
            content: content.into(),
            mode,
        }
    }

    /// A folder with a file `AGENTS.md`, and the means to change it and to take changes back.
    fn ground() -> (tempfile::TempDir, PathBuf, ToolContext, FileUndo) {
        let home = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(home.path()).unwrap().join("work");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("AGENTS.md"), "old\n").unwrap();
        let store = BeforeStore::at(home.path(), Clock::system());
        let context = ToolContext {
            before: Some(store.clone()),
            ..ToolContext::new(Cancellation::new()).in_folder(&folder)
        };
        let undo = FileUndo {
            before: Some(store),
            closed: std::sync::Arc::default(),
            redaction: Redaction::default(),
        };
        (home, folder, context, undo)
    }

    /// Spec: [APPR-604] [UNDO-600]
    #[tokio::test]
    async fn a_kept_version_is_made_only_where_nothing_changed_and_can_be_taken_back() {
        let (_home, folder, context, undo) = ground();
        let (agents, hook) = (folder.join("AGENTS.md"), folder.join(".husky/pre-commit"));
        let of_agents = proposed(
            &agents,
            Some(b"old\n"),
            &version("old\nnew\n", 0o644),
            &context,
        );
        let of_agents = of_agents.unwrap();
        assert_eq!(of_agents.diff, "@@ -1 +1,2 @@\n old\n+new\n");
        let of_hook = proposed(&hook, None, &version("#!/bin/sh\n", 0o100_755), &context).unwrap();
        assert_eq!(of_hook.mode, Some(0o755));
        assert!(
            of_hook
                .notes
                .contains(&"the file is a program: it may be executed".to_owned())
        );

        let mut changes = Vec::new();
        for change in [&of_agents, &of_hook] {
            let outcome = keep_change(change.clone(), context.clone()).await.unwrap();
            changes.extend(outcome.changes);
        }
        assert!(changes.iter().all(|change| change.by_command));
        assert_eq!(fs::read_to_string(&agents).unwrap(), "old\nnew\n");
        let mode = fs::metadata(&hook).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        // Not a second time, and not over the work of another.
        for change in [&of_agents, &of_hook] {
            let again = keep_change(change.clone(), context.clone()).await;
            assert_eq!(again, Err(CHANGED.into()));
        }

        undo.take_back(&changes, false);
        assert_eq!(fs::read_to_string(&agents).unwrap(), "old\n");
        assert!(!folder.join(".husky").exists());
        std::os::unix::fs::symlink("away", folder.join(".husky")).unwrap();
        fs::create_dir(folder.join("away")).unwrap();
        fs::write(&agents, "operator\n").unwrap();
        for change in [of_agents, of_hook] {
            let error = keep_change(change, context.clone()).await.unwrap_err();
            assert_eq!(error, CHANGED.into());
        }
        assert_eq!(fs::read_to_string(&agents).unwrap(), "operator\n");
        assert!(!folder.join("away/pre-commit").exists());
    }

    /// Spec: [APPR-773] [UNDO-600]
    #[tokio::test]
    async fn a_kept_removal_takes_only_what_is_as_before_and_can_be_taken_back() {
        let (_home, folder, context, undo) = ground();
        let (agents, hook) = (folder.join("AGENTS.md"), folder.join(".husky/pre-commit"));
        fs::create_dir_all(folder.join(".husky")).unwrap();
        fs::write(&hook, "run\n").unwrap();
        fs::set_permissions(&agents, fs::Permissions::from_mode(0o444)).unwrap();
        let of_agents = proposed_removal(&agents, &version("old\n", 0o100_444), &[], &context);
        let of_agents = of_agents.unwrap();
        assert_eq!(of_agents.diff, "@@ -1 +0,0 @@\n-old\n");
        let husky = [folder.join(".husky")];
        let of_hook = proposed_removal(&hook, &version("run\n", 0o100_755), &husky, &context);
        let of_hook = of_hook.unwrap();

        fs::write(&hook, "operator\n").unwrap();
        let error = keep_change(of_hook.clone(), context.clone()).await;
        assert_eq!(error, Err(CHANGED.into()));
        fs::write(&hook, "run\n").unwrap();
        let mut changes = Vec::new();
        for change in [of_agents.clone(), of_hook] {
            let outcome = keep_change(change, context.clone()).await.unwrap();
            changes.extend(outcome.changes);
        }
        assert!(!agents.exists() && !folder.join(".husky").exists());
        assert!(context.approved.lacks_since(&agents, 0));
        let again = keep_change(of_agents, context).await;
        assert_eq!(again, Err(CHANGED.into()));

        undo.take_back(&changes, false);
        assert_eq!(fs::read_to_string(&agents).unwrap(), "old\n");
        let mode = fs::metadata(&agents).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444);
        assert_eq!(fs::read_to_string(&hook).unwrap(), "run\n");
    }
}
