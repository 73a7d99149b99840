use serde_json::json;

use super::*;

const LIST: &str = r#"[
    {"category": "functional", "description": "New chat button creates a fresh conversation",
     "steps": ["Navigate to the main page", "Click the \"New chat\" button"], "passes": false},
    {"category": "style\u001b[2J", "description": "New chat button creates a fresh conversation",
     "steps": [], "passes": true},
    {"description": "\u00e9\n\u007f\\"}
]"#;

/// Spec: [FLOW-104]
#[test]
fn a_list_becomes_a_file_that_can_be_used() {
    let (listed, problems) = list(LIST.as_bytes());
    assert_eq!(problems, [""; 0]);
    let text = file("All \"works\"", &listed);
    let manifest = read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap();
    assert_eq!(manifest.objective, "All \"works\"");
    let features: Vec<(&str, &str, usize)> = manifest
        .features
        .iter()
        .map(|feature| (&*feature.id, &*feature.description, feature.steps.len()))
        .collect();
    let name = "New chat button creates a fresh conversation";
    let id = "new-chat-button-creates-a-fresh";
    let again = format!("{id}-2");
    assert_eq!(
        features,
        [
            (id, name, 2),
            (&*again, name, 1),
            ("feature", "\u{e9}\n\u{7f}\\", 1)
        ]
    );
    assert!(text.contains("# category: functional\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    // What the list says of being done is not in it.
    assert!(
        manifest
            .features
            .iter()
            .all(|feature| feature.checks.is_empty())
    );
    assert!(!text.contains("passes ="), "{text}");
    assert!(remark(3, 1).contains("1 is done, which counts for nothing"));
    assert!(!remark(3, 0).contains("nothing"));
}

/// Spec: [FLOW-104]
#[test]
fn all_that_is_wrong_with_a_list_is_told_at_once() {
    for (text, problem) in [
        ("x", "no JSON"),
        ("{}", "no list"),
        ("[]", "no feature"),
        (r#"["a"]"#, "feature 1: it is no object"),
    ] {
        let (_, problems) = list(text.as_bytes());
        assert!(problems[0].contains(problem), "{problems:?}");
    }
    let entries = json!([
        {"description": " "}, {"description": 1}, {"description": "a", "steps": "b"},
        {"description": "a", "steps": [1]}, {"description": "a", "passes": "no"},
        {"description": "a", "other": 1}, {"description": "a"},
    ]);
    let (listed, problems) = list(entries.to_string().as_bytes());
    assert_eq!((listed.len(), problems.len()), (1, 6), "{problems:?}");
    assert!(
        problems[5].starts_with("feature 6: nothing is known of `other`"),
        "{problems:?}"
    );
}
