//! The paths that an iteration may not change besides those that the file protects: the scripts that checks run, and
//! new files that would run in place of a check's own runner.
//!
//! Invariant: it follows from the manifest alone. What a script reads or starts in turn is not looked at.

mod names;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use self::names::{PYTHON_RUNNERS, PYTHON_STANDARD};
use self::words::{commands, is_absolute_or_unknown, joined, unprefixed};
use super::manifest::{Check, Manifest, Program, ServiceCommand};
use crate::approval::covers_path;

/// The paths that an iteration may not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathGuard {
    /// Globs below the root.
    globs: Vec<String>,
    /// The scripts that checks run.
    scripts: BTreeSet<String>,
    /// Folders in which Python looks for modules first.
    python: BTreeSet<String>,
    /// Paths without their extension that a command runs by name, if the base does not have them.
    stems: BTreeSet<String>,
    /// Names of runners in any folder.
    anywhere: BTreeSet<&'static str>,
}

impl PathGuard {
    /// That of a manifest.
    #[must_use]
    pub fn for_manifest(manifest: &Manifest) -> Self {
        let mut guard = Self {
            globs: manifest.protect.paths.clone(),
            ..Self::default()
        };
        if !manifest.protect.scripts {
            return guard;
        }
        let of_features = manifest.features.iter().flat_map(|feature| &feature.checks);
        let checks = manifest.health.iter().chain(&manifest.checks);
        let checks = checks.chain(of_features).filter(|check| !check.hidden);
        let checks = checks.filter_map(|check: &Check| check.command.as_ref());
        for command in manifest.workspace.prepare.iter().chain(checks) {
            guard.add(command);
        }
        // What the file protects needs no second word.
        let mut scripts = std::mem::take(&mut guard.scripts);
        scripts.retain(|path| !guard.covers(path));
        guard.scripts = scripts;
        guard
    }

    /// One of these globs alone.
    #[must_use]
    pub fn of_globs(globs: &[String]) -> Self {
        Self {
            globs: globs.to_vec(),
            ..Self::default()
        }
    }

    /// True if the file protects a path.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.globs.iter().any(|glob| covers_path(glob, path))
    }

    /// The scripts that checks run and no glob covers, by their paths below the root. One that the base does not have may be made.
    #[must_use]
    pub fn scripts(&self) -> &BTreeSet<String> {
        &self.scripts
    }

    /// The path without its extension under which a check would run a new file in place of another one. `None` if no
    /// check would. The caller must find out if the base has a file there, which the check runs rightly then.
    #[must_use]
    pub fn shadowed(&self, path: &str) -> Option<String> {
        let mut folder = String::new();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let is_file = names.peek().is_none();
            let stem = match name.split_once('.') {
                Some((stem, "py" | "pyc" | "pth")) if is_file => stem,
                Some((stem, rest)) if is_file && rest.ends_with("so") => stem,
                _ => name,
            };
            let place = joined(&folder, stem).unwrap_or_default();
            let is_standard = self.python.contains(&folder)
                && (stem != name || !is_file)
                && PYTHON_STANDARD.contains(&stem);
            let is_anywhere = self.anywhere.contains(stem) || self.anywhere.contains(name);
            if is_standard || is_anywhere || self.stems.contains(&place) {
                return Some(place);
            }
            folder = place;
        }
        None
    }

    fn add(&mut self, command: &ServiceCommand) {
        let folder = command.cwd.as_deref().unwrap_or_default();
        match &command.program {
            Program::Cmd(words) => self.add_words(words, folder),
            Program::Shell(line) => self.add_line(line, folder),
            // The program that embeds the workflow is in no file of the tree.
            Program::Hook(_) => {}
        }
    }

    fn add_line(&mut self, line: &str, folder: &str) {
        let mut folder = folder.to_owned();
        for words in commands(line) {
            if let [cd, to, ..] = &words[..]
                && cd == "cd"
            {
                folder = joined(&folder, to).unwrap_or_default();
            } else {
                self.add_words(&words, &folder);
            }
        }
    }

    fn add_words(&mut self, words: &[String], folder: &str) {
        let Some((program, rest)) = unprefixed(words).split_first() else {
            return;
        };
        if program.contains('/') {
            self.add_script(program, folder);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => self.add_shell(rest, folder),
            "" | "source" => self.add_first(rest, folder),
            "python" | "pypy" => self.add_python(rest, folder),
            "node" | "nodejs" | "deno" | "bun" => {
                self.anywhere.insert("node_modules");
                self.add_first(rest, folder);
            }
            "ruby" | "perl" | "php" | "lua" | "Rscript" => self.add_first(rest, folder),
            "make" | "gmake" => {
                self.add_file(
                    rest,
                    folder,
                    &["-f", "--file"],
                    &["Makefile", "makefile", "GNUmakefile"],
                );
                // Make takes these first.
                for name in ["GNUmakefile", "makefile"] {
                    self.stems.extend(joined(folder, name));
                }
            }
            "just" => self.add_file(
                rest,
                folder,
                &["-f", "--justfile"],
                &["justfile", "Justfile"],
            ),
            "npm" | "yarn" | "pnpm" => {
                self.anywhere.insert("node_modules");
                let runs = ["test", "t", "run", "run-script", "start"];
                if rest.iter().any(|word| runs.contains(&word.as_str())) {
                    self.add_script("package.json", folder);
                }
            }
            "npx" => {
                self.anywhere.insert("node_modules");
                self.add_words(rest, folder);
            }
            "pytest" | "py.test" => self.add_pytest(folder),
            "cargo" => {
                self.anywhere.insert(".cargo");
            }
            _ => {}
        }
    }

    fn add_script(&mut self, path: &str, folder: &str) {
        if is_absolute_or_unknown(path) {
            return;
        }
        self.scripts
            .extend(joined(folder, path).filter(|path| !path.is_empty()));
    }

    /// The first word that is not an option.
    fn add_first(&mut self, rest: &[String], folder: &str) {
        let script = rest.iter().find(|word| !word.starts_with('-'));
        if let Some(script) = script {
            self.add_script(script, folder);
        }
    }

    fn add_shell(&mut self, rest: &[String], folder: &str) {
        let is_option = |word: &&String| word.starts_with('-');
        let options = rest.iter().take_while(is_option).count();
        let is_line = rest[..options]
            .iter()
            .any(|word| !word.starts_with("--") && word.ends_with('c'));
        match rest.get(options) {
            Some(line) if is_line => self.add_line(line, folder),
            Some(script) => self.add_script(script, folder),
            None => {}
        }
    }

    fn add_python(&mut self, rest: &[String], folder: &str) {
        self.anywhere.extend(PYTHON_RUNNERS);
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-m" => {
                    let Some(module) = words.next() else { return };
                    let first = module.split('.').next().unwrap_or(module);
                    self.python.insert(folder.to_owned());
                    self.stems.extend(joined(folder, first));
                    if module == "pytest" {
                        self.add_pytest(folder);
                    }
                    self.add_searched(words.as_slice(), folder);
                    return;
                }
                "-c" => {
                    self.python.insert(folder.to_owned());
                    return;
                }
                "-W" | "-X" => {
                    words.next();
                }
                option if option.starts_with('-') => {}
                script => {
                    self.add_script(script, folder);
                    let above = script.rsplit_once('/').map_or("", |(above, _)| above);
                    self.python.extend(joined(folder, above));
                    return;
                }
            }
        }
    }

    /// The folders that a runner of Python's tests looks for modules in.
    fn add_searched(&mut self, words: &[String], folder: &str) {
        for pair in words.windows(2) {
            let is_folder = ["-s", "-t", "--start-directory", "--top-level-directory"];
            if is_folder.contains(&pair[0].as_str()) {
                self.python.extend(joined(folder, &pair[1]));
            }
        }
    }

    fn add_pytest(&mut self, folder: &str) {
        self.anywhere.extend(PYTHON_RUNNERS);
        self.anywhere.insert("conftest");
        self.python.insert(folder.to_owned());
        for name in ["pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini"] {
            self.stems.extend(joined(folder, name));
        }
    }

    /// The files that an option names, or else those that are looked for.
    fn add_file(&mut self, rest: &[String], folder: &str, options: &[&str], usual: &[&str]) {
        let mut is_named = false;
        for (at, word) in rest.iter().enumerate() {
            let option = options.iter().find(|option| word.starts_with(**option));
            let Some(option) = option else { continue };
            let behind = word[option.len()..].trim_start_matches('=');
            let file = Some(behind).filter(|file| !file.is_empty());
            if let Some(file) = file.or(rest.get(at + 1).map(String::as_str)) {
                self.add_script(file, folder);
                is_named = true;
            }
        }
        for name in usual.iter().filter(|_| !is_named) {
            self.add_script(name, folder);
        }
    }
}
