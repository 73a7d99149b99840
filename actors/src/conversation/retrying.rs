//! The remark that a request of the model is tried again: written in one place, and read in the same.

use std::time::Duration;

/// How the remark begins.
const BEGINS: &str = "retrying in ";
/// The words before it while a summary is made.
const COMPACTING: &str = "compacting; ";

/// The remark.
pub(super) fn remark(delay: Duration, retry: u32, max_retries: u32, error: &str) -> String {
    let delay = delay.as_secs_f64();
    format!("{BEGINS}{delay:.1} s ({retry} of {max_retries}): {error}")
}

/// The same while a summary is made.
pub(super) fn remark_of_summary(
    delay: Duration,
    retry: u32,
    max_retries: u32,
    error: &str,
) -> String {
    format!("{COMPACTING}{}", remark(delay, retry, max_retries, error))
}

/// How long a remark says that nothing is asked; none if it is another remark.
pub(crate) fn waits(remark: &str) -> Option<Duration> {
    let remark = remark.strip_prefix(COMPACTING).unwrap_or(remark);
    let (seconds, _) = remark.strip_prefix(BEGINS)?.split_once(" s (")?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [FLOW-221]
    #[test]
    fn a_remark_that_a_request_is_tried_again_says_for_how_long_nothing_is_asked() {
        let delay = Duration::from_millis(1200);
        let told = remark(delay, 1, 4, "overloaded (529)");
        assert_eq!(told, "retrying in 1.2 s (1 of 4): overloaded (529)");
        assert_eq!(waits(&told), Some(delay));
        assert_eq!(waits(&remark_of_summary(delay, 1, 4, "x")), Some(delay));
        for other in ["", "thinking", "retrying in a moment", "compacting"] {
            assert_eq!(waits(other), None, "{other}");
        }
    }
}
