//! The starter list of each kind of repository.

use std::fs;

use super::*;
use crate::workflow::file::{FeatureList, hash, read};

fn found(files: &[(&str, &str)]) -> RepositoryFacts {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    RepositoryFacts::look(folder.path())
}

const FILE: &str = "[workflow]\nobjective = \"Parse faster\"\nplan = \"starter\"\n";

/// Spec: [FLOW-126]
#[test]
fn case_4_a_list_is_made_of_what_is_found_and_is_a_file_that_can_be_used() {
    type Files = &'static [(&'static str, &'static str)];
    let cases: [(Files, [usize; 4]); 7] = [
        (&[], [0, 0, 0, 0]),
        (&[("Cargo.toml", "")], [1, 1, 0, 1]),
        (&[("go.mod", "")], [1, 1, 0, 1]),
        (
            &[("package.json", r#"{"scripts": {"test": "node --test"}}"#)],
            [0, 1, 0, 0],
        ),
        (&[("Makefile", "all:\n\ntest: all\n")], [1, 1, 0, 0]),
        (
            &[("pyproject.toml", ""), ("tests/test_a.py", "")],
            [1, 1, 0, 1],
        ),
        (&[("setup.py", "")], [1, 0, 0, 0]),
    ];
    for (files, checks) in cases {
        let text = starter(FILE.as_bytes(), FileFormat::Toml, &found(files)).unwrap();
        let manifest = read(&text, FileFormat::Json, FeatureList::Needed).unwrap();
        let ids: Vec<&str> = manifest
            .features
            .iter()
            .map(|feature| feature.id.as_str())
            .collect();
        assert_eq!(ids, ["build", "tests", "objective", "no-regressions"]);
        assert_eq!(manifest.features[2].description, "Parse faster");
        let found: Vec<usize> = manifest
            .features
            .iter()
            .map(|feature| feature.checks.len())
            .collect();
        assert_eq!(found, checks, "{files:?}");
        for feature in &manifest.features {
            assert!(feature.required);
            assert_eq!(feature.holds, !feature.checks.is_empty());
            assert!(feature.checks.iter().all(|check| !check.red));
        }
    }
}

/// Spec: [FLOW-126]
#[test]
fn what_is_approved_names_the_commands_of_the_list() {
    let text = |files| starter(FILE.as_bytes(), FileFormat::Toml, &found(files)).unwrap();
    let (cargo, go) = (text(&[("Cargo.toml", "")]), text(&[("go.mod", "")]));
    assert_ne!(hash(&cargo), hash(&go));
    assert_eq!(cargo, text(&[("Cargo.toml", "[package]")]));
    assert!(String::from_utf8(cargo).unwrap().contains("\"cargo\""));
}

/// Spec: [FLOW-126]
#[test]
fn a_file_that_asks_for_no_list_gets_none() {
    let none = |text: &str, format| starter(text.as_bytes(), format, &RepositoryFacts::default());
    assert_eq!(
        none("[workflow]\nobjective = \"x\"\n", FileFormat::Toml),
        None
    );
    assert_eq!(none("no file", FileFormat::Toml), None);
    let file = FILE.replace("starter", "file");
    assert_eq!(none(&file, FileFormat::Toml), None);
    let both = format!("{FILE}\n[[feature]]\nid = \"a\"\ndescription = \"b\"\nsteps = [\"c\"]\n");
    assert_eq!(none(&both, FileFormat::Toml), None);
    let problems = read(both.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap_err();
    assert_eq!(problems[0].place, "workflow.plan", "{problems:?}");
    let json = r#"{"workflow": {"objective": "x", "plan": "starter"}}"#;
    assert!(none(json, FileFormat::Json).is_some());
}
