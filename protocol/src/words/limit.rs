//! The words of a run that ends at a limit, which clients recognize.

const BEGINNING: &str = "stopped: reached ";

/// The end of a run that has had all turns that it may have, in words.
#[must_use]
pub fn reached_max_turns(max_turns: u32) -> String {
    format!("{BEGINNING}max_turns ({max_turns})")
}

/// True if a run that completed with this message was cut off by a limit.
#[must_use]
pub fn is_limit(message: &str) -> bool {
    message.starts_with(BEGINNING)
}

/// The words of the end of a run. After a limit, they name the command that continues it.
#[must_use]
pub fn with_way_on(message: &str) -> String {
    if is_limit(message) {
        format!("{message}; `/continue` or `harness continue` goes on")
    } else {
        message.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-119] [CLI-351]
    #[test]
    fn a_limit_is_known_by_its_words() {
        assert!(is_limit(&reached_max_turns(3)));
        let told = "stopped: reached max_turns (3); `/continue` or `harness continue` goes on";
        assert_eq!(with_way_on(&reached_max_turns(3)), told);
        assert!(is_limit(told));
        assert_eq!(with_way_on("cancelled"), "cancelled");
        assert!(!is_limit("") && !is_limit("stopped: the model's context window is full"));
    }
}
