//! `/usage`: the tokens and the cost of the conversation.

use harness_protocol::{TokenUsage, UsageAnswer, words};

use super::{App, Overlay};
use crate::conversation::Context;
use crate::link::ClientOrder;
use crate::text::one_line;

impl App {
    /// Asks for the usage, to show it; whether that could be tried.
    pub(super) fn ask_for_usage(&mut self) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(ClientOrder::Usage { conversation });
        true
    }

    /// Shows the usage that the service told.
    pub(super) fn usage(&mut self, conversation: &str, answer: &UsageAnswer) {
        if conversation == self.open_id() && self.overlay.is_none() {
            let context = self.conversation.status().context;
            let mut lines = lines(answer);
            if let Some(context) = context.map(Context::words) {
                lines.insert(0, format!("context   {context}"));
            }
            self.overlay = Some(Overlay::Facts(lines));
        }
    }
}

fn lines(answer: &UsageAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    for model in &answer.models {
        let name = match model.model.as_str() {
            "" => "(unknown)".to_owned(),
            name => one_line(name),
        };
        lines.push(format!(
            "{name}   {}   {}",
            counts(&model.usage),
            cost(model.cost_usd)
        ));
    }
    lines.push(format!(
        "all   {}   {}",
        counts(&answer.usage),
        cost(answer.cost_usd)
    ));
    if let Some(last) = &answer.last_run {
        lines.push(format!("run {}   {}", last.run_id, counts(&last.usage)));
    }
    lines.push(format!("prices of {}", one_line(&answer.prices_as_of)));
    lines
}

fn counts(usage: &TokenUsage) -> String {
    let tokens = format!(
        "in {} · out {} · cache written {}, read {}",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens
    );
    match usage.web_search_requests {
        0 => tokens,
        searches => {
            let searches = words::counted(searches, "search", "searches");
            format!("{tokens} · {searches}")
        }
    }
}

fn cost(dollars: Option<f64>) -> String {
    dollars.map_or_else(
        || "cost unknown".to_owned(),
        |dollars| format!("${dollars:.4}"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::*;
    use super::*;
    use crate::app::AppEffect;
    use crate::link::News;
    use crate::terminal::Key;

    /// Spec: [TUI-381]
    #[test]
    fn the_usage_is_shown_by_model() {
        let mut app = attached(&[]);
        write(&mut app, "/usage");
        let conversation = "c".to_owned();
        let order = AppEffect::Order(ClientOrder::Usage { conversation });
        assert_eq!(key(&mut app, Key::Enter)[0], order);
        let usage = |tokens: u64| {
            json!({"input_tokens": tokens, "output_tokens": 2, "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 4})
        };
        let answer: UsageAnswer = serde_json::from_value(json!({
            "models": [
                {"model": "", "usage": usage(1), "cost_usd": null},
                {"model": "claude-opus-5-5", "usage": usage(5), "cost_usd": 0.25},
            ],
            "usage": usage(6),
            "cost_usd": null,
            "prices_as_of": "2026-10-24",
            "last_run": {"run_id": 9, "usage": usage(7)},
        }))
        .unwrap();
        let answer = Box::new(answer);
        // An answer about another conversation is not shown.
        for conversation in ["other", "c"] {
            assert!(app.overlay.is_none());
            let (conversation, answer) = (conversation.to_owned(), answer.clone());
            tell(
                &mut app,
                News::Usage {
                    conversation,
                    answer,
                },
            );
        }
        let lines = [
            "(unknown)   in 1 · out 2 · cache written 3, read 4   cost unknown",
            "claude-opus-5-5   in 5 · out 2 · cache written 3, read 4   $0.2500",
            "all   in 6 · out 2 · cache written 3, read 4   cost unknown",
            "run 9   in 7 · out 2 · cache written 3, read 4",
            "prices of 2026-10-24",
        ];
        assert!(matches!(&app.overlay, Some(Overlay::Facts(shown)) if *shown == lines));
    }
}
