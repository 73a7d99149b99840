//! Notes from the records of a workflow, beside its state: checks that ended, and commits.
//!
//! Invariant: what is missing or new in a record makes a note shorter, never an error.

use serde_json::Value;

use crate::text::one_line;

/// Number of characters that tell one hash from another.
pub(super) const HASH: usize = 8;

/// A check that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckNote {
    /// The place where it ran, for example `2.1`.
    pub(crate) place: String,
    /// Its name.
    pub(crate) check: String,
    /// True if it is good enough to accept.
    pub(crate) is_green: bool,
    /// False if more tries follow.
    pub(crate) counts: bool,
    /// Duration in milliseconds.
    pub(crate) ms: u64,
    /// The reason of a failure, with the first line of its output; empty if it did not fail.
    pub(crate) why: String,
    /// The SHA-256 of its output.
    pub(crate) output: String,
    /// The last part of its output.
    pub(crate) tail: String,
}

/// A commit that an iteration brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitNote {
    /// The beginning of its hash.
    pub(crate) commit: String,
    /// The iteration.
    pub(crate) iteration: u64,
    /// The feature.
    pub(crate) feature: String,
}

impl CheckNote {
    /// That of a record `check_ended`.
    pub(super) fn from_data(data: &Value) -> Self {
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        let verdict = text("verdict");
        let is_green = matches!(verdict, "passed" | "flaky");
        let why = match (is_green, first_line(text("tail"))) {
            (true, _) => String::new(),
            (false, None) => one_line(text("why")),
            (false, Some(line)) => format!("{}: {line}", one_line(text("why"))),
        };
        Self {
            place: place(data),
            check: one_line(text("check")),
            is_green,
            counts: data.get("counts") != Some(&Value::Bool(false)),
            ms: number(data, "ms"),
            why,
            output: text("output").to_owned(),
            tail: text("tail").to_owned(),
        }
    }
}

impl CommitNote {
    /// The commit of a record `iteration_ended`. `None` if the iteration has none.
    pub(super) fn from_data(data: &Value) -> Option<Self> {
        let text = |path: &str| data.pointer(path).and_then(Value::as_str);
        let commit = text("/commit/commit").filter(|commit| !commit.is_empty())?;
        Some(Self {
            commit: short(commit),
            iteration: number(data, "n"),
            feature: one_line(text("/feature/feature").unwrap_or_default()),
        })
    }
}

/// The beginning of a hash.
pub(super) fn short(hash: &str) -> String {
    one_line(&hash.chars().take(HASH).collect::<String>())
}

/// A place in a workflow: an attempt as in `2.1`, or a verification as in `v1`.
pub(super) fn place(data: &Value) -> String {
    match (number(data, "n"), number(data, "attempt")) {
        (0, number) => format!("v{number}"),
        (n, attempt) => format!("{n}.{attempt}"),
    }
}

fn number(data: &Value, key: &str) -> u64 {
    data.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// The first line of an output that has something in it.
fn first_line(text: &str) -> Option<String> {
    let mut lines = text.lines().map(one_line);
    lines.find(|line| !line.trim().is_empty())
}
