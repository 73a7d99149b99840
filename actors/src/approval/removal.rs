//! Whether a command would remove the conversation's folder, the home folder, or a folder above one of
//! them: by its text alone.
//!
//! Invariant: it only ever costs an approval. Links are not looked at, and a program that removes files in
//! its own way is not seen.

use std::path::{Path, PathBuf};

use super::command_line::{Complex, Parts};
use super::{loose, programs};
use crate::lexical::lexical;

/// How many folders deep changes of the folder are followed.
const MAX_DEPTH: usize = 256;
/// How many folders are kept in mind where a command may be.
const MAX_PLACES: usize = 16;
/// Ways to write a folder that are read as the shorter one.
const SAME: &[(&str, &str)] = &[
    ("${HOME}", "$HOME"),
    ("${PWD}", "$PWD"),
    ("$(pwd)", "$PWD"),
    ("`pwd`", "$PWD"),
];

/// The folders that a command must not remove unasked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept<'a> {
    /// The conversation's.
    pub(super) folder: &'a Path,
    /// The operator's home folder, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl Kept<'_> {
    /// The kept folder that a command in that folder would remove, if there is one.
    pub(super) fn removed_by(
        &self,
        line: &str,
        parts: Result<&Parts, &Complex>,
        start: &Path,
    ) -> Option<&'static str> {
        let mut search = Search {
            kept: self,
            places: vec![start.to_owned()],
        };
        match parts {
            Err(_) => search.in_text(line),
            Ok(parts) => parts.iter().find_map(|words| search.in_command(words)),
        }
    }

    /// The kept folder that a path is, or is above.
    fn name(&self, path: &Path) -> Option<&'static str> {
        if path == self.folder {
            return Some("the conversation's folder");
        }
        if self.home == Some(path) {
            return Some("the home folder");
        }
        let is_above = self.folder.starts_with(path) || self.home?.starts_with(path);
        is_above.then_some("a folder above the conversation's or the home folder")
    }
}

struct Search<'a> {
    kept: &'a Kept<'a>,
    /// Where the command may be: where it starts, and where each change of the folder led. Which of them
    /// succeeded is not known.
    places: Vec<PathBuf>,
}

impl Search<'_> {
    /// Looks into a command whose words are known.
    fn in_command(&mut self, words: &[String]) -> Option<&'static str> {
        let (program, arguments) = words.split_first()?;
        let targets = match programs::base(program) {
            "cd" => {
                self.follow(arguments);
                Vec::new()
            }
            "rm" | "rmdir" => paths(arguments),
            "mv" => sources(arguments),
            "find" if removes_found(words) => roots(arguments),
            _ => Vec::new(),
        };
        if let Some(found) = self.among(&targets) {
            return Some(found);
        }
        programs::runs_arguments(program, arguments.first().map(String::as_str))?;
        self.in_text(&words.join(" "))
    }

    /// Looks into a text that may be any commands.
    fn in_text(&mut self, text: &str) -> Option<&'static str> {
        let mut text = text.to_owned();
        for (long, short) in SAME {
            text = text.replace(long, short);
        }
        let known = self.places.len();
        [true, false].into_iter().find_map(|is_grouped| {
            self.places.truncate(known);
            let commands = loose::commands(&text, is_grouped);
            commands.iter().find_map(|words| self.in_words(words))
        })
    }

    /// Looks into words that hold a command somewhere, such as behind `sudo`.
    fn in_words(&mut self, words: &[String]) -> Option<&'static str> {
        let at = |names: &[&str]| {
            let mut words = words.iter();
            words.position(|word| names.contains(&programs::base(word)))
        };
        if let Some(at) = at(&["cd", "pushd"]) {
            self.follow(&words[at + 1..]);
        }
        let is_found = at(&["find"]).is_some() && removes_found(words);
        if is_found || at(&["rm", "rmdir"]).is_some() {
            let mut targets = paths(words);
            let is_rooted = targets
                .iter()
                .any(|target| programs::base(target) != "find");
            if is_found && !is_rooted {
                targets.push(".");
            }
            return self.among(&targets);
        }
        at(&["mv"]).and_then(|at| self.among(&sources(&words[at + 1..])))
    }

    /// Goes where a change of the folder leads.
    fn follow(&mut self, arguments: &[String]) {
        let to = arguments.iter().find(|word| !word.starts_with('-'));
        let to = to.map_or("~", String::as_str);
        let place = self.places.last();
        let place = place.and_then(|place| resolved(place, self.kept.home, to));
        let is_near = |place: &PathBuf| place.components().count() <= MAX_DEPTH;
        self.places.extend(place.filter(is_near));
        if self.places.len() > MAX_PLACES {
            self.places.remove(1);
        }
    }

    /// The kept folder that arguments name, wherever the command is by then.
    fn among(&self, targets: &[&str]) -> Option<&'static str> {
        targets.iter().find_map(|target| {
            self.places.iter().find_map(|folder| {
                let path = resolved(folder, self.kept.home, target)?;
                self.kept.name(&path)
            })
        })
    }
}

/// The arguments that are no options.
fn paths(words: &[String]) -> Vec<&str> {
    let words = words.iter().map(String::as_str);
    words.filter(|word| !word.starts_with('-')).collect()
}

/// The paths that `mv` takes away: all but the place where it goes.
fn sources(words: &[String]) -> Vec<&str> {
    let names_target =
        |word: &String| word.starts_with("-t") || word.starts_with("--target-directory");
    let mut sources = paths(words);
    if !words.iter().any(names_target) {
        sources.pop();
    }
    sources
}

/// Where `find` begins.
fn roots(words: &[String]) -> Vec<&str> {
    let words = words.iter().map(String::as_str);
    let behind_options = words.skip_while(|word| matches!(*word, "-H" | "-L" | "-P"));
    let roots: Vec<&str> = behind_options
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .collect();
    if roots.is_empty() { vec!["."] } else { roots }
}

/// Whether `find` removes what it finds.
fn removes_found(words: &[String]) -> bool {
    let is = |names: &[&str]| {
        let mut words = words.iter();
        words.any(|word| names.contains(&programs::base(word)))
    };
    is(&["-delete"]) || is(&["-exec", "-execdir", "-ok", "-okdir"]) && is(&["rm", "rmdir"])
}

/// The path that a word of a command means in a folder. All that is in a folder counts as the folder.
fn resolved(folder: &Path, home: Option<&Path>, word: &str) -> Option<PathBuf> {
    let mut word = word;
    while let Some((rest, name)) = split_last(word)
        && is_all(name)
    {
        word = rest;
    }
    let whole = if word.is_empty() { "." } else { word };
    let behind = |name: &str| {
        let rest = whole.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    let path = if let Some(below) = behind("~").or_else(|| behind("$HOME")) {
        home?.join(below)
    } else if let Some(below) = behind("$PWD") {
        folder.join(below)
    } else {
        folder.join(whole)
    };
    Some(lexical(&path))
}

/// A path without its last name, and that name.
fn split_last(path: &str) -> Option<(&str, &str)> {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return None;
    }
    Some(match trimmed.rfind('/') {
        None => ("", trimmed),
        Some(at) => (&trimmed[..=at], &trimmed[at + 1..]),
    })
}

/// Whether a pattern of names stands for everything, or for all that is hidden.
fn is_all(name: &str) -> bool {
    let is_of_pattern = |c: char| matches!(c, '*' | '?' | '.' | '[' | ']' | '!' | '^');
    name.contains(['*', '?']) && name.chars().all(is_of_pattern)
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
