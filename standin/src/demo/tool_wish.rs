//! A tool call that a prompt asks for.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

/// The tool to call, and its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolWish {
    List {
        path: String,
    },
    Read {
        path: String,
        start: Option<u64>,
        end: Option<u64>,
    },
    Search {
        pattern: String,
        path: String,
    },
    Change {
        old: String,
        new: String,
        path: String,
    },
    Write {
        content: String,
        path: String,
    },
    Run {
        command: String,
        background: bool,
    },
    /// Looks at a job, or stops it.
    Job {
        id: u64,
        stop: bool,
    },
}

impl ToolWish {
    /// The name of the tool.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::List { .. } => "list_dir",
            Self::Read { .. } => "read",
            Self::Search { .. } => "grep",
            Self::Change { .. } => "edit",
            Self::Write { .. } => "write",
            Self::Run { .. } => "bash",
            Self::Job { .. } => "job",
        }
    }

    /// The input of the tool.
    pub(super) fn input(&self) -> Value {
        match self {
            Self::List { path } => json!({"path": path}),
            Self::Read { path, start, end } => {
                let mut input = json!({"path": path});
                for (name, line) in [("start_line", start), ("end_line", end)] {
                    if let Some(line) = line {
                        input[name] = json!(line);
                    }
                }
                input
            }
            Self::Search { pattern, path } => {
                let is_file = !path.ends_with('/') && Path::new(path).extension().is_some();
                json!({"pattern": pattern, "path": path, "recursive": !is_file})
            }
            Self::Change { old, new, path } => {
                json!({"path": path, "old_string": old, "new_string": new})
            }
            Self::Write { content, path } => {
                json!({"path": path, "content": format!("{content}\n")})
            }
            Self::Run {
                command,
                background: false,
            } => json!({"command": command}),
            Self::Run {
                command,
                background: true,
            } => json!({"command": command, "background": true}),
            Self::Job { id, stop } => {
                let action = if *stop { "stop" } else { "output" };
                json!({"id": id, "action": action})
            }
        }
    }
}

/// In words that follow "I will".
impl fmt::Display for ToolWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List { path } => write!(f, "list `{path}`"),
            Self::Read {
                path,
                start: None,
                end: None,
            } => write!(f, "read `{path}`"),
            Self::Read {
                path,
                start,
                end: None,
            } => {
                write!(f, "read `{path}` from line {}", start.unwrap_or(1))
            }
            Self::Read {
                path,
                start,
                end: Some(end),
            } => {
                write!(f, "read `{path}` lines {}-{end}", start.unwrap_or(1))
            }
            Self::Search { pattern, path } => write!(f, "search for `{pattern}` in `{path}`"),
            Self::Change { old, new, path } => {
                write!(f, "change `{old}` to `{new}` in `{path}`")
            }
            Self::Write { path, .. } => write!(f, "write `{path}`"),
            Self::Run {
                command,
                background,
            } => {
                let place = if *background {
                    " in the background"
                } else {
                    ""
                };
                write!(f, "run `{command}`{place}")
            }
            Self::Job { id, stop: false } => write!(f, "look at job {id}"),
            Self::Job { id, stop: true } => write!(f, "stop job {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_fields_of_the_tools() {
        let path = "a".to_owned();
        let read = ToolWish::Read {
            path,
            start: Some(2),
            end: None,
        };
        assert_eq!(read.input(), json!({"path": "a", "start_line": 2}));
        for (path, recursive) in [
            ("src", true),
            ("src/a.rs", false),
            ("v1.2/", true),
            (".", true),
        ] {
            let (pattern, path) = ("x".to_owned(), path.to_owned());
            let input = ToolWish::Search { pattern, path }.input();
            assert_eq!(input["recursive"], recursive, "{input}");
        }
    }
}
