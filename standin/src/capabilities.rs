//! The abilities of a model and the parameters that it takes, by its generation.

use serde_json::{Value, json};

/// Every effort that there is, from the least to the most.
pub(crate) const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// The models that a signed thinking block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The model that wrote it.
    Model,
    /// The model, and everything before the block.
    Conversation,
    /// Everything before the block, whichever model wrote it.
    ConversationOfAnyModel,
}

/// The abilities of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The efforts that it takes; empty when it takes none.
    pub efforts: &'static [&'static str],
    /// True if it takes `thinking` of the type `adaptive`.
    pub adaptive: bool,
    /// True if it takes `thinking` of the type `enabled`, with a budget.
    pub enabled: bool,
    /// True if it takes `thinking` of the type `disabled`.
    pub disabled: bool,
    /// True if its highest efforts do not go with `thinking` of the type `disabled`.
    pub thinks_at_high_efforts: bool,
    /// True if it omits the text of its thinking unless a request asks for it.
    pub quiet: bool,
    /// True if it sees images.
    pub image_input: bool,
    /// True if it reads PDF documents.
    pub pdf_input: bool,
    /// True if it takes `temperature`, `top_p` and `top_k`.
    pub sampling: bool,
    /// True if it can be forced to call a tool.
    pub forced_tools: bool,
    /// The models that its thinking blocks are bound to.
    pub binding: Binding,
}

impl Capabilities {
    /// The abilities of a model of this id. An id that tells no generation can do everything.
    #[must_use]
    pub fn for_model(id: &str) -> Self {
        let everything = Self {
            efforts: EFFORTS,
            adaptive: true,
            enabled: true,
            disabled: true,
            thinks_at_high_efforts: false,
            quiet: false,
            image_input: true,
            pdf_input: true,
            sampling: true,
            forced_tools: true,
            binding: Binding::Model,
        };
        let Some((family, version)) = generation(id) else {
            return everything;
        };
        if version < (4, 7) {
            let efforts = match (family, version) {
                ("opus" | "sonnet", (4, 6)) => &["low", "medium", "high", "max"],
                ("opus", (4, 5)) => &EFFORTS[..3],
                _ => &EFFORTS[..0],
            };
            return Self {
                efforts,
                adaptive: version == (4, 6),
                ..everything
            };
        }
        let binding = match (family, version) {
            ("haiku", (5, 5)) => Binding::ConversationOfAnyModel,
            (_, version) if version > (5, 0) => Binding::Conversation,
            _ => Binding::Model,
        };
        let always_thinks = match family {
            "fable" | "mythos" => true,
            "opus" | "sonnet" => version >= (5, 5),
            _ => false,
        };
        let first_fable = family == "fable" && version == (5, 0);
        Self {
            enabled: false,
            disabled: !always_thinks,
            thinks_at_high_efforts: matches!(
                (family, version),
                ("opus", (5, 0)) | ("haiku", (5, 5))
            ),
            quiet: true,
            sampling: false,
            forced_tools: !always_thinks || first_fable,
            binding,
            ..everything
        }
    }

    /// The capabilities as the models endpoint shows them.
    pub(crate) fn to_json(&self) -> Value {
        let support = |supported: bool| json!({ "supported": supported });
        let mut effort = support(!self.efforts.is_empty());
        for name in EFFORTS {
            effort[*name] = support(self.efforts.contains(name));
        }
        let mut context = support(true);
        for name in [
            "clear_thinking_20251015",
            "clear_tool_uses_20250919",
            "compact_20260112",
        ] {
            context[name] = support(true);
        }
        json!({
            "batch": support(true),
            "citations": support(true),
            "code_execution": support(true),
            "context_management": context,
            "effort": effort,
            "image_input": support(self.image_input),
            "pdf_input": support(self.pdf_input),
            "server_tools": {
                "supported": true,
                "code_execution": support(true),
                "web_search": support(true),
            },
            "structured_outputs": support(true),
            "thinking": {
                "supported": self.adaptive || self.enabled,
                "types": {
                    "adaptive": support(self.adaptive),
                    "disabled": support(self.disabled),
                    "enabled": support(self.enabled),
                },
            },
        })
    }
}

/// The family and the version in a model's id, for example `opus` and (4, 7) of `claude-opus-4-7`.
pub(crate) fn generation(id: &str) -> Option<(&str, (u32, u32))> {
    let (family, version) = id.strip_prefix("claude-")?.split_once('-')?;
    let mut numbers = version.split('-');
    let major = numbers.next()?.parse().ok()?;
    // A date is not a minor version.
    let minor = numbers.next().filter(|minor| minor.len() <= 2);
    let minor = minor.and_then(|minor| minor.parse().ok()).unwrap_or(0);
    Some((family, (major, minor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_has_its_own_abilities() {
        use Binding::{Conversation, ConversationOfAnyModel, Model};
        let rows = [
            ("claude-haiku-4-5-20251001", 0, false, true, true, Model),
            ("claude-sonnet-4-5", 0, false, true, true, Model),
            ("claude-opus-4-5", 3, false, true, true, Model),
            ("claude-sonnet-4-6", 4, true, true, true, Model),
            ("claude-opus-4-6", 4, true, true, true, Model),
            ("claude-opus-4-7", 5, true, false, true, Model),
            ("claude-opus-4-8", 5, true, false, true, Model),
            ("claude-fable-5", 5, true, false, false, Model),
            ("claude-fable-5-1", 5, true, false, false, Conversation),
            ("claude-sonnet-5-5", 5, true, false, false, Conversation),
            ("claude-opus-5-5", 5, true, false, false, Conversation),
            (
                "claude-haiku-5-5",
                5,
                true,
                false,
                true,
                ConversationOfAnyModel,
            ),
            ("claude-test", 5, true, true, true, Model),
        ];
        for (id, efforts, adaptive, enabled, disabled, binding) in rows {
            let abilities = Capabilities::for_model(id);
            let given = (
                abilities.efforts.len(),
                abilities.adaptive,
                abilities.enabled,
                abilities.disabled,
                abilities.binding,
            );
            assert_eq!(
                given,
                (efforts, adaptive, enabled, disabled, binding),
                "{id}"
            );
        }
    }

    #[test]
    fn capabilities_are_shown_with_all_their_keys() {
        let shown = Capabilities::for_model("claude-opus-4-6").to_json();
        assert_eq!(shown["effort"]["supported"], true);
        assert_eq!(shown["effort"]["max"]["supported"], true);
        assert_eq!(shown["effort"]["xhigh"]["supported"], false);
        assert_eq!(shown["thinking"]["types"]["enabled"]["supported"], true);
        assert_eq!(shown["image_input"]["supported"], true);
        let shown = Capabilities::for_model("claude-haiku-4-5-20251001").to_json();
        assert_eq!(shown["effort"]["supported"], false);
        assert_eq!(shown["thinking"]["types"]["adaptive"]["supported"], false);
    }
}
