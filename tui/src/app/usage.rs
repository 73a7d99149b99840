//! `/usage`: the tokens and the cost of the conversation.

use harness_protocol::{Usage, UsageAnswer};

use super::{App, Overlay};
use crate::conversation::Context;
use crate::link::Order;
use crate::text::one_line;

impl App {
    /// Asks for the usage, to show it; whether that could be tried.
    pub(super) fn ask_for_usage(&mut self) -> bool {
        let Some(conversation) = self.there() else {
            return false;
        };
        self.order(Order::Usage { conversation });
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

fn counts(usage: &Usage) -> String {
    format!(
        "in {} · out {} · cache written {}, read {}",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens
    )
}

fn cost(dollars: Option<f64>) -> String {
    dollars.map_or_else(
        || "cost unknown".to_owned(),
        |dollars| format!("${dollars:.4}"),
    )
}
