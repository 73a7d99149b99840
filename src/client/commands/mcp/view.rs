//! A tested server in words, for an operator who decides whether to accept it.

use harness_protocol::{Access, McpServer, McpState, McpTool, McpToolState};

use serde_json::Value;

use crate::client::api::connection::ServiceConnection;
use crate::visible;

/// Maximum number of lines of a description that are shown.
const MAX_LINES: usize = 6;
/// Maximum number of characters of a description that are shown.
const MAX_CHARACTERS: usize = 600;
/// Maximum number of characters of the name of a tool, and of a reason.
const MAX_WORD: usize = 120;
/// Maximum number of inputs of a tool that are shown.
const MAX_INPUTS: usize = 12;
/// Maximum number of characters of the description of an input.
const MAX_INPUT: usize = 160;
/// The name of the means of containment where commands are not contained.
const NOT_CONTAINED: &str = "none";

/// The lines of a server: its command, and what it may reach.
pub(super) fn server_lines(server: &McpServer, service: &ServiceConnection) -> Vec<String> {
    let words: Vec<String> = server.command.iter().map(|word| shell_word(word)).collect();
    let name = visible::line(&server.name);
    let mut lines = vec![format!("{name}: {}", words.join(" "))];
    if let Some(folder) = &server.workspace {
        let folder = visible::line(folder);
        lines.push(format!(
            "  it is of .mcp.json in {folder}, and is offered there only"
        ));
    }
    if !server.files.is_empty() {
        let files = visible::line(&server.files.join(", "));
        lines.push(format!(
            "  runs these files of the folder, which are accepted as they are now: {files}"
        ));
    }
    if let Some(version) = &server.version {
        let version = visible::short(version, MAX_WORD);
        lines.push(format!("  it calls itself {version}"));
    }
    let files = match server.access {
        Access::Read => "may read files as commands do; writes only temporary files",
        Access::Write => "may read files as commands do, and write in the conversation's folder",
        Access::Full => "may read and write all that your account can: it is not contained",
        Access::Unknown => "has an access to files that this version does not know",
    };
    lines.push(format!("  {files}"));
    lines.push(match (server.network, server.access) {
        (true, _) | (_, Access::Full) => "  may use the network".to_owned(),
        (false, Access::Read | Access::Write | Access::Unknown) => "  has no network".to_owned(),
    });
    if !server.env.is_empty() {
        let names = visible::line(&server.env.join(", "));
        lines.push(format!("  gets these variables: {names}"));
    }
    let sandbox = service.info().map(|info| info.sandbox.as_str());
    if sandbox == Some(NOT_CONTAINED) && server.access != Access::Full {
        lines.push(
            "  this machine contains no commands, so it can do what your account can: harness doctor --sandbox"
                .to_owned(),
        );
    }
    lines
}

/// The lines of all tools of a server.
pub(super) fn all_tool_lines(server: &McpServer) -> Vec<String> {
    if server.tools.is_empty() {
        return vec!["  it has no tools".to_owned()];
    }
    let lines = |tool: &McpTool| tool_lines(tool, server);
    server.tools.iter().flat_map(lines).collect()
}

/// The lines of one tool: its name, its state where that is worth a word, and its description.
pub(super) fn tool_lines(tool: &McpTool, server: &McpServer) -> Vec<String> {
    let state = match tool.state {
        McpToolState::Accepted => String::new(),
        // Of a server that no operator has accepted all tools are new.
        McpToolState::New if server.state == McpState::New => String::new(),
        McpToolState::LeftOut => match &tool.reason {
            Some(reason) => format!(" (left out: {})", visible::short(reason, MAX_WORD)),
            None => " (left out)".to_owned(),
        },
        state @ (McpToolState::New
        | McpToolState::Changed
        | McpToolState::Gone
        | McpToolState::Unknown) => format!(" ({})", state.name()),
    };
    let mut lines = vec![format!("  {}{state}", visible::short(&tool.tool, MAX_WORD))];
    if matches!(tool.state, McpToolState::Gone | McpToolState::LeftOut) {
        return lines;
    }
    let (shown, rest) = beginning(tool.description.trim());
    for line in shown.lines() {
        let line = format!("      {}", visible::judged(line));
        lines.push(line.trim_end().to_owned());
    }
    if shown.is_empty() {
        lines.push("      (no description)".to_owned());
    }
    lines.extend(input_lines(&tool.input_schema));
    if rest > 0 {
        let name = visible::line(&server.name);
        lines.push(format!(
            "      … {rest} more characters: harness mcp test {name} --json"
        ));
    }
    lines
}

/// The lines about the inputs of a tool, whose descriptions the model reads, too.
fn input_lines(schema: &Value) -> Vec<String> {
    let inputs = schema.get("properties").and_then(Value::as_object);
    let inputs = inputs.into_iter().flatten();
    let line = |(name, input): (&String, &Value)| {
        let name = visible::short(name, MAX_WORD);
        let text = input.get("description").and_then(Value::as_str);
        match text.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => format!("      {name}: {}", visible::short(text, MAX_INPUT)),
            None => format!("      {name}"),
        }
    };
    let mut lines: Vec<String> = inputs.map(line).collect();
    let more = lines.len().saturating_sub(MAX_INPUTS);
    lines.truncate(MAX_INPUTS);
    if more > 0 {
        lines.push(format!("      … {more} more inputs"));
    }
    lines
}

/// The beginning of a text that is shown, and the number of characters after it.
fn beginning(text: &str) -> (&str, usize) {
    let mut lines = 1;
    let mut end = text.len();
    for (number, (at, c)) in text.char_indices().enumerate() {
        lines += usize::from(c == '\n');
        if number == MAX_CHARACTERS || lines > MAX_LINES {
            end = at;
            break;
        }
    }
    let (shown, rest) = text.split_at(end);
    (shown, rest.chars().count())
}

/// A word of a command, in quotes where a reader could take it for several.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\');
    let shown = visible::line(word);
    if !word.is_empty() && word.chars().all(is_plain) {
        return shown;
    }
    format!("'{}'", shown.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-813]
    #[test]
    fn a_long_description_is_cut_and_the_rest_is_counted() {
        assert_eq!(beginning("a\nb"), ("a\nb", 0));
        let long = "é".repeat(MAX_CHARACTERS + 2);
        assert_eq!(beginning(&long), (&*"é".repeat(MAX_CHARACTERS), 2));
        assert_eq!(beginning("1\n2\n3\n4\n5\n6\n7\n8"), ("1\n2\n3\n4\n5\n6", 4));
    }

    /// Spec: [CLI-813]
    #[test]
    fn the_words_of_a_command_stay_apart() {
        let words = ["uvx", "${NAME:-x}", "a b", "it's", "", "\x1b[2J"];
        let shown: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        assert_eq!(
            shown.join(" "),
            r"uvx ${NAME:-x} 'a b' 'it'\''s' '' \u{1b}[2J"
        );
    }
}
