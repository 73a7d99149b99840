//! Rules that allow nothing, because no rule allows a change of the files that they cover.

use std::path::{Path, PathBuf};

use harness_actors::approval::Rule;
use harness_actors::tool::is_protected;

use crate::visible;

/// Number of characters of a rule that are shown.
const MAX_SHOWN: usize = 200;
/// A name that is not protected.
const PLAIN: &str = "x";

/// The remark about a rule that is to allow something and cannot.
pub(super) fn remark(rule: &str) -> Option<String> {
    covers_only_protected(rule).then(|| {
        format!(
            "the rule {} allows nothing: no rule allows a change of files that tell other programs what to do",
            visible::short(rule, MAX_SHOWN)
        )
    })
}

/// True if every path that a rule covers is protected. A rule about commands or about calls of MCP servers covers no
/// path.
fn covers_only_protected(rule: &str) -> bool {
    let parsed = rule.parse::<Rule>().ok();
    let Some(pattern) = parsed.as_ref().and_then(Rule::path_pattern) else {
        return false;
    };
    let has_wildcard = |name: &str| name.contains(['*', '?', '\\']);
    let names: Vec<&str> = pattern.split('/').collect();
    names
        .split(|name| has_wildcard(name))
        .enumerate()
        .filter(|(_, run)| !run.is_empty())
        .any(|(place, run)| {
            let run: PathBuf = run.iter().collect();
            // Behind a wildcard the names are not the first ones of a path.
            match place {
                0 => is_protected(&run),
                _ => is_protected(&Path::new(PLAIN).join(run)),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-635]
    #[test]
    fn a_rule_that_covers_only_protected_files_is_told() {
        for rule in [
            "edit(.git/**)",
            "write(.git)",
            "edit(sub/.git/hooks/*)",
            "edit(**/.git/config)",
            "edit(**/AGENTS.md)",
            "write(hooks/**)",
            "edit(.cargo/config.toml)",
        ] {
            assert!(remark(rule).is_some(), "{rule}");
        }
        for rule in [
            "edit(src/**)",
            "edit(**)",
            "edit(*/.gi?)",
            "edit(**/hooks/a)",
            "edit(.cargo/**)",
            "bash(cat .git/config)",
            "mcp(git.AGENTS.md)",
            "no rule",
        ] {
            assert_eq!(remark(rule), None, "{rule}");
        }
    }
}
