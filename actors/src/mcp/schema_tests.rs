//! Schemas of tools, brought into the form that the API takes.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn repair(schema: &Value) -> Result<Map<String, Value>, String> {
    repaired(schema.as_object().unwrap())
}

/// Compares as text: the order of keys counts.
#[track_caller]
fn check(schema: &Value, expected: &Value) {
    let repaired = Value::Object(repair(schema).unwrap());
    assert_eq!(repaired.to_string(), expected.to_string());
    // The result needs no further repair.
    let again = Value::Object(repair(&repaired).unwrap());
    assert_eq!(again.to_string(), expected.to_string());
}

#[track_caller]
fn check_refused(schema: &Value, reason: &str) {
    assert_eq!(repair(schema).unwrap_err(), reason);
}

/// Spec: [MCP-04]
#[test]
fn a_valid_schema_is_unchanged() {
    for valid in [
        json!({"type": "object", "properties": {}}),
        json!({"properties": {"b": true, "a": {}}, "required": [], "type": "object"}),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "title": "T",
            "properties": {
                "a.b-c_1": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}]},
                "deep": {"properties": {"$ref": {"type": "string"}}},
                "here": {"$ref": "#"},
                "by_name": {"$ref": "#name"},
                "encoded": {"$ref": "#/$defs/a%20b~1c"},
            },
            "required": ["here"],
            "additionalProperties": false,
            "$defs": {"x": {"oneOf": [{"$ref": "#/$defs/x"}]}, "a b/c": {}},
        }),
    ] {
        check(&valid, &valid);
    }
}

/// Spec: [MCP-04]
#[test]
fn the_type_and_the_properties_are_added() {
    for (schema, expected) in [
        (json!({}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"properties": {"a": {}}, "$schema": "x"}),
            json!({"properties": {"a": {}}, "$schema": "x", "type": "object"}),
        ),
        (
            json!({"title": "T", "additionalProperties": false}),
            json!({
                "title": "T", "additionalProperties": false, "type": "object", "properties": {},
            }),
        ),
        (
            json!({"type": ["null", "object"], "properties": {"a": {}}}),
            json!({"type": "object", "properties": {"a": {}}}),
        ),
        (
            json!({"properties": null, "type": "object", "required": null}),
            json!({"properties": {}, "type": "object"}),
        ),
        (
            json!({"type": "object", "properties": {}, "required": ["a", "b", "a"]}),
            json!({"type": "object", "properties": {}, "required": ["a", "b"]}),
        ),
        (
            json!({"type": "object", "properties": {}, "allOf": [], "anyOf": null}),
            json!({"type": "object", "properties": {}}),
        ),
    ] {
        check(&schema, &expected);
    }
}

/// Spec: [MCP-04]
#[test]
fn a_schema_of_something_else_is_refused() {
    for (schema, reason) in [
        (
            json!({"type": "string"}),
            r#"the input schema has the type "string", not "object""#,
        ),
        (
            json!({"type": ["string", "null"], "properties": {}}),
            r#"the input schema has the type ["string","null"], not "object""#,
        ),
        (
            json!({"type": 5}),
            r#"the input schema has the type 5, not "object""#,
        ),
        (
            json!({"items": {}, "title": "x"}),
            "the input schema has no type, and items is not for an object",
        ),
        (
            json!({"properties": []}),
            "the input schema has properties that are not an object: []",
        ),
        (
            json!({"properties": {"a": null}}),
            "the input schema has a property a without a schema: null",
        ),
        (
            json!({"required": "a"}),
            "the input schema has a required that is not a list: \"a\"",
        ),
        (
            json!({"required": [1]}),
            "the input schema has a name in required that is not a text: 1",
        ),
        (
            json!({"allOf": {}}),
            "the input schema has allOf that is not a list: {}",
        ),
        (
            json!({"allOf": [[]]}),
            "a part of the input schema is not a schema: []",
        ),
        (
            json!({"allOf": [{"type": "string"}]}),
            r#"a part of the input schema has the type "string", not "object""#,
        ),
        (
            json!({"allOf": [false]}),
            "nothing fits a part of the input schema",
        ),
        (
            json!({"anyOf": [{"items": {}}, {"type": "null"}]}),
            r#"a part of the input schema has the type "null", not "object""#,
        ),
        (
            json!({"$ref": 1}),
            "the input schema has a $ref that is not a text: 1",
        ),
    ] {
        check_refused(&schema, reason);
    }
}

/// Spec: [MCP-04]
#[test]
fn a_name_of_a_property_that_the_api_does_not_take_is_refused() {
    let longest = "x".repeat(64);
    assert!(repair(&json!({"properties": {&longest: {}}})).is_ok());
    for name in ["", "a b", "ä", "$top", "a[]", &format!("{longest}x")] {
        let error = repair(&json!({"anyOf": [{"properties": {name: {}}}]})).unwrap_err();
        assert!(error.contains("the API takes names of 1 to 64"), "{error}");
        // Deeper names are taken.
        let deep = json!({"properties": {"a": {"properties": {name: {}}}}});
        assert!(repair(&deep).is_ok(), "{name}");
    }
}

/// Spec: [MCP-04]
#[test]
fn all_of_is_merged() {
    check(
        &json!({
            "description": "D",
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {
                    "properties": {"b": {}, "a": {"type": "string"}},
                    "required": ["b", "a"],
                    "title": "T",
                    "description": "not used",
                    "additionalProperties": false,
                },
                {"allOf": [{"properties": {"d": {}}}, true]},
            ],
            "properties": {"c": {}},
            "required": ["c"],
        }),
        &json!({
            "description": "D",
            "properties": {"c": {}, "a": {"type": "string"}, "b": {}, "d": {}},
            "required": ["c", "a", "b"],
            "type": "object",
            "title": "T",
        }),
    );
}

/// Spec: [MCP-04]
#[test]
fn a_property_with_several_schemas_fits_any_of_them() {
    check(
        &json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "allOf": [
                {"properties": {"a": {"type": "integer"}}},
                {"properties": {"a": {"type": "string"}}},
                {"properties": {"a": {"const": null}}},
            ],
        }),
        &json!({
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"const": null}]}},
        }),
    );
}

/// Spec: [MCP-04]
#[test]
fn alternatives_are_merged_and_described() {
    for key in ["anyOf", "oneOf"] {
        check(
            &json!({
                "type": "object",
                "properties": {"message": {"type": "string"}},
                "required": ["message"],
                key: [{"required": ["to", "by"]}, {"required": ["by", "task"]}],
                "additionalProperties": false,
            }),
            &json!({
                "type": "object",
                "properties": {"message": {"type": "string"}},
                "required": ["message", "by"],
                "additionalProperties": false,
                "description": "One of these sets of properties: to, by | by, task",
            }),
        );
    }
    check(
        &json!({
            "description": "Sends.",
            "oneOf": [
                {"properties": {"a": {}, "b": {}}},
                {"properties": {"c": {"type": "string"}, "d": {}}, "required": ["c"]},
                {"properties": {"c": {"type": "null"}}, "required": ["c"]},
                {"type": "object", "title": "nothing"},
                {"type": "null"},
                false,
            ],
        }),
        &json!({
            "description": "Sends.\nOne of these sets of properties: a, b | c (optional: d) | c | none",
            "type": "object",
            "properties": {
                "a": {}, "b": {}, "c": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "d": {},
            },
        }),
    );
}

/// Spec: [MCP-04]
#[test]
fn one_alternative_is_none() {
    check(
        &json!({"anyOf": [
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
            {"type": "null"},
        ]}),
        &json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
}

/// Spec: [MCP-04]
#[test]
fn groups_in_groups_are_merged() {
    check(
        &json!({
            "allOf": [
                {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                {"oneOf": [{"allOf": [{"required": ["c"]}, {"required": ["d"]}]}, {"required": ["c"]}]},
            ],
        }),
        &json!({
            "type": "object",
            "properties": {},
            "required": ["c"],
            "description": "One of these sets of properties: a | b\n\
                One of these sets of properties: c, d | c",
        }),
    );
}

/// Spec: [MCP-04]
#[test]
fn references_at_the_root_are_followed() {
    let input = json!({
        "type": "object",
        "description": "An input.",
        "properties": {"a": {"$ref": "#/definitions/Other"}},
        "required": ["a"],
        "additionalProperties": false,
    });
    check(
        &json!({
            "$ref": "#/definitions/Step",
            "definitions": {
                "Step": {"$ref": "#/definitions/The%20Input"},
                "The Input": input,
                "Other": {"type": "string"},
            },
            "$schema": "http://json-schema.org/draft-07/schema#",
        }),
        &json!({
            "definitions": {
                "Step": {"$ref": "#/definitions/The%20Input"},
                "The Input": input,
                "Other": {"type": "string"},
            },
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/Other"}},
            "required": ["a"],
            "description": "An input.",
            "additionalProperties": false,
        }),
    );
    let defs = json!({"A": {"properties": {"a": {}}}, "B": {"required": ["b"]}});
    check(
        &json!({
            "anyOf": [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/B"}]}],
            "$defs": defs,
        }),
        &json!({
            "$defs": defs,
            "type": "object",
            "properties": {"a": {}},
            "description": "One of these sets of properties: a | b",
        }),
    );
}

/// Spec: [MCP-04]
#[test]
fn references_to_nowhere_are_refused() {
    for reference in [
        "https://example.com/schema.json",
        "other.json#/$defs/a",
        "",
        "#/$defs/b",
        "#/$defs/a/0",
    ] {
        for (key, place) in [
            ("$ref", "a"),
            ("$dynamicRef", "items"),
            ("$recursiveRef", "not"),
        ] {
            let schema = json!({
                "type": "object",
                "properties": {"x": {"anyOf": [{place: {key: reference}}]}},
                "$defs": {"a": {}},
            });
            let shown = Value::from(reference);
            check_refused(
                &schema,
                &format!("the input schema refers to {shown}, which is not in it"),
            );
        }
    }
    check_refused(
        &json!({"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}}),
        "the input schema refers to \"#name\", which is not in it",
    );
    // The place was in a group that is merged.
    check_refused(
        &json!({
            "properties": {"a": {"$ref": "#/allOf/0/properties/b"}},
            "allOf": [{"properties": {"b": {}}}],
        }),
        "the input schema refers to \"#/allOf/0/properties/b\", which is not in it",
    );
}

/// Spec: [MCP-04]
#[test]
fn circles_and_many_parts_are_refused() {
    let circle = "the input schema has groups or references in more than 32 levels";
    check_refused(&json!({"$ref": "#"}), circle);
    check_refused(
        &json!({
            "allOf": [{"$ref": "#/$defs/a"}],
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
        }),
        circle,
    );
    // Each definition is the next one twice: more than 2^10 parts.
    let mut definitions = Map::new();
    for index in 0..10 {
        let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
        definitions.insert(format!("d{index}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d10".to_owned(), json!({}));
    check_refused(
        &json!({"$ref": "#/$defs/d0", "$defs": definitions}),
        "the input schema has more than 256 parts in its groups",
    );
    check_refused(
        &json!({"anyOf": vec![json!({}); 256]}),
        "the input schema has more than 256 parts in its groups",
    );
    check(
        &json!({"anyOf": vec![json!({}); 255]}),
        &json!({"type": "object", "properties": {}}),
    );
}

/// A schema with that number of levels.
fn deep(levels: usize) -> Value {
    let mut inner = json!({});
    // The root and its properties are two more.
    for _ in 0..levels - 3 {
        inner = json!({"not": inner});
    }
    json!({"type": "object", "properties": {"a": inner}})
}

/// Spec: [MCP-04]
#[test]
fn a_deep_schema_is_refused() {
    let refused = "the input schema is deeper than 64 levels";
    check(&deep(64), &deep(64));
    check_refused(&deep(65), refused);
    check_refused(&deep(200), refused);
    // The alternatives of a property are two levels more.
    let property = |levels| deep(levels)["properties"]["a"].clone();
    let two = |levels| {
        json!({
            "properties": {"a": property(levels)},
            "allOf": [{"properties": {"a": {"type": "string"}}}],
        })
    };
    assert!(repair(&two(62)).is_ok());
    check_refused(&two(63), refused);
}

/// Spec: [MCP-04]
#[test]
fn a_long_schema_is_refused() {
    let with =
        |length: usize| json!({"type": "object", "properties": {}, "title": "x".repeat(length)});
    let empty = with(0).to_string().len();
    let longest = with(64 * 1024 - empty);
    check(&longest, &longest);
    check_refused(
        &with(64 * 1024 - empty + 1),
        "the input schema has 65537 bytes; more than 65536 are not sent",
    );
    // A definition that is copied to the root counts twice.
    let error = repair(&json!({
        "$ref": "#/$defs/a",
        "$defs": {"a": {"properties": {}, "title": "x".repeat(40_000)}},
    }));
    assert!(error.unwrap_err().contains("more than 65536 are not sent"));
}

/// Spec: [MCP-04]
#[test]
fn the_description_of_alternatives_is_bounded() {
    let alternatives: Vec<Value> = (0..200)
        .map(|index| json!({"required": [format!("{}{index}", "x".repeat(50))]}))
        .collect();
    let repaired = repair(&json!({"anyOf": alternatives})).unwrap();
    let description = repaired["description"].as_str().unwrap();
    assert!(description.len() <= MAX_NOTE && description.ends_with('…'));
}

/// Spec: [MCP-04]
#[test]
fn a_description_is_cut_between_characters() {
    for fits in ["", "short", &"x".repeat(2048), &"ä".repeat(1024)] {
        assert_eq!(cut_description(fits), fits);
    }
    assert_eq!(
        cut_description(&"x".repeat(2049)),
        format!("{} … [cut]", "x".repeat(2038))
    );
    // Of the character in the middle, nothing is left.
    assert_eq!(
        cut_description(&format!("x{}", "ä".repeat(1024))),
        format!("x{} … [cut]", "ä".repeat(1018))
    );
}

const KEYS: &[&str] = &[
    "type",
    "properties",
    "required",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
    "$defs",
    "items",
    "description",
    "additionalProperties",
    "a",
    "b",
    "a b",
];
const WORDS: &[&str] = &[
    "object",
    "string",
    "a",
    "b",
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/anyOf/0",
    "#/properties/a",
    "#a",
    "http://x",
];

/// JSON that resembles a schema in places.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        4 => select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 80, 5, |inner| {
        let member = (select(KEYS), inner.clone());
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            3 => prop::collection::vec(member, 0..5).prop_map(object),
        ]
    })
}

fn object(members: Vec<(&'static str, Value)>) -> Value {
    let members = members.into_iter();
    Value::Object(
        members
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// A schema whose parts are of the right types, so that few are refused.
fn sound_schema() -> impl Strategy<Value = Value> {
    let property = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"$ref": "#/$defs/x"})),
    ];
    let properties = prop::collection::vec((select(vec!["a", "b", "c"]), property), 0..3);
    let required = prop::collection::vec(select(vec!["a", "b", "c"]), 0..3);
    let leaf = (properties, required).prop_map(
        |(properties, required)| json!({"properties": object(properties), "required": required}),
    );
    let root = leaf.prop_recursive(4, 24, 3, |inner| {
        let group = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array);
        (inner, select(vec!["allOf", "anyOf", "oneOf"]), group).prop_map(
            |(mut schema, key, group)| {
                schema[key] = group;
                schema
            },
        )
    });
    root.prop_map(|mut schema| {
        schema["$defs"] = json!({"x": {"type": "string"}});
        schema
    })
}

/// Checks all that the API needs.
fn check_valid(repaired: &Map<String, Value>) {
    assert_eq!(repaired["type"], "object");
    let properties = repaired["properties"].as_object().unwrap();
    assert!(properties.keys().all(|name| is_property_name(name)));
    assert!(MERGED.iter().all(|key| !repaired.contains_key(*key)));
    let text = Value::Object(repaired.clone()).to_string();
    assert!(text.len() <= MAX_BYTES);
    let again = repair(&Value::Object(repaired.clone())).unwrap();
    assert_eq!(Value::Object(again).to_string(), text);
}

proptest! {
    /// Spec: [MCP-04]
    #[test]
    fn no_json_is_too_strange_to_be_looked_at(
        members in prop::collection::vec((select(KEYS), json_value()), 0..6),
    ) {
        let schema = object(members);
        match repair(&schema) {
            Ok(repaired) => check_valid(&repaired),
            Err(reason) => prop_assert!(!reason.is_empty() && reason.len() < 500, "{reason}"),
        }
    }

    /// Spec: [MCP-04]
    #[test]
    fn every_sound_schema_is_repaired_and_keeps_its_properties(schema in sound_schema()) {
        let repaired = repair(&schema).unwrap();
        check_valid(&repaired);
        let own = schema["properties"].as_object().unwrap();
        for name in own.keys() {
            prop_assert!(repaired["properties"].get(name).is_some(), "{name}");
        }
        for name in schema["required"].as_array().unwrap() {
            prop_assert!(repaired["required"].as_array().unwrap().contains(name), "{name}");
        }
    }

    /// Spec: [MCP-04]
    #[test]
    fn a_description_is_never_longer_than_its_maximum(text in "[aä…😀]{0,1200}") {
        let cut = cut_description(&text);
        prop_assert!(cut.len() <= 2048);
        match cut.strip_suffix(CUT) {
            Some(start) => prop_assert!(text.starts_with(start) && cut.len() > 2048 - 4),
            None => prop_assert_eq!(&cut, &text),
        }
    }
}
