//! Tests of reading skills and templates.

use std::fs::{self, File};

use harness_actors::Redaction;
use tempfile::TempDir;

use super::*;
use crate::guidance::file;

fn text(path: &Path) -> Result<Text, String> {
    file::read(File::open(path).unwrap(), MAX_BYTES, &Redaction::default())
}

fn skill(path: &Path) -> Result<(Skill, Option<String>), String> {
    super::skill(path, text(path)?)
}

fn template(path: &Path) -> Result<PromptTemplate, String> {
    super::template(path, text(path)?)
}

/// A folder with one file.
fn written(name: &str, content: &str) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// Spec: [GUIDE-40]
#[test]
fn a_skill_is_what_its_file_says() {
    let text = "\u{feff}---\r\nname: pdf\r\ndescription: >-\r\n  Fills\r\n  forms.\r\n\
                disable-model-invocation: true\r\n---\r\n\r\n# How\r\n  indented\r\n";
    let (_folder, path) = written("pdf/SKILL.md", text);
    let expected = Skill {
        name: "pdf".to_owned(),
        description: "Fills forms.".to_owned(),
        content: "# How\n  indented".to_owned(),
        hidden: true,
        path: Some(path.to_str().unwrap().to_owned()),
    };
    assert_eq!(skill(&path), Ok((expected, None)));
}

/// Spec: [GUIDE-41]
#[test]
fn a_skill_says_in_either_way_whether_it_is_hidden() {
    for (flag, hidden) in [
        ("", Some(false)),
        ("hidden: true", Some(true)),
        ("hidden: TRUE", Some(true)),
        ("hidden:", Some(false)),
        ("disable-model-invocation: True", Some(true)),
        ("disable-model-invocation: false\nhidden: true", Some(true)),
        ("disable-model-invocation: false", Some(false)),
        ("hidden: maybe", None),
    ] {
        let text = format!("---\nname: x\ndescription: d\n{flag}\n---\n");
        let (_folder, path) = written("x/SKILL.md", &text);
        let found = skill(&path).map(|(skill, _)| skill.hidden);
        assert_eq!(found.ok(), hidden, "{flag}");
    }
}

/// Spec: [GUIDE-42]
#[test]
fn a_skill_of_another_name_than_its_folder_is_loaded_and_told_of() {
    let (_folder, path) = written("Other/SKILL.md", "---\nname: x\ndescription: d\n---\n");
    let (skill, problem) = skill(&path).unwrap();
    assert_eq!(skill.name, "x");
    assert!(problem.unwrap().contains("\"x\""));
}

/// Spec: [GUIDE-43]
#[test]
fn a_skill_that_cannot_be_used_says_why() {
    let longest = "d".repeat(1024);
    let good = format!("---\nname: x\ndescription: {longest}\n---\n");
    let (_folder, path) = written("x/SKILL.md", &good);
    assert_eq!(skill(&path).unwrap().0.description, longest);
    let too_long = good.replace("dd\n", "ddd\n");
    let too_large = format!(
        "---\nname: x\ndescription: d\n---\n{}",
        "x".repeat(MAX_BYTES)
    );
    for (text, reason) in [
        ("no front matter", "it has no front matter"),
        ("---\nname: x\n", "it has no front matter"),
        ("---\ndescription: d\n---\n", "has no name"),
        ("---\nname: [x]\ndescription: d\n---\n", "has no name"),
        ("---\nname: X y\ndescription: d\n---\n", "its name \"X y\""),
        ("---\nname: x\n---\n", "has no description"),
        (
            "---\nname: x\ndescription: ' '\n---\n",
            "has no description",
        ),
        ("---\nname: x: y\n---\n", "its name \"x: y\""),
        ("---\n[\n---\n", "is not YAML"),
        (&too_long, "has 1025 characters"),
        (&too_large, "it has more than 1048576 bytes"),
    ] {
        let (_folder, path) = written("x/SKILL.md", text);
        let refusal = skill(&path).unwrap_err();
        let start: String = text.chars().take(60).collect();
        assert!(refusal.contains(reason), "{start:?}: {refusal}");
    }
    fs::write(&path, b"---\nname: x\xff").unwrap();
    assert!(skill(&path).unwrap_err().contains("not UTF-8"));
}

/// Spec: [GUIDE-44]
#[test]
fn a_template_has_its_name_from_its_file_and_a_description_of_some_kind() {
    let long = "ü".repeat(2000);
    let shortened = format!("{}…", "ü".repeat(1023));
    for (text, description, content) in [
        (
            "---\ndescription: Reviews.\n---\nReview $1.\n",
            "Reviews.",
            "Review $1.",
        ),
        (
            "\n  First line. \nSecond.",
            "First line.",
            "  First line. \nSecond.",
        ),
        ("---\nargument-hint: <file>\n---\nBody.", "Body.", "Body."),
        ("---\nnot closed", "---", "---\nnot closed"),
        ("", "", ""),
        (&long, &shortened, &long),
    ] {
        let (_folder, path) = written("Fix issue.md", text);
        let template = template(&path).unwrap();
        assert_eq!(template.name, "Fix issue");
        assert_eq!(template.description, description);
        assert_eq!(template.content, content);
        assert_eq!(template.path.as_deref(), path.to_str());
    }
}

/// Spec: [GUIDE-45]
#[test]
fn a_template_that_cannot_be_used_says_why() {
    let long = format!("{}.md", "x".repeat(65));
    for (name, text, reason) in [
        ("x.md", "---\na: [\n---\n", "is not YAML"),
        ("a\nb.md", "text", "its name"),
        (&long, "text", "its name"),
    ] {
        let (_folder, path) = written(name, text);
        let refusal = template(&path).unwrap_err();
        assert!(refusal.contains(reason), "{name:?}: {refusal}");
    }
}
