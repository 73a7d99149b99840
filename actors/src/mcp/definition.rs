//! The definition of a tool of a server, and the digests by which a change of it is noticed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::schema::{cut_description, repaired};
use crate::attachment::sha256;

/// A tool as its server describes it, uncut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name that the server gave it.
    pub tool: String,
    /// The description for the model; empty without one.
    pub description: String,
    /// The JSON schema of the input.
    pub input_schema: Map<String, Value>,
}

/// A tool in the form in which the Messages API takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The name by which the model calls it.
    pub name: String,
    /// The description for the model, of a bounded length.
    pub description: String,
    /// The schema of the input, whose type is `object`.
    pub input_schema: Map<String, Value>,
}

impl ToolDefinition {
    /// Reads an element of the result of `tools/list`. `None` if it has no name, or parts of other types than a tool's.
    #[must_use]
    pub(super) fn from_listed(listed: &Value) -> Option<Self> {
        let tool = listed.get("name")?.as_str()?.to_owned();
        let description = match listed.get("description") {
            None | Some(Value::Null) => String::new(),
            Some(description) => description.as_str()?.to_owned(),
        };
        let input_schema = match listed.get("inputSchema") {
            None | Some(Value::Null) => Map::new(),
            Some(schema) => schema.as_object()?.clone(),
        };
        Some(Self {
            tool,
            description,
            input_schema,
        })
    }

    /// The SHA-256 of the definition, in hexadecimal digits. The order of keys makes no difference.
    #[must_use]
    pub fn digest(&self) -> String {
        canonical_digest(json!({
            "tool": self.tool,
            "description": self.description,
            "input_schema": self.input_schema,
        }))
    }

    /// The tool for the model, which calls it by this name.
    ///
    /// # Errors
    /// The reason why the API would not take it.
    pub fn offered(&self, name: &str) -> Result<OfferedTool, String> {
        Ok(OfferedTool {
            name: name.to_owned(),
            description: cut_description(&self.description),
            input_schema: repaired(&self.input_schema)?,
        })
    }
}

/// The SHA-256 of what an operator accepts: the entry of a server, as [`ServerEntry::canonical`] writes it, the code in
/// the folder that it names, and its tools. Their order makes no difference.
///
/// [`ServerEntry::canonical`]: super::ServerEntry::canonical
#[must_use]
pub fn list_digest(
    entry: &str,
    files: &BTreeMap<String, String>,
    tools: &[ToolDefinition],
) -> String {
    let mut tools: Vec<(&str, String)> = tools
        .iter()
        .map(|tool| (&*tool.tool, tool.digest()))
        .collect();
    // By the name, and by the digest if a server gives one name twice.
    tools.sort_unstable();
    let digests: Vec<String> = tools.into_iter().map(|(_, digest)| digest).collect();
    canonical_digest(json!([entry, files, digests]))
}

/// The SHA-256 of a value as JSON with sorted keys.
fn canonical_digest(mut value: Value) -> String {
    value.sort_all_objects();
    sha256(value.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn none() -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn tool(name: &str, description: &str, schema: &str) -> ToolDefinition {
        ToolDefinition {
            tool: name.to_owned(),
            description: description.to_owned(),
            input_schema: serde_json::from_str(schema).unwrap(),
        }
    }

    /// Spec: [MCP-06]
    #[test]
    fn a_digest_is_that_of_the_json_with_sorted_keys() {
        let one = tool("b", "B ä\n", r#"{"type":"object","properties":{}}"#);
        let canonical = r#"{"description":"B ä\n","input_schema":{"properties":{},"type":"object"},"tool":"b"}"#;
        assert_eq!(one.digest(), sha256(canonical.as_bytes()));
        let files = BTreeMap::from([("a.js".to_owned(), "0".to_owned())]);
        let list = format!(r#"["entry",{{"a.js":"0"}},["{}"]]"#, one.digest());
        assert_eq!(
            list_digest("entry", &files, &[one]),
            sha256(list.as_bytes())
        );
    }

    /// Spec: [MCP-06]
    #[test]
    fn the_order_of_keys_is_no_change_and_all_else_is() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a","b"]}"#;
        let one = tool("a", "A", schema);
        let reordered = r#"{"required":["a","b"],"properties":{"a":{"minLength":1,"type":"string"}},"type":"object"}"#;
        assert_eq!(one.digest(), tool("a", "A", reordered).digest());
        for changed in [
            tool("A", "A", schema),
            tool("a", "A ", schema),
            tool("a", "A", &schema.replace('1', "2")),
            tool("a", "A", &schema.replace(r#""a","b""#, r#""b","a""#)),
            tool("a", "A", "{}"),
            tool("aA", "", schema),
        ] {
            assert_ne!(one.digest(), changed.digest(), "{changed:?}");
        }
    }

    /// Spec: [MCP-06]
    #[test]
    fn a_list_has_the_entry_and_every_tool_in_any_order() {
        let [a, b] = ["a", "b"].map(|name| tool(name, "", "{}"));
        let files = BTreeMap::from([("a.js".to_owned(), "0".to_owned())]);
        let digest = list_digest("{}", &none(), &[a.clone(), b.clone()]);
        assert_eq!(digest, list_digest("{}", &none(), &[b.clone(), a.clone()]));
        let twice = tool("a", "again", "{}");
        assert_eq!(
            list_digest("{}", &none(), &[a.clone(), twice.clone()]),
            list_digest("{}", &none(), &[twice.clone(), a.clone()])
        );
        for other in [
            list_digest("{} ", &none(), &[a.clone(), b.clone()]),
            list_digest("{}", &files, &[a.clone(), b.clone()]),
            list_digest("{}", &none(), std::slice::from_ref(&a)),
            list_digest("{}", &none(), &[a.clone(), a.clone(), b.clone()]),
            list_digest("{}", &none(), &[a, twice]),
            list_digest("{}", &none(), &[b]),
            list_digest("{}", &none(), &[]),
        ] {
            assert_ne!(digest, other);
        }
    }

    /// Spec: [MCP-04]
    #[test]
    fn a_tool_is_offered_with_a_bounded_description_and_a_schema_that_the_api_takes() {
        let long = "x".repeat(5000);
        let definition = tool("a.b", &long, r#"{"required":["a"]}"#);
        let offered = definition.offered("mcp__s__a_b").unwrap();
        assert_eq!(offered.name, "mcp__s__a_b");
        assert_eq!(offered.description, cut_description(&long));
        assert_eq!(
            Value::Object(offered.input_schema),
            json!({"type": "object", "properties": {}, "required": ["a"]})
        );
        let refused = tool("a", "", r#"{"type":"string"}"#).offered("mcp__s__a");
        assert!(refused.unwrap_err().contains("\"string\""));
    }

    /// Spec: [MCP-06]
    #[test]
    fn a_listed_tool_is_read_as_the_server_gave_it() {
        let listed = json!({
            "name": "a",
            "title": "An A",
            "description": "Does a.",
            "inputSchema": {"type": "object", "b": 1, "a": 2},
            "annotations": {"readOnlyHint": true},
        });
        let read = ToolDefinition::from_listed(&listed).unwrap();
        assert_eq!(
            read,
            tool("a", "Does a.", r#"{"type":"object","b":1,"a":2}"#)
        );
        let stored = serde_json::to_string(&read).unwrap();
        assert_eq!(
            stored,
            r#"{"tool":"a","description":"Does a.","input_schema":{"type":"object","b":1,"a":2}}"#
        );
        assert_eq!(
            serde_json::from_str::<ToolDefinition>(&stored).unwrap(),
            read
        );
        for little in [
            json!({"name": "a"}),
            json!({"name": "a", "description": null, "inputSchema": null}),
        ] {
            assert_eq!(
                ToolDefinition::from_listed(&little),
                Some(tool("a", "", "{}"))
            );
        }
        for wrong in [
            json!(null),
            json!({}),
            json!({"name": 1}),
            json!({"name": "a", "description": 1}),
            json!({"name": "a", "inputSchema": []}),
        ] {
            assert_eq!(ToolDefinition::from_listed(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        /// Spec: [MCP-06]
        #[test]
        fn a_digest_does_not_depend_on_the_order_of_members(
            members in prop::collection::btree_map("[a-d]{1,2}", any::<i8>(), 0..6),
        ) {
            let nested = |members: Vec<(&String, &i8)>| {
                let inner: Map<String, Value> = members
                    .into_iter()
                    .map(|(key, value)| (key.clone(), Value::from(*value)))
                    .collect();
                let mut outer = Map::new();
                outer.insert("x".to_owned(), json!([inner]));
                ToolDefinition {
                    tool: "a".to_owned(),
                    description: String::new(),
                    input_schema: outer,
                }
            };
            let forward = nested(members.iter().collect());
            let backward = nested(members.iter().rev().collect());
            prop_assert_eq!(forward.digest(), backward.digest());
            prop_assert_eq!(forward.digest().len(), 64);
        }
    }
}
