//! The reasons of a workflow's pause in words, with the way to continue.

/// The pause of a workflow in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseWords {
    /// The reason of the pause.
    pub why: &'static str,
    /// The way on.
    pub advice: &'static str,
}

/// The table, a row a reason: the reason, why, the way on.
const PAUSES: &[(&str, &str, &str)] = &[
    ("operator", "a person wanted it", "resume it"),
    (
        "gate",
        "a gate waits for a person",
        "answer it with yes or no",
    ),
    (
        "budget_tokens",
        "the tokens are used up",
        "harness workflow resume --add-tokens N",
    ),
    (
        "budget_cost",
        "the money is used up",
        "harness workflow resume --add-cost-usd USD",
    ),
    (
        "budget_time",
        "the time is used up",
        "harness workflow resume --add-active 2h",
    ),
    (
        "iterations",
        "the iterations are used up",
        "harness workflow resume --add-iterations N",
    ),
    (
        "no_progress",
        "several iterations brought no feature",
        "look at the checks that are red, change the file or the features, then resume it",
    ),
    (
        "stuck",
        "no feature is left that may be tried",
        "harness workflow resume --retry-stuck, or leave a feature out with skip",
    ),
    (
        "health",
        "the health checks fail on the base",
        "repair the base, then resume it",
    ),
    (
        "baseline_broken",
        "a check of the base is not as it has to be",
        "change the file or the base, then harness workflow apply",
    ),
    (
        "tampering",
        "protected files were changed again",
        "look at the last attempt with harness workflow show, then resume or cancel it",
    ),
    (
        "ask",
        "a tool waits for an answer",
        "answer it in the conversation",
    ),
    (
        "workspace_changed",
        "the branch or its tree is not as on record",
        "put the branch back, then resume it",
    ),
    (
        "workspace_dirty",
        "the worktree has changes that the workflow did not make",
        "take them away, then resume it",
    ),
    (
        "git_config_changed",
        "the configuration of git is not as at the start",
        "put it back, then resume it",
    ),
    (
        "provider_auth",
        "the provider does not take the key",
        "give the service another key, then resume it",
    ),
    (
        "provider_quota",
        "the provider's limit of spending is reached",
        "raise it there, then resume it",
    ),
    (
        "provider_down",
        "the provider did not answer for too long",
        "resume it when the provider is back",
    ),
    (
        "storage",
        "the disk does not take what has to be kept",
        "make room, then resume it",
    ),
    (
        "crash_loop",
        "the service died again and again in one iteration",
        "look at the log with harness logs, then resume it",
    ),
    (
        "outside_schedule",
        "it is not the time for it",
        "it goes on by itself when it is",
    ),
    (
        "selector",
        "no feature could be chosen",
        "look at the log with harness logs, then resume it",
    ),
];

/// The words for a reason; none for one that this version does not know.
#[must_use]
pub fn workflow_pause(reason: &str) -> Option<PauseWords> {
    let mut rows = PAUSES.iter();
    let (_, why, advice) = rows.find(|(known, ..)| *known == reason)?;
    Some(PauseWords { why, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-241]
    #[test]
    fn each_reason_has_its_own_words_and_a_way_on() {
        let mut seen = Vec::new();
        for (reason, ..) in PAUSES {
            let PauseWords { why, advice } = workflow_pause(reason).unwrap();
            assert!(!why.is_empty() && !advice.is_empty(), "{reason}");
            assert!(!seen.contains(&why), "{reason}");
            seen.push(why);
        }
        assert_eq!(workflow_pause("invented_later"), None);
    }
}
