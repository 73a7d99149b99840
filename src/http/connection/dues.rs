//! The bytes that a client still has to send on its connection, and its deadline.
//!
//! Invariant: no clock and no IO; the caller passes the time.

use std::time::Duration;

use tokio::time::Instant;

/// Time limit for the head of a request: of the first one from the connection on, of a later one from its first byte
/// on.
const HEAD: Duration = Duration::from_secs(5);
/// Time limit for a body, even if its route does not read it. It is a little longer than the limit of the routes, so
/// that they can answer that the body was late.
const BODY: Duration = Duration::from_secs(10);
/// Time for which the idle connection of a client that may use the service is kept.
const IDLE: Duration = Duration::from_secs(60);
/// Time for which the idle connection of a stranger is kept.
const IDLE_STRANGER: Duration = Duration::from_secs(3);

/// The bytes that a client still has to send on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) struct Dues {
    phase: ConnectionPhase,
    due: Option<Instant>,
    is_known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Nothing: the request waits for its answer.
    Answer,
    /// Nothing yet; the connection is not kept for ever.
    Idle,
}

impl Dues {
    /// Those of a connection that was just accepted.
    pub(in crate::http) fn accepted(now: Instant) -> Self {
        Self {
            phase: ConnectionPhase::Head,
            due: Some(now + HEAD),
            is_known: false,
        }
    }

    /// The deadline after which the connection ends if no bytes arrive. `None` if the client owes nothing.
    pub(in crate::http) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Some bytes came.
    pub(in crate::http) fn arrived(&mut self, now: Instant) {
        if self.phase == ConnectionPhase::Idle {
            self.owe(ConnectionPhase::Head, Some(now + HEAD));
        }
    }

    /// A head is whole.
    pub(in crate::http) fn begun(&mut self, has_body: bool, now: Instant) {
        if has_body {
            self.owe(ConnectionPhase::Body, Some(now + BODY));
        } else {
            self.owe(ConnectionPhase::Answer, None);
        }
    }

    /// A body is whole.
    pub(in crate::http) fn body_ended(&mut self) {
        if self.phase == ConnectionPhase::Body {
            self.owe(ConnectionPhase::Answer, None);
        }
    }

    /// An answer was handed over to its end. The missing rest of the request's body stays owed.
    pub(in crate::http) fn answered(&mut self, now: Instant) {
        if self.phase == ConnectionPhase::Answer {
            let idle = if self.is_known { IDLE } else { IDLE_STRANGER };
            self.owe(ConnectionPhase::Idle, Some(now + idle));
        }
    }

    /// True if the client owes the rest of a head.
    pub(in crate::http) fn is_head(&self) -> bool {
        self.phase == ConnectionPhase::Head
    }

    /// The client may use the service.
    pub(in crate::http) fn recognized(&mut self) {
        self.is_known = true;
    }

    fn owe(&mut self, phase: ConnectionPhase, due: Option<Instant>) {
        self.phase = phase;
        self.due = due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(dues: Dues, from: Instant) -> Option<u64> {
        dues.due().map(|due| (due - from).as_secs())
    }

    /// Spec: [HTTP-83]
    #[test]
    fn each_head_and_each_body_has_its_time_and_an_answer_as_long_as_it_takes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut dues = Dues::accepted(start);
        dues.arrived(at(1));
        assert_eq!(seconds(dues, start), Some(5), "a byte buys no time");
        dues.begun(false, at(2));
        assert_eq!(seconds(dues, start), None);
        dues.arrived(at(3));
        assert_eq!(seconds(dues, start), None);
        dues.answered(at(1000));
        assert_eq!(seconds(dues, start), Some(1003));
        dues.arrived(at(1001));
        assert_eq!(seconds(dues, start), Some(1006));
        dues.arrived(at(1005));
        assert_eq!(seconds(dues, start), Some(1006), "a byte buys no time");
        dues.begun(true, at(1005));
        assert_eq!(seconds(dues, start), Some(1015));
        dues.arrived(at(1014));
        dues.answered(at(1014));
        assert_eq!(seconds(dues, start), Some(1015), "the body is still owed");
        dues.begun(true, at(1014));
        dues.body_ended();
        assert_eq!(seconds(dues, start), None);
        dues.recognized();
        dues.answered(at(1020));
        assert_eq!(seconds(dues, start), Some(1080));
        dues.body_ended();
        assert_eq!(seconds(dues, start), Some(1080));
    }
}
