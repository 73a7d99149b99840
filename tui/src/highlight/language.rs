//! In which language code is written, by the word of a fence, a path or the first line.

/// A language, by a word that the sets of syntaxes know, or do not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Language(String);

/// The longest word that is looked up.
const MAX_WORD: usize = 40;

/// Words that the sets know by another.
const ALIASES: [(&str, &str); 33] = [
    ("golang", "go"),
    ("shell", "sh"),
    ("console", "sh"),
    ("shellsession", "sh"),
    ("sh-session", "sh"),
    ("zsh", "sh"),
    ("fish", "fish"),
    ("python3", "py"),
    ("python2", "py"),
    ("py3", "py"),
    ("pyi", "py"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("ndjson", "json"),
    ("c++", "cpp"),
    ("h++", "cpp"),
    ("c#", "cs"),
    ("csharp", "cs"),
    ("f#", "fs"),
    ("fsharp", "fs"),
    ("node", "js"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("jsx", "js"),
    ("mts", "ts"),
    ("cts", "ts"),
    ("docker", "dockerfile"),
    ("make", "makefile"),
    ("mk", "makefile"),
    ("viml", "vim"),
    ("markdown", "md"),
    ("patch", "diff"),
];

/// Files that are known by their whole name.
const FILES: [(&str, &str); 16] = [
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("makefile", "makefile"),
    ("gnumakefile", "makefile"),
    ("justfile", "makefile"),
    ("cmakelists.txt", "cmake"),
    ("cargo.lock", "toml"),
    ("poetry.lock", "toml"),
    ("gemfile", "rb"),
    ("rakefile", "rb"),
    (".bashrc", "sh"),
    (".bash_profile", "sh"),
    (".profile", "sh"),
    (".zshrc", "sh"),
    (".gitconfig", "gitconfig"),
    (".gitignore", "gitignore"),
];

/// Words and endings that mean no language.
const PLAIN: [&str; 8] = [
    "text",
    "txt",
    "plain",
    "plaintext",
    "output",
    "log",
    "none",
    "lock",
];

impl Language {
    /// The language that the word after a fence names: up to the first blank, comma or brace.
    pub(crate) fn of_fence(info: &str) -> Option<Self> {
        let word = info
            .trim_start()
            .split([' ', '\t', ',', '{', ':'])
            .next()
            .unwrap_or_default();
        Self::of_word(word.trim_start_matches('.'))
    }

    /// The language of a file, by its name or ending.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if let Some((_, word)) = FILES.iter().find(|(file, _)| *file == name) {
            return Some(Self((*word).to_owned()));
        }
        let (stem, ending) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Self::of_word(ending)
    }

    /// The language of the program that the first line of a script names.
    pub(crate) fn of_first_line(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("#!")?.split_whitespace();
        let program = |word: &str| word.rsplit('/').next().map(str::to_owned);
        let mut name = program(words.next()?)?;
        if name == "env" {
            name = program(words.find(|word| !word.starts_with('-') && !word.contains('='))?)?;
        }
        Self::of_word(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
    }

    fn of_word(word: &str) -> Option<Self> {
        if word.is_empty() || word.len() > MAX_WORD {
            return None;
        }
        let word = word.to_ascii_lowercase();
        if PLAIN.contains(&word.as_str()) {
            return None;
        }
        let known = ALIASES.iter().find(|(alias, _)| *alias == word);
        Some(Self(known.map_or(word, |(_, name)| (*name).to_owned())))
    }

    /// The word that the sets know it by.
    pub(crate) fn word(&self) -> &str {
        &self.0
    }

    /// True if it is the language of diffs, which have a separate look.
    pub(crate) fn is_diff(&self) -> bool {
        self.0 == "diff"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(language: Option<Language>) -> String {
        language.map_or_else(|| "-".to_owned(), |language| language.0)
    }

    /// Spec: [VIEW-283]
    #[test]
    fn a_language_is_known_by_a_fence_a_path_or_the_first_line() {
        for (info, expected) in [
            ("rust", "rust"),
            ("Rust,ignore", "rust"),
            ("rust {.numberLines}", "rust"),
            ("{.python}", "-"),
            ("golang", "go"),
            ("console", "sh"),
            ("python3", "py"),
            ("jsonc", "json"),
            ("c++", "cpp"),
            ("C#", "cs"),
            ("patch", "diff"),
            ("src/main.rs:12", "src/main.rs"),
            ("text", "-"),
            ("", "-"),
        ] {
            assert_eq!(word(Language::of_fence(info)), expected, "{info:?}");
        }
        assert_eq!(Language::of_fence(&"x".repeat(41)), None);
        for (path, expected) in [
            ("/home/ana/p/src/a.rs", "rs"),
            ("A.TSX", "tsx"),
            ("docker/Dockerfile", "dockerfile"),
            ("Makefile", "makefile"),
            ("Cargo.lock", "toml"),
            ("notes.txt", "-"),
            ("yarn.lock", "-"),
            (".bashrc", "sh"),
            (".hidden", "-"),
            ("LICENSE", "-"),
            ("", "-"),
        ] {
            assert_eq!(word(Language::of_path(path)), expected, "{path:?}");
        }
        for (line, expected) in [
            ("#!/bin/sh", "sh"),
            ("#!/usr/bin/env python3.12", "python"),
            ("#!/usr/bin/env -S LANG=C node --flag", "js"),
            ("#! /usr/bin/perl -w", "perl"),
            ("#!", "-"),
            ("# !/bin/sh", "-"),
            ("let a;", "-"),
        ] {
            assert_eq!(word(Language::of_first_line(line)), expected, "{line:?}");
        }
    }
}
