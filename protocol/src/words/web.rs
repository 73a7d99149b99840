//! The steps of the API on the web, in words.

use super::counts::counted;
use crate::{WebSource, WebStep};

/// Maximum number of pages that are named.
const MAX_NAMED: usize = 10;

/// A step of a tool of the API: one line, and one for each page that it found.
#[must_use]
pub fn web_step(step: &WebStep) -> String {
    match step {
        WebStep::Called { tool, input } if input.is_empty() => in_line(tool),
        WebStep::Called { tool, input } => format!("{}: {}", in_line(tool), in_line(input)),
        WebStep::Failed { error } => format!("failed: {}", in_line(error)),
        WebStep::Found { sources } => {
            let pages = counted(sources.len() as u64, "page", "pages");
            let named = sources.iter().take(MAX_NAMED).map(title_and_host);
            let more = sources.len().saturating_sub(MAX_NAMED);
            let more = (more > 0).then(|| format!("and {more} more"));
            let lines: Vec<String> = [pages].into_iter().chain(named).chain(more).collect();
            lines.join("\n  ")
        }
    }
}

/// The sources of a text, a line each, numbered from `first`.
#[must_use]
pub fn web_sources(sources: &[WebSource], first: usize) -> String {
    let lines = sources.iter().zip(first..);
    let lines: Vec<String> = lines
        .map(|(source, number)| format!("[{number}] {}", title_and_host(source)))
        .collect();
    lines.join("\n")
}

/// The title and the host of a page.
fn title_and_host(source: &WebSource) -> String {
    let (title, host) = (in_line(&source.title), in_line(source.host()));
    match title.is_empty() {
        true => host,
        false => format!("{title} · {host}"),
    }
}

/// A text from elsewhere on one line.
pub(super) fn in_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(title: &str, url: &str) -> WebSource {
        WebSource {
            title: title.to_owned(),
            url: url.to_owned(),
        }
    }

    /// Spec: [WEB-05]
    #[test]
    fn a_step_names_what_is_asked_and_what_was_found() {
        let called = |input: &str| {
            web_step(&WebStep::Called {
                tool: "web_search".to_owned(),
                input: input.to_owned(),
            })
        };
        assert_eq!(called("rust\n1.90"), "web_search: rust 1.90");
        assert_eq!(called(""), "web_search");
        let error = "max_uses_exceeded".to_owned();
        assert_eq!(
            web_step(&WebStep::Failed { error }),
            "failed: max_uses_exceeded"
        );
        let pages = [
            source("A\nB", "https://a.example/x"),
            source("", "https://b.example"),
        ];
        let found = |sources: Vec<WebSource>| web_step(&WebStep::Found { sources });
        assert_eq!(
            found(pages.to_vec()),
            "2 pages\n  A B · a.example\n  b.example"
        );
        assert_eq!(found(Vec::new()), "0 pages");
        let many = found(vec![pages[0].clone(); 12]);
        assert!(many.ends_with("\n  and 2 more"), "{many}");
        assert_eq!(web_sources(&pages, 3), "[3] A B · a.example\n[4] b.example");
    }
}
