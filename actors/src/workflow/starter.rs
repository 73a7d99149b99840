//! The list of features of a workflow that has none: a start for a person to sharpen, made from the files of the
//! repository.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};

use super::file::FileFormat;
use super::file::keys::STARTER;

/// Maximum size of a file's beginning that is read, in bytes.
const MAX_LOOKED_AT: u64 = 256 * 1024;

/// The facts about a repository that a starter list asks for: how it is built, how its tests run, and which
/// names of passing tests their output has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryFacts {
    build: Option<Value>,
    tests: Option<Value>,
    keep: Option<&'static str>,
}

impl RepositoryFacts {
    /// Looks at the files in the root of a repository; nothing of it is run. Blocks.
    #[must_use]
    pub fn look(folder: &Path) -> Self {
        let text = |name: &str| {
            let path = folder.join(name);
            let file = path.is_file().then(|| File::open(&path))?.ok()?;
            let mut bytes = Vec::new();
            file.take(MAX_LOOKED_AT).read_to_end(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let is_there = |name: &str| folder.join(name).exists();
        let cmd = |words: &[&str]| Some(json!({"cmd": words}));
        let shell = |line: &str| Some(json!({"shell": line}));
        if is_there("Cargo.toml") {
            return Self::from_values(
                cmd(&["cargo", "build", "--workspace"]),
                cmd(&["cargo", "test", "--workspace"]),
                Some(r"^test (\S+) \.\.\. ok$"),
            );
        }
        if is_there("go.mod") {
            return Self::from_values(
                cmd(&["go", "build", "./..."]),
                cmd(&["go", "test", "-v", "./..."]),
                Some(r"^\s*--- PASS: (\S+)"),
            );
        }
        if let Some(text) = text("package.json") {
            let package: Value = serde_json::from_str(&text).unwrap_or_default();
            let has = |script: &str| package["scripts"][script].is_string();
            let build = has("build").then(|| cmd(&["npm", "run", "build"]));
            let tests = has("test").then(|| cmd(&["npm", "test"]));
            return Self::from_values(build.flatten(), tests.flatten(), None);
        }
        if let Some(text) = text("Makefile").or_else(|| text("makefile")) {
            let has_tests = text.lines().any(|line| line.starts_with("test:"));
            let tests = has_tests.then(|| cmd(&["make", "test"]));
            return Self::from_values(cmd(&["make"]), tests.flatten(), None);
        }
        let is_python = ["pyproject.toml", "setup.py", "requirements.txt"];
        if is_python.iter().any(|name| is_there(name)) {
            // A check that leaves files in the tree shows nothing.
            let build = shell("python3 -X pycache_prefix=\"$TMPDIR\" -m compileall -q .");
            if !is_there("tests") {
                return Self::from_values(build, None, None);
            }
            let tests = "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -v -s tests";
            return Self::from_values(build, shell(tests), Some(r"^(\S+ \(\S+\)) \.\.\. ok$"));
        }
        Self::default()
    }

    fn from_values(build: Option<Value>, tests: Option<Value>, keep: Option<&'static str>) -> Self {
        Self { build, tests, keep }
    }

    /// The features, as in a file: that it builds, that its tests pass, the objective, and that nothing which
    /// worked is lost. What no command decides, a person does. One that holds before the work passes at once.
    #[must_use]
    pub fn features(&self, objective: &str) -> Value {
        let feature = |id: &str, description: &str, step: &str| json!({"id": id, "description": description, "steps": [step]});
        let held = |id: &str, description: &str, step: &str, check: Value| {
            let mut feature = feature(id, description, step);
            feature["holds"] = true.into();
            feature["check"] = json!([check]);
            feature
        };
        let build = match &self.build {
            Some(build) => held(
                "build",
                "The project builds",
                "Build it as the check does",
                build.clone(),
            ),
            None => feature(
                "build",
                "One command builds the project, and the README names it",
                "Follow the README in a fresh checkout",
            ),
        };
        let tests = match &self.tests {
            Some(tests) => held(
                "tests",
                "All tests of the project pass",
                "Run them as the check does",
                tests.clone(),
            ),
            None => feature(
                "tests",
                "One command runs the tests of the project, and the README names it",
                "Run that command in a fresh checkout",
            ),
        };
        let goal = feature("objective", objective, "Try it as its users would");
        let lost = match (&self.tests, self.keep) {
            (Some(tests), Some(keep)) => {
                let mut check = tests.clone();
                check["exit"] = "any".into();
                check["keep"] = keep.into();
                held(
                    "no-regressions",
                    "Every test that passed goes on passing",
                    "Compare the tests that pass with those that passed before",
                    check,
                )
            }
            (Some(_), None) | (None, _) => {
                let mut lost = feature(
                    "no-regressions",
                    "Tests hold what the objective adds, so that it cannot be lost unnoticed",
                    "Take a part of it away, and see a test fail",
                );
                lost["after"] = json!(["objective"]);
                lost
            }
        };
        json!([build, tests, goal, lost])
    }
}

/// The file with a starter list in place of the word that asks for it, as JSON. `None` if the file asks for none or
/// cannot be read. A person approves this text, with every command in it.
#[must_use]
pub fn starter(bytes: &[u8], format: FileFormat, found: &RepositoryFacts) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut file: Value = match format {
        FileFormat::Toml => serde_json::to_value(toml::from_str::<toml::Value>(text).ok()?).ok()?,
        FileFormat::Json => serde_json::from_str(text).ok()?,
    };
    let workflow = file.get_mut("workflow")?.as_object_mut()?;
    if workflow.get("plan")? != STARTER {
        return None;
    }
    let objective = workflow.get("objective")?.as_str()?.to_owned();
    workflow.remove("plan");
    let file = file.as_object_mut()?;
    if file.contains_key("feature") {
        return None; // Reading the file says why that cannot be.
    }
    file.insert("feature".to_owned(), found.features(&objective));
    serde_json::to_vec_pretty(file).ok()
}

/// The file unchanged, or with the starter list of that repository if it asks for one. Blocks.
#[must_use]
pub fn filled(bytes: Vec<u8>, format: FileFormat, folder: &Path) -> (Vec<u8>, FileFormat) {
    // The folder is read only if the file asks for it.
    let asks = starter(&bytes, format, &RepositoryFacts::default()).is_some();
    match asks.then(|| starter(&bytes, format, &RepositoryFacts::look(folder))) {
        Some(Some(list)) => (list, FileFormat::Json),
        Some(None) | None => (bytes, format),
    }
}

#[cfg(test)]
#[path = "starter_tests.rs"]
mod tests;
