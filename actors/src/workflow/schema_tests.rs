//! The schema, by a small judge of the words that it uses.

use super::*;

/// Whether a schema accepts a value.
pub(in crate::workflow) fn accepts(schema: &Value, value: &Value) -> bool {
    let Some(words) = schema.as_object() else {
        return schema == &Value::Bool(true);
    };
    words
        .iter()
        .all(|(word, says)| accepts_word(words, word, says, value))
}

fn accepts_word(words: &Map<String, Value>, word: &str, says: &Value, value: &Value) -> bool {
    let all = || says.as_array().unwrap().iter();
    let length = |text: &str| text.chars().count() as u64;
    match word {
        "$schema" | "title" | "description" | "default" => true,
        "type" => match says.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            other => panic!("{other}"),
        },
        "const" => value == says,
        "enum" => all().any(|one| one == value),
        "pattern" => value.as_str().is_none_or(|text| {
            let pattern = regex::Regex::new(says.as_str().unwrap()).unwrap();
            pattern.is_match(text)
        }),
        "minLength" => value
            .as_str()
            .is_none_or(|text| length(text) >= says.as_u64().unwrap()),
        "maxLength" => value
            .as_str()
            .is_none_or(|text| length(text) <= says.as_u64().unwrap()),
        "minimum" => value
            .as_f64()
            .is_none_or(|number| number >= says.as_f64().unwrap()),
        "maximum" => value
            .as_f64()
            .is_none_or(|number| number <= says.as_f64().unwrap()),
        "exclusiveMinimum" => value
            .as_f64()
            .is_none_or(|number| number > says.as_f64().unwrap()),
        "minItems" => value
            .as_array()
            .is_none_or(|list| list.len() as u64 >= says.as_u64().unwrap()),
        "prefixItems" => value.as_array().is_none_or(|list| {
            list.iter()
                .zip(all())
                .all(|(item, says)| accepts(says, item))
        }),
        "items" => value.as_array().is_none_or(|list| {
            let before = words
                .get("prefixItems")
                .map_or(0, |list| list.as_array().unwrap().len());
            list.iter().skip(before).all(|item| accepts(says, item))
        }),
        "required" => value
            .as_object()
            .is_none_or(|table| all().all(|key| table.contains_key(key.as_str().unwrap()))),
        "properties" => value.as_object().is_none_or(|table| {
            let given = table
                .iter()
                .filter_map(|(key, value)| Some((says.get(key)?, value)));
            given.into_iter().all(|(says, value)| accepts(says, value))
        }),
        "additionalProperties" => value.as_object().is_none_or(|table| {
            let known = words.get("properties");
            let is_other = |key: &str| known.is_none_or(|known| known.get(key).is_none());
            let mut others = table.iter().filter(|(key, _)| is_other(key));
            others.all(|(_, value)| accepts(says, value))
        }),
        "anyOf" => all().any(|one| accepts(one, value)),
        "oneOf" => all().filter(|one| accepts(one, value)).count() == 1,
        other => panic!("{other}"),
    }
}

/// Spec: [FLOW-09]
#[test]
fn the_example_agrees_with_the_schema() {
    let text = include_str!("../../../specs/examples/workflow.toml");
    let mut example: Value = toml::from_str(text).unwrap();
    assert!(accepts(&schema(), &example));
    example["check"][0]["shell"] = "x".into();
    assert!(!accepts(&schema(), &example));
}

/// Every key of a schema with what is said of it.
fn keys(schema: &Value, found: &mut Vec<(String, Value)>) {
    for (name, key) in schema["properties"].as_object().into_iter().flatten() {
        found.push((name.clone(), key.clone()));
        keys(key, found);
        keys(&key["items"], found);
    }
}

/// Spec: [FLOW-09]
#[test]
fn the_schema_describes_every_key_and_every_default_is_one_that_it_accepts() {
    let schema = schema();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let mut found = Vec::new();
    keys(&schema, &mut found);
    assert!(found.len() > 60);
    for (name, key) in found {
        let says = key["description"]
            .as_str()
            .is_some_and(|said| said.len() > 5);
        assert!(says || key == false, "{name}");
        if let Some(default) = key.get("default") {
            assert!(accepts(&key, default), "{name}");
        }
    }
}
