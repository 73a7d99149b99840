//! Which files there are, without reading them: cheap enough to be asked before every prompt.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use super::file::{self, Stamp, is_absence, shown};
use super::{context_file, places};

/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The files that there are at one time, in the order in which they count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Survey {
    pub(super) context_files: Vec<(PathBuf, Stamp)>,
    pub(super) skills: Vec<(PathBuf, Stamp)>,
    pub(super) templates: Vec<(PathBuf, Stamp)>,
    pub(super) problems: Vec<String>,
}

impl Survey {
    /// Looks for all of them.
    pub(super) fn take(home: &Path, workspace: &Path) -> Self {
        let mut survey = Self::default();
        survey.find_context(home, workspace);
        for folder in places::skill_folders(home, workspace) {
            for name in survey.names(&folder) {
                let path = folder.join(name).join("SKILL.md");
                let found = file::look(&path);
                let found = survey.noted(path, found);
                survey.skills.extend(found);
            }
        }
        for folder in places::template_folders(home, workspace) {
            for name in survey.names(&folder) {
                let path = folder.join(name);
                if path.extension().is_some_and(|ending| ending == "md") {
                    let found = file::look(&path);
                    let found = survey.noted(path, found);
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
            .map(|(_, stamp)| stamp.changed.0);
        changes.max().unwrap_or_default()
    }

    fn find_context(&mut self, home: &Path, workspace: &Path) {
        let own = Uid::effective().as_raw();
        let owner_of_workspace = fs::metadata(workspace).ok().map(|found| found.uid());
        for folder in places::context_folders(home, workspace) {
            match context_file::find(&folder) {
                Ok(None) => {}
                Ok(Some((path, stamp))) => {
                    let is_above = folder != home && folder != workspace;
                    let owner = stamp.owner;
                    if is_above && !context_file::is_trusted(owner, own, owner_of_workspace) {
                        self.problem(&path, "it belongs to somebody else");
                    } else {
                        self.context_files.push((path, stamp));
                    }
                }
                Err((path, reason)) => self.problem(&path, &reason),
            }
        }
    }

    /// The names in a folder, in order. Those that begin with a dot are left out: editors and
    /// other programs keep their own files so.
    fn names(&mut self, folder: &Path) -> Vec<OsString> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                // Where there is nothing, nothing is missing.
                if !is_absence(error.kind()) || fs::symlink_metadata(folder).is_ok() {
                    self.problem(folder, &format!("it cannot be listed: {error}"));
                }
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) if names.len() < MAX_ENTRIES => names.push(entry.file_name()),
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

    fn noted(
        &mut self,
        path: PathBuf,
        found: Result<Option<Stamp>, String>,
    ) -> Option<(PathBuf, Stamp)> {
        match found {
            Ok(found) => found.map(|stamp| (path, stamp)),
            Err(reason) => {
                self.problem(&path, &reason);
                None
            }
        }
    }

    fn problem(&mut self, path: &Path, reason: &str) {
        let line = format!("{}: {}", shown(path), file::line(reason));
        self.problems.push(line);
    }
}
