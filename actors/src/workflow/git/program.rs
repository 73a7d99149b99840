//! The program `git`, as the service runs it: plumbing, with nothing that a repository can make it run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness_protocol::Access;
use nix::fcntl::OFlag;

use super::GitError;
use crate::tool::{LaunchOrder, Launcher, TempFolder};
use crate::workflow::child::{self, ProgramStopReason, StopHandle};

/// Time limit for one call.
const LIMIT: Duration = Duration::from_secs(600);
/// Maximum size of an output that is read, in bytes.
const MAX_OUTPUT: usize = 256 * 1024 * 1024;
/// Maximum size of a file of configuration that is read without git, in bytes.
const MAX_CONFIG: u64 = 1024 * 1024;
/// Maximum size of git's own words in an error, in bytes.
const MAX_SAID: usize = 2048;

/// The script that runs git: the launcher gives no input and mixes the outputs, so they are files.
const SCRIPT: &str = r#"files=$1; shift; exec "$@" <"$files/input" 2>"$files/errors""#;

/// Settings that hold for every call, and take precedence over the repository's.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.sparseCheckout", "false"),
    ("core.splitIndex", "false"),
    ("core.ignoreCase", "false"),
    ("core.quotePath", "false"),
    ("core.logAllRefUpdates", "true"),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("commit.gpgSign", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("index.sparse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("credential.helper", ""),
    ("safe.directory", "*"),
];

/// The environment of every call, besides what depends on the tree.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_ADVICE", "0"),
    ("GIT_AUTHOR_NAME", IDENTITY.0),
    ("GIT_AUTHOR_EMAIL", IDENTITY.1),
    ("GIT_COMMITTER_NAME", IDENTITY.0),
    ("GIT_COMMITTER_EMAIL", IDENTITY.1),
];
/// The author of commits.
const IDENTITY: (&str, &str) = ("Harness", "harness@localhost");
/// The search path if the service has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The folders in which git works: a tree, its git folder and that of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitDirectories {
    pub(super) root: PathBuf,
    /// None: git looks for it.
    pub(super) git: Option<PathBuf>,
    pub(super) common: PathBuf,
}

/// Some calls of git in one place, with a folder for their files.
pub(super) struct Session {
    launcher: Arc<dyn Launcher>,
    pub(super) place: GitDirectories,
    scratch: TempFolder,
    /// Settings that make drivers of the repository do nothing.
    drivers: Vec<(String, String)>,
}

/// One call of git.
pub(super) struct GitCall<'a> {
    session: &'a Session,
    words: Vec<String>,
    environment: Vec<(String, String)>,
    input: Vec<u8>,
    writable: Vec<PathBuf>,
    /// Exit codes that are an answer, besides 0.
    answers: &'static [i32],
    /// Maximum size of the answer, in bytes. `None` for all of it.
    most: Option<usize>,
}

/// The answer of git.
#[derive(Debug)]
pub(super) struct GitAnswer {
    pub(super) code: i32,
    pub(super) output: Vec<u8>,
}

impl Session {
    /// Begins some calls in a place.
    pub(super) fn begin(
        launcher: Arc<dyn Launcher>,
        place: GitDirectories,
    ) -> Result<Self, GitError> {
        let scratch =
            TempFolder::new().map_err(|error| GitError::failed("making a folder", &error))?;
        let mut session = Self {
            launcher,
            place,
            scratch,
            drivers: Vec::new(),
        };
        if session.place.git.is_some() && may_have_drivers(&session.place) {
            session.drivers = drivers(&session.config_keys()?);
        }
        Ok(session)
    }

    /// The same in another place of the repository.
    pub(super) fn beside(&self, place: GitDirectories) -> Result<Self, GitError> {
        Self::begin(Arc::clone(&self.launcher), place)
    }

    /// A call of git.
    pub(super) fn call<'a>(&'a self, words: &[&str]) -> GitCall<'a> {
        GitCall {
            session: self,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: Vec::new(),
            input: Vec::new(),
            writable: Vec::new(),
            answers: &[],
            most: None,
        }
    }

    /// A file of these calls.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The keys of the repository's configuration.
    fn config_keys(&self) -> Result<Vec<String>, GitError> {
        let list = self.call(&["config", "--includes", "--null", "--name-only", "--list"]);
        list.texts()
    }
}

/// True if the repository's configuration may name drivers. Git need not be asked about files that contain neither the
/// section of drivers nor one of further files: git reads no others.
fn may_have_drivers(place: &GitDirectories) -> bool {
    let own = place.git.iter().map(|git| git.join("config.worktree"));
    let shared = ["config", "config.worktree"].map(|name| place.common.join(name));
    let mut files = shared.into_iter().chain(own);
    files.any(|file| match read_config(&file) {
        Ok(text) => {
            let text = text.to_ascii_lowercase();
            text.contains("filter") || text.contains("include")
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

/// Reads a file of git's configuration.
fn read_config(path: &Path) -> io::Result<String> {
    // A FIFO in its place would wait for a writer.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut options = File::options();
    let file = options.read(true).custom_flags(flags.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_CONFIG {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Settings that switch off the drivers that convert files, because drivers are programs. Files keep their stored form.
fn drivers(keys: &[String]) -> Vec<(String, String)> {
    let names: BTreeSet<&str> = keys
        .iter()
        .filter_map(|key| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0))
        .collect();
    let off = |name: &str| {
        ["clean", "smudge", "process", "required"].map(|what| {
            let value = if what == "required" { "false" } else { "" };
            (format!("filter.{name}.{what}"), value.to_owned())
        })
    };
    names.into_iter().flat_map(off).collect()
}

impl GitCall<'_> {
    /// With an index of the service's own instead of the tree's.
    pub(super) fn own_index(self) -> Self {
        let index = self.session.file("index");
        self.with("GIT_INDEX_FILE", &index.to_string_lossy())
    }

    /// Reads attributes from a commit, and not from the tree.
    pub(super) fn attributes_of(self, commit: &str) -> Self {
        self.with("GIT_ATTR_SOURCE", commit)
    }

    /// With a variable of its environment.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With what it reads.
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// With a folder that it may write, besides its tree and the repository.
    pub(super) fn writing(mut self, folder: &Path) -> Self {
        self.writable.push(folder.to_owned());
        self
    }

    /// With exit codes that are an answer.
    pub(super) fn answering(mut self, answers: &'static [i32]) -> Self {
        self.answers = answers;
        self
    }

    /// Keeps at most that many bytes of the answer.
    pub(super) fn at_most(mut self, bytes: usize) -> Self {
        self.most = Some(bytes);
        self
    }

    /// Makes the call. Blocks.
    pub(super) fn run(self) -> Result<GitAnswer, GitError> {
        let name = self.words.first().cloned().unwrap_or_default();
        let failed = |reason: &dyn ToString| GitError::failed(format!("git {name}"), reason);
        let session = self.session;
        fs::write(session.file("input"), &self.input).map_err(|error| failed(&error))?;
        fs::write(session.file("errors"), "").map_err(|error| failed(&error))?;
        let temp = TempFolder::new().map_err(|error| failed(&error))?;
        let order = self.order(temp.path());
        let mut output = Vec::new();
        let mut is_whole = true;
        let done = child::run(
            &*session.launcher,
            &order,
            LIMIT,
            &StopHandle::default(),
            &mut |bytes| {
                if let Some(most) = self.most {
                    let room = most.saturating_sub(output.len());
                    output.extend_from_slice(&bytes[..room.min(bytes.len())]);
                    return;
                }
                is_whole &= output.len() + bytes.len() <= MAX_OUTPUT;
                if is_whole {
                    output.extend_from_slice(bytes);
                }
            },
        );
        let done = done.map_err(|error| failed(&error))?;
        if done.stopped == Some(ProgramStopReason::TimedOut) {
            return Err(GitError::TimedOut {
                call: name,
                seconds: LIMIT.as_secs(),
            });
        }
        match done.ended.code {
            Some(_) if !is_whole => Err(failed(&"it wrote more than is read")),
            Some(code) if code == 0 || self.answers.contains(&code) => {
                Ok(GitAnswer { code, output })
            }
            Some(code) => Err(failed(&self.failure_text(code))),
            None => Err(failed(&"it was ended before its end")),
        }
    }

    /// The lines or records of what it answers, each ended by NUL.
    pub(super) fn records(self) -> Result<Vec<Vec<u8>>, GitError> {
        let output = self.run()?.output;
        let records = output.split(|byte| *byte == 0);
        Ok(records
            .filter(|record| !record.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    /// The records as text.
    pub(super) fn texts(self) -> Result<Vec<String>, GitError> {
        let records = self.records()?;
        let text = |record: Vec<u8>| String::from_utf8_lossy(&record).into_owned();
        Ok(records.into_iter().map(text).collect())
    }

    /// Its answer, without the newline at the end.
    pub(super) fn text(self) -> Result<String, GitError> {
        let output = self.run()?.output;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// Its message about the failure.
    fn failure_text(&self, code: i32) -> String {
        let said = fs::read(self.session.file("errors")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said = said.trim();
        if said.is_empty() {
            return format!("it ended with {code}");
        }
        said[..said.floor_char_boundary(MAX_SAID)].to_owned()
    }

    fn order(&self, temp: &Path) -> LaunchOrder {
        let session = self.session;
        let place = &session.place;
        let files = session.scratch.path().to_string_lossy().into_owned();
        let script = ["sh", "-c", SCRIPT, "sh", &files];
        let git = ["git", "--no-pager", "--no-optional-locks"];
        let words = script.into_iter().chain(git).map(str::to_owned);
        let mut writable = vec![session.scratch.path().to_owned(), place.common.clone()];
        writable.extend(place.git.clone());
        writable.extend(self.writable.iter().cloned());
        LaunchOrder {
            program: words.chain(self.words.iter().cloned()).collect(),
            environment: self.variables(temp),
            conversation: None,
            folder: place.root.clone(),
            workspace: place.root.clone(),
            temp: temp.to_owned(),
            access: Access::Write,
            network: false,
            has_pipes: false,
            writable,
            protected: Vec::new(),
            copies: Vec::new(),
            closed: Arc::default(),
        }
    }

    fn variables(&self, temp: &Path) -> Vec<(String, String)> {
        let place = &self.session.place;
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut variables: Vec<(String, String)> = ENVIRONMENT.iter().map(pair).collect();
        let path = std::env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned());
        let temp = temp.to_string_lossy().into_owned();
        // Without a separate home folder git reads files of the user's.
        for (name, value) in [("PATH", &path), ("HOME", &temp), ("TMPDIR", &temp)] {
            variables.push((name.to_owned(), value.clone()));
        }
        if let Some(git) = &place.git {
            for (name, value) in [
                ("GIT_DIR", git),
                ("GIT_COMMON_DIR", &place.common),
                ("GIT_WORK_TREE", &place.root),
            ] {
                variables.push((name.to_owned(), value.to_string_lossy().into_owned()));
            }
        }
        let constant = SETTINGS.iter().map(pair);
        let settings = constant.chain(self.session.drivers.iter().cloned());
        let mut count = 0;
        for (key, value) in settings {
            variables.push((format!("GIT_CONFIG_KEY_{count}"), key));
            variables.push((format!("GIT_CONFIG_VALUE_{count}"), value));
            count += 1;
        }
        variables.push(("GIT_CONFIG_COUNT".to_owned(), count.to_string()));
        variables.extend(self.environment.iter().cloned());
        variables
    }
}

/// A path as git writes it.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-715]
    #[test]
    fn git_is_asked_about_drivers_only_where_the_configuration_may_name_some() {
        let folder = tempfile::tempdir().unwrap();
        let (common, git) = (folder.path().join("common"), folder.path().join("own"));
        fs::create_dir_all(&common).unwrap();
        fs::create_dir_all(&git).unwrap();
        let place = GitDirectories {
            root: folder.path().to_owned(),
            git: Some(git.clone()),
            common: common.clone(),
        };
        let bare = "[core]\n\tbare = false\n[user]\n\tname = Ana\n";
        assert!(!may_have_drivers(&place));
        for file in [
            common.join("config"),
            common.join("config.worktree"),
            git.join("config.worktree"),
        ] {
            for (text, may) in [
                (bare, false),
                ("[Filter \"lfs\"]\n\tclean = x\n", true),
                ("[filter.lfs]\nclean = x\n", true),
                ("[include]\n\tpath = other\n", true),
                ("[INCLUDEIF \"gitdir:x\"]\n\tpath = other\n", true),
            ] {
                fs::write(&file, text).unwrap();
                assert_eq!(may_have_drivers(&place), may, "{} {text}", file.display());
            }
            fs::write(
                &file,
                [bare.as_bytes(), b"[fil\xff", b"ter \"x\"]\n"].concat(),
            )
            .unwrap();
            assert!(!may_have_drivers(&place), "no such section");
            fs::write(&file, "#".repeat(1024 * 1024 + 1)).unwrap();
            assert!(may_have_drivers(&place), "too large to be read");
            fs::remove_file(&file).unwrap();
            nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
            assert!(may_have_drivers(&place), "no file");
            fs::remove_file(&file).unwrap();
        }
    }
}
