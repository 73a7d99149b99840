//! Refusals of servers whose models take no tools.

/// The parts of these refusals, in small letters.
///
/// Source: the answers of Ollama, Groq, OpenRouter, vLLM and llama.cpp, as public trackers report them.
const SAYINGS: [&str; 8] = [
    "does not support tool",
    "do not support tool",
    "does not support function calling",
    "tool use is not supported",
    "tool calling` is not supported",
    "no endpoints found that support tool use",
    "requires --enable-auto-tool-choice",
    "tools param requires --jinja",
];

/// The advice to an operator after a refusal. `None` if it has another reason.
pub(super) fn way_out(message: &str) -> Option<&'static str> {
    let message = message.to_ascii_lowercase();
    let is_said = SAYINGS.iter().any(|said| message.contains(said));
    is_said.then_some("; switch the tools off with the setting active_tools=none, and say it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-62]
    #[test]
    fn a_model_without_tools_is_told_from_other_refusals() {
        for message in [
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "`tool calling` is not supported with this model",
            "No endpoints found that support tool use. Try disabling \"read\".",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "tools param requires --jinja flag",
        ] {
            assert!(way_out(message).is_some(), "{message}");
        }
        for message in ["tools.0.name: too long", "image input is not supported", ""] {
            assert!(way_out(message).is_none(), "{message}");
        }
    }
}
