//! Rules such as `edit(src/**)`: a tool, and the paths in the folder of the conversation that the rule
//! is about.

use std::fmt;
use std::str::FromStr;

use derive_more::{Display, Error};

/// A rule. Its text is its value: `tool(pattern)`.
///
/// A pattern is a path below the folder of the conversation. `*` stands for any characters of one
/// name, `?` for one of them, and `**` for any number of names; `\` takes the meaning from the
/// character behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: String,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{text:?} is no rule: {reason}; write it like edit(src/**)")]
pub struct RuleError {
    text: String,
    reason: &'static str,
}

impl Rule {
    /// The rule that covers one path for one tool, and nothing else.
    #[must_use]
    pub fn of_path(tool: &str, path: &str) -> Self {
        let mut pattern = String::with_capacity(path.len());
        for character in path.chars() {
            if matches!(character, '*' | '?' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        Self {
            tool: tool.to_owned(),
            pattern,
        }
    }

    /// The tool that it is about.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the rule covers that path for that tool.
    #[must_use]
    pub fn covers(&self, tool: &str, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        let patterns: Vec<&str> = self.pattern.split('/').collect();
        self.tool == tool && covers_names(&patterns, &names)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.tool, self.pattern)
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let refuse = |reason| RuleError {
            text: text.to_owned(),
            reason,
        };
        let (tool, rest) = text
            .split_once('(')
            .ok_or_else(|| refuse("it has no pattern"))?;
        let pattern = rest
            .strip_suffix(')')
            .ok_or_else(|| refuse("it does not end with )"))?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if tool.is_empty() || !tool.chars().all(is_of_name) {
            return Err(refuse("it begins with no tool"));
        }
        if pattern.starts_with('/') {
            return Err(refuse("the pattern is not below the conversation's folder"));
        }
        let is_step = |name: &str| matches!(name, "" | "." | "..");
        if pattern.split('/').any(is_step) {
            return Err(refuse("the pattern has an empty name, . or .."));
        }
        Ok(Self {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
        })
    }
}

/// Whether patterns of names cover names. The time is bounded by the product of their numbers.
fn covers_names(patterns: &[&str], names: &[&str]) -> bool {
    wild(
        patterns,
        names,
        |pattern| *pattern == "**",
        |pattern, name| covers_name(pattern, name),
    )
}

/// A character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glob {
    Any,
    One,
    Just(char),
}

fn covers_name(pattern: &str, name: &str) -> bool {
    let mut globs = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        globs.push(match character {
            '*' => Glob::Any,
            '?' => Glob::One,
            '\\' => Glob::Just(characters.next().unwrap_or('\\')),
            other => Glob::Just(other),
        });
    }
    let name: Vec<char> = name.chars().collect();
    wild(
        &globs,
        &name,
        |glob| *glob == Glob::Any,
        |glob, character| *glob == Glob::One || *glob == Glob::Just(*character),
    )
}

/// Whether patterns cover items one by one, where some patterns stand for any number of items.
fn wild<P, I>(
    patterns: &[P],
    items: &[I],
    is_any: impl Fn(&P) -> bool,
    covers: impl Fn(&P, &I) -> bool,
) -> bool {
    let (mut pattern, mut item) = (0, 0);
    // Where to go on when it does not match: behind the last `any`, with one item more for it.
    let mut retry = None;
    while item < items.len() {
        match patterns.get(pattern) {
            Some(any) if is_any(any) => {
                retry = Some((pattern, item));
                pattern += 1;
            }
            Some(one) if covers(one, &items[item]) => {
                pattern += 1;
                item += 1;
            }
            _ => {
                let Some((any, taken)) = retry else {
                    return false;
                };
                retry = Some((any, taken + 1));
                pattern = any + 1;
                item = taken + 1;
            }
        }
    }
    patterns[pattern..].iter().all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [APPR-06]
    #[test]
    fn a_rule_covers_its_tool_and_the_paths_of_its_pattern() {
        for (rule, covered, not_covered) in [
            (
                "edit(src/**)",
                &["src/a", "src/a/b.rs"][..],
                &["a", "srcs/a", "src2"][..],
            ),
            (
                "edit(docs/*.md)",
                &["docs/a.md", "docs/.md"],
                &["docs/a/b.md", "docs/a.mdx"],
            ),
            ("edit(**/x?)", &["x1", "a/b/xy"], &["x", "a/x", "xyz"]),
            ("edit(a*b*c)", &["abc", "aXbXbc"], &["ab", "abcd", "a/b/c"]),
            ("edit(a\\*b)", &["a*b"], &["aXb"]),
            ("edit(**)", &["a", "a/b"], &[]),
        ] {
            let parsed: Rule = rule.parse().unwrap();
            assert_eq!(parsed.to_string(), rule);
            for path in covered {
                assert!(parsed.covers("edit", path), "{rule} {path}");
                assert!(!parsed.covers("write", path), "{rule} {path}");
            }
            for path in not_covered {
                assert!(!parsed.covers("edit", path), "{rule} {path}");
            }
        }
    }

    /// Spec: [APPR-06]
    #[test]
    fn the_rule_of_a_path_covers_just_that() {
        for path in ["a/b.rs", "a*", "a?b", "a\\b", "[x]"] {
            let rule = Rule::of_path("edit", path);
            assert!(rule.covers("edit", path), "{path}");
            let read: Rule = rule.to_string().parse().unwrap();
            assert_eq!(read, rule);
            assert!(!rule.covers("edit", "ab"), "{path}");
        }
    }

    /// Spec: [APPR-06]
    #[test]
    fn what_is_no_rule_is_refused_by_name() {
        for text in [
            "edit",
            "edit(",
            "(a)",
            "ed it(a)",
            "edit(/etc/passwd)",
            "edit(../a)",
            "edit(a//b)",
            "edit()",
        ] {
            let refused = text.parse::<Rule>().unwrap_err().to_string();
            assert!(refused.contains(&format!("{text:?}")), "{refused}");
        }
    }
}
