//! The words with which a run ends at a limit, and by which a client knows them.

const BEGINNING: &str = "stopped: reached ";

/// What the end of a run says that has had all turns that it may have.
#[must_use]
pub fn reached_max_turns(max_turns: u32) -> String {
    format!("{BEGINNING}max_turns ({max_turns})")
}

/// Whether a run that completed with this message was cut off by a limit.
#[must_use]
pub fn is_limit(message: &str) -> bool {
    message.starts_with(BEGINNING)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-119]
    #[test]
    fn a_limit_is_known_by_its_words() {
        assert!(is_limit(&reached_max_turns(3)));
        assert!(!is_limit("") && !is_limit("stopped: the model's context window is full"));
    }
}
