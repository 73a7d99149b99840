//! The tools with which the API itself reaches the web: their definitions, and what takes their place in a request to a
//! server that refuses them.
//!
//! Source: the API's documentation of web search and web fetch, version 20260318.

use harness_protocol::{FullSettings, WEB_TOOLS, WebSearch, words};
use serde_json::{Value, json};

use super::ModelError;
use crate::reply::Block;
use crate::web;

/// The name of the tool that searches.
const SEARCH: &str = WEB_TOOLS[0];
/// The name of the tool that fetches.
const FETCH: &str = WEB_TOOLS[1];
/// Maximum number of uses of each in one reply.
const MAX_USES: u32 = 5;
/// Maximum size of a page that is fetched, in tokens.
const MAX_CONTENT_TOKENS: u32 = 20_000;

/// The limits of these tools in a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WebLimits {
    /// True under a spending limit: what they find is part of the same request, whose cost cannot be told before.
    pub(crate) has_budget: bool,
    /// True if a message of the user may repeat what a tool or a command brought, as a summary does.
    pub(crate) repeats_others: bool,
}

/// The definitions of the tools that a conversation with these settings has. `searches`: it may search where its
/// setting leaves that open.
///
/// An address leaves through the API, and can carry data. So a page is fetched only if its address was said by the
/// user or found by the API's tools, and not if one of our tools brought it. Where a message of the user may repeat
/// what a tool brought, only pages are fetched that the API's tools found, unless the domains are named.
pub(crate) fn web_tools(settings: &FullSettings, searches: bool, limits: WebLimits) -> Vec<Value> {
    let mut tools = Vec::new();
    if limits.has_budget {
        return tools;
    }
    if may_search(settings.web_search, searches) {
        tools.push(json!({
            "type": "web_search_20260318", "name": SEARCH, "max_uses": MAX_USES,
            "allowed_callers": ["direct"],
        }));
    }
    let (blocked, allowed): (Vec<&str>, Vec<&str>) = settings
        .web_domains
        .iter()
        .map(String::as_str)
        .partition(|domain| domain.starts_with('-'));
    let is_open = allowed.is_empty();
    if settings.web_fetch {
        let of_user = if limits.repeats_others && is_open {
            "none"
        } else {
            "all"
        };
        tools.push(json!({
            "type": "web_fetch_20260318", "name": FETCH, "max_uses": MAX_USES,
            "max_content_tokens": MAX_CONTENT_TOKENS, "citations": {"enabled": true},
            "allowed_callers": ["direct"],
            "url_sources": {
                "user_input": {"type": of_user},
                "client_tool_results": {"type": "none"},
                "server_tool_results": {"type": "all"},
            },
        }));
    }
    let blocked = blocked.iter().map(|domain| domain.trim_start_matches('-'));
    for tool in &mut tools {
        if !is_open {
            tool["allowed_domains"] = allowed.clone().into();
        } else if !settings.web_domains.is_empty() {
            tool["blocked_domains"] = blocked.clone().collect();
        }
    }
    tools
}

fn may_search(setting: WebSearch, searches: bool) -> bool {
    match setting {
        WebSearch::Auto => searches,
        WebSearch::On => true,
        WebSearch::Off => false,
    }
}

/// True if the API runs a tool itself: its definition names a type of its own.
pub(crate) fn is_server_tool(definition: &Value) -> bool {
    definition["type"]
        .as_str()
        .is_some_and(|kind| kind != "custom")
}

/// True if the definition is of the tool that searches the web.
pub(crate) fn is_search(definition: &Value) -> bool {
    is_server_tool(definition) && definition["name"] == SEARCH
}

/// True if an error refuses these tools, of which the request has `tools`, the first `own` of them not the API's; or
/// if it refuses their blocks.
///
/// Source: servers that check every tool for a schema name its place (vLLM, llama.cpp: `tools.3.input_schema`), the
/// API names the tool or its type, and others the type of a block.
pub(super) fn are_refused(error: &ModelError, own: usize, tools: usize) -> bool {
    let ModelError::Api {
        status: 400 | 403 | 404 | 422 | 501,
        message,
        ..
    } = error
    else {
        return false;
    };
    let message = message.to_ascii_lowercase();
    // What an operator set wrong is for the operator to mend.
    let settings = ["domain", "url_sources", "max_uses"];
    if settings.iter().any(|field| message.contains(field)) {
        return false;
    }
    let named = [
        "web_search",
        "web_fetch",
        "web search",
        "web fetch",
        "server_tool_use",
    ];
    let mut places = (own..tools).flat_map(|place| {
        [
            format!("tools.{place}."),
            format!("tools[{place}]"),
            format!("tools, {place},"),
            format!("'tools', {place},"),
            format!("tools/{place}/"),
        ]
    });
    named.iter().any(|name| message.contains(name)) || places.any(|place| message.contains(&place))
}

/// A body of a request with a text in place of each step of these tools: what they asked and found. A step behind a
/// call of another tool is left out, since no text may follow there.
pub(super) fn in_words(body: &mut Value) {
    let messages = body["messages"].as_array_mut();
    for message in messages.into_iter().flatten() {
        if message["role"] != "assistant" {
            continue;
        }
        let Some(blocks) = message["content"].as_array_mut() else {
            continue;
        };
        let mut has_call = false;
        let mut kept = Vec::with_capacity(blocks.len());
        for mut block in std::mem::take(blocks) {
            has_call |= block["type"] == "tool_use";
            let step = block.as_object().cloned().map(Block::new);
            match step.and_then(|block| web::step(&block)) {
                None => {
                    if let Some(fields) = block.as_object_mut() {
                        fields.remove("citations");
                    }
                    kept.push(block);
                }
                Some(_) if has_call => {}
                Some(step) => {
                    kept.push(
                        json!({"type": "text", "text": format!("[{}]", words::web_step(&step))}),
                    );
                }
            }
        }
        // The marked block may be gone with its mark, which costs a cache and nothing else.
        while kept.last().is_some_and(is_thinking) {
            kept.pop();
        }
        if kept.is_empty() {
            kept.push(json!({"type": "text", "text": "[a step of a tool that is not available]"}));
        }
        *blocks = kept;
    }
    // A paused reply that ended in a step would go on from a text, which the API does not take.
    if let Some(messages) = body["messages"].as_array_mut()
        && messages
            .last()
            .is_some_and(|last| last["role"] == "assistant")
    {
        let go_on = json!([{"type": "text", "text": "Continue without this tool."}]);
        messages.push(json!({"role": "user", "content": go_on}));
    }
}

/// True if a block is thinking, readable or not.
pub(super) fn is_thinking(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(fetch: bool, search: WebSearch, domains: &[&str]) -> FullSettings {
        FullSettings {
            web_fetch: fetch,
            web_search: search,
            web_domains: domains.iter().map(|&domain| domain.to_owned()).collect(),
            ..FullSettings::default()
        }
    }

    /// Spec: [WEB-01] [WEB-02]
    #[test]
    fn the_tools_are_those_of_the_settings() {
        let names = |settings: &FullSettings, searches| {
            let tools = web_tools(settings, searches, WebLimits::default());
            let names = tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        let auto = settings(false, WebSearch::Auto, &[]);
        assert_eq!(names(&auto, false), [""; 0]);
        assert_eq!(names(&auto, true), ["web_search"]);
        assert_eq!(names(&settings(false, WebSearch::Off, &[]), true), [""; 0]);
        let both = settings(true, WebSearch::On, &[]);
        assert_eq!(names(&both, false), ["web_search", "web_fetch"]);
        let tools = web_tools(&both, false, WebLimits::default());
        assert_eq!(tools[0]["allowed_callers"], json!(["direct"]));
        assert!(tools.iter().all(is_server_tool) && is_search(&tools[0]) && !is_search(&tools[1]));
        assert!(!is_server_tool(
            &json!({"name": "web_search", "input_schema": {}})
        ));
    }

    /// Spec: [WEB-03] [WEB-04]
    #[test]
    fn domains_are_allowed_or_blocked_and_no_page_is_fetched_for_a_tool_of_the_service() {
        let tools = |domains: &[&str], repeats_others| {
            let limits = WebLimits {
                repeats_others,
                ..WebLimits::default()
            };
            web_tools(&settings(true, WebSearch::On, domains), false, limits)
        };
        for tool in tools(&["docs.rs", "a.example"], false) {
            assert_eq!(tool["allowed_domains"], json!(["docs.rs", "a.example"]));
            assert_eq!(tool["blocked_domains"], Value::Null);
        }
        for tool in tools(&["-docs.rs"], false) {
            assert_eq!(tool["blocked_domains"], json!(["docs.rs"]));
            assert_eq!(tool["allowed_domains"], Value::Null);
        }
        for (domains, is_summarized, of_user) in [
            (&[][..], false, "all"),
            (&[], true, "none"),
            (&["-docs.rs"], true, "none"),
            (&["docs.rs"], true, "all"),
        ] {
            let sources = tools(domains, is_summarized)[1]["url_sources"].clone();
            let expected = json!({
                "user_input": {"type": of_user},
                "client_tool_results": {"type": "none"},
                "server_tool_results": {"type": "all"},
            });
            assert_eq!(sources, expected, "{domains:?} {is_summarized}");
        }
    }

    /// Spec: [WEB-08]
    #[test]
    fn under_a_spending_limit_there_are_none() {
        let limits = WebLimits {
            has_budget: true,
            ..WebLimits::default()
        };
        let tools = web_tools(&settings(true, WebSearch::On, &[]), true, limits);
        assert_eq!(tools, [Value::Null; 0]);
    }

    /// Spec: [WEB-07]
    #[test]
    fn a_refusal_of_these_tools_is_told_from_others() {
        let error = |status, message: &str| ModelError::Api {
            status,
            kind: "invalid_request_error".to_owned(),
            message: message.to_owned(),
            request_id: None,
        };
        for message in [
            "tools.2.input_schema: Field required",
            "[{'loc': ('body', 'tools', 2, 'function'), 'msg': 'Field required'}]",
            "'claude-3-haiku' does not support tool types: web_search_20260318",
            "web search is not enabled for this organization",
            "messages.1.content.0: Input tag 'server_tool_use' does not match",
        ] {
            assert!(are_refused(&error(400, message), 2, 3), "{message}");
            assert!(!are_refused(&error(401, message), 2, 3), "{message}");
        }
        for message in [
            "tools.1.input_schema: Field required",
            "prompt is too long",
            "tools.2.web_search_20260318.allowed_domains.0: not a domain",
        ] {
            assert!(!are_refused(&error(400, message), 2, 3), "{message}");
        }
    }

    /// Spec: [WEB-07]
    #[test]
    fn steps_become_texts() {
        let call = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}});
        let hit = json!({"type": "web_search_result", "title": "T", "url": "https://a.example/x"});
        let result =
            json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [hit]});
        let cited = json!({"type": "text", "text": "x", "citations": [hit]});
        let own = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
        let mut body = json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [call, result, cited, own, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
            {"role": "assistant", "content": [result]},
        ]});
        in_words(&mut body);
        let text = |text: &str| json!({"type": "text", "text": text});
        let found = text("[1 page\n  T · a.example]");
        assert_eq!(
            body["messages"][1]["content"],
            json!([text("[web_search: q]"), found, text("x"), own])
        );
        assert_eq!(body["messages"][3]["content"], json!([found]));
        assert_eq!(body["messages"][4]["role"], "user", "no reply is the end");
        // A reply ends in no thinking, and is not empty.
        let thought = json!({"type": "thinking", "thinking": "t", "signature": "s"});
        for (content, kept) in [
            (json!([own, thought, call]), json!([own])),
            (
                json!([thought]),
                json!([text("[a step of a tool that is not available]")]),
            ),
        ] {
            let mut body = json!({"messages": [{"role": "assistant", "content": content}]});
            in_words(&mut body);
            assert_eq!(body["messages"][0]["content"], kept);
        }
    }
}
