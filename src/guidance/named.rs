//! A file that can be invoked by name: a skill or a prompt template.

use std::path::Path;

use harness_actors::guidance::{PromptTemplate, Skill};

use super::file::Text;
use super::front_matter::{self, Fields};
use crate::visible;

/// How large such a file may be, in bytes.
pub(super) const MAX_BYTES: usize = 1024 * 1024;
/// How long a description may be, in characters.
const MAX_DESCRIPTION: usize = 1024;
/// How long the name of a template may be, in characters.
const MAX_NAME: usize = 64;
/// The names under which a file says that its skill is hidden.
const HIDDEN: [&str; 2] = ["disable-model-invocation", "hidden"];

/// The skill that a file describes, with what is wrong with it that does not matter for its use.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn skill(path: &Path, text: Text) -> Result<(Skill, Option<String>), String> {
    let text = complete_text(text)?;
    let Some((yaml, content)) = front_matter::divide(&text) else {
        return Err("it has no front matter between two lines `---`".to_owned());
    };
    let fields = front_matter::parse(yaml)?;
    let name = field(&fields, "name").ok_or("its front matter has no name")?;
    if !Skill::is_name(name) {
        return Err(format!(
            "its name {name:?} has to be 1 to {MAX_NAME} lower-case letters, digits and hyphens"
        ));
    }
    let description = field(&fields, "description").ok_or("its front matter has no description")?;
    let length = description.chars().count();
    if length > MAX_DESCRIPTION {
        return Err(format!(
            "its description has {length} characters, more than {MAX_DESCRIPTION}"
        ));
    }
    let folder = path.parent().and_then(Path::file_name);
    let problem = (folder.is_none_or(|folder| folder != name))
        .then(|| format!("its folder has to have its name, {name:?}; it is loaded all the same"));
    let skill = Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        content: trimmed(content),
        hidden: is_hidden(&fields)?,
        path: Some(place(path)?),
    };
    Ok((skill, problem))
}

/// The template that a file holds.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn template(path: &Path, text: Text) -> Result<PromptTemplate, String> {
    let text = complete_text(text)?;
    // A line of hyphens that has no other is a line in the text.
    let (yaml, content) = front_matter::divide(&text).unwrap_or(("", &text));
    let fields = front_matter::parse(yaml)?;
    let place = place(path)?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let name = name.ok_or("its name is not UTF-8 text")?;
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(format!(
            "its name has to be at most {MAX_NAME} characters that can be shown"
        ));
    }
    let first_line = || content.lines().map(str::trim).find(|line| !line.is_empty());
    let description = field(&fields, "description").or_else(first_line);
    Ok(PromptTemplate {
        name: name.to_owned(),
        description: visible::cut(description.unwrap_or_default(), MAX_DESCRIPTION),
        content: trimmed(content),
        path: Some(place),
    })
}

fn complete_text(text: Text) -> Result<String, String> {
    match text {
        Text { is_cut: true, .. } => Err(format!("it has more than {MAX_BYTES} bytes")),
        Text { text, .. } => Ok(text),
    }
}

fn place(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or("its path is not UTF-8 text")?;
    Ok(text.to_owned())
}

fn trimmed(content: &str) -> String {
    content.trim_matches('\n').to_owned()
}

/// A value that is not blank.
fn field<'f>(fields: &'f Fields, name: &str) -> Option<&'f str> {
    let value = fields.get(name)?.trim();
    (!value.is_empty()).then_some(value)
}

fn is_hidden(fields: &Fields) -> Result<bool, String> {
    let mut hidden = false;
    for name in HIDDEN {
        hidden |= match field(fields, name) {
            Some("true" | "True" | "TRUE") => true,
            Some("false" | "False" | "FALSE") | None => false,
            Some(value) => return Err(format!("its {name} is {value:?}, neither true nor false")),
        };
    }
    Ok(hidden)
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
