use actix_web::ResponseError as _;
use serde_json::json;

use super::*;

const FILE: &str = include_str!("../../../specs/examples/workflow.toml");
const MODEL: &str = "claude-fable-5-1";

fn spec() -> Value {
    json!({"workflow": {"objective": "o"}, "feature": [
        {"id": "a", "description": "d", "check": [{"cmd": ["true"]}]},
    ]})
}

fn judged(given: &GivenText, model: &str) -> Result<JudgedFile, Refusal> {
    let nowhere = Path::new("/nowhere");
    JudgedFile::judge(given, None, nowhere, nowhere, (model, &Prices::built_in()))
}

/// Spec: [FLOW-84]
#[test]
fn a_file_below_the_folder_is_read_and_named_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parser.toml");
    std::fs::write(&path, FILE).unwrap();
    let home = folder.path().join("state");
    for path in ["parser.toml", path.to_str().unwrap()] {
        let given = GivenText::Path(path.to_owned());
        let judged = JudgedFile::judge(
            &given,
            None,
            folder.path(),
            &home,
            (MODEL, &Prices::built_in()),
        )
        .unwrap();
        assert_eq!(judged.name, "parser");
        assert_eq!(judged.hash, hash(FILE.as_bytes()));
        assert!(judged.found.is_ok(), "{judged:?}");
    }
    for wrong in ["/etc/passwd", "../x.toml", "none.toml", "."] {
        let given = GivenText::Path(wrong.to_owned());
        let refused = JudgedFile::judge(
            &given,
            None,
            folder.path(),
            &home,
            (MODEL, &Prices::built_in()),
        )
        .unwrap_err();
        assert_eq!(refused.status_code().as_u16(), 400, "{refused}");
    }
}

/// Spec: [FLOW-84]
#[test]
fn a_text_comes_in_one_way_and_has_a_name_that_a_branch_can_have() {
    assert!(GivenText::from_body(None, None).is_err());
    assert!(GivenText::from_body(Some("a".to_owned()), Some(spec())).is_err());
    let given = GivenText::from_body(None, Some(spec())).unwrap();
    assert_eq!(judged(&given, MODEL).unwrap().name, "workflow");
    for wrong in ["", "-a", ".a", "a b", "a/b", "a..b", "a."] {
        assert!(checked_name(wrong.to_owned()).is_err(), "{wrong}");
    }
}

/// Spec: [FLOW-84]
#[test]
fn all_that_is_wrong_is_told_at_once() {
    let given = GivenText::Spec(json!({"workflow": {"objective": " "}, "feature": [], "x": 1}));
    let refused = judged(&given, MODEL).unwrap().manifest().unwrap_err();
    assert_eq!(refused.status_code().as_u16(), 422);
    let told = refused.to_string();
    assert!(told.contains("and 2 more"), "{told}");
}

/// Spec: [FLOW-85]
#[test]
fn a_budget_of_money_needs_a_model_with_a_known_price() {
    let mut priced = spec();
    priced["budget"] = json!({"cost_usd": 2.0});
    let given = GivenText::Spec(priced.clone());
    assert!(judged(&given, MODEL).unwrap().found.is_ok());
    let problems = judged(&given, "local").unwrap().found.unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].place, "budget.cost_usd");
    assert!(problems[0].message.contains("\"local\""), "{problems:?}");
    assert!(
        judged(&GivenText::Spec(spec()), "local")
            .unwrap()
            .found
            .is_ok()
    );
}

/// Spec: [FLOW-83]
#[test]
fn only_the_hash_that_the_file_has_approves_it() {
    assert_eq!(is_approved(None, "aa"), Ok(false));
    assert_eq!(is_approved(Some("aa"), "aa"), Ok(true));
    let refused = is_approved(Some("bb"), "aa").unwrap_err();
    assert_eq!(refused.status_code().as_u16(), 409);
    assert!(refused.to_string().contains("the hash aa"), "{refused}");
}
