//! Edits drawn from the history of this repository, and others made of them by `tests/edits.py`, which
//! says what each has to come to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::super::testing::{Folder, object, patched};
use super::*;
use crate::attachment::sha256;

/// One case: what is replaced and the digest of the whole, or a part of the reason why it is refused.
#[derive(Deserialize)]
struct Case {
    kind: String,
    /// A byte a character.
    before: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    places: Vec<(usize, usize, String)>,
    after: Option<String>,
    refused: Option<String>,
}

/// How many cases of a kind there were, and what came out.
#[derive(Default)]
struct Count {
    applied: usize,
    refused: usize,
    wrong: usize,
    /// Bytes that are another outside of the places.
    outside: usize,
}

fn bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(|byte| u8::try_from(u32::from(byte)).unwrap())
        .collect()
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/edits.jsonl");
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

impl Case {
    fn input(&self) -> Object {
        let Self { old, new, all, .. } = self;
        object(json!({"path": "f", "old_string": old, "new_string": new, "replace_all": all}))
    }

    /// The content after it, of the one before.
    fn expected(&self) -> Option<Vec<u8>> {
        let digest = self.after.as_ref()?;
        let before = bytes(&self.before);
        let (mut after, mut at) = (Vec::new(), 0);
        for (start, end, put) in &self.places {
            after.extend_from_slice(&before[at..*start]);
            after.extend(bytes(put));
            at = *end;
        }
        after.extend_from_slice(&before[at..]);
        assert_eq!(sha256(&after), *digest, "{}", self.kind);
        Some(after)
    }

    /// How many bytes are not as they were before the first place and behind the last one.
    fn outside(&self, after: &[u8]) -> usize {
        let before = bytes(&self.before);
        let first = self.places.first().map_or(before.len(), |place| place.0);
        let last = self.places.last().map_or(before.len(), |place| place.1);
        let differ = |one: &[u8], other: &[u8]| {
            let pairs = one.iter().zip(other).filter(|(one, other)| one != other);
            pairs.count() + one.len().abs_diff(other.len())
        };
        let behind = &before[last..];
        let start = differ(&before[..first], &after[..first.min(after.len())]);
        start + differ(behind, &after[after.len().saturating_sub(behind.len())..])
    }
}

/// Spec: [TOOL-54] [TOOL-55] [TOOL-56] [TOOL-59]
#[tokio::test]
async fn f01_edits_of_the_history_and_others_made_of_them_come_to_what_they_have_to() {
    let folder = Folder::new();
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, case) in cases().iter().enumerate() {
        let before = bytes(&case.before);
        folder.file("f", &before);
        let context = ToolContext::new(Cancellation::new()).in_folder(folder.path());
        let done = Edit.execute_in(case.input(), context).await;
        let after = fs::read(folder.at("f")).unwrap();
        let count = counts.entry(case.kind.clone()).or_default();
        let is_right = match (&done, case.expected()) {
            (Ok(_), Some(expected)) => {
                count.applied += 1;
                count.outside += case.outside(&after);
                after == expected
            }
            (Err(ToolError(error)), None) => {
                count.refused += 1;
                after == before && error.contains(case.refused.as_deref().unwrap())
            }
            (Ok(_), None) | (Err(_), Some(_)) => false,
        };
        if !is_right {
            count.wrong += 1;
            wrong.push((number, case.kind.clone(), done));
        }
    }
    for (kind, count) in &counts {
        println!(
            "{kind:28} applied {:3}, refused {:3}, wrong {}, bytes changed outside {}",
            count.applied, count.refused, count.wrong, count.outside
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(counts.values().map(|count| count.outside).sum::<usize>(), 0);
    assert_eq!(counts["drawn"].applied, 100);
}

/// Spec: [TOOL-57]
#[tokio::test]
async fn f15_the_diff_of_each_edit_makes_of_the_old_text_the_new_one() {
    let folder = Folder::new();
    for case in cases() {
        let Some(after) = case.expected() else {
            continue;
        };
        let before = bytes(&case.before);
        folder.file("f", &before);
        let context = ToolContext::new(Cancellation::new()).in_folder(folder.path());
        let planned = Edit.plan(case.input(), context).await.unwrap().unwrap();
        let change = planned.subject.change().unwrap().clone();
        assert!(!change.diff_cut);
        let shown = String::from_utf8_lossy(&before);
        let diff = &change.diff;
        let expected = String::from_utf8_lossy(&after);
        assert_eq!(patched(&shown, diff), expected, "{}: {diff}", case.kind);
    }
}
