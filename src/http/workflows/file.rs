//! The file of a workflow that a client wants to make: read, named by its hash, and judged.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_actors::beneath::{BeneathError, FolderHandle, LinkPolicy};
use harness_actors::blocking;
use harness_actors::workflow::file::{FeatureList, FileFormat, FileProblem, MAX_FILE, hash, read};
use harness_actors::workflow::manifest::Manifest;
use harness_actors::workflow::messages::GivenFile;
use harness_actors::workflow::starter::filled;
use serde_json::Value;

use crate::http::problem::{Kind, Refusal};
use crate::http::shared::HttpShared;
use crate::serve::pricing::Prices;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;

/// The source of a workflow's text.
#[derive(Debug, Clone)]
pub(super) enum GivenText {
    /// In a file, at that path.
    Path(String),
    /// In the request.
    Spec(Value),
}

impl GivenText {
    /// The one that a request has.
    ///
    /// # Errors
    /// The answer, if it has none or both.
    pub(super) fn from_body(path: Option<String>, spec: Option<Value>) -> Result<Self, Refusal> {
        match (path, spec) {
            (Some(path), None) => Ok(Self::Path(path)),
            (None, Some(spec)) => Ok(Self::Spec(spec)),
            (Some(_), Some(_)) => {
                Err(Kind::BadRequest.refuse("give either `path` or `spec`, not both"))
            }
            (None, None) => Err(Kind::BadRequest.refuse("give the `path` of a file, or a `spec`")),
        }
    }

    /// The name of a workflow that is given none.
    fn name(&self) -> String {
        let stem = match self {
            Self::Path(path) => Path::new(path).file_stem(),
            Self::Spec(_) => None,
        };
        stem.map_or_else(
            || "workflow".to_owned(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    fn format(&self) -> FileFormat {
        match self {
            Self::Path(path) => FileFormat::of_name(path),
            Self::Spec(_) => FileFormat::Json,
        }
    }

    /// The path of the file relative to the folder, if it is in the folder.
    fn below(&self, folder: &Path) -> Option<String> {
        let Self::Path(path) = self else {
            return None;
        };
        let path = Path::new(path);
        let below = match path.is_absolute() {
            true => path.strip_prefix(folder).ok()?,
            false => path,
        };
        below.to_str().map(str::to_owned)
    }

    /// The text. Blocks.
    ///
    /// # Errors
    /// The answer, if it cannot be had.
    fn bytes(&self, folder: &Path, home: &Path) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Path(path) => bytes_of(path, folder, home),
            Self::Spec(spec) => Ok(spec.to_string().into_bytes()),
        }
    }
}

/// The text of a workflow, and the result of parsing it.
#[derive(Debug)]
pub(super) struct JudgedFile {
    /// The workflow's name.
    pub(super) name: String,
    /// The SHA-256 of the text.
    pub(super) hash: String,
    /// The text.
    text: Vec<u8>,
    /// The path of the file relative to the folder. `None` if the text came with the request.
    file: Option<String>,
    /// Its text, or all its problems.
    pub(super) found: Result<Manifest, Vec<FileProblem>>,
}

impl JudgedFile {
    /// Reads the text and judges it. The model is that of conversations that name none. Blocks.
    ///
    /// # Errors
    /// The answer, if there is no text to judge.
    pub(super) fn judge(
        given: &GivenText,
        name: Option<String>,
        folder: &Path,
        home: &Path,
        (model, prices): (&str, &Prices),
    ) -> Result<Self, Refusal> {
        let bytes = given.bytes(folder, home)?;
        let name = checked_name(name.unwrap_or_else(|| given.name()))?;
        let (bytes, format) = filled(bytes, given.format(), folder);
        let found = read(&bytes, format, FeatureList::Needed);
        let found = found.and_then(|manifest| priced(manifest, model, prices));
        Ok(Self {
            name,
            hash: hash(&bytes),
            text: bytes,
            file: given.below(folder),
            found,
        })
    }

    /// The file, if it can be used and is the one that a person approves, if one does.
    ///
    /// # Errors
    /// The answer with all faults of the text; with its hash, if another one was approved; or the refusal of a file
    /// that has no gate for a later approval.
    pub(super) fn given(self, approve: Option<&str>) -> Result<GivenFile, Refusal> {
        let hash = self.hash.clone();
        let file = self.file.clone();
        let text = self.text.clone().into();
        let manifest = self.manifest()?;
        let approved = is_approved(approve, &hash)?;
        if !approved && !manifest.gates.plan {
            let detail = "the file has no gate `plan`, where a person would approve it: approve its hash \
                          with the request";
            return Err(Kind::InvalidWorkflow
                .refuse(detail)
                .with("hash", hash.into()));
        }
        Ok(GivenFile {
            manifest: Arc::new(manifest),
            hash,
            text,
            file,
            approved,
        })
    }

    /// The manifest.
    ///
    /// # Errors
    /// The answer that has all that is wrong with the text.
    pub(super) fn manifest(self) -> Result<Manifest, Refusal> {
        let (name, hash) = (self.name, self.hash);
        self.found.map_err(|problems| {
            let first = problems.first().map(FileProblem::to_string);
            let more = match problems.len().saturating_sub(1) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let first = first.unwrap_or_default();
            let detail = format!("the file of {name:?} cannot be used: {first}{more}");
            Kind::InvalidWorkflow
                .refuse(detail)
                .with("hash", hash.into())
                .with("problems", serde_json::json!(problems))
        })
    }
}

/// Reads the text of a workflow, and judges it.
///
/// # Errors
/// The answer, if there is no text to judge.
pub(super) async fn judge(
    shared: &HttpShared,
    given: GivenText,
    name: Option<String>,
    folder: PathBuf,
) -> Result<JudgedFile, Refusal> {
    let home = shared.home.to_path_buf();
    let model = shared.about.info.model.clone();
    let prices = Arc::clone(&shared.prices);
    let judging = move || JudgedFile::judge(&given, name, &folder, &home, (&model, &prices));
    let judged = blocking(judging).await;
    judged.map_err(|error| Kind::Overloaded.refuse(format!("files cannot be read: {error}")))?
}

/// True if a person approved the file that has this hash.
fn is_approved(approve: Option<&str>, hash: &str) -> Result<bool, Refusal> {
    match approve {
        None => Ok(false),
        Some(approved) if approved == hash => Ok(true),
        Some(approved) => {
            let detail = format!(
                "the file has the hash {hash}, and {approved} was approved; look at it again"
            );
            Err(Kind::OtherFile.refuse(detail).with("hash", hash.into()))
        }
    }
}

/// Refuses a budget of money for a model without a known price.
fn priced(manifest: Manifest, model: &str, prices: &Prices) -> Result<Manifest, Vec<FileProblem>> {
    let model = manifest.permissions.model.as_deref().unwrap_or(model);
    if manifest.budget.cost_usd.is_none() || prices.knows(model) {
        return Ok(manifest);
    }
    Err(vec![FileProblem {
        place: "budget.cost_usd".to_owned(),
        line: None,
        message: format!(
            "the model {model:?} has no known price; name it in prices.json of the state folder, or leave this out and \
             bound `tokens` instead"
        ),
    }])
}

/// The branch of the work may have the name in it.
fn checked_name(name: String) -> Result<String, Refusal> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_good = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(is_known)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.ends_with('.')
        && !name.contains("..");
    if is_good {
        return Ok(name);
    }
    Err(Kind::InvalidOrder.refuse(format!(
        "a workflow cannot be called {name:?}: a name has 1 to {MAX_NAME} letters, digits, `-`, `_` and \
         `.`, and begins with a letter or a digit; give another as `name`"
    )))
}

/// The content of a file below the folder, up to one byte more than a workflow may have.
fn bytes_of(path: &str, folder: &Path, home: &Path) -> Result<Vec<u8>, Refusal> {
    let refuse = |why: String| {
        Kind::BadRequest.refuse(format!("the file of the workflow at {path:?} {why}"))
    };
    let unreadable = |error: std::io::Error| refuse(format!("cannot be read: {error}"));
    let held = FolderHandle::open(folder).map_err(unreadable)?;
    let opened = held
        .without(home)
        .open_file(Path::new(path), LinkPolicy::Inside);
    let file = opened.map_err(|error| match error {
        BeneathError::LeadsOut | BeneathError::Link => refuse(format!(
            "is outside of {}; name the folder of its repository as `folder`",
            folder.display()
        )),
        BeneathError::LeftOut => refuse("is in the service's state folder".to_owned()),
        BeneathError::NotAFile => refuse("is not a file".to_owned()),
        BeneathError::Io(error) => unreadable(error),
    })?;
    let most = u64::try_from(MAX_FILE)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
