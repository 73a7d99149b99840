//! Which files there are, without reading them: cheap enough to be asked before every prompt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::file::{GuidanceStamp, display_path};
use super::grounds::{FileOrigin, Grounds};
use super::{context_file, places};
use crate::visible;

/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 10_000;

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) origin: FileOrigin,
    pub(super) path: PathBuf,
    pub(super) stamp: GuidanceStamp,
}

/// The files that there are at one time, in the order in which they count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Survey {
    pub(super) context_files: Vec<FoundFile>,
    pub(super) skills: Vec<FoundFile>,
    pub(super) templates: Vec<FoundFile>,
    pub(super) problems: Vec<String>,
}

impl Survey {
    /// Looks for all of them.
    pub(super) fn take(grounds: &Grounds) -> Self {
        let mut survey = Self::default();
        let (home, workspace) = (grounds.home(), grounds.workspace());
        for (origin, folder) in places::context_folders(home, workspace) {
            match context_file::find(grounds, origin, &folder) {
                Ok(found) => survey
                    .context_files
                    .extend(found.map(|(path, stamp)| FoundFile {
                        origin,
                        path,
                        stamp,
                    })),
                Err((path, reason)) => survey.problem(&path, &reason),
            }
        }
        for (origin, folder) in places::skill_folders(home, workspace) {
            for name in survey.names(grounds, origin, &folder) {
                let path = folder.join(name).join("SKILL.md");
                let found = survey.found(grounds, origin, path);
                survey.skills.extend(found);
            }
        }
        for (origin, folder) in places::template_folders(home, workspace) {
            for name in survey.names(grounds, origin, &folder) {
                let path = folder.join(name);
                if path.extension().is_some_and(|ending| ending == "md") {
                    let found = survey.found(grounds, origin, path);
                    survey.templates.extend(found);
                }
            }
        }
        survey
    }

    /// When the last change was that it shows, in seconds since the Unix epoch.
    pub(super) fn last_change(&self) -> i64 {
        let files = [&self.context_files, &self.skills, &self.templates];
        let changes = files
            .into_iter()
            .flatten()
            .map(|found| found.stamp.changed.0);
        changes.max().unwrap_or_default()
    }

    /// The names in a folder, in order. Those that begin with a dot are left out: editors and
    /// other programs keep their own files so.
    fn names(&mut self, grounds: &Grounds, origin: FileOrigin, folder: &Path) -> Vec<OsString> {
        let entries = match grounds.names(origin, folder) {
            Ok(Some(entries)) => entries,
            Ok(None) => return Vec::new(),
            Err(reason) => {
                self.problem(folder, &reason);
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(name) if names.len() < MAX_ENTRIES => names.push(name),
                Ok(_) => {
                    let reason = format!("only {MAX_ENTRIES} of its entries are looked at");
                    self.problem(folder, &reason);
                    break;
                }
                Err(error) => {
                    self.problem(folder, &format!("it cannot be listed: {error}"));
                    break;
                }
            }
        }
        names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
        names.sort();
        names
    }

    fn found(&mut self, grounds: &Grounds, origin: FileOrigin, path: PathBuf) -> Option<FoundFile> {
        match grounds.look(origin, &path) {
            Ok(stamp) => stamp.map(|stamp| FoundFile {
                origin,
                path,
                stamp,
            }),
            Err(reason) => {
                self.problem(&path, &reason);
                None
            }
        }
    }

    fn problem(&mut self, path: &Path, reason: &str) {
        let line = format!("{}: {}", display_path(path), visible::line(reason));
        self.problems.push(line);
    }
}
