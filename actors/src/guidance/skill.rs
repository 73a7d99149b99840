//! Skills: named instructions that the model or an operator can call on.

use std::path::Path;

use super::element::{Element, escaped};

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// The model's introduction to the list of skills.
const INTRODUCTION: &str = "\
The following skills hold instructions for particular tasks. When a task fits a skill's \
description, read the whole file at the skill's location before you begin, and follow it. Paths \
in that file start at the folder that it is in.";

/// Named instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skill {
    /// Names it: lower-case letters, digits and hyphens, at most 64.
    pub name: String,
    /// The situations in which the model should use the skill; at most 1,024 characters.
    pub description: String,
    /// The instructions.
    pub content: String,
    /// True if the skill is hidden from the model; operators can still invoke it.
    pub hidden: bool,
    /// The file that it was loaded from.
    pub path: Option<String>,
}

impl Skill {
    /// True if the text is a valid name of a skill: 1 to 64 lower-case letters, digits and hyphens.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let is_fitting = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_fitting)
    }

    /// The message to the model when an operator invokes the skill: the instructions as a block,
    /// and then the operator's further words, each piece after a blank line. Blank pieces are left
    /// out.
    #[must_use]
    pub fn invocation(&self, extra: &[String]) -> String {
        let mut opening = Element::new("skill").attribute("name", &self.name);
        let mut inside = String::new();
        if let Some(path) = &self.path {
            opening = opening.attribute("location", path);
            if let Some(folder) = Path::new(path).parent() {
                inside = format!("Paths in this skill start at {}.\n\n", folder.display());
            }
        }
        inside += self.content.trim_matches(['\n', '\r']);
        let mut text = opening.around(&inside);
        for piece in extra.iter().map(|piece| piece.trim()) {
            if !piece.is_empty() {
                text += "\n\n";
                text += piece;
            }
        }
        text
    }
}

/// The part of the system prompt about the skills that the model may know of, by name; empty if
/// there is none.
#[must_use]
pub fn listing(skills: &[Skill]) -> String {
    let mut visible: Vec<&Skill> = skills.iter().filter(|skill| !skill.hidden).collect();
    if visible.is_empty() {
        return String::new();
    }
    visible.sort_by(|one, other| one.name.cmp(&other.name));
    let entries: Vec<String> = visible.into_iter().map(entry).collect();
    let list = Element::new("available_skills").around(&entries.join("\n"));
    format!("{INTRODUCTION}\n\n{list}")
}

fn entry(skill: &Skill) -> String {
    let line = |name: &str, text: &str| format!("<{name}>{}</{name}>", escaped(text));
    let mut lines = vec![
        line("name", &skill.name),
        line("description", &skill.description),
    ];
    lines.extend(skill.path.iter().map(|path| line("location", path)));
    Element::new("skill").around(&lines.join("\n"))
}

#[cfg(test)]
#[path = "skill_tests.rs"]
mod tests;
