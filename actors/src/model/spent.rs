//! Refusals because money at the API is used up: nothing is wrong with the request, and no attempt within minutes helps.

/// Texts of such refusals, in the code of the error or in its message.
///
/// Source: the API's documentation of errors (`error.details.error_code` of a 429; the message of a 400 for a limit that
/// the customer set, and of one without credit).
const SAYINGS: [&str; 4] = [
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "You have reached your specified",
    "credit balance is too low",
];

/// True if the text of an answer says that a budget is used up.
pub(super) fn is_spent(text: &str) -> bool {
    SAYINGS.iter().any(|saying| text.contains(saying))
}
