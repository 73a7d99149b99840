//! A tool call in one line: its name, what it was asked in words that read, and how it ended.

use serde_json::{Map, Value};

use super::counts::{counted, number};
use super::time::took;
use crate::Extent;

/// The inputs of the tools whose calls read better than JSON: the fields that are shown, and those that may be there
/// besides and are shown elsewhere. A call with another field is shown as JSON, so that none of it is hidden.
const KNOWN: [(&str, &[&str], &[&str]); 7] = [
    ("read", &["path", "start_line", "end_line"], &[]),
    ("list_dir", &["path"], &[]),
    ("grep", &["pattern", "path"], &["recursive"]),
    (
        "edit",
        &["path"],
        &["old_string", "new_string", "replace_all"],
    ),
    ("write", &["path"], &["content"]),
    (
        "bash",
        &["command", "workdir", "background"],
        &["access", "network", "timeout_s", "why"],
    ),
    ("job", &["id", "action"], &["tail"]),
];

/// A tool call in short, for example `list_dir src`.
#[must_use]
pub fn call(name: &str, input: &Map<String, Value>) -> String {
    let asked = asked(name, input);
    if asked.is_empty() {
        return name.to_owned();
    }
    format!("{name} {asked}")
}

/// The input of a tool in short, without its name: `src/main.rs lines 80 to 120`. Of a tool that is not
/// known, and of an input that is another than expected, the input as JSON.
#[must_use]
pub fn asked(name: &str, input: &Map<String, Value>) -> String {
    readable(name, input).unwrap_or_else(|| {
        if input.is_empty() {
            String::new()
        } else {
            serde_json::to_string(input).unwrap_or_default()
        }
    })
}

fn readable(name: &str, input: &Map<String, Value>) -> Option<String> {
    let (_, told, besides) = KNOWN.iter().find(|(known, ..)| *known == name)?;
    let is_known = |key: &String| told.contains(&key.as_str()) || besides.contains(&key.as_str());
    if !input.keys().all(is_known) {
        return None;
    }
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let whole = |key: &str| input.get(key).and_then(Value::as_i64);
    let is_set = |key: &str| input.get(key).and_then(Value::as_bool) == Some(true);
    Some(match name {
        "read" => {
            let path = text("path")?;
            match (whole("start_line"), whole("end_line")) {
                (None, None) => path.to_owned(),
                (Some(start), None) => format!("{path} from line {start}"),
                (None, Some(end)) => format!("{path} to line {end}"),
                (Some(start), Some(end)) if start == end => format!("{path} line {start}"),
                (Some(start), Some(end)) => format!("{path} lines {start} to {end}"),
            }
        }
        // In quotes, for it may begin or end with a blank.
        "grep" => format!("\"{}\" {}", text("pattern")?, text("path")?),
        "bash" => {
            let folder = text("workdir").map(|folder| format!("in {folder}"));
            let background = is_set("background").then(|| "in the background".to_owned());
            let how: Vec<String> = folder.into_iter().chain(background).collect();
            match how.as_slice() {
                [] => text("command")?.to_owned(),
                how => format!("{} ({})", text("command")?, how.join(", ")),
            }
        }
        "job" => {
            let action = text("action").unwrap_or("output");
            format!("{} {action}", whole("id")?)
        }
        _ => text("path")?.to_owned(),
    })
}

/// The end of a call, with the facts that are known.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd<'a> {
    /// The tool.
    pub name: &'a str,
    /// The result, unchanged or in a form for people.
    pub result: &'a str,
    /// Its lines.
    pub lines: usize,
    /// True if the call failed.
    pub is_error: bool,
    /// The tool's count.
    pub extent: Option<&'a Extent>,
    /// Duration of the call in milliseconds.
    pub duration_ms: Option<u64>,
}

/// The end of a call, in one line without line breaks: `4,406 of 10,000 lines · 12 ms`, `exit 101 · 38 s`, `error: file
/// not found`, `cancelled`.
#[must_use]
pub fn call_end(end: &CallEnd<'_>) -> String {
    let mut facts = match command_end(end) {
        Some((how, _)) => vec![how],
        None if end.is_error => vec![failure(end.result)],
        None => vec![extent(end)],
    };
    let by_itself = || command_end(end).and_then(|(_, time)| time);
    facts.extend(end.duration_ms.map(took).or_else(by_itself));
    facts.join(" · ")
}

/// The end of a command and its duration: the result's last line is `[exit 0 · 1.2 s]`.
fn command_end(end: &CallEnd<'_>) -> Option<(String, Option<String>)> {
    if !matches!(end.name, "bash" | "!") {
        return None;
    }
    // What is kept of a long result may end before it.
    let last = end.result.trim_end().lines().next_back()?;
    let notes = last.strip_prefix('[')?.strip_suffix(']')?;
    let mut notes = notes.split(" · ");
    let how = notes.next()?.to_owned();
    Some((how, notes.next().map(str::to_owned)))
}

/// An error by its first line; what an operator did by its word.
fn failure(result: &str) -> String {
    let read: Option<Map<String, Value>> = serde_json::from_str(result).ok();
    let error = read.as_ref().and_then(|read| read.get("error")?.as_str());
    let first = error
        .unwrap_or(result)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    match first.unwrap_or("no reason was given") {
        "cancelled by user" | "cancelled" => "cancelled".to_owned(),
        text => match text.strip_prefix("not done: an operator denied it") {
            Some(said) => format!("denied{said}"),
            None => format!("error: {text}"),
        },
    }
}

fn extent(end: &CallEnd<'_>) -> String {
    let lines = || counted(end.lines as u64, "line", "lines");
    let Some(extent) = end.extent else {
        return lines();
    };
    let more = if extent.more { ", and more" } else { "" };
    match extent {
        Extent {
            added: Some(added),
            removed,
            ..
        } => format!("+{} −{}", number(*added), number(removed.unwrap_or(0))),
        Extent {
            hits: Some(hits),
            files: Some(files),
            ..
        } if *hits > 0 => {
            let hits = counted(*hits, "hit", "hits");
            format!("{hits} in {}{more}", counted(*files, "file", "files"))
        }
        Extent {
            hits: Some(hits), ..
        } => counted(*hits, "hit", "hits") + more,
        Extent {
            entries: Some(entries),
            ..
        } => counted(*entries, "entry", "entries") + more,
        Extent {
            lines: Some(lines),
            of_lines: Some(all),
            ..
        } if lines < all => format!("{} of {} lines", number(*lines), number(*all)),
        Extent {
            lines: Some(lines), ..
        } if extent.more => format!("{} of more lines", number(*lines)),
        Extent {
            lines: Some(lines), ..
        } => counted(*lines, "line", "lines"),
        _ => lines(),
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
