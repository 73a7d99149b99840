//! Loads guidance and notices when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use harness_actors::guidance::{Guidance, GuidanceShelf};
use harness_actors::{Clock, Redaction};

use super::file::{self, Text, display_path};
use super::grounds::Grounds;
use super::redacted::redacted;
use super::survey::{FoundFile, Survey};
use super::{context_file, named};
use crate::visible;

/// How many skills there may be, and how many templates.
const MAX_COUNT: usize = 1000;
/// How many bytes all of them may have together.
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
/// How long a file must have been unchanged before its time tells whether it changed, in seconds.
/// Some file systems tell the time no better.
const SETTLED_AFTER: i64 = 3;

/// Loads what there is and puts it on the shelf.
pub(super) struct Loader {
    home: PathBuf,
    workspace: PathBuf,
    /// Secrets that no text may show.
    redaction: Redaction,
    clock: Clock,
    shelf: GuidanceShelf,
    /// The last survey, unless it was too new to tell by its times whether it changed.
    loaded: Option<Survey>,
    /// The remarks about it.
    told: BTreeSet<String>,
}

impl Loader {
    /// Nothing is loaded yet.
    pub(super) fn new(
        home: &Path,
        workspace: &Path,
        redaction: Redaction,
        clock: Clock,
        shelf: GuidanceShelf,
    ) -> Self {
        Self {
            home: home.to_owned(),
            workspace: workspace.to_owned(),
            redaction,
            clock,
            shelf,
            loaded: None,
            told: BTreeSet::new(),
        }
    }

    /// Loads everything again if anything has changed, and says in the log what is new about it.
    pub(super) fn refresh(&mut self) {
        let now = i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX);
        let grounds = Grounds::open(&self.home, &self.workspace);
        let survey = Survey::take(&grounds);
        if self.loaded.as_ref() == Some(&survey) {
            // A secret may have been learned since.
            let guidance = redacted(Guidance::clone(&self.shelf.get()), &self.redaction);
            self.put(guidance);
            return;
        }
        let is_settled = survey.last_change().saturating_add(SETTLED_AFTER) < now;
        let mut loading = Loading::new(&grounds, &self.redaction);
        loading.load(&survey);
        let Loading {
            guidance, remarks, ..
        } = loading;
        self.loaded = is_settled.then_some(survey);
        let guidance = redacted(guidance, &self.redaction);
        let remarks = remarks.into_iter().map(|line| self.redaction.apply(line));
        let remarks: Vec<String> = remarks.collect();
        let mut told = BTreeSet::new();
        for (is_problem, lines) in [(true, &guidance.problems), (false, &remarks)] {
            for line in lines {
                if told.insert(line.clone()) && !self.told.contains(line) {
                    if is_problem {
                        log::warn!("{line}");
                    } else {
                        log::info!("{line}");
                    }
                }
            }
        }
        self.told = told;
        self.put(guidance);
    }

    fn put(&self, guidance: Guidance) {
        if *self.shelf.get() != guidance {
            self.shelf.set(guidance);
        }
    }
}

/// The guidance that has been loaded so far.
struct Loading<'l> {
    grounds: &'l Grounds,
    redaction: &'l Redaction,
    guidance: Guidance,
    /// Remarks that are no problems.
    remarks: Vec<String>,
    bytes: u64,
}

impl<'l> Loading<'l> {
    fn new(grounds: &'l Grounds, redaction: &'l Redaction) -> Self {
        Self {
            grounds,
            redaction,
            guidance: Guidance::default(),
            remarks: Vec::new(),
            bytes: 0,
        }
    }

    fn load(&mut self, survey: &Survey) {
        self.guidance.problems.clone_from(&survey.problems);
        for found in &survey.context_files {
            let text = self.text(found, context_file::MAX_BYTES);
            match text.and_then(|text| context_file::bounded_file(&found.path, text)) {
                Ok((file, remark)) => {
                    self.guidance.context_files.push(file);
                    self.problem(&found.path, remark);
                }
                Err(reason) => self.problem(&found.path, Some(reason)),
            }
        }
        let skills = self.named(&survey.skills, "skills", named::skill, |skill| {
            skill.name.clone()
        });
        let template =
            |path: &Path, text| named::template(path, text).map(|template| (template, None));
        let templates = self.named(&survey.templates, "templates", template, |template| {
            template.name.clone()
        });
        self.guidance.skills = skills;
        self.guidance.templates = templates;
    }

    /// The content of a file, or its first `max` bytes.
    fn text(&self, found: &FoundFile, max: usize) -> Result<Text, String> {
        let file = self.grounds.read(found.origin, &found.path)?;
        file::read(file, max, self.redaction)
    }

    /// Reads what is invoked by name: of each name the first, in the order of the names.
    fn named<T>(
        &mut self,
        files: &[FoundFile],
        kind: &str,
        read: impl Fn(&Path, Text) -> Result<(T, Option<String>), String>,
        name: impl Fn(&T) -> String,
    ) -> Vec<T> {
        let mut found: BTreeMap<String, (T, &Path)> = BTreeMap::new();
        for file in files {
            let FoundFile { path, stamp, .. } = file;
            if found.len() == MAX_COUNT {
                let reason = format!("there are more than {MAX_COUNT} {kind}; it is left out");
                self.problem(path, Some(reason));
                break;
            }
            if self.bytes.saturating_add(stamp.bytes) > MAX_TOTAL_BYTES {
                let reason = format!("all together have more than {MAX_TOTAL_BYTES} bytes");
                self.problem(path, Some(reason));
                break;
            }
            let text = self.text(file, named::MAX_BYTES);
            match text.and_then(|text| read(path, text)) {
                Ok((one, remark)) => {
                    self.problem(path, remark);
                    let name = name(&one);
                    if let Some((_, other)) = found.get(&name) {
                        let (path, other) = (display_path(path), display_path(other));
                        self.remarks
                            .push(format!("{path}: {other} has its name and wins"));
                    } else {
                        self.bytes += stamp.bytes;
                        found.insert(name, (one, path));
                    }
                }
                Err(reason) => self.problem(path, Some(reason)),
            }
        }
        found.into_values().map(|(one, _)| one).collect()
    }

    fn problem(&mut self, path: &Path, reason: Option<String>) {
        if let Some(reason) = reason {
            let line = format!("{}: {}", display_path(path), visible::line(&reason));
            self.guidance.problems.push(line);
        }
    }
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
