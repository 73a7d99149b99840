//! `harness workflow import`: a list of features, as agents that work for long keep one, as the file of a workflow.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use harness_actors::workflow::file::{FeatureList, FileFormat, read};
use serde_json::{Map, Value, json};

use super::{WorkflowFileError, bytes_of, problem_lines, summary};
use crate::visible;

/// Maximum length of the id of a feature that is made of its description.
const MAX_ID: usize = 40;
/// The keys that an entry of the list may have.
const KEYS: [&str; 4] = ["category", "description", "steps", "passes"];

/// The flags of `harness workflow import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The list: a JSON array of features, each with category, description, steps and passes
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the file of the workflow there; to standard output if left out
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The objective of the workflow
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "Every feature of the list works"
    )]
    objective: String,
    /// Print one JSON object: problems, features, passes and the file
    #[arg(long)]
    json: bool,
}

/// A feature of the list.
#[derive(Debug, PartialEq, Eq)]
struct ListedFeature {
    category: Option<String>,
    description: String,
    steps: Vec<String>,
    passes: bool,
}

/// Writes the file of a workflow; the exit code.
///
/// # Errors
/// If the list cannot be read, or the file not be written.
pub(super) fn run(import: &ImportArgs, out: &mut impl Write) -> Result<i32, WorkflowFileError> {
    let failed = |path: &PathBuf, error| WorkflowFileError::File {
        path: path.clone(),
        error,
    };
    let bytes = bytes_of(&import.file).map_err(|error| failed(&import.file, error))?;
    let name = visible::line(&import.file.to_string_lossy());
    let (listed, mut problems) = list(&bytes);
    let passing = listed.iter().filter(|feature| feature.passes).count();
    let text = file(&import.objective, &listed);
    if problems.is_empty()
        && let Err(found) = read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed)
    {
        problems = problem_lines("the file of the workflow", &found);
    }
    if import.json {
        let all = json!({"problems": problems, "features": listed.len(), "passes": passing,
            "file": problems.is_empty().then_some(&text)});
        writeln!(out, "{}", visible::json(&all).map_err(io::Error::from)?)?;
    }
    if !problems.is_empty() {
        let mut err = io::stderr();
        for problem in &problems {
            drop(writeln!(err, "harness: {name}: {}", visible::line(problem)));
        }
        return Ok(1);
    }
    match &import.output {
        Some(path) => {
            let made = OpenOptions::new().write(true).create_new(true).open(path);
            let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| failed(path, error))?;
        }
        None if !import.json => out.write_all(text.as_bytes())?,
        None => {}
    }
    drop(writeln!(
        io::stderr(),
        "harness: {}",
        remark(listed.len(), passing)
    ));
    Ok(0)
}

fn remark(features: usize, passing: usize) -> String {
    let features = summary::count(features, "feature");
    let passes = match passing {
        0 => String::new(),
        number => format!(
            "; the list says that {} done, which counts for nothing: checks decide",
            if number == 1 {
                "1 is".to_owned()
            } else {
                format!("{number} are")
            }
        ),
    };
    format!(
        "{features} without a check, which a person accepts: fill in `[[feature.check]]`{passes}"
    )
}

/// The features of a list, and all that is wrong with it.
fn list(bytes: &[u8]) -> (Vec<ListedFeature>, Vec<String>) {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return (Vec::new(), vec![format!("it is no JSON: {error}")]),
    };
    let Value::Array(entries) = value else {
        return (Vec::new(), vec!["it is no list of features".to_owned()]);
    };
    if entries.is_empty() {
        return (Vec::new(), vec!["it has no feature".to_owned()]);
    }
    let mut problems = Vec::new();
    let mut listed = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        match feature(&entry) {
            Ok(feature) => listed.push(feature),
            Err(problem) => problems.push(format!("feature {number}: {problem}")),
        }
    }
    (listed, problems)
}

fn feature(entry: &Value) -> Result<ListedFeature, String> {
    let entry = entry.as_object().ok_or("it is no object")?;
    if let Some(key) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(
            "nothing is known of `{key}`; it may have {}",
            KEYS.join(", ")
        ));
    }
    let description = text(entry, "description")?.unwrap_or_default();
    if description.trim().is_empty() {
        return Err("it has no `description`".to_owned());
    }
    let steps = match entry.get("steps") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(steps)) => steps
            .iter()
            .map(|step| step.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or("`steps` are texts")?,
        Some(_) => return Err("`steps` is a list of texts".to_owned()),
    };
    let passes = match entry.get("passes") {
        None | Some(Value::Null) => false,
        Some(passes) => passes.as_bool().ok_or("`passes` is true or false")?,
    };
    Ok(ListedFeature {
        category: text(entry, "category")?,
        description,
        steps,
        passes,
    })
}

fn text(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is a text")),
    }
}

/// The file of the workflow.
fn file(objective: &str, listed: &[ListedFeature]) -> String {
    let mut file = format!(
        "# Made of a list of features. A person accepts a feature without a check: give each one a command that\n\
         # fails before the work and passes after it.\n\n\
         [workflow]\nobjective = {}\nmode = \"strict\"\n",
        quoted(objective)
    );
    let mut known = BTreeSet::new();
    for feature in listed {
        let id = id(&feature.description, &mut known);
        file += "\n";
        if let Some(category) = &feature.category {
            file += &format!("# category: {}\n", visible::line(category));
        }
        file += &format!(
            "[[feature]]\nid = {}\ndescription = {}\n",
            quoted(&id),
            quoted(&feature.description)
        );
        let mut steps = String::new();
        for step in &feature.steps {
            steps += &format!("    {},\n", quoted(step));
        }
        if steps.is_empty() {
            steps = format!("    {},\n", quoted(&feature.description));
        }
        file += &format!("steps = [\n{steps}]\n# [[feature.check]]\n# cmd = [\"\"]\n");
    }
    file
}

/// A name that no other feature has, of the first words of a description.
fn id(description: &str, known: &mut BTreeSet<String>) -> String {
    let mut id = String::new();
    for word in description.split(|c: char| !c.is_ascii_alphanumeric()) {
        let room = MAX_ID.saturating_sub(id.len() + 1);
        if word.is_empty() || (word.len() > room && !id.is_empty()) {
            continue;
        }
        if word.len() > room {
            break;
        }
        if !id.is_empty() {
            id.push('-');
        }
        id += &word.to_ascii_lowercase();
    }
    if id.is_empty() {
        id.push_str("feature");
    }
    let mut own = id.clone();
    for number in 2_u32.. {
        if known.insert(own.clone()) {
            break;
        }
        own = format!("{id}-{number}");
    }
    own
}

/// A text as TOML takes it on one line (TOML 1.0, basic strings).
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
