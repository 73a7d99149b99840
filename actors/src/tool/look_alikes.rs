//! The files that a path may have meant which leads to none.

use std::fs;
use std::path::{Path, PathBuf};

use super::closed;

/// Maximum number of names that are given.
const MAX_NAMES: usize = 3;
/// Maximum number of entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The end of an error about a missing file: the names in its folder that differ from its own only in the size
/// of letters, in accents and how they are written, and in the kinds of blanks. Empty if there are none, or if
/// the folder is closed to tools. Blocks.
pub(super) fn look_alikes(path: &Path, closed_paths: &[PathBuf]) -> String {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return String::new();
    };
    if closed::check_path(folder, closed_paths).is_err() {
        return String::new();
    }
    let wanted = folded(&name.to_string_lossy());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries
        .take(MAX_ENTRIES)
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    // A link that leads to nothing has the very name.
    let is_alike = |found: &String| folded(found) == wanted && *found != name.to_string_lossy();
    let mut alike: Vec<String> = names.filter(is_alike).collect();
    alike.sort();
    alike.truncate(MAX_NAMES);
    if alike.is_empty() {
        return String::new();
    }
    format!(
        "; there is \"{}\", which differs in the size of letters, accents or kinds of blanks",
        alike.join("\", \"")
    )
}

/// A name without what is easily mistaken in it.
fn folded(name: &str) -> String {
    let small = name.chars().flat_map(char::to_lowercase);
    // Combining Diacritical Marks: they make the accents of decomposed letters.
    let bare = small.filter(|letter| !('\u{300}'..='\u{36f}').contains(letter));
    bare.map(plain).collect()
}

/// A small letter without its accent, and a blank for each kind of blank.
///
/// Source: the Unicode Character Database, decompositions of U+00E0 to U+017F and the category Zs.
fn plain(letter: char) -> char {
    match letter {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ĥ' => 'h',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => 'i',
        'ĵ' => 'j',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' => 's',
        'ţ' | 'ť' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ŵ' => 'w',
        'ý' | 'ÿ' | 'ŷ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-448]
    #[test]
    fn names_that_are_easily_mistaken_are_given_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        for name in [
            "Screenshot at 3.04\u{202f}PM.png",
            "re\u{301}sume\u{301}.txt",
            "README.md",
            "other.txt",
        ] {
            fs::write(home.path().join(name), "").unwrap();
        }
        let given = |name: &str| look_alikes(&home.path().join(name), &[]);
        for (asked, there) in [
            ("Screenshot at 3.04 PM.png", "3.04\u{202f}PM"),
            ("r\u{e9}sum\u{e9}.txt", "re\u{301}sume\u{301}.txt"),
            ("resume.txt", "re\u{301}sume\u{301}.txt"),
            ("readme.md", "\"README.md\""),
        ] {
            assert!(given(asked).contains(there), "{asked}: {}", given(asked));
        }
        assert_eq!(given("readme.txt"), "");
        assert_eq!(given("none/other.txt"), "");
        // Nothing is said of what is in a closed folder.
        let closed = [home.path().to_owned()];
        assert_eq!(look_alikes(&home.path().join("readme.md"), &closed), "");
        for number in 0..5 {
            let blanks = "\u{a0}".repeat(number) + &" ".repeat(5 - number);
            fs::write(home.path().join(format!("a{blanks}b")), "").unwrap();
        }
        let many = given(&format!("a{}b", "\u{a0}".repeat(5)));
        assert_eq!(many.matches("b\"").count(), 3, "{many}");
    }
}
