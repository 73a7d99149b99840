//! Refusals of requests that outgrew the model's window, and the window that they name.

/// A smaller number in an error is none of a window, or of one in which nothing can be said.
const MIN_WINDOW: u64 = 1024;

/// The wording of one kind of server.
struct OverflowWording {
    /// Texts that all appear in the type of the error or in its message, in small letters.
    texts: &'static [&'static str],
    /// The texts that precede the window, a number of tokens.
    window_behind: &'static [&'static str],
}

const fn pattern(
    texts: &'static [&'static str],
    window_behind: &'static [&'static str],
) -> OverflowWording {
    OverflowWording {
        texts,
        window_behind,
    }
}

/// The wordings of servers and gateways, by vendor.
///
/// Source: answers that public trackers report, and the list of such texts that the agent pi keeps.
const SAYINGS: [OverflowWording; 22] = [
    // Anthropic
    pattern(&["prompt is too long"], &[" > "]),
    pattern(&["exceed context limit"], &[" > "]),
    pattern(&["exceeds context limit"], &[" > "]),
    // Amazon Bedrock
    pattern(&["input is too long"], &[]),
    // OpenAI
    pattern(&["exceed the context window"], &[]),
    pattern(&["exceeds the context window"], &[]),
    pattern(&["exceeds the model's context window"], &[]),
    pattern(&["context_length_exceeded"], &[]),
    // OpenAI, OpenRouter, vLLM, SGLang; Mistral names its number in front
    pattern(
        &["maximum context length"],
        &["context length is ", "context length of ", "model with "],
    ),
    // llama.cpp
    pattern(
        &["exceed_context_size_error"],
        &["context size (", "n_ctx: "],
    ),
    pattern(
        &["exceeds the available context size"],
        &["context size (", "n_ctx: "],
    ),
    // Google
    pattern(
        &["input token count", "exceeds the maximum"],
        &["tokens allowed (", "tokens allowed "],
    ),
    // xAI
    pattern(&["maximum prompt length is"], &["prompt length is "]),
    // Groq
    pattern(&["reduce the length of the messages"], &[]),
    // LM Studio
    pattern(&["greater than the context length"], &[]),
    pattern(
        &["loaded with context length of only"],
        &["context length of only "],
    ),
    // GitHub Copilot
    pattern(&["token count", "exceeds the limit of"], &["the limit of "]),
    // Ollama
    pattern(
        &["prompt too long", "context length"],
        &["context length of ", "context length ("],
    ),
    // MiniMax; the number after it is that of the error
    pattern(&["context window exceeds limit"], &[]),
    // Kimi
    pattern(&["exceeded model token limit"], &["token limit: "]),
    // Text Generation Inference
    pattern(&["`inputs`", "must have less than"], &["less than "]),
    pattern(
        &["`inputs` tokens + `max_new_tokens` must be"],
        &["must be <= "],
    ),
];

/// True if an error means that the request outgrew the model's window. The error of a busy server, or of one that
/// counts requests, is not about the window, whatever its words.
pub(super) fn is_overflow(status: u16, kind: &str, message: &str) -> bool {
    matches!(status, 400 | 413 | 422 | 500)
        && !kind.contains("rate_limit")
        && sayings(kind, message).next().is_some()
}

/// The window in the text of an overflow error, in tokens.
pub(super) fn window_named(kind: &str, message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let mut leads = sayings(kind, &message).flat_map(|said| said.window_behind);
    leads.find_map(|lead| {
        let (_, behind) = message.split_once(lead)?;
        let digits = behind.split(|c: char| !c.is_ascii_digit() && c != ',');
        let number = digits.into_iter().next()?.replace(',', "");
        number.parse().ok().filter(|window| *window >= MIN_WINDOW)
    })
}

fn sayings(kind: &str, message: &str) -> impl Iterator<Item = &'static OverflowWording> {
    let text = format!("{kind} {message}").to_ascii_lowercase();
    let is_said = move |said: &&OverflowWording| said.texts.iter().all(|part| text.contains(part));
    SAYINGS.iter().filter(is_said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-58] [MODEL-46]
    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "one row a text, and all of them in one place"
    )]
    fn the_texts_of_the_vendors_are_known_with_the_window_that_they_name() {
        for (status, kind, message, window) in [
            (
                400,
                "invalid_request_error",
                "prompt is too long: 213462 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, \
                 decrease input length",
                Some(200_000),
            ),
            (400, "e", "Input is too long for requested model.", None),
            (
                400,
                "e",
                "Your input exceeds the context window of this model",
                None,
            ),
            (
                400,
                "e",
                "This endpoint's maximum context length is 128,000 tokens. However, you requested \
                 about 140000 tokens",
                Some(128_000),
            ),
            (
                400,
                "BadRequestError",
                "The input (9000 tokens) is longer than the model's maximum context length of 8192",
                Some(8192),
            ),
            (
                400,
                "exceed_context_size_error",
                "request (12020 tokens) exceeds the available context size (6144 tokens), try \
                 increasing it",
                Some(6144),
            ),
            (
                400,
                "exceed_context_size_error",
                "the request exceeds the available context size. try increasing it (n_ctx: 4096)",
                Some(4096),
            ),
            (
                500,
                "server_error",
                "the request exceeds the available context size, try increasing it",
                None,
            ),
            (
                400,
                "INVALID_ARGUMENT",
                "The input token count (1196265) exceeds the maximum number of tokens allowed \
                 (1048575).",
                Some(1_048_575),
            ),
            (
                400,
                "e",
                "This model's maximum prompt length is 131072 but the request contains 537812 \
                 tokens.",
                Some(131_072),
            ),
            (
                413,
                "e",
                "Please reduce the length of the messages or completion.",
                None,
            ),
            (
                400,
                "e",
                "The number of tokens to keep from the initial prompt is greater than the context \
                 length.",
                None,
            ),
            (
                400,
                "e",
                "Trying to keep the first 5000 tokens when context the overflows. However, the \
                 model is loaded with context length of only 4096 tokens, which is not enough.",
                Some(4096),
            ),
            (
                400,
                "e",
                "prompt token count of 135000 exceeds the limit of 128000",
                Some(128_000),
            ),
            (
                400,
                "e",
                "prompt too long; exceeded max context length by 12 tokens",
                None,
            ),
            (400, "e", "prompt too long; exceeded context length", None),
            (
                400,
                "e",
                "invalid params, context window exceeds limit (2013)",
                None,
            ),
            (
                400,
                "e",
                "Your request exceeded model token limit: 262144 (requested: 300000)",
                Some(262_144),
            ),
            (
                400,
                "e",
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 \
                 maximum context length",
                Some(32_768),
            ),
            (
                422,
                "validation",
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. \
                 Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
                Some(4096),
            ),
        ] {
            assert!(is_overflow(status, kind, message), "{message}");
            assert_eq!(window_named(kind, message), window, "{message}");
        }
    }

    /// Spec: [MODEL-58]
    #[test]
    fn a_number_that_can_be_no_window_is_none() {
        for message in [
            "maximum context length is 0 tokens",
            "maximum context length is 12 tokens",
            "maximum context length is 99999999999999999999999 tokens",
            "maximum context length is unknown",
            "maximum context length is ",
        ] {
            assert_eq!(window_named("error", message), None, "{message}");
        }
    }

    /// Spec: [MODEL-46]
    #[test]
    fn errors_that_name_other_limits_are_none() {
        for (status, message) in [
            (
                400,
                "max_tokens: 20000 > 8192, which is the maximum allowed",
            ),
            (400, "image exceeds the limit of 5242880 bytes"),
            (400, "Too many tokens, please wait"),
            (
                429,
                "prompt token count of 135000 exceeds the limit of 128000",
            ),
            (529, "maximum context length"),
            (401, "prompt is too long"),
            (503, "maximum context length"),
        ] {
            assert!(!is_overflow(status, "error", message), "{message}");
        }
    }
}
