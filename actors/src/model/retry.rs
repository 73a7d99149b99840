//! Rules for retries after a failed attempt, and their delays.
//!
//! Source: the retry policy of the official SDKs (statuses 408, 409, 429 and 5xx, connection
//! errors; `x-should-retry`, `retry-after-ms`, `retry-after`; 0.5 s doubling up to 8 s, less up
//! to a quarter of jitter), with more attempts and a bound on the total wait.

use std::time::{Duration, SystemTime};

use super::ModelError;
use super::overflow::is_overflow;
use super::spent::is_spent;

/// The first backoff; each further one is twice the last, up to [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// The longest backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// The longest wait that a server may ask for; a longer one is answered with a backoff.
const MAX_SERVER_DELAY: f64 = 60.0;
/// Maximum number of retries after a silent or malformed stream: more of the same is likely then.
const MAX_ODD_RETRIES: u32 = 1;

/// Persistence of a call of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts after the first one.
    pub max_retries: u32,
    /// Limit for all waits of one call together.
    pub max_wait: Duration,
}

/// The consequence of a failed attempt for the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Advice {
    /// Another attempt would fail in the same way.
    Never,
    /// Another attempt may succeed.
    Later,
    /// Another attempt may succeed, after the wait that the server asked for.
    After(Duration),
    /// One more attempt is worth it.
    Once,
}

/// The headers of an error answer that matter here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hints<'a> {
    pub(super) should_retry: Option<&'a str>,
    pub(super) retry_after_ms: Option<&'a str>,
    pub(super) retry_after: Option<&'a str>,
}

/// The consequence of an error answer for the next attempt.
pub(super) fn advice(status: u16, body: &str, hints: Hints<'_>, now: SystemTime) -> Advice {
    let retryable = match hints.should_retry {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status, 408 | 409 | 429 | 500..),
    };
    // A request that is too long stays so, even if a server calls that a server error.
    let is_final = || is_spent(body) || is_overflow(status, "", body);
    if !retryable || is_final() {
        return Advice::Never;
    }
    server_delay(hints, now).map_or(Advice::Later, Advice::After)
}

fn server_delay(hints: Hints<'_>, now: SystemTime) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let seconds = match hints.retry_after_ms.and_then(number) {
        Some(millis) => millis / 1000.0,
        None => {
            let text = hints.retry_after?;
            number(text).or_else(|| seconds_until(text, now))?
        }
    };
    (seconds > 0.0 && seconds <= MAX_SERVER_DELAY).then(|| Duration::from_secs_f64(seconds))
}

fn seconds_until(date: &str, now: SystemTime) -> Option<f64> {
    let then = httpdate::parse_http_date(date.trim()).ok()?;
    // HTTP dates have whole seconds, so the clock's fraction is left out on our side too.
    let whole = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    };
    Some(Duration::from_secs(whole(then).saturating_sub(whole(now))).as_secs_f64())
}

/// The retries of one call.
#[derive(Debug)]
pub(super) struct Retries {
    policy: RetryPolicy,
    used: u32,
    odd: u32,
    waited: Duration,
}

impl Retries {
    pub(super) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            used: 0,
            odd: 0,
            waited: Duration::ZERO,
        }
    }

    /// Waits before the next attempt, after telling its number and the wait. False if there is
    /// no other attempt.
    pub(super) async fn wait(
        &mut self,
        advice: Advice,
        announce: impl FnOnce(u32, Duration),
    ) -> bool {
        let Some(delay) = self.next(advice, fastrand::f64()) else {
            return false;
        };
        announce(self.used, delay);
        tokio::time::sleep(delay).await;
        true
    }

    /// Delay before the next attempt. `None` if there is none. `jitter` is from 0 to 1.
    fn next(&mut self, advice: Advice, jitter: f64) -> Option<Duration> {
        let backoff = FIRST_BACKOFF
            .saturating_mul(2_u32.saturating_pow(self.used))
            .min(MAX_BACKOFF)
            .mul_f64(1.0 - 0.25 * jitter);
        let delay = match advice {
            Advice::Never => return None,
            Advice::Later => backoff,
            Advice::After(delay) => delay,
            Advice::Once if self.odd == MAX_ODD_RETRIES => return None,
            Advice::Once => {
                self.odd += 1;
                backoff
            }
        };
        let waited = self.waited.saturating_add(delay);
        if self.used == self.policy.max_retries || waited > self.policy.max_wait {
            return None;
        }
        self.used += 1;
        self.waited = waited;
        Some(delay)
    }
}

/// The consequence of a failure without an error answer for the next attempt.
pub(super) fn advice_for(error: &ModelError) -> Advice {
    match error {
        ModelError::Connection { .. } | ModelError::Truncated => Advice::Later,
        ModelError::Api {
            status, message, ..
        } => advice(*status, message, Hints::default(), SystemTime::UNIX_EPOCH),
        ModelError::NoAnswer { .. } | ModelError::Stalled { .. } | ModelError::Malformed { .. } => {
            Advice::Once
        }
        ModelError::ToolInput { .. }
        | ModelError::NotAStream { .. }
        | ModelError::Redirected { .. }
        | ModelError::TooLarge { .. }
        | ModelError::TooLong { .. }
        | ModelError::Compaction { .. }
        | ModelError::Prompt { .. }
        | ModelError::Projection { .. }
        | ModelError::NoRoom { .. }
        | ModelError::SpendingLimit { .. }
        | ModelError::Key { .. }
        | ModelError::NoClient
        | ModelError::Panicked
        | ModelError::Unavailable
        | ModelError::Cancelled => Advice::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        max_retries: 4,
        max_wait: Duration::from_secs(60),
    };

    /// Fri, 29 Sep 2023 16:26:37 GMT, the moment at which the table below holds.
    const NOW: u64 = 1_696_004_797;

    fn delay_after(retries: u32, hints: Hints<'_>) -> f64 {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let mut call = Retries::new(RetryPolicy {
            max_retries: u32::MAX,
            max_wait: Duration::MAX,
        });
        call.used = retries;
        let delay = call.next(advice(429, "", hints, now), 0.5);
        delay.unwrap().as_secs_f64()
    }

    /// The table of the official Python SDK, as data: retries used, header, seconds.
    ///
    /// Spec: [MODEL-15]
    #[test]
    fn waits_are_those_of_the_official_sdks() {
        for (retries, header, seconds) in [
            (0, "20", 20.0),
            (0, "0", 0.5),
            (0, "-10", 0.5),
            (0, "60", 60.0),
            (0, "61", 0.5),
            (0, "Fri, 29 Sep 2023 16:26:57 GMT", 20.0),
            (0, "Fri, 29 Sep 2023 16:26:37 GMT", 0.5),
            (0, "Fri, 29 Sep 2023 16:26:27 GMT", 0.5),
            (0, "Fri, 29 Sep 2023 16:27:37 GMT", 60.0),
            (0, "Fri, 29 Sep 2023 16:27:38 GMT", 0.5),
            (0, "99999999999999999999999999999999999", 0.5),
            (0, "Zun, 29 Sep 2023 16:26:27 GMT", 0.5),
            (0, "", 0.5),
            (1, "", 1.0),
            (2, "", 2.0),
            (1103, "", 8.0),
            (0, "nan", 0.5),
            (0, "inf", 0.5),
            (0, "1.5", 1.5),
        ] {
            let hints = Hints {
                retry_after: Some(header),
                ..Hints::default()
            };
            let delay = delay_after(retries, hints);
            assert!(
                (delay - seconds).abs() <= seconds * 0.1251,
                "{retries} {header:?}: {delay}"
            );
        }
    }

    /// Spec: [MODEL-15]
    #[test]
    fn milliseconds_win_over_seconds() {
        let hints = Hints {
            retry_after_ms: Some("1500"),
            retry_after: Some("9"),
            ..Hints::default()
        };
        assert!((delay_after(0, hints) - 1.5).abs() < f64::EPSILON);
    }

    /// Spec: [MODEL-14]
    #[test]
    fn which_answers_are_tried_again() {
        let now = SystemTime::UNIX_EPOCH;
        let retried = |status, body, should_retry| {
            let hints = Hints {
                should_retry,
                ..Hints::default()
            };
            advice(status, body, hints, now) != Advice::Never
        };
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(retried(status, "", None), "{status}");
            assert!(!retried(status, "", Some("false")), "{status}");
        }
        for status in [300, 400, 401, 402, 403, 404, 413, 422] {
            assert!(!retried(status, "", None), "{status}");
            assert!(retried(status, "", Some("true")), "{status}");
        }
        for (status, spent) in [
            (
                429,
                r#"{"details":{"error_code":"enforced_spend_limit_reached"}}"#,
            ),
            (
                429,
                r#"{"details":{"error_code":"contract_spend_limit_reached"}}"#,
            ),
            (400, "You have reached your specified API usage limits."),
        ] {
            assert!(!retried(status, spent, None), "{spent}");
            assert!(!retried(status, spent, Some("true")), "{spent}");
        }
    }

    /// Spec: [MODEL-16]
    #[test]
    fn attempts_and_total_wait_are_bounded() {
        let mut call = Retries::new(POLICY);
        let delays: Vec<_> = std::iter::from_fn(|| call.next(Advice::Later, 0.0)).collect();
        assert_eq!(delays, [500, 1000, 2000, 4000].map(Duration::from_millis));

        let mut call = Retries::new(POLICY);
        let long = Advice::After(Duration::from_secs(31));
        assert!(call.next(long, 0.0).is_some());
        assert_eq!(call.next(long, 0.0), None);
    }

    /// Spec: [MODEL-15] [MODEL-16]
    #[actix::test]
    async fn the_waits_that_are_told_are_kept() {
        tokio::time::pause();
        let mut call = Retries::new(POLICY);
        let began = tokio::time::Instant::now();
        let mut told = Vec::new();
        let long = Advice::After(Duration::from_secs(40));
        for advice in [Advice::Later, long, Advice::Later, Advice::Once] {
            let wait = call.wait(advice, |number, delay| told.push((number, delay)));
            assert!(wait.await);
        }
        assert!(!call.wait(Advice::Later, |_, _| ()).await);
        let sum: Duration = told.iter().map(|(_, delay)| *delay).sum();
        assert!(began.elapsed() >= sum && began.elapsed() < sum + Duration::from_millis(20));
        let numbers: Vec<u32> = told.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
    }

    /// Spec: [MODEL-16]
    #[test]
    fn a_silent_or_malformed_stream_is_tried_once_more() {
        let mut call = Retries::new(POLICY);
        assert!(call.next(Advice::Once, 0.0).is_some());
        assert_eq!(call.next(Advice::Once, 0.0), None);
        assert!(call.next(Advice::Later, 0.0).is_some());
    }
}
