//! The source keeps its own rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below the project's folders whose names end so.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [
        "src", "actors", "protocol", "standin", "tui", "specs", "tests", "benches", "examples",
    ]
    .map(|folder| root().join(folder))
    .into_iter()
    .filter(|folder| folder.is_dir())
    .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path == root().join("tests/corpus") {
                // What other programs wrote is no source.
            } else if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The rule ids in a text in brackets, for example `CONV-01`.
fn ids(text: &str) -> impl Iterator<Item = String> {
    text.split('[').skip(1).filter_map(|rest| {
        let (id, _) = rest.split_once(']')?;
        let (area, number) = id.split_once('-')?;
        let is_id = area.len() >= 3
            && area.chars().all(|c| c.is_ascii_uppercase())
            && matches!(number.len(), 2 | 3)
            && number.chars().all(|c| c.is_ascii_digit());
        is_id.then(|| id.to_owned())
    })
}

/// Spec: [TIDY-01]
#[test]
fn every_rule_has_a_test_and_every_cited_rule_exists() {
    let mut rules = BTreeSet::new();
    let contributing = root().join("CONTRIBUTING.md");
    for path in files(".md").into_iter().chain([contributing]) {
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(rule) = line.strip_prefix("- [") {
                let id = rule.split(']').next().unwrap().to_owned();
                assert!(rules.insert(id.clone()), "{id} is defined twice");
            }
        }
    }
    let mut cited: BTreeMap<String, PathBuf> = BTreeMap::new();
    for ending in [".rs", ".sh", ".py", ".mjs"] {
        for path in files(ending) {
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                if let Some((_, list)) = line.split_once("Spec: ") {
                    cited.extend(ids(list).map(|id| (id, path.clone())));
                }
            }
        }
    }
    let unknown: Vec<_> = cited
        .iter()
        .filter(|(id, _)| !rules.contains(*id))
        .collect();
    assert!(
        unknown.is_empty(),
        "tests of rules that are in no spec: {unknown:#?}"
    );
    let untested: Vec<_> = rules.iter().filter(|id| !cited.contains_key(*id)).collect();
    assert!(untested.is_empty(), "rules without a test: {untested:?}");
}

/// The requirements that the rules in a text name, such as `S2-13`.
fn named_requirements(text: &str) -> BTreeSet<String> {
    let rules = text.lines().filter(|line| line.starts_with("- ["));
    rules
        .flat_map(|rule| rule.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        .filter(|word| {
            word.strip_prefix('S')
                .and_then(|rest| rest.split_once('-'))
                .is_some_and(|(part, line)| [part, line].iter().all(|n| n.parse::<u8>().is_ok()))
        })
        .map(str::to_owned)
        .collect()
}

/// The requirements that `specs/requirements.md` has, in its order.
fn requirements() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("specs/requirements.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| S"));
    let labels = rows.filter_map(|row| row.split_once(" | "));
    labels.map(|(label, _)| format!("S{label}")).collect()
}

/// The requirements that some rule names.
fn named_by_rules() -> BTreeSet<String> {
    let texts = files(".md")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    texts.flat_map(|text| named_requirements(&text)).collect()
}

/// Spec: [TIDY-05]
#[test]
fn every_requirement_is_named_by_a_rule() {
    let named = named_by_rules();
    let all = requirements();
    assert!(all.len() > 100, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|label| !named.contains(*label)).collect();
    assert_eq!(missing, [""; 0]);
}

/// Spec: [TIDY-06]
#[test]
fn every_requirement_that_a_rule_names_is_written_down_once() {
    let all = requirements();
    let known: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(all.len(), known.len(), "a label is there twice");
    let unknown: Vec<String> = named_by_rules().difference(&known).cloned().collect();
    assert_eq!(unknown, [""; 0]);
}

/// Spec: [CONV-170]
#[test]
fn no_thread_is_asked_for_by_a_call_that_panics_without_one() {
    let calls = [
        "spawn_blocking(",
        "web::block(",
        "thread::spawn(",
        "Arbiter::new(",
    ];
    for path in files(".rs") {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if name.contains("tests") || name.contains("benches") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("\nmod tests {").next().unwrap();
        for call in calls {
            assert!(!code.contains(call), "{name}: {call}");
        }
    }
}

/// Spec: [TIDY-04]
#[test]
fn every_file_says_what_it_is_for() {
    for path in files(".rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_included_test = path.to_str().unwrap().ends_with("_tests.rs");
        assert!(
            is_included_test || text.starts_with("//! "),
            "{}",
            path.display()
        );
    }
}

/// True if a line of a source file is shown to users: not a comment, or the docs of a flag or a command.
fn is_shown(line: &str, has_commands: bool) -> bool {
    let line = line.trim_start();
    !line.starts_with("//") || has_commands && line.starts_with("/// ")
}

/// Spec: [TIDY-18]
#[test]
fn what_users_read_is_said_in_plain_words() {
    let mut shown: Vec<(PathBuf, String)> = Vec::new();
    let pages = std::fs::read_dir(root().join("docs")).unwrap();
    let pages = pages
        .map(|page| page.unwrap().path())
        .filter(|path| path.is_file());
    for path in pages.chain(["README.md", "CHANGELOG.md"].map(|name| root().join(name))) {
        let text = std::fs::read_to_string(&path).unwrap();
        shown.push((path, text));
    }
    for path in files(".rs") {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if name.contains("tests") || name.contains("benches") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("\nmod tests {").next().unwrap();
        let has_commands = code.contains("use clap::");
        let lines = code.lines().filter(|line| is_shown(line, has_commands));
        shown.push((path.clone(), lines.collect::<Vec<_>>().join("\n")));
    }
    assert!(shown.len() > 500, "{} files", shown.len());
    for (path, text) in shown {
        let text = text.to_lowercase();
        for words in ["whoever", "what came of", "nobody is", "in spite of"] {
            assert!(!text.contains(words), "{}: {words}", path.display());
        }
    }
}

/// The rows of the catalogue of faults: each with its id and what its last cell says.
fn catalogue() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("specs/faults.md")).unwrap();
    text.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [id, fault, held] = cells.as_slice() else {
                return None;
            };
            let (letter, number) = id.split_at_checked(1)?;
            let is_row = "UCSPTHXLF".contains(letter) && number.parse::<u8>().is_ok();
            assert!(!is_row || !fault.is_empty(), "{id} says nothing");
            is_row.then(|| ((*id).to_owned(), (*held).to_owned()))
        })
        .collect()
}

/// The texts between the backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Spec: [TIDY-12]
#[test]
fn every_row_of_the_catalogue_of_faults_is_there_once() {
    let text = std::fs::read_to_string(root().join("specs/faults.md")).unwrap();
    let (_, list) = text.split_once("Its rows: ").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let mut wanted = Vec::new();
    for group in list.split_whitespace() {
        let (letter, numbers) = group.trim_end_matches('.').split_at(1);
        for range in numbers.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let range = first.parse::<u8>().unwrap()..=last.parse().unwrap();
            wanted.extend(range.map(|number| format!("{letter}{number}")));
        }
    }
    let rows: Vec<String> = catalogue().into_iter().map(|(id, _)| id).collect();
    assert_eq!(rows, wanted);
}

/// Spec: [TIDY-13]
#[test]
fn every_row_of_the_catalogue_of_faults_names_a_test_that_there_is_or_says_why_not() {
    let sources = files(".rs");
    let texts: Vec<String> = sources
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let is_test = |name: &str| {
        let start = format!("fn {name}(");
        texts.iter().any(|text| {
            text.match_indices(&start).any(|(at, _)| {
                let above = text[..at].rsplit('\n').skip(1).take(8);
                let mut above = above.take_while(|line| !line.ends_with('}'));
                above.any(|line| line.contains("test]") || line.contains("test("))
            })
        })
    };
    for (id, held) in catalogue() {
        let names: Vec<&str> = quoted(&held).collect();
        for name in &names {
            let there = match name.split_once(' ') {
                // One function of a script.
                Some((script, part)) => std::fs::read_to_string(root().join(script))
                    .is_ok_and(|text| text.contains(&format!("def {part}("))),
                None if name.contains('/') => root().join(name).is_file(),
                None => is_test(name),
            };
            assert!(there, "{id} names {name}, which is no test and no script");
        }
        let reason = ["open: ", "not here: "]
            .iter()
            .find_map(|start| held.split_once(start));
        let has_reason = reason.is_some_and(|(_, reason)| reason.len() > 20);
        assert!(!names.is_empty() || has_reason, "{id}: {held}");
    }
}

/// Spec: [TIDY-14]
#[test]
fn every_kind_of_input_that_is_kept_is_read_by_a_test() {
    let mut texts = String::new();
    for path in files(".rs") {
        texts += &std::fs::read_to_string(path).unwrap();
    }
    let kinds = std::fs::read_dir(root().join("tests/corpus")).unwrap();
    let mut kinds: Vec<String> = kinds
        .map(|kind| kind.unwrap().file_name().into_string().unwrap())
        .collect();
    kinds.sort();
    assert_eq!(
        kinds,
        [
            "bodies", "guidance", "journals", "keys", "requests", "streams"
        ]
    );
    for kind in kinds {
        let by_name = format!("kept(\"{kind}\")");
        let by_path = format!("tests/corpus/{kind}\"");
        assert!(
            texts.contains(&by_name) || texts.contains(&by_path),
            "{kind}"
        );
    }
}

/// Spec: [TIDY-20]
#[test]
fn every_word_has_one_row_and_every_type_of_the_words_is_defined() {
    let text = std::fs::read_to_string(root().join("specs/README.md")).unwrap();
    let (_, table) = text.split_once("## Words").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<Vec<&str>> = rows.skip(1).map(|row| row.split('|').collect()).collect();
    let words: BTreeSet<&str> = rows.iter().map(|row| row[1].trim()).collect();
    assert_eq!(words.len(), rows.len());
    let definitions: BTreeSet<String> = files(".rs")
        .iter()
        .flat_map(|path| defined_types(&std::fs::read_to_string(path).unwrap()))
        .collect();
    let types: Vec<&str> = rows.iter().flat_map(|row| quoted(row[3])).collect();
    assert!(types.len() >= rows.len());
    let missing: Vec<&&str> = types
        .iter()
        .filter(|name| !definitions.contains(**name))
        .collect();
    assert_eq!(missing, [&""; 0]);
}

/// The names of the types that a source defines.
fn defined_types(source: &str) -> Vec<String> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let is_code = !line.trim_start().starts_with("//");
        words.find(|word| ["struct", "enum", "trait"].contains(word))?;
        let name = words.next().filter(|_| is_code)?;
        let end = name.find(|c: char| !c.is_alphanumeric());
        Some(name[..end.unwrap_or(name.len())].to_owned())
    };
    source.lines().filter_map(name).collect()
}
