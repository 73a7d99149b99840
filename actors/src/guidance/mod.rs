//! The guidance of the model besides the operators' words: context files and the list of skills;
//! and the texts that operators invoke by name: skills and prompt templates.

mod element;
mod skill;
mod template;

use std::sync::{Arc, PoisonError, RwLock};

use element::Element;

pub use skill::{Skill, listing};
pub use template::{PromptTemplate, parse_arguments};

/// A file with instructions, for example `AGENTS.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The path of the file.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Everything at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guidance {
    /// In the order in which the system prompt contains them.
    pub context_files: Vec<ContextFile>,
    /// By name, each name once.
    pub skills: Vec<Skill>,
    /// By name, each name once.
    pub templates: Vec<PromptTemplate>,
    /// The files that could not be loaded, one line each with its name and the reason.
    pub problems: Vec<String>,
}

impl Guidance {
    /// The system prompt that begins with `base`: the context files, unless they are switched off,
    /// and the skills that the model may use follow. The same guidance makes the same bytes.
    #[must_use]
    pub fn system_prompt(&self, base: &str, with_context_files: bool) -> String {
        let mut parts = vec![base.to_owned()];
        if with_context_files {
            parts.extend(self.context_files.iter().map(ContextFile::shown_path));
        }
        parts.push(listing(&self.skills));
        parts.retain(|part| !part.trim().is_empty());
        parts.join("\n\n")
    }

    /// The skill of that name, hidden or not.
    #[must_use]
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The template of that name.
    #[must_use]
    pub fn template(&self, name: &str) -> Option<&PromptTemplate> {
        self.templates.iter().find(|template| template.name == name)
    }
}

impl ContextFile {
    /// The text about it for the model.
    fn shown_path(&self) -> String {
        let text = self.text.trim_matches(['\n', '\r']);
        if text.trim().is_empty() {
            return String::new();
        }
        let element = Element::new("context_file").attribute("path", &self.path);
        element.around(text)
    }
}

/// The guidance of a service: read by conversations, replaced by the loader.
#[derive(Debug, Clone, Default)]
pub struct GuidanceShelf(Arc<RwLock<Arc<Guidance>>>);

impl GuidanceShelf {
    /// The guidance of now.
    #[must_use]
    pub fn get(&self) -> Arc<Guidance> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes a part of it; what runs keeps what it has.
    pub fn change(&self, change: impl FnOnce(&mut Guidance)) {
        let mut guidance = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut guidance));
    }

    /// Number of clones that share the guidance.
    #[must_use]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Replaces the guidance; runs in progress keep theirs.
    pub fn set(&self, guidance: Guidance) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guidance);
    }
}

#[cfg(test)]
#[path = "guidance_tests.rs"]
mod tests;
