//! The ends of a command before its run has ended: Ctrl-C, and the time that it may take.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Sleep;

use crate::client::error::CommandError;
use crate::client::interrupts::Interrupts;

/// Those ends.
pub(super) struct Stops<'i> {
    interrupts: &'i mut Interrupts,
    timeout: Option<(Duration, Pin<Box<Sleep>>)>,
    is_late: bool,
}

impl<'i> Stops<'i> {
    /// Ctrl-C, and the end of `timeout` if there is one, which begins now.
    pub(super) fn new(interrupts: &'i mut Interrupts, timeout: Option<Duration>) -> Self {
        let timer = |limit| (limit, Box::pin(tokio::time::sleep(limit)));
        Self {
            interrupts,
            timeout: timeout.map(timer),
            is_late: false,
        }
    }

    /// Waits for the next of them; why the command ends. May be dropped and asked again.
    pub(super) async fn next(&mut self) -> CommandError {
        let Self {
            interrupts,
            timeout,
            is_late,
        } = self;
        let late = async {
            match timeout.as_mut() {
                Some((limit, timer)) => {
                    timer.await;
                    *limit
                }
                None => pending().await,
            }
        };
        let limit = tokio::select! {
            () = interrupts.next() => return CommandError::Stopped,
            limit = late => limit,
        };
        *timeout = None;
        *is_late = true;
        CommandError::TimedOut { limit }
    }

    /// Whether the time is over.
    pub(super) fn is_late(&self) -> bool {
        self.is_late
    }
}
