//! Refusals of requests whose `max_tokens` is more than the model replies, and the maximum that they name.

/// The names of the field, in small letters.
const FIELDS: [&str; 6] = [
    "max_tokens",
    "max tokens",
    "maximum tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
];
/// The texts that precede the maximum, in small letters.
///
/// Source: answers of Anthropic, OpenAI, Groq, Cohere, DeepSeek, Amazon Bedrock and Google, in public trackers.
const LEADS: [&str; 9] = [
    " > ",
    "at most ",
    "less than or equal to ",
    "maximum is ",
    "model limit of ",
    "limited to ",
    "range of max_tokens is [1, ",
    "must be <= ",
    "(inclusive) to ",
];
/// The text behind a number that is itself too much.
const EXCLUSIVE: &str = " (exclusive)";

/// The maximum in the text of a refusal, in tokens, if it is lower than what was asked for.
pub(super) fn maximum_named(status: u16, message: &str, asked: u32) -> Option<u32> {
    let message = message.to_ascii_lowercase();
    let is_about = FIELDS.iter().any(|field| message.contains(field));
    if !matches!(status, 400 | 422) || !is_about {
        return None;
    }
    let named = LEADS.iter().find_map(|lead| {
        let (_, behind) = message.split_once(lead)?;
        let behind = behind.trim_start_matches('`');
        let is_part = |sign: char| sign.is_ascii_digit() || sign == ',';
        let end = behind.find(|sign| !is_part(sign)).unwrap_or(behind.len());
        let (digits, rest) = behind.split_at(end);
        let number: u32 = digits.replace(',', "").parse().ok()?;
        Some(number.saturating_sub(u32::from(rest.starts_with(EXCLUSIVE))))
    });
    named.filter(|maximum| (1..asked).contains(maximum))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-776]
    #[test]
    fn the_maximum_that_a_refusal_names_is_found() {
        for (message, maximum) in [
            (
                "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for m",
                Some(64_000),
            ),
            (
                "max_tokens is too large: 128000. This model supports at most 16,384 completion tokens, \
                 whereas you provided 128000.",
                Some(16_384),
            ),
            (
                "`max_tokens` must be less than or equal to `32768`, the maximum value for m",
                Some(32_768),
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                Some(8_192),
            ),
            (
                "The maximum tokens you requested exceeds the model limit of 4096. Try again",
                Some(4_096),
            ),
            (
                "it has a maxOutputTokens value of 128000 but the supported range is from 1 (inclusive) to 8193 \
                 (exclusive)",
                Some(8_192),
            ),
            (
                "too many tokens: max tokens must be less than or equal to 4096, received 128000",
                Some(4_096),
            ),
            // Not lower than what was asked for, or no number.
            ("max_tokens: 128000 > 128000", None),
            ("max_tokens: 128000 > 0", None),
            ("max_tokens must be at least 1", None),
            ("temperature: 3 > 2", None),
        ] {
            assert_eq!(maximum_named(400, message, 128_000), maximum, "{message}");
            assert_eq!(maximum_named(500, message, 128_000), None, "{message}");
        }
    }
}
