//! The steps of the tools with which the API reaches the web, and the sources of a text.

use serde::{Deserialize, Serialize};

/// A page of the web. Both texts come from elsewhere and may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WebSource {
    /// The title that the page gives itself; may be empty.
    pub title: String,
    /// The address.
    pub url: String,
}

impl WebSource {
    /// The host of the address, with its port if it has one; the whole address if it has no host.
    #[must_use]
    pub fn host(&self) -> &str {
        let behind = self.url.split_once("://").map(|(_, behind)| behind);
        let host = behind.and_then(|behind| behind.split(['/', '\\', '?', '#']).next());
        let host = host.map(|host| host.rsplit_once('@').map_or(host, |(_, host)| host));
        host.filter(|host| !host.is_empty()).unwrap_or(&self.url)
    }
}

/// A step of a tool that the API runs itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum WebStep {
    /// The tool was called.
    Called {
        /// The name of the tool, such as `web_search`.
        tool: String,
        /// The words that are searched for, or the address that is fetched; may be empty.
        input: String,
    },
    /// The tool found pages.
    Found {
        /// The pages.
        sources: Vec<WebSource>,
    },
    /// The tool failed.
    Failed {
        /// The API's code of the error, such as `max_uses_exceeded`.
        error: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [WEB-05]
    #[test]
    fn a_source_is_named_by_its_host() {
        for (url, host) in [
            ("https://example.com/a?b#c", "example.com"),
            ("http://user:x@example.com:8080", "example.com:8080"),
            ("https://example.com?q", "example.com"),
            (r"https://evil.example\@docs.rs", "evil.example"),
            ("https:///a", "https:///a"),
            ("no address", "no address"),
        ] {
            let source = WebSource {
                title: String::new(),
                url: url.to_owned(),
            };
            assert_eq!(source.host(), host);
        }
    }
}
