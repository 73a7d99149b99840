//! Files that go with a prompt: their names while the operator writes them, and paths that are pasted.

use harness_protocol::FoundFiles;

use super::completions::Completion;
use super::{App, AppEffect, Missing};
use crate::link::{ClientOrder, PromptFile};
use crate::text::pasted_paths;

/// The files that the name fits which is being written.
#[derive(Debug, Default)]
pub(super) struct FileOffers {
    /// The last question, with its conversation.
    asked: Option<(String, String)>,
    /// The answer is on its way.
    is_asking: bool,
    /// The last answer of the service.
    found: FoundFiles,
}

impl App {
    /// Asks for the files that fit, while the name of one is being written.
    pub(super) fn want_files(&mut self) {
        let Some(mention) = self.composer.open_mention() else {
            self.files.asked = None;
            self.files.found = FoundFiles::default();
            return;
        };
        let asked = (self.open_id().to_owned(), mention.query);
        let is_known = self.files.asked.as_ref() == Some(&asked);
        if is_known || self.files.is_asking || self.is_down() || self.opening.is_some() {
            return;
        }
        self.files.is_asking = true;
        let (conversation, query) = asked.clone();
        self.files.asked = Some(asked);
        self.order(ClientOrder::Files {
            conversation,
            query,
        });
    }

    /// The service told what fits. What was asked before another conversation was opened, or
    /// before the name was written to its end, is not shown.
    pub(super) fn files_found(&mut self, conversation: &str, found: FoundFiles) {
        self.files.is_asking = false;
        let is_asked =
            |(of, query): &(String, String)| *of == conversation && *query == found.query;
        if self.files.asked.as_ref().is_some_and(is_asked) {
            self.files.found = found;
            self.chosen_command = 0;
        }
    }

    /// The files that fit the name that is being written.
    pub(super) fn file_completions(&self) -> Vec<Completion> {
        let found = &self.files.found;
        // Until the answer to the last letters is there, those of the one before that have them.
        let query = self.composer.open_mention().map(|mention| mention.query);
        let query = query.unwrap_or_default().to_lowercase();
        let has_letters = |path: &&String| {
            let path = path.to_lowercase();
            let mut letters = path.chars();
            let mut wanted = query.chars().filter(|c| !c.is_whitespace());
            wanted.all(|wanted| letters.any(|c| c == wanted))
        };
        let help = match found.is_whole {
            true => String::new(),
            false => format!("of the first {} files", found.known),
        };
        let files = found.files.iter();
        files
            .filter(has_letters)
            .map(|path| Completion {
                label: path.clone(),
                help: help.clone(),
                writes: path.clone(),
            })
            .collect()
    }

    /// Takes the chosen file; whether the name of one was being written that fits any.
    pub(super) fn complete_file(&mut self) -> bool {
        let Some(mention) = self.composer.open_mention() else {
            return false;
        };
        let fitting = self.completions();
        let Some(chosen) = fitting.get(self.chosen_command(fitting.len())) else {
            return false;
        };
        self.composer.complete_mention(mention, &chosen.writes);
        self.chosen_command = 0;
        true
    }

    /// Lets a file go with the prompt, once it is known that it is there.
    pub(super) fn attach_command(&mut self, argument: &str) -> bool {
        let path = argument.trim_matches(['"', '\'']);
        if path.is_empty() {
            self.complain("say /attach PATH; @ completes files of the folder");
            return false;
        }
        let folder = self.conversation.status().folder.clone();
        let path = match (path.strip_prefix("~/"), &self.home, folder) {
            (Some(rest), Some(home), _) => format!("{home}/{rest}"),
            (None, _, Some(folder)) if !path.starts_with('/') => format!("{folder}/{path}"),
            _ => path.to_owned(),
        };
        let missing = Missing::Path(path.clone());
        let lists = vec![vec![path]];
        self.effects.push(AppEffect::Look { lists, missing });
        true
    }

    /// True if a paste may be of files that were dropped; then the client looks for them.
    pub(super) fn drop_files(&mut self, text: &str) -> bool {
        let lists = pasted_paths(text, self.home.as_deref());
        if lists.is_empty() {
            return false;
        }
        let missing = Missing::Text(text.to_owned());
        self.effects.push(AppEffect::Look { lists, missing });
        true
    }

    /// It was looked whether there are files.
    pub(super) fn looked(&mut self, files: Option<Vec<String>>, missing: Missing) {
        match (files, missing) {
            (Some(files), _) => {
                for path in files {
                    let file = self.prompt_file(path);
                    self.composer.attach(file);
                }
            }
            (None, Missing::Text(text)) => {
                self.composer.paste(&text);
                if self.is_remote {
                    self.say("a path of another machine is text; only files of this one go along");
                }
            }
            (None, Missing::Path(path)) => {
                self.complain(format!("there is no file {path} on this machine"));
            }
        }
    }

    /// From now on a path that is dropped may be one of another machine.
    pub(crate) fn be_remote(&mut self) {
        self.is_remote = true;
    }

    /// It was looked whether a picture is on the clipboard.
    pub(super) fn picture(&mut self, path: Option<String>) {
        match path {
            Some(path) => {
                self.composer.attach(PromptFile::Here(path));
            }
            None => self.complain("no picture in reach; save it and use /attach PATH"),
        }
    }

    /// A file below the folder of the conversation is read by the service.
    fn prompt_file(&self, path: String) -> PromptFile {
        let folder = self.conversation.status().folder.as_deref();
        let below = folder.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
        match below.map(str::to_owned) {
            Some(below) => PromptFile::Below(below),
            None => PromptFile::Here(path),
        }
    }
}
