use serde_json::{Map, json};

use super::super::part::MAX_SHOWN;
use super::*;

fn person() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Person", "type": "object", "additionalProperties": false,
        "required": ["name", "age"],
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z]", "description": "the first one"},
            "age": {"type": "integer"},
            "mail": {"type": ["string", "null"], "format": "email"},
            "tags": {"type": "array", "minItems": 1, "items": {"enum": ["a", "b", 3, null]}},
            "home": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        },
        "$defs": {"place": {
            "type": "object", "additionalProperties": false,
            "properties": {"city": {"type": "string"}}, "required": ["city"],
        }},
    })
}

fn fault(change: impl FnOnce(&mut Value)) -> String {
    let mut json = person();
    change(&mut json);
    ReplySchema::new(json).unwrap_err().to_string()
}

/// Spec: [MODEL-807]
#[test]
fn what_the_api_does_not_take_is_refused_with_its_place() {
    assert!(ReplySchema::new(person()).is_ok());
    let at = |pointer: &'static str, keyword: &'static str, value: Value| {
        fault(|json| json.pointer_mut(pointer).unwrap()[keyword] = value)
    };
    let way_out = "leave it out, or say it in a `description`";
    for (pointer, path) in [
        ("/properties/age", "properties.age"),
        ("/properties/tags/items", "properties.tags.items"),
        ("/properties/home/anyOf/1", "properties.home.anyOf.1"),
        (
            "/$defs/place/properties/city",
            "$defs.place.properties.city",
        ),
    ] {
        for keyword in [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "multipleOf",
            "minLength",
            "maxLength",
            "maxItems",
            "uniqueItems",
            "minProperties",
            "patternProperties",
            "oneOf",
            "not",
            "if",
            "prefixItems",
            "contains",
            "$defs",
            "propertyNames",
        ] {
            let expected = format!("{path}.{keyword}: the API takes no `{keyword}`; {way_out}");
            assert_eq!(at(pointer, keyword, json!(1)), expected);
        }
    }
    let item = "properties.tags.minItems: the API takes 0 and 1 only";
    assert_eq!(at("/properties/tags", "minItems", json!(2)), item);
    let open = "the API takes objects with `\"additionalProperties\": false` only";
    let without = |pointer: &'static str| {
        fault(|json| {
            let object = json.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            object.remove("additionalProperties");
        })
    };
    assert_eq!(without(""), open);
    assert_eq!(without("/$defs/place"), format!("$defs.place: {open}"));
    assert_eq!(
        at("/$defs/place", "additionalProperties", json!(true)),
        "$defs.place.additionalProperties: the API takes `false` only"
    );
    assert_eq!(
        at("/$defs/place", "required", json!(["town"])),
        "$defs.place.required: \"town\" is none of the properties"
    );
    assert_eq!(
        at("/properties/tags/items", "enum", json!([{}])),
        "properties.tags.items.enum: the API takes strings, numbers, booleans and null only"
    );
    assert!(
        at("/properties/age", "type", json!("int"))
            .starts_with("properties.age.type: \"int\" is none of object, ")
    );
    assert!(
        at("/properties/mail", "format", json!("phone"))
            .starts_with("properties.mail.format: the API takes date, ")
    );
    assert!(
        at("/properties/name", "pattern", json!("[a"))
            .starts_with("properties.name.pattern: the pattern cannot be used: ")
    );
    for (json, reason) in [
        (json!([]), "a schema is a JSON object"),
        (
            json!({"anyOf": []}),
            "anyOf: it is a list of one schema or more",
        ),
        (json!({"items": true}), "items: a schema is a JSON object"),
    ] {
        assert_eq!(ReplySchema::new(json).unwrap_err().to_string(), reason);
    }
}

/// Spec: [MODEL-807]
#[test]
fn references_stay_in_the_schema_and_never_lead_back() {
    let recursive = "it refers to itself, which the API does not take";
    let referring =
        |reference: &str| fault(|json| json["properties"]["home"] = json!({"$ref": reference}));
    assert_eq!(referring("#"), format!("properties.home.$ref: {recursive}"));
    for outer in [
        "other.json",
        "https://example.com/s.json#/$defs/a",
        "#/$defs/none",
        "#/properties/age",
    ] {
        let expected = format!(
            "properties.home.$ref: {outer:?} is no definition of this schema; refer to \"#/$defs/NAME\""
        );
        assert_eq!(referring(outer), expected);
    }
    let in_circles = |json: &mut Value| {
        json["$defs"]["place"]["properties"]["city"] = json!({"$ref": "#/$defs/other"});
        json["$defs"]["other"] = json!({"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]});
    };
    assert_eq!(fault(in_circles), format!("$defs.other: {recursive}"));
    let in_all =
        fault(|json| json["properties"]["home"] = json!({"allOf": [{"$ref": "#/$defs/place"}]}));
    assert_eq!(
        in_all,
        "properties.home.allOf.0.$ref: the API takes no `$ref` in `allOf`"
    );

    let mut deep = json!({"type": "string"});
    for _ in 0..MAX_DEPTH {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(
        ReplySchema::new(deep)
            .unwrap_err()
            .to_string()
            .ends_with(TOO_DEEP)
    );
    // Each refers to the next one twice: neither the check of the schema nor that of a reply takes all the ways.
    let mut definitions = Map::new();
    for number in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), json!({"anyOf": [next, next]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let chain = |last: usize| {
        let mut json = json!({"$ref": format!("#/$defs/d{last}")});
        json["$defs"] = definitions.clone().into();
        ReplySchema::new(json)
    };
    assert_eq!(chain(0).unwrap_err().to_string(), TOO_DEEP);
    let wide = chain(35).unwrap();
    assert_eq!(wide.read(" \"a\"\n").unwrap(), "\"a\"");
    assert!(
        wide.read("1")
            .unwrap_err()
            .contains("too many alternatives")
    );
}

/// Spec: [MODEL-809]
#[test]
fn a_reply_fits_or_its_first_fault_is_named() {
    let schema = ReplySchema::new(person()).unwrap();
    let whole = json!({"name": "Ada", "age": 36.0, "mail": null, "tags": ["a", 3.0, null],
                       "home": {"city": "London"}});
    let text = whole.to_string();
    assert_eq!(schema.read(&text).unwrap(), text);
    for fenced in ["```json\n{}\n```", "```\n{}```", "\n```JSON\r\n{}\n```\n"] {
        let fenced = fenced.replace("{}", &text);
        assert_eq!(schema.read(&fenced).unwrap(), text, "{fenced}");
    }
    let fault = |pointer: &str, value: Value| {
        let mut json = whole.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        schema.read(&json.to_string()).unwrap_err()
    };
    for (pointer, value, expected) in [
        ("/name", json!("ada"), "name: \"ada\" does not match ^[A-Z]"),
        ("/age", json!(36.5), "age: 36.5 is no integer"),
        ("/age", json!("36"), "age: \"36\" is no integer"),
        ("/mail", json!([]), "mail: [] is no string or null"),
        ("/tags", json!([]), "tags: the array has no item"),
        (
            "/tags/1",
            json!("c"),
            "tags.1: \"c\" is none of \"a\", \"b\", 3, null",
        ),
        (
            "/home",
            json!({}),
            "home: none of the alternatives fits; the first: home: \"city\" is missing",
        ),
        (
            "/home",
            json!({"city": 5}),
            "home: none of the alternatives fits; the first: home.city: 5 is no string",
        ),
        ("", json!({"name": "A"}), "\"age\" is missing"),
        (
            "",
            json!({"name": "A", "age": 1, "x": 1}),
            "\"x\" is no property",
        ),
        (
            "",
            json!("x".repeat(100)),
            &format!("\"{}… is no object", "x".repeat(MAX_SHOWN - 1)),
        ),
    ] {
        assert_eq!(fault(pointer, value), expected);
    }
    for text in ["", "Ada is 36.", "{\"name\": \"Ada\"", "```json\n{}"] {
        let told = schema.read(text).unwrap_err();
        assert!(
            told.starts_with("the reply is no JSON document: "),
            "{told}"
        );
    }
}

/// Spec: [MODEL-809]
#[test]
fn both_lists_of_values_hold_and_names_may_have_slashes() {
    let json =
        json!({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"const": "a", "enum": ["a", "b"]}}});
    let schema = ReplySchema::new(json).unwrap();
    assert!(schema.read("\"a\"").is_ok());
    assert_eq!(schema.read("\"b\"").unwrap_err(), "\"b\" is none of \"a\"");
    for pattern in ["\\bfoo", "(?i)a", "(?=a)"] {
        let told = ReplySchema::new(json!({"pattern": pattern})).unwrap_err();
        assert!(told.reason.contains("word boundaries"), "{told}");
    }
    for pattern in ["(?:a|b)+", "\\\\b", "^[0-9]{4}$"] {
        assert!(
            ReplySchema::new(json!({"pattern": pattern})).is_ok(),
            "{pattern}"
        );
    }
    let many: Vec<Value> = (0..65).map(|_| json!({"pattern": "a"})).collect();
    let told = ReplySchema::new(json!({"anyOf": many})).unwrap_err();
    assert_eq!(
        told.to_string(),
        "anyOf.64.pattern: the schema has more than 64 patterns"
    );
    let large = ReplySchema::new(json!({"pattern": "\\w{1000}"})).unwrap_err();
    assert!(
        large.reason.starts_with("the pattern cannot be used: "),
        "{large}"
    );
}
