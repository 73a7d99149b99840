//! The prompts of the past, in memory.

use std::sync::Arc;

/// Maximum number of remembered prompts.
pub(crate) const MAX_ENTRIES: usize = 100;
/// Maximum size of a remembered prompt, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The prompts of the past, oldest first. A clone costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptHistory {
    entries: Arc<Vec<String>>,
}

impl PromptHistory {
    /// The prompts, oldest first.
    pub(crate) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds a prompt as the newest; false if it is not one to be remembered: it is blank, it is
    /// the newest already, or a space before it asks that it be forgotten.
    pub(crate) fn add(&mut self, prompt: &str) -> bool {
        if prompt.trim().is_empty() || prompt.starts_with(' ') {
            return false;
        }
        let prompt = shortened(prompt);
        if self.entries.last() == Some(&prompt) {
            return false;
        }
        let entries = Arc::make_mut(&mut self.entries);
        entries.push(prompt);
        if entries.len() > MAX_ENTRIES {
            entries.remove(0);
        }
        true
    }
}

impl FromIterator<String> for PromptHistory {
    /// The last of these prompts, unchanged.
    fn from_iter<I: IntoIterator<Item = String>>(prompts: I) -> Self {
        let mut entries: Vec<String> = prompts.into_iter().collect();
        entries.drain(..entries.len().saturating_sub(MAX_ENTRIES));
        Self {
            entries: Arc::new(entries),
        }
    }
}

/// The prompt, or its beginning and a note of what it was.
fn shortened(prompt: &str) -> String {
    if prompt.len() <= MAX_BYTES {
        return prompt.to_owned();
    }
    let note = format!("\n[cut: {} bytes in all]", prompt.len());
    let end = prompt.floor_char_boundary(MAX_BYTES - note.len());
    format!("{}{note}", &prompt[..end])
}

#[cfg(test)]
#[path = "entries_tests.rs"]
mod tests;
