//! The names by which the model calls the tools of servers.

use std::collections::{BTreeMap, BTreeSet};

use crate::approval::MCP_NAMES;
use crate::attachment::sha256;

/// Maximum length of a tool's name in the Messages API.
const MAX_NAME: usize = 64;
/// Maximum length of a server's name. A tool's name that is cut for the longest hash still holds all of it.
const MAX_SERVER: usize = 32;
/// Numbers of digits of the hash, the usual one first. Longer ones are for names that collide nevertheless.
const HASH_DIGITS: [usize; 2] = [8, 24];

/// True if a server can have this name in the configuration: `mcp__SERVER__TOOL` then has only one reading.
#[must_use]
pub fn is_server_name(name: &str) -> bool {
    (1..=MAX_SERVER).contains(&name.len())
        && name.chars().all(is_allowed)
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_')
}

/// The name by which the model calls a tool, if no other tool of the server has the same one. A character that the API
/// does not take becomes `_`; a name that is too long is cut and ends with digits of a hash.
#[must_use]
pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let name = mapped_name(server, tool);
    if name.len() > MAX_NAME {
        return hashed_name(server, tool, HASH_DIGITS[0]);
    }
    name
}

/// The names by which the model calls the tools of a server, in the order of the tools. A tool whose name another one
/// could have as well gets digits of a hash, so no two tools have the same name. Neither the order of the tools nor a
/// tool that does not collide changes a name.
#[must_use]
pub fn tool_names(server: &str, tools: &[&str]) -> Vec<String> {
    // A tool that is listed twice is one tool.
    let distinct: BTreeSet<&str> = tools.iter().copied().collect();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for tool in distinct {
        for name in candidates(server, tool) {
            *uses.entry(name).or_default() += 1;
        }
    }
    let is_unique = |name: &String| uses.get(name) == Some(&1);
    tools
        .iter()
        .map(|tool| {
            let found = candidates(server, tool).into_iter().find(is_unique);
            found.unwrap_or_else(|| hashed_name(server, tool, HASH_DIGITS[1]))
        })
        .collect()
}

/// The names that a tool can have, the preferred one first, each once.
fn candidates(server: &str, tool: &str) -> Vec<String> {
    let mut names = vec![tool_name(server, tool)];
    for digits in HASH_DIGITS {
        let name = hashed_name(server, tool, digits);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn mapped_name(server: &str, tool: &str) -> String {
    let name = format!("{MCP_NAMES}{server}__{tool}");
    let allowed = name.chars().map(|c| if is_allowed(c) { c } else { '_' });
    allowed.collect()
}

fn hashed_name(server: &str, tool: &str, digits: usize) -> String {
    let mut name = mapped_name(server, tool);
    // All characters are ASCII by now.
    name.truncate(MAX_NAME - 1 - digits);
    let hash = sha256(format!("{server}\0{tool}").as_bytes());
    name.push('_');
    name.extend(hash.chars().take(digits));
    name
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spec: [MCP-03]
    #[test]
    fn a_name_has_the_server_and_the_tool() {
        for (server, tool, name) in [
            ("git", "git_status", "mcp__git__git_status"),
            ("my-server", "get-Item2", "mcp__my-server__get-Item2"),
            ("git", "a.b/c d", "mcp__git__a_b_c_d"),
            ("git", "größe", "mcp__git__gr__e"),
            ("git", "", "mcp__git__"),
        ] {
            assert_eq!(tool_name(server, tool), name);
            assert_eq!(tool_names(server, &[tool]), [name]);
        }
    }

    /// Spec: [MCP-03]
    #[test]
    fn a_long_name_is_cut_and_ends_with_its_hash() {
        let longest = "x".repeat(64 - "mcp__git__".len());
        assert_eq!(tool_name("git", &longest), format!("mcp__git__{longest}"));
        let longer = "x".repeat(longest.len() + 1);
        let name = tool_name("git", &longer);
        let start = format!("mcp__git__{}", "x".repeat(45));
        assert_eq!(name, format!("{start}_8a4cecf1"));
        assert_eq!(name.len(), 64);
        assert_eq!(tool_names("git", &[&longer]), std::slice::from_ref(&name));
        // Of names with the same start, each keeps its own.
        let other = format!("{longer}y");
        assert_ne!(tool_name("git", &other), name);
        assert_eq!(
            tool_names("git", &[&other, &longer]),
            [tool_name("git", &other), name]
        );
    }

    /// Spec: [MCP-03]
    #[test]
    fn tools_that_would_have_one_name_are_told_apart_in_any_order() {
        let dotted = "mcp__git__a_b_7e516e15";
        let plain = "mcp__git__a_b_ee1988cd";
        assert_eq!(
            tool_names("git", &["a.b", "c", "a_b"]),
            [dotted, "mcp__git__c", plain]
        );
        assert_eq!(
            tool_names("git", &["a_b", "a.b", "c"]),
            [plain, dotted, "mcp__git__c"]
        );
        // A tool that is listed twice does not collide with itself.
        assert_eq!(
            tool_names("git", &["c", "c"]),
            ["mcp__git__c", "mcp__git__c"]
        );
        assert_eq!(tool_names("git", &[]), [""; 0]);
    }

    /// Spec: [MCP-03]
    #[test]
    fn a_tool_cannot_take_the_hashed_name_of_another() {
        let taken = "a_b_7e516e15";
        let names = tool_names("git", &["a.b", "a_b", taken]);
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), 3, "{names:?}");
        assert!(!names.contains(&format!("mcp__git__{taken}")), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    }

    /// Spec: [MCP-03]
    #[test]
    fn the_name_of_a_server_leaves_one_reading() {
        let longest = "x".repeat(32);
        for name in ["git", "a", "my-server_2", "-", "0", &longest] {
            assert!(is_server_name(name), "{name}");
        }
        let longer = "x".repeat(33);
        for name in [
            "", "_", "_a", "a_", "a__b", "a b", "a.b", "ä", "a/b", "a\0", &longer,
        ] {
            assert!(!is_server_name(name), "{name:?}");
        }
    }

    /// Names that differ in little, so that they collide.
    fn tool() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ab._/-]{0,3}",
            "[ab._/-]{0,3}(_[0-9a-f]{8})?",
            "x{40,70}[ab.]?",
            any::<String>(),
        ]
    }

    proptest! {
        /// Spec: [MCP-03]
        #[test]
        fn names_are_distinct_allowed_and_the_same_in_any_order(
            server in "[a-z0-9]([a-z-]{0,30}[a-z])?",
            tools in prop::collection::btree_set(tool(), 0..12),
        ) {
            prop_assert!(is_server_name(&server));
            let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
            let names = tool_names(&server, &tools);
            let distinct: BTreeSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), tools.len());
            for name in &names {
                prop_assert!(name.len() <= 64);
                prop_assert!(name.chars().all(is_allowed));
                let start = format!("mcp__{server}__");
                prop_assert!(name.starts_with(&start));
            }
            let reversed: Vec<&str> = tools.iter().rev().copied().collect();
            let mut reversed = tool_names(&server, &reversed);
            reversed.reverse();
            prop_assert_eq!(reversed, names);
        }

        /// Spec: [MCP-03]
        #[test]
        fn a_tool_that_collides_with_none_changes_no_other_name(
            tools in prop::collection::btree_set("[a-c.]{1,4}", 1..8),
        ) {
            let before: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
            let after: Vec<&str> = before.iter().copied().chain(["other"]).collect();
            let names = tool_names("git", &after);
            prop_assert_eq!(&names[..before.len()], tool_names("git", &before));
            prop_assert_eq!(&*names[before.len()], "mcp__git__other");
        }
    }
}
