//! The places that a command was denied, as the programs that it ran complain of them.
//!
//! Invariant: a complaint only says where to look. Whether the place is denied, and why, says the launcher. What is hidden
//! is missing to a program: such a complaint counts only of a place that is hidden and there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::launch::Denial;

/// The system's words for a place that is denied, in small letters.
const COMPLAINTS: [&str; 3] = [
    "permission denied",
    "read-only file system",
    "device or resource busy",
];
/// The system's words for a place that is missing, in small letters.
const MISSING: &str = "no such file or directory";
/// How many lines at the end of an output are looked at.
const MAX_LINES: usize = 200;
/// Maximum number of words of a line that are looked at as places.
const MAX_WORDS: usize = 16;
/// Maximum number of places in a result.
const MAX_PLACES: usize = 3;
/// The characters that open and close a name in a message.
const QUOTES: [(char, char); 5] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '\''),
    ('‘', '’'),
    ('“', '”'),
];

/// A line for each place that an output complains of and that is denied. A name is one in the first of the
/// folders in which it can be. Looks at files.
pub(super) fn notes(
    text: &str,
    folders: &[&Path],
    denial: impl Fn(&Path) -> Option<Denial>,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for line in text.lines().rev().take(MAX_LINES) {
        for note in of_line(line, folders, &denial) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        if notes.len() >= MAX_PLACES {
            break;
        }
    }
    notes.reverse();
    notes
}

/// The notes of one line, by the surest way in which it names a place.
fn of_line(
    line: &str,
    folders: &[&Path],
    denial: &impl Fn(&Path) -> Option<Denial>,
) -> Vec<String> {
    // Small letters of other scripts may be of another length.
    let small = line.to_ascii_lowercase();
    let complaint = COMPLAINTS.iter().find_map(|words| small.find(words));
    let Some(at) = complaint.or_else(|| small.find(MISSING)) else {
        return Vec::new();
    };
    let is_missing = complaint.is_none();
    let before = line[..at].trim_end().trim_end_matches(':');
    let last = before.rsplit(": ").next().into_iter().collect();
    for names in [quoted(line), last, words(line)] {
        let names = names.iter().take(MAX_WORDS);
        let places = names.filter_map(|name| place(name, folders));
        // What is missing to everybody is not hidden.
        let places = places.filter(|place| !is_missing || place.symlink_metadata().is_ok());
        let notes: Vec<String> = places
            .filter_map(|place| {
                let denial = denial(&place)?;
                let counts = !is_missing || denial == Denial::Hidden;
                note(&place, denial).filter(|_| counts)
            })
            .collect();
        if !notes.is_empty() {
            return notes;
        }
    }
    Vec::new()
}

fn note(place: &Path, denial: Denial) -> Option<String> {
    let place = place.to_str()?;
    Some(match denial {
        Denial::Needs(access) => {
            format!("{place} can be written only with access {}", access.name())
        }
        Denial::Protected => format!(
            "{place} is protected: commands do not change it; edit and write ask an operator for a change"
        ),
        Denial::Hidden => format!("{place} is hidden from commands"),
    })
}

/// The text in quotes.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in QUOTES {
        let mut rest = line;
        while let Some((_, behind)) = rest.split_once(open) {
            let Some((name, behind)) = behind.split_once(close) else {
                break;
            };
            found.push(name);
            rest = behind;
        }
    }
    found
}

/// The words that may be paths.
fn words(line: &str) -> Vec<&str> {
    let words = line.split_whitespace();
    let words = words.map(|word| word.trim_matches([':', ',', ';', '(', ')', '\'', '"']));
    words.filter(|word| word.contains('/')).collect()
}

/// The place that a name is for, without links: what is there, or what could be in a folder that is there.
fn place(name: &str, folders: &[&Path]) -> Option<PathBuf> {
    let name = Path::new(name);
    let file = name.file_name()?;
    folders.iter().find_map(|folder| {
        let whole = folder.join(name);
        let found = fs::canonicalize(&whole).ok();
        found.or_else(|| Some(fs::canonicalize(whole.parent()?).ok()?.join(file)))
    })
}

#[cfg(test)]
mod tests {
    use harness_protocol::Access;

    use super::*;

    /// Spec: [BASH-203]
    #[test]
    fn s1_a_complaint_is_told_with_its_place_and_the_access_that_it_needs() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let (work, out) = (real.join("work"), real.join("out"));
        for folder in [&work, &out, &work.join("deep")] {
            fs::create_dir(folder).unwrap();
        }
        std::os::unix::fs::symlink(out.join("file"), work.join("link")).unwrap();
        let (file, new) = (out.join("file"), out.join("new"));
        fs::write(&file, "").unwrap();
        let denial = |place: &Path| {
            place
                .starts_with(&out)
                .then_some(Denial::Needs(Access::Full))
        };
        let (f, n) = (file.display(), new.display());
        for (line, place) in [
            (
                format!("bash: line 1: {f}: Read-only file system"),
                Some(&file),
            ),
            (
                format!("touch: cannot touch '{n}': Permission denied"),
                Some(&new),
            ),
            (
                format!("mv: cannot move 'x' to ‘{n}’: Read-only file system"),
                Some(&new),
            ),
            (
                format!("PermissionError: [Errno 13] Permission denied: '{n}'"),
                Some(&new),
            ),
            (
                format!("Error: EROFS: read-only file system, open '{n}'"),
                Some(&new),
            ),
            (format!("open {n}: read-only file system"), Some(&new)),
            (
                "bash: line 1: link: Permission denied".to_owned(),
                Some(&file),
            ),
            ("bash: ../out/new: Permission denied".to_owned(), Some(&new)),
            // No place, none that is denied, one that cannot be, and no complaint.
            ("Permission denied (os error 13)".to_owned(), None),
            (
                "touch: cannot touch 'made': Permission denied".to_owned(),
                None,
            ),
            (format!("cat: {n}/deeper/x: Permission denied"), None),
            (format!("cat: {n}: No such file or directory"), None),
            ("é: Permission denied: ''".to_owned(), None),
        ] {
            let expected = place
                .map(|place| format!("{} can be written only with access full", place.display()));
            let notes = notes(&format!("before\n{line}\nbehind\n"), &[&work], denial);
            assert_eq!(notes, Vec::from_iter(expected), "{line}");
        }
        // A name is taken in the first folder where it can be.
        let line = "rm: cannot remove 'file': Permission denied";
        assert_eq!(notes(line, &[&work, &out], denial), [""; 0]);
        let line = "rm: cannot remove '../out/file': Permission denied";
        assert_eq!(notes(line, &[&real.join("gone"), &work], denial).len(), 1);
    }

    /// Spec: [BASH-610]
    #[test]
    fn a_hidden_place_that_a_program_missed_is_told() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let (work, hidden) = (real.join("work"), real.join(".ssh"));
        for folder in [&work, &hidden] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(hidden.join("id.pub"), "").unwrap();
        fs::write(work.join("there"), "").unwrap();
        let (key, there) = (hidden.join("id.pub"), work.join("there"));
        let denial = |place: &Path| {
            Some(match place.starts_with(&hidden) {
                true => Denial::Hidden,
                false => Denial::Protected,
            })
        };
        let (k, h) = (key.display(), hidden.display());
        for (line, is_told) in [
            (
                format!("error: Couldn't load public key {k}: No such file or directory?"),
                true,
            ),
            (
                format!("Can't open user config file {k}: No such file or directory"),
                true,
            ),
            (
                format!("FileNotFoundError: [Errno 2] No such file or directory: '{k}'"),
                true,
            ),
            (
                "cat: ../.ssh/id.pub: No such file or directory".to_owned(),
                true,
            ),
            // Not there for anybody, and not hidden.
            (format!("cat: {h}/other: No such file or directory"), false),
            (
                format!("cat: {}: No such file or directory", there.display()),
                false,
            ),
            ("no such file or directory".to_owned(), false),
        ] {
            let expected = is_told.then(|| format!("{k} is hidden from commands"));
            let notes = notes(&line, &[&work], denial);
            assert_eq!(notes, Vec::from_iter(expected), "{line}");
        }
    }

    /// Spec: [BASH-203]
    #[test]
    fn few_places_are_told_each_once_and_by_why() {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let many: String = (0..9)
            .map(|number| format!("touch: cannot touch 'f{}': Permission denied\n", number / 2))
            .collect();
        let all = |_: &Path| Some(Denial::Protected);
        let told = notes(&many, &[&real], all);
        let at = |name: &str| real.join(name).display().to_string();
        let expected = ["f2", "f3", "f4"].map(|name| {
            let ask = "edit and write ask an operator for a change";
            format!(
                "{} is protected: commands do not change it; {ask}",
                at(name)
            )
        });
        assert_eq!(told, expected);
        let hidden = notes("cat: x: Permission denied", &[&real], |_| {
            Some(Denial::Hidden)
        });
        assert_eq!(hidden, [format!("{} is hidden from commands", at("x"))]);
    }
}
