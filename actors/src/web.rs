//! The steps of the API's own tools on the web, and the sources of a text, read from blocks.
//!
//! Source: the API's documentation of web search and web fetch.

use std::collections::HashSet;

use harness_protocol::{WebSource, WebStep};
use serde_json::Value;

use crate::reply::{Block, BlockKind, Object};

/// Maximum number of sources of one block that clients receive.
const MAX_SOURCES: usize = 50;

/// The step that a block of a tool of the API is. `None` for any other block.
pub(crate) fn step(block: &Block) -> Option<WebStep> {
    match block.kind() {
        BlockKind::ServerToolCall { .. } => Some(called(block.json())),
        BlockKind::ServerToolResult { .. } => Some(result(block.json())),
        BlockKind::Text(_)
        | BlockKind::Thinking { .. }
        | BlockKind::RedactedThinking
        | BlockKind::ToolCall { .. }
        | BlockKind::Unknown => None,
    }
}

fn called(block: &Object) -> WebStep {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let input = block.get("input").and_then(Value::as_object);
    let input = input.and_then(|input| input.get("query").or(input.get("url")));
    WebStep::Called {
        tool: text(block.get("name")),
        input: text(input),
    }
}

/// An error is an object in place of the list, or one beside it.
fn result(block: &Object) -> WebStep {
    let content = block.get("content").unwrap_or(&Value::Null);
    if let Some(error) = content["error_code"].as_str() {
        return WebStep::Failed {
            error: error.to_owned(),
        };
    }
    let pages = content.as_array().map(Vec::as_slice);
    let pages = pages.unwrap_or_else(|| std::slice::from_ref(content));
    WebStep::Found {
        sources: distinct(pages.iter().filter_map(|page| {
            let title = page["title"].as_str().or(page["content"]["title"].as_str());
            source(title, &page["url"])
        })),
    }
}

/// The pages that a text cites, each once.
pub(crate) fn sources(block: &Block) -> Vec<WebSource> {
    let cited = block.json().get("citations").and_then(Value::as_array);
    let cited = cited.into_iter().flatten();
    distinct(cited.filter_map(|cited| source(cited["title"].as_str(), &cited["url"])))
}

fn source(title: Option<&str>, url: &Value) -> Option<WebSource> {
    Some(WebSource {
        title: title.unwrap_or_default().to_owned(),
        url: url.as_str()?.to_owned(),
    })
}

fn distinct(sources: impl Iterator<Item = WebSource>) -> Vec<WebSource> {
    let mut seen = HashSet::new();
    let new = sources.filter(|source| seen.insert(source.url.clone()));
    new.take(MAX_SOURCES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn block(json: &Value) -> Block {
        Block::new(json.as_object().unwrap().clone())
    }

    fn page(title: &str, url: &str) -> WebSource {
        WebSource {
            title: title.to_owned(),
            url: url.to_owned(),
        }
    }

    /// Spec: [WEB-05]
    #[test]
    fn a_call_says_what_it_asks_and_a_result_what_it_found() {
        let called = |name: &str, input: Value| {
            step(&block(
                &json!({"type": "server_tool_use", "id": "s", "name": name, "input": input}),
            ))
        };
        let expected = |tool: &str, input: &str| {
            Some(WebStep::Called {
                tool: tool.to_owned(),
                input: input.to_owned(),
            })
        };
        assert_eq!(
            called("web_search", json!({"query": "q"})),
            expected("web_search", "q")
        );
        assert_eq!(
            called("web_fetch", json!({"url": "https://a"})),
            expected("web_fetch", "https://a")
        );
        assert_eq!(called("other", json!({"query": 7})), expected("other", ""));
        let result = |kind: &str, content: Value| {
            step(&block(
                &json!({"type": kind, "tool_use_id": "s", "content": content}),
            ))
        };
        let hit = |url: &str| json!({"type": "web_search_result", "title": "T", "url": url, "encrypted_content": "E"});
        assert_eq!(
            result(
                "web_search_tool_result",
                json!([hit("a"), hit("b"), hit("a")])
            ),
            Some(WebStep::Found {
                sources: vec![page("T", "a"), page("T", "b")]
            })
        );
        let fetched = json!({"type": "web_fetch_result", "url": "a", "content": {"title": "D"}});
        assert_eq!(
            result("web_fetch_tool_result", fetched),
            Some(WebStep::Found {
                sources: vec![page("D", "a")]
            })
        );
        let failed = json!({"type": "web_search_tool_result_error", "error_code": "unavailable"});
        assert_eq!(
            result("web_search_tool_result", failed),
            Some(WebStep::Failed {
                error: "unavailable".to_owned()
            })
        );
        assert_eq!(step(&block(&json!({"type": "text", "text": "x"}))), None);
    }

    /// Spec: [WEB-05]
    #[test]
    fn a_text_has_the_pages_that_it_cites_each_once() {
        let cited = |url: Value| {
            json!({"type": "web_search_result_location", "url": url, "title": "T",
                   "encrypted_index": "I", "cited_text": "x"})
        };
        let text = json!({"type": "text", "text": "x",
            "citations": [cited(json!("a")), cited(json!(null)), cited(json!("a"))]});
        assert_eq!(sources(&block(&text)), [page("T", "a")]);
        assert_eq!(sources(&block(&json!({"type": "text", "text": "x"}))), []);
    }
}
