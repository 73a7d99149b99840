//! A change as a plan: what it would do, and what does it.

use std::collections::HashSet;
use std::path::Path;

use harness_protocol::{ChangeAction, Extent, FileChange, PathKind, Subject, hidden};

use super::diff::diff;
use super::folders::in_new_folders;
use super::place::{self, FoundTarget};
use super::replace::{KnownFile, check_size, read_file, replace};
use crate::attachment::sha256;
use crate::blocking;
use crate::tool::{EffectError, PlannedAction, ToolContext, ToolError, ToolOutcome};

/// The words about a file that differs from what the model knows of it.
pub(in crate::tool) const CHANGED_SINCE: &str =
    "the file was not as you last saw it: a command, or something outside, changed it";

/// Plans a change of the file that a path leads to. `change` makes the content after of the one before,
/// with what there is to say of it. Blocks.
///
/// # Errors
/// Why there is no such change.
pub(in crate::tool) fn planned(
    asked: &Path,
    context: &ToolContext,
    change: impl FnOnce(Option<&KnownFile>) -> Result<(Vec<u8>, Vec<String>), ToolError>,
) -> Result<PlannedAction, ToolError> {
    let found = place::find(&context.folder, asked, &context.closed)?;
    let known = read_file(&found.path)?;
    let (content, mut notes) = change(known.as_ref())?;
    check_size(content.len())?;
    if let Some(known) = &known
        && context.seen.is_another(&known.path, &known.hash)
    {
        notes.push(CHANGED_SINCE.to_owned());
    }
    for folder in &found.missing {
        notes.push(format!("makes the folder {}", folder.display()));
    }
    let before = known.as_ref().map_or(&[][..], |known| &known.bytes);
    let diff = diff(before, &content, &context.redaction);
    let remark = diff.remark();
    notes.extend(new_hidden(before, &content));
    let mut change = FileChange {
        path: found.path.to_string_lossy().into_owned(),
        asked: found
            .asked
            .as_ref()
            .map(|asked| asked.to_string_lossy().into_owned()),
        action: match known {
            Some(_) => ChangeAction::Changed,
            None => ChangeAction::Made,
        },
        before: known.as_ref().map(|known| known.hash.clone()),
        after: Some(sha256(&content)),
        by_command: false,
        mode: None,
        mode_after: None,
        kind: PathKind::Regular,
        kind_before: None,
        added: diff.added,
        removed: diff.removed,
        diff: diff.text,
        diff_cut: diff.is_cut,
        place: found.place,
        folders: found
            .missing
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect(),
        notes,
    };
    // The model wrote the change and needs no remark about its diff.
    let (told, context) = (change.clone(), context.clone());
    change.notes.extend(remark.map(str::to_owned));
    let effect = async move {
        let work = move || carry_out(&found, known.as_ref(), &content, told, &context);
        let worked = blocking(work).await;
        worked
            .map_err(|error| EffectError::Failed(ToolError(format!("changing failed: {error}"))))?
    };
    Ok(PlannedAction::new(Subject::Change(change), effect))
}

/// A note about the first misleading character in a line that the file did not have.
fn new_hidden(before: &[u8], after: &[u8]) -> Option<String> {
    // A carriage return is a line end of other systems.
    let misleads = |c: char| c != '\r' && hidden::misleads(c);
    let before = String::from_utf8_lossy(before);
    let after = String::from_utf8_lossy(after);
    let (before, after) = (without_mark(&before), without_mark(&after));
    if !after.contains(misleads) {
        return None;
    }
    let known: HashSet<&str> = before.split('\n').collect();
    let lines = after.split('\n').zip(1..);
    let mut new = lines.filter(|(text, _)| !known.contains(text));
    let found = new.find_map(|(text, line)| hidden::first_in_line(text, line, misleads))?;
    Some(format!("a new line has a hidden character: {found}"))
}

/// A text without the byte order mark that it may begin with.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Makes the change. Blocks.
fn carry_out(
    found: &FoundTarget,
    known: Option<&KnownFile>,
    content: &[u8],
    change: FileChange,
    context: &ToolContext,
) -> Result<ToolOutcome, EffectError> {
    let unkept = keep(known, context);
    let put = || replace(&found.path, known, content, unkept.is_none());
    let notes = in_new_folders(&found.missing, put)?;
    context.seen.note(&found.path, sha256(content));
    context.approved.note(&found.path, sha256(content));
    let mut change = change;
    change.notes.extend(notes.into_iter().chain(unkept));
    let done = match change.action {
        ChangeAction::Made => "made",
        ChangeAction::Changed | ChangeAction::Removed | ChangeAction::Unknown => "changed",
    };
    let mut result = format!(
        "{done} {} (+{} -{} lines)",
        change.path, change.added, change.removed
    );
    for note in &change.notes {
        result.push_str("; ");
        result.push_str(note);
    }
    Ok(ToolOutcome {
        extent: Some(Box::new(Extent {
            added: Some(change.added),
            removed: Some(change.removed),
            ..Extent::default()
        })),
        changes: vec![change],
        ..ToolOutcome::from(Ok(result))
    })
}

/// Keeps the content before, so that the change can be taken back; what there is to say if that fails.
fn keep(known: Option<&KnownFile>, context: &ToolContext) -> Option<String> {
    let (known, store) = (known?, context.before.as_ref()?);
    let kept = store.put(&known.hash, &known.bytes);
    let error = kept.err()?;
    log::warn!(
        "the content of {} before a change is not kept: {error}",
        known.path.display()
    );
    Some("it cannot be taken back: its content from before was not kept".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [APPR-591]
    #[test]
    fn a_new_line_with_a_hidden_character_is_noted_and_an_old_one_is_not() {
        let note = |before: &str, after: &str| new_hidden(before.as_bytes(), after.as_bytes());
        assert_eq!(
            note("a\nb\u{200b}\n", "a\nb\u{200b}\nif x\u{202e} {\n").as_deref(),
            Some(
                "a new line has a hidden character: U+202E RIGHT-TO-LEFT OVERRIDE in line 3, column 5"
            )
        );
        for after in [
            "b\u{200b}\nmore\r\n",
            "\u{feff}b\u{200b}\n",
            "👩\u{200d}👧 ❤\u{fe0f} \u{3000}",
        ] {
            assert_eq!(note("b\u{200b}\n", after), None, "{after:?}");
        }
    }
}
