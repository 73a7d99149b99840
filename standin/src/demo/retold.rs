//! Answers a request for a summary, by rule like everything else.

use crate::messages_request::MessagesRequest;

/// Maximum number of characters of the first line in the summary.
const MAX_GOAL: usize = 200;

/// The summary that a request wants.
pub(super) fn retell(request: &MessagesRequest) -> String {
    let content = request.last_content();
    let mut texts = content.iter().filter_map(|block| block["text"].as_str());
    let told = texts.find_map(conversation).unwrap_or_default();
    let lines: Vec<&str> = told
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // A line that only names a speaker is not a goal.
    let is_spoken = |line: &&&str| !line.ends_with([':', '>']) && !super::is_frame(line);
    let mut spoken = lines.iter().filter(is_spoken);
    let goal: String = spoken
        .next()
        .map_or("nothing was said", |line| *line)
        .chars()
        .take(MAX_GOAL)
        .collect();
    format!(
        "## Goal\n{goal}\n\n## Progress\nThe built-in demo has no model behind it, so it only \
         counts: {} lines were said before this.\n\n## Next steps\nGo on with what the user writes \
         next.",
        lines.len()
    )
}

/// The content of the last `<conversation>` element.
fn conversation(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once("</conversation>")?;
    let (_, inside) = before.split_once("<conversation>")?;
    Some(inside)
}
