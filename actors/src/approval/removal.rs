//! Commands that would remove the conversation's folder, the home folder, a folder above one of them, or
//! folders that their words do not name: by the text alone.
//!
//! Invariant: it only ever costs an approval. Links are not looked at, and a program that removes files in
//! its own way is not seen.

use std::path::{Path, PathBuf};

use super::command_line::{Complex, LineCommands};
use super::{loose, programs};
use crate::lexical::lexical;

/// How many folders deep changes of the folder are followed.
const MAX_DEPTH: usize = 256;
/// How many folders are kept in mind where a command may be.
const MAX_PLACES: usize = 16;
/// Ways to write something that are read as another one. The names in braces are words of their own.
const SAME: &[(&str, &str)] = &[
    ("${HOME}", "$HOME"),
    ("${PWD}", "$PWD"),
    ("$(pwd)", "$PWD"),
    ("`pwd`", "$PWD"),
    ("`", "$("),
    (",", " "),
];
/// Programs that remove the files that their arguments name.
const REMOVERS: &[&str] = &["rm", "rmdir", "shred", "unlink"];
/// Programs that add arguments of their own to the command behind them.
const ADDERS: &[&str] = &["fd", "fdfind", "parallel", "xargs"];
/// The removal of folders that cannot be known before the command runs.
const UNNAMED: &str = "what its words do not name";

/// The folders that a command must not remove unasked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProtectedFolders<'a> {
    /// The conversation's.
    pub(super) folder: &'a Path,
    /// The operator's home folder, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl ProtectedFolders<'_> {
    /// The kept folder that a command in that folder would remove, if there is one, or [`UNNAMED`].
    pub(super) fn removed_by(
        &self,
        line: &str,
        parts: Result<&LineCommands, &Complex>,
        start: &Path,
    ) -> Option<&'static str> {
        let mut search = RemovalSearch {
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
            return Some("the conversation's folder, or all that is in it");
        }
        if self.home == Some(path) {
            return Some("the home folder, or all that is in it");
        }
        let is_above = self.folder.starts_with(path) || self.home?.starts_with(path);
        is_above.then_some("a folder above the conversation's or the home folder")
    }
}

struct RemovalSearch<'a> {
    kept: &'a ProtectedFolders<'a>,
    /// Where the command may be: where it starts, and where each change of the folder led. Which of them
    /// succeeded is not known.
    places: Vec<PathBuf>,
}

impl RemovalSearch<'_> {
    /// Looks into a command whose words are known.
    fn in_command(&mut self, words: &[String]) -> Option<&'static str> {
        let (program, arguments) = words.split_first()?;
        let found = match programs::base(program) {
            "cd" => {
                self.follow(arguments);
                None
            }
            "mv" => self.among(&sources(arguments)),
            "git" => cleaned(arguments).and_then(|paths| self.in_folders(&paths)),
            "find" if removes_found(words) => self.in_folders(&roots(arguments)),
            name if REMOVERS.contains(&name) => self.in_removal(name, arguments),
            _ => None,
        };
        if found.is_some() {
            return found;
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
        if let Some(at) = position(words, &["cd", "pushd"]) {
            self.follow(&words[at + 1..]);
        }
        let git = position(words, &["git"]);
        if let Some(paths) = git.and_then(|at| cleaned(&words[at + 1..])) {
            return self.in_folders(&paths);
        }
        if let Some(at) = position(words, &["find"])
            && removes_found(words)
        {
            let found = self.in_folders(&roots(&words[at + 1..]));
            return found.or_else(|| self.among(&paths(words)));
        }
        if let Some(at) = position(words, REMOVERS) {
            let is_added_to = position(&words[..at], ADDERS).is_some();
            let found = self.in_removal(programs::base(&words[at]), &words[at + 1..]);
            return found.or_else(|| is_added_to.then_some(UNNAMED));
        }
        let moved = position(words, &["mv"])?;
        self.among(&sources(&words[moved + 1..]))
    }

    /// Looks at the arguments of a program that removes what they name.
    fn in_removal(&self, program: &str, arguments: &[String]) -> Option<&'static str> {
        let targets = paths(arguments);
        if program == "rmdir" || arguments.iter().any(|word| is_recursive(word)) {
            return match targets.is_empty() {
                true => Some(UNNAMED),
                false => self.in_folders(&targets),
            };
        }
        self.among(&targets)
    }

    /// The kept folder that is removed with folders and all that is in them, or [`UNNAMED`].
    fn in_folders(&self, targets: &[&str]) -> Option<&'static str> {
        let is_unnamed = targets.iter().any(|target| is_unknown(target));
        let found = self.among(targets);
        found.or_else(|| is_unnamed.then_some(UNNAMED))
    }

    /// Goes where a change of the folder leads: if that cannot be known, to the conversation's.
    fn follow(&mut self, arguments: &[String]) {
        let to = arguments.iter().find(|word| !word.starts_with('-'));
        let to = to.map_or("~", String::as_str);
        let place = match self.places.last() {
            Some(_) if is_unknown(to) => Some(self.kept.folder.to_owned()),
            Some(place) => resolved(place, self.kept.home, to),
            None => None,
        };
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

/// The place of the first word that names one of these programs.
fn position(words: &[String], names: &[&str]) -> Option<usize> {
    let mut words = words.iter();
    words.position(|word| names.contains(&programs::base(word)))
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

/// True if an option of `rm` also removes folders.
fn is_recursive(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => option.starts_with('-') && option.contains(['r', 'R']),
    }
}

/// The folders that `git clean` cleans, by the arguments of git; `None` if they are those of another command,
/// or nothing is removed.
fn cleaned(arguments: &[String]) -> Option<Vec<&str>> {
    let mut words = arguments.iter().map(String::as_str);
    let command = loop {
        match words.next()? {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            command => break command,
        }
    };
    if command != "clean" {
        return None;
    }
    let mut paths = Vec::new();
    while let Some(word) = words.next() {
        let (is_tried, takes_next) = match word.strip_prefix("--") {
            Some("") => (false, false),
            Some(long) => ("dry-run".starts_with(long), "exclude".starts_with(long)),
            None => word.strip_prefix('-').map_or((false, false), |letters| {
                let pattern = letters.find('e');
                let flags = &letters[..pattern.unwrap_or(letters.len())];
                (flags.contains('n'), letters.len() == flags.len() + 1)
            }),
        };
        if is_tried {
            return None;
        }
        if takes_next {
            words.next();
        }
        match word.chars().next() {
            Some('-') | None => {}
            // The rest of such a path may mean the top of the repository.
            Some(':') => paths.push("."),
            Some(_) => paths.push(word),
        }
    }
    Some(if paths.is_empty() { vec!["."] } else { paths })
}

/// The folders where `find` begins.
fn roots(words: &[String]) -> Vec<&str> {
    let words = words.iter().map(String::as_str);
    let is_option = |word: &&str| matches!(*word, "-H" | "-L" | "-P") || word.starts_with("-O");
    let behind_options = words.skip_while(is_option);
    let roots: Vec<&str> = behind_options
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .collect();
    if roots.is_empty() { vec!["."] } else { roots }
}

/// True if `find` removes what it finds.
fn removes_found(words: &[String]) -> bool {
    let is = |names: &[&str]| {
        let mut words = words.iter();
        words.any(|word| names.contains(&programs::base(word)))
    };
    is(&["-delete"]) || is(&["-exec", "-execdir", "-ok", "-okdir"]) && is(REMOVERS)
}

/// True if a path has a part that only the shell knows.
fn is_unknown(word: &str) -> bool {
    let behind = |name: &&str| word.strip_prefix(*name);
    let below = ["~", "$HOME", "$PWD"].iter().find_map(behind);
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        Some(below) => below.contains('$'),
        None => word.starts_with('~') || word.contains('$'),
    }
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

/// True if a pattern has no letter of a name outside of brackets, so that it may match everything.
fn is_all(name: &str) -> bool {
    let (mut is_pattern, mut is_in_brackets) = (false, false);
    for c in name.chars() {
        match c {
            '*' | '?' | '!' => is_pattern = true,
            '[' => (is_pattern, is_in_brackets) = (true, true),
            ']' => is_in_brackets = false,
            '.' | '^' => {}
            _ if is_in_brackets => {}
            _ => return false,
        }
    }
    is_pattern
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
